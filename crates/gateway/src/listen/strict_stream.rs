//! A connection that checks every request head before the HTTP library sees it.
//!
//! The library is lenient in some points. So this stream buffers a head until it is complete, and checks it; it follows
//! bodies to their ends, to know where the next head begins. A refused head never reaches the library. In its place the
//! library gets a request for a secret random path, so that the refusal is answered in order, after the earlier
//! requests. Then the connection is closed.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::chunks::Chunks;
use super::head::{self, BARE_LINE_END, Fault, Framing};

/// The timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a head that has begun.
    pub(super) head: Duration,
    /// Between requests.
    pub(super) idle: Duration,
    /// For a peer that reads nothing.
    pub(super) write: Duration,
}

/// The state that a connection shares with the service that answers its requests.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    refused: Arc<Mutex<Option<Fault>>>,
    /// How many requests are being answered: meanwhile the connection is not idle.
    answering: Arc<AtomicUsize>,
    path: Arc<str>,
}

/// A guard that counts a request as being answered until it is dropped.
#[derive(Debug)]
pub(super) struct AnswerGuard(Arc<AtomicUsize>);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// Creates a gate with a random path.
    pub(super) fn new() -> io::Result<Gate> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = format!("/{}", lictor_event::content_hash::to_hex(&random));
        Ok(Gate { refused: Arc::default(), answering: Arc::default(), path: path.into() })
    }

    /// Counts a request as being answered.
    pub(super) fn answering(&self) -> AnswerGuard {
        self.answering.fetch_add(1, Ordering::Relaxed);
        AnswerGuard(Arc::clone(&self.answering))
    }

    /// Returns the fault of a refused request, if this path is the one that replaces it.
    pub(super) fn refusal(&self, path: &str) -> Option<Fault> {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.filter(|_| path == &*self.path)
    }

    fn refuse(&self, fault: Fault) -> Vec<u8> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        format!("GET {} HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n", self.path).into_bytes()
    }
}

/// How many bytes are read at once.
const READ_BYTES: usize = 16 << 10;

/// How many bytes after a refusal are read and dropped, and for how long: a peer that is still sending would otherwise
/// lose the answer.
const MAX_DROPPED_BYTES: usize = 4 << 20;
const DROP_TIMEOUT: Duration = Duration::from_secs(1);

/// The position of the connection in a request.
#[derive(Debug)]
enum Phase {
    /// Before or in a head.
    Head,
    /// In a body, with so many bytes left.
    Length(u64),
    /// In a chunked body.
    Chunked(Chunks),
    /// In HTTP/2, which frames its requests itself.
    Open,
    /// After a refused head: no more input is read.
    Refused,
    /// In a body with invalid chunks.
    Broken,
}

/// A connection whose heads are checked.
#[derive(Debug)]
pub(super) struct StrictStream<T> {
    inner: T,
    gate: Gate,
    phase: Phase,
    /// Received bytes that are not checked yet, or belong to an incomplete head.
    raw: Vec<u8>,
    /// How much of `raw` was searched for the end of the head.
    searched: usize,
    /// Checked bytes that the library has not read yet.
    ready: Vec<u8>,
    taken: usize,
    patience: Patience,
    waiting: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
    ended: bool,
    is_shut: bool,
    dropped: usize,
}

impl<T> StrictStream<T> {
    /// Creates a strict stream; `begun` has the bytes that were read already.
    pub(super) fn new(inner: T, begun: Vec<u8>, gate: Gate, patience: Patience) -> StrictStream<T> {
        let waiting = Box::pin(tokio::time::sleep(patience.head));
        let (phase, ready) = (Phase::Head, Vec::new());
        let mut vetted = StrictStream {
            inner,
            gate,
            phase,
            raw: begun,
            searched: 0,
            ready,
            taken: 0,
            patience,
            waiting,
            writing: None,
            ended: false,
            is_shut: false,
            dropped: 0,
        };
        vetted.look();
        vetted
    }

    /// Creates a stream for HTTP/2, which frames its requests itself: only writes have a timeout.
    pub(super) fn open(inner: T, begun: Vec<u8>, gate: Gate, patience: Patience) -> StrictStream<T> {
        let mut vetted = StrictStream::new(inner, Vec::new(), gate, patience);
        vetted.phase = Phase::Open;
        vetted.ready = begun;
        vetted
    }

    /// Moves checked bytes from `raw` to `ready`.
    fn look(&mut self) {
        loop {
            match &mut self.phase {
                Phase::Refused | Phase::Broken => {
                    self.raw.clear();
                    return;
                }
                Phase::Open => {
                    self.pass(self.raw.len());
                    return;
                }
                Phase::Head => match self.whole_head() {
                    Ok(None) => return,
                    Ok(Some((length, framing))) => {
                        self.pass(length);
                        self.phase = match framing {
                            Framing::Length(0) => Phase::Head,
                            Framing::Length(length) => Phase::Length(length),
                            Framing::Chunked => Phase::Chunked(Chunks::new()),
                        };
                    }
                    Err(fault) => {
                        self.ready.extend(self.gate.refuse(fault));
                        self.phase = Phase::Refused;
                    }
                },
                Phase::Length(left) => {
                    let here = self.raw.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= here as u64;
                    let is_over = *left == 0;
                    self.pass(here);
                    if !is_over {
                        return;
                    }
                    self.phase = Phase::Head;
                }
                Phase::Chunked(chunks) => match chunks.read(&self.raw) {
                    Ok(length) => {
                        let is_over = chunks.is_done();
                        self.pass(length);
                        if !is_over {
                            return;
                        }
                        self.phase = Phase::Head;
                    }
                    // The library has the head already: its reader gets an error within the body.
                    Err(_) => self.phase = Phase::Broken,
                },
            }
            if self.raw.is_empty() {
                self.raw = Vec::new();
                return;
            }
        }
    }

    /// Returns the length of the head and the framing of its body, once the head is complete.
    fn whole_head(&mut self) -> Result<Option<(usize, Framing)>, Fault> {
        // One empty line before a request is accepted: old clients send it after a body.
        if self.searched == 0 && self.raw.starts_with(b"\r\n") {
            self.raw.drain(..2);
        }
        loop {
            let found = memchr(b'\n', self.raw.get(self.searched..).unwrap_or_default());
            self.searched = found.map_or(self.raw.len(), |length| self.searched + length);
            if self.searched > head::MAX_HEAD_BYTES {
                return Err(head::TOO_LARGE);
            }
            if found.is_none() {
                return Ok(None);
            }
            let before = self.raw.get(..self.searched).unwrap_or_default();
            if !before.ends_with(b"\r") {
                return Err(BARE_LINE_END);
            }
            self.searched += 1;
            if before.ends_with(b"\r\n\r") {
                let length = std::mem::take(&mut self.searched);
                return head::check(self.raw.get(..length).unwrap_or_default()).map(|framing| Some((length, framing)));
            }
        }
    }

    fn pass(&mut self, length: usize) {
        self.ready.extend_from_slice(self.raw.get(..length).unwrap_or_default());
        self.raw.drain(..length);
    }

    /// Returns the timeout for the next byte; none while a body is read, which has its own.
    fn limit(&self) -> Option<Duration> {
        match self.phase {
            Phase::Head if self.gate.answering.load(Ordering::Relaxed) > 0 => None,
            Phase::Head if self.raw.is_empty() => Some(self.patience.idle),
            Phase::Head => Some(self.patience.head),
            _ => None,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StrictStream<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let ready = this.ready.get(this.taken..).unwrap_or_default();
            if !ready.is_empty() {
                let length = ready.len().min(buffer.remaining());
                buffer.put_slice(ready.get(..length).unwrap_or_default());
                this.taken += length;
                if this.taken == this.ready.len() {
                    // An idle connection keeps no buffer.
                    this.ready = Vec::new();
                    this.taken = 0;
                }
                return Poll::Ready(Ok(()));
            }
            if this.ended {
                return Poll::Ready(Ok(()));
            }
            if matches!(this.phase, Phase::Broken) {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            // The end of input would look like a disconnect of the peer. The answer closes the connection instead.
            if matches!(this.phase, Phase::Refused) {
                return Poll::Pending;
            }
            // Zeroing it would cost more than most reads.
            let mut space = [const { MaybeUninit::uninit() }; READ_BYTES];
            let mut chunk = ReadBuf::uninit(&mut space);
            match Pin::new(&mut this.inner).poll_read(context, &mut chunk) {
                Poll::Ready(result) => result?,
                Poll::Pending => {
                    if this.limit().is_some() {
                        ready!(this.waiting.as_mut().poll(context));
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    return Poll::Pending;
                }
            }
            let read = chunk.filled();
            this.ended = read.is_empty();
            let was_idle = this.raw.is_empty();
            this.raw.extend_from_slice(read);
            this.look();
            if let Some(limit) = this.limit().filter(|_| was_idle || this.raw.is_empty()) {
                this.waiting.as_mut().reset(Instant::now() + limit);
            }
        }
    }
}

impl<T: AsyncWrite + Unpin> StrictStream<T> {
    /// Fails a write after the timeout, so that a peer that reads nothing keeps no memory.
    fn timed<R>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.writing = None;
            // A connection is not idle while its answer is written.
            if let Some(limit) = self.limit() {
                self.waiting.as_mut().reset(Instant::now() + limit);
            }
            return polled;
        }
        let limit = self.patience.write;
        let writing = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(writing.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> StrictStream<T> {
    /// Reads and drops the rest of a refused peer's input, so that the peer can read the answer.
    fn drop_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [const { MaybeUninit::uninit() }; READ_BYTES];
        while self.dropped < MAX_DROPPED_BYTES {
            let mut chunk = ReadBuf::uninit(&mut space);
            match Pin::new(&mut self.inner).poll_read(context, &mut chunk) {
                Poll::Ready(Ok(())) if !chunk.filled().is_empty() => self.dropped += chunk.filled().len(),
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(self.waiting.as_mut().poll(context));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for StrictStream<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write(context, bytes);
        this.timed(context, polled)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_flush(context);
        this.timed(context, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut {
            ready!(Pin::new(&mut this.inner).poll_shutdown(context))?;
            this.is_shut = true;
            this.waiting.as_mut().reset(Instant::now() + DROP_TIMEOUT);
        }
        if matches!(this.phase, Phase::Refused | Phase::Broken) {
            return this.drop_rest(context);
        }
        Poll::Ready(Ok(()))
    }
}

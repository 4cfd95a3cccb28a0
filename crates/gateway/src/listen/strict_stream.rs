//! A connection on which every request is checked before the HTTP library sees a byte of it.
//!
//! The library is right about most things and lenient about some. So heads are gathered here until they are whole, and
//! checked; bodies are followed to their ends, to know where the next head begins. A head that is refused never reaches
//! the library: in its place comes a request for a path that nobody can guess, by which the refusal is answered in its
//! turn, behind the answers to what came before it, and then the connection ends.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::chunks::Chunks;
use super::head::{self, BARE_LINE_END, Fault, Framing};

/// How long a connection may keep us waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a head that has begun.
    pub(super) head: Duration,
    /// Between requests.
    pub(super) idle: Duration,
    /// For a peer that does not take what is written.
    pub(super) write: Duration,
}

/// What is known about a connection beside its bytes.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    refused: Arc<Mutex<Option<Fault>>>,
    /// How many requests are being answered: meanwhile nobody is idle.
    answering: Arc<AtomicUsize>,
    path: Arc<str>,
}

/// As long as this lives, a request is being answered.
#[derive(Debug)]
pub(super) struct Answering(Arc<AtomicUsize>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// A gate with a path that nobody can guess.
    pub(super) fn new() -> io::Result<Gate> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = random.iter().fold(String::from("/"), |path, byte| format!("{path}{byte:02x}"));
        Ok(Gate { refused: Arc::default(), answering: Arc::default(), path: path.into() })
    }

    /// Says that a request is being answered.
    pub(super) fn answering(&self) -> Answering {
        self.answering.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(&self.answering))
    }

    /// Why the request for this path was refused, if it stands for one that was.
    pub(super) fn refusal(&self, path: &str) -> Option<Fault> {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.filter(|_| path == &*self.path)
    }

    fn refuse(&self, fault: Fault) -> Vec<u8> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        format!("GET {} HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n", self.path).into_bytes()
    }
}

/// How many bytes behind a refusal are read and dropped, and for how long: a peer that is still sending would otherwise
/// lose the answer.
const MOST_DROPPED: usize = 4 << 20;
const DROPPING: Duration = Duration::from_secs(1);

/// Where in a request the connection is.
#[derive(Debug)]
enum Phase {
    /// Before or in a head.
    Head,
    /// In a body of which so many bytes are missing.
    Length(u64),
    /// In a body in chunks.
    Chunked(Chunks),
    /// In a protocol that delimits its requests itself.
    Open,
    /// Behind a head that was refused: nothing more is heard.
    Refused,
    /// Within a body that was refused.
    Broken,
}

/// A connection with a gate.
#[derive(Debug)]
pub(super) struct StrictStream<T> {
    inner: T,
    gate: Gate,
    phase: Phase,
    /// Bytes that came and were not looked at yet, or belong to a head that is not whole.
    raw: Vec<u8>,
    /// How much of `raw` was searched for the end of the head.
    searched: usize,
    /// Checked bytes that the library did not take yet.
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
    /// A connection from which some bytes were read already.
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

    /// A connection of a protocol that delimits its requests itself: only writing is timed.
    pub(super) fn open(inner: T, begun: Vec<u8>, gate: Gate, patience: Patience) -> StrictStream<T> {
        let mut vetted = StrictStream::new(inner, Vec::new(), gate, patience);
        vetted.phase = Phase::Open;
        vetted.ready = begun;
        vetted
    }

    /// Moves what can be judged from the raw bytes to the ready ones.
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
                    // The request is under way: its reader is told that the body broke off.
                    Err(_) => self.phase = Phase::Broken,
                },
            }
            if self.raw.is_empty() {
                self.raw = Vec::new();
                return;
            }
        }
    }

    /// The length of the head and how its body is delimited, once it is whole.
    fn whole_head(&mut self) -> Result<Option<(usize, Framing)>, Fault> {
        // One empty line before a request is forgiven: old clients send it behind a body.
        if self.searched == 0 && self.raw.starts_with(b"\r\n") {
            self.raw.drain(..2);
        }
        while let Some(byte) = self.raw.get(self.searched) {
            if *byte == b'\n' {
                let before = self.raw.get(..self.searched).unwrap_or_default();
                if !before.ends_with(b"\r") {
                    return Err(BARE_LINE_END);
                }
                if before.ends_with(b"\r\n\r") {
                    let length = self.searched + 1;
                    self.searched = 0;
                    return head::check(self.raw.get(..length).unwrap_or_default())
                        .map(|framing| Some((length, framing)));
                }
            }
            self.searched += 1;
            if self.searched > head::MOST_BYTES {
                return Err(head::TOO_LARGE);
            }
        }
        Ok(None)
    }

    fn pass(&mut self, length: usize) {
        self.ready.extend(self.raw.drain(..length));
    }

    /// How long the next byte may take; none while a body is read, which has a clock of its own.
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
                    // A connection that waits holds nothing.
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
            // The end of what is heard would be taken for that of the peer. It is we who end this, with an answer.
            if matches!(this.phase, Phase::Refused) {
                return Poll::Pending;
            }
            let mut space = [0u8; 16 << 10];
            let mut chunk = ReadBuf::new(&mut space);
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
    /// A write that waits too long fails: a peer that takes nothing holds nothing.
    fn timed<R>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.writing = None;
            // Whoever is answered slowly is not idle meanwhile.
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
    /// Reads what a refused peer still sends, so that it gets to read the answer.
    fn drop_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [0u8; 16 << 10];
        while self.dropped < MOST_DROPPED {
            let mut chunk = ReadBuf::new(&mut space);
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
            this.waiting.as_mut().reset(Instant::now() + DROPPING);
        }
        if matches!(this.phase, Phase::Refused | Phase::Broken) {
            return this.drop_rest(context);
        }
        Poll::Ready(Ok(()))
    }
}

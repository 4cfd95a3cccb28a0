//! Bodies: read whole and bounded, unpacked and bounded, or sent piece by piece.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// An answer's body.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, BrokenOff>;

/// An answer ended before it was whole: the connection is cut, so that nobody takes a part for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for BrokenOff {}

/// A body that is there.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// From how many bytes on a body that is there is sent piece by piece, and how many a piece has.
const LARGE: usize = 256 << 10;
const PIECE: usize = 16 << 10;

/// A body that is there, for a client that takes it in time: one that takes no piece for so long is given up. In HTTP/2 a
/// client says itself how much it takes; without this it could have us keep what it asked for as long as it likes.
pub(crate) fn whole_within(bytes: Bytes, patience: Duration) -> AnswerBody {
    if bytes.len() <= LARGE {
        return whole(bytes);
    }
    let (sender, receiver) = mpsc::channel(WAITING);
    let (pieces, size) = (Pieces { sender }, bytes.len() as u64);
    tokio::spawn(async move {
        for piece in bytes.chunks(PIECE) {
            // A copy: a piece that waits must not keep all of it.
            let sent = tokio::time::timeout(patience, pieces.send(Bytes::copy_from_slice(piece))).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
        // Whoever has gone needs no end.
        let _ = pieces.end().await;
    });
    Flow { receiver, is_over: false, left: Some(size) }.boxed_unsync()
}

/// How many pieces may wait for a client that is slow to take them.
const WAITING: usize = 8;

/// A body that is sent piece by piece. The receiver of pieces waits for a slow client; a sender that is dropped without
/// [`Pieces::end`] leaves the body broken off.
pub(crate) fn pieces() -> (Pieces, AnswerBody) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Pieces { sender }, Flow { receiver, is_over: false, left: None }.boxed_unsync())
}

/// Where the pieces of a body are put.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    sender: mpsc::Sender<Option<Bytes>>,
}

/// The client went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Pieces {
    /// Sends a piece; waits while the client takes earlier ones.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.sender.send(Some(bytes)).await.map_err(|_| Gone)
    }

    /// Whether the client has gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }

    /// Returns when the client has gone.
    pub(crate) async fn gone(&self) {
        self.sender.closed().await;
    }

    /// Ends the body: it is whole.
    pub(crate) async fn end(self) -> Result<(), Gone> {
        self.sender.send(None).await.map_err(|_| Gone)
    }
}

struct Flow {
    receiver: mpsc::Receiver<Option<Bytes>>,
    is_over: bool,
    /// How many bytes are to come, if that is known.
    left: Option<u64>,
}

impl Body for Flow {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|piece| match piece {
            Some(Some(bytes)) => {
                self.left = self.left.map(|left| left.saturating_sub(bytes.len() as u64));
                Some(Ok(Frame::data(bytes)))
            }
            Some(None) => {
                self.is_over = true;
                None
            }
            None => {
                self.is_over = true;
                Some(Err(BrokenOff))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It has more bytes than are taken.
    TooLarge,
    /// Nothing came for too long.
    TooSlow,
    /// It broke off, or was not delimited as it should be.
    BrokenOff,
    /// It is something else than JSON.
    Type,
    /// Its encoding is not known here.
    Encoding,
    /// Its encoding does not hold what it says.
    Damaged,
}

impl Unread {
    /// The status, a word for programs and a sentence for people.
    pub(crate) fn response(self) -> (u16, &'static str, &'static str) {
        match self {
            Unread::TooLarge => (413, "body.too_large", "request body is over the limit"),
            Unread::TooSlow => (408, "body.too_slow", "request timeout: the body did not arrive in time"),
            Unread::BrokenOff => (400, "body.broken_off", "request body ended early"),
            Unread::Type => (415, "body.type", "unsupported Content-Type; use application/json"),
            Unread::Encoding => (415, "body.encoding", "unsupported Content-Encoding; use gzip or zstd"),
            Unread::Damaged => (400, "body.damaged", "request body does not match its Content-Encoding"),
        }
    }
}

/// Reads a body whole, at most so many bytes, with a bound on the time between two pieces. What was read is given even
/// if it is not all.
pub(crate) async fn read<B>(mut body: B, most: usize, idle: Duration) -> (Bytes, Result<(), Unread>)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut bytes = BytesMut::new();
    // A length that is announced is refused before it comes.
    if body.size_hint().lower() > most as u64 {
        return (bytes.freeze(), Err(Unread::TooLarge));
    }
    loop {
        let frame = match tokio::time::timeout(idle, body.frame()).await {
            Err(_) => return (bytes.freeze(), Err(Unread::TooSlow)),
            Ok(None) => return (bytes.freeze(), Ok(())),
            Ok(Some(Err(_))) => return (bytes.freeze(), Err(Unread::BrokenOff)),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers end here: they are part of nothing that is judged.
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return (bytes.freeze(), Err(Unread::TooLarge));
        }
        bytes.extend_from_slice(&data);
    }
}

/// Unpacks a body by its `content-encoding`: at most so many bytes, and at most so many times its size.
pub(crate) fn unpack(encoding: &str, packed: &Bytes, most: usize, inflation: usize) -> Result<Bytes, Unread> {
    let reader: Box<dyn Read + '_> = match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => return Ok(packed.clone()),
        "gzip" | "x-gzip" => Box::new(flate2::read::GzDecoder::new(packed.as_ref())),
        "zstd" => Box::new(zstd::stream::read::Decoder::new(packed.as_ref()).map_err(|_| Unread::Damaged)?),
        _ => return Err(Unread::Encoding),
    };
    let most = most.min(packed.len().saturating_mul(inflation.max(1)).max(1024));
    let mut bytes = Vec::new();
    reader.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|_| Unread::Damaged)?;
    if bytes.len() > most { Err(Unread::TooLarge) } else { Ok(bytes.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[tokio::test]
    async fn large_body_is_dropped_when_client_stalls() {
        /// Bytes that say when they are let go of.
        struct ErrorResponse(Vec<u8>, Option<tokio::sync::oneshot::Sender<()>>);
        impl AsRef<[u8]> for ErrorResponse {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        impl Drop for ErrorResponse {
            fn drop(&mut self) {
                let _ = self.1.take().map(|sender| sender.send(()));
            }
        }
        let text: Vec<u8> = (0..LARGE + 7).map(|place| (place % 251) as u8).collect();
        let patience = Duration::from_millis(50);
        let taken = whole_within(text.clone().into(), patience);
        assert_eq!(taken.size_hint().exact(), Some(text.len() as u64));
        assert_eq!(taken.collect().await.unwrap().to_bytes(), text);
        let (sender, freed) = tokio::sync::oneshot::channel();
        let mut left_lying = whole_within(Bytes::from_owner(ErrorResponse(text.clone(), Some(sender))), patience);
        assert!(left_lying.frame().await.unwrap().is_ok());
        freed.await.unwrap();
        // Who comes back after that finds that it broke off.
        assert!(left_lying.collect().await.is_err());
    }

    #[test]
    fn packed_bodies_are_bounded_in_size_and_ratio() {
        let text = b"{\"model\":\"m\"}".repeat(10);
        assert_eq!(unpack("gzip", &gzip(&text), 1 << 20, 100).unwrap(), text);
        let packed: Bytes = zstd::encode_all(text.as_slice(), 3).unwrap().into();
        assert_eq!(unpack("ZSTD", &packed, 1 << 20, 100).unwrap(), text);
        let bomb = gzip(&vec![b' '; 10 << 20]);
        assert_eq!(unpack("gzip", &bomb, 1 << 30, 100), Err(Unread::TooLarge), "ratio");
        assert_eq!(unpack("gzip", &bomb, 1 << 20, 10_000), Err(Unread::TooLarge), "size");
        assert_eq!(unpack("br", &packed, 1 << 20, 100), Err(Unread::Encoding));
        assert_eq!(unpack("gzip, gzip", &packed, 1 << 20, 100), Err(Unread::Encoding));
        assert_eq!(unpack("gzip", &packed, 1 << 20, 100), Err(Unread::Damaged));
        let cut = gzip(&text);
        assert_eq!(unpack("gzip", &cut.slice(..cut.len() - 9), 1 << 20, 100), Err(Unread::Damaged));
    }
}

//! Bodies: read and decompressed within limits, and sent as a whole or piece by piece.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::bytes_in_flight::HeldBytes;
use crate::telemetry::Outcome;

/// An answer's body.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, AnswerCut>;

/// An answer ended early: the connection is cut, so that the client does not mistake a part for the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerCut;

impl std::fmt::Display for AnswerCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl std::error::Error for AnswerCut {}

/// Returns a body of these bytes.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Longer bodies are sent in pieces, and the length of a piece.
const MAX_WHOLE_BYTES: usize = 256 << 10;
const PIECE_BYTES: usize = 16 << 10;

/// Returns a body of these bytes with a write timeout: if the client reads no piece for `patience`, the body is
/// dropped. In HTTP/2 the client controls the flow; without a timeout it could make us buffer the body forever.
pub(crate) fn whole_within(bytes: Bytes, patience: Duration) -> AnswerBody {
    if bytes.len() <= MAX_WHOLE_BYTES {
        return whole(bytes);
    }
    let (sender, receiver) = mpsc::channel(MAX_BUFFERED_PIECES);
    let (pieces, size) = (Pieces { sender }, bytes.len() as u64);
    tokio::spawn(async move {
        for piece in bytes.chunks(PIECE_BYTES) {
            // A copy: a waiting piece must not keep the whole body in memory.
            let sent = tokio::time::timeout(patience, pieces.send(Bytes::copy_from_slice(piece))).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
        // A client that has disconnected needs no end.
        let _ = pieces.end().await;
    });
    Flow { receiver, is_over: false, left: Some(size) }.boxed_unsync()
}

/// How many pieces are buffered for a slow client.
const MAX_BUFFERED_PIECES: usize = 8;

/// Returns a body that is sent piece by piece, and its sender. The sender waits for a slow client. If it is dropped
/// without [`Pieces::end`], the body ends with an error.
pub(crate) fn pieces() -> (Pieces, AnswerBody) {
    let (sender, receiver) = mpsc::channel(MAX_BUFFERED_PIECES);
    (Pieces { sender }, Flow { receiver, is_over: false, left: None }.boxed_unsync())
}

/// The sender of a body's pieces.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    sender: mpsc::Sender<Option<Bytes>>,
}

/// The client has disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disconnect;

impl Pieces {
    /// Sends a piece; waits until there is room in the buffer.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), Disconnect> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.sender.send(Some(bytes)).await.map_err(|_| Disconnect)
    }

    /// Whether the client has disconnected.
    pub(crate) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the client has disconnected.
    pub(crate) async fn gone(&self) {
        self.sender.closed().await;
    }

    /// Ends the body: it is complete.
    pub(crate) async fn end(self) -> Result<(), Disconnect> {
        self.sender.send(None).await.map_err(|_| Disconnect)
    }
}

struct Flow {
    receiver: mpsc::Receiver<Option<Bytes>>,
    is_over: bool,
    /// How many bytes are still to come, if that is known.
    left: Option<u64>,
}

impl Body for Flow {
    type Data = Bytes;
    type Error = AnswerCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerCut>>> {
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
                Some(Err(AnswerCut))
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

/// The code of an answer while the gateway has as much in flight as it may have.
pub(crate) const BUSY: &str = "gateway.busy";

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It is over the limit.
    TooLarge,
    /// All bodies in flight together are over the limit.
    Busy,
    /// Timeout: no bytes came for too long.
    TooSlow,
    /// It ended early, or its framing was invalid.
    BrokenOff,
    /// Its type is not JSON.
    Type,
    /// Its characters are not in UTF-8.
    Charset,
    /// Its content encoding is not supported.
    Encoding,
    /// It does not match its content encoding.
    Damaged,
}

impl BodyError {
    /// Returns how the exchange ends because of it.
    pub(crate) fn outcome(self) -> Outcome {
        if self == BodyError::Busy { Outcome::Busy } else { Outcome::Refused }
    }

    /// Returns the status, the code for programs and the message for people.
    pub(crate) fn response(self) -> (u16, &'static str, &'static str) {
        match self {
            BodyError::TooLarge => (413, "body.too_large", "request body is over the limit"),
            BodyError::Busy => (503, BUSY, "too many bytes in flight (limit `bytes_in_flight`); retry later"),
            BodyError::TooSlow => (408, "body.too_slow", "request timeout: the body did not arrive in time"),
            BodyError::BrokenOff => (400, "body.broken_off", "request body ended early"),
            BodyError::Type => (415, "body.type", "unsupported Content-Type; use application/json"),
            BodyError::Charset => (415, "body.charset", "unsupported charset in Content-Type; use utf-8"),
            BodyError::Encoding => (415, "body.encoding", "unsupported Content-Encoding; use gzip or zstd"),
            BodyError::Damaged => (400, "body.damaged", "request body does not match its Content-Encoding"),
        }
    }
}

/// Reads a whole body of at most `most` bytes, with a timeout between two pieces. Returns the bytes that were read,
/// even after an error. `held` counts them.
pub(crate) async fn read<B>(
    mut body: B,
    most: usize,
    idle: Duration,
    held: &HeldBytes,
) -> (Bytes, Result<(), BodyError>)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut bytes = BytesMut::new();
    // A body whose announced length is over the limit is refused before it is read.
    if body.size_hint().lower() > most as u64 {
        return (bytes.freeze(), Err(BodyError::TooLarge));
    }
    loop {
        let frame = match tokio::time::timeout(idle, body.frame()).await {
            Err(_) => return (bytes.freeze(), Err(BodyError::TooSlow)),
            Ok(None) => return (bytes.freeze(), Ok(())),
            Ok(Some(Err(_))) => return (bytes.freeze(), Err(BodyError::BrokenOff)),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers are dropped: they are not judged.
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return (bytes.freeze(), Err(BodyError::TooLarge));
        }
        if held.add(data.len()).is_err() {
            return (bytes.freeze(), Err(BodyError::Busy));
        }
        bytes.extend_from_slice(&data);
    }
}

/// Whether a content type names another charset than UTF-8. Some readers follow it, others take every body for UTF-8.
pub(crate) fn has_other_charset(content_type: &str) -> bool {
    let charsets = content_type.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    charsets.into_iter().any(|charset| !matches!(charset.as_str(), "utf-8" | "utf8" | "us-ascii"))
}

/// Decompresses a body by its content encoding, to at most `most` bytes and at most `inflation` times its size.
pub(crate) fn unpack(encoding: &str, packed: &Bytes, most: usize, inflation: usize) -> Result<Bytes, BodyError> {
    let reader: Box<dyn Read + '_> = match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => return Ok(packed.clone()),
        "gzip" | "x-gzip" => Box::new(flate2::read::MultiGzDecoder::new(packed.as_ref())),
        "zstd" => Box::new(zstd::stream::read::Decoder::new(packed.as_ref()).map_err(|_| BodyError::Damaged)?),
        _ => return Err(BodyError::Encoding),
    };
    let most = most.min(packed.len().saturating_mul(inflation.max(1)).max(1024));
    let mut bytes = Vec::new();
    reader.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|_| BodyError::Damaged)?;
    if bytes.len() > most { Err(BodyError::TooLarge) } else { Ok(bytes.into()) }
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
        /// Bytes that report when they are dropped.
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
        let text: Vec<u8> = (0..MAX_WHOLE_BYTES + 7).map(|place| (place % 251) as u8).collect();
        let patience = Duration::from_millis(50);
        let taken = whole_within(text.clone().into(), patience);
        assert_eq!(taken.size_hint().exact(), Some(text.len() as u64));
        assert_eq!(taken.collect().await.unwrap().to_bytes(), text);
        let (sender, freed) = tokio::sync::oneshot::channel();
        let mut left_lying = whole_within(Bytes::from_owner(ErrorResponse(text.clone(), Some(sender))), patience);
        assert!(left_lying.frame().await.unwrap().is_ok());
        freed.await.unwrap();
        // Reading on after that is an error.
        assert!(left_lying.collect().await.is_err());
    }

    #[test]
    fn other_charsets_are_noticed() {
        for content_type in
            ["application/json", "application/json; charset=utf-8", "text/event-stream;charset=\"UTF-8\""]
        {
            assert!(!has_other_charset(content_type), "{content_type}");
        }
        for content_type in ["application/json; charset=utf-16", "application/json;a=b; Charset=\"utf-7\""] {
            assert!(has_other_charset(content_type), "{content_type}");
        }
    }

    #[test]
    fn packed_bodies_are_bounded_in_size_and_ratio() {
        let text = b"{\"model\":\"m\"}".repeat(10);
        assert_eq!(unpack("gzip", &gzip(&text), 1 << 20, 100).unwrap(), text);
        let packed: Bytes = zstd::encode_all(text.as_slice(), 3).unwrap().into();
        assert_eq!(unpack("ZSTD", &packed, 1 << 20, 100).unwrap(), text);
        let bomb = gzip(&vec![b' '; 10 << 20]);
        assert_eq!(unpack("gzip", &bomb, 1 << 30, 100), Err(BodyError::TooLarge), "ratio");
        assert_eq!(unpack("gzip", &bomb, 1 << 20, 10_000), Err(BodyError::TooLarge), "size");
        assert_eq!(unpack("br", &packed, 1 << 20, 100), Err(BodyError::Encoding));
        assert_eq!(unpack("gzip, gzip", &packed, 1 << 20, 100), Err(BodyError::Encoding));
        assert_eq!(unpack("gzip", &packed, 1 << 20, 100), Err(BodyError::Damaged));
        let members: Bytes = [gzip(&text), gzip(&text)].concat().into();
        assert_eq!(unpack("gzip", &members, 1 << 20, 100).unwrap(), text.repeat(2), "all members are read");
        let cut = gzip(&text);
        assert_eq!(unpack("gzip", &cut.slice(..cut.len() - 9), 1 << 20, 100), Err(BodyError::Damaged));
    }
}

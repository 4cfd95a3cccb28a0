//! The body of an answer: whole, or as it comes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Streamed {
    /// All of it.
    Whole(Option<Bytes>),
    /// Part by part; it ends when nobody can send any more.
    Parts(mpsc::Receiver<Bytes>),
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Streamed::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Streamed::Parts(parts) => parts.poll_recv(context).map(|part| part.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Streamed::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Streamed::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Streamed::Parts(_) => SizeHint::default(),
        }
    }
}

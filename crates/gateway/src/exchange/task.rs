//! Runs an exchange within the task of its client's connection.
//!
//! A task of its own would be woken on another core at every step. So the connection polls the exchange: first for the
//! head of the answer, then for the pieces of a stream. If the client disconnects, the rest of the exchange becomes a
//! task of its own: it finishes and writes its record.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Response, Version};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::body::{AnswerBody, AnswerCut};

/// An exchange that is not finished.
pub(super) struct ExchangeTask {
    future: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl ExchangeTask {
    pub(super) fn new(future: impl Future<Output = ()> + Send + 'static) -> ExchangeTask {
        ExchangeTask { future: Some(Box::pin(future)) }
    }

    /// Runs the exchange until it answers. None if it ends without an answer.
    pub(super) async fn answer(
        mut self,
        mut answer: oneshot::Receiver<Response<AnswerBody>>,
        version: Version,
    ) -> Option<Response<AnswerBody>> {
        let answered = poll_fn(|context| {
            self.advance(context);
            Pin::new(&mut answer).poll(context)
        });
        let response = answered.await.ok()?;
        let is_stream = response.body().size_hint().exact().is_none();
        // In HTTP/2 a client that reads nothing stops the polling of its stream, and with it all timeouts.
        if self.future.is_none() || !is_stream || version == Version::HTTP_2 {
            return Some(response);
        }
        Some(response.map(|body| DrivenBody { task: self, body }.boxed_unsync()))
    }

    fn advance(&mut self, context: &mut Context<'_>) {
        if self.future.as_mut().is_some_and(|future| future.as_mut().poll(context).is_ready()) {
            self.future = None;
        }
    }
}

impl Drop for ExchangeTask {
    fn drop(&mut self) {
        // Without a runtime the process is ending.
        if let (Some(future), Ok(runtime)) = (self.future.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

/// The body of a stream, which runs the exchange that writes it.
struct DrivenBody {
    task: ExchangeTask,
    body: AnswerBody,
}

impl Body for DrivenBody {
    type Data = Bytes;
    type Error = AnswerCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerCut>>> {
        self.task.advance(context);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

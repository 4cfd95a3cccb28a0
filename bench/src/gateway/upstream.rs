//! `lictor-bench gateway-upstream PORT`: a model's server that answers at once, always the same.
//!
//! A stream has a piece every millisecond, so that a proxy that buffers more than the first piece shows.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::conversation;

/// The time between two pieces of a stream.
const BETWEEN: Duration = Duration::from_millis(1);

type Body = BoxBody<Bytes, Infallible>;

/// Serves until it is killed.
pub(crate) fn run(port: u16) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let (reply, pieces) = (conversation::reply(), conversation::pieces());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (reply, pieces) = (reply.clone(), pieces.clone());
            let service = service_fn(move |request| answer(request, reply.clone(), pieces.clone()));
            tokio::spawn(async move {
                // A client may disconnect; the server ignores that.
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

async fn answer(request: Request<Incoming>, reply: Bytes, pieces: Vec<Bytes>) -> Result<Response<Body>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let streams = |sign: &[u8]| body.windows(sign.len()).any(|window| window == sign);
    // A proxy may serialize the body anew.
    if !streams(b"\"stream\":true") && !streams(b"\"stream\": true") {
        let mut response = Response::new(Full::new(reply).boxed());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        return Ok(response);
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for piece in pieces {
            if sender.send(piece).is_err() {
                return;
            }
            tokio::time::sleep(BETWEEN).await;
        }
    });
    let mut response = Response::new(Pieces(receiver).boxed());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // nginx buffers responses unless this header disables it.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// A body that comes piece by piece.
struct Pieces(mpsc::UnboundedReceiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

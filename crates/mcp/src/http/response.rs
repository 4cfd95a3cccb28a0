//! Responses to clients: JSON, errors, and streams of server-sent events.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use lictor_json::{Json, write_sse_event};
use tokio::sync::mpsc;

use super::response_body::ResponseBody;
use super::to_bytes;
use crate::message::error;

/// How many parts of a stream are buffered for a slow client.
const STREAM_BUFFER_PARTS: usize = 16;

pub(super) type HttpResponse = Response<ResponseBody>;

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("text/event-stream"))
}

pub(super) fn open_stream() -> (mpsc::Sender<Bytes>, HttpResponse) {
    let (sender, receiver) = mpsc::channel(STREAM_BUFFER_PARTS);
    let mut answer = Response::new(ResponseBody::Parts(receiver));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert("cache-control", HeaderValue::from_static("no-cache"));
    (sender, answer)
}

pub(super) fn json_response(status: StatusCode, text: Vec<u8>) -> HttpResponse {
    let mut answer = Response::new(ResponseBody::Whole(Some(to_bytes(text))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

pub(super) fn error_response(status: StatusCode, id: &Json, code: i64, reason: &str) -> HttpResponse {
    json_response(status, error(id, code, reason).to_string().into_bytes())
}

/// Returns a message of the protocol as a server-sent event.
pub(super) fn message_event(message: &[u8], id: Option<&[u8]>) -> Bytes {
    to_bytes(write_sse_event(Some("message"), id, message, "\n"))
}

//! Takes replies of the upstream: whole, as a stream, after the model was asked again, or as they came.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use lictor_exchange::StepResult;
use lictor_wire::holds_reply;

use super::Driver;
use crate::body::{self, BodyError};
use crate::error_response::ErrorResponse;
use crate::exchange::{HttpExchange, Stop};
use crate::telemetry::Outcome;
use crate::upstream;

/// The body of a reply.
enum ReplyBody {
    /// Decompressed.
    Plain(Bytes),
    /// As it came, since it cannot be decompressed: in shadow mode.
    Raw(Bytes),
}

/// How many bytes of a stream are judged and written together at most.
const MAX_JOINED_BYTES: usize = 16 << 10;

impl HttpExchange {
    /// Takes the head of the upstream's answer, and its body unless that is a stream.
    pub(super) async fn receive(
        &mut self,
        driver: &mut Driver,
        response: Response<Incoming>,
    ) -> Result<StepResult, Stop> {
        let (head, body) = response.into_parts();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let streams = header("content-type").trim().to_ascii_lowercase().starts_with("text/event-stream");
        let is_packed = !matches!(header("content-encoding").trim(), "" | "identity");
        if !head.status.is_success() {
            // An error of the upstream has nothing that an agent says or does, so it is forwarded unchanged.
            match self.read_reply(&head, body).await? {
                ReplyBody::Plain(bytes) if !self.gateway.config.shadow && holds_reply(&bytes) => {
                    let message = format!(
                        "the upstream answered with status {} and a reply of a model, which is not judged",
                        head.status.as_u16()
                    );
                    let response = ErrorResponse::new(502, "upstream.error_with_reply", message);
                    self.record_refusal(&response.code, Vec::new()).await?;
                    return Err(Stop::Tell(Outcome::Refused, response));
                }
                ReplyBody::Plain(bytes) => self.send_body(head.status, &head.headers, bytes).await?,
                ReplyBody::Raw(bytes) => self.send_unchanged(head.status, &head.headers, bytes).await?,
            }
            self.account.ends(Outcome::UpstreamError, None);
            return Ok(StepResult::Unjudged);
        }
        let has_other_charset = body::has_other_charset(header("content-type"));
        if self.gateway.config.shadow && (has_other_charset || streams && is_packed) {
            self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
            self.pass_on_reply(&head, body).await?;
            return Ok(StepResult::Unjudged);
        }
        if has_other_charset {
            let message = "the upstream's reply is in another charset than UTF-8";
            let response = ErrorResponse::new(502, "upstream.charset", message);
            self.record_refusal(&response.code, Vec::new()).await?;
            return Err(Stop::Tell(Outcome::Refused, response));
        }
        if streams && is_packed {
            let message = "the upstream compressed its stream, although no Content-Encoding was accepted";
            let response = ErrorResponse::new(502, "upstream.encoding", message);
            self.record_refusal(&response.code, Vec::new()).await?;
            return Err(Stop::Tell(Outcome::Refused, response));
        }
        if streams {
            self.account.streams();
            let (pieces, answer) = body::pieces();
            let mut response = Response::new(answer);
            *response.status_mut() = head.status;
            *response.headers_mut() = upstream::response_headers(&head.headers);
            self.send_head(response)?;
            self.pieces = Some(pieces);
            driver.stream = Some(body);
            return Ok(StepResult::Stream);
        }
        let bytes = match self.read_reply(&head, body).await? {
            ReplyBody::Plain(bytes) => bytes,
            ReplyBody::Raw(bytes) => {
                self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
                self.send_unchanged(head.status, &head.headers, bytes).await?;
                return Ok(StepResult::Unjudged);
            }
        };
        if head.status == StatusCode::NO_CONTENT {
            self.send_body(head.status, &head.headers, bytes).await?;
            return Ok(StepResult::Unjudged);
        }
        driver.head = Some(head);
        Ok(StepResult::Reply(bytes))
    }

    /// Asks the upstream once more. Without a whole reply to judge, the client gets what it would have got before.
    pub(super) async fn ask_again(&mut self, driver: &mut Driver, bytes: Bytes) -> Result<StepResult, Stop> {
        // A correction costs as much as a request: a client that has disconnected gets none.
        if self.is_gone() {
            return Err(Stop::Gone);
        }
        let asked = async {
            let (head, body) = self.forward(bytes).await?.into_parts();
            let content_type =
                head.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
            let is_stream = content_type.trim().to_ascii_lowercase().starts_with("text/event-stream");
            let is_packed = head.headers.contains_key("content-encoding");
            let is_unexpected = is_stream != self.pieces.is_some() || (is_stream && is_packed);
            if head.status != StatusCode::OK || is_unexpected || body::has_other_charset(content_type) {
                return Ok(StepResult::Unjudged);
            }
            if is_stream {
                (driver.stream, driver.stream_end) = (Some(body), None);
                return Ok(StepResult::Stream);
            }
            let ReplyBody::Plain(bytes) = self.read_reply(&head, body).await? else {
                return Ok(StepResult::Unjudged);
            };
            driver.head = Some(head);
            Ok(StepResult::Reply(bytes))
        };
        match asked.await {
            // The client gets the denial instead.
            Err(Stop::Tell(..)) => Ok(StepResult::Unjudged),
            answered => answered,
        }
    }

    /// Reads the body of a reply. One that cannot be decompressed is refused, except in shadow mode.
    async fn read_reply(&mut self, head: &Parts, body: Incoming) -> Result<ReplyBody, Stop> {
        let limits = self.gateway.config.limits;
        let reading = body::read(body, limits.body, limits.answer, &self.held);
        let (bytes, read) = tokio::select! {
            biased;
            () = self.client.closed() => return Err(Stop::Gone),
            read = reading => read,
        };
        self.end_upstream();
        self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let encoding = head.headers.get("content-encoding").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let unpacked = match read {
            Ok(()) => self.unpack(encoding, &bytes).await,
            Err(unread) => Err(unread),
        };
        let unread = match unpacked {
            Ok(bytes) => {
                self.note_body(bytes.len(), None);
                return Ok(ReplyBody::Plain(bytes));
            }
            Err(BodyError::Encoding | BodyError::Damaged) if self.gateway.config.shadow => {
                return Ok(ReplyBody::Raw(bytes));
            }
            Err(unread) => unread,
        };
        self.note_body(bytes.len(), Some(unread));
        if unread == BodyError::Busy {
            return Err(Stop::Tell(unread.outcome(), unread.response().into()));
        }
        let (outcome, message) = match unread {
            BodyError::BrokenOff => {
                (Outcome::Truncated, "the upstream closed the connection before the end of its reply")
            }
            BodyError::TooSlow => (Outcome::Truncated, "upstream timeout: the reply did not arrive in time"),
            BodyError::TooLarge => (Outcome::Refused, "the upstream's reply is over the limit on bodies"),
            BodyError::Type | BodyError::Charset | BodyError::Encoding | BodyError::Damaged | BodyError::Busy => {
                (Outcome::Refused, "the upstream's reply cannot be decompressed")
            }
        };
        let (_, code, _) = unread.response();
        let code = code.replacen("body.", "upstream.", 1);
        self.record_refusal(&code, bytes.to_vec()).await?;
        Err(Stop::Tell(outcome, ErrorResponse::new(502, code, message)))
    }

    /// Reads the next bytes of the stream.
    pub(super) async fn read_stream(&self, driver: &mut Driver) -> Result<StepResult, Stop> {
        if let Some(end) = driver.stream_end.take() {
            return Ok(end);
        }
        let (Some(body), Some(pieces)) = (&mut driver.stream, &self.pieces) else { return Ok(StepResult::Cut) };
        let limit = self.gateway.config.limits.answer;
        loop {
            let frame = tokio::select! {
                biased;
                () = pieces.gone() => return Err(Stop::Gone),
                frame = tokio::time::timeout(limit, body.frame()) => frame,
            };
            match frame {
                Ok(Some(Ok(frame))) => {
                    let Ok(mut bytes) = frame.into_data() else { continue };
                    driver.stream_end = join_ready(body, &mut bytes).await;
                    if driver.stream_end.is_some() {
                        self.end_upstream();
                    }
                    self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    if self.held.add(bytes.len()).is_err() {
                        self.note_body(bytes.len(), Some(BodyError::Busy));
                        return Err(Stop::Tell(BodyError::Busy.outcome(), BodyError::Busy.response().into()));
                    }
                    return Ok(StepResult::Bytes(bytes));
                }
                Ok(None) => {
                    self.end_upstream();
                    return Ok(StepResult::End);
                }
                Ok(Some(Err(_))) | Err(_) => return Ok(StepResult::Cut),
            }
        }
    }

    /// Forwards a request that cannot be read, and its reply, as they came.
    pub(super) async fn pass_on(&mut self, bytes: Bytes) -> Result<(), Stop> {
        self.is_body_raw = true;
        let response = self.ask_upstream(bytes).await?;
        let (head, body) = response.into_parts();
        self.pass_on_reply(&head, body).await
    }

    /// Sends the client a reply that cannot be read.
    async fn pass_on_reply(&mut self, head: &Parts, body: Incoming) -> Result<(), Stop> {
        let limits = self.gateway.config.limits;
        let (bytes, _) = body::read(body, limits.body, limits.answer, &self.held).await;
        self.end_upstream();
        self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.send_unchanged(head.status, &head.headers, bytes).await
    }
}

/// Appends frames that have arrived already, so that they are judged and written together. Returns the end of the
/// stream if that has arrived, too.
async fn join_ready(body: &mut Incoming, bytes: &mut Bytes) -> Option<StepResult> {
    let mut joined: Option<BytesMut> = None;
    let mut end = None;
    while joined.as_ref().map_or(bytes.len(), BytesMut::len) < MAX_JOINED_BYTES {
        let ready = poll_fn(|context| match Pin::new(&mut *body).poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => Poll::Ready(None),
        });
        match ready.await {
            Some(Some(Ok(frame))) => {
                let Ok(next) = frame.into_data() else { continue };
                joined.get_or_insert_with(|| BytesMut::from(bytes.as_ref())).extend_from_slice(&next);
            }
            Some(Some(Err(_))) => end = Some(StepResult::Cut),
            Some(None) => end = Some(StepResult::End),
            None => break,
        }
        if end.is_some() {
            break;
        }
    }
    if let Some(joined) = joined {
        *bytes = joined.freeze();
    }
    end
}

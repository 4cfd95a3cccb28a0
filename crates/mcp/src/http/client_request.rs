//! One POST of a client: forwarded, answered, or held for approval.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Method, Response, StatusCode};
use lictor_json::{self as json, Json, SseFramer, Text};
use tokio::sync::mpsc;

use super::headers::{SESSION, request_headers, response_headers};
use super::in_flight::InFlightRequest;
use super::response::{HttpResponse, error_response, is_stream, json_response, message_event, open_stream};
use super::response_body::ResponseBody;
use super::upstream::{MAX_BODY_BYTES, read_body};
use super::{MAX_SESSIONS, McpService, SharedSession, lock};
use crate::message::{DENIED_BY_POLICY, INVALID_REQUEST, error};
use crate::relay::OutgoingMessage;

/// One POST of a client.
pub(super) struct ClientRequest {
    pub(super) service: Arc<McpService>,
    pub(super) session: SharedSession,
    pub(super) headers: HeaderMap,
    pub(super) id: Json,
    pub(super) is_first: bool,
}

impl ClientRequest {
    /// Responds to a request.
    pub(super) async fn respond_to_request(self, outs: Vec<OutgoingMessage>, body: &Bytes) -> HttpResponse {
        let Some(out) = outs.into_iter().next() else {
            return error_response(StatusCode::BAD_GATEWAY, &self.id, DENIED_BY_POLICY, "denied");
        };
        match out {
            OutgoingMessage::Server(text) => {
                let is_rewritten = text != body.trim_ascii();
                self.forward(text, is_rewritten).await
            }
            OutgoingMessage::Client(text) => {
                let value = json::parse(&text).unwrap_or_default();
                if value.get("method").is_some() {
                    return self.ask_client(text);
                }
                if let Some(state) = value.at("result.requestState").and_then(Json::as_str) {
                    let mut pending = lock(&self.service.pending);
                    // A client that returns with an evicted state is asked again.
                    if pending.len() >= MAX_SESSIONS {
                        pending.clear();
                    }
                    pending.insert(state.to_owned(), Arc::clone(&self.session));
                }
                json_response(StatusCode::OK, text)
            }
            OutgoingMessage::Note(_) => error_response(StatusCode::BAD_GATEWAY, &self.id, DENIED_BY_POLICY, "denied"),
        }
    }

    /// Responds to a notification or to a response of the client.
    pub(super) async fn respond_to_notification(self, outs: Vec<OutgoingMessage>) -> HttpResponse {
        for out in outs {
            let (text, is_for_server) = match out {
                OutgoingMessage::Server(text) => (text, true),
                OutgoingMessage::Client(text) => (text, false),
                OutgoingMessage::Note(_) => continue,
            };
            // A response to our question releases the call that another request waits for.
            let name: Text = json::parse(&text).unwrap_or_default().get("id").unwrap_or(&Json::Null).to_string().into();
            let parked = lock(&self.session).parked.remove(&name);
            match (parked, is_for_server) {
                (Some(parked), true) => drop(parked.send(OutgoingMessage::Server(text))),
                (Some(parked), false) => drop(parked.send(OutgoingMessage::Client(text))),
                (None, true) => {
                    let headers = request_headers(&self.headers, false);
                    if let Err(reason) = self.service.upstream.send(Method::POST, headers, text).await {
                        return error_response(StatusCode::BAD_GATEWAY, &Json::Null, INVALID_REQUEST, &reason);
                    }
                }
                (None, false) => return json_response(StatusCode::BAD_REQUEST, text),
            }
        }
        let mut answer = Response::new(ResponseBody::Whole(None));
        *answer.status_mut() = StatusCode::ACCEPTED;
        answer
    }

    /// Asks the client for approval, on the stream that will also carry the response.
    fn ask_client(self, question: Vec<u8>) -> HttpResponse {
        let (sender, answer) = open_stream();
        let (parked, mut settled) = mpsc::unbounded_channel();
        lock(&self.session).parked.insert(self.id.to_string().into(), parked);
        drop(tokio::spawn(async move {
            if sender.send(message_event(&question, None)).await.is_err() {
                return;
            }
            match settled.recv().await {
                Some(OutgoingMessage::Client(text)) => drop(sender.send(message_event(&text, None)).await),
                Some(OutgoingMessage::Server(text)) => {
                    let in_flight = InFlightRequest::new(&self.session, &self.id);
                    let sent =
                        self.service.upstream.send(Method::POST, request_headers(&self.headers, true), text).await;
                    match sent {
                        Ok(answer) => in_flight.end(self.relay_response(answer, &sender).await),
                        Err(reason) => self.send_error(&sender, &reason).await,
                    }
                }
                _ => {}
            }
        }));
        answer
    }

    /// Forwards a request and relays the response.
    async fn forward(self, text: Vec<u8>, is_rewritten: bool) -> HttpResponse {
        let headers = request_headers(&self.headers, is_rewritten);
        let in_flight = InFlightRequest::new(&self.session, &self.id);
        let answer = match self.service.upstream.send(Method::POST, headers, text).await {
            Ok(answer) => answer,
            Err(reason) => return error_response(StatusCode::BAD_GATEWAY, &self.id, INVALID_REQUEST, &reason),
        };
        if self.is_first
            && answer.status().is_success()
            && let Some(name) = answer.headers().get(SESSION).and_then(|name| name.to_str().ok())
        {
            lock(&self.service.sessions).insert(name.to_owned(), Arc::clone(&self.session));
        }
        let kept = response_headers(answer.headers());
        let status = answer.status();
        if is_stream(answer.headers()) {
            let (sender, mut streamed) = open_stream();
            streamed.headers_mut().extend(kept);
            drop(tokio::spawn(async move { in_flight.end(self.relay_response(answer, &sender).await) }));
            return streamed;
        }
        let mut response = match read_body(answer.into_body()).await {
            Ok(body) => self.judge_response(status, &body),
            Err(reason) => error_response(StatusCode::BAD_GATEWAY, &self.id, INVALID_REQUEST, &reason),
        };
        response.headers_mut().extend(kept);
        response
    }

    /// Judges a response that is one message.
    fn judge_response(&self, status: StatusCode, body: &Bytes) -> HttpResponse {
        let outs = if body.is_empty() { Vec::new() } else { self.service.server_sent(&self.session, body) };
        match outs.into_iter().find_map(|out| if let OutgoingMessage::Client(text) = out { Some(text) } else { None }) {
            Some(text) => json_response(status, text),
            // Content outside the protocol does not pass; the status of a failure does.
            None => {
                let status = if status.is_success() { StatusCode::BAD_GATEWAY } else { status };
                error_response(status, &self.id, INVALID_REQUEST, "the server sent no valid response")
            }
        }
    }

    /// Relays a response, message by message if it is a stream. Returns whether the client can resume it.
    async fn relay_response(&self, answer: Response<Incoming>, sender: &mpsc::Sender<Bytes>) -> bool {
        if !is_stream(answer.headers()) {
            let status = answer.status();
            let response = match read_body(answer.into_body()).await {
                Ok(body) => self.judge_response(status, &body),
                Err(reason) => error_response(status, &self.id, INVALID_REQUEST, &reason),
            };
            if let ResponseBody::Whole(Some(text)) = response.into_body() {
                drop(sender.send(message_event(&text, None)).await);
            }
            return false;
        }
        relay_stream(&self.service, &self.session, &self.headers, answer, sender).await
    }

    async fn send_error(&self, sender: &mpsc::Sender<Bytes>, reason: &str) {
        let text = error(&self.id, INVALID_REQUEST, reason).to_string();
        drop(sender.send(message_event(text.as_bytes(), None)).await);
    }
}

/// Relays the allowed events of a stream. When the client disconnects, the stream of the server is dropped. Returns
/// whether the client can resume the stream: it got the id of an event.
pub(super) async fn relay_stream(
    service: &McpService,
    session: &SharedSession,
    headers: &HeaderMap,
    answer: Response<Incoming>,
    sender: &mpsc::Sender<Bytes>,
) -> bool {
    let (mut body, mut framer) = (answer.into_body(), SseFramer::default());
    let mut can_resume = false;
    while let Some(Ok(frame)) = body.frame().await {
        let Some(bytes) = frame.data_ref() else { continue };
        for event in framer.push(bytes) {
            let Some(data) = event.data() else { continue };
            can_resume |= event.id().is_some();
            if data.is_empty() {
                // It only carries the id from which the stream can be resumed.
                if sender.send(message_event(b"", event.id())).await.is_err() {
                    return can_resume;
                }
                continue;
            }
            for out in service.server_sent(session, &data) {
                match out {
                    OutgoingMessage::Client(text) => {
                        if sender.send(message_event(&text, event.id())).await.is_err() {
                            return can_resume;
                        }
                    }
                    OutgoingMessage::Server(text) => {
                        drop(service.upstream.send(Method::POST, request_headers(headers, true), text).await);
                    }
                    OutgoingMessage::Note(_) => {}
                }
            }
        }
        if framer.pending_bytes() > MAX_BODY_BYTES {
            return can_resume;
        }
    }
    can_resume
}

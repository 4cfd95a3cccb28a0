//! The HTTP endpoint: handles POST, GET and DELETE.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use lictor_json::{self as json, Json, Text};
use tokio::sync::mpsc;

use super::headers::{SESSION, find_mismatch, request_headers, response_headers};
use super::response_body::ResponseBody;
use super::upstream::{MAX_BODY_BYTES, read_body};
use super::{MAX_SESSIONS, McpService, SharedSession, lock, to_bytes};
use crate::message::{self, DENIED_BY_POLICY, INVALID_REQUEST, MessageKind, error};
use crate::relay::OutgoingMessage;
use crate::sse::{self, EventParser};

/// The error code for headers that contradict the body.
const HEADER_MISMATCH: i64 = -32020;

/// How long a client has to send a body.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How many parts of a stream are buffered for a slow client.
const STREAM_BUFFER_PARTS: usize = 16;

type HttpResponse = Response<ResponseBody>;

/// Handles a request.
pub(super) async fn respond(service: Arc<McpService>, request: Request<Incoming>) -> HttpResponse {
    if let Some(reason) = check_origin(&service, request.headers()) {
        return error_response(StatusCode::FORBIDDEN, &Json::Null, INVALID_REQUEST, &reason);
    }
    if request.uri().path() != service.upstream.uri.path() {
        return error_response(StatusCode::NOT_FOUND, &Json::Null, INVALID_REQUEST, "unknown path");
    }
    match *request.method() {
        Method::POST => handle_post(service, request).await,
        Method::GET => handle_get(service, request.headers()).await,
        Method::DELETE => handle_delete(&service, request.headers()).await,
        _ => {
            let mut answer =
                error_response(StatusCode::METHOD_NOT_ALLOWED, &Json::Null, INVALID_REQUEST, "use POST, GET or DELETE");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
            answer
        }
    }
}

/// Returns why a request is refused by its Host or Origin header: a web page may have sent it (DNS rebinding).
fn check_origin(service: &McpService, headers: &HeaderMap) -> Option<String> {
    let is_ours = |host: &str| {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]") || service.hosts.iter().any(|known| known == name)
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_ours(host) {
        return Some(format!("Host `{host}` is not allowed"));
    }
    let origin = headers.get(ORIGIN)?.to_str().unwrap_or_default();
    let is_known = origin.parse::<Uri>().ok().and_then(|uri| uri.authority().map(|it| is_ours(it.as_str())));
    (is_known != Some(true)).then(|| format!("Origin `{origin}` is not allowed"))
}

async fn handle_post(service: Arc<McpService>, request: Request<Incoming>) -> HttpResponse {
    let (head, body) = request.into_parts();
    let media = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_json = media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"));
    if !is_json || head.headers.contains_key(CONTENT_ENCODING) {
        let reason = "unsupported Content-Type or Content-Encoding; send uncompressed application/json";
        return error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, &Json::Null, INVALID_REQUEST, reason);
    }
    let body = match tokio::time::timeout(BODY_READ_TIMEOUT, read_body(body)).await {
        Ok(Ok(body)) => body,
        _ => {
            let reason = format!("request timeout, or the body is over the limit of {} MiB", MAX_BODY_BYTES >> 20);
            return error_response(StatusCode::PAYLOAD_TOO_LARGE, &Json::Null, INVALID_REQUEST, &reason);
        }
    };
    let message = match message::read(&body) {
        Ok((mut messages, false)) => messages.remove(0),
        Ok((_, true)) => {
            service.refuse("mcp.batch", &body);
            return error_response(
                StatusCode::BAD_REQUEST,
                &Json::Null,
                INVALID_REQUEST,
                "batches are not supported; send one message per request",
            );
        }
        Err(fault) => {
            service.refuse(fault.reason, &body);
            return error_response(StatusCode::BAD_REQUEST, &Json::Null, fault.code, &fault.message);
        }
    };
    let id = match &message.kind {
        MessageKind::Request { id, .. } => id.clone(),
        _ => Json::Null,
    };
    if let Some(reason) = find_mismatch(&head.headers, &message) {
        service.refuse("mcp.headers", &body);
        return error_response(StatusCode::BAD_REQUEST, &id, HEADER_MISMATCH, &reason);
    }
    let is_first = matches!(&message.kind, MessageKind::Request { method, .. } if method == "initialize");
    let state = message.params().text("requestState");
    let session = match find_session(&service, &head.headers, is_first, state) {
        Ok(session) => session,
        Err(answer) => return *answer,
    };
    let outs = service.client_sent(&session, &body);
    let call = ClientRequest { service: Arc::clone(&service), session, headers: head.headers, id, is_first };
    match message.kind {
        MessageKind::Request { .. } => call.respond_to_request(outs, &body).await,
        _ => call.respond_to_notification(outs).await,
    }
}

/// Returns the session of a request.
fn find_session(
    service: &McpService,
    headers: &HeaderMap,
    is_first: bool,
    state: Option<&str>,
) -> Result<SharedSession, Box<HttpResponse>> {
    if let Some(waiting) = state.and_then(|state| lock(&service.pending).remove(state)) {
        return Ok(waiting);
    }
    match headers.get(SESSION) {
        // The status 404 makes the client start a new session.
        Some(name) => {
            let known = name.to_str().ok().and_then(|name| lock(&service.sessions).get(name).cloned());
            known.ok_or_else(|| {
                Box::new(error_response(StatusCode::NOT_FOUND, &Json::Null, INVALID_REQUEST, "unknown session"))
            })
        }
        None if is_first => service.create_session().ok_or_else(|| {
            let reason = "cannot start a session: too many sessions, or the audit log is unavailable; retry later";
            Box::new(error_response(StatusCode::SERVICE_UNAVAILABLE, &Json::Null, INVALID_REQUEST, reason))
        }),
        None => Ok(service.create_request_session()),
    }
}

/// One POST of a client.
struct ClientRequest {
    service: Arc<McpService>,
    session: SharedSession,
    headers: HeaderMap,
    id: Json,
    is_first: bool,
}

impl ClientRequest {
    /// Responds to a request.
    async fn respond_to_request(self, outs: Vec<OutgoingMessage>, body: &Bytes) -> HttpResponse {
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
    async fn respond_to_notification(self, outs: Vec<OutgoingMessage>) -> HttpResponse {
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
            if sender.send(to_bytes(sse::write_event(&question, None))).await.is_err() {
                return;
            }
            match settled.recv().await {
                Some(OutgoingMessage::Client(text)) => drop(sender.send(to_bytes(sse::write_event(&text, None))).await),
                Some(OutgoingMessage::Server(text)) => {
                    let sent =
                        self.service.upstream.send(Method::POST, request_headers(&self.headers, true), text).await;
                    match sent {
                        Ok(answer) => self.relay_response(answer, &sender).await,
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
            drop(tokio::spawn(async move { self.relay_response(answer, &sender).await }));
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

    /// Relays a response, message by message if it is a stream.
    async fn relay_response(&self, answer: Response<Incoming>, sender: &mpsc::Sender<Bytes>) {
        if !is_stream(answer.headers()) {
            let status = answer.status();
            let response = match read_body(answer.into_body()).await {
                Ok(body) => self.judge_response(status, &body),
                Err(reason) => error_response(status, &self.id, INVALID_REQUEST, &reason),
            };
            if let ResponseBody::Whole(Some(text)) = response.into_body() {
                drop(sender.send(to_bytes(sse::write_event(&text, None))).await);
            }
            return;
        }
        relay_stream(&self.service, &self.session, &self.headers, answer, sender).await;
    }

    async fn send_error(&self, sender: &mpsc::Sender<Bytes>, reason: &str) {
        let text = error(&self.id, INVALID_REQUEST, reason).to_string();
        drop(sender.send(to_bytes(sse::write_event(text.as_bytes(), None))).await);
    }
}

/// Relays the allowed events of a stream. When the client disconnects, the stream of the server is dropped.
async fn relay_stream(
    service: &McpService,
    session: &SharedSession,
    headers: &HeaderMap,
    answer: Response<Incoming>,
    sender: &mpsc::Sender<Bytes>,
) {
    let (mut body, mut events) = (answer.into_body(), EventParser::default());
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        for event in events.push(data) {
            if event.data.is_empty() {
                // It only carries the id from which the stream can be resumed.
                if sender.send(to_bytes(sse::write_event(b"", event.id.as_deref()))).await.is_err() {
                    return;
                }
                continue;
            }
            for out in service.server_sent(session, &event.data) {
                match out {
                    OutgoingMessage::Client(text) => {
                        if sender.send(to_bytes(sse::write_event(&text, event.id.as_deref()))).await.is_err() {
                            return;
                        }
                    }
                    OutgoingMessage::Server(text) => {
                        drop(service.upstream.send(Method::POST, request_headers(headers, true), text).await);
                    }
                    OutgoingMessage::Note(_) => {}
                }
            }
        }
        if events.buffered_bytes() > MAX_BODY_BYTES {
            return;
        }
    }
}

/// Opens the stream for requests and notifications of a server, in older revisions.
async fn handle_get(service: Arc<McpService>, headers: &HeaderMap) -> HttpResponse {
    if headers.get(SESSION).is_none() {
        return error_response(
            StatusCode::METHOD_NOT_ALLOWED,
            &Json::Null,
            INVALID_REQUEST,
            "a stream needs a session: the header mcp-session-id is missing",
        );
    }
    let session = match find_session(&service, headers, false, None) {
        Ok(session) => session,
        Err(answer) => return *answer,
    };
    let headers = request_headers(headers, false);
    match service.upstream.send(Method::GET, headers.clone(), Vec::new()).await {
        Err(reason) => error_response(StatusCode::BAD_GATEWAY, &Json::Null, INVALID_REQUEST, &reason),
        Ok(answer) if !answer.status().is_success() || !is_stream(answer.headers()) => {
            let status = answer.status();
            let status = if status.is_success() { StatusCode::BAD_GATEWAY } else { status };
            error_response(status, &Json::Null, INVALID_REQUEST, "the server offers no stream")
        }
        Ok(answer) => {
            let (sender, mut streamed) = open_stream();
            streamed.headers_mut().extend(response_headers(answer.headers()));
            drop(tokio::spawn(async move { relay_stream(&service, &session, &headers, answer, &sender).await }));
            streamed
        }
    }
}

/// Ends a session.
async fn handle_delete(service: &McpService, headers: &HeaderMap) -> HttpResponse {
    if let Err(answer) = find_session(service, headers, false, None) {
        return *answer;
    }
    match service.upstream.send(Method::DELETE, request_headers(headers, false), Vec::new()).await {
        Err(reason) => error_response(StatusCode::BAD_GATEWAY, &Json::Null, INVALID_REQUEST, &reason),
        Ok(answer) => {
            if let Some(name) = headers.get(SESSION).and_then(|name| name.to_str().ok())
                && answer.status().is_success()
            {
                lock(&service.sessions).remove(name);
            }
            let mut response = Response::new(ResponseBody::Whole(None));
            *response.status_mut() = answer.status();
            response
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn open_stream() -> (mpsc::Sender<Bytes>, HttpResponse) {
    let (sender, receiver) = mpsc::channel(STREAM_BUFFER_PARTS);
    let mut answer = Response::new(ResponseBody::Parts(receiver));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert("cache-control", HeaderValue::from_static("no-cache"));
    (sender, answer)
}

fn json_response(status: StatusCode, text: Vec<u8>) -> HttpResponse {
    let mut answer = Response::new(ResponseBody::Whole(Some(to_bytes(text))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn error_response(status: StatusCode, id: &Json, code: i64, reason: &str) -> HttpResponse {
    json_response(status, error(id, code, reason).to_string().into_bytes())
}

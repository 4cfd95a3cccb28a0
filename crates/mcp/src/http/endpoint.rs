//! The HTTP endpoint: handles POST, GET and DELETE.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use lictor_json::Json;

use super::client_request::{ClientRequest, relay_stream};
use super::headers::{SESSION, find_mismatch, request_headers, response_headers};
use super::response::{HttpResponse, error_response, is_stream, open_stream};
use super::response_body::ResponseBody;
use super::upstream::{MAX_BODY_BYTES, read_body};
use super::{McpService, SharedSession, lock};
use crate::message::{self, INVALID_REQUEST, MessageKind};

/// The error code for headers that contradict the body.
const HEADER_MISMATCH: i64 = -32020;

/// How long a client has to send a body.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

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

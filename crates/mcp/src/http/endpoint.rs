//! The endpoint: what each request comes to.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use lictor_json::{self as json, Json, Text};
use tokio::sync::mpsc;

use super::headers::{SESSION, disagreement, forwarded, returned};
use super::stream::Streamed;
use super::upstream::{LONGEST, whole};
use super::{MOST, McpService, Shared, bytes, locked};
use crate::message::{self, INVALID, NOT_ALLOWED, Sort, error};
use crate::relay::OutgoingMessage;
use crate::sse::{self, Events};

/// The code for headers and a body that do not agree.
const DISAGREEMENT: i64 = -32020;

/// How long a client has to send a message.
const BODY: Duration = Duration::from_secs(30);

/// How many parts of a stream may wait for a client that reads slowly.
const WAITING_PARTS: usize = 16;

type Answer = Response<Streamed>;

/// Answers a request.
pub(super) async fn respond(service: Arc<McpService>, request: Request<Incoming>) -> Answer {
    if let Some(reason) = stranger(&service, request.headers()) {
        return failure(StatusCode::FORBIDDEN, &Json::Null, INVALID, &reason);
    }
    if request.uri().path() != service.upstream.uri.path() {
        return failure(StatusCode::NOT_FOUND, &Json::Null, INVALID, "there is nothing here");
    }
    match *request.method() {
        Method::POST => post(service, request).await,
        Method::GET => listen(service, request.headers()).await,
        Method::DELETE => leave(&service, request.headers()).await,
        _ => {
            let mut answer = failure(StatusCode::METHOD_NOT_ALLOWED, &Json::Null, INVALID, "use POST, GET or DELETE");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
            answer
        }
    }
}

/// Why a request is not from where it should be: a page in a browser may have been led here.
fn stranger(service: &McpService, headers: &HeaderMap) -> Option<String> {
    let is_ours = |host: &str| {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]") || service.hosts.iter().any(|known| known == name)
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_ours(host) {
        return Some(format!("`{host}` is not the name of this host"));
    }
    let origin = headers.get(ORIGIN)?.to_str().unwrap_or_default();
    let is_known = origin.parse::<Uri>().ok().and_then(|uri| uri.authority().map(|it| is_ours(it.as_str())));
    (is_known != Some(true)).then(|| format!("pages of `{origin}` may not ask here"))
}

async fn post(service: Arc<McpService>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let media = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_json = media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"));
    if !is_json || head.headers.contains_key(CONTENT_ENCODING) {
        let reason = "a message is sent as plain application/json";
        return failure(StatusCode::UNSUPPORTED_MEDIA_TYPE, &Json::Null, INVALID, reason);
    }
    let body = match tokio::time::timeout(BODY, whole(body)).await {
        Ok(Ok(body)) => body,
        _ => {
            let reason = format!("the message did not come in time, or is longer than {LONGEST} bytes");
            return failure(StatusCode::PAYLOAD_TOO_LARGE, &Json::Null, INVALID, &reason);
        }
    };
    let message = match message::read(&body) {
        Ok((mut messages, false)) => messages.remove(0),
        Ok((_, true)) => {
            service.refuse("mcp.batch", &body);
            return failure(StatusCode::BAD_REQUEST, &Json::Null, INVALID, "send one message at a time");
        }
        Err(fault) => {
            service.refuse(fault.reason, &body);
            return failure(StatusCode::BAD_REQUEST, &Json::Null, fault.code, &fault.message);
        }
    };
    let id = match &message.sort {
        Sort::Request { id, .. } => id.clone(),
        _ => Json::Null,
    };
    if let Some(reason) = disagreement(&head.headers, &message) {
        service.refuse("mcp.headers", &body);
        return failure(StatusCode::BAD_REQUEST, &id, DISAGREEMENT, &reason);
    }
    let is_first = matches!(&message.sort, Sort::Request { method, .. } if method == "initialize");
    let state = message.params().text("requestState");
    let session = match find(&service, &head.headers, is_first, state) {
        Ok(session) => session,
        Err(answer) => return *answer,
    };
    let outs = service.client_sent(&session, &body);
    let call = Call { service: Arc::clone(&service), session, headers: head.headers, id, is_first };
    match message.sort {
        Sort::Request { .. } => call.answered(outs, &body).await,
        _ => call.accepted(outs).await,
    }
}

/// The session that a request belongs to.
fn find(service: &McpService, headers: &HeaderMap, is_first: bool, state: Option<&str>) -> Result<Shared, Box<Answer>> {
    if let Some(waiting) = state.and_then(|state| locked(&service.asked).remove(state)) {
        return Ok(waiting);
    }
    match headers.get(SESSION) {
        // The client begins anew when it is told so.
        Some(name) => {
            let known = name.to_str().ok().and_then(|name| locked(&service.sessions).get(name).cloned());
            known.ok_or_else(|| {
                Box::new(failure(StatusCode::NOT_FOUND, &Json::Null, INVALID, "there is no such session"))
            })
        }
        None if is_first => service.session().ok_or_else(|| {
            let reason = "no session can begin at the moment";
            Box::new(failure(StatusCode::SERVICE_UNAVAILABLE, &Json::Null, INVALID, reason))
        }),
        None => Ok(service.alone()),
    }
}

/// One message of a client, on its way.
struct Call {
    service: Arc<McpService>,
    session: Shared,
    headers: HeaderMap,
    id: Json,
    is_first: bool,
}

impl Call {
    /// What is answered to a request.
    async fn answered(self, outs: Vec<OutgoingMessage>, body: &Bytes) -> Answer {
        let Some(out) = outs.into_iter().next() else {
            return failure(StatusCode::BAD_GATEWAY, &self.id, NOT_ALLOWED, "this was not allowed");
        };
        match out {
            OutgoingMessage::Server(text) => {
                let is_rewritten = text != body.trim_ascii();
                self.forwarded(text, is_rewritten).await
            }
            OutgoingMessage::Client(text) => {
                let value = json::parse(&text).unwrap_or_default();
                if value.get("method").is_some() {
                    return self.parked(text);
                }
                if let Some(state) = value.at("result.requestState").and_then(Json::as_str) {
                    let mut asked = locked(&self.service.asked);
                    // Whoever comes back for one that was forgotten is asked once more.
                    if asked.len() >= MOST {
                        asked.clear();
                    }
                    asked.insert(state.to_owned(), Arc::clone(&self.session));
                }
                plain(StatusCode::OK, text)
            }
            OutgoingMessage::Note(_) => failure(StatusCode::BAD_GATEWAY, &self.id, NOT_ALLOWED, "this was not allowed"),
        }
    }

    /// What is answered to a notification, or to an answer of the client.
    async fn accepted(self, outs: Vec<OutgoingMessage>) -> Answer {
        for out in outs {
            let (text, is_for_server) = match out {
                OutgoingMessage::Server(text) => (text, true),
                OutgoingMessage::Client(text) => (text, false),
                OutgoingMessage::Note(_) => continue,
            };
            // The answer to a question of ours lets go of a call that another request is waiting for.
            let name: Text = json::parse(&text).unwrap_or_default().get("id").unwrap_or(&Json::Null).to_string().into();
            let parked = locked(&self.session).parked.remove(&name);
            match (parked, is_for_server) {
                (Some(parked), true) => drop(parked.send(OutgoingMessage::Server(text))),
                (Some(parked), false) => drop(parked.send(OutgoingMessage::Client(text))),
                (None, true) => {
                    let headers = forwarded(&self.headers, false);
                    if let Err(reason) = self.service.upstream.send(Method::POST, headers, text).await {
                        return failure(StatusCode::BAD_GATEWAY, &Json::Null, INVALID, &reason);
                    }
                }
                (None, false) => return plain(StatusCode::BAD_REQUEST, text),
            }
        }
        let mut answer = Response::new(Streamed::Whole(None));
        *answer.status_mut() = StatusCode::ACCEPTED;
        answer
    }

    /// Asks the client, on the stream that will also carry the answer.
    fn parked(self, question: Vec<u8>) -> Answer {
        let (sender, answer) = stream();
        let (parked, mut settled) = mpsc::unbounded_channel();
        locked(&self.session).parked.insert(self.id.to_string().into(), parked);
        drop(tokio::spawn(async move {
            if sender.send(bytes(sse::written(&question, None))).await.is_err() {
                return;
            }
            match settled.recv().await {
                Some(OutgoingMessage::Client(text)) => drop(sender.send(bytes(sse::written(&text, None))).await),
                Some(OutgoingMessage::Server(text)) => {
                    let sent = self.service.upstream.send(Method::POST, forwarded(&self.headers, true), text).await;
                    match sent {
                        Ok(answer) => self.relayed(answer, &sender).await,
                        Err(reason) => self.fail(&sender, &reason).await,
                    }
                }
                _ => {}
            }
        }));
        answer
    }

    /// Sends a request on, and passes on what comes back.
    async fn forwarded(self, text: Vec<u8>, is_rewritten: bool) -> Answer {
        let headers = forwarded(&self.headers, is_rewritten);
        let answer = match self.service.upstream.send(Method::POST, headers, text).await {
            Ok(answer) => answer,
            Err(reason) => return failure(StatusCode::BAD_GATEWAY, &self.id, INVALID, &reason),
        };
        if self.is_first
            && answer.status().is_success()
            && let Some(name) = answer.headers().get(SESSION).and_then(|name| name.to_str().ok())
        {
            locked(&self.service.sessions).insert(name.to_owned(), Arc::clone(&self.session));
        }
        let kept = returned(answer.headers());
        let status = answer.status();
        if is_stream(answer.headers()) {
            let (sender, mut streamed) = stream();
            streamed.headers_mut().extend(kept);
            drop(tokio::spawn(async move { self.relayed(answer, &sender).await }));
            return streamed;
        }
        let mut told = match whole(answer.into_body()).await {
            Ok(body) => self.judged(status, &body),
            Err(reason) => failure(StatusCode::BAD_GATEWAY, &self.id, INVALID, &reason),
        };
        told.headers_mut().extend(kept);
        told
    }

    /// The one message of an answer that is no stream.
    fn judged(&self, status: StatusCode, body: &Bytes) -> Answer {
        let outs = if body.is_empty() { Vec::new() } else { self.service.server_sent(&self.session, body) };
        match outs.into_iter().find_map(|out| if let OutgoingMessage::Client(text) = out { Some(text) } else { None }) {
            Some(text) => plain(status, text),
            // What the server says beside the protocol does not pass; that it failed does.
            None => {
                let status = if status.is_success() { StatusCode::BAD_GATEWAY } else { status };
                failure(status, &self.id, INVALID, "the server did not answer the request")
            }
        }
    }

    /// Passes a stream on, message by message.
    async fn relayed(&self, answer: Response<Incoming>, sender: &mpsc::Sender<Bytes>) {
        if !is_stream(answer.headers()) {
            let status = answer.status();
            let told = match whole(answer.into_body()).await {
                Ok(body) => self.judged(status, &body),
                Err(reason) => failure(status, &self.id, INVALID, &reason),
            };
            if let Streamed::Whole(Some(text)) = told.into_body() {
                drop(sender.send(bytes(sse::written(&text, None))).await);
            }
            return;
        }
        relay(&self.service, &self.session, &self.headers, answer, sender).await;
    }

    async fn fail(&self, sender: &mpsc::Sender<Bytes>, reason: &str) {
        let text = error(&self.id, INVALID, reason).to_string();
        drop(sender.send(bytes(sse::written(text.as_bytes(), None))).await);
    }
}

/// Passes the events of a stream on that may pass. When the client is gone, the server's stream is dropped.
async fn relay(
    service: &McpService,
    session: &Shared,
    headers: &HeaderMap,
    answer: Response<Incoming>,
    sender: &mpsc::Sender<Bytes>,
) {
    let (mut body, mut events) = (answer.into_body(), Events::default());
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        for event in events.take(data) {
            if event.data.is_empty() {
                // It only says from where the stream may be taken up again.
                if sender.send(bytes(sse::written(b"", event.id.as_deref()))).await.is_err() {
                    return;
                }
                continue;
            }
            for out in service.server_sent(session, &event.data) {
                match out {
                    OutgoingMessage::Client(text) => {
                        if sender.send(bytes(sse::written(&text, event.id.as_deref()))).await.is_err() {
                            return;
                        }
                    }
                    OutgoingMessage::Server(text) => {
                        drop(service.upstream.send(Method::POST, forwarded(headers, true), text).await);
                    }
                    OutgoingMessage::Note(_) => {}
                }
            }
        }
        if events.waiting() > LONGEST {
            return;
        }
    }
}

/// The stream on which a server of the older revisions speaks without being asked.
async fn listen(service: Arc<McpService>, headers: &HeaderMap) -> Answer {
    if headers.get(SESSION).is_none() {
        return failure(StatusCode::METHOD_NOT_ALLOWED, &Json::Null, INVALID, "there is no stream without a session");
    }
    let session = match find(&service, headers, false, None) {
        Ok(session) => session,
        Err(answer) => return *answer,
    };
    let headers = forwarded(headers, false);
    match service.upstream.send(Method::GET, headers.clone(), Vec::new()).await {
        Err(reason) => failure(StatusCode::BAD_GATEWAY, &Json::Null, INVALID, &reason),
        Ok(answer) if !answer.status().is_success() || !is_stream(answer.headers()) => {
            let status = answer.status();
            let status = if status.is_success() { StatusCode::BAD_GATEWAY } else { status };
            failure(status, &Json::Null, INVALID, "the server has no stream")
        }
        Ok(answer) => {
            let (sender, mut streamed) = stream();
            streamed.headers_mut().extend(returned(answer.headers()));
            drop(tokio::spawn(async move { relay(&service, &session, &headers, answer, &sender).await }));
            streamed
        }
    }
}

/// A session ends.
async fn leave(service: &McpService, headers: &HeaderMap) -> Answer {
    if let Err(answer) = find(service, headers, false, None) {
        return *answer;
    }
    match service.upstream.send(Method::DELETE, forwarded(headers, false), Vec::new()).await {
        Err(reason) => failure(StatusCode::BAD_GATEWAY, &Json::Null, INVALID, &reason),
        Ok(answer) => {
            if let Some(name) = headers.get(SESSION).and_then(|name| name.to_str().ok())
                && answer.status().is_success()
            {
                locked(&service.sessions).remove(name);
            }
            let mut told = Response::new(Streamed::Whole(None));
            *told.status_mut() = answer.status();
            told
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn stream() -> (mpsc::Sender<Bytes>, Answer) {
    let (sender, receiver) = mpsc::channel(WAITING_PARTS);
    let mut answer = Response::new(Streamed::Parts(receiver));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert("cache-control", HeaderValue::from_static("no-cache"));
    (sender, answer)
}

fn plain(status: StatusCode, text: Vec<u8>) -> Answer {
    let mut answer = Response::new(Streamed::Whole(Some(bytes(text))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn failure(status: StatusCode, id: &Json, code: i64, reason: &str) -> Answer {
    plain(status, error(id, code, reason).to_string().into_bytes())
}

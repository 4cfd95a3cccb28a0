//! One request and its reply over HTTP: its route, its forwarding, and its record.
//!
//! An exchange finishes and writes its record even if the client disconnects. A failure ends this exchange and no other.
//! [`lictor_exchange`] judges; [`driver`] drives it.

mod destination;
mod driver;
mod task;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use lictor_event::content_hash::to_hex;
use lictor_warden::RefusedInput;
use lictor_wire::Api;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::account::Account;
use crate::body::{self, AnswerBody, BUSY, BodyError, Pieces};
use crate::bytes_in_flight::HeldBytes;
use crate::error_response::{
    EXCHANGE_HEADER, EXTRA_CALLS_HEADER, EXTRA_TOKENS_HEADER, ErrorResponse, SESSION_NAME_HEADER,
};
use crate::gateway::Gateway;
use crate::identity::Caller;
use crate::telemetry::{Bound, Outcome};
use crate::unavailable::Unavailable;
use crate::upstream::{self, NoAnswer};
use crate::work::Flow;
use destination::{Destination, find_destination, find_judged_end, is_forwarded, is_plain, resembles_judged, route};
use task::ExchangeTask;

/// How long to wait before a failed record is retried.
const RECORD_RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// One request and its reply, in flight.
pub(crate) struct HttpExchange {
    gateway: Arc<Gateway>,
    account: Arc<Account>,
    head: Parts,
    caller: Caller,
    /// The sender of the answer's head.
    client: oneshot::Sender<Response<AnswerBody>>,
    /// The sender of the body, if it is a stream.
    pieces: Option<Pieces>,
    /// Whether the body is forwarded as it came, compressed or not.
    is_body_raw: bool,
    /// The bytes of its bodies.
    held: Arc<HeldBytes>,
    /// Whose turn it takes with long work.
    flow: Flow,
}

/// Why an exchange ends early.
#[derive(Debug)]
enum Stop {
    /// The client is answered with an error.
    Tell(Outcome, ErrorResponse),
    /// The client has disconnected.
    Gone,
}

impl From<Unavailable> for Stop {
    fn from(unavailable: Unavailable) -> Stop {
        Stop::Tell(Outcome::AuditUnavailable, unavailable.into())
    }
}

/// Answers a request.
pub(crate) async fn answer(gateway: &Arc<Gateway>, request: Request<Incoming>) -> Response<AnswerBody> {
    let (head, body) = request.into_parts();
    let mut id = [0u8; 16];
    if getrandom::fill(&mut id).is_err() {
        return ErrorResponse::failed().response(None);
    }
    let mac = gateway.keeps_records().then(|| gateway.namer.mac());
    let account = Arc::new(Account::new(to_hex(&id), mac));
    let Ok(room) = Arc::clone(&gateway.room).try_acquire_owned() else {
        // The request is not read, and gets no record: an overloaded gateway must not do more work.
        gateway.metrics.exchange(route(&head).label(), Outcome::Busy);
        let message = format!("too many requests in flight (limit {})", gateway.config.limits.exchanges);
        let response = ErrorResponse::new(503, BUSY, message);
        let tenant = Caller::of(&head.headers, &gateway.config.tenants).tenant;
        gateway.metrics.bound(&tenant, Bound::Exchanges, 1, gateway.config.limits.exchanges as u64 + 1);
        gateway.metrics.error_response(&tenant, &response.code);
        return response.response(route(&head).api());
    };
    let (client, answer) = oneshot::channel();
    let caller = gateway.namer.caller(&head.headers, &gateway.config.tenants);
    account.belongs_to(&caller.tenant, None);
    let flow = caller.flow(&head.headers, &account.id);
    let exchange = HttpExchange {
        gateway: Arc::clone(gateway),
        account: Arc::clone(&account),
        head,
        caller,
        client,
        pieces: None,
        is_body_raw: false,
        held: Arc::new(gateway.bytes.hold()),
        flow,
    };
    let (api, version) = (route(&exchange.head).api(), exchange.head.version);
    let shared = Arc::clone(gateway);
    let task = ExchangeTask::new(async move {
        let begun = Instant::now();
        shared.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        // A panic ends this exchange, and drops its state with it.
        if catch_panic(exchange.run(body)).await.is_err() {
            shared.metrics.panics.fetch_add(1, Ordering::Relaxed);
            account.ends(Outcome::Failed, Some("gateway.failed"));
        }
        close(&shared, &account, begun.elapsed()).await;
        shared.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        drop(room);
    });
    // An exchange that panicked has dropped the sender without an answer.
    task.answer(answer, version).await.unwrap_or_else(|| ErrorResponse::failed().response(api))
}

/// Runs a future to its end. Returns an error if it panics; the future is dropped then, so its state is not seen again.
async fn catch_panic<T>(future: impl Future<Output = T>) -> Result<T, ()> {
    let mut future = Some(Box::pin(future));
    std::future::poll_fn(|context| {
        let Some(running) = &mut future else { return Poll::Ready(Err(())) };
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => {
                future = None;
                Poll::Ready(Err(()))
            }
        }
    })
    .await
}

/// Waits until the client disconnects: from the exchange, or from the stream that it reads.
async fn disconnected(client: &mut oneshot::Sender<Response<AnswerBody>>, pieces: Option<&Pieces>) {
    match pieces {
        Some(pieces) => pieces.gone().await,
        None => client.closed().await,
    }
}

/// Writes the record of an exchange.
async fn close(gateway: &Gateway, account: &Account, time: Duration) {
    gateway.metrics.exchange(account.route(), account.outcome());
    if let Some(code) = account.code() {
        gateway.metrics.error_response(&account.tenant(), &code);
    }
    account.first_byte().into_iter().for_each(|time| gateway.metrics.first_byte_time.add(time));
    gateway.metrics.bytes_in.fetch_add(account.received.load(Ordering::Relaxed), Ordering::Relaxed);
    gateway.metrics.bytes_out.fetch_add(account.sent_down.load(Ordering::Relaxed), Ordering::Relaxed);
    if !gateway.keeps_records() {
        return;
    }
    let mut record = account.record(&gateway.judges.active().fingerprint);
    if gateway.config.shadow {
        record.insert("shadow".into(), json!(true));
    }
    let mut line = serde_json::Value::Object(record.clone());
    if let Some(line) = line.as_object_mut() {
        line.insert("milliseconds".into(), json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
    }
    // The exchange counts as in flight until its record is written, so the limit also bounds the unwritten records.
    let mut is_unwritten = false;
    while let Err(Unavailable { reason }) = gateway.judges.note(&account.tenant(), record.clone()).await {
        if !std::mem::replace(&mut is_unwritten, true) {
            gateway.metrics.unwritten.fetch_add(1, Ordering::Relaxed);
        }
        gateway.journal.say(&gateway.metrics, "audit_unavailable", json!({"reason": reason}));
        // In shadow mode a record that cannot be written is counted and lost: requests must not wait for it.
        if gateway.config.shadow {
            return;
        }
        tokio::time::sleep(RECORD_RETRY_INTERVAL).await;
    }
    gateway.metrics.unwritten.fetch_sub(u64::from(is_unwritten), Ordering::Relaxed);
    if let version @ 1.. = account.in_flight.load(Ordering::Relaxed) {
        gateway.in_flight.end(&account.id, version);
    }
    gateway.journal.say(&gateway.metrics, "exchange", line);
}

/// Returns the API of a request, whose errors its client reads.
pub(crate) fn api<B>(request: &Request<B>) -> Option<Api> {
    find_destination(request.method().as_str(), request.uri().path()).api()
}

impl HttpExchange {
    async fn run(mut self, body: Incoming) {
        let destination = route(&self.head);
        if let Some(api) = destination.api() {
            self.account.is_about(api, destination.label());
        }
        let stopped = match self.is_route_allowed(destination) {
            Ok(Destination::Judged(api)) => self.handle_judged(api, true, body).await,
            Ok(Destination::Counted(api)) => self.handle_judged(api, false, body).await,
            Ok(_) => self.proxy_unjudged(body).await,
            Err(Stop::Tell(outcome, response)) => {
                let path = self.head.uri.path().as_bytes().to_vec();
                self.record_refusal(&response.code, path).await.and(Err(Stop::Tell(outcome, response)))
            }
            Err(stop) => Err(stop),
        };
        match stopped {
            Ok(()) => self.account.ends(Outcome::Done, None),
            Err(Stop::Gone) => self.account.ends(Outcome::ClientGone, None),
            Err(Stop::Tell(outcome, response)) => {
                self.account.ends(outcome, Some(&response.code));
                self.log_reason(response.reason.as_deref());
                let bytes =
                    self.account.api().unwrap_or(Api::Chat).error(response.status, &response.code, &response.message);
                self.account.sent_down(&bytes);
                let response = response.response(self.account.api());
                let _ = self.send_head(response);
            }
        }
    }

    /// Returns the destination, or the reason to refuse the request.
    fn is_route_allowed(&self, destination: Destination) -> Result<Destination, Stop> {
        let config = &self.gateway.config;
        if config.known_only && !self.caller.is_known {
            let response = ErrorResponse::new(401, "credential.unknown", "unknown credential");
            return Err(Stop::Tell(Outcome::Refused, response));
        }
        let (method, path) = (self.head.method.as_str(), self.head.uri.path());
        let is_near = destination == Destination::Unknown && resembles_judged(method, path);
        let is_odd = !is_plain(method, path) || is_near;
        if is_odd && config.shadow {
            self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
            return Ok(Destination::Unjudged(None));
        }
        if is_odd {
            let message = "path is not normalized: remove `..`, `//`, unneeded percent-encoding and capital letters";
            return Err(Stop::Tell(Outcome::Refused, ErrorResponse::new(400, "route.path", message)));
        }
        let is_listed = config.forward.iter().any(|entry| is_forwarded(entry, method, path));
        match destination {
            Destination::Unknown if is_listed => Ok(Destination::Unjudged(None)),
            Destination::Unknown if config.shadow => {
                self.gateway.metrics.unchecked.fetch_add(1, Ordering::Relaxed);
                Ok(Destination::Unjudged(None))
            }
            Destination::Unknown => {
                let written = find_judged_end(method, path).map(|end| format!(", with `{end}` written out"));
                let message = format!(
                    "unknown endpoint `{method} {path}`: it cannot be judged, so it is not forwarded; an operator can list it \
                     under `forward`{}",
                    written.unwrap_or_default()
                );
                Err(Stop::Tell(Outcome::Refused, ErrorResponse::new(403, "route.unknown", message)))
            }
            known => Ok(known),
        }
    }

    /// Forwards a request that has nothing to judge.
    async fn proxy_unjudged(&mut self, body: Incoming) -> Result<(), Stop> {
        let limits = self.gateway.config.limits;
        let (bytes, read) = body::read(body, limits.body, limits.body_idle, &self.held).await;
        let (account, received) = (Arc::clone(&self.account), bytes.clone());
        self.run_long(bytes.len(), move || account.received(&received)).await;
        self.note_body(bytes.len(), read.err());
        read.map_err(|unread| Stop::Tell(unread.outcome(), unread.response().into()))?;
        // A service that reads the body of a GET would read a text that was not judged.
        let reads_nothing = matches!(self.head.method, Method::GET | Method::HEAD);
        if reads_nothing && !bytes.is_empty() && !self.gateway.config.shadow {
            let message = "a request with this method has no body here; remove the body";
            let response = ErrorResponse::new(400, "body.unexpected", message);
            self.record_refusal(&response.code, bytes.to_vec()).await?;
            return Err(Stop::Tell(Outcome::Refused, response));
        }
        self.is_body_raw = true;
        let response = self.ask_upstream(bytes).await?;
        let (head, body) = response.into_parts();
        let (bytes, read) = body::read(body, limits.body, limits.answer, &self.held).await;
        self.end_upstream();
        self.account.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.note_body(bytes.len(), read.err());
        if let Err(unread @ BodyError::Busy) = read {
            return Err(Stop::Tell(unread.outcome(), unread.response().into()));
        }
        if read.is_err() {
            let response = ErrorResponse::new(
                502,
                "upstream.broken_off",
                "the upstream closed the connection early, or its reply is over the limit on bodies",
            );
            return Err(Stop::Tell(Outcome::Truncated, response));
        }
        let ended = if head.status.is_success() { Outcome::Done } else { Outcome::UpstreamError };
        self.send_unchanged(head.status, &head.headers, bytes).await?;
        self.account.ends(ended, None);
        Ok(())
    }

    /// Sends a request to the upstream and returns its answer. Meanwhile the in-flight row is saved, unless it was
    /// before: the client is answered only after that.
    async fn ask_upstream(&mut self, bytes: Bytes) -> Result<Response<Incoming>, Stop> {
        let (gateway, account) = (Arc::clone(&self.gateway), Arc::clone(&self.account));
        let begun = async move {
            let policy = gateway.judges.active().fingerprint;
            gateway.in_flight.begin(&gateway.sessions, &account, &policy).await
        };
        let (begun, answered) = tokio::join!(begun, self.forward(bytes));
        // In shadow mode no record is a reason to stop.
        if !self.gateway.config.shadow {
            begun?;
        }
        answered
    }

    async fn forward(&mut self, bytes: Bytes) -> Result<Response<Incoming>, Stop> {
        let gateway = Arc::clone(&self.gateway);
        self.account.sent_up.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let path = self.head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let mut headers = upstream::request_headers(&self.head.headers);
        if !bytes.is_empty() {
            headers.insert("content-length", HeaderValue::from(bytes.len()));
        }
        if let Some(encoding) = self.head.headers.get("content-encoding").filter(|_| self.is_body_raw) {
            headers.insert("content-encoding", encoding.clone());
        }
        let address = self.upstream_address().clone();
        self.account.asks_upstream();
        let asked = gateway.upstream.ask(&address, self.head.method.clone(), &path, headers, bytes);
        let answered = tokio::select! {
            biased;
            () = disconnected(&mut self.client, self.pieces.as_ref()) => return Err(Stop::Gone),
            answered = asked => answered,
        };
        let response = answered.map_err(|none| {
            if none == NoAnswer::Unreachable {
                self.account.sent_up.store(0, Ordering::Relaxed);
            }
            Stop::Tell(Outcome::UpstreamGone, none.response().into())
        })?;
        self.account.upstream_time().into_iter().for_each(|time| gateway.metrics.upstream_head_time.add(time));
        self.account.upstream_status.store(response.status().as_u16(), Ordering::Relaxed);
        self.check_status(response.status())?;
        Ok(response)
    }

    /// Notes the size of a body for the bounds that it counts against, and whether one of them refused it.
    fn note_body(&self, bytes: usize, refused: Option<BodyError>) {
        let (metrics, tenant) = (&self.gateway.metrics, &self.caller.tenant);
        let body = u64::from(refused == Some(BodyError::TooLarge));
        // Of a body over the limit only so much was read.
        let size = if body > 0 { self.gateway.config.limits.body + 1 } else { bytes };
        metrics.bound(tenant, Bound::Body, body, size as u64);
        let busy = u64::from(refused == Some(BodyError::Busy));
        metrics.bound(tenant, Bound::BytesInFlight, busy, self.gateway.bytes.used() as u64);
    }

    /// Counts how long the upstream took for its whole reply.
    fn end_upstream(&self) {
        self.account.ends_upstream().into_iter().for_each(|time| self.gateway.metrics.upstream_time.add(time));
    }

    /// Logs why nothing can be recorded.
    fn log_reason(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            let line = json!({"reason": reason, "exchange": self.account.id});
            self.gateway.journal.say(&self.gateway.metrics, "audit_unavailable", line);
        }
    }

    /// Refuses a redirect, which would send the client and its key past the gateway, and a change of protocols.
    fn check_status(&self, status: StatusCode) -> Result<(), Stop> {
        let is_unchanged = status == StatusCode::NOT_MODIFIED && self.head.method != Method::POST;
        let is_known = status.is_success() || status.is_client_error() || status.is_server_error();
        if is_unchanged || is_known {
            return Ok(());
        }
        if !(status.is_redirection() || status.is_informational()) {
            // Some clients take it for a success.
            let message = format!("the upstream answered with status {}, which HTTP does not have", status.as_u16());
            return Err(Stop::Tell(Outcome::UpstreamError, ErrorResponse::new(502, "upstream.status", message)));
        }
        let message =
            format!("the upstream answered with status {}: set `upstream` to its final address", status.as_u16());
        Err(Stop::Tell(Outcome::UpstreamError, ErrorResponse::new(502, "upstream.redirect", message)))
    }

    fn upstream_address(&self) -> &Uri {
        let config = &self.gateway.config;
        let is_messages =
            self.account.api() == Some(Api::Messages) || self.head.headers.contains_key("anthropic-version");
        config.messages_upstream.as_ref().filter(|_| is_messages).unwrap_or(&config.upstream)
    }

    /// Sends the client a whole answer that was decompressed.
    async fn send_body(&mut self, status: StatusCode, headers: &hyper::HeaderMap, bytes: Bytes) -> Result<(), Stop> {
        let mut headers = headers.clone();
        headers.remove("content-encoding");
        self.send_unchanged(status, &headers, bytes).await
    }

    /// Sends the client a whole answer as it came.
    async fn send_unchanged(
        &mut self,
        status: StatusCode,
        headers: &hyper::HeaderMap,
        bytes: Bytes,
    ) -> Result<(), Stop> {
        let (account, sent) = (Arc::clone(&self.account), bytes.clone());
        self.run_long(bytes.len(), move || account.sent_down(&sent)).await;
        let mut response = Response::new(body::whole_within(bytes, self.gateway.config.limits.write));
        *response.status_mut() = status;
        *response.headers_mut() = upstream::response_headers(headers);
        self.send_head(response)
    }

    /// Whether the client has disconnected.
    fn is_gone(&self) -> bool {
        self.pieces.as_ref().map_or_else(|| self.client.is_closed(), Pieces::is_gone)
    }

    /// Sends the client the head of its answer.
    fn send_head(&mut self, mut response: Response<AnswerBody>) -> Result<(), Stop> {
        self.account.status.store(response.status().as_u16(), Ordering::Relaxed);
        if let Ok(id) = HeaderValue::from_str(&self.account.id) {
            response.headers_mut().insert(EXCHANGE_HEADER, id);
        }
        if let Some(name) = self.account.session().and_then(|name| HeaderValue::from_str(&name).ok()) {
            response.headers_mut().insert(SESSION_NAME_HEADER, name);
        }
        if let calls @ 1.. = self.account.extra_calls.load(Ordering::Relaxed) {
            let tokens = self.account.extra_tokens.load(Ordering::Relaxed);
            response.headers_mut().insert(EXTRA_CALLS_HEADER, HeaderValue::from(calls));
            response.headers_mut().insert(EXTRA_TOKENS_HEADER, HeaderValue::from(tokens));
        }
        let (unused, _) = oneshot::channel();
        let client = std::mem::replace(&mut self.client, unused);
        client.send(response).map_err(|_| Stop::Gone)
    }

    /// Records a refusal of input that is no event.
    async fn record_refusal(&self, code: &str, bytes: Vec<u8>) -> Result<(), Stop> {
        let refused = RefusedInput { reason: code.to_owned(), bytes, exchange: Some(self.account.id.clone()) };
        self.gateway.judges.refuse(&self.caller.tenant, self.flow, refused).await?;
        self.account.decisions.fetch_add(1, Ordering::Relaxed);
        self.account.changed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

//! The control endpoints: health and metrics for operators; with a key, consents, erasures, events and approvals for
//! the application.

mod declared;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, Request, Response};
use lictor_json::{self as json, Json};
use serde_json::json;

use crate::body::{self, AnswerBody};
use crate::error_response::{self, ErrorResponse};
use crate::gateway::Gateway;
use crate::identity::{KeyHash, bearer_key};
use crate::unavailable::Unavailable;
use crate::waiting::{ApprovalOutcome, WaitingCall};

/// The path prefix of these endpoints.
pub(crate) const PREFIX: &str = "/lictor/";

/// The largest body of a request to these endpoints.
const MAX_CONTROL_BODY_BYTES: usize = 64 << 10;

/// Answers a request.
pub(crate) async fn answer(gateway: &Arc<Gateway>, request: Request<Incoming>) -> Response<AnswerBody> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().strip_prefix(PREFIX).unwrap_or_default().to_owned();
    let answered = match (&head.method, path.as_str()) {
        (&Method::GET, "health") => Ok(error_response::value(200, &json!({"status": "alive"}))),
        (&Method::GET, "ready") => ready(gateway).await,
        (&Method::GET, "metrics") => Ok(metrics(gateway, &head.headers)),
        _ => match permitted(gateway, &head.headers) {
            Ok(()) => guarded(gateway, &head.method, &path, head.uri.query(), body).await,
            Err(told) => Err(told),
        },
    };
    answered.unwrap_or_else(|told| {
        // No tenant asks here.
        gateway.metrics.error_response("", &told.code);
        told.response(None)
    })
}

impl From<Unavailable> for ErrorResponse {
    fn from(unavailable: Unavailable) -> ErrorResponse {
        ErrorResponse { reason: Some(unavailable.reason), ..ErrorResponse::unavailable() }
    }
}

/// Answers whether the gateway can record decisions.
async fn ready(gateway: &Arc<Gateway>) -> Result<Response<AnswerBody>, ErrorResponse> {
    if gateway.is_stopping() {
        return Err(ErrorResponse::draining());
    }
    check_stores(gateway).await.inspect_err(|unavailable| {
        gateway.journal.say(&gateway.metrics, "not_ready", json!({"reason": unavailable.reason}));
    })?;
    // While records cannot be written, nothing is forwarded.
    if gateway.metrics.unwritten.load(Ordering::Relaxed) > 0 {
        return Err(ErrorResponse::unavailable());
    }
    Ok(error_response::value(200, &json!({"status": "ready", "policy": &*gateway.judges.active().fingerprint})))
}

/// Returns an error if the store or the folder of the ledger cannot be read, for example because it was unmounted.
async fn check_stores(gateway: &Arc<Gateway>) -> Result<(), Unavailable> {
    gateway.sessions.blocking(|store| store.load("gateway/naming-key")).await??;
    let Some(ledger) = gateway.judges.ledger() else { return Ok(()) };
    let reader = ledger.reader();
    let read = tokio::task::spawn_blocking(move || reader.first_key().map(drop)).await;
    let read = read.map_err(|_| Unavailable { reason: "the ledger cannot be read".to_owned() })?;
    read.map_err(|error| Unavailable { reason: error.to_string() })
}

/// Returns the metrics. Clients can reach this endpoint too, so names of tenants are shown to operators only.
fn metrics(gateway: &Gateway, headers: &HeaderMap) -> Response<AnswerBody> {
    let shows_tenants = gateway.config.tenants.is_empty() || permitted(gateway, headers).is_ok();
    let text = gateway.metrics.text(shows_tenants) + &gateway.judges.label_metrics();
    let mut response = Response::new(body::whole(text));
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain; version=0.0.4"));
    response
}

fn permitted(gateway: &Gateway, headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let keys = &gateway.config.control_keys;
    if keys.is_empty() {
        let message = "endpoint is disabled: the gateway has no control key";
        return Err(ErrorResponse::new(403, "control.closed", message));
    }
    match bearer_key(headers).is_some_and(|key| KeyHash::of(key).is_among(keys)) {
        true => Ok(()),
        false => Err(ErrorResponse::new(
            401,
            "control.key",
            "missing or wrong control key; send `authorization: Bearer KEY`",
        )),
    }
}

async fn guarded(
    gateway: &Arc<Gateway>,
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: Incoming,
) -> Result<Response<AnswerBody>, ErrorResponse> {
    let (bytes, read) =
        body::read(body, MAX_CONTROL_BODY_BYTES, gateway.config.limits.body_idle, &gateway.bytes.hold()).await;
    read.map_err(|unread| ErrorResponse::from(unread.response()))?;
    match (method.as_str(), path) {
        ("POST", "consents") => declared::consent(gateway, &object(&bytes)?).await,
        ("POST", "erasures") => declared::erasure(gateway, &object(&bytes)?).await,
        ("POST", "events") => declared::event(gateway, &object(&bytes)?).await,
        ("POST", "objectives") => declared::objective(gateway, &object(&bytes)?).await,
        ("GET", "objectives") => declared::list_objectives(gateway, query).await,
        ("GET", "approvals") => list_approvals(gateway, query).await,
        ("POST", path) if path.starts_with("approvals/") => {
            approve(gateway, path.strip_prefix("approvals/").unwrap_or_default(), &object(&bytes)?).await
        }
        ("POST", "reload") => reload(gateway).await,
        _ => Err(ErrorResponse::new(404, "control.unknown", "unknown endpoint")),
    }
}

/// Reads a body that must be a JSON object.
fn object(bytes: &Bytes) -> Result<Json, ErrorResponse> {
    let value = json::parse(bytes).map_err(|error| ErrorResponse::new(400, error.code, error.message))?;
    match value.as_object() {
        Some(_) => Ok(value),
        None => Err(ErrorResponse::new(400, "control.shape", "the body must be a JSON object")),
    }
}

/// Returns a member that must be a non-empty text.
fn text<'a>(body: &'a Json, key: &str) -> Result<&'a str, ErrorResponse> {
    let found = body.text(key).filter(|text| !text.is_empty());
    found.ok_or_else(|| ErrorResponse::new(400, "control.shape", format!("`{key}` must be a non-empty string")))
}

/// Lists pending approvals, those after an id with `?after=ID`, and the allowed calls that were not made since.
async fn list_approvals(gateway: &Gateway, query: Option<&str>) -> Result<Response<AnswerBody>, ErrorResponse> {
    let after = match query.map(|query| query.strip_prefix("after=")) {
        None => None,
        Some(Some(id)) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(id),
        Some(_) => {
            let message = "unknown query; `?after=ID` lists the approvals after this one";
            return Err(ErrorResponse::new(400, "control.shape", message));
        }
    };
    let (waiting, more) = WaitingCall::list(gateway, after).await?;
    let mut listed = json!({"waiting": waiting});
    if more > 0 {
        listed["more"] = json!(more);
    }
    let allowed = WaitingCall::list_allowed(gateway).await?;
    if !allowed.is_empty() {
        listed["allowed"] = json!(allowed);
    }
    Ok(error_response::value(200, &listed))
}

async fn approve(gateway: &Gateway, token: &str, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    let by = text(body, "by")?;
    let allow = body.get("allow").and_then(Json::as_bool);
    let allow = allow.ok_or_else(|| ErrorResponse::new(400, "control.shape", "`allow` must be true or false"))?;
    let unknown =
        || ErrorResponse::new(404, "approval.unknown", "nothing waits for approval under this id; it may have expired");
    let outcome = match WaitingCall::load(gateway, token).await? {
        Some(waiting) => Some(waiting.answer(gateway, token, by, allow).await?),
        // An approval can be taken back as long as the call was not made.
        None if !allow => WaitingCall::revoke(gateway, token, by).await?,
        None => None,
    };
    match outcome.filter(|outcome| *outcome != ApprovalOutcome::TooLate) {
        Some(outcome) => Ok(error_response::value(200, &json!({"id": token, "outcome": outcome.name()}))),
        None => Err(unknown()),
    }
}

async fn reload(gateway: &Arc<Gateway>) -> Result<Response<AnswerBody>, ErrorResponse> {
    match gateway.reload().await {
        Ok(moves) => {
            let fingerprint = gateway.judges.active().fingerprint;
            let said = json!({
                "policy": &*fingerprint,
                "changed": moves.is_some(),
                "properties": moves.unwrap_or_default().describe(),
            });
            Ok(error_response::value(200, &said))
        }
        Err(error) => Err(ErrorResponse::new(422, "policy.refused", error.to_string())),
    }
}

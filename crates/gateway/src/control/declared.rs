//! Declarations of the application about persons, from its own records of consents. Claims in a chat are none.
//!
//! A declaration with a session becomes an event of that session. One without becomes an event of the tenant's own
//! session of declarations: only properties over the history of a person see it.

use std::sync::Arc;

use hyper::Response;
use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};
use lictor_judge::guard::person;
use serde_json::json;

use crate::body::AnswerBody;
use crate::error_response::{self, ErrorResponse};
use crate::gateway::Gateway;
use crate::identity::{Caller, EVERYBODY, KeyHash, Origin};
use crate::waiting::WaitingCall;
use crate::work::Flow;

/// Members that say which session an event belongs to.
const WHERE: [&str; 4] = ["tenant", "session", "key", "session_name"];

/// Declares that a person gave, refused or withdrew consent.
pub(super) async fn consent(gateway: &Arc<Gateway>, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    super::text(body, "subject")?;
    if body.get("granted").and_then(Json::as_bool).is_none() {
        return Err(ErrorResponse::new(400, "control.shape", "`granted` must be true or false"));
    }
    if body.get("purposes").and_then(Json::as_array).is_none_or(<[Json]>::is_empty) {
        return Err(ErrorResponse::new(400, "control.shape", "`purposes` must be a non-empty list"));
    }
    only(body, &["subject", "purposes", "granted", "explicit", "id", "by"])?;
    declare(gateway, "consent", body).await
}

/// Declares an erasure: an event for the policy, and the destruction of the person's key in the ledger.
pub(super) async fn erasure(gateway: &Arc<Gateway>, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    // The ledger names persons in their normalized form.
    let subject = person(super::text(body, "subject")?).into_owned();
    only(body, &["subject", "id", "by"])?;
    let answer = declare(gateway, "erasure", body).await?;
    let shared = Arc::clone(gateway);
    let erased = tokio::task::spawn_blocking(move || match shared.judges.ledger() {
        Some(ledger) => ledger.erase(&subject).map(drop).map_err(drop),
        None => Ok(()),
    });
    match erased.await {
        Ok(Ok(())) => Ok(answer),
        Ok(Err(())) | Err(_) => Err(ErrorResponse::unavailable()),
    }
}

/// Declares any other event of the application: a handoff, a retrieval, a kind of its own.
pub(super) async fn event(gateway: &Arc<Gateway>, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    let kind = super::text(body, "kind")?.to_owned();
    declare(gateway, &kind, body).await
}

/// Adds, removes or changes one property of a running session. A change that is not possible is answered with the reason.
pub(super) async fn objective(gateway: &Arc<Gateway>, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    if body.text("session_name").is_none() && body.text("session").is_none() {
        let message = "an objective belongs to one session: give `session_name`, or `session`";
        return Err(ErrorResponse::new(400, "control.shape", message));
    }
    if ["add", "remove", "change"].iter().filter(|key| body.get(key).is_some()).count() != 1 {
        return Err(ErrorResponse::new(400, "control.shape", "an objective has one of `add`, `remove` and `change`"));
    }
    only(body, &["add", "remove", "change", "respond", "unknown", "severity", "priority", "by"])?;
    declare(gateway, "objective", body).await
}

/// Lists the properties that a session is judged by: those of the policy as the session has them, and those added to it.
pub(super) async fn list_objectives(
    gateway: &Arc<Gateway>,
    query: Option<&str>,
) -> Result<Response<AnswerBody>, ErrorResponse> {
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let whose: Object = pairs.map(|(key, value)| (Text::from(key), Json::from(value))).collect();
    let whose = Json::Object(whose);
    only(&whose, &[])?;
    if whose.text("session_name").is_none() {
        let message =
            "say of which session: `/lictor/objectives?session_name=NAME`, and `&tenant=NAME` of which tenant";
        return Err(ErrorResponse::new(400, "control.shape", message));
    }
    let tenant = find_tenant(gateway, &whose)?;
    let session = session(gateway, tenant, &whose)?;
    if gateway.sessions.load(tenant, &session).await?.is_new() {
        return Err(ErrorResponse::new(404, "control.session", "no request of this session was seen yet"));
    }
    let properties = gateway.judges.objectives(tenant, &session).await?;
    let listed = properties.iter().map(|property| {
        json!({
            "id": &*property.id,
            "says": &*property.says,
            "formula": &*property.formula,
            "severity": property.severity.name(),
            "respond": property.respond.name(),
            "unknown": property.unknown.name(),
        })
    });
    let listed: Vec<_> = listed.collect();
    Ok(error_response::value(200, &json!({"session_name": session, "objectives": listed})))
}

/// Returns the tenant that a declaration is for: the one that it names, or the one of its `key`. A gateway without tenants
/// has `everybody` only; in one with tenants no tenant may be guessed, for sessions and histories of others do not see it.
fn find_tenant<'a>(gateway: &'a Gateway, body: &'a Json) -> Result<&'a str, ErrorResponse> {
    let refuse = |message: String| Err(ErrorResponse::new(400, "control.tenant", message));
    let of_key = match body.text("key") {
        Some(key) => Some(gateway.config.tenants.get(&parse_key(key)?).map_or(EVERYBODY, String::as_str)),
        None => None,
    };
    let tenant = match (body.text("tenant"), of_key) {
        (Some(tenant), Some(other)) if other != EVERYBODY && other != tenant => {
            return refuse(format!("`key` is one of the tenant `{other}`, not of `{tenant}`"));
        }
        (Some(tenant), _) | (None, Some(tenant)) => tenant,
        (None, None) if gateway.config.tenants.is_empty() => EVERYBODY,
        (None, None) => {
            return refuse(format!(
                "the gateway has tenants: name one by `tenant`; `{EVERYBODY}` is the one of keys that are not listed"
            ));
        }
    };
    match gateway.judges.tenants().any(|known| known == tenant) {
        true => Ok(tenant),
        false => Err(ErrorResponse::new(404, "control.tenant", "unknown tenant")),
    }
}

fn parse_key(key: &str) -> Result<KeyHash, ErrorResponse> {
    key.parse().map_err(|message: String| ErrorResponse::new(400, "control.shape", message))
}

fn only(body: &Json, known: &[&str]) -> Result<(), ErrorResponse> {
    let members =
        body.as_object().map(|object| object.iter().map(|(key, _)| key.clone()).collect()).unwrap_or_default();
    let members: Vec<Text> = members;
    match members.iter().find(|key| !known.contains(&key.as_str()) && !WHERE.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let message = format!("`{key}` is not known here; known are {} and {}", known.join(", "), WHERE.join(", "));
            Err(ErrorResponse::new(400, "control.shape", message))
        }
    }
}

/// Makes an event of a body and decides on it.
async fn declare(gateway: &Arc<Gateway>, kind: &str, body: &Json) -> Result<Response<AnswerBody>, ErrorResponse> {
    let tenant = find_tenant(gateway, body)?;
    let session = session(gateway, tenant, body)?;
    let mut line = Object::new();
    for (key, value) in body.as_object().into_iter().flat_map(Object::iter) {
        match key.as_str() {
            "subject" => line.insert("subjects", Json::Array(vec![value.clone()])),
            key if WHERE.contains(&key) || key == "kind" => {}
            _ => line.insert(key.clone(), value.clone()),
        }
    }
    line.insert("kind", kind);
    line.insert("session", session.as_str());
    let Some(event) = read_event(Json::Object(line)) else {
        return Err(ErrorResponse::new(
            400,
            "control.shape",
            "the body is not an event; `lictor schema event` says what one is",
        ));
    };
    // A name that was misspelt is one of a session that has no request.
    let names_session = kind == "objective" || body.text("session_name").is_some();
    let is_unseen = names_session && gateway.sessions.load(tenant, &session).await?.is_new();
    let decisions = gateway.judges.decide(tenant, Flow::default(), vec![event]).await?;
    let Some(decision) = decisions.first() else { return Err(ErrorResponse::unavailable()) };
    if decision.event.kind == Kind::SessionEnd && decision.action.takes_effect() {
        WaitingCall::forget_session(gateway, tenant, &session).await?;
    }
    let mut said = json!({"decision": decision.action.name(), "message": decision.message, "session_name": session});
    if is_unseen {
        said["note"] = json!("no request of this session was seen yet");
    }
    Ok(error_response::value(if decision.action.takes_effect() { 200 } else { 409 }, &said))
}

/// Returns the session of a declaration.
fn session(gateway: &Gateway, tenant: &str, body: &Json) -> Result<String, ErrorResponse> {
    if let Some(name) = body.text("session_name") {
        let is_name = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let message = "`session_name` is what the gateway said in `x-lictor-session-name`";
        return is_name.then(|| name.to_owned()).ok_or_else(|| ErrorResponse::new(400, "control.shape", message));
    }
    let Some(id) = body.text("session") else { return Ok(gateway.namer.hash(&[tenant, "declared"])) };
    let key = match body.text("key") {
        Some(key) => parse_key(key)?,
        None if tenant == EVERYBODY => {
            let message = "a session of the tenant `everybody` needs `key`: `sha256:` and the SHA-256 of the key that the \
                           agent uses; or give `session_name`";
            return Err(ErrorResponse::new(400, "control.shape", message));
        }
        None => KeyHash::of(""),
    };
    let caller = Caller { tenant: tenant.to_owned(), credential: key, is_known: tenant != EVERYBODY, principal: None };
    Ok(gateway.namer.name(&caller, Origin::Header, id))
}

/// Reads an event in Lictor's own format.
fn read_event(value: Json) -> Option<Event> {
    LogRecord { value, file: "-".into(), line: 0, index: 0 }.stored_event().ok()
}

//! Requests and responses in the envelopes in which they are logged.
//!
//! A proxy, a batch file or a small logger puts a request and its response into one record: `{request, response}`,
//! `{input, output}`, `{messages, response}`, `{custom_id, body}`. An envelope is opened here; the decoder of its
//! format reads the content.

use std::borrow::Cow;

use super::session_key::find_session;
use lictor_event::find_time;
use lictor_json::Json;
use lictor_logic::Time;

/// Members that mark a record of another format: spans, runs, observations, Lictor's own events.
const OTHER_FORMAT_KEYS: [&str; 7] = ["traceId", "run_type", "span_data", "kind", "object", "jsonrpc", "type"];

/// The request and the response of one record.
#[derive(Debug)]
pub(super) struct Envelope<'a> {
    /// The session, where the envelope names it.
    pub session: Option<Cow<'a, str>>,
    /// When the exchange was, where the envelope says it.
    pub time: Option<Time>,
    /// The request body.
    pub request: Option<&'a Json>,
    /// The response body.
    pub response: Option<&'a Json>,
}

/// Opens an envelope; none if the value is not one.
pub(super) fn open_envelope(value: &Json) -> Option<Envelope<'_>> {
    let member = |key: &str| value.get(key).filter(|member| !member.is_null());
    let session = find_session(value);
    let time = value.as_object().and_then(find_time);
    if OTHER_FORMAT_KEYS.iter().any(|key| value.get(key).is_some()) {
        return None;
    }
    if let (Some(_), Some(response)) = (member("messages"), member("response")) {
        return Some(Envelope { session, time, request: Some(value), response: Some(open_body(response)) });
    }
    if value.get("trace_id").is_some() {
        return None;
    }
    let (request, response) = if let Some(request) = member("request") {
        (Some(request), member("response"))
    } else if let (Some(input), Some(output)) = (member("input"), member("output")) {
        (Some(input), Some(output))
    } else {
        // Lines of a batch: requests are in one file, responses in another, and an id pairs them.
        session.as_ref()?;
        let failed = member("error").map(|_| value);
        (member("body").or_else(|| member("params")), member("response").or_else(|| member("result")).or(failed))
    };
    let envelope = Envelope { session, time, request: request.map(open_body), response: response.map(open_body) };
    (request.is_some() || response.is_some()).then_some(envelope)
}

impl<'a> Envelope<'a> {
    /// Returns the request and the response, those that are present.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a Json> + use<'a> {
        self.request.into_iter().chain(self.response)
    }
}

/// Returns why a request of a batch has no answer: the service refused it, or did not come to it. None for other records.
pub(super) fn find_batch_failure(value: &Json) -> Option<Json> {
    value.get("custom_id")?;
    let result = value.get("response").or_else(|| value.get("result"))?;
    match result.text("type") {
        Some(reason @ ("expired" | "canceled")) => Some(reason.into()),
        _ => open_body(result).get("error").filter(|error| error.get("message").is_some()).cloned(),
    }
}

/// Returns the body of an HTTP message or of a batch result.
fn open_body(part: &Json) -> &Json {
    if let Some(body) = part.get("body").filter(|body| body.as_object().is_some()) {
        return body;
    }
    match part.text("type") {
        Some("succeeded") => part.get("message").unwrap_or(part),
        Some("errored") => part.get("error").unwrap_or(part),
        _ => part,
    }
}

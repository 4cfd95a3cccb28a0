//! Requests and responses in the envelopes in which they are logged.
//!
//! A proxy, a batch file or a small logger puts a request and its response into one record: `{request, response}`,
//! `{input, output}`, `{messages, response}`, `{custom_id, body}`. An envelope is opened here; what is inside is for
//! the decoder of its format.

use lictor_json::Json;

/// Members by which a log names the session of an exchange.
const SESSIONS: [&str; 5] = ["session_id", "sessionId", "conversation_id", "thread_id", "custom_id"];

/// Members that mark a record as somebody else's: spans, runs, observations, events of Lictor's own.
const OTHERS: [&str; 7] = ["traceId", "run_type", "span_data", "kind", "object", "jsonrpc", "type"];

/// What an envelope holds.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    /// The session, where the envelope names it.
    pub session: Option<&'a str>,
    /// What was sent.
    pub request: Option<&'a Json>,
    /// What came back.
    pub response: Option<&'a Json>,
}

/// Opens an envelope; none if the value is not one.
pub(super) fn open(value: &Json) -> Option<Exchange<'_>> {
    let member = |key: &str| value.get(key).filter(|member| !member.is_null());
    let session = SESSIONS.iter().find_map(|key| value.text(key));
    if OTHERS.iter().any(|key| value.get(key).is_some()) {
        return None;
    }
    if let (Some(_), Some(response)) = (member("messages"), member("response")) {
        return Some(Exchange { session, request: Some(value), response: Some(carried(response)) });
    }
    if value.get("trace_id").is_some() {
        return None;
    }
    let (request, response) = if let Some(request) = member("request") {
        (Some(request), member("response"))
    } else if let (Some(input), Some(output)) = (member("input"), member("output")) {
        (Some(input), Some(output))
    } else {
        // Lines of a batch: what was asked is in one file, what came back in another, and an id tells what belongs
        // together.
        session?;
        let failed = member("error").map(|_| value);
        (member("body").or_else(|| member("params")), member("response").or_else(|| member("result")).or(failed))
    };
    let exchange = Exchange { session, request: request.map(carried), response: response.map(carried) };
    (request.is_some() || response.is_some()).then_some(exchange)
}

impl<'a> Exchange<'a> {
    /// The request and the response, as far as they are there.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a Json> + use<'a> {
        self.request.into_iter().chain(self.response)
    }
}

/// What an HTTP message or the result of a batch carries.
fn carried(part: &Json) -> &Json {
    if let Some(body) = part.get("body").filter(|body| body.as_object().is_some()) {
        return body;
    }
    match part.text("type") {
        Some("succeeded") => part.get("message").unwrap_or(part),
        Some("errored") => part.get("error").unwrap_or(part),
        _ => part,
    }
}

//! Failures that a result reports by what it says, without a flag of the log.

use lictor_event::Event;
use lictor_json::{Json, Number};

/// Beginnings of a text that reports a failure.
const FAILURES: &[&str] = &[
    "error",
    "failed",
    "failure",
    "exception",
    "traceback",
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "unable",
    "denied",
    "invalid ",
    "unauthorized",
    "forbidden",
    "unknown",
    "not found",
    "no such",
    "access denied",
    "permission denied",
];

/// What a short text says of a person or thing that is missing, wherever it says it.
const MISSING: &[&str] =
    &["not found", "does not exist", "doesn't exist", "no such", "could not be", "was not", "nothing to"];

/// The longest text that is read as a whole: a longer one may quote such words.
const MAX_SHORT_TEXT: usize = 120;

/// Members with the status of an answer of HTTP.
const STATUS_CODES: [&str; 8] =
    ["statusCode", "status_code", "status", "code", "httpStatus", "http_status", "httpStatusCode", "responseCode"];

/// Whether a result reports no error: neither as a flag, nor as a member of its value, nor as the beginning of its text.
pub(super) fn is_success(event: &Event) -> bool {
    let parsed = parse_text(event);
    !event.failed
        && !begins_with_failure(event.text.as_deref().unwrap_or_default())
        && event.result.iter().chain(&parsed).all(|value| !has_error(value))
        && !event.result.as_ref().and_then(Json::as_str).is_some_and(begins_with_failure)
}

/// Whether a result says that the person or thing is missing, so that nothing was done: `Customer not found`.
pub(super) fn misses_object(event: &Event) -> bool {
    let is_missing =
        |text: &str| text.len() <= MAX_SHORT_TEXT && MISSING.iter().any(|word| text.to_lowercase().contains(word));
    let parsed = parse_text(event);
    let is_quoted = parsed.is_some();
    let says_missing = |value: &Json| {
        let message = value.get("message").or_else(|| value.get("detail")).unwrap_or(value);
        let is_false = |key: &str| value.get(key).and_then(Json::as_bool) == Some(false);
        message.as_str().is_some_and(is_missing) || ["found", "deleted", "erased"].into_iter().any(is_false)
    };
    event.text.as_deref().is_some_and(|text| !is_quoted && is_missing(text))
        || event.result.iter().chain(&parsed).any(says_missing)
}

/// Returns the value of a text that is a JSON object.
fn parse_text(event: &Event) -> Option<Json> {
    let text = event.text.as_deref().unwrap_or_default().trim_start();
    text.starts_with('{').then(|| lictor_json::parse_str(text).ok()).flatten()
}

fn begins_with_failure(text: &str) -> bool {
    let text = text.trim_start();
    let starts = |word: &&str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    FAILURES.iter().any(starts) || reports_status(text)
}

/// Whether a text begins with a status of HTTP that is an error: `404 Not Found`, `HTTP/1.1 500`.
fn reports_status(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).take(4);
    let mut first = words.next().unwrap_or_default();
    let is_named = first.eq_ignore_ascii_case("http");
    if is_named {
        first = words.find(|word| word.len() == 3).unwrap_or_default();
    }
    // A number alone may count what was deleted.
    let mut is_told =
        || is_named || words.next().is_some_and(|word| word.chars().next().is_some_and(char::is_uppercase));
    first.len() == 3 && first.parse().is_ok_and(is_error_status) && is_told()
}

fn is_error_status(status: i64) -> bool {
    (400..600).contains(&status)
}

fn has_error(value: &Json) -> bool {
    let is_set = |key: &str| {
        value.get(key).is_some_and(|value| match value {
            Json::Null | Json::Bool(false) => false,
            Json::String(text) => !text.is_empty(),
            Json::Array(items) => !items.is_empty(),
            _ => true,
        })
    };
    let is_false = |key: &str| value.get(key).and_then(Json::as_bool) == Some(false);
    let is_error = |key: &str| match value.get(key) {
        Some(Json::Number(Number::Integer(status))) => is_error_status(*status),
        Some(Json::String(text)) => text.trim().parse().is_ok_and(is_error_status),
        _ => false,
    };
    let status = value.get("status").and_then(Json::as_str).unwrap_or_default().to_ascii_lowercase();
    ["error", "errors", "isError", "is_error"].into_iter().any(is_set)
        || ["success", "ok", "succeeded"].into_iter().any(is_false)
        || STATUS_CODES.into_iter().any(is_error)
        || matches!(
            status.as_str(),
            "error" | "failed" | "failure" | "denied" | "rejected" | "not_found" | "not found" | "notfound" | "refused"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_in_result_of_a_record_is_seen() {
        let is_success = |text: &str| {
            let event = Event { text: Some(text.into()), ..Event::default() };
            is_success(&event) && !misses_object(&event)
        };
        for text in [
            "Customer not found",
            "No such customer",
            "404 Not Found",
            "HTTP/1.1 500 Internal Server Error",
            "The customer does not exist.",
            r#"{"statusCode":404,"message":"gone"}"#,
            r#"{"status":"404"}"#,
            r#"{"code":403}"#,
            r#"{"deleted":false}"#,
            r#"{"message":"no such customer"}"#,
            r#"{"status":"not_found"}"#,
        ] {
            assert!(!is_success(text), "{text}");
        }
        for text in [
            "ok",
            "Deleted 404 records",
            "500 records deleted",
            "customer deleted",
            r#"{"statusCode":204}"#,
            r#"{"deleted":3,"status":"done"}"#,
            r#"{"id":404,"message":"erased"}"#,
        ] {
            assert!(is_success(text), "{text}");
        }
    }
}

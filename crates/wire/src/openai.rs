//! What the two interfaces of OpenAI have in common: errors, and the name of the end user.

use lictor_json::{Json, Text};

/// Returns the body of an error.
pub(crate) fn error_body(status: u16, code: &str, message: &str) -> Json {
    let error = [
        ("message", message.into()),
        ("type", error_type(status).into()),
        ("param", Json::Null),
        ("code", code.into()),
    ];
    Json::from([("error", error.into())])
}

/// Returns OpenAI's name for errors of a status.
fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// Returns the end user that a request names.
pub(crate) fn read_user(body: &Json) -> Option<Text> {
    read_name(body, "safety_identifier").or_else(|| read_name(body, "user"))
}

/// Returns a member that is a text with something in it.
pub(crate) fn read_name(body: &Json, key: &str) -> Option<Text> {
    body.text(key).filter(|text| !text.is_empty()).map(Text::from)
}

/// Whether a format of output is a structure rather than plain text.
pub(crate) fn is_structure(format: &Json) -> bool {
    matches!(format.text("type"), Some("json_schema" | "json_object"))
}

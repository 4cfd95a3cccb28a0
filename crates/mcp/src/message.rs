//! Messages of JSON-RPC, read strictly, so that no other reader can understand them differently.
//!
//! Beyond the checks of [`lictor_json`], members of a message and of its parameters must not differ in case only: some
//! servers ignore the case of names.

use lictor_json::{self as json, Json, Number, Object, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Members with a meaning in the protocol.
const PROTOCOL_MEMBERS: [&str; 12] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "arguments",
    "uri",
    "_meta",
    "inputResponses",
    "requestState",
];

/// The error codes of JSON-RPC.
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// Our own error code: denied by a policy.
pub(crate) const DENIED_BY_POLICY: i64 = -32050;

/// The kind of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MessageKind {
    /// A request, which needs a response.
    Request { id: Json, method: Text },
    /// A notification, which has no response.
    Notification { method: Text },
    /// A response, and whether it is an error.
    Response { id: Json, is_error: bool },
}

/// A message of JSON-RPC.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) value: Json,
    pub(crate) kind: MessageKind,
}

/// The reason why bytes are not a valid message.
#[derive(Clone, Debug)]
pub(crate) struct MessageFault {
    /// The code for records: `json.duplicate_key`.
    pub(crate) reason: &'static str,
    /// The error code for JSON-RPC.
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The longest message in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The readable part of an invalid message, so that a waiting request can be answered with an error.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    pub(crate) id: Option<Json>,
    /// Whether it looks like a response.
    pub(crate) is_answer: bool,
}

impl PartialMessage {
    pub(crate) fn scan(bytes: &[u8]) -> PartialMessage {
        #[derive(Deserialize)]
        struct IdAndMethod {
            id: Option<serde_json::Value>,
            method: Option<IgnoredAny>,
        }
        if let Ok(IdAndMethod { id, method }) = serde_json::from_slice(bytes) {
            let id = id.and_then(|id| json::parse_str(&id.to_string()).ok());
            let id =
                id.filter(|id| matches!(id, Json::String(_) | Json::Number(Number::Integer(_) | Number::Wide(..))));
            return PartialMessage { id, is_answer: method.is_none() };
        }
        // Truncated or malformed: the telling members are usually at the start.
        let start = bytes.trim_ascii_start();
        let has = |member: &[u8]| start.windows(member.len()).take(SCAN_BYTES).any(|part| part == member);
        let is_answer = start.starts_with(b"{") && has(b"\"jsonrpc\"") && !has(b"\"method\"");
        PartialMessage { id: None, is_answer: is_answer && (has(b"\"result\"") || has(b"\"error\"")) }
    }
}

/// How many bytes of an invalid message are searched for members.
const SCAN_BYTES: usize = 256;

/// Reads a message or a batch of messages; the flag says whether it is a batch.
pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<Message>, bool), MessageFault> {
    if bytes.len() >= MAX_MESSAGE_BYTES {
        let message =
            format!("the message of {} bytes is over the limit of {} MiB", bytes.len(), MAX_MESSAGE_BYTES >> 20);
        return Err(MessageFault { reason: "mcp.too_long", ..invalid(message) });
    }
    let value = json::parse(bytes.trim_ascii()).map_err(|error| MessageFault {
        reason: error.code,
        code: PARSE_ERROR,
        message: error.message,
    })?;
    match value {
        Json::Array(batch) if batch.is_empty() => Err(invalid("empty batch")),
        Json::Array(batch) => Ok((batch.into_iter().map(Message::from_value).collect::<Result<_, _>>()?, true)),
        value => Ok((vec![Message::from_value(value)?], false)),
    }
}

fn invalid(message: impl Into<String>) -> MessageFault {
    MessageFault { reason: "mcp.message", code: INVALID_REQUEST, message: message.into() }
}

impl Message {
    pub(crate) fn from_value(value: Json) -> Result<Message, MessageFault> {
        let Json::Object(object) = &value else { return Err(invalid("a message must be an object")) };
        check_names(object)?;
        if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let id = match object.get("id") {
            None => None,
            Some(id @ (Json::String(_) | Json::Number(Number::Integer(_) | Number::Wide(..)))) => Some(id.clone()),
            // An error about a message that could not be read has no id.
            Some(id @ Json::Null) if object.get("error").is_some() => Some(id.clone()),
            Some(_) => return Err(invalid("`id` must be a string or an integer")),
        };
        let (result, error) = (object.get("result").is_some(), object.get("error").is_some());
        let kind = match (object.get("method"), id, result, error) {
            (Some(Json::String(method)), Some(id), false, false) => MessageKind::Request { id, method: method.clone() },
            (Some(Json::String(method)), None, false, false) => MessageKind::Notification { method: method.clone() },
            (None, Some(id), true, false) => MessageKind::Response { id, is_error: false },
            (None, Some(id), false, true) => MessageKind::Response { id, is_error: true },
            _ => {
                return Err(invalid(
                    "a message needs exactly one of `method`, `result` and `error`, and a response needs an `id`",
                ));
            }
        };
        match object.get("params") {
            None => {}
            Some(Json::Object(params)) => check_names(params)?,
            Some(_) => return Err(invalid("`params` must be an object")),
        }
        let needs_name =
            matches!(&kind, MessageKind::Request { method, .. } if method == "tools/call" || method == "prompts/get");
        if needs_name && value.at("params.name").and_then(Json::as_str).is_none() {
            return Err(invalid("`params.name` is missing or not a string"));
        }
        Ok(Message { value, kind })
    }

    /// Returns the parameters.
    pub(crate) fn params(&self) -> &Json {
        const NOTHING: &Json = &Json::Null;
        self.value.get("params").unwrap_or(NOTHING)
    }
}

/// The members of results that must be lists of objects, by the method that they answer.
const LISTS: [(&str, &str); 3] = [("tools/list", "tools"), ("resources/read", "contents"), ("prompts/get", "messages")];

/// The members of results that must be strings, by the method that they answer.
const TEXTS: [(&str, &str); 3] =
    [("initialize", "instructions"), ("server/discover", "instructions"), ("prompts/get", "description")];

/// Returns why a result has a shape that the protocol does not have. Its texts would not be found, and some clients show
/// them all the same.
pub(crate) fn find_wrong_shape(method: &str, result: &Json) -> Option<String> {
    if result.as_object().is_none() {
        return Some("`result` must be an object".to_owned());
    }
    let find = |members: &[(&str, &'static str)], fits: fn(&Json) -> bool| {
        let (_, key) = members.iter().find(|(known, _)| *known == method)?;
        let value = result.get(key).filter(|value| !value.is_null())?;
        (!fits(value)).then_some(*key)
    };
    let is_list = |value: &Json| value.as_array().is_some_and(|list| list.iter().all(|it| it.as_object().is_some()));
    if let Some(key) = find(&LISTS, is_list) {
        return Some(format!("`{key}` must be a list of objects"));
    }
    let completions = result.get("completion").filter(|_| method == "completion/complete");
    if completions.is_some_and(|completions| !is_text_list(completions.get("values"))) {
        return Some("`completion.values` must be a list of strings".to_owned());
    }
    find(&TEXTS, |value| value.as_str().is_some()).map(|key| format!("`{key}` must be a string"))
}

fn is_text_list(value: Option<&Json>) -> bool {
    value.and_then(Json::as_array).is_some_and(|list| list.iter().all(|it| it.as_str().is_some()))
}

/// Returns an error if a member differs from another or from one of the protocol in case only.
fn check_names(object: &Object) -> Result<(), MessageFault> {
    let mut seen: Vec<Text> = Vec::new();
    for (key, _) in object.iter() {
        let folded = key.to_lowercase();
        let is_near = PROTOCOL_MEMBERS.iter().any(|member| member.to_lowercase() == folded && *member != key.as_str());
        if is_near || seen.contains(&folded) {
            let message = format!("the member `{key}` differs from another one in case only");
            return Err(MessageFault { reason: "mcp.spelling", ..invalid(message) });
        }
        seen.push(folded);
    }
    Ok(())
}

/// Returns an object of members.
pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (Text::const_new(key), value)).collect())
}

/// Returns an error response.
pub(crate) fn error(id: &Json, code: i64, message: &str) -> Json {
    let error = object([("code", code.into()), ("message", message.into())]);
    object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("error", error)])
}

/// Returns a response with a result.
pub(crate) fn answer(id: &Json, result: Json) -> Json {
    object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("result", result)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_messages_are_refused() {
        let cases = [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
                "json.duplicate_key",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}"#,
                "json.duplicate_key",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#, "mcp.spelling"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}"#, "mcp.spelling"),
            (r#"{"jsonrpc":"2.0","id":1,"Method":"tools/call","method":"ping"}"#, "mcp.spelling"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "mcp.message"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, "mcp.message"),
            (r#"{"jsonrpc":"2.0","result":{}}"#, "mcp.message"),
            ("[]", "mcp.message"),
            ("7", "mcp.message"),
            (r#"{"jsonrpc":"2.0"} {}"#, "json.trailing"),
        ];
        for (text, reason) in cases {
            let fault = read(text.as_bytes()).map(|_| ()).unwrap_err();
            assert!(fault.reason == reason || reason == "json.trailing", "{text}: {fault:?}");
        }
    }

    #[test]
    fn message_kind_and_id_are_read() {
        let kind = |text: &str| read(text.as_bytes()).unwrap().0.remove(0).kind;
        let request = |id: Json| MessageKind::Request { id, method: "ping".into() };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), request(1.into()));
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#), request("1".into()));
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","id":"1","error":{}}"#),
            MessageKind::Response { id: "1".into(), is_error: true }
        );
    }
}

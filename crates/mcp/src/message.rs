//! A message of JSON-RPC, read so that no other reader can understand it otherwise.
//!
//! Beyond what [`lictor_json`] refuses, members of a message and of its parameters must not differ by the case of
//! letters alone: some servers read names of members without regard to it.

use lictor_json::{self as json, Json, Number, Object, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Members that mean something to the protocol.
const MEMBERS: [&str; 12] = [
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

/// The codes of JSON-RPC.
pub(crate) const UNREADABLE: i64 = -32700;
pub(crate) const INVALID: i64 = -32600;
pub(crate) const NO_METHOD: i64 = -32601;
/// A code of our own, for what a policy does not allow.
pub(crate) const NOT_ALLOWED: i64 = -32050;

/// What a message is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sort {
    /// It wants an answer.
    Request { id: Json, method: Text },
    /// It wants none.
    Notification { method: Text },
    /// It is an answer; whether it reports a failure.
    Answer { id: Json, is_error: bool },
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) value: Json,
    pub(crate) sort: Sort,
}

/// What is wrong with bytes that are no message.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// For records: `json.duplicate_key`.
    pub(crate) reason: &'static str,
    /// For JSON-RPC.
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The longest message that is read.
pub(crate) const LONGEST: usize = 64 << 20;

/// What can be told of something that is no message, so that whoever waits for an answer is not left to wait.
#[derive(Debug)]
pub(crate) struct Glimpse {
    pub(crate) id: Option<Json>,
    /// Whether it is an answer, as far as that can be told.
    pub(crate) is_answer: bool,
}

impl Glimpse {
    pub(crate) fn of(bytes: &[u8]) -> Glimpse {
        #[derive(Deserialize)]
        struct Named {
            id: Option<serde_json::Value>,
            method: Option<IgnoredAny>,
        }
        if let Ok(Named { id, method }) = serde_json::from_slice(bytes) {
            let id = id.and_then(|id| json::parse_str(&id.to_string()).ok());
            let id =
                id.filter(|id| matches!(id, Json::String(_) | Json::Number(Number::Integer(_) | Number::Wide(..))));
            return Glimpse { id, is_answer: method.is_none() };
        }
        // Cut off, or worse: members that tell stand at the beginning.
        let start = bytes.trim_ascii_start();
        let has = |member: &[u8]| start.windows(member.len()).take(NEAR).any(|part| part == member);
        let is_answer = start.starts_with(b"{") && has(b"\"jsonrpc\"") && !has(b"\"method\"");
        Glimpse { id: None, is_answer: is_answer && (has(b"\"result\"") || has(b"\"error\"")) }
    }
}

/// How far into a message its members are looked for.
const NEAR: usize = 256;

/// Reads a message, or the messages of a batch; the flag says that it is one.
pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<Message>, bool), Fault> {
    if bytes.len() >= LONGEST {
        let message = format!("a message has less than {} MiB", LONGEST >> 20);
        return Err(Fault { reason: "mcp.too_long", ..invalid(message) });
    }
    let value = json::parse(bytes.trim_ascii()).map_err(|error| Fault {
        reason: error.code,
        code: UNREADABLE,
        message: error.message,
    })?;
    match value {
        Json::Array(batch) if batch.is_empty() => Err(invalid("a batch without messages")),
        Json::Array(batch) => Ok((batch.into_iter().map(Message::of).collect::<Result<_, _>>()?, true)),
        value => Ok((vec![Message::of(value)?], false)),
    }
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault { reason: "mcp.message", code: INVALID, message: message.into() }
}

impl Message {
    fn of(value: Json) -> Result<Message, Fault> {
        let Json::Object(object) = &value else { return Err(invalid("a message is an object")) };
        spelled(object)?;
        if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let id = match object.get("id") {
            None => None,
            Some(id @ (Json::String(_) | Json::Number(Number::Integer(_) | Number::Wide(..)))) => Some(id.clone()),
            // An error about a message that could not be read has no id.
            Some(id @ Json::Null) if object.get("error").is_some() => Some(id.clone()),
            Some(_) => return Err(invalid("`id` must be a text or a whole number")),
        };
        let (result, error) = (object.get("result").is_some(), object.get("error").is_some());
        let sort = match (object.get("method"), id, result, error) {
            (Some(Json::String(method)), Some(id), false, false) => Sort::Request { id, method: method.clone() },
            (Some(Json::String(method)), None, false, false) => Sort::Notification { method: method.clone() },
            (None, Some(id), true, false) => Sort::Answer { id, is_error: false },
            (None, Some(id), false, true) => Sort::Answer { id, is_error: true },
            _ => {
                return Err(invalid("a message has `method`, `result` or `error`, one of them, and an answer an `id`"));
            }
        };
        match object.get("params") {
            None => {}
            Some(Json::Object(params)) => spelled(params)?,
            Some(_) => return Err(invalid("`params` must be an object")),
        }
        let needs_name =
            matches!(&sort, Sort::Request { method, .. } if method == "tools/call" || method == "prompts/get");
        if needs_name && value.at("params.name").and_then(Json::as_str).is_none() {
            return Err(invalid("`params.name` is missing, or not a text"));
        }
        Ok(Message { value, sort })
    }

    /// What it asks with.
    pub(crate) fn params(&self) -> &Json {
        const NOTHING: &Json = &Json::Null;
        self.value.get("params").unwrap_or(NOTHING)
    }
}

/// Refuses names of members that some reader would take for others.
fn spelled(object: &Object) -> Result<(), Fault> {
    let mut seen: Vec<Text> = Vec::new();
    for (key, _) in object.iter() {
        let folded = key.to_lowercase();
        let is_near = MEMBERS.iter().any(|member| member.to_lowercase() == folded && *member != key.as_str());
        if is_near || seen.contains(&folded) {
            let message = format!("the member `{key}` differs from another one by the case of letters only");
            return Err(Fault { reason: "mcp.spelling", ..invalid(message) });
        }
        seen.push(folded);
    }
    Ok(())
}

/// An object of members.
pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (Text::const_new(key), value)).collect())
}

/// An answer that reports a failure.
pub(crate) fn error(id: &Json, code: i64, message: &str) -> Json {
    let error = object([("code", code.into()), ("message", message.into())]);
    object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("error", error)])
}

/// An answer.
pub(crate) fn answer(id: &Json, result: Json) -> Json {
    object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("result", result)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_understand_differently_is_no_message() {
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
    fn the_sort_of_a_message_and_its_id_are_kept() {
        let sort = |text: &str| read(text.as_bytes()).unwrap().0.remove(0).sort;
        let request = |id: Json| Sort::Request { id, method: "ping".into() };
        assert_eq!(sort(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), request(1.into()));
        assert_eq!(sort(r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#), request("1".into()));
        assert_eq!(sort(r#"{"jsonrpc":"2.0","id":"1","error":{}}"#), Sort::Answer { id: "1".into(), is_error: true });
    }
}

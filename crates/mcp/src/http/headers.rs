//! What a request says in its headers, held against what it says in its body; and which headers go on.
//!
//! From revision 2026-07-28 on a request says in headers what it does, for whoever stands in between. A server that
//! believed the body while we believed the headers, or the other way round, would do what nobody decided on.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::HeaderName;
use lictor_json::Json;

use crate::message::{Message, Sort};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// From this revision on headers repeat the body.
const MODERN: &str = "2026-07-28";

/// Headers that belong to one connection, or that we write ourselves.
const OWN: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers of an answer that a client needs.
const ANSWERED: [&str; 6] =
    ["mcp-session-id", "mcp-protocol-version", "www-authenticate", "allow", "retry-after", "cache-control"];

/// What does not agree between headers and body.
pub(super) fn disagreement(headers: &HeaderMap, message: &Message) -> Option<String> {
    let (method, version, name, is_request) = match &message.sort {
        Sort::Request { method, .. } => (Some(method.as_str()), version(message), name(method, message), true),
        Sort::Notification { method } => (Some(method.as_str()), version(message), None, false),
        Sort::Answer { .. } => (None, None, None, false),
    };
    let said = match (once(headers, &VERSION), once(headers, &METHOD), once(headers, &NAME)) {
        (Ok(version), Ok(method), Ok(name)) => (version, method, name),
        (Err(wrong), ..) | (_, Err(wrong), _) | (.., Err(wrong)) => return Some(wrong),
    };
    let is_modern = [version, said.0.as_deref()].into_iter().flatten().any(|version| version >= MODERN);
    let compare = |header: &HeaderName, said: Option<&str>, meant: Option<&str>, is_needed: bool| match (said, meant) {
        (Some(said), Some(meant)) if said != meant => Some(format!("`{header}` says `{said}`, the body `{meant}`")),
        (Some(said), None) if is_needed => Some(format!("`{header}` says `{said}`, the body says nothing of it")),
        (None, Some(_)) if is_needed => Some(format!("`{header}` is missing")),
        _ => None,
    };
    compare(&METHOD, said.1.as_deref(), method, is_modern && method.is_some())
        .or_else(|| compare(&NAME, said.2.as_deref(), name, is_modern || said.2.is_some()))
        .or_else(|| compare(&VERSION, said.0.as_deref(), version, is_modern && is_request))
}

/// The value of a header that may stand once.
fn once(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, String> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(format!("`{name}` stands twice"));
    }
    let Some(value) = first else { return Ok(None) };
    let text = value.to_str().map_err(|_| format!("`{name}` is not a plain text"))?.trim();
    // What a header cannot hold is written in base64, between marks.
    match text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?=")) {
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).map_err(|_| format!("`{name}` is not good base64"))?;
            String::from_utf8(bytes).map(Some).map_err(|_| format!("`{name}` is not a text"))
        }
        None => Ok(Some(text.to_owned())),
    }
}

/// What a request is about.
fn name<'a>(method: &str, message: &'a Message) -> Option<&'a str> {
    match method {
        "tools/call" | "prompts/get" => message.params().text("name"),
        "resources/read" => message.params().text("uri"),
        _ => None,
    }
}

fn version(message: &Message) -> Option<&str> {
    message.params().get("_meta")?.get("io.modelcontextprotocol/protocolVersion").and_then(Json::as_str)
}

/// The headers that go on to the server.
pub(super) fn forwarded(headers: &HeaderMap, is_rewritten: bool) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        // Arguments that are repeated in headers would tell what was taken out.
        let is_stale = is_rewritten && name.as_str().starts_with("mcp-param-");
        if !OWN.contains(&name.as_str()) && !is_stale && !name.as_str().starts_with("x-forwarded-") {
            kept.append(name, value.clone());
        }
    }
    kept
}

/// The headers that go back to the client.
pub(super) fn returned(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| ANSWERED.contains(&name.as_str())) {
        kept.append(name, value.clone());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    const OLD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"}}"#;

    #[test]
    fn headers_say_what_the_body_says() {
        let modern = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "weather")];
        let with = |place: usize, value: &'static str| {
            let mut headers = modern.to_vec();
            headers[place].1 = value;
            headers
        };
        let without = |place: usize| {
            let mut headers = modern.to_vec();
            headers.remove(place);
            headers
        };
        let twice = [modern.to_vec(), vec![("mcp-name", "weather")]].concat();
        let cases = [
            (CALL, modern.to_vec(), true),
            (CALL, with(2, "=?base64?d2VhdGhlcg==?="), true),
            (CALL, with(0, "2025-11-25"), false),
            (CALL, with(1, "tools/list"), false),
            (CALL, with(2, "other"), false),
            (CALL, with(2, "Weather"), false),
            (CALL, with(2, "=?base64?b3RoZXI=?="), false),
            (CALL, with(2, "=?base64?***?="), false),
            (CALL, without(0), false),
            (CALL, without(1), false),
            (CALL, without(2), false),
            (CALL, twice, false),
            (OLD, vec![("mcp-protocol-version", "2025-11-25")], true),
            (OLD, vec![], true),
            (OLD, vec![("mcp-name", "other")], false),
            (OLD, vec![("mcp-method", "ping")], false),
            (OLD, modern.to_vec(), false),
        ];
        for (body, headers, agrees) in cases {
            let message = message::read(body.as_bytes()).unwrap().0.remove(0);
            let mut map = HeaderMap::new();
            headers.iter().for_each(|(name, value)| {
                map.append(*name, value.parse().unwrap());
            });
            assert_eq!(disagreement(&map, &message).is_none(), agrees, "{body} {headers:?}");
        }
    }

    #[test]
    fn credentials_and_what_a_server_says_about_them_pass() {
        let with = |name: &'static str| HeaderMap::from_iter([(HeaderName::from_static(name), "x".parse().unwrap())]);
        assert!(forwarded(&with("authorization"), false).contains_key("authorization"));
        assert!(returned(&with("www-authenticate")).contains_key("www-authenticate"));
        assert!(forwarded(&with("proxy-authorization"), false).is_empty(), "that one is for us");
        assert!(returned(&with("set-cookie")).is_empty());
        assert!(forwarded(&with("mcp-param-city"), true).is_empty(), "it would tell what was taken out");
    }
}

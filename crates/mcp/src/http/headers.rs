//! Compares the headers of a request with its body, and selects the headers to forward.
//!
//! From revision 2026-07-28 on, headers repeat the method and the name for proxies. If headers and body differed, the
//! server could act on the one while the decision was about the other.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use lictor_json::Json;
use lictor_wire::HopByHopFields;

use crate::message::{Message, MessageKind};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The first revision in which headers repeat the body.
const HEADERS_REVISION: &str = "2026-07-28";

/// Request headers that the proxy sets itself.
const OWN_HEADERS: [&str; 5] = ["accept-encoding", "content-length", "expect", "forwarded", "host"];

/// Response headers that are forwarded.
const RETURNED_HEADERS: [&str; 6] =
    ["mcp-session-id", "mcp-protocol-version", "www-authenticate", "allow", "retry-after", "cache-control"];

/// Returns the first contradiction between headers and body.
pub(super) fn find_mismatch(headers: &HeaderMap, message: &Message) -> Option<String> {
    let (method, version, name, is_request) = match &message.kind {
        MessageKind::Request { method, .. } => {
            (Some(method.as_str()), body_version(message), target_name(method, message), true)
        }
        MessageKind::Notification { method } => (Some(method.as_str()), body_version(message), None, false),
        MessageKind::Response { .. } => (None, None, None, false),
    };
    let said = match (single_value(headers, &VERSION), single_value(headers, &METHOD), single_value(headers, &NAME)) {
        (Ok(version), Ok(method), Ok(name)) => (version, method, name),
        (Err(wrong), ..) | (_, Err(wrong), _) | (.., Err(wrong)) => return Some(wrong),
    };
    let is_modern = [version, said.0.as_deref()].into_iter().flatten().any(|version| version >= HEADERS_REVISION);
    let compare = |header: &HeaderName, said: Option<&str>, meant: Option<&str>, is_needed: bool| match (said, meant) {
        (Some(said), Some(meant)) if said != meant => {
            Some(format!("header `{header}` is `{said}`, but the body has `{meant}`"))
        }
        (Some(said), None) if is_needed => {
            Some(format!("header `{header}` is `{said}`, but the body has no such value"))
        }
        (None, Some(_)) if is_needed => Some(format!("header `{header}` is missing")),
        _ => None,
    };
    compare(&METHOD, said.1.as_deref(), method, is_modern && method.is_some())
        .or_else(|| compare(&NAME, said.2.as_deref(), name, is_modern || said.2.is_some()))
        .or_else(|| compare(&VERSION, said.0.as_deref(), version, is_modern && is_request))
}

/// Returns the value of a header that may occur once.
fn single_value(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, String> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(format!("duplicate header `{name}`"));
    }
    let Some(value) = first else { return Ok(None) };
    let text = value.to_str().map_err(|_| format!("header `{name}` is not ASCII"))?.trim();
    // Values outside ASCII are encoded as `=?base64?…?=`.
    match text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?=")) {
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).map_err(|_| format!("header `{name}` is not valid base64"))?;
            String::from_utf8(bytes).map(Some).map_err(|_| format!("header `{name}` is not UTF-8"))
        }
        None => Ok(Some(text.to_owned())),
    }
}

/// Returns the tool, prompt or resource of a request.
fn target_name<'a>(method: &str, message: &'a Message) -> Option<&'a str> {
    match method {
        "tools/call" | "prompts/get" => message.params().text("name"),
        "resources/read" => message.params().text("uri"),
        _ => None,
    }
}

fn body_version(message: &Message) -> Option<&str> {
    message.params().get("_meta")?.get("io.modelcontextprotocol/protocolVersion").and_then(Json::as_str)
}

/// Returns the headers to forward to the server.
pub(super) fn request_headers(headers: &HeaderMap, is_rewritten: bool) -> HeaderMap {
    let hop_by_hop = read_hop_by_hop(headers);
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        // Headers that repeat arguments would leak redacted values.
        let is_stale = is_rewritten && name.as_str().starts_with("mcp-param-");
        let is_own = OWN_HEADERS.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-");
        if !(hop_by_hop.contains(name.as_str()) || is_own || is_stale) {
            kept.append(name, value.clone());
        }
    }
    kept
}

/// Returns the headers to forward to the client.
pub(super) fn response_headers(headers: &HeaderMap) -> HeaderMap {
    let hop_by_hop = read_hop_by_hop(headers);
    let is_kept = |name: &str| RETURNED_HEADERS.contains(&name) && !hop_by_hop.contains(name);
    let mut kept = HeaderMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| is_kept(name.as_str())) {
        kept.append(name, value.clone());
    }
    kept
}

/// Returns the headers that belong to the connection.
fn read_hop_by_hop(headers: &HeaderMap) -> HopByHopFields {
    HopByHopFields::read(headers.get_all("connection").iter().map(HeaderValue::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    const OLD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"}}"#;

    #[test]
    fn headers_must_match_the_body() {
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
            assert_eq!(find_mismatch(&map, &message).is_none(), agrees, "{body} {headers:?}");
        }
    }

    #[test]
    fn credential_headers_are_forwarded() {
        let with = |name: &'static str| HeaderMap::from_iter([(HeaderName::from_static(name), "x".parse().unwrap())]);
        assert!(request_headers(&with("authorization"), false).contains_key("authorization"));
        assert!(response_headers(&with("www-authenticate")).contains_key("www-authenticate"));
        assert!(request_headers(&with("proxy-authorization"), false).is_empty(), "that one is for us");
        assert!(response_headers(&with("set-cookie")).is_empty());
        assert!(request_headers(&with("mcp-param-city"), true).is_empty(), "it would tell what was taken out");
    }
    #[test]
    fn connection_headers_of_servers_are_stripped() {
        let fields =
            [("connection", "close, X-Private, Allow"), ("x-private", "1"), ("te", "trailers"), ("allow", "GET")];
        let fields = fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(fields);
        assert!(request_headers(&headers, false).is_empty(), "{:?}", request_headers(&headers, false));
        assert!(response_headers(&headers).is_empty());
    }
}

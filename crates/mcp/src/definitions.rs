//! What a server says its tools are: each definition gets a digest that binds the name to the server and to all that the
//! definition says. A definition that changes, or the same name from another server, has another digest, and properties
//! can tell.

use std::collections::HashSet;
use std::fmt::Write;

use lictor_event::Event;
use lictor_json::{Json, Text};
use sha2::{Digest, Sha256};

/// Puts digests into an event about definitions. Fails if a name stands twice, in the list or on an earlier page of it.
pub(crate) fn pin(server: &str, event: &mut Event, seen: &mut HashSet<Text>) -> Result<(), Text> {
    let Some(Json::Array(tools)) = event.more.remove("tools") else { return Ok(()) };
    let mut pinned = Vec::with_capacity(tools.len());
    for tool in tools {
        let Json::Object(mut tool) = tool else { return Err("a tool that is no object".into()) };
        let name = tool.get("name").and_then(Json::as_str).map(Text::from).unwrap_or_default();
        if !seen.insert(name.clone()) {
            return Err(name);
        }
        tool.insert("digest", digest(server, &Json::Object(tool.clone())));
        pinned.push(Json::Object(tool));
    }
    event.more.insert("tools", pinned);
    Ok(())
}

/// The digest of a definition.
pub(crate) fn digest(server: &str, tool: &Json) -> String {
    let mut text = format!("{}\n", Json::from(server));
    canonical(tool, &mut text);
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The same text for the same value, in whatever order its members stand.
fn canonical(value: &Json, text: &mut String) {
    match value {
        Json::Object(object) => {
            let mut members: Vec<(&Text, &Json)> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in members {
                let _ = write!(text, "{}:", Json::String(key.clone()));
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Json::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_json::parse_str;

    #[test]
    fn a_digest_tells_definitions_and_servers_apart_but_not_the_order_of_members() {
        let tool = |text: &str| parse_str(text).unwrap();
        let first = digest("a", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["x"]}}"#));
        assert_eq!(first, digest("a", &tool(r#"{"inputSchema":{"required":["x"],"type":"object"},"name":"w"}"#)));
        assert_ne!(first, digest("b", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["x"]}}"#)));
        assert_ne!(first, digest("a", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["y"]}}"#)));
        assert_ne!(digest("a", &tool("[1,[2]]")), digest("a", &tool("[[1],2]")));
    }
}

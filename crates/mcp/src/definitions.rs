//! Digests of tool definitions. A digest binds the name of a tool to its server and to its whole definition: a changed
//! definition, or the same name from another server, has another digest, which properties can see.

use std::collections::HashSet;
use std::fmt::Write;

use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use sha2::{Digest, Sha256};

/// Adds digests to an event with definitions. Returns a duplicate name, in the list or on an earlier page of it, as
/// error.
pub(crate) fn add_digests(server: &str, event: &mut Event, seen: &mut HashSet<Text>) -> Result<(), Text> {
    let Some(Json::Array(tools)) = event.more.remove("tools") else { return Ok(()) };
    let mut pinned = Vec::with_capacity(tools.len());
    for tool in tools {
        let Json::Object(mut tool) = tool else { return Err("a tool that is not an object".into()) };
        let name = tool.get("name").and_then(Json::as_str).map(Text::from).unwrap_or_default();
        if !seen.insert(name.clone()) {
            return Err(name);
        }
        tool.insert("digest", compute_digest(server, &Json::Object(tool.clone())));
        pinned.push(Json::Object(tool));
    }
    event.more.insert("tools", pinned);
    Ok(())
}

/// The other lists of what a server has: the method, the kind of their event, and their member.
const LISTS: [(&str, &str, &str); 3] = [
    ("resources/list", "resource_definitions", "resources"),
    ("resources/templates/list", "resource_definitions", "resourceTemplates"),
    ("prompts/list", "prompt_definitions", "prompts"),
];

/// Returns the member of a list of resources or prompts; none of other results.
pub(crate) fn find_list_member(method: &str) -> Option<&'static str> {
    LISTS.into_iter().find(|(listed, ..)| *listed == method).map(|(.., member)| member)
}

/// Returns the event of a list of resources or prompts. Like that of tools it has no text.
pub(crate) fn read_list(method: &str, result: &Json) -> Option<Event> {
    let (_, kind, member) = LISTS.into_iter().find(|(listed, ..)| *listed == method)?;
    let mut event = Event::new(Kind::Other(kind.into()));
    event.more.insert(member, result.get(member).cloned().unwrap_or_default());
    Some(event)
}

/// Returns the digest of a definition.
pub(crate) fn compute_digest(server: &str, tool: &Json) -> String {
    let mut text = format!("{}\n", Json::from(server));
    write_canonical(tool, &mut text);
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes a text that does not depend on the order of members.
fn write_canonical(value: &Json, text: &mut String) {
    match value {
        Json::Object(object) => {
            let mut members: Vec<(&Text, &Json)> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in members {
                let _ = write!(text, "{}:", Json::String(key.clone()));
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Json::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
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
    fn digest_ignores_only_member_order() {
        let tool = |text: &str| parse_str(text).unwrap();
        let first = compute_digest("a", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["x"]}}"#));
        assert_eq!(
            first,
            compute_digest("a", &tool(r#"{"inputSchema":{"required":["x"],"type":"object"},"name":"w"}"#))
        );
        assert_ne!(
            first,
            compute_digest("b", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["x"]}}"#))
        );
        assert_ne!(
            first,
            compute_digest("a", &tool(r#"{"name":"w","inputSchema":{"type":"object","required":["y"]}}"#))
        );
        assert_ne!(compute_digest("a", &tool("[1,[2]]")), compute_digest("a", &tool("[[1],2]")));
    }
}

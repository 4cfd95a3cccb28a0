//! Rewritten results: redacted, with advice, or denied with a reason.

use lictor_event::Event;
use lictor_json::{Json, Object};

use crate::message::object;

/// Returns the result of a denied call.
pub(crate) fn deny(message: &str, is_modern: bool) -> Json {
    let mut members = vec![("content", Json::Array(vec![text_part(message)])), ("isError", true.into())];
    if is_modern {
        members.insert(0, ("resultType", "complete".into()));
    }
    object(members)
}

/// Returns a result with the text of a rewritten event, or none if the result has no place for it.
pub(crate) fn rewrite(method: &str, result: &Json, event: &Event) -> Option<Json> {
    let Json::Object(mut result) = result.clone() else { return None };
    let words = event.text.as_deref();
    match method {
        // An event has one value, and this result has two.
        "tools/call" | "tasks/result" if result.get("toolResult").is_some() => return None,
        "tools/call" | "tasks/result" => {
            if let Some(words) = words {
                let mut parts = vec![text_part(words)];
                parts.extend(non_text_parts(&result, "content"));
                result.insert("content", parts);
            }
            match &event.result {
                Some(value) => result.insert("structuredContent", value.clone()),
                None => drop(result.remove("structuredContent")),
            }
        }
        "resources/read" => {
            let first =
                result.get("contents").and_then(Json::as_array)?.iter().find(|part| part.get("text").is_some())?;
            let Json::Object(mut part) = first.clone() else { return None };
            part.insert("text", words?);
            let mut parts = vec![Json::Object(part)];
            parts.extend(non_text_parts(&result, "contents"));
            result.insert("contents", parts);
        }
        "prompts/get" => {
            let message = object([("role", "user".into()), ("content", text_part(words?))]);
            result.insert("messages", vec![message]);
            // Its text is among the words.
            result.remove("description");
        }
        "completion/complete" => {
            let Some(Json::Object(mut completion)) = result.get("completion").cloned() else { return None };
            completion.insert("values", words?.lines().map(Json::from).collect::<Vec<_>>());
            result.insert("completion", completion);
        }
        _ => return None,
    }
    Some(Json::Object(result))
}

/// Returns a tool result with advice for the model appended.
pub(crate) fn append_advice(result: &Json, advice: &str) -> Option<Json> {
    let Json::Object(mut result) = result.clone() else { return None };
    let mut parts = result.get("content").and_then(Json::as_array)?.to_vec();
    parts.push(text_part(advice));
    result.insert("content", parts);
    Some(Json::Object(result))
}

fn text_part(words: &str) -> Json {
    object([("type", "text".into()), ("text", words.into())])
}

/// Returns the parts without text. An event has the text of all parts together, so those are replaced.
fn non_text_parts(result: &Object, member: &str) -> Vec<Json> {
    let parts = result.get(member).and_then(Json::as_array).unwrap_or_default();
    let has_words = |part: &Json| {
        let words = ["text", "description", "title", "name"].iter().find_map(|key| part.get(key));
        words.is_some() || part.at("resource.text").is_some()
    };
    parts.iter().filter(|part| !has_words(part)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::Kind;
    use lictor_json::parse_str;

    #[test]
    fn rewrite_replaces_text_and_keeps_images() {
        let event = Event { text: Some("w".into()), ..Event::new(Kind::ToolResult) };
        let cases = [
            (
                "tools/call",
                r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"i"},{"type":"text","text":"b"}]}"#,
                r#"{"content":[{"type":"text","text":"w"},{"type":"image","data":"i"}]}"#,
            ),
            ("resources/read", r#"{"contents":[{"uri":"u","text":"a"}]}"#, r#"{"contents":[{"uri":"u","text":"w"}]}"#),
            (
                "tools/call",
                r#"{"content":[{"type":"resource_link","uri":"u","name":"a"}]}"#,
                r#"{"content":[{"type":"text","text":"w"}]}"#,
            ),
            (
                "completion/complete",
                r#"{"completion":{"values":["a","b"],"total":2}}"#,
                r#"{"completion":{"values":["w"],"total":2}}"#,
            ),
            (
                "prompts/get",
                r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"a"}}]}"#,
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"w"}}]}"#,
            ),
        ];
        for (method, result, expected) in cases {
            let written = rewrite(method, &parse_str(result).unwrap(), &event).unwrap();
            assert_eq!(written.to_string(), expected, "{method}");
        }
        assert!(rewrite("tools/list", &parse_str("{}").unwrap(), &event).is_none());
    }
}

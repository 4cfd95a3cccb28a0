//! Results, rewritten: with what offends taken out, with advice, or with nothing but the reason why not.

use lictor_event::Event;
use lictor_json::{Json, Object};

use crate::message::object;

/// The result of a call that was not carried out, or whose answer nobody may read.
pub(crate) fn denied(message: &str, is_modern: bool) -> Json {
    let mut members = vec![("content", Json::Array(vec![text(message)])), ("isError", true.into())];
    if is_modern {
        members.insert(0, ("resultType", "complete".into()));
    }
    object(members)
}

/// A result with the words of an event; none where it has no place for them.
pub(crate) fn rewritten(method: &str, result: &Json, event: &Event) -> Option<Json> {
    let Json::Object(mut result) = result.clone() else { return None };
    let words = event.text.as_deref();
    match method {
        // There is one place for a value, and it has two.
        "tools/call" | "tasks/result" if result.get("toolResult").is_some() => return None,
        "tools/call" | "tasks/result" => {
            if let Some(words) = words {
                let mut parts = vec![text(words)];
                parts.extend(others(&result, "content"));
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
            parts.extend(others(&result, "contents"));
            result.insert("contents", parts);
        }
        "prompts/get" => {
            let message = object([("role", "user".into()), ("content", text(words?))]);
            result.insert("messages", vec![message]);
        }
        _ => return None,
    }
    Some(Json::Object(result))
}

/// A result of a tool with advice for the model behind it.
pub(crate) fn advised(result: &Json, advice: &str) -> Option<Json> {
    let Json::Object(mut result) = result.clone() else { return None };
    let mut parts = result.get("content").and_then(Json::as_array)?.to_vec();
    parts.push(text(advice));
    result.insert("content", parts);
    Some(Json::Object(result))
}

fn text(words: &str) -> Json {
    object([("type", "text".into()), ("text", words.into())])
}

/// The parts of a content that hold no words: an event tells the words of all parts together.
fn others(result: &Object, member: &str) -> Vec<Json> {
    let parts = result.get(member).and_then(Json::as_array).unwrap_or_default();
    let has_words = |part: &Json| {
        part.get("text").is_some() || part.at("resource.text").is_some() || part.get("description").is_some()
    };
    parts.iter().filter(|part| !has_words(part)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::Kind;
    use lictor_json::parse_str;

    #[test]
    fn words_are_replaced_and_what_has_none_stays() {
        let event = Event { text: Some("w".into()), ..Event::new(Kind::ToolResult) };
        let cases = [
            (
                "tools/call",
                r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"i"},{"type":"text","text":"b"}]}"#,
                r#"{"content":[{"type":"text","text":"w"},{"type":"image","data":"i"}]}"#,
            ),
            ("resources/read", r#"{"contents":[{"uri":"u","text":"a"}]}"#, r#"{"contents":[{"uri":"u","text":"w"}]}"#),
            (
                "prompts/get",
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}"#,
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"w"}}]}"#,
            ),
        ];
        for (method, result, expected) in cases {
            let written = rewritten(method, &parse_str(result).unwrap(), &event).unwrap();
            assert_eq!(written.to_string(), expected, "{method}");
        }
        assert!(rewritten("tools/list", &parse_str("{}").unwrap(), &event).is_none());
    }
}

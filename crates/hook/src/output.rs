//! Rewrites the result of a tool in the shape of the original.
//!
//! Claude Code accepts a replaced result of its own tools only if it has the shape of the original.

use lictor_event::Event;
use lictor_json::{Json, Object};

/// Returns the result with the content of a rewritten event, or none if the shape cannot be kept.
pub(crate) fn rewrite(result: &Json, event: &Event) -> Option<Json> {
    let text = || event.text.clone().map(Json::String);
    let part = || {
        let mut part = Object::new();
        part.insert("type", "text");
        part.insert("text", text()?);
        Some(Json::Array(vec![part.into()]))
    };
    match result {
        Json::String(_) => text(),
        Json::Array(_) if event.result.is_none() => part(),
        Json::Object(object) if event.text.is_some() && object.get("content").is_some() => {
            let mut object = object.clone();
            object.insert("content", part()?);
            if let Some(structured) = &event.result {
                object.insert("structuredContent", structured.clone());
            }
            Some(Json::Object(object))
        }
        _ => event.result.clone(),
    }
}

/// Returns the result with a reason in place of its content: the first string is the reason, the others are empty.
/// Members named `type` are kept, to keep the shape.
pub(crate) fn withhold(result: &Json, reason: &str) -> Json {
    let mut result = result.clone();
    let mut reason = Some(reason);
    blank_strings(&mut result, &mut reason);
    match reason {
        // The result had no string.
        Some(reason) => Json::from(reason),
        None => result,
    }
}

fn blank_strings(value: &mut Json, reason: &mut Option<&str>) {
    match value {
        Json::String(text) => *text = reason.take().unwrap_or_default().into(),
        Json::Array(items) => items.iter_mut().for_each(|item| blank_strings(item, reason)),
        Json::Object(object) => {
            let members = std::mem::take(object).into_members().into_iter().map(|(key, mut value)| {
                if key != "type" {
                    blank_strings(&mut value, reason);
                }
                (key, value)
            });
            *object = members.collect();
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::Kind;
    use lictor_json::parse_str;

    #[test]
    fn withheld_result_keeps_only_its_shape() {
        let cases = [
            (r#""secret""#, r#""no""#),
            (
                r#"{"stdout":"secret","stderr":"s","interrupted":false}"#,
                r#"{"stdout":"no","stderr":"","interrupted":false}"#,
            ),
            (r#"[{"type":"text","text":"secret"}]"#, r#"[{"type":"text","text":"no"}]"#),
            (r#"{"count":3}"#, r#""no""#),
            ("null", r#""no""#),
        ];
        for (given, expected) in cases {
            assert_eq!(withhold(&parse_str(given).unwrap(), "no").to_string(), expected, "{given}");
        }
    }

    #[test]
    fn rewritten_result_keeps_the_original_shape() {
        let said = |text: &str| Event { text: Some(text.into()), ..Event::new(Kind::ToolResult) };
        let cases = [
            (r#""a""#, said("b"), Some(r#""b""#)),
            (r#"[{"type":"text","text":"a"}]"#, said("b"), Some(r#"[{"type":"text","text":"b"}]"#)),
            (
                r#"{"content":[{"type":"text","text":"a"}],"isError":false}"#,
                said("b"),
                Some(r#"{"content":[{"type":"text","text":"b"}],"isError":false}"#),
            ),
            (r#"{"stdout":"a"}"#, Event::new(Kind::ToolResult), None),
        ];
        for (given, event, expected) in cases {
            let written = rewrite(&parse_str(given).unwrap(), &event).map(|result| result.to_string());
            assert_eq!(written.as_deref(), expected, "{given}");
        }
    }
}

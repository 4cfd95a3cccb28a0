//! The answer of a tool, rewritten in the shape in which the client gave it.
//!
//! Claude Code takes a replaced answer of its own tools only if it has the shape of the original.

use lictor_event::Event;
use lictor_json::{Json, Object};

/// The answer with what an event has instead; none where the shape cannot be kept.
pub(crate) fn rewritten(answer: &Json, event: &Event) -> Option<Json> {
    let text = || event.text.clone().map(Json::String);
    let part = || {
        let mut part = Object::new();
        part.insert("type", "text");
        part.insert("text", text()?);
        Some(Json::Array(vec![part.into()]))
    };
    match answer {
        Json::String(_) => text(),
        Json::Array(_) if event.result.is_none() => part(),
        Json::Object(object) if event.text.is_some() && object.get("content").is_some() => {
            let mut object = object.clone();
            object.insert("content", part()?);
            if let Some(result) = &event.result {
                object.insert("structuredContent", result.clone());
            }
            Some(Json::Object(object))
        }
        _ => event.result.clone(),
    }
}

/// The answer with nothing in it but a reason: the first text is the reason, all others are empty. What says of which
/// sort something is stays, so that the shape does.
pub(crate) fn withheld(answer: &Json, reason: &str) -> Json {
    let mut answer = answer.clone();
    let mut reason = Some(reason);
    blank(&mut answer, &mut reason);
    match reason {
        // There was no place for it.
        Some(reason) => Json::from(reason),
        None => answer,
    }
}

fn blank(value: &mut Json, reason: &mut Option<&str>) {
    match value {
        Json::String(text) => *text = reason.take().unwrap_or_default().into(),
        Json::Array(items) => items.iter_mut().for_each(|item| blank(item, reason)),
        Json::Object(object) => {
            let members = std::mem::take(object).into_members().into_iter().map(|(key, mut value)| {
                if key != "type" {
                    blank(&mut value, reason);
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
    fn a_withheld_answer_keeps_its_shape_and_nothing_else() {
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
            assert_eq!(withheld(&parse_str(given).unwrap(), "no").to_string(), expected, "{given}");
        }
    }

    #[test]
    fn a_rewritten_answer_has_the_shape_of_the_one_that_was_given() {
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
            let written = rewritten(&parse_str(given).unwrap(), &event).map(|answer| answer.to_string());
            assert_eq!(written.as_deref(), expected, "{given}");
        }
    }
}

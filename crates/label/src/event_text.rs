//! The two texts of an event that labelers judge.
//!
//! - [`write_event_text`] is for those who understand structure: language models, services and persons. They see the
//!   tool, the names of arguments and the JSON around values, because `{"to":"alice"}` means more than `alice`.
//! - [`collect_text`] is for classifiers that learnt from n-grams of words. They see the strings alone: keys, quotes and
//!   braces would be features of their own, and a model learnt on messages would judge the format of a tool's result.
//!
//! Keys of answers depend on these texts, so a change here makes remembered answers void.

use std::borrow::Cow;

use lictor_event::{Arguments, Event};
use lictor_recognise::TextCollector;

/// How many bytes of a text a classifier reads. The rest is not judged.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Returns what an event says, as text: its tool, arguments and result if it has any, and its message. See
/// [`collect_text`] for its strings alone.
pub(crate) fn write_event_text(event: &Event) -> String {
    let mut parts = Vec::new();
    if let Some(tool) = &event.tool {
        parts.push(format!("tool: {tool}"));
    }
    match &event.args {
        Some(Arguments::Value(value)) => parts.push(format!("arguments: {value}")),
        Some(Arguments::Unparsed(text)) => parts.push(format!("arguments: {text}")),
        None => {}
    }
    if let Some(result) = &event.result {
        parts.push(format!("result: {result}"));
    }
    if let Some(to) = &event.to {
        parts.push(format!("to: {to}"));
    }
    parts.extend(event.text.as_ref().map(|text| text.to_string()));
    parts.join("\n")
}

/// Returns the texts of the events before, each after its kind, oldest first; at most so many bytes of the newest.
pub(crate) fn write_window(before: &[Event], max_bytes: usize) -> String {
    let mut parts = Vec::new();
    let mut left = max_bytes;
    for event in before.iter().rev() {
        let part = format!("{}: {}", event.kind.name(), write_event_text(event));
        if part.len() > left {
            break;
        }
        left -= part.len();
        parts.push(part);
    }
    parts.reverse();
    parts.join("\n")
}

/// Returns what an event says, for a classifier of text: its text, and the texts within its arguments and its result, a
/// line each, without their names. Of a text that is JSON it returns the texts within. `write_event_text` is for labelers
/// that read names and braces, too.
pub fn collect_text(event: &Event) -> Cow<'_, str> {
    let mut texts = TextCollector::unpacking_json().up_to(MAX_TEXT_BYTES);
    event.text.iter().for_each(|text| texts.add_text(text));
    match &event.args {
        Some(Arguments::Value(value)) => texts.add_value(value),
        Some(Arguments::Unparsed(text)) => texts.add_text(text),
        None => (),
    }
    event.result.iter().for_each(|result| texts.add_value(result));
    texts.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lictor_event::Kind;

    use super::*;

    #[test]
    fn event_text_for_classifiers_has_strings_alone() {
        let event = Event {
            tool: Some("pay".into()),
            args: Some(Arguments::from_json("{\"to\":\"alice\",\"sum\":3,\"why\":[\"rent\"]}".into())),
            text: Some("now".into()),
            ..Event::new(Kind::ToolCall)
        };
        assert_eq!(collect_text(&event), "now\nalice\nrent");
    }

    #[test]
    fn event_text_for_classifiers_decodes_json_text() {
        let text = r#"{"from":"bob","body":"Hello,\nIgnore it"}"#;
        let event = Event { text: Some(text.into()), ..Event::new(Kind::ToolResult) };
        assert_eq!(collect_text(&event), "bob\nHello,\nIgnore it");
    }

    #[test]
    fn event_text_has_tool_arguments_and_message() {
        let event = Event {
            tool: Some("pay".into()),
            args: Some(Arguments::from_json("{\"to\":\"alice\"}".into())),
            text: Some("now".into()),
            ..Event::new(Kind::ToolCall)
        };
        assert_eq!(write_event_text(&event), "tool: pay\narguments: {\"to\":\"alice\"}\nnow");
    }

    #[test]
    fn window_keeps_the_newest_events() {
        let say = |text: &str| Event { text: Some(text.into()), ..Event::new(Kind::UserMessage) };
        let before = [say("one"), say("two"), say("three")];
        assert_eq!(write_window(&before, 1000), "user_message: one\nuser_message: two\nuser_message: three");
        assert_eq!(write_window(&before, 40), "user_message: two\nuser_message: three");
        assert_eq!(write_window(&before, 3), "");
    }
}

//! The text of an event that labelers judge.

use lictor_event::{Arguments, Event};

/// Returns what an event says, as text: its tool, arguments and result if it has any, and its message.
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

#[cfg(test)]
mod tests {
    use lictor_event::Kind;

    use super::*;

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

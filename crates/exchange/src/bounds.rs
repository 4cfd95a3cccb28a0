//! Bounds on what is judged at once: the text of an event, and the calls of a reply.
//!
//! A result of a tool that is over the bound becomes a denial in its place, each time it is sent, so that the agent can
//! continue. Everything else over a bound is refused. In shadow mode it passes unjudged, and is counted.

use bytes::Bytes;
use lictor_event::{Arguments, DELIVERY, EXCHANGE, Event, Kind};
use lictor_json::{Json, Text};
use lictor_wire::{Ruling, WireRefusal};

use crate::exchange::{Life, Stop};
use crate::new_event::NewEvent;
use crate::ruling::can_be_withheld;

/// The code of a text in a request that is over the bound.
const REQUEST_TEXT: &str = "request.text_too_large";

/// How many bytes of text a number or a truth value counts as.
const SCALAR_BYTES: usize = 8;

/// Returns how many bytes of text an event holds: its message, and the keys and texts of its arguments, its result and its
/// other fields, but for the numbers of the exchange. Other scalars count as eight bytes. Media is no text: events have
/// only hashes of it.
pub fn count_text_bytes(event: &Event) -> usize {
    let mut bytes = event.text.as_ref().map_or(0, Text::len);
    let mut left: Vec<&Json> = event.result.iter().collect();
    for (key, value) in event.more.iter().filter(|(key, _)| !matches!(key.as_str(), DELIVERY | EXCHANGE)) {
        bytes += key.len();
        left.push(value);
    }
    match &event.args {
        Some(Arguments::Value(value)) => left.push(value),
        Some(Arguments::Unparsed(text)) => bytes += text.len(),
        None => {}
    }
    while let Some(value) = left.pop() {
        match value {
            Json::String(text) => bytes += text.len(),
            Json::Array(items) => left.extend(items),
            Json::Object(object) => {
                for (key, value) in object.iter() {
                    bytes += key.len();
                    left.push(value);
                }
            }
            _ => bytes += SCALAR_BYTES,
        }
    }
    bytes
}

impl Life {
    /// Takes out the new events of a request whose text is over the bound. Returns the places of those that are withheld,
    /// with their denials.
    pub(crate) async fn take_long_events(&self, new: &mut Vec<NewEvent>) -> Result<Vec<(usize, Ruling)>, Stop> {
        let most = self.options.text;
        let (mut withheld, mut refused) = (Vec::new(), None);
        new.retain(|new| {
            // An event of the request as a whole has no text of its own.
            let Some(place) = new.place else { return true };
            let bytes = count_text_bytes(&new.event);
            let mut is_over = false;
            self.count(|counts| is_over = counts.text.check(bytes, most));
            if !is_over {
                return true;
            }
            if self.options.shadow {
                self.count(|counts| counts.unchecked += 1);
            } else if can_be_withheld(&new.event.kind) {
                let text = format!(
                    "This result was left out: it is too long to be checked (limit {most} bytes). Ask for a smaller part of it."
                );
                withheld.push((place, Ruling::Deny { text }));
            } else {
                refused = refused.or(Some(bytes));
            }
            false
        });
        match refused {
            Some(bytes) => {
                let message = format!("a text of {bytes} bytes is over the limit of {most}; split it");
                Err(self.refuse_input(413, WireRefusal::new(REQUEST_TEXT, message), Bytes::new()).await?)
            }
            None => Ok(withheld),
        }
    }

    /// Records that the results of tools were withheld because of the bound.
    pub(crate) async fn record_withheld(&self, count: usize) -> Result<(), Stop> {
        for _ in 0..count {
            self.record_refusal(REQUEST_TEXT, Bytes::new()).await?;
        }
        Ok(())
    }

    /// Checks an event of a reply, the `calls`th call if it is one, and returns the refusal of the reply if it is over a
    /// bound.
    pub(crate) fn check_reply_event(&self, event: &Event, calls: usize) -> Option<WireRefusal> {
        let bytes = count_text_bytes(event);
        let (text, most) = (self.options.text, self.options.calls);
        let (mut is_text_over, mut are_calls_over) = (false, false);
        self.count(|counts| {
            is_text_over = counts.text.check(bytes, text);
            are_calls_over = event.kind == Kind::ToolCall && counts.calls.check(calls, most);
        });
        if is_text_over {
            let message = format!("a text of the reply has {bytes} bytes, which is over the limit of {text}");
            return Some(WireRefusal::new("reply.text_too_large", message));
        }
        are_calls_over.then(|| {
            let message = format!("the reply has more calls than the limit of {most}");
            WireRefusal::new("reply.too_many_calls", message)
        })
    }

    /// Checks the events of a whole reply like [`check_reply_event`](Life::check_reply_event).
    pub(crate) fn check_reply(&self, events: &[Event]) -> Option<WireRefusal> {
        let mut calls = 0;
        let check = |event: &Event| {
            calls += usize::from(event.kind == Kind::ToolCall);
            self.check_reply_event(event, calls)
        };
        events.iter().find_map(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_bytes_count_texts_at_every_depth() {
        let mut event = Event::new(Kind::ToolResult);
        assert_eq!(count_text_bytes(&event), 0);
        event.text = Some("four".into());
        event.result = Some(lictor_json::parse_str(r#"{"key": ["text", 7, {"k": null}]}"#).unwrap());
        event.args = Some(Arguments::Unparsed("12345".into()));
        event.more.insert("id", "xy");
        event.more.insert(DELIVERY, "123");
        assert_eq!(count_text_bytes(&event), 4 + (3 + 4 + 8 + 1 + 8) + 5 + (2 + 2));
    }
}

//! Calls in records that are refused as a whole, among Lictor's own events: their faults say so.
//!
//! The native format has its own reader, and its quick way is the hot path of an audit. So a record is looked at only if
//! that way did not read it.

use super::input::HELD_CALL;
use super::unread_calls::collect_calls;
use super::{DecodedEvents, Decoder, LogRecord};
use lictor_event::native::NativeDecoder;
use lictor_event::{Kind, Source};
use lictor_json::Json;

/// Decodes native events, and notes which refused records may hold a call.
#[derive(Default)]
pub(super) struct RefusedCallChecker {
    inner: NativeDecoder,
}

impl Decoder for RefusedCallChecker {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let (events, faults) = (out.events.len(), out.faults.len());
        let may_be_call = may_be_call(&record.value);
        self.inner.record(record, out);
        if may_be_call && out.events.len() == events {
            out.faults[faults..].iter_mut().for_each(|fault| fault.message.push_str(HELD_CALL));
        }
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        self.inner.text(text, source, out)
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.inner.finish(out);
    }
}

/// Whether a record may be a call: by its kind in any spelling, by its tool, by a bare fact, or by what it holds if it is
/// of another format.
fn may_be_call(record: &Json) -> bool {
    let is_fact = |facts: &Json| {
        let mut texts = facts.as_array().unwrap_or_default().iter().filter_map(Json::as_str);
        texts.any(|text| text.trim_start().starts_with(Kind::ToolCall.name()))
    };
    let kind = record.text("kind").unwrap_or_default();
    let kind: String = kind.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_native = match kind.as_str() {
        "toolcall" | "handoff" => true,
        "toolresult" | "tooldefinitions" => false,
        _ => record.text("tool").is_some() || is_fact(record) || record.get("facts").is_some_and(is_fact),
    };
    let mut holds_call = is_native;
    if !is_native {
        collect_calls(record, &mut |_, _| holds_call = true);
    }
    holds_call
}

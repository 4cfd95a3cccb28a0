//! What an event says, as a short print to compare it by.
//!
//! Two events with equal prints say the same, however they were written: arguments as a text or as a value, their keys
//! in any order. The hash is cryptographic because whoever wrote the log may not be a friend: two different messages
//! with one print would hide the second.

use sha2::{Digest, Sha256};

use crate::event::{Event, Kind, Payload};
use crate::json::Json;

/// The print of an event, a value, or a whole history.
pub type Print = [u8; 32];

/// The print of a history that begins with `before` and goes on with an event.
pub fn after(before: &Print, event: &Event) -> Print {
    let mut hash = Sha256::new();
    hash.update(before);
    text(&mut hash, event.kind.name());
    text(&mut hash, event.id.as_deref().unwrap_or_default());
    // Space around a text is often lost on the way back.
    text(&mut hash, event.text.as_deref().unwrap_or_default().trim());
    hash.update([u8::from(event.failed)]);
    // The tool of an answer is often known only from its call.
    if event.kind == Kind::ToolCall {
        text(&mut hash, event.tool.as_deref().unwrap_or_default());
    }
    match &event.args {
        None => hash.update([0]),
        Some(Payload::Value(arguments)) => {
            hash.update([1]);
            value(&mut hash, arguments);
        }
        Some(Payload::Unparsed(arguments)) => {
            hash.update([2]);
            text(&mut hash, arguments);
        }
    }
    value(&mut hash, event.result.as_ref().unwrap_or(&Json::Null));
    value(&mut hash, event.more.get("attachments").unwrap_or(&Json::Null));
    hash.finalize().into()
}

/// The print of a value.
pub fn of(json: &Json) -> Print {
    let mut hash = Sha256::new();
    value(&mut hash, json);
    hash.finalize().into()
}

/// A text with its length before it, so that no two sequences of texts read the same.
fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

fn value(hash: &mut Sha256, json: &Json) {
    match json {
        Json::Null => hash.update(b"n"),
        Json::Bool(truth) => hash.update([b'b', u8::from(*truth)]),
        Json::Number(number) => {
            hash.update(b"d");
            text(hash, &number.to_string());
        }
        Json::String(content) => {
            hash.update(b"s");
            text(hash, content);
        }
        Json::Array(items) => {
            hash.update(b"a");
            hash.update((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| value(hash, item));
        }
        Json::Object(object) => {
            hash.update(b"o");
            hash.update((object.len() as u64).to_le_bytes());
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, member) in members {
                text(hash, key);
                value(hash, member);
            }
        }
    }
}

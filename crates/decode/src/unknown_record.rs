//! Records of unknown shape: reported as faults, never dropped silently.

use super::{Fault, LogRecord};
use lictor_json::Json;

/// How many keys of a record a message lists.
const MAX_SHOWN_KEYS: usize = 8;

/// Returns the fault of a record of unknown type, with its type and keys.
pub(super) fn describe(record: &LogRecord, value: &Json) -> Fault {
    record.fault(
        "decode.unknown_record",
        format!(
            "unknown record type, {}: no event is made of it; if the file is in another format, name it with --input-format",
            describe_value(value)
        ),
    )
}

/// Returns the fault of a part of a message whose shape is unknown, given its type and keys.
pub(super) fn describe_part(record: &LogRecord, shape: &str) -> Fault {
    let message = format!("a part of a message is of an unknown shape, {shape}: it is not judged");
    record.fault("decode.unknown_part", message)
}

/// Describes a value of unknown shape in a few words: its type and keys, or its beginning.
pub(super) fn describe_value(value: &Json) -> String {
    match value {
        Json::Object(object) => {
            let named =
                ["type", "object", "method", "role"].iter().find_map(|key| Some((key, object.get(key)?.as_str()?)));
            let keys: Vec<&str> = object.iter().take(MAX_SHOWN_KEYS).map(|(key, _)| key.as_str()).collect();
            let more = if object.len() > MAX_SHOWN_KEYS { ", …" } else { "" };
            match named {
                Some((key, name)) => format!("with {key} `{name}` and keys `{}`{more}", keys.join("`, `")),
                None => format!("with keys `{}`{more}", keys.join("`, `")),
            }
        }
        Json::Array(items) => format!("a list of {}", items.len()),
        Json::String(text) => format!("the text `{}`", text.chars().take(40).collect::<String>()),
        other => format!("the value `{other}`"),
    }
}

//! Records of a shape that nobody knows: told, never dropped in silence.

use super::{Fault, LogRecord};
use lictor_json::Json;

/// How many keys of a record are named.
const KEYS: usize = 8;

/// A fault that says what was seen of a record that is no event.
pub(super) fn fault(record: &LogRecord, value: &Json) -> Fault {
    record.fault(
        "decode.unknown_record",
        format!(
            "a record of a kind that is not known, {}: it gives no event; if the file is of another format, name that one",
            seen(value)
        ),
    )
}

fn seen(value: &Json) -> String {
    match value {
        Json::Object(object) => {
            let named =
                ["type", "object", "method", "role"].iter().find_map(|key| Some((key, object.get(key)?.as_str()?)));
            let keys: Vec<&str> = object.iter().take(KEYS).map(|(key, _)| key.as_str()).collect();
            let more = if object.len() > KEYS { ", …" } else { "" };
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

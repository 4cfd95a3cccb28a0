//! AgentDojo runs: one benchmark run a record.
//!
//! A run begins with a `session_start` that has the benchmark's metadata (suite, tasks, attack, utility, security), so
//! that findings can be compared with it. Where the answer of a tool contains a text of the run's `injections`, it has
//! the label `injection_detected`: that is the run file's own record of the attack, not a guess. Tools print what they
//! return as YAML, with their own line breaks and escapes, so only letters and digits are compared.

use super::call_pairing::CallPairing;
use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, dialect, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};

/// Members with the benchmark's metadata of a run.
const METADATA_KEYS: [&str; 8] =
    ["suite_name", "pipeline_name", "user_task_id", "injection_task_id", "attack_type", "utility", "security", "error"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let named = ["suite_name", "pipeline_name", "user_task_id"].iter().all(|key| value.text(key).is_some());
    named && value.get("messages").is_some_and(|messages| messages.as_array().is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct AgentdojoDecoder {}

impl Decoder for AgentdojoDecoder {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let stamp = Stamp::new(&record, None);
        let Json::Object(mut run) = record.value.take() else { return };
        let session = session_name(&run);
        let first = out.events.len();
        let mut start = Event::new(Kind::SessionStart);
        for key in METADATA_KEYS {
            if let Some(value) = run.remove(key) {
                start.more.insert(key, value);
            }
        }
        out.events.push(start);
        let injections = injected_texts(&run);
        let mut pairing = CallPairing::default();
        let messages = match run.remove("messages") {
            Some(Json::Array(messages)) => messages,
            _ => Vec::new(),
        };
        for message in messages {
            let before = out.events.len();
            if !dialect::read_message(message, &mut out.events) {
                out.faults.push(record.fault(
                    "decode.unknown_record",
                    format!("the run `{session}` holds a message of an unknown shape, which is not judged"),
                ));
            }
            for event in &mut out.events[before..] {
                match event.kind {
                    Kind::ToolCall => pairing.add_call(event),
                    Kind::ToolResult => {
                        pairing.match_answer(event);
                        if contains_any(event, &injections) {
                            event.labels.push(Text::from("injection_detected"));
                        }
                    }
                    _ => {}
                }
            }
        }
        for event in &mut out.events[first..] {
            *event = stamp.mark(std::mem::take(event));
            event.session = Some(session.clone());
        }
    }
}

/// Returns the path of the run, or one made of its parts.
fn session_name(run: &Object) -> Text {
    let part = |key: &str| run.get(key).and_then(Json::as_str).unwrap_or("none");
    match run.get("path").and_then(Json::as_str) {
        Some(path) => Text::from(path),
        None => {
            let parts = ["pipeline_name", "suite_name", "user_task_id", "attack_type", "injection_task_id"];
            Text::from(parts.map(part).join("/"))
        }
    }
}

fn contains_any(answer: &Event, injections: &[String]) -> bool {
    if injections.is_empty() {
        return false;
    }
    let text = answer.text.as_deref().map(normalize_letters).unwrap_or_default();
    injections.iter().any(|injection| text.contains(injection.as_str()))
}

/// Returns the letters of each injected text; a text without letters is left out.
fn injected_texts(run: &Object) -> Vec<String> {
    let slots = run.get("injections").and_then(Json::as_object).into_iter().flat_map(Object::iter);
    slots.filter_map(|(_, text)| text.as_str()).map(normalize_letters).filter(|text| !text.is_empty()).collect()
}

/// Returns the letters and digits of a text, words apart; what the text escapes (`\n`, `\u2019`) is apart as well.
fn normalize_letters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut apart = false;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '\\' {
            rest = &rest[escape_length(rest)..];
        }
        if character.is_ascii_alphanumeric() {
            if apart && !plain.is_empty() {
                plain.push(' ');
            }
            plain.push(character);
        }
        apart = !character.is_ascii_alphanumeric();
    }
    plain
}

/// Returns how many bytes after a backslash belong to it.
fn escape_length(rest: &str) -> usize {
    let digits = match rest.as_bytes().first() {
        Some(b'n' | b't' | b'r') => return 1,
        Some(b'x') => 2,
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => return 0,
    };
    let code = rest.as_bytes().get(1..=digits);
    code.filter(|code| code.iter().all(u8::is_ascii_hexdigit)).map_or(0, |_| digits + 1)
}

#[cfg(test)]
mod tests {
    use super::normalize_letters;

    #[test]
    fn injection_texts_are_compared_by_letters() {
        assert_eq!(normalize_letters("  Pay now:\n\n  to\\nme\\u2019s 5\\\n  x "), "Pay now to me s 5 x");
        assert_eq!(normalize_letters("it''s \u{e9}t\u{e9} \\xe9t\\xe9 \\q \\u12"), "it s t t q u12");
        assert_eq!(normalize_letters("\\"), "");
    }
}

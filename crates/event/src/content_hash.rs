//! Hashes of the content of events, to compare events by.
//!
//! Two events with equal hashes have the same content, however they were written: arguments as a text or as a value,
//! their keys in any order. [`hash_call`] and [`hash_event`] tell numbers apart as exact decimals. [`extend_hash`] and
//! [`hash_json`] tell them apart as most readers of JSON do, since a client that sends a history again has read it.
//!
//! The hash is cryptographic because the log's writer may be an attacker: two different messages with one hash would hide
//! the second. It is BLAKE3, since every request of an agent sends its whole history again: the hashes must cost little
//! also on processors without instructions for SHA-256.

use blake3::Hasher;
use lictor_logic::Time;

use crate::{Arguments, Event, Kind};
use lictor_json::{Json, Object};

/// How many bytes of small pieces are hashed at once.
const MAX_BUFFERED_BYTES: usize = 4096;

/// How many bytes an event usually has besides its text.
const USUAL_BYTES: usize = 320;

/// The hash of an event, a value, or a whole history.
pub type ContentHash = [u8; 32];

/// Returns the hash of a history with one more event, given the hash of the history before it.
///
/// Only the content that a model sees counts: the kind, the id, the text, the arguments and the result. Use
/// [`hash_event`] where every field counts.
pub fn extend_hash(before: &ContentHash, event: &Event) -> ContentHash {
    let mut hash = HashInput::for_event(event);
    hash.update(before);
    add_text(&mut hash, event.kind.name());
    add_text(&mut hash, event.id.as_deref().unwrap_or_default());
    // Space around a text is often lost on the way back.
    add_text(&mut hash, event.text.as_deref().unwrap_or_default().trim());
    hash.update(&[u8::from(event.failed)]);
    // The tool of an answer is often known only from its call.
    if event.kind == Kind::ToolCall {
        add_text(&mut hash, event.tool.as_deref().unwrap_or_default());
    }
    add_arguments(&mut hash, event.args.as_ref());
    add_value(&mut hash, event.result.as_ref().unwrap_or(&Json::Null));
    add_value(&mut hash, event.more.get("attachments").unwrap_or(&Json::Null));
    hash.finish()
}

/// Returns the hash of a history with one more event, given the hashes of both.
pub fn join_hashes(before: &ContentHash, event: &ContentHash) -> ContentHash {
    let mut hash = HashInput::default();
    hash.update(before);
    hash.update(event);
    hash.finish()
}

/// Returns the hash of a call: its tool and all its arguments. Numbers count as exact decimals: `1` is `1.0`, and `0.1` is
/// not `0.10000000000000001`.
pub fn hash_call(event: &Event) -> ContentHash {
    let mut hash = HashInput { is_exact: true, ..HashInput::for_event(event) };
    add_text(&mut hash, event.tool.as_deref().unwrap_or_default());
    add_arguments(&mut hash, event.args.as_ref());
    hash.finish()
}

/// Returns the hash of arguments, where numbers count as exact decimals.
pub(crate) fn hash_arguments(args: Option<&Arguments>) -> ContentHash {
    let mut hash = HashInput { is_exact: true, ..HashInput::default() };
    add_arguments(&mut hash, args);
    hash.finish()
}

/// Returns the hash of all fields of an event except its source.
pub fn hash_event(event: &Event) -> ContentHash {
    hash_event_at(event, event.time)
}

/// Returns the hash that [`hash_event`] has for an event if it had happened at another time.
pub fn hash_event_at(event: &Event, time: Option<Time>) -> ContentHash {
    // Destructured so that a new field cannot be forgotten.
    let Event {
        kind,
        session,
        seq,
        time: _,
        agent,
        principal,
        id,
        tool,
        args,
        result,
        text: message,
        failed,
        to,
        purposes,
        categories,
        subjects,
        labels,
        answers,
        facts,
        more,
        source: _,
    } = event;
    let mut hash = HashInput { is_exact: true, ..HashInput::for_event(event) };
    add_text(&mut hash, kind.name());
    for field in [session, agent, principal, id, tool, message, to] {
        add_option(&mut hash, field.as_ref(), |hash, field| add_text(hash, field));
    }
    for number in [*seq, time.map(|time| time.0)] {
        add_option(&mut hash, number, |hash, number| {
            hash.update(&number.to_le_bytes());
        });
    }
    hash.update(&[u8::from(*failed)]);
    add_arguments(&mut hash, args.as_ref());
    add_option(&mut hash, result.as_ref(), add_value);
    for names in [purposes, categories, subjects] {
        add_option(&mut hash, names.as_ref(), |hash, names| add_texts(hash, names.iter().map(|name| name.as_str())));
    }
    hash.update(&(answers.len() as u64).to_le_bytes());
    answers.iter().for_each(|answer| add_value(&mut hash, &answer.to_json()));
    add_texts(&mut hash, labels.iter().map(|label| label.as_str()));
    hash.update(&(facts.len() as u64).to_le_bytes());
    facts.iter().for_each(|fact| add_text(&mut hash, &fact.to_string()));
    add_object(&mut hash, more);
    hash.finish()
}

/// Returns bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = vec![0; bytes.len() * 2];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    // Digits are ASCII, so this cannot fail.
    String::from_utf8(digits).unwrap_or_default()
}

/// Returns the hash of a value.
pub fn hash_json(json: &Json) -> ContentHash {
    let mut hash = HashInput::default();
    add_value(&mut hash, json);
    hash.finish()
}

/// The bytes that are hashed. An event is many small pieces, and each would cost more than its bytes: they are joined.
#[derive(Default)]
struct HashInput {
    /// The bytes that were not hashed yet.
    buffer: Vec<u8>,
    /// The state after the bytes before them, if there are any.
    hasher: Option<Box<Hasher>>,
    /// Whether numbers count as exact decimals.
    is_exact: bool,
}

impl HashInput {
    /// Returns an input with room for an event.
    fn for_event(event: &Event) -> HashInput {
        let text = event.text.as_ref().map_or(0, |text| text.len());
        let buffer = Vec::with_capacity((text + USUAL_BYTES).min(MAX_BUFFERED_BYTES));
        HashInput { buffer, ..HashInput::default() }
    }

    /// Adds bytes. Most pieces have a length that the compiler knows, and then cost few instructions.
    #[inline(always)]
    fn update(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > MAX_BUFFERED_BYTES {
            self.hash_now(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Hashes the buffer, and bytes that it has no room for.
    #[cold]
    fn hash_now(&mut self, bytes: &[u8]) {
        let hasher = self.hasher.get_or_insert_default();
        hasher.update(&self.buffer);
        hasher.update(bytes);
        self.buffer.clear();
    }

    fn finish(mut self) -> ContentHash {
        match &mut self.hasher {
            Some(hasher) => hasher.update(&self.buffer).finalize().into(),
            None => blake3::hash(&self.buffer).into(),
        }
    }
}

/// Adds a text after its length, so that no two sequences of texts hash alike.
fn add_text(hash: &mut HashInput, text: &str) {
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

fn add_value(hash: &mut HashInput, json: &Json) {
    match json {
        Json::Null => {
            hash.update(b"n");
        }
        Json::Bool(truth) => {
            hash.update(&[b'b', u8::from(*truth)]);
        }
        Json::Number(number) => {
            hash.update(b"d");
            match hash.is_exact {
                true => add_text(hash, &number.to_decimal()),
                false => add_text(hash, &number.to_nearest().to_string()),
            }
        }
        Json::String(content) => {
            hash.update(b"s");
            add_text(hash, content);
        }
        Json::Array(items) => {
            hash.update(b"a");
            hash.update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| add_value(hash, item));
        }
        Json::Object(members) => add_object(hash, members),
    }
}

fn add_object(hash: &mut HashInput, object: &Object) {
    hash.update(b"o");
    hash.update(&(object.len() as u64).to_le_bytes());
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    for (key, member) in members {
        add_text(hash, key);
        add_value(hash, member);
    }
}

fn add_arguments(hash: &mut HashInput, args: Option<&Arguments>) {
    match args {
        None => {
            hash.update(&[0]);
        }
        Some(Arguments::Value(arguments)) => {
            hash.update(&[1]);
            add_value(hash, arguments);
        }
        Some(Arguments::Unparsed(arguments)) => {
            hash.update(&[2]);
            add_text(hash, arguments);
        }
    }
}

/// Adds whether a field is present, and its content.
fn add_option<T>(hash: &mut HashInput, field: Option<T>, add: impl FnOnce(&mut HashInput, T)) {
    hash.update(&[u8::from(field.is_some())]);
    if let Some(field) = field {
        add(hash, field);
    }
}

fn add_texts<'a>(hash: &mut HashInput, names: impl ExactSizeIterator<Item = &'a str>) {
    hash.update(&(names.len() as u64).to_le_bytes());
    names.for_each(|name| add_text(hash, name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_input_joins_pieces_of_any_size() {
        for sizes in [&[0, 1, 8][..], &[4096], &[4095, 1, 1], &[10, 5000, 3, 4096, 7], &[1; 5000]] {
            let mut input = HashInput::default();
            let mut joined = Vec::new();
            for (number, size) in sizes.iter().enumerate() {
                let piece = vec![number as u8; *size];
                input.update(&piece);
                joined.extend(piece);
            }
            assert_eq!(input.finish(), ContentHash::from(blake3::hash(&joined)), "{} pieces", sizes.len());
        }
    }
}

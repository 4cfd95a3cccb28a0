//! What an event says, as a short print to compare it by.
//!
//! Two events with equal prints say the same, however they were written: arguments as a text or as a value, their keys
//! in any order. The hash is cryptographic because whoever wrote the log may not be a friend: two different messages
//! with one print would hide the second. It is BLAKE3, since every request of an agent sends its whole history again: to
//! take the prints anew must cost little also on processors without instructions for SHA-256.

use blake3::Hasher;

use crate::{Arguments, Event, Kind};
use lictor_json::{Json, Object};

/// The print of an event, a value, or a whole history.
pub type ContentHash = [u8; 32];

/// The print of a history that begins with `before` and goes on with an event.
pub fn after(before: &ContentHash, event: &Event) -> ContentHash {
    let mut hash = Hasher::new();
    hash.update(before);
    text(&mut hash, event.kind.name());
    text(&mut hash, event.id.as_deref().unwrap_or_default());
    // Space around a text is often lost on the way back.
    text(&mut hash, event.text.as_deref().unwrap_or_default().trim());
    hash.update(&[u8::from(event.failed)]);
    // The tool of an answer is often known only from its call.
    if event.kind == Kind::ToolCall {
        text(&mut hash, event.tool.as_deref().unwrap_or_default());
    }
    payload(&mut hash, event.args.as_ref());
    value(&mut hash, event.result.as_ref().unwrap_or(&Json::Null));
    value(&mut hash, event.more.get("attachments").unwrap_or(&Json::Null));
    hash.finalize().into()
}

/// The print of all that an event says, and of nothing about where it was read.
pub fn whole(event: &Event) -> ContentHash {
    // Taken apart so that no field is forgotten.
    let Event {
        kind,
        session,
        seq,
        time,
        agent,
        principal,
        id,
        tool,
        args,
        result,
        text: said,
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
    let mut hash = Hasher::new();
    text(&mut hash, kind.name());
    for field in [session, agent, principal, id, tool, said, to] {
        option(&mut hash, field.as_ref(), |hash, field| text(hash, field));
    }
    for number in [*seq, time.map(|time| time.0)] {
        option(&mut hash, number, |hash, number| {
            hash.update(&number.to_le_bytes());
        });
    }
    hash.update(&[u8::from(*failed)]);
    payload(&mut hash, args.as_ref());
    option(&mut hash, result.as_ref(), value);
    for names in [purposes, categories, subjects] {
        option(&mut hash, names.as_ref(), |hash, names| texts(hash, names.iter().map(|name| name.as_str())));
    }
    hash.update(&(answers.len() as u64).to_le_bytes());
    answers.iter().for_each(|answer| value(&mut hash, &answer.to_json()));
    texts(&mut hash, labels.iter().map(|label| label.as_str()));
    hash.update(&(facts.len() as u64).to_le_bytes());
    facts.iter().for_each(|fact| text(&mut hash, &fact.to_string()));
    object(&mut hash, more);
    hash.finalize().into()
}

/// The print of a value.
pub fn of(json: &Json) -> ContentHash {
    let mut hash = Hasher::new();
    value(&mut hash, json);
    hash.finalize().into()
}

/// A text with its length before it, so that no two sequences of texts read the same.
fn text(hash: &mut Hasher, text: &str) {
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

fn value(hash: &mut Hasher, json: &Json) {
    match json {
        Json::Null => {
            hash.update(b"n");
        }
        Json::Bool(truth) => {
            hash.update(&[b'b', u8::from(*truth)]);
        }
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
            hash.update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| value(hash, item));
        }
        Json::Object(members) => object(hash, members),
    }
}

fn object(hash: &mut Hasher, object: &Object) {
    hash.update(b"o");
    hash.update(&(object.len() as u64).to_le_bytes());
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    for (key, member) in members {
        text(hash, key);
        value(hash, member);
    }
}

fn payload(hash: &mut Hasher, args: Option<&Arguments>) {
    match args {
        None => {
            hash.update(&[0]);
        }
        Some(Arguments::Value(arguments)) => {
            hash.update(&[1]);
            value(hash, arguments);
        }
        Some(Arguments::Unparsed(arguments)) => {
            hash.update(&[2]);
            text(hash, arguments);
        }
    }
}

/// Whether there is something, and what it is.
fn option<T>(hash: &mut Hasher, field: Option<T>, print: impl FnOnce(&mut Hasher, T)) {
    hash.update(&[u8::from(field.is_some())]);
    if let Some(field) = field {
        print(hash, field);
    }
}

fn texts<'a>(hash: &mut Hasher, names: impl ExactSizeIterator<Item = &'a str>) {
    hash.update(&(names.len() as u64).to_le_bytes());
    names.for_each(|name| text(hash, name));
}

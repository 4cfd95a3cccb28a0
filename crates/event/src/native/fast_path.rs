//! The fast path for well-formed lines: read straight into their event.
//!
//! Nearly all lines are well formed. Any other line, even with just a `null` or an escape in a key, goes to the full
//! decoder, which reports the mistake or returns the same event.

use crate::{Arguments, Event, Kind, parse_time};
use lictor_json::{Json, MemberReader, Object};

/// Returns the session of a line; none if a list, an object or an escape comes before it.
pub(super) fn read_session(text: &str) -> Option<&str> {
    let mut line = MemberReader::open(text)?;
    loop {
        if line.read_key()? == "session" {
            return line.read_plain_text();
        }
        line.skip_value()?;
        if !line.has_next()? {
            return None;
        }
    }
}

/// How many members without a field the fast path reads.
const MAX_OTHER_MEMBERS: usize = 32;

/// Reads a line into an empty event. On `None` the line needs the full decoder, and the event must not be used.
pub(super) fn read_event(text: &str, event: &mut Event) -> Option<()> {
    let mut line = MemberReader::open(text)?;
    let mut seen: u32 = 0;
    let (mut has_kind, mut result) = (false, None);
    let mut more: Vec<_> = Vec::new();
    loop {
        let key = line.read_key()?;
        let field: u32 = match key {
            "v" => {
                (line.read_integer()? == super::LINE_VERSION).then_some(())?;
                1 << 0
            }
            "kind" => {
                event.kind = Kind::named(line.read_plain_text()?);
                has_kind = true;
                1 << 1
            }
            "session" => {
                event.session = Some(line.read_text()?);
                1 << 2
            }
            "seq" => {
                event.seq = Some(line.read_integer()?);
                1 << 3
            }
            "time" => {
                event.time = Some(parse_time(line.read_plain_text()?)?);
                1 << 4
            }
            "agent" => {
                event.agent = Some(line.read_text()?);
                1 << 5
            }
            "id" => {
                event.id = Some(line.read_text()?);
                1 << 6
            }
            "tool" => {
                event.tool = Some(line.read_text()?);
                1 << 7
            }
            "text" => {
                event.text = Some(line.read_text()?);
                1 << 8
            }
            "to" => {
                event.to = Some(line.read_text()?);
                1 << 9
            }
            "purposes" => {
                event.purposes = Some(line.read_texts()?);
                1 << 10
            }
            "categories" => {
                event.categories = Some(line.read_texts()?);
                1 << 11
            }
            "subjects" => {
                event.subjects = Some(line.read_texts()?);
                1 << 12
            }
            "labels" => {
                event.labels = line.read_texts()?;
                1 << 13
            }
            "args" => {
                let args = line.read_value().filter(|args| matches!(args, Json::Object(_)))?;
                event.args = Some(Arguments::Value(args));
                1 << 14
            }
            "failed" => {
                event.failed = line.read_bool()?;
                1 << 15
            }
            "result" => {
                result = Some(line.read_value().filter(|result| !result.is_null())?);
                1 << 16
            }
            "principal" => {
                event.principal = Some(line.read_text()?);
                1 << 17
            }
            "facts" | "answers" => return None,
            _ if more.len() == MAX_OTHER_MEMBERS => return None,
            _ => {
                more.push((key.into(), line.read_value()?));
                0
            }
        };
        // A duplicate key.
        if seen & field != 0 {
            return None;
        }
        seen |= field;
        if !line.has_next()? {
            break;
        }
    }
    if !more.is_empty() {
        let is_twice = |(place, (key, _)): (usize, &(_, Json))| more[..place].iter().any(|(other, _)| other == key);
        if more.iter().enumerate().any(is_twice) {
            return None;
        }
        event.more = Object::from_members(more);
    }
    match (result, &event.text) {
        (Some(Json::String(text)), None) => event.text = Some(text),
        (result, _) => event.result = result,
    }
    let is_nameless = event.kind == Kind::ToolCall && event.tool.is_none();
    let is_plain = match &event.kind {
        Kind::Other(name) if name.as_str() != "erasure_done" => super::find_misspelling(name).is_none(),
        _ => super::declaration::find_mistake(event).is_none(),
    };
    (has_kind && !is_nameless && is_plain).then_some(())
}

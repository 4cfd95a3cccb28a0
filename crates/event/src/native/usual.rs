//! Lines that are as they should be, read straight into their event.
//!
//! Nearly all are. Any other, were it only for a `null` or an escape in a key, is left to the careful way, which says
//! what is wrong or comes to the same event.

use crate::{Arguments, Event, Kind, parse_time};
use lictor_json::{Json, MemberReader, Object};

/// The session of a line; none if it stands behind something that is not skipped in a moment.
pub(super) fn session(text: &str) -> Option<&str> {
    let mut line = MemberReader::object(text)?;
    loop {
        if line.key()? == "session" {
            return line.plain();
        }
        line.skip()?;
        if !line.goes_on()? {
            return None;
        }
    }
}

/// A line with more members that have no field is unusual.
const MOST_OTHERS: usize = 32;

/// Reads a line into an empty event; none if something about it is unusual, and then the event is not to be used.
pub(super) fn read(text: &str, event: &mut Event) -> Option<()> {
    let mut line = MemberReader::object(text)?;
    let mut seen: u32 = 0;
    let (mut has_kind, mut result) = (false, None);
    let mut more: Vec<_> = Vec::new();
    loop {
        let key = line.key()?;
        let field: u32 = match key {
            "v" => {
                (line.integer()? == super::VERSION).then_some(())?;
                1 << 0
            }
            "kind" => {
                event.kind = Kind::named(line.plain()?);
                has_kind = true;
                1 << 1
            }
            "session" => {
                event.session = Some(line.text()?);
                1 << 2
            }
            "seq" => {
                event.seq = Some(line.integer()?);
                1 << 3
            }
            "time" => {
                event.time = Some(parse_time(line.plain()?)?);
                1 << 4
            }
            "agent" => {
                event.agent = Some(line.text()?);
                1 << 5
            }
            "id" => {
                event.id = Some(line.text()?);
                1 << 6
            }
            "tool" => {
                event.tool = Some(line.text()?);
                1 << 7
            }
            "text" => {
                event.text = Some(line.text()?);
                1 << 8
            }
            "to" => {
                event.to = Some(line.text()?);
                1 << 9
            }
            "purposes" => {
                event.purposes = Some(line.texts()?);
                1 << 10
            }
            "categories" => {
                event.categories = Some(line.texts()?);
                1 << 11
            }
            "subjects" => {
                event.subjects = Some(line.texts()?);
                1 << 12
            }
            "labels" => {
                event.labels = line.texts()?;
                1 << 13
            }
            "args" => {
                let args = line.value().filter(|args| matches!(args, Json::Object(_)))?;
                event.args = Some(Arguments::Value(args));
                1 << 14
            }
            "failed" => {
                event.failed = line.truth()?;
                1 << 15
            }
            "result" => {
                result = Some(line.value().filter(|result| !result.is_null())?);
                1 << 16
            }
            "principal" => {
                event.principal = Some(line.text()?);
                1 << 17
            }
            "facts" | "answers" => return None,
            _ if more.len() == MOST_OTHERS => return None,
            _ => {
                more.push((key.into(), line.value()?));
                0
            }
        };
        // A key that stands twice.
        if seen & field != 0 {
            return None;
        }
        seen |= field;
        if !line.goes_on()? {
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
        Kind::Other(name) => super::misspelt(name).is_none(),
        Kind::Approval | Kind::Denial => event.more.get("granted").is_none(),
        _ => true,
    };
    (has_kind && !is_nameless && is_plain).then_some(())
}

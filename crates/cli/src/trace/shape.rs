//! Parses a line of a trace.
//!
//! Values are borrowed from the line, so that every error has an exact place and no number is rounded.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use lictor_logic::{Atom, Fact, Facts, Moment, ParseErrors};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::clock::Clock;
use crate::complaint::TextFault;

/// The accepted shapes, for messages.
pub(crate) const SHAPES: &str = "\
a line is one of
    {\"facts\":[\"tool_call\",\"consent(\\\"alice\\\",3)\"]}     the facts that hold at a step
    {\"time\":\"2026-05-01T10:00:03Z\",\"facts\":[…]}        with a time, or seconds: {\"time\":12.5,…}
    {\"facts\":[…],\"unknown\":[\"verified\"]}               and facts that are unknown
    [\"tool_call\"]                                      the facts alone
    {\"tick\":\"2026-05-01T10:05:00Z\"}                    nothing happens, time passes";

const SHORT_HINT: &str = "a step is `{\"facts\":[\"a\",\"b\"]}` or `[\"a\",\"b\"]`; `{\"tick\":12.5}` lets time pass";
const ONE_VALUE_PER_LINE_HINT: &str = "each line must be one JSON value; `jq -c .` writes JSON that way";

/// Parses a line that is not blank, or returns all of its errors.
pub(super) fn read(line: &str, clock: &mut Clock) -> Result<Moment, Vec<TextFault>> {
    let reader = LineParser { line };
    match line.trim_start().chars().next() {
        Some('[') => {
            let list = parse::<Vec<&RawValue>>(line, 0).map_err(|fault| vec![fault])?;
            let mut faults = Vec::new();
            let known = reader.facts(&list, &mut faults);
            if faults.is_empty() { Ok(Moment::Position(Facts { known, ..Facts::default() })) } else { Err(faults) }
        }
        Some('{') => {
            let Fields(fields) = parse(line, 0).map_err(|fault| vec![fault])?;
            reader.object(&fields, clock)
        }
        other => {
            let start = line.len() - line.trim_start().len();
            let found = other.map_or(String::new(), |c| format!(", found `{}`", display_character(c)));
            Err(vec![TextFault::new(start..start + 1, format!("expected `{{` or `[`{found}"), SHORT_HINT)])
        }
    }
}

/// Formats a character for a message.
fn display_character(character: char) -> String {
    if character.is_control() { character.escape_debug().to_string() } else { character.to_string() }
}

struct LineParser<'a> {
    line: &'a str,
}

impl<'a> LineParser<'a> {
    fn object(&self, fields: &[(&'a RawValue, &'a RawValue)], clock: &mut Clock) -> Result<Moment, Vec<TextFault>> {
        let mut faults = Vec::new();
        let mut names: HashSet<Cow<'_, str>> = HashSet::new();
        let (mut time, mut tick, mut known, mut unknown) = (None, None, None, None);
        for (key, value) in fields {
            let Some(name) = self.text(key, &mut faults) else { continue };
            let is_null = value.get() == "null";
            match &*name {
                "time" if !is_null => time = self.time(value, clock, &mut faults),
                "tick" => tick = Some((self.span(key), self.time(value, clock, &mut faults))),
                "facts" => known = Some(self.list(value, "facts", &mut faults, Self::facts)),
                "unknown" if !is_null => unknown = Some(self.list(value, "unknown", &mut faults, Self::atoms)),
                _ => {}
            }
            if names.contains(&name) {
                let message = format!("duplicate key `{}` in the object", name.escape_debug());
                faults.push(TextFault::new(self.span(key), message, "remove one of the two"));
            }
            names.insert(name);
        }
        if let Some((span, _)) = &tick
            && ["facts", "unknown", "time"].iter().any(|name| names.contains(*name))
        {
            let hint = "write the tick on its own line, before the step";
            faults.push(TextFault::new(span.clone(), "a line is a step or a tick, not both", hint));
        }
        if tick.is_none() && known.is_none() && unknown.is_none() {
            let start = self.line.len() - self.line.trim_start().len();
            faults.push(TextFault::new(start..self.line.trim_end().len(), "the object has no `facts`", SHORT_HINT));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(match tick {
            Some((_, Some(now))) => Moment::Tick(now),
            _ => {
                Moment::Position(Facts { time, known: known.unwrap_or_default(), unknown: unknown.unwrap_or_default() })
            }
        })
    }

    fn time(&self, value: &RawValue, clock: &mut Clock, faults: &mut Vec<TextFault>) -> Option<lictor_logic::Time> {
        let text = if value.get().starts_with('"') { Some(self.text(value, faults)?) } else { None };
        match clock.read(value.get(), text.as_deref()) {
            Ok(time) => Some(time),
            Err(fault) => {
                faults.push(TextFault { span: self.span(value), ..fault });
                None
            }
        }
    }

    /// Parses the items of a list with `read`.
    fn list<T>(
        &self,
        value: &'a RawValue,
        name: &str,
        faults: &mut Vec<TextFault>,
        read: fn(&Self, &[&'a RawValue], &mut Vec<TextFault>) -> Vec<T>,
    ) -> Vec<T> {
        if !value.get().starts_with('[') {
            let hint = match value.get().starts_with('"') {
                true => format!("write `\"{name}\":[{}]`", value.get()),
                false => format!("write `\"{name}\":[\"tool_call\"]`, or `\"{name}\":[]` if there are none"),
            };
            faults.push(TextFault::new(self.span(value), format!("`{name}` is not a list"), hint));
            return Vec::new();
        }
        match parse::<Vec<&'a RawValue>>(value.get(), self.span(value).start) {
            Ok(items) => read(self, &items, faults),
            Err(fault) => {
                faults.push(fault);
                Vec::new()
            }
        }
    }

    fn facts(&self, items: &[&'a RawValue], faults: &mut Vec<TextFault>) -> Vec<Fact> {
        items.iter().filter_map(|item| self.notation(item, faults, Fact::parse)).collect()
    }

    fn atoms(&self, items: &[&'a RawValue], faults: &mut Vec<TextFault>) -> Vec<Atom> {
        items.iter().filter_map(|item| self.notation(item, faults, Atom::parse)).collect()
    }

    /// Parses a string in the notation of facts.
    fn notation<T>(
        &self,
        item: &'a RawValue,
        faults: &mut Vec<TextFault>,
        parse: fn(&str) -> Result<T, ParseErrors>,
    ) -> Option<T> {
        if !item.get().starts_with('"') {
            let hint = match item.get().starts_with('{') {
                true => "a list holds the facts of one step; put each step on its own line",
                false => "a fact is a string: `\"tool_call\"`, or with values `\"consent(\\\"alice\\\",3)\"`",
            };
            faults.push(TextFault::new(self.span(item), "a fact is a string", hint));
            return None;
        }
        let text = self.text(item, faults)?;
        let errors = match parse(&text) {
            Ok(parsed) => return Some(parsed),
            Err(errors) => errors,
        };
        let start = self.span(item).start;
        for error in &errors {
            let place = |decoded: usize| start + encoded_offset(item.get(), decoded);
            let span = place(error.span().start)..place(error.span().end);
            faults.push(TextFault::new(span, error.message(), error.hint()));
        }
        None
    }

    /// Decodes a JSON string.
    fn text(&self, value: &'a RawValue, faults: &mut Vec<TextFault>) -> Option<Cow<'a, str>> {
        match parse::<DecodedString<'a>>(value.get(), self.span(value).start) {
            Ok(DecodedString(text)) => Some(text),
            Err(fault) => {
                faults.push(fault);
                None
            }
        }
    }

    /// Returns the place of a value in the line.
    fn span(&self, value: &RawValue) -> Range<usize> {
        // The value is a part of the line, borrowed and not copied.
        let start = (value.get().as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize);
        start..start + value.get().len()
    }
}

/// Parses JSON that begins at a place of a line.
fn parse<'a, T: Deserialize<'a>>(text: &'a str, start: usize) -> Result<T, TextFault> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message).to_owned();
        if error.is_eof() {
            let end = start + text.len();
            return TextFault::new(end..end, format!("the line is incomplete: {message}"), ONE_VALUE_PER_LINE_HINT);
        }
        let mut place = error.column().saturating_sub(1).min(text.len());
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        let hint = if message.starts_with("trailing characters") {
            ONE_VALUE_PER_LINE_HINT
        } else {
            "a line is one JSON value"
        };
        TextFault::new(start + place..start + place, format!("not JSON: {message}"), hint)
    })
}

/// Returns the offset in an encoded JSON string for an offset in the decoded one.
fn encoded_offset(raw: &str, decoded: usize) -> usize {
    let bytes = raw.as_bytes();
    let (mut at, mut passed) = (1, 0);
    while passed < decoded && at + 1 < raw.len() {
        let (written, meant) = match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'u')) => {
                let code = |at: usize| raw.get(at + 2..at + 6).and_then(|code| u32::from_str_radix(code, 16).ok());
                let first = code(at).unwrap_or(0);
                // A surrogate pair: two escapes for one character.
                match first {
                    0xd800..=0xdbff => (12, 4),
                    _ => (6, char::from_u32(first).map_or(1, char::len_utf8)),
                }
            }
            (Some(b'\\'), _) => (2, 1),
            _ => (1, 1),
        };
        at += written;
        passed += meant;
    }
    at
}

/// The fields of an object in order, with keys and values as written.
struct Fields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct DecodedString<'a>(#[serde(borrow)] Cow<'a, str>);

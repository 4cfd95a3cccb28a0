//! Lictor's own events, one a line, and bare facts.
//!
//! ```json
//! {"v":1,"session":"s1","seq":4,"time":"2026-05-01T10:00:03Z","kind":"tool_call","tool":"lookup","args":{"id":7}}
//! {"kind":"consent","purposes":["marketing"],"subjects":"alice","granted":false}
//! {"facts":["tool_call","paid(\"alice\",3)"]}
//! ["tool_call"]
//! ```
//!
//! Only `kind` or `facts` is required, and `null` is the same as absent. Members without a field are kept in
//! [`more`](Event::more): so the `granted` of a consent, whose `false` is a refusal or a withdrawal.
//!
//! A time is written as RFC 3339, or as a number since 1970. A number below 1e11 counts seconds, which lasts until the
//! year 5138, one from there to 1e14 milliseconds, to 1e17 microseconds, and from there nanoseconds. An event without
//! `time` has that of another usual member, such as `timestamp`, which also stays in [`more`](Event::more).

mod declaration;
mod fast_path;
mod fields;
mod misnamed;

use std::collections::HashMap;
use std::mem;

use lictor_logic::Fact;

use self::fields::{Field, FieldError};
use self::misnamed::{find_misnamed, find_misspelling};
use crate::record::{DecodedEvents, Decoder, Fault, LogNotes, LogRecord};
use crate::{Answer, AnswerValue, Event, Kind, Source, find_time, find_unread_time};
use lictor_json::{Json, Object, Text};

/// The version of the line.
const LINE_VERSION: i64 = 1;

/// How many parsed facts a decoder remembers by their spelling.
const MAX_REMEMBERED_FACTS: usize = 4096;

/// Members by which a line with a kind of its writer's own is known. Other formats have a `kind` too.
const OWN_MEMBERS: [&str; 11] =
    ["v", "session", "seq", "time", "agent", "principal", "facts", "labels", "purposes", "categories", "subjects"];

/// Whether a record is of this format: it has a kind that this format knows, or a kind and a member of this format, or
/// nothing but a kind.
pub fn recognises(value: &Json) -> bool {
    match value {
        Json::Object(object) => {
            let is_kind = |kind: &str| {
                Kind::names().any(|known| known == kind)
                    || object.len() == 1
                    || OWN_MEMBERS.iter().any(|key| object.get(key).is_some())
            };
            object.get("kind").and_then(Json::as_str).is_some_and(is_kind)
                || object.get("facts").is_some_and(|facts| facts.as_array().is_some())
        }
        Json::Array(facts) => facts.iter().all(|fact| fact.as_str().is_some()),
        _ => false,
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub struct NativeDecoder {
    /// Facts that were parsed before, since a log repeats the same ones.
    facts: HashMap<Text, Fact>,
    /// Whether Lictor wrote the records itself, so that events of other formats are accepted as they are.
    is_trusted: bool,
    notes: LogNotes,
}

impl NativeDecoder {
    /// Returns a decoder of records that Lictor wrote itself.
    pub fn trusted() -> NativeDecoder {
        NativeDecoder { is_trusted: true, ..NativeDecoder::default() }
    }

    /// Returns the notes that it takes of the log.
    pub fn notes(&mut self) -> &mut LogNotes {
        &mut self.notes
    }

    fn note_event(&mut self, event: Option<&Event>) {
        if let Some(event) = event.filter(|_| !self.is_trusted) {
            self.notes.note_event(event);
        }
    }
}

impl Decoder for NativeDecoder {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let mut event = Event { source: record.source(), ..Event::default() };
        let mut errors = Vec::new();
        match mem::take(&mut record.value) {
            Json::Object(object) => self.read_object(object, &mut event, &mut errors),
            list @ Json::Array(_) => self.read_facts(list, "a list", &mut event, &mut errors),
            _ => errors.push(FieldError {
                code: "native.record",
                message: "expected an object or a list of facts".to_owned(),
            }),
        }
        if errors.is_empty() {
            if !self.is_trusted {
                set_time(&mut event);
                // The event still counts, in the order of the log.
                let unread = find_unread_time(&event.more).filter(|_| event.time.is_none());
                out.faults.extend(unread.map(|(key, text)| record.unread_time_fault(key, text)));
            }
            self.note_event(Some(&event));
            out.events.push(event);
        } else {
            out.faults.extend(errors.into_iter().map(|error| record.fault(error.code, error.message)));
        }
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        // Filled in place, because an event is large to move.
        out.events.push(Event { source: source.clone(), ..Event::default() });
        let is_trusted = self.is_trusted;
        let read = |event: &mut Event| {
            fast_path::read_event(text, event)?;
            if !is_trusted {
                set_time(event);
            }
            let is_odd =
                find_misnamed(event).is_some() || (event.time.is_none() && find_unread_time(&event.more).is_some());
            (is_trusted || !is_odd).then_some(())
        };
        let is_read = out.events.last_mut().and_then(read).is_some();
        match is_read {
            true => self.note_event(out.events.last()),
            false => drop(out.events.pop()),
        }
        is_read
    }

    fn take_notes(&mut self) -> Option<LogNotes> {
        Some(mem::take(&mut self.notes))
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        out.faults.append(&mut mem::take(&mut self.notes).into_faults());
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        fast_path::read_session(text)
    }
}

/// Sets the time of an event that names it by another usual member than `time`.
fn set_time(event: &mut Event) {
    if event.time.is_none() && !event.more.is_empty() {
        event.time = find_time(&event.more);
    }
}

/// Whether a member called `answers` is meant to hold answers of labelers, well-formed or not: one of its entries has a
/// member of an answer, or it says yes or no of names. Logs have members of that name with other things in them, which
/// are kept as they are.
fn is_answers(value: &Json) -> bool {
    let is_one = |value: &Json| value.get("fact").is_some() || value.get("says").is_some();
    match value {
        Json::Array(list) => list.iter().any(is_one),
        Json::Object(object) => {
            let says = |value: &Json| value.as_str().is_some_and(|text| AnswerValue::from_name(text).is_some());
            is_one(value) || (!object.is_empty() && object.iter().all(|(_, value)| says(value) || is_one(value)))
        }
        _ => false,
    }
}

fn read_answers(answers: &Json, event: &mut Event, errors: &mut Vec<FieldError>) {
    let Some(answers) = answers.as_array() else {
        let message =
            "`answers` must be a list such as [{\"fact\":\"threatens\",\"says\":\"no\"}], found an object".to_owned();
        return errors.push(FieldError { code: "native.field", message });
    };
    for (place, answer) in answers.iter().enumerate() {
        match Answer::from_json(answer) {
            Ok(answer) => event.answers.push(answer),
            Err(reason) => {
                errors.push(FieldError { code: "native.field", message: format!("`answers.{place}`: {reason}") });
            }
        }
    }
}

impl NativeDecoder {
    /// Moves the members of a line into the event; those without a field go to `more`.
    fn read_object(&mut self, object: Object, event: &mut Event, errors: &mut Vec<FieldError>) {
        let (mut kind, mut facts, mut result) = (None, false, None);
        let mut more = Vec::new();
        for (key, mut value) in object.into_members() {
            let (key, value) = (&key, &mut value);
            let has_answers = key == "answers" && is_answers(value);
            let field = Field { name: key, value };
            let read = match key.as_str() {
                "v" => field.check_version(LINE_VERSION),
                "kind" => field.read_text(&mut kind),
                "session" => field.read_text(&mut event.session),
                "seq" => field.read_integer(&mut event.seq),
                "time" => field.read_time(&mut event.time),
                "agent" => field.read_text(&mut event.agent),
                "principal" => field.read_text(&mut event.principal),
                "id" => field.read_text(&mut event.id),
                "tool" => field.read_text(&mut event.tool),
                "text" => field.read_text(&mut event.text),
                "to" => field.read_text(&mut event.to),
                "failed" => field.read_bool(&mut event.failed),
                "purposes" => field.read_texts(&mut event.purposes),
                "categories" => field.read_texts(&mut event.categories),
                "subjects" => field.read_texts(&mut event.subjects),
                "labels" => {
                    let mut labels = None;
                    let read = field.read_texts(&mut labels);
                    event.labels = labels.unwrap_or_default();
                    read
                }
                "answers" if has_answers => {
                    read_answers(field.value, event, errors);
                    Ok(())
                }
                "args" => field.read_arguments(&mut event.args),
                "result" => {
                    result = Some(value.take()).filter(|result| !result.is_null());
                    Ok(())
                }
                "facts" => {
                    facts = !value.is_null();
                    if facts {
                        self.read_facts(value.take(), "`facts`", event, errors);
                    }
                    Ok(())
                }
                _ => {
                    more.push((key.clone(), value.take()));
                    Ok(())
                }
            };
            errors.extend(read.err());
        }
        if !more.is_empty() {
            event.more = Object::from_members(more);
        }
        match (result, &event.text) {
            (Some(Json::String(text)), None) => event.text = Some(text),
            (result, _) => event.result = result,
        }
        match kind {
            Some(kind) => {
                event.kind = Kind::named(&kind);
                let misspelt = find_misspelling(&kind).filter(|_| !self.is_trusted);
                errors.extend(misspelt.map(|message| FieldError { code: "native.kind", message }));
            }
            None if facts || !errors.is_empty() => {}
            None => {
                let message = "an event needs a `kind`, such as \"tool_call\", or `facts`".to_owned();
                errors.push(FieldError { code: "native.kind", message });
            }
        }
        let mistake = declaration::find_mistake(event).filter(|_| !self.is_trusted);
        errors.extend(mistake.map(|(code, message)| FieldError { code, message }));
        let misnamed = find_misnamed(event).filter(|_| !self.is_trusted);
        errors.extend(misnamed.map(|message| FieldError { code: "native.member", message }));
        // No property about a tool could ever match it.
        if event.kind == Kind::ToolCall && event.tool.is_none() && !facts && !self.is_trusted {
            let message = "a `tool_call` needs the name of its `tool`".to_owned();
            errors.push(FieldError { code: "native.tool", message });
        }
    }

    fn read_facts(&mut self, facts: Json, place: &str, event: &mut Event, errors: &mut Vec<FieldError>) {
        let expected = |found: &Json| {
            let message =
                format!("{place} must be a list of facts as strings, found {}", fields::describe_value(found));
            FieldError { code: "native.field", message }
        };
        let Json::Array(facts) = facts else { return errors.push(expected(&facts)) };
        event.facts.reserve_exact(facts.len());
        for fact in facts {
            match fact {
                Json::String(text) => match self.parse_fact(text) {
                    Ok(fact) => event.facts.push(fact),
                    Err(message) => errors.push(FieldError { code: "native.fact", message }),
                },
                other => errors.push(expected(&other)),
            }
        }
    }

    fn parse_fact(&mut self, text: Text) -> Result<Fact, String> {
        if let Some(fact) = self.facts.get(&text) {
            return Ok(fact.clone());
        }
        let fact = Fact::parse(&text).map_err(|errors| {
            let reasons: Vec<_> = errors.iter().map(|error| error.message()).collect();
            format!(
                "{:?} is not a fact: {}; write a name with values, such as `paid(\"alice\",3)`",
                text,
                reasons.join("; ")
            )
        })?;
        if self.facts.len() < MAX_REMEMBERED_FACTS {
            self.facts.insert(text, fact.clone());
        }
        Ok(fact)
    }
}

impl LogRecord {
    /// Returns the event of a record in Lictor's own format, or its first fault.
    pub fn native_event(self) -> Result<Event, Fault> {
        self.decode_single(&mut NativeDecoder::default())
    }

    /// Returns the event of a record that Lictor wrote itself, or its first fault.
    ///
    /// Unlike [`native_event`](LogRecord::native_event) it accepts events of other formats, which may lack what a
    /// native line must have.
    pub fn stored_event(self) -> Result<Event, Fault> {
        self.decode_single(&mut NativeDecoder::trusted())
    }

    fn decode_single(self, decoder: &mut dyn Decoder) -> Result<Event, Fault> {
        let missing = self.fault("native.record", "the record is not an event");
        let mut decoded = DecodedEvents::default();
        decoder.record(self, &mut decoded);
        // An event whose time could not be read has a fault too, and still happened.
        decoded.events.pop().ok_or_else(|| decoded.faults.into_iter().next().unwrap_or(missing))
    }
}

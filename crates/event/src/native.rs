//! Lictor's own events, one a line, and bare facts.
//!
//! ```json
//! {"v":1,"session":"s1","seq":4,"time":"2026-05-01T10:00:03Z","kind":"tool_call","tool":"lookup","args":{"id":7}}
//! {"kind":"consent","purposes":["marketing"],"subjects":"alice","granted":false}
//! {"facts":["tool_call","paid(\"alice\",3)"]}
//! ["tool_call"]
//! ```
//!
//! Only `kind` or `facts` is required, and `null` is the same as absent. What is of no field here is kept in
//! [`more`](Event::more): so the `granted` of a consent, whose `false` is a refusal or a withdrawal.
//!
//! A time is written as RFC 3339, or as a number since 1970. A number below 100,000,000,000 counts seconds, which lasts
//! until the year 5138, and one from there to 100,000,000,000,000 counts milliseconds, which begins in 1973; nothing
//! larger is taken.

mod fields;
mod usual;

use std::collections::HashMap;
use std::mem;

use lictor_logic::Fact;

use self::fields::{Field, Wrong};
use crate::record::{DecodedEvents, Decoder, LogRecord};
use crate::{Answer, Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// The version of the line.
const VERSION: i64 = 1;

/// How many facts a decoder remembers by their spelling.
const REMEMBERED: usize = 4096;

/// Whether a record is of this format.
pub fn recognises(value: &Json) -> bool {
    match value {
        Json::Object(object) => {
            object.get("kind").is_some_and(|kind| kind.as_str().is_some())
                || object.get("facts").is_some_and(|facts| facts.as_array().is_some())
        }
        Json::Array(facts) => facts.iter().all(|fact| fact.as_str().is_some()),
        _ => false,
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub struct NativeDecoder {
    /// Facts that were read before, since a log says the same ones over and over.
    facts: HashMap<Text, Fact>,
    /// Whether Lictor wrote the records itself: events of other formats may be as nobody should write them.
    is_own: bool,
}

impl NativeDecoder {
    /// A decoder of what Lictor wrote itself.
    pub fn of_own() -> NativeDecoder {
        NativeDecoder { is_own: true, ..NativeDecoder::default() }
    }
}

impl Decoder for NativeDecoder {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let mut event = Event { source: record.source(), ..Event::default() };
        let mut wrong = Vec::new();
        match mem::take(&mut record.value) {
            Json::Object(object) => self.object(object, &mut event, &mut wrong),
            list @ Json::Array(_) => self.facts_of(list, "a list", &mut event, &mut wrong),
            _ => {
                wrong.push(Wrong { code: "native.record", message: "expected an object or a list of facts".to_owned() })
            }
        }
        if wrong.is_empty() {
            out.events.push(event);
        } else {
            out.faults.extend(wrong.into_iter().map(|wrong| record.fault(wrong.code, wrong.message)));
        }
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        // Filled in where it stays, for an event is a large thing to move.
        out.events.push(Event { source: source.clone(), ..Event::default() });
        let is_read = out.events.last_mut().and_then(|event| usual::read(text, event)).is_some();
        if !is_read {
            out.events.pop();
        }
        is_read
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        usual::session(text)
    }
}

/// What is wrong with a kind that is nearly one that Lictor knows, and would be taken for one of somebody's own.
fn misspelt(kind: &str) -> Option<String> {
    if kind.is_empty() {
        return Some("the `kind` is empty; an event needs one, such as \"tool_call\"".to_owned());
    }
    let folded =
        |name: &str| name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let meant: String = folded(kind);
    let known = Kind::names().find(|known| *known != kind && folded(known) == meant)?;
    Some(format!("the kind `{kind}` is not known; write `{known}`"))
}

/// Whether a member called `answers` holds answers of labelers. Logs have members of that name with other things in them,
/// which are kept as they are.
fn is_answers(value: &Json) -> bool {
    let is_one = |value: &Json| value.get("fact").is_some() && value.get("says").is_some();
    value.as_array().is_some_and(|list| list.iter().any(is_one))
}

fn read_answers(answers: &Json, event: &mut Event) -> Result<(), Wrong> {
    for (place, answer) in answers.as_array().unwrap_or_default().iter().enumerate() {
        let wrong = |reason| Wrong { code: "native.field", message: format!("`answers.{place}`: {reason}") };
        event.answers.push(Answer::from_json(answer).map_err(wrong)?);
    }
    Ok(())
}

impl NativeDecoder {
    /// Moves the members of a line into the event, and keeps those that have no field.
    fn object(&mut self, object: Object, event: &mut Event, wrong: &mut Vec<Wrong>) {
        let (mut kind, mut facts, mut result) = (None, false, None);
        let mut more = Vec::new();
        for (key, mut value) in object.into_members() {
            let (key, value) = (&key, &mut value);
            let has_answers = key == "answers" && is_answers(value);
            let field = Field { name: key, value };
            let read = match key.as_str() {
                "v" => field.version(VERSION),
                "kind" => field.text(&mut kind),
                "session" => field.text(&mut event.session),
                "seq" => field.whole(&mut event.seq),
                "time" => field.time(&mut event.time),
                "agent" => field.text(&mut event.agent),
                "principal" => field.text(&mut event.principal),
                "id" => field.text(&mut event.id),
                "tool" => field.text(&mut event.tool),
                "text" => field.text(&mut event.text),
                "to" => field.text(&mut event.to),
                "failed" => field.truth(&mut event.failed),
                "purposes" => field.texts(&mut event.purposes),
                "categories" => field.texts(&mut event.categories),
                "subjects" => field.texts(&mut event.subjects),
                "labels" => {
                    let mut labels = None;
                    let read = field.texts(&mut labels);
                    event.labels = labels.unwrap_or_default();
                    read
                }
                "answers" if has_answers => read_answers(field.value, event),
                "args" => field.arguments(&mut event.args),
                "result" => {
                    result = Some(value.take()).filter(|result| !result.is_null());
                    Ok(())
                }
                "facts" => {
                    facts = !value.is_null();
                    if facts {
                        self.facts_of(value.take(), "`facts`", event, wrong);
                    }
                    Ok(())
                }
                _ => {
                    more.push((key.clone(), value.take()));
                    Ok(())
                }
            };
            wrong.extend(read.err());
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
                let misspelt = misspelt(&kind).filter(|_| !self.is_own);
                wrong.extend(misspelt.map(|message| Wrong { code: "native.kind", message }));
            }
            None if facts || !wrong.is_empty() => {}
            None => {
                let message = "an event needs a `kind`, such as \"tool_call\", or `facts`".to_owned();
                wrong.push(Wrong { code: "native.kind", message });
            }
        }
        let denies = event.more.get("granted").and_then(Json::as_bool) == Some(event.kind == Kind::Denial);
        if matches!(event.kind, Kind::Approval | Kind::Denial) && denies && !self.is_own {
            let message =
                "`granted` contradicts the kind: a refusal is a `denial`, an allowance an `approval`".to_owned();
            wrong.push(Wrong { code: "native.granted", message });
        }
        // Nothing that is said of a tool would ever be about it.
        if event.kind == Kind::ToolCall && event.tool.is_none() && !facts && !self.is_own {
            let message = "a `tool_call` needs the name of its `tool`".to_owned();
            wrong.push(Wrong { code: "native.tool", message });
        }
    }

    fn facts_of(&mut self, facts: Json, place: &str, event: &mut Event, wrong: &mut Vec<Wrong>) {
        let expected = |found: &Json| {
            let message = format!("{place} must be a list of facts as strings, found {}", fields::describe(found));
            Wrong { code: "native.field", message }
        };
        let Json::Array(facts) = facts else { return wrong.push(expected(&facts)) };
        event.facts.reserve_exact(facts.len());
        for fact in facts {
            match fact {
                Json::String(text) => match self.fact(text) {
                    Ok(fact) => event.facts.push(fact),
                    Err(message) => wrong.push(Wrong { code: "native.fact", message }),
                },
                other => wrong.push(expected(&other)),
            }
        }
    }

    fn fact(&mut self, text: Text) -> Result<Fact, String> {
        if let Some(fact) = self.facts.get(&text) {
            return Ok(fact.clone());
        }
        let fact = Fact::parse(&text).map_err(|errors| {
            let reasons: Vec<_> = errors.iter().map(|error| error.message()).collect();
            format!(
                "{:?} is no fact: {}; a fact is a name with values, such as `paid(\"alice\",3)`",
                text,
                reasons.join("; ")
            )
        })?;
        if self.facts.len() < REMEMBERED {
            self.facts.insert(text, fact.clone());
        }
        Ok(fact)
    }
}

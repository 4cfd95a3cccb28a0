//! Removes the violating parts of an event, and nothing else.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use lictor_logic::{Fact, Value};

use crate::decision::{Cause, Objection, Redaction};
use crate::facts::person;
use crate::prepared::PreparedPolicy;
use crate::text_mask::{MaskScope, MaskedTexts};
use lictor_event::{Arguments, Event, MASK};
use lictor_json::{Json, Object, Text};
use lictor_policy::Response;
use lictor_recognise::{PersonalData, Recogniser};

/// What must be removed from an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offence {
    scope: MaskScope,
    /// Those of the categories that are not necessary for the purposes of the event: a member that such a one names is left
    /// out. Without any other a call would mean something else: no filter is every record.
    unnecessary: BTreeSet<Text>,
    arguments: BTreeSet<Text>,
}

impl Offence {
    /// Collects what the witnesses of the properties with `redact` say about the event itself.
    pub(super) fn of(objections: &[Objection]) -> Offence {
        let mut offence = Offence::default();
        for objection in objections.iter().filter(|objection| objection.response == Response::Redact) {
            let Cause::Violation(finding) = &objection.why else { continue };
            let asks_for_necessity = finding.property.fact_names().contains("necessary");
            let here = finding.witness.iter().filter(|proof| proof.session.is_none() && proof.step == finding.step);
            for fact in here.flat_map(|proof| &proof.present).filter_map(|fact| Fact::parse(fact).ok()) {
                let Some(Value::Text(first)) = fact.values.first() else { continue };
                match &*fact.name {
                    "carries" | "special" => {
                        offence.scope.categories.insert(Text::new(first));
                        if asks_for_necessity {
                            offence.unnecessary.insert(Text::new(first));
                        }
                    }
                    "carries_secret" => drop(offence.scope.secrets.insert(Text::new(first))),
                    "discloses" => drop(offence.scope.persons.insert(Text::new(first))),
                    "argument" | "argument_from" => drop(offence.arguments.insert(Text::new(first))),
                    _ => {}
                }
            }
        }
        offence
    }

    /// Returns the event without the violating parts, and those parts. If none are found, the event is unchanged.
    pub(super) fn redact(&self, prepared: &PreparedPolicy, event: &Event) -> (Event, Vec<Redaction>) {
        let mut event = event.clone();
        let (recogniser, masked) = (&prepared.plan.recogniser, &prepared.masked);
        let mut walk = Walk { offence: self, recogniser, masked, path: Vec::new(), done: Vec::new() };
        if let Some(text) = &event.text {
            event.text = Some(walk.at("text", |walk| walk.text(text)).unwrap_or_else(|| text.clone()));
        }
        match &mut event.args {
            Some(Arguments::Value(value)) => walk.at("args", |walk| walk.value(value, "")),
            Some(Arguments::Unparsed(text)) => {
                if let Some(masked) = walk.at("args", |walk| walk.text(text)) {
                    *text = masked;
                }
            }
            None => {}
        }
        if let Some(result) = &mut event.result {
            walk.at("result", |walk| walk.value(result, ""));
        }
        let done = walk.done;
        // The log's annotations are no longer true of the event.
        let is_gone = |name: &Text| done.iter().any(|redaction| redaction.what == *name);
        if let Some(categories) = &mut event.categories {
            categories.retain(|category| !is_gone(category));
        }
        if let Some(subjects) = &mut event.subjects {
            subjects.retain(|subject| !is_gone(&person(subject).into()));
        }
        (event, done)
    }

    /// Returns the ranges of a text that must be removed and why, in order.
    pub(super) fn places(&self, recogniser: &Recogniser, text: &str) -> Vec<(Range<usize>, Text)> {
        self.scope.find_places(recogniser, text)
    }

    /// Returns where the name of a person begins that a text ends within; the length of the text if there is none.
    pub(super) fn find_begun_person(&self, text: &str) -> usize {
        let is_begun = |place: &usize| {
            let rest = text[*place..].to_lowercase();
            self.scope.persons.iter().any(|person| person.len() > rest.len() && person.starts_with(rest.as_str()))
        };
        let longest = self.scope.persons.iter().map(Text::len).max().unwrap_or(0);
        let places = (text.len().saturating_sub(longest)..text.len()).filter(|place| text.is_char_boundary(*place));
        places.into_iter().find(is_begun).unwrap_or(text.len())
    }
}

/// How a member of an object is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    /// The object has it no longer.
    LeaveOut,
    /// Its value is masked.
    Mask,
}

/// One traversal of an event.
struct Walk<'a> {
    offence: &'a Offence,
    recogniser: &'a Recogniser,
    masked: &'a MaskedTexts,
    path: Vec<Text>,
    done: Vec<Redaction>,
}

impl Walk<'_> {
    fn at<T>(&mut self, name: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(name.into());
        let result = inside(self);
        self.path.pop();
        result
    }

    fn note(&mut self, what: &Text) {
        let redaction = Redaction { path: self.path.join(".").into(), what: what.clone() };
        if !self.done.contains(&redaction) {
            self.done.push(redaction);
        }
    }

    fn value(&mut self, value: &mut Json, key: &str) {
        match value {
            Json::String(text) => {
                if let Some(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Json::Number(number) => {
                if self.text(&Text::from(number.to_string())).is_some() {
                    *value = Json::from(MASK);
                }
            }
            Json::Array(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    self.at(&place.to_string(), |walk| walk.value(item, key));
                }
            }
            Json::Object(object) => {
                let mut kept: Vec<(Text, Json)> = Vec::new();
                let mut names = Names::default();
                for (member, mut value) in std::mem::replace(object, Object::new()).into_members() {
                    // The path of the redaction must not contain a person that the key named.
                    let masked = self.text(&member);
                    self.path.push(masked.clone().unwrap_or_else(|| member.clone()));
                    match self.forbidden(&member, key, &value) {
                        Some((what, Removal::LeaveOut)) => self.note(&what),
                        forbidden => {
                            if let Some((what, _)) = &forbidden {
                                self.note(what);
                            }
                            self.value(&mut value, &member);
                            if forbidden.is_some() {
                                mask_scalars(&mut value);
                            }
                            kept.push((names.own(masked, member, &kept), value));
                        }
                    }
                    self.path.pop();
                }
                *object = Object::from_members(kept);
            }
            Json::Null | Json::Bool(_) => {}
        }
    }

    /// Returns why and how a whole member of an object must be removed: its key says what it is.
    fn forbidden(&self, member: &Text, parent: &str, value: &Json) -> Option<(Text, Removal)> {
        let argument = self.path.get(1..).map(|path| Text::from(path.join("."))).unwrap_or_default();
        if self.path.first().is_some_and(|root| root == "args") && self.offence.arguments.contains(&argument) {
            return Some((argument, Removal::LeaveOut));
        }
        let mut alone = Object::new();
        alone.insert(member.clone(), value.clone());
        if let Some(kind) = self.find_named_secret(&alone, value) {
            return Some((kind, Removal::Mask));
        }
        let category = self.recogniser.category_of_key(member, parent)?;
        let mut found = PersonalData::default();
        self.recogniser.value(&Json::Object(alone), &mut found);
        let removal = if self.offence.unnecessary.contains(category) { Removal::LeaveOut } else { Removal::Mask };
        let is_found = self.offence.scope.categories.contains(category) && found.categories.contains(category);
        is_found.then(|| (category.clone(), removal))
    }

    /// Returns the kind of the secret that a member is because of its key. If the secret is only a part of the value, that
    /// part is masked.
    fn find_named_secret(&self, alone: &Object, value: &Json) -> Option<Text> {
        let text = value.as_str().filter(|_| !self.offence.scope.secrets.is_empty())?;
        if self.offence.scope.find_secrets(text).next().is_some() {
            return None;
        }
        let written = Json::Object(alone.clone()).to_string();
        self.offence.scope.find_secrets(&written).next().map(|secret| secret.kind.name().into())
    }

    /// Returns the text with its violating parts masked; `None` if there are none.
    fn text(&mut self, text: &Text) -> Option<Text> {
        let masked = self.masked.mask(self.recogniser, &self.offence.scope, text);
        masked.reasons.iter().for_each(|reason| self.note(reason));
        masked.text
    }
}

/// Masks every text, number and truth value within a value.
fn mask_scalars(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(mask_scalars),
        Json::Object(object) => {
            let members = std::mem::replace(object, Object::new()).into_members();
            let masked = members.into_iter().map(|(name, mut value)| {
                mask_scalars(&mut value);
                (name, value)
            });
            *object = Object::from_members(masked.collect());
        }
        Json::Null => {}
        Json::String(_) | Json::Number(_) | Json::Bool(_) => *value = Json::from(MASK),
    }
}

/// The names of an object's members once one was masked, kept unique.
#[derive(Default)]
struct Names {
    taken: Option<HashSet<Text>>,
    /// How many members got each mask with a number.
    counts: HashMap<Text, usize>,
}

impl Names {
    /// Returns a unique name for the next member.
    fn own(&mut self, masked: Option<Text>, member: Text, kept: &[(Text, Json)]) -> Text {
        if masked.is_none() && self.taken.is_none() {
            return member;
        }
        let taken = self.taken.get_or_insert_with(|| kept.iter().map(|(name, _)| name.clone()).collect());
        let wanted = masked.unwrap_or(member);
        let mut name = wanted.clone();
        while !taken.insert(name.clone()) {
            let count = self.counts.entry(wanted.clone()).or_insert(1);
            *count += 1;
            name = Text::from(format!("{wanted} {count}"));
        }
        name
    }
}

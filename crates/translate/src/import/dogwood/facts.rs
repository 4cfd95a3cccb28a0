//! A log as events with facts.

use std::collections::HashMap;

use lictor_logic::{Fact, Value as Carried};
use serde_json::json;

use super::cedar::Request;
use super::log::Happened;
use super::refusal::{Refused, TYPE, refused};
use super::schema::{Events, Groups, Pin};
use super::statements::{Prepared, ways};
use super::syntax::Root;
use super::value::{ABSENT, Value};
use super::vocabulary::{ASKED, ELAPSED, Part, TIMEPOINT, Vocabulary};

/// An event of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedEvent {
    /// The session it belongs to: the log, and the values of the pinned fields, if any are.
    pub session: String,
    /// Whether it is a request, which is either permitted or denied.
    pub is_decided: bool,
    /// The event as a native line.
    pub line: String,
}

/// What it takes to say which facts hold at an event.
pub(super) struct Labels<'p> {
    pub(super) vocabulary: &'p Vocabulary,
    pub(super) statements: &'p [Prepared],
    pub(super) events: &'p Events,
    pub(super) groups: &'p Groups,
}

impl Labels<'_> {
    /// The events of a log.
    pub(super) fn log(&self, session: &str, log: &[Happened]) -> Result<Vec<ImportedEvent>, Refused> {
        let keys = self.events.keys();
        let mut last: HashMap<String, i64> = HashMap::new();
        let mut found = Vec::with_capacity(log.len());
        for (number, event) in log.iter().enumerate() {
            let session = key(session, &keys, event);
            let before = last.insert(session.clone(), event.time);
            let is_decided = self.events.is_decided(&event.kind);
            let mut facts = self.history(event)?;
            if self.vocabulary.asks_timepoint {
                facts.push(Fact::new(TIMEPOINT, [Carried::Integer(number as i64)]));
            }
            if let Some(before) = before.filter(|_| self.vocabulary.asks_elapsed) {
                facts.push(Fact::new(ELAPSED, [Carried::Integer(event.time - before)]));
            }
            if is_decided {
                facts.extend(self.request(event)?);
            }
            let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
            let line = json!({"session": session, "time": event.time, "facts": facts}).to_string();
            found.push(ImportedEvent { session, is_decided, line });
        }
        Ok(found)
    }

    /// What later decisions can see of an event.
    fn history(&self, event: &Happened) -> Result<Vec<Fact>, Refused> {
        let mut facts = Vec::new();
        let fitting = |kind: &str| event.kind == kind;
        for shape in self.vocabulary.shapes.iter().filter(|shape| fitting(&shape.kind) && shape.action == event.action)
        {
            let values: Option<Vec<&Value>> = shape.fields.iter().map(|path| Value::at(&event.logged, path)).collect();
            // An event without one of the fields is none of those that are asked for.
            let Some(values) = values else { continue };
            for ((value, path), is_number) in values.iter().zip(&shape.fields).zip(&shape.numbers) {
                if *is_number {
                    expect_number(event, value, &path.join("."))?;
                }
            }
            let values: Vec<Carried> = values.into_iter().map(Value::carried).collect();
            facts.push(Fact::new(shape.name.as_str(), values));
        }
        Ok(facts)
    }

    /// What the decision itself can see of a request.
    fn request(&self, event: &Happened) -> Result<Vec<Fact>, Refused> {
        let mut values = Vec::new();
        for part in &self.vocabulary.parts {
            let value = requested(event, part);
            if let Some(value) = value.as_ref().filter(|_| part.is_number) {
                expect_number(event, value, &part.variable)?;
            }
            values.push(value.map_or_else(|| Carried::text(ABSENT), |value| value.carried()));
        }
        let mut facts = vec![Fact::new(ASKED, values)];
        let request =
            Request::new(event.principal.as_ref(), &event.action, event.resource.as_ref(), &event.context, self.groups);
        // A request that is not well formed is denied, whatever is permitted.
        let Some(request) = request else { return Ok(facts) };
        for prepared in self.statements {
            if !prepared.plain.iter().all(|part| request.holds(part, &[])) {
                continue;
            }
            facts.push(Fact::new(prepared.fact.as_str(), []));
            for mixed in &prepared.mixed {
                let holding = ways(mixed.leaves.len()).filter(|way| request.holds(&mixed.expression, way));
                facts.extend(holding.map(|way| {
                    let values: Vec<Carried> = way.into_iter().map(Carried::Bool).collect();
                    Fact::new(mixed.fact.as_str(), values)
                }));
            }
        }
        Ok(facts)
    }
}

/// A part of the request that is decided; an entity has an id and a type and no other attributes.
fn requested(event: &Happened, part: &Part) -> Option<Value> {
    let entity = match part.root {
        Root::Context => return Value::at(&event.context, &part.path).cloned(),
        Root::Principal => event.principal.as_ref()?,
        Root::Resource => event.resource.as_ref()?,
        Root::Action => return None,
    };
    match (&part.path[..], entity) {
        ([], entity) => Some(entity.clone()),
        ([name], Value::Entity(entity)) if name == "id" => Some(Value::Text(entity.id.clone())),
        ([name], Value::Entity(entity)) if name == "type" => Some(Value::Text(entity.kind.clone())),
        _ => None,
    }
}

fn expect_number(event: &Happened, value: &Value, field: &str) -> Result<(), Refused> {
    if matches!(value, Value::Long(_)) {
        return Ok(());
    }
    Err(refused(event.at, TYPE, format!("`{field}` of this event is no whole number, and the policy takes it for one")))
}

/// The session of an event: what happens under other values of the pinned fields is another history.
fn key(session: &str, keys: &[&Pin], event: &Happened) -> String {
    let mut name = session.to_owned();
    for pin in keys {
        let value = Value::at(&event.logged, &pin.field).map(|value| value.carried().to_string());
        name = format!("{name}/{}={}", pin.field.join("."), value.as_deref().unwrap_or("none"));
    }
    name
}

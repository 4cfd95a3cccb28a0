//! Converts a log into events with facts.

use std::collections::HashMap;

use lictor_logic::{Fact, Value as FactValue};
use serde_json::json;

use super::cedar::Request;
use super::log::LogEvent;
use super::refusal::{Refusal, TYPE, refuse};
use super::schema::{ActionGroups, EventSchema, Pin};
use super::statements::{PreparedStatement, assignments};
use super::syntax::Root;
use super::value::{ABSENT, Value};
use super::vocabulary::{ELAPSED_FACT, REQUEST_FACT, RequestPart, TIMEPOINT_FACT, Vocabulary};

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

/// Builds the facts that hold at each event.
pub(super) struct FactBuilder<'p> {
    pub(super) vocabulary: &'p Vocabulary,
    pub(super) statements: &'p [PreparedStatement],
    pub(super) events: &'p EventSchema,
    pub(super) groups: &'p ActionGroups,
}

impl FactBuilder<'_> {
    /// Returns the events of a log.
    pub(super) fn build_events(&self, session: &str, log: &[LogEvent]) -> Result<Vec<ImportedEvent>, Refusal> {
        let keys = self.events.session_pins();
        let mut last: HashMap<String, i64> = HashMap::new();
        let mut found = Vec::with_capacity(log.len());
        for (number, event) in log.iter().enumerate() {
            let session = session_key(session, &keys, event);
            let before = last.insert(session.clone(), event.time);
            let is_decided = self.events.is_decided(&event.kind);
            let mut facts = self.history_facts(event)?;
            if self.vocabulary.asks_timepoint {
                facts.push(Fact::new(TIMEPOINT_FACT, [FactValue::Integer(number as i64)]));
            }
            if let Some(before) = before.filter(|_| self.vocabulary.asks_elapsed) {
                facts.push(Fact::new(ELAPSED_FACT, [FactValue::Integer(event.time - before)]));
            }
            if is_decided {
                facts.extend(self.request_facts(event)?);
            }
            let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
            let line = json!({"session": session, "time": event.time, "facts": facts}).to_string();
            found.push(ImportedEvent { session, is_decided, line });
        }
        Ok(found)
    }

    /// Returns the facts that later decisions can see of an event.
    fn history_facts(&self, event: &LogEvent) -> Result<Vec<Fact>, Refusal> {
        let mut facts = Vec::new();
        let fitting = |kind: &str| event.kind == kind;
        for shape in
            self.vocabulary.event_facts.iter().filter(|shape| fitting(&shape.kind) && shape.action == event.action)
        {
            let values: Option<Vec<&Value>> =
                shape.fields.iter().map(|path| Value::find_path(&event.logged, path)).collect();
            // An event without one of the fields is none of those that are asked for.
            let Some(values) = values else { continue };
            for ((value, path), is_number) in values.iter().zip(&shape.fields).zip(&shape.numbers) {
                if *is_number {
                    expect_number(event, value, &path.join("."))?;
                }
            }
            let values: Vec<FactValue> = values.into_iter().map(Value::to_fact_value).collect();
            facts.push(Fact::new(shape.name.as_str(), values));
        }
        Ok(facts)
    }

    /// Returns the facts that the decision itself can see of a request.
    fn request_facts(&self, event: &LogEvent) -> Result<Vec<Fact>, Refusal> {
        let mut values = Vec::new();
        for part in &self.vocabulary.request_parts {
            let value = find_request_part(event, part);
            if let Some(value) = value.as_ref().filter(|_| part.is_number) {
                expect_number(event, value, &part.variable)?;
            }
            values.push(value.map_or_else(|| FactValue::text(ABSENT), |value| value.to_fact_value()));
        }
        let mut facts = vec![Fact::new(REQUEST_FACT, values)];
        let request =
            Request::new(event.principal.as_ref(), &event.action, event.resource.as_ref(), &event.context, self.groups);
        // A malformed request is denied, even if a statement permits it.
        let Some(request) = request else { return Ok(facts) };
        for prepared in self.statements {
            if !prepared.plain.iter().all(|part| request.holds(part, &[])) {
                continue;
            }
            facts.push(Fact::new(prepared.fact.as_str(), []));
            for mixed in &prepared.mixed {
                let holding = assignments(mixed.leaves.len()).filter(|way| request.holds(&mixed.expression, way));
                facts.extend(holding.map(|way| {
                    let values: Vec<FactValue> = way.into_iter().map(FactValue::Bool).collect();
                    Fact::new(mixed.fact.as_str(), values)
                }));
            }
        }
        Ok(facts)
    }
}

/// Returns a part of the request that is decided; an entity has an id and a type and no other attributes.
fn find_request_part(event: &LogEvent, part: &RequestPart) -> Option<Value> {
    let entity = match part.root {
        Root::Context => return Value::find_path(&event.context, &part.path).cloned(),
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

fn expect_number(event: &LogEvent, value: &Value, field: &str) -> Result<(), Refusal> {
    if matches!(value, Value::Long(_)) {
        return Ok(());
    }
    Err(refuse(event.at, TYPE, format!("`{field}` of this event is not a whole number, but the policy uses it as one")))
}

/// Returns the session of an event: other values of the pinned fields are another history.
fn session_key(session: &str, keys: &[&Pin], event: &LogEvent) -> String {
    let mut name = session.to_owned();
    for pin in keys {
        let value = Value::find_path(&event.logged, &pin.field).map(|value| value.to_fact_value().to_string());
        name = format!("{name}/{}={}", pin.field.join("."), value.as_deref().unwrap_or("none"));
    }
    name
}

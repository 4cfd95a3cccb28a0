//! Dogwood: a policy, its schemas, and a log for each session.
//!
//! Every event becomes a request of one action, with a record for each of its facts. Everything is permitted, and each
//! property is a `forbid` for the events that violate it: a request is denied exactly where Lictor has a finding. A
//! property with several ways to violate it has a statement for each, since Dogwood has no `or` about the past.

mod condition;
mod conjunction;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use lictor_logic::{Arena, Fact, Formula, Node, Term, Value};

use super::mfotl::collect_numbers;
use super::{ExportedPolicy, FactTrace, Inexpressible, split_safety, to_file_name};
use condition::write_conditions;
use lictor_policy::Policy;

/// A window as long as any, in days: our clock spans no more than 584 years.
const UNBOUNDED_WINDOW: &str = "213504d";

/// How many alternatives a condition may have, each of which becomes a statement.
const MAX_ALTERNATIVES: usize = 64;

/// The types of Dogwood that values of facts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DogwoodType {
    Bool,
    Long,
    String,
    /// Values of several types, or numbers that are not whole.
    None,
}

impl DogwoodType {
    fn from_value(value: &Value) -> DogwoodType {
        match value {
            Value::Bool(_) => DogwoodType::Bool,
            Value::Integer(_) => DogwoodType::Long,
            Value::Text(_) => DogwoodType::String,
            Value::Decimal(_) => DogwoodType::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            DogwoodType::Bool => "Bool",
            DogwoodType::Long => "Long",
            DogwoodType::String | DogwoodType::None => "String",
        }
    }
}

/// A fact as a record in an event.
#[derive(Clone, Debug, Default)]
struct FactRecord {
    /// The name of the record.
    field: String,
    /// The types of its values; none where they are unknown.
    kinds: Vec<Option<DogwoodType>>,
}

/// The facts that properties ask for.
type FactRecords = BTreeMap<Arc<str>, FactRecord>;

/// Exports a policy and traces for Dogwood. The types of values follow from the traces and the formulas.
pub fn policy(policy: &Policy, traces: &[FactTrace]) -> ExportedPolicy {
    let (properties, mut left_out) = split_safety(policy);
    let mut shapes = FactRecords::new();
    for fact in traces.iter().flat_map(|trace| &trace.events).flat_map(|(_, facts)| facts) {
        note_types(&mut shapes, &fact.name, fact.values.iter().map(|value| Some(DogwoodType::from_value(value))));
    }
    for property in &properties {
        let mut counted = Vec::new();
        collect_numbers(&property.arena, property.body, &mut counted);
        note_formula(&mut shapes, &property.arena, property.body, &counted);
    }
    name_fields(&mut shapes);
    let mut text = "permit (principal, action, resource);\n".to_owned();
    for property in &properties {
        let id = property.property.id.as_str();
        match write_conditions(property, &shapes) {
            Ok(conditions) => {
                for condition in conditions {
                    let _ = write!(
                        text,
                        "\n@id({})\nforbid (principal, action, resource)\nwhen temporal {{\n    {condition}\n}};\n",
                        quote(id)
                    );
                }
            }
            Err(reason) => left_out.push(Inexpressible { property: id.to_owned(), reason }),
        }
    }
    let mut files = vec![
        ("policy.dw".to_owned(), text),
        ("actions.cedarschema".to_owned(), write_action_schema(&shapes)),
        (
            "events.dwschema".to_owned(),
            format!("max_window = {UNBOUNDED_WINDOW}\n\ndecision event <A>::request {{\n    ...inputs(A),\n}}\n"),
        ),
    ];
    for trace in traces {
        match write_log(trace, &shapes) {
            Ok(text) => files.push((format!("{}.log", to_file_name(&trace.session)), text)),
            Err(reason) => {
                left_out.push(Inexpressible { property: format!("session {}", trace.session), reason });
            }
        }
    }
    ExportedPolicy { files, left_out }
}

/// Returns the facts of one session as a log, or the reason why they cannot be one.
pub fn trace(policy: &Policy, trace: &FactTrace) -> Result<String, String> {
    let mut shapes = FactRecords::new();
    let (properties, _) = split_safety(policy);
    for fact in trace.events.iter().flat_map(|(_, facts)| facts) {
        note_types(&mut shapes, &fact.name, fact.values.iter().map(|value| Some(DogwoodType::from_value(value))));
    }
    for property in &properties {
        note_formula(&mut shapes, &property.arena, property.body, &[]);
    }
    name_fields(&mut shapes);
    write_log(trace, &shapes)
}

/// Notes the types of the values of a fact.
fn note_types(shapes: &mut FactRecords, name: &Arc<str>, kinds: impl Iterator<Item = Option<DogwoodType>>) {
    let shape = shapes.entry(Arc::clone(name)).or_default();
    for (place, kind) in kinds.enumerate() {
        match shape.kinds.get_mut(place) {
            Some(known) if known.is_some() && kind.is_some() && *known != kind => *known = Some(DogwoodType::None),
            Some(known) => *known = known.or(kind),
            None => shape.kinds.push(kind),
        }
    }
}

fn note_formula(shapes: &mut FactRecords, arena: &Arena, f: Formula, numbers: &[Arc<str>]) {
    if let Node::Fact(atom) = &arena[f] {
        note_types(shapes, &atom.name, atom.terms.iter().map(|_| None));
        let shape = shapes.entry(Arc::clone(&atom.name)).or_default();
        // Of values that never occur only the formula tells.
        for (known, term) in shape.kinds.iter_mut().zip(&atom.terms) {
            *known = known.or(match term {
                Term::Value(value) => Some(DogwoodType::from_value(value)),
                Term::Var(name) if numbers.contains(name) => Some(DogwoodType::Long),
                Term::Var(_) | Term::Any => None,
            });
        }
    }
    arena[f].operands().iter().for_each(|operand| note_formula(shapes, arena, *operand, numbers));
}

/// Gives each fact a name that Dogwood can read, and no two the same.
fn name_fields(shapes: &mut FactRecords) {
    let mut used: Vec<String> = Vec::new();
    for (name, shape) in shapes {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let mut field = format!("is_{plain}");
        while used.contains(&field) {
            field.push('_');
        }
        used.push(field.clone());
        shape.field = field;
    }
}

/// Returns the action schema.
fn write_action_schema(shapes: &FactRecords) -> String {
    let mut text = "namespace Lictor {\n  entity Agent;\n  entity Session;\n\n  type Facts = {\n".to_owned();
    for shape in shapes.values() {
        let _ = write!(text, "    {}?: {{ holds: Bool", shape.field);
        for (place, kind) in shape.kinds.iter().enumerate() {
            let _ = write!(text, ", v{place}: {}", kind.unwrap_or(DogwoodType::String).name());
        }
        text.push_str(" },\n");
    }
    text.push_str(
        "  };\n\n  action \"Step\" appliesTo {\n    principal: [Agent],\n    resource: [Session],\n    \
         context: { input: Facts }\n  };\n}\n",
    );
    text
}

/// Returns the log of a session: one request for each event.
fn write_log(trace: &FactTrace, shapes: &FactRecords) -> Result<String, String> {
    let mut text = String::new();
    for (now, facts) in trace.dated_events() {
        if now.0 % 1_000_000_000 != 0 {
            return Err("an event has a fraction of a second; Dogwood supports whole seconds only".to_owned());
        }
        let _ = write!(
            text,
            "@{} scope(principal: Lictor::Agent::\"agent\", resource: Lictor::Session::\"session\") \
             Lictor::Action::\"Step\"::request(input: {{",
            now.0 / 1_000_000_000
        );
        let mut names: Vec<&Arc<str>> = Vec::new();
        for fact in facts {
            if names.contains(&&fact.name) {
                return Err(format!(
                    "`{}` holds for several values at one event; a field of Dogwood has one value",
                    fact.name
                ));
            }
            text.push_str(if names.is_empty() { " " } else { ", " });
            names.push(&fact.name);
            text.push_str(&write_record(fact, shapes)?);
        }
        text.push_str(" })\n");
    }
    Ok(text)
}

fn write_record(fact: &Fact, shapes: &FactRecords) -> Result<String, String> {
    let shape = shapes.get(&fact.name).ok_or_else(|| format!("unknown fact `{}`", fact.name))?;
    let mut text = format!("{}: {{ holds: true", shape.field);
    for (place, value) in fact.values.iter().enumerate() {
        let _ = write!(text, ", v{place}: {}", write_literal(value)?);
    }
    Ok(text + " }")
}

/// Returns a value as policies and logs write it.
fn write_literal(value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(_) | Value::Integer(_) => Ok(value.to_string()),
        Value::Text(text) => Ok(quote(text)),
        Value::Decimal(_) => Err(format!("{value} is not a whole number; Dogwood supports whole numbers only")),
    }
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{{{:x}}}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

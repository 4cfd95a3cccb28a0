//! Dogwood: a policy, its schemas, and a log for each session.
//!
//! Every event becomes a request of one action, with a record for each of its facts. Everything is permitted, and each
//! property is a `forbid` for the events that break it: a request is denied exactly where Lictor finds something. A
//! property that can be broken in several ways has a statement for each, for Dogwood has no `or` about the past.

mod condition;
mod conjunction;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use lictor_logic::{Arena, Fact, Formula, Node, Term, Time, Value};

use super::mfotl::numbers;
use super::{ExportedPolicy, FactTrace, Inexpressible, file_name, safety};
use condition::statements;
use lictor_policy::Policy;

/// A window that reaches as far back as any time can lie, in days: our clock tells no more than 584 years apart.
const WHOLE: &str = "213504d";

/// How many alternatives a condition may have, each of which becomes a statement.
const MOST: usize = 64;

/// The types of Dogwood that values of facts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Long,
    String,
    /// Values of several types, or numbers that are not whole.
    None,
}

impl Kind {
    fn of(value: &Value) -> Kind {
        match value {
            Value::Bool(_) => Kind::Bool,
            Value::Integer(_) => Kind::Long,
            Value::Text(_) => Kind::String,
            Value::Decimal(_) => Kind::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Bool => "Bool",
            Kind::Long => "Long",
            Kind::String | Kind::None => "String",
        }
    }
}

/// A fact as a record in an event.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// The name of the record.
    field: String,
    /// The types of its values; none where nothing tells.
    kinds: Vec<Option<Kind>>,
}

/// The facts that properties ask for.
type Shapes = BTreeMap<Arc<str>, Shape>;

/// A policy and traces for Dogwood. What types values have, the traces and the formulas tell.
pub fn policy(policy: &Policy, traces: &[FactTrace]) -> ExportedPolicy {
    let (properties, mut left_out) = safety(policy);
    let mut shapes = Shapes::new();
    for fact in traces.iter().flat_map(|trace| &trace.events).flat_map(|(_, facts)| facts) {
        note(&mut shapes, &fact.name, fact.values.iter().map(|value| Some(Kind::of(value))));
    }
    for property in &properties {
        let mut counted = Vec::new();
        numbers(&property.arena, property.body, &mut counted);
        note_formula(&mut shapes, &property.arena, property.body, &counted);
    }
    name_fields(&mut shapes);
    let mut text = "permit (principal, action, resource);\n".to_owned();
    for property in &properties {
        let id = property.property.id.as_str();
        match statements(property, &shapes) {
            Ok(conditions) => {
                for condition in conditions {
                    let _ = write!(
                        text,
                        "\n@id({})\nforbid (principal, action, resource)\nwhen temporal {{\n    {condition}\n}};\n",
                        quoted(id)
                    );
                }
            }
            Err(reason) => left_out.push(Inexpressible { property: id.to_owned(), reason }),
        }
    }
    let mut files = vec![
        ("policy.dw".to_owned(), text),
        ("actions.cedarschema".to_owned(), actions(&shapes)),
        (
            "events.dwschema".to_owned(),
            format!("max_window = {WHOLE}\n\ndecision event <A>::request {{\n    ...inputs(A),\n}}\n"),
        ),
    ];
    for trace in traces {
        match log(trace, &shapes) {
            Ok(text) => files.push((format!("{}.log", file_name(&trace.session)), text)),
            Err(reason) => {
                left_out.push(Inexpressible { property: format!("session {}", trace.session), reason });
            }
        }
    }
    ExportedPolicy { files, left_out }
}

/// The facts of one session as a log, or why they cannot be one.
pub fn trace(policy: &Policy, trace: &FactTrace) -> Result<String, String> {
    let mut shapes = Shapes::new();
    let (properties, _) = safety(policy);
    for fact in trace.events.iter().flat_map(|(_, facts)| facts) {
        note(&mut shapes, &fact.name, fact.values.iter().map(|value| Some(Kind::of(value))));
    }
    for property in &properties {
        note_formula(&mut shapes, &property.arena, property.body, &[]);
    }
    name_fields(&mut shapes);
    log(trace, &shapes)
}

/// Notes the types of the values of a fact.
fn note(shapes: &mut Shapes, name: &Arc<str>, kinds: impl Iterator<Item = Option<Kind>>) {
    let shape = shapes.entry(Arc::clone(name)).or_default();
    for (place, kind) in kinds.enumerate() {
        match shape.kinds.get_mut(place) {
            Some(known) if known.is_some() && kind.is_some() && *known != kind => *known = Some(Kind::None),
            Some(known) => *known = known.or(kind),
            None => shape.kinds.push(kind),
        }
    }
}

fn note_formula(shapes: &mut Shapes, arena: &Arena, f: Formula, numbers: &[Arc<str>]) {
    if let Node::Fact(atom) = &arena[f] {
        note(shapes, &atom.name, atom.terms.iter().map(|_| None));
        let shape = shapes.entry(Arc::clone(&atom.name)).or_default();
        // Of values that never occur only the formula tells.
        for (known, term) in shape.kinds.iter_mut().zip(&atom.terms) {
            *known = known.or(match term {
                Term::Value(value) => Some(Kind::of(value)),
                Term::Var(name) if numbers.contains(name) => Some(Kind::Long),
                Term::Var(_) | Term::Any => None,
            });
        }
    }
    arena[f].operands().iter().for_each(|operand| note_formula(shapes, arena, *operand, numbers));
}

/// Gives each fact a name that Dogwood can read, and no two the same.
fn name_fields(shapes: &mut Shapes) {
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

/// The action schema.
fn actions(shapes: &Shapes) -> String {
    let mut text = "namespace Lictor {\n  entity Agent;\n  entity Session;\n\n  type Facts = {\n".to_owned();
    for shape in shapes.values() {
        let _ = write!(text, "    {}?: {{ holds: Bool", shape.field);
        for (place, kind) in shape.kinds.iter().enumerate() {
            let _ = write!(text, ", v{place}: {}", kind.unwrap_or(Kind::String).name());
        }
        text.push_str(" },\n");
    }
    text.push_str(
        "  };\n\n  action \"Step\" appliesTo {\n    principal: [Agent],\n    resource: [Session],\n    \
         context: { input: Facts }\n  };\n}\n",
    );
    text
}

/// The log of a session: one request for each event.
fn log(trace: &FactTrace, shapes: &Shapes) -> Result<String, String> {
    let mut text = String::new();
    let mut now = Time(0);
    for (time, facts) in &trace.events {
        now = time.unwrap_or(now).max(now);
        if now.0 % 1_000_000_000 != 0 {
            return Err("an event lies between two seconds, and Dogwood knows whole seconds only".to_owned());
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
                    "`{}` holds of several values at one event, and a field of Dogwood has one value",
                    fact.name
                ));
            }
            text.push_str(if names.is_empty() { " " } else { ", " });
            names.push(&fact.name);
            text.push_str(&record(fact, shapes)?);
        }
        text.push_str(" })\n");
    }
    Ok(text)
}

fn record(fact: &Fact, shapes: &Shapes) -> Result<String, String> {
    let shape = shapes.get(&fact.name).ok_or_else(|| format!("`{}` is not known", fact.name))?;
    let mut text = format!("{}: {{ holds: true", shape.field);
    for (place, value) in fact.values.iter().enumerate() {
        let _ = write!(text, ", v{place}: {}", literal(value)?);
    }
    Ok(text + " }")
}

/// A value as policies and logs write it.
fn literal(value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(_) | Value::Integer(_) => Ok(value.to_string()),
        Value::Text(text) => Ok(quoted(text)),
        Value::Decimal(_) => Err(format!("{value} is no whole number, and Dogwood counts in whole numbers only")),
    }
}

fn quoted(text: &str) -> String {
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

//! MFOTL, for MonPoly: a signature, a formula for each property, and a log.
//!
//! ```text
//! monpoly -sig policy.sig -formula PROPERTY.mfotl -log SESSION.log -negate
//! ```
//!
//! With `-negate` MonPoly prints the time points, and the values, for which the formula does not hold. Facts of events
//! become the database of a time point; counting goes by time points (`tp`), as ours goes by positions.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use lictor_logic::{
    Aggregate, AggregateKind, Arena, Binary, Comparison, Fact, Formula, Interval, Measure, Node, Quantifier, Span,
    Term, Unary, Value,
};

use super::{ExportedPolicy, FactTrace, Inexpressible, SafetyProperty, free_variables, split_safety, to_file_name};
use lictor_policy::Policy;

/// The types of each fact's values, by place.
type Signature = BTreeMap<Arc<str>, Vec<MfotlType>>;

/// The types of values that MonPoly knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MfotlType {
    Int,
    Float,
    String,
}

impl MfotlType {
    fn from_value(value: &Value) -> MfotlType {
        match value {
            Value::Integer(_) => MfotlType::Int,
            Value::Decimal(_) => MfotlType::Float,
            Value::Bool(_) | Value::Text(_) => MfotlType::String,
        }
    }

    fn name(self) -> &'static str {
        match self {
            MfotlType::Int => "int",
            MfotlType::Float => "float",
            MfotlType::String => "string",
        }
    }
}

/// Exports a policy and traces for MonPoly. The types of values follow from the traces and the formulas.
pub fn policy(policy: &Policy, traces: &[FactTrace]) -> ExportedPolicy {
    let (properties, mut left_out) = split_safety(policy);
    let mut signature = Signature::new();
    for fact in traces.iter().flat_map(|trace| &trace.events).flat_map(|(_, facts)| facts) {
        note_values(&mut signature, &fact.name, fact.values.iter().map(Some));
    }
    for property in &properties {
        let mut counted = Vec::new();
        collect_numbers(&property.arena, property.body, &mut counted);
        note_formula(&mut signature, &property.arena, property.body, &counted);
    }
    let mut files = Vec::new();
    for property in &properties {
        match write_formula(property, &signature) {
            Ok(text) => files.push((format!("{}.mfotl", to_file_name(&property.property.id)), text + "\n")),
            Err(reason) => left_out.push(Inexpressible { property: property.property.id.to_string(), reason }),
        }
    }
    let mut text = String::new();
    for (name, kinds) in &signature {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let _ = writeln!(text, "{}({})", to_predicate_name(name), kinds.join(", "));
    }
    files.insert(0, ("policy.sig".to_owned(), text));
    for trace in traces {
        files.push((format!("{}.log", to_file_name(&trace.session)), write_log(trace, &signature)));
    }
    ExportedPolicy { files, left_out }
}

/// Widens the types of a fact's values.
fn note_values<'v>(signature: &mut Signature, name: &Arc<str>, values: impl Iterator<Item = Option<&'v Value>>) {
    let kinds = signature.entry(Arc::clone(name)).or_default();
    for (place, value) in values.enumerate() {
        let kind = value.map_or(MfotlType::Int, MfotlType::from_value);
        match kinds.get_mut(place) {
            Some(known) => *known = (*known).max(kind),
            None => kinds.push(kind),
        }
    }
}

fn note_formula(signature: &mut Signature, arena: &Arena, f: Formula, numbers: &[Arc<str>]) {
    if let Node::Fact(atom) = &arena[f] {
        let known = signature.contains_key(&atom.name);
        let values = atom.terms.iter().map(|term| match term {
            Term::Value(value) => Some(value),
            Term::Any | Term::Var(_) => None,
        });
        note_values(signature, &atom.name, values);
        // Of a fact that never occurs only the formula tells: what it counts with is a number, and the rest are texts.
        if !known && let Some(kinds) = signature.get_mut(&atom.name) {
            for (kind, term) in kinds.iter_mut().zip(&atom.terms) {
                *kind = match term {
                    Term::Var(name) if numbers.contains(name) => MfotlType::Int,
                    _ => MfotlType::String,
                };
            }
        }
    }
    arena[f].operands().iter().for_each(|operand| note_formula(signature, arena, *operand, numbers));
}

/// Collects the variables that a formula uses as numbers.
pub(super) fn collect_numbers(arena: &Arena, f: Formula, found: &mut Vec<Arc<str>>) {
    let is_number = |term: &Term| matches!(term, Term::Value(Value::Integer(_) | Value::Decimal(_)));
    match &arena[f] {
        Node::Compare(_, Term::Var(name), other) | Node::Compare(_, other, Term::Var(name)) if is_number(other) => {
            found.push(name.clone());
        }
        Node::Measure(_, left, right) => {
            for measure in [left, right] {
                if let Measure::Aggregate(Aggregate { kind, variables, .. }) = measure
                    && !matches!(kind, AggregateKind::Count | AggregateKind::Distinct | AggregateKind::Latest)
                {
                    found.extend(variables.first().cloned());
                }
            }
        }
        _ => {}
    }
    arena[f].operands().iter().for_each(|operand| collect_numbers(arena, *operand, found));
}

fn write_formula(safety: &SafetyProperty<'_>, signature: &Signature) -> Result<String, String> {
    let mut writer = MfotlWriter { arena: &safety.arena, signature, fresh: 0 };
    writer.write_formula(safety.body)
}

/// Writes the formula of one property.
struct MfotlWriter<'a> {
    arena: &'a Arena,
    signature: &'a Signature,
    /// How many variables were made up.
    fresh: usize,
}

impl MfotlWriter<'_> {
    fn fresh_name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}_{}", self.fresh)
    }

    fn write_formula(&mut self, f: Formula) -> Result<String, String> {
        let arena = self.arena;
        Ok(match &arena[f] {
            Node::True => "(0 = 0)".to_owned(),
            Node::False => "(0 = 1)".to_owned(),
            Node::Fact(atom) => {
                let width = self.signature.get(&atom.name).map_or(atom.terms.len(), Vec::len);
                // Values that the formula ignores are any values.
                let mut open = Vec::new();
                let mut terms = Vec::new();
                for place in 0..width {
                    terms.push(match atom.terms.get(place) {
                        Some(Term::Var(name)) => to_variable_name(name),
                        Some(Term::Value(value)) => write_constant(value),
                        Some(Term::Any) | None => {
                            open.push(self.fresh_name("any"));
                            open.last().cloned().unwrap_or_default()
                        }
                    });
                }
                let fact = format!("{}({})", to_predicate_name(&atom.name), terms.join(", "));
                if open.is_empty() { fact } else { format!("(EXISTS {}. {fact})", open.join(", ")) }
            }
            Node::Compare(comparison, left, right) => {
                write_comparison(*comparison, &write_term(left)?, &write_term(right)?)
            }
            Node::Measure(comparison, left, right) => self.write_measure(*comparison, left, right)?,
            Node::Not(g) => format!("(NOT {})", self.write_formula(*g)?),
            Node::And(list) => self.write_list(list, "AND")?,
            Node::Or(list) => self.write_list(list, "OR")?,
            Node::Implies(left, right) => {
                format!("({} IMPLIES {})", self.write_formula(*left)?, self.write_formula(*right)?)
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.write_formula(*left)?, self.write_formula(*right)?);
                format!("(({left} IMPLIES {right}) AND ({right} IMPLIES {left}))")
            }
            Node::Unary(operator, interval, g) => {
                let inner = self.write_formula(*g)?;
                match operator {
                    Unary::Once => format!("(ONCE{} {inner})", write_bound(*interval)?),
                    Unary::Historically => format!("(NOT (ONCE{} (NOT {inner})))", write_bound(*interval)?),
                    Unary::Previous => format!("(PREV {inner})"),
                    Unary::WeakPrevious => format!("(NOT (PREV (NOT {inner})))"),
                    Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => {
                        return Err("it looks ahead".to_owned());
                    }
                }
            }
            Node::Binary(operator, interval, left, right) => {
                let (left, right, bound) =
                    (self.write_formula(*left)?, self.write_formula(*right)?, write_bound(*interval)?);
                match operator {
                    Binary::Since => format!("({left} SINCE{bound} {right})"),
                    Binary::Trigger => format!("(NOT ((NOT {left}) SINCE{bound} (NOT {right})))"),
                    _ => return Err("it looks ahead".to_owned()),
                }
            }
            Node::Quantified(quantifier, variables, body) => {
                let word = if *quantifier == Quantifier::Exists { "EXISTS" } else { "FORALL" };
                let names: Vec<String> = variables.iter().map(|name| to_variable_name(name)).collect();
                format!("({word} {}. {})", names.join(", "), self.write_formula(*body)?)
            }
        })
    }

    fn write_list(&mut self, list: &[Formula], word: &str) -> Result<String, String> {
        let parts: Result<Vec<String>, String> = list.iter().map(|part| self.write_formula(*part)).collect();
        Ok(format!("({})", parts?.join(&format!(" {word} "))))
    }

    /// Writes a comparison with an aggregate. Without any match MonPoly has no number, where we have zero for a sum and
    /// a count: a comparison that zero passes is written as that no number fails it.
    fn write_measure(&mut self, comparison: Comparison, left: &Measure, right: &Measure) -> Result<String, String> {
        let (aggregate, comparison, other) = match (left, right) {
            (Measure::Aggregate(aggregate), Measure::Term(term)) => (aggregate, comparison, term),
            (Measure::Term(term), Measure::Aggregate(aggregate)) => (aggregate, comparison.mirrored(), term),
            _ => return Err("it computes with numbers, or compares two aggregates".to_owned()),
        };
        let number = self.fresh_name("n");
        let gathered = self.write_aggregate(aggregate, &number)?;
        let passes = write_comparison(comparison, &number, &write_term(other)?);
        let counts = matches!(aggregate.kind, AggregateKind::Count | AggregateKind::Distinct | AggregateKind::Sum);
        let zero_passes = match other {
            Term::Value(value) => counts && comparison.holds(&Value::Integer(0), value),
            Term::Var(_) | Term::Any if counts => {
                return Err(
                    "it compares a count or a sum with a variable; MonPoly has no number for an empty one".to_owned()
                );
            }
            Term::Var(_) | Term::Any => false,
        };
        Ok(match zero_passes {
            true => format!("(NOT (EXISTS {number}. ({gathered} AND (NOT {passes}))))"),
            false => format!("(EXISTS {number}. ({gathered} AND {passes}))"),
        })
    }

    fn write_aggregate(&mut self, aggregate: &Aggregate, number: &str) -> Result<String, String> {
        let Aggregate { kind, interval, variables, body } = aggregate;
        let group: Vec<String> = free_variables(self.arena, *body)
            .into_iter()
            .filter(|name| !variables.contains(name))
            .map(|name| to_variable_name(&name))
            .collect();
        let first = variables.first().map(|name| to_variable_name(name));
        let inner = self.write_formula(*body)?;
        let point = self.fresh_name("tp");
        let bound = write_bound(*interval)?;
        // Each time point counts by itself, unless only different values do.
        let (word, of, inner) = match (kind, first) {
            (AggregateKind::Distinct, Some(first)) => {
                let others: Vec<String> = variables.iter().skip(1).map(|name| to_variable_name(name)).collect();
                let inner = match others.is_empty() {
                    true => inner,
                    false => format!("(EXISTS {}. {inner})", others.join(", ")),
                };
                ("CNT", first, format!("(ONCE{bound} {inner})"))
            }
            (AggregateKind::Count, _) | (_, None) => {
                ("CNT", point.clone(), format!("(ONCE{bound} ({inner} AND tp({point})))"))
            }
            (AggregateKind::Sum, Some(first)) => ("SUM", first, format!("(ONCE{bound} ({inner} AND tp({point})))")),
            (AggregateKind::Min, Some(first)) => ("MIN", first, format!("(ONCE{bound} {inner})")),
            (AggregateKind::Max, Some(first)) => ("MAX", first, format!("(ONCE{bound} {inner})")),
            (AggregateKind::Average, Some(first)) => ("AVG", first, format!("(ONCE{bound} ({inner} AND tp({point})))")),
            (AggregateKind::Latest, Some(_)) => {
                return Err("it uses `latest`, which MFOTL cannot express".to_owned());
            }
        };
        let group = if group.is_empty() { String::new() } else { format!("; {}", group.join(", ")) };
        Ok(format!("({number} <- {word} {of}{group} {inner})"))
    }
}

fn write_comparison(comparison: Comparison, left: &str, right: &str) -> String {
    match comparison {
        Comparison::Unequal => format!("(NOT ({left} = {right}))"),
        other => format!("({left} {} {right})", other.symbol()),
    }
}

fn write_term(term: &Term) -> Result<String, String> {
    match term {
        Term::Var(name) => Ok(to_variable_name(name)),
        Term::Value(value) => Ok(write_constant(value)),
        Term::Any => Err("`_` is compared".to_owned()),
    }
}

fn write_bound(interval: Interval) -> Result<String, String> {
    let span = |span: Span| -> Result<String, String> {
        const SECOND: u64 = 1_000_000_000;
        match span.0 % SECOND {
            0 => Ok(format!("{}s", span.0 / SECOND)),
            _ => Err("it has a bound in fractions of a second".to_owned()),
        }
    };
    match interval {
        interval if interval.is_unbounded() => Ok(String::new()),
        Interval::Steps { .. } => Err("it has a bound in steps; MonPoly supports bounds in time only".to_owned()),
        Interval::Time { from, to: None } => Ok(format!("[{},*)", span(from)?)),
        Interval::Time { from, to: Some(to) } => Ok(format!("[{},{}]", span(from)?, span(to)?)),
    }
}

/// Returns a variable name that MonPoly can read.
fn to_variable_name(name: &str) -> String {
    format!("x_{}", to_identifier(name))
}

fn to_predicate_name(name: &str) -> String {
    to_identifier(name)
}

fn to_identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

fn write_constant(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.get().to_string(),
        Value::Bool(value) => format!("\"{value}\""),
        // MonPoly's strings have no escapes.
        Value::Text(text) => format!("\"{}\"", text.replace('"', "'").replace(['\n', '\r'], " ")),
    }
}

fn write_log(trace: &FactTrace, signature: &Signature) -> String {
    let mut text = String::new();
    for (now, facts) in trace.dated_events() {
        let _ = write!(text, "@{}", now.0.div_euclid(1_000_000_000));
        for fact in facts {
            let _ = write!(text, " {}({})", to_predicate_name(&fact.name), write_values(fact, signature));
        }
        text.push_str(";\n");
    }
    text
}

fn write_values(fact: &Fact, signature: &Signature) -> String {
    let kinds = signature.get(&fact.name).map_or(&[][..], Vec::as_slice);
    let value = |(value, kind): (&Value, &MfotlType)| match (value, kind) {
        (Value::Integer(number), MfotlType::Float) => format!("{number}.0"),
        (Value::Integer(_) | Value::Decimal(_), MfotlType::String) => format!("\"{value}\""),
        (value, _) => write_constant(value),
    };
    fact.values.iter().zip(kinds).map(value).collect::<Vec<_>>().join(",")
}

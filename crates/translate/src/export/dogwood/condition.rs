//! The violations of a property, as conditions on the history.
//!
//! A condition of Dogwood is a conjunction, read from left to right: premises that bind variables come first, then
//! comparisons and negations. So the violations of a property are written as alternatives, each of them a conjunction.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{
    Aggregate, AggregateKind, Arena, Atom, Binary, Comparison, Formula, Interval, Measure, Node, Quantifier, Term,
    Unary, Value,
};

use super::super::SafetyProperty;
use super::conjunction::{BoundVariable, Conjunction, any_of, negate, product, wrap_alternatives};
use super::{DogwoodType, FactRecords, MAX_ALTERNATIVES, UNBOUNDED_WINDOW, write_literal};

/// Returns the conditions under which an event violates a property: one of them is enough.
pub(super) fn write_conditions(safety: &SafetyProperty<'_>, shapes: &FactRecords) -> Result<Vec<String>, String> {
    let mut writer = ConditionWriter { arena: &safety.arena, shapes, scope: Vec::new(), used: Vec::new() };
    let chosen: Vec<BoundVariable> = safety.variables.iter().map(|name| writer.bind(name, safety.body)).collect();
    let mut found = writer.find_alternatives(safety.body, false)?;
    for conjunction in &mut found {
        conjunction.chosen.extend(chosen.iter().cloned());
    }
    found.into_iter().map(|conjunction| conjunction.write_text()).collect()
}

/// Writes the conditions of one property.
struct ConditionWriter<'a> {
    arena: &'a Arena,
    shapes: &'a FactRecords,
    /// The variables in scope, the innermost last.
    scope: Vec<(Arc<str>, BoundVariable)>,
    used: Vec<String>,
}

impl ConditionWriter<'_> {
    /// Binds a variable under a unique name.
    fn bind(&mut self, name: &Arc<str>, body: Formula) -> BoundVariable {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let mut unique = format!("x_{plain}");
        while self.used.contains(&unique) {
            unique.push('_');
        }
        self.used.push(unique.clone());
        let kind = find_type(self.arena, self.shapes, body, name).unwrap_or(DogwoodType::String);
        let chosen = BoundVariable { name: unique, kind };
        self.scope.push((Arc::clone(name), chosen.clone()));
        chosen
    }

    /// Returns the alternatives in which a formula, or its negation, holds.
    fn find_alternatives(&mut self, f: Formula, positive: bool) -> Result<Vec<Conjunction>, String> {
        let arena = self.arena;
        let found = match &arena[f] {
            Node::True if positive => vec![Conjunction::default()],
            Node::False if !positive => vec![Conjunction::default()],
            Node::True | Node::False => Vec::new(),
            Node::Fact(atom) => {
                let (text, variables) = self.write_fact(atom)?;
                if positive {
                    Conjunction::from_premise(text, variables)
                } else {
                    Conjunction::from_filter(format!("!{text}"), variables)
                }
            }
            Node::Compare(comparison, left, right) => {
                let mut variables = BTreeSet::new();
                let text = self.write_comparison(*comparison, left, right, &mut variables)?;
                Conjunction::from_filter(write_sign(text, positive), variables)
            }
            Node::Measure(comparison, left, right) => {
                let mut variables = BTreeSet::new();
                let (left, right) =
                    (self.write_measure(left, &mut variables)?, self.write_measure(right, &mut variables)?);
                Conjunction::from_filter(
                    write_sign(format!("{left} {} {right}", symbol(*comparison)), positive),
                    variables,
                )
            }
            Node::Not(g) => self.find_alternatives(*g, !positive)?,
            Node::And(list) if positive => self.conjoin(list, true)?,
            Node::Or(list) if !positive => self.conjoin(list, false)?,
            Node::And(list) | Node::Or(list) => self.disjoin(list, positive)?,
            Node::Implies(left, right) if positive => {
                let mut found = self.find_alternatives(*left, false)?;
                found.extend(self.find_alternatives(*right, true)?);
                found
            }
            Node::Implies(left, right) => {
                product(&self.find_alternatives(*left, true)?, &self.find_alternatives(*right, false)?)?
            }
            Node::Iff(left, right) => {
                let mut found =
                    product(&self.find_alternatives(*left, true)?, &self.find_alternatives(*right, positive)?)?;
                found.extend(product(
                    &self.find_alternatives(*left, false)?,
                    &self.find_alternatives(*right, !positive)?,
                )?);
                found
            }
            Node::Unary(operator, interval, g) => {
                let (word, inside) = match operator {
                    Unary::Once => ("formerly", true),
                    Unary::Historically => ("formerly", false),
                    Unary::Previous => ("previous", true),
                    Unary::WeakPrevious => ("previous", false),
                    Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => {
                        return Err(looks_ahead_reason());
                    }
                };
                let within = if word == "previous" { UNBOUNDED_WINDOW.to_owned() } else { write_window(*interval)? };
                let inner = self.find_alternatives(*g, inside)?;
                wrap_alternatives(&inner, &BTreeSet::new(), inside == positive, |text| {
                    format!("{word} within {within} ({text})")
                })?
            }
            Node::Binary(operator, interval, left, right) => {
                let inside = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(looks_ahead_reason()),
                };
                let (within, left) = (write_window(*interval)?, self.find_alternatives(*left, inside)?);
                let needed: BTreeSet<String> = left.iter().flat_map(Conjunction::free_variables).collect();
                let left = any_of(&left)?;
                let right = self.find_alternatives(*right, inside)?;
                let since = |text| format!("({left}) since within {within} ({text})");
                wrap_alternatives(&right, &needed, inside == positive, since)?
            }
            Node::Quantified(quantifier, variables, body) => {
                let inside = *quantifier == Quantifier::Exists;
                let before = self.scope.len();
                let chosen: Vec<BoundVariable> = variables.iter().map(|name| self.bind(name, *body)).collect();
                let mut inner = self.find_alternatives(*body, inside)?;
                self.scope.truncate(before);
                inner.iter_mut().for_each(|conjunction| conjunction.chosen.extend(chosen.iter().cloned()));
                if inside == positive { inner } else { negate(&inner)? }
            }
        };
        if found.len() > MAX_ALTERNATIVES {
            return Err(format!(
                "it has more than {MAX_ALTERNATIVES} ways to be violated, each of which would be a statement"
            ));
        }
        Ok(found)
    }

    fn conjoin(&mut self, list: &[Formula], positive: bool) -> Result<Vec<Conjunction>, String> {
        let mut found = vec![Conjunction::default()];
        for part in list {
            found = product(&found, &self.find_alternatives(*part, positive)?)?;
        }
        Ok(found)
    }

    fn disjoin(&mut self, list: &[Formula], positive: bool) -> Result<Vec<Conjunction>, String> {
        let mut found = Vec::new();
        for part in list {
            found.extend(self.find_alternatives(*part, positive)?);
        }
        Ok(found)
    }

    fn find_variable(&self, name: &Arc<str>) -> Result<&BoundVariable, String> {
        let found = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, chosen)| chosen);
        found.ok_or_else(|| format!("the variable `{name}` is not bound"))
    }

    fn write_fact(&self, atom: &Atom) -> Result<(String, BTreeSet<String>), String> {
        let shape = self.shapes.get(&atom.name).ok_or_else(|| format!("unknown fact `{}`", atom.name))?;
        if let Some(place) = shape.kinds.iter().position(|kind| *kind == Some(DogwoodType::None)) {
            return Err(format!(
                "value {} of `{}` has several types or is not a whole number; Dogwood needs one type per field",
                place + 1,
                atom.name
            ));
        }
        let mut variables = BTreeSet::new();
        let mut fields = vec![format!("input.{}.holds: true", shape.field)];
        for (place, term) in atom.terms.iter().enumerate() {
            let value = match term {
                Term::Any => "*".to_owned(),
                Term::Value(value) => write_literal(value)?,
                Term::Var(name) => {
                    let chosen = self.find_variable(name)?;
                    variables.insert(chosen.name.clone());
                    chosen.name.clone()
                }
            };
            fields.push(format!("input.{}.v{place}: {value}", shape.field));
        }
        Ok((format!("Lictor::Action::\"Step\"::request{{ {} }}", fields.join(", ")), variables))
    }

    fn write_comparison(
        &self,
        comparison: Comparison,
        left: &Term,
        right: &Term,
        variables: &mut BTreeSet<String>,
    ) -> Result<String, String> {
        let is_order = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        let (left, right) = (self.write_term(left, is_order, variables)?, self.write_term(right, is_order, variables)?);
        Ok(format!("{left} {} {right}", symbol(comparison)))
    }

    fn write_term(&self, term: &Term, is_order: bool, variables: &mut BTreeSet<String>) -> Result<String, String> {
        let order = || "it orders values that are not whole numbers; Dogwood orders whole numbers only".to_owned();
        match term {
            Term::Any => Err("`_` is compared".to_owned()),
            Term::Value(value) if is_order && !matches!(value, Value::Integer(_)) => Err(order()),
            Term::Value(value) => write_literal(value),
            Term::Var(name) => {
                let chosen = self.find_variable(name)?;
                if is_order && chosen.kind != DogwoodType::Long {
                    return Err(order());
                }
                variables.insert(chosen.name.clone());
                Ok(chosen.name.clone())
            }
        }
    }

    fn write_measure(&mut self, measure: &Measure, variables: &mut BTreeSet<String>) -> Result<String, String> {
        match measure {
            Measure::Term(term) => self.write_term(term, true, variables),
            Measure::Computed(..) => Err("it computes with numbers, which Dogwood cannot express".to_owned()),
            Measure::Aggregate(aggregate) => self.write_aggregate(aggregate, variables),
        }
    }

    /// Writes an aggregate: Lictor's over the steps of a window is Dogwood's over their time points.
    fn write_aggregate(&mut self, aggregate: &Aggregate, outside: &mut BTreeSet<String>) -> Result<String, String> {
        let Aggregate { kind, interval, variables, body } = aggregate;
        let within = write_window(*interval)?;
        let before = self.scope.len();
        let mut chosen: Vec<BoundVariable> = variables.iter().map(|name| self.bind(name, *body)).collect();
        let inner = self.find_alternatives(*body, true)?;
        self.scope.truncate(before);
        let [inner] = &inner[..] else {
            return Err("it aggregates over alternatives; Dogwood has no `or` about the past".to_owned());
        };
        let names: BTreeSet<String> = chosen.iter().map(|chosen| chosen.name.clone()).collect();
        let known = inner.bound_variables();
        if let Some(open) = names.iter().find(|name| !known.contains(*name)) {
            return Err(format!("no required fact binds `{open}`"));
        }
        outside.extend(inner.free_variables().into_iter().filter(|name| !names.contains(name)));
        let first = chosen.first().cloned();
        let text = inner.write_text()?;
        let time = format!("at_{}", self.used.len());
        self.used.push(time.clone());
        let word = match (kind, first) {
            (AggregateKind::Count, _) => "count".to_owned(),
            (AggregateKind::Sum, Some(first)) if first.kind == DogwoodType::Long => format!("sum {}", first.name),
            (AggregateKind::Sum, _) => return Err("it sums values that are not whole numbers".to_owned()),
            (AggregateKind::Distinct, Some(first)) if chosen.len() == 1 => {
                let kind = first.kind.name();
                return Ok(format!("(count for ({}: {kind}). where (formerly within {within} ({text})))", first.name));
            }
            _ => {
                let word = aggregate_name(*kind);
                return Err(format!("it uses `{word}`, which Dogwood cannot express"));
            }
        };
        let binders: Vec<String> =
            chosen.drain(..).map(|chosen| format!("({}: {})", chosen.name, chosen.kind.name())).collect();
        let binders: Vec<String> = binders.into_iter().chain([format!("({time}: Timepoint)")]).collect();
        Ok(format!("({word} for {}. where (formerly within {within} ({text} && tp({time}))))", binders.join(", ")))
    }
}

fn write_sign(text: String, positive: bool) -> String {
    if positive { text } else { format!("!({text})") }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        other => other.symbol(),
    }
}

fn aggregate_name(kind: AggregateKind) -> &'static str {
    AggregateKind::ALL.iter().find(|(known, _)| *known == kind).map_or("", |(_, name)| name)
}

fn looks_ahead_reason() -> String {
    "it looks ahead".to_owned()
}

/// Returns a bound as a window, which begins now and is measured in seconds.
fn write_window(interval: Interval) -> Result<String, String> {
    match interval {
        interval if interval.is_unbounded() => Ok(UNBOUNDED_WINDOW.to_owned()),
        Interval::Steps { .. } => Err("it has a bound in steps; Dogwood supports windows of time only".to_owned()),
        Interval::Time { from, .. } if from.0 > 0 => {
            Err("it has a bound that does not begin now; windows of Dogwood always do".to_owned())
        }
        Interval::Time { to: None, .. } => Ok(UNBOUNDED_WINDOW.to_owned()),
        // Times are whole seconds, so that a fraction at the end of a window makes no difference.
        Interval::Time { to: Some(to), .. } => Ok(format!("{}s", to.0 / 1_000_000_000)),
    }
}

/// Returns the type of a variable: that of the first place where a fact has it.
fn find_type(arena: &Arena, shapes: &FactRecords, f: Formula, variable: &Arc<str>) -> Option<DogwoodType> {
    if let Node::Fact(atom) = &arena[f] {
        let place = atom.terms.iter().position(|term| matches!(term, Term::Var(name) if name == variable))?;
        return shapes.get(&atom.name).and_then(|shape| shape.kinds.get(place).copied().flatten());
    }
    arena[f].operands().iter().find_map(|operand| find_type(arena, shapes, *operand, variable))
}

//! What breaks a property, as conditions on the history.
//!
//! A condition of Dogwood is a conjunction, read from left to right: what gives variables their values comes first, then
//! what compares or denies them. So what breaks a property is written as alternatives, each of them a conjunction.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{
    Aggregate, AggregateKind, Arena, Atom, Binary, Comparison, Formula, Interval, Measure, Node, Quantifier, Term,
    Unary, Value,
};

use super::super::Safety;
use super::conjunction::{Chosen, Conjunction, closed, denied, happened, product};
use super::{Kind, MOST, Shapes, WHOLE, literal};

/// The conditions under which an event breaks a property: one of them is enough.
pub(super) fn statements(safety: &Safety<'_>, shapes: &Shapes) -> Result<Vec<String>, String> {
    let mut writer = Writer { arena: &safety.arena, shapes, scope: Vec::new(), used: Vec::new() };
    let chosen: Vec<Chosen> = safety.variables.iter().map(|name| writer.bind(name, safety.body)).collect();
    let mut found = writer.alternatives(safety.body, false)?;
    for conjunction in &mut found {
        conjunction.chosen.extend(chosen.iter().cloned());
    }
    found.into_iter().map(|conjunction| conjunction.text()).collect()
}

struct Writer<'a> {
    arena: &'a Arena,
    shapes: &'a Shapes,
    /// The variables in scope, the innermost last.
    scope: Vec<(Arc<str>, Chosen)>,
    used: Vec<String>,
}

impl Writer<'_> {
    /// A variable under a name of its own.
    fn bind(&mut self, name: &Arc<str>, body: Formula) -> Chosen {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let mut unique = format!("x_{plain}");
        while self.used.contains(&unique) {
            unique.push('_');
        }
        self.used.push(unique.clone());
        let kind = kind(self.arena, self.shapes, body, name).unwrap_or(Kind::String);
        let chosen = Chosen { name: unique, kind };
        self.scope.push((Arc::clone(name), chosen.clone()));
        chosen
    }

    /// The ways in which a formula, or its negation, holds.
    fn alternatives(&mut self, f: Formula, positive: bool) -> Result<Vec<Conjunction>, String> {
        let arena = self.arena;
        let found = match &arena[f] {
            Node::True if positive => vec![Conjunction::default()],
            Node::False if !positive => vec![Conjunction::default()],
            Node::True | Node::False => Vec::new(),
            Node::Fact(atom) => {
                let (text, variables) = self.fact(atom)?;
                if positive {
                    Conjunction::given(text, variables)
                } else {
                    Conjunction::filter(format!("!{text}"), variables)
                }
            }
            Node::Compare(comparison, left, right) => {
                let mut variables = BTreeSet::new();
                let text = self.comparison(*comparison, left, right, &mut variables)?;
                Conjunction::filter(signed(text, positive), variables)
            }
            Node::Measure(comparison, left, right) => {
                let mut variables = BTreeSet::new();
                let (left, right) = (self.measure(left, &mut variables)?, self.measure(right, &mut variables)?);
                Conjunction::filter(signed(format!("{left} {} {right}", symbol(*comparison)), positive), variables)
            }
            Node::Not(g) => self.alternatives(*g, !positive)?,
            Node::And(list) if positive => self.all(list, true)?,
            Node::Or(list) if !positive => self.all(list, false)?,
            Node::And(list) | Node::Or(list) => self.any(list, positive)?,
            Node::Implies(left, right) if positive => {
                let mut found = self.alternatives(*left, false)?;
                found.extend(self.alternatives(*right, true)?);
                found
            }
            Node::Implies(left, right) => {
                product(&self.alternatives(*left, true)?, &self.alternatives(*right, false)?)?
            }
            Node::Iff(left, right) => {
                let mut found = product(&self.alternatives(*left, true)?, &self.alternatives(*right, positive)?)?;
                found.extend(product(&self.alternatives(*left, false)?, &self.alternatives(*right, !positive)?)?);
                found
            }
            Node::Unary(operator, interval, g) => {
                let (word, inside) = match operator {
                    Unary::Once => ("formerly", true),
                    Unary::Historically => ("formerly", false),
                    Unary::Previous => ("previous", true),
                    Unary::WeakPrevious => ("previous", false),
                    Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => return Err(ahead()),
                };
                let within = if word == "previous" { WHOLE.to_owned() } else { window(*interval)? };
                let inner = self.alternatives(*g, inside)?;
                happened(&inner, &BTreeSet::new(), inside == positive, |text| {
                    format!("{word} within {within} ({text})")
                })?
            }
            Node::Binary(operator, interval, left, right) => {
                let inside = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(ahead()),
                };
                let (within, left) = (window(*interval)?, self.alternatives(*left, inside)?);
                let needed: BTreeSet<String> = left.iter().flat_map(Conjunction::free).collect();
                let left = closed(&left)?;
                let right = self.alternatives(*right, inside)?;
                let since = |text| format!("({left}) since within {within} ({text})");
                happened(&right, &needed, inside == positive, since)?
            }
            Node::Quantified(quantifier, variables, body) => {
                let inside = *quantifier == Quantifier::Exists;
                let before = self.scope.len();
                let chosen: Vec<Chosen> = variables.iter().map(|name| self.bind(name, *body)).collect();
                let mut inner = self.alternatives(*body, inside)?;
                self.scope.truncate(before);
                inner.iter_mut().for_each(|conjunction| conjunction.chosen.extend(chosen.iter().cloned()));
                if inside == positive { inner } else { denied(&inner)? }
            }
        };
        if found.len() > MOST {
            return Err(format!("it can be broken in more than {MOST} ways, and each would be a statement"));
        }
        Ok(found)
    }

    fn all(&mut self, list: &[Formula], positive: bool) -> Result<Vec<Conjunction>, String> {
        let mut found = vec![Conjunction::default()];
        for part in list {
            found = product(&found, &self.alternatives(*part, positive)?)?;
        }
        Ok(found)
    }

    fn any(&mut self, list: &[Formula], positive: bool) -> Result<Vec<Conjunction>, String> {
        let mut found = Vec::new();
        for part in list {
            found.extend(self.alternatives(*part, positive)?);
        }
        Ok(found)
    }

    fn variable(&self, name: &Arc<str>) -> Result<&Chosen, String> {
        let found = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, chosen)| chosen);
        found.ok_or_else(|| format!("nothing binds `{name}`"))
    }

    fn fact(&self, atom: &Atom) -> Result<(String, BTreeSet<String>), String> {
        let shape = self.shapes.get(&atom.name).ok_or_else(|| format!("`{}` is not known", atom.name))?;
        if let Some(place) = shape.kinds.iter().position(|kind| *kind == Some(Kind::None)) {
            return Err(format!(
                "value {} of `{}` is not always of one type, or no whole number, and Dogwood has a type for each field",
                place + 1,
                atom.name
            ));
        }
        let mut variables = BTreeSet::new();
        let mut fields = vec![format!("input.{}.holds: true", shape.field)];
        for (place, term) in atom.terms.iter().enumerate() {
            let value = match term {
                Term::Any => "*".to_owned(),
                Term::Value(value) => literal(value)?,
                Term::Var(name) => {
                    let chosen = self.variable(name)?;
                    variables.insert(chosen.name.clone());
                    chosen.name.clone()
                }
            };
            fields.push(format!("input.{}.v{place}: {value}", shape.field));
        }
        Ok((format!("Lictor::Action::\"Step\"::request{{ {} }}", fields.join(", ")), variables))
    }

    fn comparison(
        &self,
        comparison: Comparison,
        left: &Term,
        right: &Term,
        variables: &mut BTreeSet<String>,
    ) -> Result<String, String> {
        let is_order = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
        let (left, right) = (self.term(left, is_order, variables)?, self.term(right, is_order, variables)?);
        Ok(format!("{left} {} {right}", symbol(comparison)))
    }

    fn term(&self, term: &Term, is_order: bool, variables: &mut BTreeSet<String>) -> Result<String, String> {
        let order = || "it compares by order what is no whole number, and Dogwood orders whole numbers only".to_owned();
        match term {
            Term::Any => Err("`_` is compared".to_owned()),
            Term::Value(value) if is_order && !matches!(value, Value::Integer(_)) => Err(order()),
            Term::Value(value) => literal(value),
            Term::Var(name) => {
                let chosen = self.variable(name)?;
                if is_order && chosen.kind != Kind::Long {
                    return Err(order());
                }
                variables.insert(chosen.name.clone());
                Ok(chosen.name.clone())
            }
        }
    }

    fn measure(&mut self, measure: &Measure, variables: &mut BTreeSet<String>) -> Result<String, String> {
        match measure {
            Measure::Term(term) => self.term(term, true, variables),
            Measure::Computed(..) => Err("it computes with numbers, which Dogwood does not do yet".to_owned()),
            Measure::Aggregate(aggregate) => self.aggregate(aggregate, variables),
        }
    }

    /// What Lictor gathers over the steps of a window, Dogwood gathers over their time points.
    fn aggregate(&mut self, aggregate: &Aggregate, outside: &mut BTreeSet<String>) -> Result<String, String> {
        let Aggregate { kind, interval, variables, body } = aggregate;
        let within = window(*interval)?;
        let before = self.scope.len();
        let mut chosen: Vec<Chosen> = variables.iter().map(|name| self.bind(name, *body)).collect();
        let inner = self.alternatives(*body, true)?;
        self.scope.truncate(before);
        let [inner] = &inner[..] else {
            return Err("it gathers over alternatives, and Dogwood has no `or` about the past".to_owned());
        };
        let names: BTreeSet<String> = chosen.iter().map(|chosen| chosen.name.clone()).collect();
        let known = inner.bound();
        if let Some(open) = names.iter().find(|name| !known.contains(*name)) {
            return Err(format!("no fact that must hold gives `{open}` a value"));
        }
        outside.extend(inner.free().into_iter().filter(|name| !names.contains(name)));
        let first = chosen.first().cloned();
        let text = inner.text()?;
        let time = format!("at_{}", self.used.len());
        self.used.push(time.clone());
        let word = match (kind, first) {
            (AggregateKind::Count, _) => "count".to_owned(),
            (AggregateKind::Sum, Some(first)) if first.kind == Kind::Long => format!("sum {}", first.name),
            (AggregateKind::Sum, _) => return Err("it adds up what is no whole number".to_owned()),
            (AggregateKind::Distinct, Some(first)) if chosen.len() == 1 => {
                let kind = first.kind.name();
                return Ok(format!("(count for ({}: {kind}). where (formerly within {within} ({text})))", first.name));
            }
            _ => {
                let word = kind_name(*kind);
                return Err(format!("it asks for `{word}`, for which Dogwood has no aggregate"));
            }
        };
        let binders: Vec<String> =
            chosen.drain(..).map(|chosen| format!("({}: {})", chosen.name, chosen.kind.name())).collect();
        let binders: Vec<String> = binders.into_iter().chain([format!("({time}: Timepoint)")]).collect();
        Ok(format!("({word} for {}. where (formerly within {within} ({text} && tp({time}))))", binders.join(", ")))
    }
}

fn signed(text: String, positive: bool) -> String {
    if positive { text } else { format!("!({text})") }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        other => other.symbol(),
    }
}

fn kind_name(kind: AggregateKind) -> &'static str {
    AggregateKind::ALL.iter().find(|(known, _)| *known == kind).map_or("", |(_, name)| name)
}

fn ahead() -> String {
    "it looks ahead".to_owned()
}

/// A bound as a window, which begins now and is measured in seconds.
fn window(interval: Interval) -> Result<String, String> {
    match interval {
        interval if interval.is_unbounded() => Ok(WHOLE.to_owned()),
        Interval::Steps { .. } => Err("it has a bound in steps, and Dogwood knows windows of time only".to_owned()),
        Interval::Time { from, .. } if from.0 > 0 => {
            Err("it has a bound that does not begin now, and windows of Dogwood do".to_owned())
        }
        Interval::Time { to: None, .. } => Ok(WHOLE.to_owned()),
        // Times are whole seconds, so that a fraction at the end of a window makes no difference.
        Interval::Time { to: Some(to), .. } => Ok(format!("{}s", to.0 / 1_000_000_000)),
    }
}

/// The type of a variable: that of the first place where a fact holds it.
fn kind(arena: &Arena, shapes: &Shapes, f: Formula, variable: &Arc<str>) -> Option<Kind> {
    if let Node::Fact(atom) = &arena[f] {
        let place = atom.terms.iter().position(|term| matches!(term, Term::Var(name) if name == variable))?;
        return shapes.get(&atom.name).and_then(|shape| shape.kinds.get(place).copied().flatten());
    }
    arena[f].operands().iter().find_map(|operand| kind(arena, shapes, *operand, variable))
}

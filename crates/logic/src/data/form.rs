//! Formulas with negations written inwards and a slot for every variable.

use std::sync::Arc;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::compile_error::CompileError;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::Interval;
use crate::measure::{AggregateKind, Arithmetic, Measure};
use crate::term::{Atom, Term};
use crate::value::Value;

/// A formula about the past and the present, with slots for variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    True,
    False,
    Fact {
        name: usize,
        arguments: Vec<FormTerm>,
    },
    Terms(Comparison, FormTerm, FormTerm),
    Measures(Comparison, Amount, Amount),
    Not(Box<Form>),
    All(Vec<Form>),
    Any(Vec<Form>),
    /// Binds these slots.
    Exists(Vec<usize>, Box<Form>),
    Once(Interval, Box<Form>),
    Since(Interval, Box<Form>, Box<Form>),
    Previous(Box<Form>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum FormTerm {
    Any,
    Value(Value),
    Slot(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Amount {
    Term(FormTerm),
    Computed(Arithmetic, Box<Amount>, Box<Amount>),
    /// The slots that are bound inside; the first is aggregated.
    AggregateTable(AggregateKind, Interval, Vec<usize>, Box<Form>),
}

/// Builds forms of formulas.
pub(super) struct FormBuilder<'a> {
    arena: &'a Arena,
    pub(super) names: Vec<Arc<str>>,
    pub(super) slots: usize,
    /// For each slot, the name of its variable.
    pub(super) spelt: Vec<Arc<str>>,
    /// The variables in scope, the innermost last.
    scope: Vec<(Arc<str>, usize)>,
    /// In how many equivalences the present part is, and how many parts were built there.
    equivalences: usize,
    written_parts: usize,
}

/// The most parts of the equivalences of a form. Each is written out as two alternatives, so a chain doubles with each.
const MAX_WRITTEN_PARTS: usize = 2000;

impl<'a> FormBuilder<'a> {
    pub(super) fn new(arena: &'a Arena) -> FormBuilder<'a> {
        FormBuilder {
            arena,
            names: Vec::new(),
            slots: 0,
            spelt: Vec::new(),
            scope: Vec::new(),
            equivalences: 0,
            written_parts: 0,
        }
    }

    /// Binds a variable and returns its slot.
    pub(super) fn bind(&mut self, name: &Arc<str>) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.spelt.push(name.clone());
        self.scope.push((name.clone(), slot));
        slot
    }

    /// Returns the form of a formula, or of its negation.
    pub(super) fn build_form(&mut self, f: Formula, positive: bool) -> Result<Form, CompileError> {
        let arena = self.arena;
        self.written_parts += usize::from(self.equivalences > 0);
        if self.written_parts > MAX_WRITTEN_PARTS {
            return Err(CompileError::new(
                format!("its equivalences have more than {MAX_WRITTEN_PARTS} parts when they are written out"),
                "make the chain of `<->` a property of its own, without counting and without values across positions",
            ));
        }
        Ok(match &arena[f] {
            Node::True => truth_form(positive),
            Node::False => truth_form(!positive),
            Node::Fact(atom) => apply_sign(self.build_fact(atom)?, positive),
            Node::Compare(comparison, left, right) => {
                apply_sign(Form::Terms(*comparison, self.build_term(left)?, self.build_term(right)?), positive)
            }
            Node::Measure(comparison, left, right) => {
                apply_sign(Form::Measures(*comparison, self.build_amount(left)?, self.build_amount(right)?), positive)
            }
            Node::Not(g) => self.build_form(*g, !positive)?,
            Node::And(list) => self.build_list(list, positive, positive)?,
            Node::Or(list) => self.build_list(list, positive, !positive)?,
            Node::Implies(left, right) => {
                let parts = vec![self.build_form(*left, !positive)?, self.build_form(*right, positive)?];
                if positive { Form::Any(parts) } else { Form::All(parts) }
            }
            Node::Iff(left, right) => {
                self.equivalences += 1;
                let both = vec![self.build_form(*left, true)?, self.build_form(*right, positive)?];
                let neither = vec![self.build_form(*left, false)?, self.build_form(*right, !positive)?];
                self.equivalences -= 1;
                Form::Any(vec![Form::All(both), Form::All(neither)])
            }
            Node::Quantified(quantifier, variables, body) => {
                let is_exists = *quantifier == Quantifier::Exists;
                let before = self.scope.len();
                let slots = variables.iter().map(|name| self.bind(name)).collect();
                // `forall` becomes a negated `exists`.
                let body = self.build_form(*body, is_exists)?;
                self.scope.truncate(before);
                apply_sign(Form::Exists(slots, Box::new(body)), is_exists == positive)
            }
            Node::Unary(operator, interval, g) => match operator {
                Unary::Once => apply_sign(Form::Once(*interval, Box::new(self.build_form(*g, true)?)), positive),
                Unary::Historically => {
                    apply_sign(Form::Once(*interval, Box::new(self.build_form(*g, false)?)), !positive)
                }
                Unary::Previous => apply_sign(Form::Previous(Box::new(self.build_form(*g, true)?)), positive),
                Unary::WeakPrevious => apply_sign(Form::Previous(Box::new(self.build_form(*g, false)?)), !positive),
                Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => return Err(future_error()),
            },
            Node::Binary(operator, interval, left, right) => {
                let wanted = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(future_error()),
                };
                let (left, right) = (self.build_form(*left, wanted)?, self.build_form(*right, wanted)?);
                apply_sign(Form::Since(*interval, Box::new(left), Box::new(right)), wanted == positive)
            }
        })
    }

    fn build_list(&mut self, list: &[Formula], positive: bool, all: bool) -> Result<Form, CompileError> {
        let parts = list.iter().map(|part| self.build_form(*part, positive)).collect::<Result<_, _>>()?;
        Ok(if all { Form::All(parts) } else { Form::Any(parts) })
    }

    fn build_fact(&mut self, atom: &Atom) -> Result<Form, CompileError> {
        let name = self.names.iter().position(|name| *name == atom.name).unwrap_or_else(|| {
            self.names.push(atom.name.clone());
            self.names.len() - 1
        });
        let arguments = atom.terms.iter().map(|term| self.build_term(term)).collect::<Result<_, _>>()?;
        Ok(Form::Fact { name, arguments })
    }

    fn build_term(&self, term: &Term) -> Result<FormTerm, CompileError> {
        match term {
            Term::Any => Ok(FormTerm::Any),
            Term::Value(value) => Ok(FormTerm::Value(value.clone())),
            Term::Var(name) => match self.scope.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, slot)) => Ok(FormTerm::Slot(*slot)),
                None => Err(CompileError::new(
                    format!("variable `{name}` is not bound"),
                    format!("put `forall {name}.` or `exists {name}.` before it, or quote it if it is a value"),
                )),
            },
        }
    }

    fn build_amount(&mut self, measure: &Measure) -> Result<Amount, CompileError> {
        Ok(match measure {
            Measure::Term(term) => Amount::Term(self.build_term(term)?),
            Measure::Computed(sign, left, right) => {
                Amount::Computed(*sign, Box::new(self.build_amount(left)?), Box::new(self.build_amount(right)?))
            }
            Measure::Aggregate(aggregate) => {
                let before = self.scope.len();
                let slots = aggregate.variables.iter().map(|name| self.bind(name)).collect();
                let body = self.build_form(aggregate.body, true)?;
                self.scope.truncate(before);
                Amount::AggregateTable(aggregate.kind, aggregate.interval, slots, Box::new(body))
            }
        })
    }
}

fn truth_form(value: bool) -> Form {
    if value { Form::True } else { Form::False }
}

fn apply_sign(form: Form, positive: bool) -> Form {
    if positive { form } else { Form::Not(Box::new(form)) }
}

fn future_error() -> CompileError {
    CompileError::new(
        "a future operator inside of an aggregate, or over values chosen across positions",
        "use past operators only: state at the later position what must have happened before it",
    )
}

impl Form {
    /// Returns the free slots, in the order of their occurrence.
    pub(super) fn free_slots(&self) -> Vec<usize> {
        let mut free = Vec::new();
        self.visit_free(&mut Vec::new(), &mut free);
        free
    }

    fn visit_free(&self, bound: &mut Vec<usize>, free: &mut Vec<usize>) {
        match self {
            Form::True | Form::False => {}
            Form::Fact { arguments, .. } => arguments.iter().for_each(|argument| argument.visit_free(bound, free)),
            Form::Terms(_, left, right) => [left, right].iter().for_each(|argument| argument.visit_free(bound, free)),
            Form::Measures(_, left, right) => [left, right].iter().for_each(|amount| amount.visit_free(bound, free)),
            Form::Not(inner) | Form::Once(_, inner) | Form::Previous(inner) => inner.visit_free(bound, free),
            Form::All(list) | Form::Any(list) => list.iter().for_each(|part| part.visit_free(bound, free)),
            Form::Since(_, left, right) => {
                right.visit_free(bound, free);
                left.visit_free(bound, free);
            }
            Form::Exists(slots, inner) => {
                let before = bound.len();
                bound.extend(slots);
                inner.visit_free(bound, free);
                bound.truncate(before);
            }
        }
    }

    /// Returns this form with renumbered slots.
    pub(super) fn renumber(&self, number: &mut dyn FnMut(usize) -> usize) -> Form {
        match self {
            Form::True | Form::False => self.clone(),
            Form::Fact { name, arguments } => Form::Fact {
                name: *name,
                arguments: arguments.iter().map(|argument| argument.renumber(number)).collect(),
            },
            Form::Terms(comparison, left, right) => {
                Form::Terms(*comparison, left.renumber(number), right.renumber(number))
            }
            Form::Measures(comparison, left, right) => {
                Form::Measures(*comparison, left.renumber(number), right.renumber(number))
            }
            Form::Not(inner) => Form::Not(Box::new(inner.renumber(number))),
            Form::All(list) => Form::All(list.iter().map(|part| part.renumber(number)).collect()),
            Form::Any(list) => Form::Any(list.iter().map(|part| part.renumber(number)).collect()),
            Form::Exists(slots, inner) => {
                let slots = slots.iter().map(|slot| number(*slot)).collect();
                Form::Exists(slots, Box::new(inner.renumber(number)))
            }
            Form::Once(interval, inner) => Form::Once(*interval, Box::new(inner.renumber(number))),
            Form::Since(interval, left, right) => {
                let right = Box::new(right.renumber(number));
                Form::Since(*interval, Box::new(left.renumber(number)), right)
            }
            Form::Previous(inner) => Form::Previous(Box::new(inner.renumber(number))),
        }
    }
}

impl FormTerm {
    fn visit_free(&self, bound: &[usize], free: &mut Vec<usize>) {
        if let FormTerm::Slot(slot) = self
            && !bound.contains(slot)
            && !free.contains(slot)
        {
            free.push(*slot);
        }
    }

    fn renumber(&self, number: &mut dyn FnMut(usize) -> usize) -> FormTerm {
        match self {
            FormTerm::Slot(slot) => FormTerm::Slot(number(*slot)),
            other => other.clone(),
        }
    }
}

impl Amount {
    pub(super) fn visit_free(&self, bound: &mut Vec<usize>, free: &mut Vec<usize>) {
        match self {
            Amount::Term(argument) => argument.visit_free(bound, free),
            Amount::Computed(_, left, right) => [left, right].iter().for_each(|part| part.visit_free(bound, free)),
            Amount::AggregateTable(_, _, slots, body) => {
                let before = bound.len();
                bound.extend(slots);
                body.visit_free(bound, free);
                bound.truncate(before);
            }
        }
    }

    fn renumber(&self, number: &mut dyn FnMut(usize) -> usize) -> Amount {
        match self {
            Amount::Term(argument) => Amount::Term(argument.renumber(number)),
            Amount::Computed(sign, left, right) => {
                Amount::Computed(*sign, Box::new(left.renumber(number)), Box::new(right.renumber(number)))
            }
            Amount::AggregateTable(kind, interval, slots, body) => {
                let slots = slots.iter().map(|slot| number(*slot)).collect();
                Amount::AggregateTable(*kind, *interval, slots, Box::new(body.renumber(number)))
            }
        }
    }
}

//! Formulas with negations written inwards and a slot for every variable.

use std::sync::Arc;

use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::interval::Interval;
use crate::measure::{AggregateKind, Arithmetic, Measure};
use crate::refusal::CompileError;
use crate::term::{Atom, Comparison, Term, Value};

/// What a formula about the past and the present asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    True,
    False,
    Fact {
        name: usize,
        arguments: Vec<Argument>,
    },
    Terms(Comparison, Argument, Argument),
    Measures(Comparison, Amount, Amount),
    Not(Box<Form>),
    All(Vec<Form>),
    Any(Vec<Form>),
    /// Slots that are bound here.
    Exists(Vec<usize>, Box<Form>),
    Once(Interval, Box<Form>),
    Since(Interval, Box<Form>, Box<Form>),
    Previous(Box<Form>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Argument {
    Any,
    Value(Value),
    Slot(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Amount {
    Term(Argument),
    Computed(Arithmetic, Box<Amount>, Box<Amount>),
    /// The slots that are bound inside, the first being what is gathered.
    Gathered(AggregateKind, Interval, Vec<usize>, Box<Form>),
}

/// Makes forms of a formula.
pub(super) struct Forms<'a> {
    arena: &'a Arena,
    pub(super) names: Vec<Arc<str>>,
    pub(super) slots: usize,
    /// For each slot, how its variable is spelt.
    pub(super) spelt: Vec<Arc<str>>,
    /// The variables that are bound here, the innermost last.
    scope: Vec<(Arc<str>, usize)>,
}

impl<'a> Forms<'a> {
    pub(super) fn new(arena: &'a Arena) -> Forms<'a> {
        Forms { arena, names: Vec::new(), slots: 0, spelt: Vec::new(), scope: Vec::new() }
    }

    /// A slot for a variable that is bound from here on.
    pub(super) fn bind(&mut self, name: &Arc<str>) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.spelt.push(name.clone());
        self.scope.push((name.clone(), slot));
        slot
    }

    /// The form of a formula, or of its negation.
    pub(super) fn form(&mut self, f: Formula, positive: bool) -> Result<Form, CompileError> {
        let arena = self.arena;
        Ok(match &arena[f] {
            Node::True => truth(positive),
            Node::False => truth(!positive),
            Node::Fact(atom) => signed(self.fact(atom)?, positive),
            Node::Compare(comparison, left, right) => {
                signed(Form::Terms(*comparison, self.argument(left)?, self.argument(right)?), positive)
            }
            Node::Measure(comparison, left, right) => {
                signed(Form::Measures(*comparison, self.amount(left)?, self.amount(right)?), positive)
            }
            Node::Not(g) => self.form(*g, !positive)?,
            Node::And(list) => self.list(list, positive, positive)?,
            Node::Or(list) => self.list(list, positive, !positive)?,
            Node::Implies(left, right) => {
                let parts = vec![self.form(*left, !positive)?, self.form(*right, positive)?];
                if positive { Form::Any(parts) } else { Form::All(parts) }
            }
            Node::Iff(left, right) => {
                let both = vec![self.form(*left, true)?, self.form(*right, positive)?];
                let neither = vec![self.form(*left, false)?, self.form(*right, !positive)?];
                Form::Any(vec![Form::All(both), Form::All(neither)])
            }
            Node::Quantified(quantifier, variables, body) => {
                let is_exists = *quantifier == Quantifier::Exists;
                let before = self.scope.len();
                let slots = variables.iter().map(|name| self.bind(name)).collect();
                // `forall` is that there is none for which it fails.
                let body = self.form(*body, is_exists)?;
                self.scope.truncate(before);
                signed(Form::Exists(slots, Box::new(body)), is_exists == positive)
            }
            Node::Unary(operator, interval, g) => match operator {
                Unary::Once => signed(Form::Once(*interval, Box::new(self.form(*g, true)?)), positive),
                Unary::Historically => signed(Form::Once(*interval, Box::new(self.form(*g, false)?)), !positive),
                Unary::Previous => signed(Form::Previous(Box::new(self.form(*g, true)?)), positive),
                Unary::WeakPrevious => signed(Form::Previous(Box::new(self.form(*g, false)?)), !positive),
                Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always => return Err(ahead()),
            },
            Node::Binary(operator, interval, left, right) => {
                let wanted = match operator {
                    Binary::Since => true,
                    Binary::Trigger => false,
                    _ => return Err(ahead()),
                };
                let (left, right) = (self.form(*left, wanted)?, self.form(*right, wanted)?);
                signed(Form::Since(*interval, Box::new(left), Box::new(right)), wanted == positive)
            }
        })
    }

    fn list(&mut self, list: &[Formula], positive: bool, all: bool) -> Result<Form, CompileError> {
        let parts = list.iter().map(|part| self.form(*part, positive)).collect::<Result<_, _>>()?;
        Ok(if all { Form::All(parts) } else { Form::Any(parts) })
    }

    fn fact(&mut self, atom: &Atom) -> Result<Form, CompileError> {
        let name = self.names.iter().position(|name| *name == atom.name).unwrap_or_else(|| {
            self.names.push(atom.name.clone());
            self.names.len() - 1
        });
        let arguments = atom.terms.iter().map(|term| self.argument(term)).collect::<Result<_, _>>()?;
        Ok(Form::Fact { name, arguments })
    }

    fn argument(&self, term: &Term) -> Result<Argument, CompileError> {
        match term {
            Term::Any => Ok(Argument::Any),
            Term::Value(value) => Ok(Argument::Value(value.clone())),
            Term::Var(name) => match self.scope.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, slot)) => Ok(Argument::Slot(*slot)),
                None => Err(CompileError::new(
                    format!("variable `{name}` is not bound"),
                    format!("put `forall {name}.` or `exists {name}.` before it, or quote it if it is a value"),
                )),
            },
        }
    }

    fn amount(&mut self, measure: &Measure) -> Result<Amount, CompileError> {
        Ok(match measure {
            Measure::Term(term) => Amount::Term(self.argument(term)?),
            Measure::Computed(sign, left, right) => {
                Amount::Computed(*sign, Box::new(self.amount(left)?), Box::new(self.amount(right)?))
            }
            Measure::Aggregate(aggregate) => {
                let before = self.scope.len();
                let slots = aggregate.variables.iter().map(|name| self.bind(name)).collect();
                let body = self.form(aggregate.body, true)?;
                self.scope.truncate(before);
                Amount::Gathered(aggregate.kind, aggregate.interval, slots, Box::new(body))
            }
        })
    }
}

fn truth(value: bool) -> Form {
    if value { Form::True } else { Form::False }
}

fn signed(form: Form, positive: bool) -> Form {
    if positive { form } else { Form::Not(Box::new(form)) }
}

fn ahead() -> CompileError {
    CompileError::new(
        "what is counted or chosen across positions looks back, and this looks ahead",
        "state it from the later position: what must have happened by then",
    )
}

impl Form {
    /// The slots that occur and are not bound inside, in the order of their occurrence.
    pub(super) fn free(&self) -> Vec<usize> {
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

    /// The same with other slots.
    pub(super) fn renumbered(&self, number: &mut dyn FnMut(usize) -> usize) -> Form {
        match self {
            Form::True | Form::False => self.clone(),
            Form::Fact { name, arguments } => Form::Fact {
                name: *name,
                arguments: arguments.iter().map(|argument| argument.renumbered(number)).collect(),
            },
            Form::Terms(comparison, left, right) => {
                Form::Terms(*comparison, left.renumbered(number), right.renumbered(number))
            }
            Form::Measures(comparison, left, right) => {
                Form::Measures(*comparison, left.renumbered(number), right.renumbered(number))
            }
            Form::Not(inner) => Form::Not(Box::new(inner.renumbered(number))),
            Form::All(list) => Form::All(list.iter().map(|part| part.renumbered(number)).collect()),
            Form::Any(list) => Form::Any(list.iter().map(|part| part.renumbered(number)).collect()),
            Form::Exists(slots, inner) => {
                let slots = slots.iter().map(|slot| number(*slot)).collect();
                Form::Exists(slots, Box::new(inner.renumbered(number)))
            }
            Form::Once(interval, inner) => Form::Once(*interval, Box::new(inner.renumbered(number))),
            Form::Since(interval, left, right) => {
                let right = Box::new(right.renumbered(number));
                Form::Since(*interval, Box::new(left.renumbered(number)), right)
            }
            Form::Previous(inner) => Form::Previous(Box::new(inner.renumbered(number))),
        }
    }
}

impl Argument {
    fn visit_free(&self, bound: &[usize], free: &mut Vec<usize>) {
        if let Argument::Slot(slot) = self
            && !bound.contains(slot)
            && !free.contains(slot)
        {
            free.push(*slot);
        }
    }

    fn renumbered(&self, number: &mut dyn FnMut(usize) -> usize) -> Argument {
        match self {
            Argument::Slot(slot) => Argument::Slot(number(*slot)),
            other => other.clone(),
        }
    }
}

impl Amount {
    pub(super) fn visit_free(&self, bound: &mut Vec<usize>, free: &mut Vec<usize>) {
        match self {
            Amount::Term(argument) => argument.visit_free(bound, free),
            Amount::Computed(_, left, right) => [left, right].iter().for_each(|part| part.visit_free(bound, free)),
            Amount::Gathered(_, _, slots, body) => {
                let before = bound.len();
                bound.extend(slots);
                body.visit_free(bound, free);
                bound.truncate(before);
            }
        }
    }

    fn renumbered(&self, number: &mut dyn FnMut(usize) -> usize) -> Amount {
        match self {
            Amount::Term(argument) => Amount::Term(argument.renumbered(number)),
            Amount::Computed(sign, left, right) => {
                Amount::Computed(*sign, Box::new(left.renumbered(number)), Box::new(right.renumbered(number)))
            }
            Amount::Gathered(kind, interval, slots, body) => {
                let slots = slots.iter().map(|slot| number(*slot)).collect();
                Amount::Gathered(*kind, *interval, slots, Box::new(body.renumbered(number)))
            }
        }
    }
}

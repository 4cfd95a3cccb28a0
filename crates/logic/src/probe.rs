//! What a letter bit asks of the facts of one position.
//!
//! A formula's bits are its distinct questions to a position: does a fact fit this pattern, is there a value such that …
//! A question may hold variables of the quantifier prefix; then each binding of values asks it for itself, and every
//! value that does not occur in the position gives the same answer.

use std::sync::Arc;

use crate::compile::MOST_VARIABLES;
use crate::facts::{Facts, fits, unify};
use crate::formula::{Arena, Formula, Node, Quantifier};
use crate::term::{Atom, Comparison, Term, Value};

/// The value of a prefix variable: one that was seen, or any of the others.
pub(crate) type Binding = [Option<Value>];

/// The same, for a look at values that are not kept.
pub(crate) type Glance<'a> = [Option<&'a Value>; MOST_VARIABLES];

/// What a letter bit asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    /// Does a fact fit?
    Pattern(Pattern),
    /// Is there a choice of values for these variables that makes a formula over one position true?
    Local { variables: Box<[Arc<str>]>, body: Formula },
}

/// An atom whose variables are places in the prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    pub(crate) name: Arc<str>,
    pub(crate) slots: Box<[Argument]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Argument {
    Any,
    Value(Value),
    Variable(usize),
    /// Any value of which all of this is true; by that name it was asked for.
    Where(Arc<str>, Box<[(Comparison, Value)]>),
}

impl Argument {
    /// Does every value that fits the other fit this one?
    fn is_more_general_than(&self, other: &Argument) -> bool {
        match (self, other) {
            (Argument::Any, _) => true,
            (Argument::Where(_, tests), Argument::Value(value)) => passes(tests, value),
            (Argument::Where(_, mine), Argument::Where(_, theirs)) => mine.iter().all(|test| theirs.contains(test)),
            (mine, theirs) => mine == theirs,
        }
    }
}

/// Are all comparisons true of a value?
pub(crate) fn passes(tests: &[(Comparison, Value)], value: &Value) -> bool {
    tests.iter().all(|(comparison, constant)| comparison.holds(value, constant))
}

impl Pattern {
    pub(crate) fn new(atom: &Atom, prefix: &[Arc<str>]) -> Option<Pattern> {
        let argument = |term: &Term| match term {
            Term::Any => Some(Argument::Any),
            Term::Value(value) => Some(Argument::Value(value.clone())),
            Term::Var(name) => prefix.iter().position(|variable| variable == name).map(Argument::Variable),
        };
        let slots = atom.terms.iter().map(argument).collect::<Option<_>>()?;
        Some(Pattern { name: atom.name.clone(), slots })
    }

    /// Does it bind the first value and ask for nothing else?
    pub(crate) fn is_first_value(&self) -> bool {
        matches!(self.slots[..], [Argument::Variable(0)])
    }

    /// Does it ask for a name only, whatever the values?
    pub(crate) fn is_bare(&self) -> bool {
        self.slots.is_empty()
    }

    /// Do the values fit, for a binding?
    pub(crate) fn fits(&self, values: &[Value], binding: &Binding) -> bool {
        self.slots.len() <= values.len()
            && self.slots.iter().zip(values).all(|(argument, value)| match argument {
                Argument::Any => true,
                Argument::Value(wanted) => wanted == value,
                Argument::Variable(index) => binding.get(*index).is_some_and(|bound| bound.as_ref() == Some(value)),
                Argument::Where(_, tests) => passes(tests, value),
            })
    }

    /// Do the values fit, for a binding?
    pub(crate) fn fits_glance(&self, values: &[Value], glance: &Glance<'_>) -> bool {
        self.slots.len() <= values.len()
            && self.slots.iter().zip(values).all(|(argument, value)| match argument {
                Argument::Any => true,
                Argument::Value(wanted) => wanted == value,
                Argument::Variable(index) => glance[*index] == Some(value),
                Argument::Where(_, tests) => passes(tests, value),
            })
    }

    /// The binding under which the values fit, without keeping them.
    pub(crate) fn glance<'a>(&self, values: &'a [Value]) -> Option<Glance<'a>> {
        if self.slots.len() > values.len() {
            return None;
        }
        let mut glance = Glance::default();
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                Argument::Any => {}
                Argument::Value(wanted) if wanted == value => {}
                Argument::Where(_, tests) if passes(tests, value) => {}
                Argument::Variable(index) if glance[*index].is_none_or(|bound| bound == value) => {
                    glance[*index] = Some(value);
                }
                _ => return None,
            }
        }
        Some(glance)
    }

    /// The binding under which the values fit, with nothing for the variables it does not have.
    pub(crate) fn bind(&self, values: &[Value], width: usize) -> Option<Vec<Option<Value>>> {
        if self.slots.len() > values.len() {
            return None;
        }
        let mut binding: Vec<Option<Value>> = vec![None; width];
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                Argument::Any => {}
                Argument::Value(wanted) if wanted == value => {}
                Argument::Where(_, tests) if passes(tests, value) => {}
                Argument::Value(_) | Argument::Where(..) => return None,
                Argument::Variable(index) => match &binding[*index] {
                    None => binding[*index] = Some(value.clone()),
                    Some(bound) if bound == value => {}
                    Some(_) => return None,
                },
            }
        }
        Some(binding)
    }

    /// The value of the only variable, if the other arguments fit.
    #[inline]
    pub(crate) fn single_value<'a>(&self, values: &'a [Value]) -> Option<&'a Value> {
        if let [Argument::Variable(0)] = self.slots[..] {
            return values.first();
        }
        let mut found = None;
        if self.slots.len() > values.len() {
            return None;
        }
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                Argument::Any => {}
                Argument::Value(wanted) if wanted == value => {}
                Argument::Where(_, tests) if passes(tests, value) => {}
                Argument::Variable(_) if found.is_none_or(|other| other == value) => found = Some(value),
                _ => return None,
            }
        }
        found
    }

    /// Does every fact that fits the other fit this one, whatever the binding?
    pub(crate) fn is_more_general_than(&self, other: &Pattern) -> bool {
        self.name == other.name
            && self.slots.len() <= other.slots.len()
            && self.slots.iter().zip(&other.slots).all(|(mine, theirs)| mine.is_more_general_than(theirs))
    }

    /// The variables it holds, as bits.
    pub(crate) fn mask(&self) -> u32 {
        self.slots.iter().fold(0, |mask, argument| match argument {
            Argument::Variable(index) => mask | 1 << index,
            _ => mask,
        })
    }

    /// The atom it asks for under a binding; none if it holds a variable for which no value was seen.
    fn ground(&self, binding: &Binding) -> Option<Atom> {
        let term = |argument: &Argument| match argument {
            Argument::Any | Argument::Where(..) => Some(Term::Any),
            Argument::Value(value) => Some(Term::Value(value.clone())),
            Argument::Variable(index) => binding.get(*index).and_then(|bound| bound.clone()).map(Term::Value),
        };
        let terms = self.slots.iter().map(term).collect::<Option<Box<[Term]>>>()?;
        Some(Atom { name: self.name.clone(), terms })
    }

    /// Do the values that are known of an unknown fact pass what is asked of values?
    fn may_pass(&self, terms: &[Term]) -> bool {
        self.slots.iter().zip(terms).all(|pair| match pair {
            (Argument::Where(_, tests), Term::Value(value)) => passes(tests, value),
            _ => true,
        })
    }

    /// The answer of a position for a binding; none if it is unknown.
    pub(crate) fn answer(&self, facts: &Facts, binding: &Binding) -> Option<bool> {
        let known = facts.known.iter().any(|fact| fact.name == self.name && self.fits(&fact.values, binding));
        if known {
            return Some(true);
        }
        let unknown = facts.unknown.iter().filter(|atom| atom.name == self.name && self.may_pass(&atom.terms));
        let mut possible = unknown.filter(|atom| match self.ground(binding) {
            Some(asked) => unify(&asked, atom),
            // A value that was never seen can only be meant by `_`.
            None => self.slots.iter().zip(&atom.terms).all(|(argument, term)| match (argument, term) {
                (Argument::Variable(index), Term::Value(value)) => binding[*index].as_ref() == Some(value),
                (Argument::Value(wanted), Term::Value(value)) => wanted == value,
                _ => true,
            }),
        });
        if possible.next().is_some() { None } else { Some(false) }
    }
}

/// Answers questions that choose values within one position.
#[derive(Debug)]
pub(crate) struct Local<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) prefix: &'a [Arc<str>],
    pub(crate) binding: &'a Binding,
    pub(crate) facts: &'a Facts,
}

/// A value in a comparison: a real one, one never seen, which is equal to itself alone, or whatever value an unknown
/// fact may hold.
#[derive(Clone, PartialEq)]
enum Datum {
    Value(Value),
    Unseen(usize),
    Unknown,
}

/// The values chosen so far; none is whatever value an unknown fact may hold.
type Chosen = Vec<(Arc<str>, Option<Value>)>;

impl Local<'_> {
    /// Is there a choice of values?
    pub(crate) fn answer(&self, variables: &[Arc<str>], body: Formula) -> Option<bool> {
        let mut chosen = Vec::new();
        self.choose(variables, body, &mut chosen)
    }

    fn choose(&self, variables: &[Arc<str>], body: Formula, chosen: &mut Chosen) -> Option<bool> {
        let [variable, rest @ ..] = variables else { return self.evaluate(body, chosen) };
        // Guarded variables can only take values that occur in the position.
        let mut answer = Some(false);
        for value in self.values() {
            chosen.push((variable.clone(), value));
            let part = self.choose(rest, body, chosen);
            chosen.pop();
            answer = or(answer, part);
            if answer == Some(true) {
                break;
            }
        }
        answer
    }

    /// Every value that occurs in the position, known or unknown, and whatever an unknown fact may hold.
    fn values(&self) -> Vec<Option<Value>> {
        let known = self.facts.known.iter().flat_map(|fact| fact.values.iter().cloned());
        let unknown = self.facts.unknown.iter().flat_map(|atom| atom.terms.iter()).filter_map(|term| match term {
            Term::Value(value) => Some(value.clone()),
            _ => None,
        });
        let any = self.facts.unknown.first().map(|_| None);
        let mut values: Vec<Option<Value>> = known.chain(unknown).map(Some).chain(any).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn evaluate(&self, f: Formula, chosen: &mut Chosen) -> Option<bool> {
        match &self.arena[f] {
            Node::True => Some(true),
            Node::False => Some(false),
            Node::Fact(atom) => self.fact(atom, chosen),
            Node::Compare(comparison, left, right) => {
                compare(*comparison, &self.datum(left, chosen), &self.datum(right, chosen))
            }
            Node::Not(g) => self.evaluate(*g, chosen).map(|truth| !truth),
            Node::And(list) => {
                let mut answer = Some(true);
                for part in list {
                    answer = and(answer, self.evaluate(*part, chosen));
                }
                answer
            }
            Node::Or(list) => {
                let mut answer = Some(false);
                for part in list {
                    answer = or(answer, self.evaluate(*part, chosen));
                }
                answer
            }
            Node::Implies(left, right) => {
                let left = self.evaluate(*left, chosen).map(|truth| !truth);
                or(left, self.evaluate(*right, chosen))
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.evaluate(*left, chosen)?, self.evaluate(*right, chosen)?);
                Some(left == right)
            }
            Node::Quantified(Quantifier::Exists, variables, body) => self.choose(variables, *body, chosen),
            // INVARIANT: the compiler writes every inner `forall` as a negated `exists`, and no temporal operator
            // stands inside of a question to one position.
            Node::Quantified(Quantifier::Forall, ..) | Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => None,
        }
    }

    fn datum(&self, term: &Term, chosen: &Chosen) -> Datum {
        match term {
            Term::Value(value) => Datum::Value(value.clone()),
            Term::Any => Datum::Unseen(usize::MAX),
            Term::Var(name) => {
                if let Some((_, value)) = chosen.iter().rev().find(|(other, _)| other == name) {
                    return value.clone().map_or(Datum::Unknown, Datum::Value);
                }
                let index = self.prefix.iter().position(|variable| variable == name).unwrap_or(usize::MAX);
                match self.binding.get(index) {
                    Some(Some(value)) => Datum::Value(value.clone()),
                    _ => Datum::Unseen(index),
                }
            }
        }
    }

    fn fact(&self, atom: &Atom, chosen: &Chosen) -> Option<bool> {
        let mut unseen = false;
        let terms: Box<[Term]> = atom
            .terms
            .iter()
            .map(|term| match term {
                Term::Any => Term::Any,
                _ => match self.datum(term, chosen) {
                    Datum::Value(value) => Term::Value(value),
                    Datum::Unseen(_) | Datum::Unknown => {
                        unseen = true;
                        Term::Any
                    }
                },
            })
            .collect();
        let asked = Atom { name: atom.name.clone(), terms };
        if !unseen && self.facts.known.iter().any(|fact| fits(&asked, fact)) {
            return Some(true);
        }
        let is_possible = |unknown: &Atom| {
            unify(&asked, unknown)
                && atom.terms.iter().zip(&unknown.terms).all(|(term, given)| {
                    !matches!(given, Term::Value(_))
                        || matches!(term, Term::Any)
                        || matches!(self.datum(term, chosen), Datum::Value(_))
                })
        };
        if self.facts.unknown.iter().any(is_possible) { None } else { Some(false) }
    }
}

fn compare(comparison: Comparison, left: &Datum, right: &Datum) -> Option<bool> {
    match (left, right) {
        (Datum::Unknown, _) | (_, Datum::Unknown) => None,
        (Datum::Value(left), Datum::Value(right)) => Some(comparison.holds(left, right)),
        _ => Some(match comparison {
            Comparison::Equal | Comparison::AtMost | Comparison::AtLeast => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less | Comparison::Greater => false,
        }),
    }
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    and(left.map(|truth| !truth), right.map(|truth| !truth)).map(|truth| !truth)
}

//! The question of a letter bit to the facts of one position.
//!
//! The letter bits of a formula are its distinct questions to a position: does a fact match this pattern, is there a
//! value such that … A question may contain variables of the quantifier prefix. Then it has one answer for each
//! binding, and every value that does not occur in the position gives the same answer.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::facts::{Facts, fits, unify};
use crate::formula::{Formula, Quantifier};
use crate::term::{Atom, Term};
use crate::value::Value;

/// The name of the fact that excuses a position; no formula and no trace can contain it.
pub(crate) const EXCUSED_FACT: &str = "(excused)";

/// The most variables in the quantifier prefix; the compiler refuses more.
pub(crate) const MAX_PREFIX_VARIABLES: usize = 4;

/// The values of the prefix variables; none means any value never seen.
pub(crate) type Binding = [Option<Value>];

/// A [`Binding`] with borrowed values, for look-ups.
pub(crate) type BorrowedBinding<'a> = [Option<&'a Value>; MAX_PREFIX_VARIABLES];

/// The question of a letter bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    /// Does a fact match the pattern?
    Pattern(FactPattern),
    /// Is there a choice of values for these variables that makes a formula over one position true?
    Local { variables: Box<[Arc<str>]>, body: Formula },
}

/// An atom whose variables are indexes in the prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FactPattern {
    pub(crate) name: Arc<str>,
    pub(crate) slots: Box<[PatternTerm]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PatternTerm {
    Any,
    Value(Value),
    Variable(usize),
    /// Any value that passes these comparisons; the name is that of its variable.
    Where(Arc<str>, Box<[(Comparison, Value)]>),
}

impl Probe {
    /// Whether it asks for the fact that excuses a position.
    pub(crate) fn is_excuse(&self) -> bool {
        matches!(self, Probe::Pattern(pattern) if &*pattern.name == EXCUSED_FACT)
    }
}

impl PatternTerm {
    /// Whether every value that matches the other matches this one.
    fn is_more_general_than(&self, other: &PatternTerm) -> bool {
        match (self, other) {
            (PatternTerm::Any, _) => true,
            (PatternTerm::Where(_, tests), PatternTerm::Value(value)) => passes(tests, value),
            (PatternTerm::Where(_, mine), PatternTerm::Where(_, theirs)) => {
                mine.iter().all(|test| theirs.contains(test))
            }
            (mine, theirs) => mine == theirs,
        }
    }
}

/// Whether a value passes all comparisons.
pub(crate) fn passes(tests: &[(Comparison, Value)], value: &Value) -> bool {
    tests.iter().all(|(comparison, constant)| comparison.holds(value, constant))
}

impl FactPattern {
    pub(crate) fn new(atom: &Atom, prefix: &[Arc<str>]) -> Option<FactPattern> {
        let argument = |term: &Term| match term {
            Term::Any => Some(PatternTerm::Any),
            Term::Value(value) => Some(PatternTerm::Value(value.clone())),
            Term::Var(name) => prefix.iter().position(|variable| variable == name).map(PatternTerm::Variable),
        };
        let slots = atom.terms.iter().map(argument).collect::<Option<_>>()?;
        Some(FactPattern { name: atom.name.clone(), slots })
    }

    /// Whether it binds the first value and asks for nothing else.
    pub(crate) fn is_first_value(&self) -> bool {
        matches!(self.slots[..], [PatternTerm::Variable(0)])
    }

    /// Whether it asks for a name only, with any values.
    pub(crate) fn is_bare(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether values match under a binding.
    pub(crate) fn fits(&self, values: &[Value], binding: &Binding) -> bool {
        self.slots.len() <= values.len()
            && self.slots.iter().zip(values).all(|(argument, value)| match argument {
                PatternTerm::Any => true,
                PatternTerm::Value(wanted) => wanted == value,
                PatternTerm::Variable(index) => binding.get(*index).is_some_and(|bound| bound.as_ref() == Some(value)),
                PatternTerm::Where(_, tests) => passes(tests, value),
            })
    }

    /// Whether values match under a borrowed binding.
    pub(crate) fn fits_borrowed(&self, values: &[Value], glance: &BorrowedBinding<'_>) -> bool {
        self.slots.len() <= values.len()
            && self.slots.iter().zip(values).all(|(argument, value)| match argument {
                PatternTerm::Any => true,
                PatternTerm::Value(wanted) => wanted == value,
                PatternTerm::Variable(index) => glance[*index] == Some(value),
                PatternTerm::Where(_, tests) => passes(tests, value),
            })
    }

    /// Returns the binding under which values match, borrowing them.
    pub(crate) fn borrow_binding<'a>(&self, values: &'a [Value]) -> Option<BorrowedBinding<'a>> {
        if self.slots.len() > values.len() {
            return None;
        }
        let mut glance = BorrowedBinding::default();
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                PatternTerm::Any => {}
                PatternTerm::Value(wanted) if wanted == value => {}
                PatternTerm::Where(_, tests) if passes(tests, value) => {}
                PatternTerm::Variable(index) if glance[*index].is_none_or(|bound| bound == value) => {
                    glance[*index] = Some(value);
                }
                _ => return None,
            }
        }
        Some(glance)
    }

    /// Returns the binding under which values match, with none for the variables that the pattern lacks.
    pub(crate) fn bind(&self, values: &[Value], width: usize) -> Option<Vec<Option<Value>>> {
        if self.slots.len() > values.len() {
            return None;
        }
        let mut binding: Vec<Option<Value>> = vec![None; width];
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                PatternTerm::Any => {}
                PatternTerm::Value(wanted) if wanted == value => {}
                PatternTerm::Where(_, tests) if passes(tests, value) => {}
                PatternTerm::Value(_) | PatternTerm::Where(..) => return None,
                PatternTerm::Variable(index) => match &binding[*index] {
                    None => binding[*index] = Some(value.clone()),
                    Some(bound) if bound == value => {}
                    Some(_) => return None,
                },
            }
        }
        Some(binding)
    }

    /// Returns the value of the only variable, if the other arguments match.
    #[inline]
    pub(crate) fn single_value<'a>(&self, values: &'a [Value]) -> Option<&'a Value> {
        if let [PatternTerm::Variable(0)] = self.slots[..] {
            return values.first();
        }
        let mut found = None;
        if self.slots.len() > values.len() {
            return None;
        }
        for (argument, value) in self.slots.iter().zip(values) {
            match argument {
                PatternTerm::Any => {}
                PatternTerm::Value(wanted) if wanted == value => {}
                PatternTerm::Where(_, tests) if passes(tests, value) => {}
                PatternTerm::Variable(_) if found.is_none_or(|other| other == value) => found = Some(value),
                _ => return None,
            }
        }
        found
    }

    /// Whether every fact that matches the other matches this one, under any binding.
    pub(crate) fn is_more_general_than(&self, other: &FactPattern) -> bool {
        self.name == other.name
            && self.slots.len() <= other.slots.len()
            && self.slots.iter().zip(&other.slots).all(|(mine, theirs)| mine.is_more_general_than(theirs))
    }

    /// Returns its variables, as bits.
    pub(crate) fn mask(&self) -> u32 {
        self.slots.iter().fold(0, |mask, argument| match argument {
            PatternTerm::Variable(index) => mask | 1 << index,
            _ => mask,
        })
    }

    /// Returns its atom under a binding; none if a variable has no value.
    fn ground(&self, binding: &Binding) -> Option<Atom> {
        let term = |argument: &PatternTerm| match argument {
            PatternTerm::Any | PatternTerm::Where(..) => Some(Term::Any),
            PatternTerm::Value(value) => Some(Term::Value(value.clone())),
            PatternTerm::Variable(index) => binding.get(*index).and_then(|bound| bound.clone()).map(Term::Value),
        };
        let terms = self.slots.iter().map(term).collect::<Option<Box<[Term]>>>()?;
        Some(Atom { name: self.name.clone(), terms })
    }

    /// Whether the known values of an unknown fact pass the comparisons.
    fn may_pass(&self, terms: &[Term]) -> bool {
        self.slots.iter().zip(terms).all(|pair| match pair {
            (PatternTerm::Where(_, tests), Term::Value(value)) => passes(tests, value),
            _ => true,
        })
    }

    /// Returns the answer of a position for a binding; none if it is unknown.
    pub(crate) fn answer(&self, facts: &Facts, binding: &Binding) -> Option<bool> {
        let known = facts.known.iter().any(|fact| fact.name == self.name && self.fits(&fact.values, binding));
        if known {
            return Some(true);
        }
        let unknown = facts.unknown.iter().filter(|atom| atom.name == self.name && self.may_pass(&atom.terms));
        let mut possible = unknown.filter(|atom| match self.ground(binding) {
            Some(asked) => unify(&asked, atom),
            // Only `_` matches a value that was never seen.
            None => self.slots.iter().zip(&atom.terms).all(|(argument, term)| match (argument, term) {
                (PatternTerm::Variable(index), Term::Value(value)) => binding[*index].as_ref() == Some(value),
                (PatternTerm::Value(wanted), Term::Value(value)) => wanted == value,
                _ => true,
            }),
        });
        if possible.next().is_some() { None } else { Some(false) }
    }
}

/// Answers questions that choose values within one position.
#[derive(Debug)]
pub(crate) struct LocalEvaluator<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) prefix: &'a [Arc<str>],
    pub(crate) binding: &'a Binding,
    pub(crate) facts: &'a Facts,
}

/// A value in a comparison: a real one, one never seen, which equals itself only, or any value of an unknown fact.
#[derive(Clone, PartialEq)]
enum LocalValue {
    Value(Value),
    Unseen(usize),
    Unknown,
}

/// The values chosen so far; none means any value of an unknown fact.
type ChosenValues = Vec<(Arc<str>, Option<Value>)>;

impl LocalEvaluator<'_> {
    /// Whether there is a choice of values; none if that is unknown.
    pub(crate) fn answer(&self, variables: &[Arc<str>], body: Formula) -> Option<bool> {
        let mut chosen = Vec::new();
        self.choose(variables, body, &mut chosen)
    }

    fn choose(&self, variables: &[Arc<str>], body: Formula, chosen: &mut ChosenValues) -> Option<bool> {
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

    /// Returns every value in the position, known or unknown, and none for any value of an unknown fact.
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

    fn evaluate(&self, f: Formula, chosen: &mut ChosenValues) -> Option<bool> {
        match &self.arena[f] {
            Node::True => Some(true),
            Node::False => Some(false),
            Node::Fact(atom) => self.evaluate_fact(atom, chosen),
            Node::Compare(comparison, left, right) => {
                compare(*comparison, &self.resolve_term(left, chosen), &self.resolve_term(right, chosen))
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
            // INVARIANT: the compiler writes every inner `forall` as a negated `exists`, and a question to one position
            // has no temporal operator.
            Node::Quantified(Quantifier::Forall, ..) | Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => None,
        }
    }

    fn resolve_term(&self, term: &Term, chosen: &ChosenValues) -> LocalValue {
        match term {
            Term::Value(value) => LocalValue::Value(value.clone()),
            Term::Any => LocalValue::Unseen(usize::MAX),
            Term::Var(name) => {
                if let Some((_, value)) = chosen.iter().rev().find(|(other, _)| other == name) {
                    return value.clone().map_or(LocalValue::Unknown, LocalValue::Value);
                }
                let index = self.prefix.iter().position(|variable| variable == name).unwrap_or(usize::MAX);
                match self.binding.get(index) {
                    Some(Some(value)) => LocalValue::Value(value.clone()),
                    _ => LocalValue::Unseen(index),
                }
            }
        }
    }

    fn evaluate_fact(&self, atom: &Atom, chosen: &ChosenValues) -> Option<bool> {
        let mut unseen = false;
        let terms: Box<[Term]> = atom
            .terms
            .iter()
            .map(|term| match term {
                Term::Any => Term::Any,
                _ => match self.resolve_term(term, chosen) {
                    LocalValue::Value(value) => Term::Value(value),
                    LocalValue::Unseen(_) | LocalValue::Unknown => {
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
                        || matches!(self.resolve_term(term, chosen), LocalValue::Value(_))
                })
        };
        if self.facts.unknown.iter().any(is_possible) { None } else { Some(false) }
    }
}

fn compare(comparison: Comparison, left: &LocalValue, right: &LocalValue) -> Option<bool> {
    match (left, right) {
        // `_` and variables without a quantifier compare with nothing.
        (LocalValue::Unseen(usize::MAX), _) | (_, LocalValue::Unseen(usize::MAX)) => Some(false),
        (LocalValue::Unknown, _) | (_, LocalValue::Unknown) => None,
        (LocalValue::Value(left), LocalValue::Value(right)) => Some(comparison.holds(left, right)),
        (left, right) if left == right => Some(comparison.fits(Some(Ordering::Equal))),
        // All values never seen share one answer, but they are at many places in the order, and two may be the same.
        (LocalValue::Unseen(_), LocalValue::Unseen(_)) => None,
        _ if comparison.is_order() => None,
        _ => Some(comparison == Comparison::Unequal),
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

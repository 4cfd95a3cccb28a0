//! Terms and atoms: how formulas refer to facts.
//!
//! A fact is a name with values, `consent("alice", 3)`. A formula refers to facts by atoms, whose arguments are terms:
//! a value, a variable of an enclosing quantifier, or `_` for any value. Missing arguments match any value as well.

use std::fmt;
use std::sync::Arc;

use crate::name_syntax::write_name;
use crate::value::Value;

/// An argument of an atom or a side of a comparison.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Term {
    /// `_`: any value.
    Any,
    /// A variable bound by an enclosing quantifier.
    Var(Arc<str>),
    /// A value.
    Value(Value),
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Any => f.write_str("_"),
            Term::Var(name) => f.write_str(name),
            Term::Value(value) => write!(f, "{value}"),
        }
    }
}

/// A question to the facts of a position: is there a fact of this name whose values match these terms?
///
/// A fact matches if it has at least as many values as the atom has terms and each term matches its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom {
    /// The name of the fact.
    pub name: Arc<str>,
    /// Its arguments, from the first on.
    pub terms: Box<[Term]>,
}

impl Atom {
    /// Returns an atom with the given arguments.
    pub fn new(name: impl Into<Arc<str>>, terms: impl Into<Box<[Term]>>) -> Atom {
        Atom { name: name.into(), terms: terms.into() }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.name)?;
        write_arguments(f, &self.terms)
    }
}

/// Writes `(a,b)`, or nothing without arguments.
pub(crate) fn write_arguments<T: fmt::Display>(f: &mut fmt::Formatter<'_>, arguments: &[T]) -> fmt::Result {
    for (index, argument) in arguments.iter().enumerate() {
        f.write_str(if index == 0 { "(" } else { "," })?;
        write!(f, "{argument}")?;
    }
    if arguments.is_empty() { Ok(()) } else { f.write_str(")") }
}

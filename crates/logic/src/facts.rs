//! The facts of one position of a trace.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::interval::Time;
use crate::name_syntax::write_name;
use crate::term::{Atom, Term, write_arguments};
use crate::value::Value;

/// A name with values: `verified`, `consent("alice","marketing")`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fact {
    /// Its name.
    pub name: Arc<str>,
    /// Its values, in order.
    pub values: Box<[Value]>,
}

impl Fact {
    /// Returns a fact with the given values.
    pub fn new(name: impl Into<Arc<str>>, values: impl Into<Box<[Value]>>) -> Fact {
        Fact { name: name.into(), values: values.into() }
    }
}

impl From<&str> for Fact {
    /// Returns a fact without values.
    fn from(name: &str) -> Fact {
        Fact::new(name, [])
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.name)?;
        write_arguments(f, &self.values)
    }
}

/// The facts of one position: those that are true, those that are unknown, and its time.
///
/// Every fact that is neither known nor unknown is false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its time; a position without one has the time of the position before.
    pub time: Option<Time>,
    /// The facts that are true.
    pub known: Vec<Fact>,
    /// The facts that may be true or false; `_` in one matches every value.
    pub unknown: Vec<Atom>,
}

impl Facts {
    /// Returns facts without values and without a time.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Facts {
        Facts { known: names.into_iter().map(Fact::from).collect(), ..Facts::default() }
    }

    /// Returns these facts at a time.
    #[must_use]
    pub fn with_time(self, time: Time) -> Facts {
        Facts { time: Some(time), ..self }
    }
}

impl fmt::Display for Facts {
    /// `{a, b("x")}`, with `?` after the unknown ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let known = self.known.iter().map(ToString::to_string);
        let unknown = self.unknown.iter().map(|atom| format!("{atom}?"));
        f.write_str(&known.chain(unknown).collect::<Vec<_>>().join(", "))?;
        f.write_str("}")
    }
}

/// Whether a fact matches an atom without variables. Missing arguments of the atom match any value.
pub(crate) fn fits(atom: &Atom, fact: &Fact) -> bool {
    atom.name == fact.name
        && atom.terms.len() <= fact.values.len()
        && atom.terms.iter().zip(&fact.values).all(|(term, value)| match term {
            Term::Any => true,
            Term::Value(wanted) => wanted == value,
            Term::Var(_) => false,
        })
}

/// Whether some fact could match both atoms.
pub(crate) fn unify(left: &Atom, right: &Atom) -> bool {
    left.name == right.name
        && left.terms.iter().zip(&right.terms).all(|pair| match pair {
            (Term::Value(a), Term::Value(b)) => a == b,
            _ => true,
        })
}

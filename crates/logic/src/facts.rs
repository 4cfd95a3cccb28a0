//! The facts of one position of a trace.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::interval::Time;
use crate::name_syntax::{is_name, write_name};
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
    /// Returns facts without values and without a time, from plain names. A text such as `paid("alice")` is an error:
    /// [`Facts::parse`] reads it, and [`Fact::new`] makes a fact of any name.
    ///
    /// ```
    /// use lictor_logic::Facts;
    /// assert_eq!(Facts::from_names(["paid", "late"])?.to_string(), "{paid, late}");
    /// assert!(Facts::from_names(["paid(\"alice\")"]).is_err());
    /// # Ok::<(), lictor_logic::FactNameError>(())
    /// ```
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Facts, FactNameError> {
        let fact = |name: &str| match is_name(name) {
            true => Ok(Fact::new(name, [])),
            false => Err(FactNameError { text: name.to_owned() }),
        };
        Ok(Facts { known: names.into_iter().map(fact).collect::<Result<_, _>>()?, ..Facts::default() })
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

/// Why [`Facts::from_names`] gives no facts: a text is no plain name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactNameError {
    text: String,
}

impl FactNameError {
    /// Returns the text that is no plain name.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for FactNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` is not the plain name of a fact", self.text)?;
        f.write_str("hint: read facts with values by `Facts::parse`, or make a fact of any name by `Fact::new`")
    }
}

impl std::error::Error for FactNameError {}

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

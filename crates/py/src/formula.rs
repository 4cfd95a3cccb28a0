//! Formulas as Python values: built, parsed, printed, compared.

pub(crate) mod build;
mod canonical;

use std::hash::{DefaultHasher, Hash, Hasher};

use lictor_logic::{Analysis, Arena, Formula as Id, Node, Spelling, relate};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::Error;

/// A temporal formula: canonical, printable, parsable, comparable.
///
/// Two formulas are equal if they are written the same after simplifying: operands of `&` and `|` are sorted, without
/// duplicates, and double negations are removed. `equivalent` compares the meaning.
///
/// >>> from lictor import Formula, G, F, atom, implies
/// >>> f = G(implies(atom("tool_call"), F(atom("verified"))))
/// >>> print(f)
/// G(tool_call -> F verified)
/// >>> f == Formula.parse("always (tool_call implies eventually verified)")
/// True
/// >>> print(f.show("letters"))
/// G(tool_call → F verified)
/// >>> Formula.parse("b & a & b") == Formula.parse("a & b")
/// True
#[pyclass(module = "lictor", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub(crate) arena: Arena,
    pub(crate) id: Id,
}

impl Formula {
    /// Returns the canonical form of a formula of any arena.
    pub(crate) fn of(arena: &Arena, id: Id) -> PyResult<Formula> {
        let mut clean = Arena::new();
        let id = canonical::canonical(arena, id, &mut clean);
        if clean.depth(id) > Arena::MAX_DEPTH {
            let most = Arena::MAX_DEPTH;
            return Err(Error::Formula.with(format!("the formula is nested more than {most} deep\n  hint: split it")));
        }
        Ok(Formula { arena: clean, id })
    }

    /// Parses a formula.
    pub(crate) fn read(text: &str) -> PyResult<Formula> {
        let mut arena = Arena::new();
        let id = arena.parse(text).map_err(|errors| Error::Formula.with(errors))?;
        Formula::of(&arena, id)
    }

    /// Returns the formula of an argument: a formula, or the text of one.
    pub(crate) fn given(value: &Bound<'_, PyAny>) -> PyResult<Formula> {
        if let Ok(formula) = value.cast::<Formula>() {
            return Ok(formula.get().clone());
        }
        match value.cast::<PyString>() {
            Ok(text) => Formula::read(&text.to_cow()?),
            Err(_) => Err(Error::Formula.with("a formula is a `Formula` or the text of one")),
        }
    }

    pub(crate) fn text(&self) -> String {
        self.arena.show(self.id, Spelling::Ascii).to_string()
    }
}

#[pymethods]
impl Formula {
    /// Parses a formula, in words, in ASCII or in symbols. Raises a `FormulaError` that shows the place of a mistake.
    ///
    /// >>> from lictor import Formula
    /// >>> str(Formula.parse("□(a → ◇b)"))
    /// 'G(a -> F b)'
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Formula> {
        Formula::read(text)
    }

    /// Returns the formula in a spelling: `ascii`, `unicode`, `words`, or `letters` as in textbooks.
    #[pyo3(signature = (spelling = "ascii"))]
    fn show(&self, spelling: &str) -> PyResult<String> {
        let spelling = match spelling {
            "ascii" => Spelling::Ascii,
            "unicode" => Spelling::Unicode,
            "words" => Spelling::Words,
            "letters" => Spelling::Letters,
            other => {
                let message = format!("no spelling `{other}`; there are ascii, unicode, words, letters");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(self.arena.show(self.id, spelling).to_string())
    }

    /// Returns its meaning in English, in words that a person can act on.
    ///
    /// >>> from lictor import Formula
    /// >>> Formula.parse("G !leak").english() != ""
    /// True
    fn english(&self) -> String {
        self.arena.english(self.id)
    }

    /// The names of the facts it asks for, in order.
    #[getter]
    fn atoms(&self) -> Vec<String> {
        let mut names = std::collections::BTreeSet::new();
        let (mut open, mut seen) = (vec![self.id], std::collections::BTreeSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let node = &self.arena[id];
                if let Node::Fact(atom) = node {
                    names.insert(atom.name.to_string());
                }
                open.extend(node.operands());
            }
        }
        names.into_iter().collect()
    }

    /// Whether both hold of the same infinite traces.
    fn equivalent(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let relation = self.related(py, other)?;
        Ok(relation.0 && relation.1)
    }

    /// Whether every infinite trace that satisfies this one satisfies the other.
    fn entails(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.related(py, other)?.0)
    }

    /// Whether some infinite trace satisfies it.
    #[getter]
    fn is_satisfiable(&self, py: Python<'_>) -> PyResult<bool> {
        let mut analysis = self.analysis(py)?;
        Ok(py.detach(|| analysis.class().satisfiable))
    }

    /// Whether every infinite trace satisfies it.
    #[getter]
    fn is_valid(&self, py: Python<'_>) -> PyResult<bool> {
        let mut analysis = self.analysis(py)?;
        Ok(py.detach(|| analysis.class().valid))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        build::joined(&[self.clone(), Formula::given(other)?], |arena, ids| arena.and(ids))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        build::joined(&[self.clone(), Formula::given(other)?], |arena, ids| arena.or(ids))
    }

    fn __invert__(&self) -> PyResult<Formula> {
        build::over(self, Node::Not)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        build::between(self, &Formula::given(other)?, Node::Implies)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        self.__and__(other)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        self.__or__(other)
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Formula> {
        build::between(&Formula::given(other)?, self, Node::Implies)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Formula>().is_ok_and(|other| self.text() == other.get().text())
    }

    /// Raises: Python would silently turn `a and b` into `b`.
    fn __bool__(&self) -> PyResult<bool> {
        let message = "a formula is neither true nor false; write `a & b`, `a | b` and `~a`, not `and`, `or` and `not`";
        Err(PyTypeError::new_err(message))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Formula.parse({})", PyString::new(py, &self.text()).repr()?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Formula>().getattr("parse")?, (self.text(),)))
    }
}

impl Formula {
    fn analysis(&self, py: Python<'_>) -> PyResult<Analysis> {
        py.detach(|| Analysis::new(&self.arena, self.id)).map_err(|error| Error::Formula.with(error))
    }

    fn related(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(bool, bool)> {
        let other = Formula::given(other)?;
        let mut arena = self.arena.clone();
        let right = arena.copy(&other.arena, other.id);
        let relation = py.detach(|| relate(&arena, self.id, right)).map_err(|error| Error::Formula.with(error))?;
        Ok((relation.implies, relation.implied))
    }
}

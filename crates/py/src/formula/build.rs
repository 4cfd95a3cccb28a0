//! The algebra: a function for each operator.

use lictor_logic::{Arena, Atom, Binary, Formula as Id, Interval, Node, Quantifier, Term, Unary, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple};

use super::Formula;
use crate::error::Error;

/// Returns a node over one formula.
pub(super) fn over(formula: &Formula, node: impl FnOnce(Id) -> Node) -> PyResult<Formula> {
    let mut arena = formula.arena.clone();
    let id = arena.insert(node(formula.id));
    Formula::of(&arena, id)
}

/// Returns a node over two formulas.
pub(super) fn between(left: &Formula, right: &Formula, node: impl FnOnce(Id, Id) -> Node) -> PyResult<Formula> {
    let mut arena = left.arena.clone();
    let other = arena.copy(&right.arena, right.id);
    let id = arena.insert(node(left.id, other));
    Formula::of(&arena, id)
}

/// Joins any number of formulas.
pub(super) fn joined(formulas: &[Formula], join: impl FnOnce(&mut Arena, Vec<Id>) -> Id) -> PyResult<Formula> {
    let mut arena = Arena::new();
    let ids: Vec<Id> = formulas.iter().map(|formula| arena.copy(&formula.arena, formula.id)).collect();
    let id = join(&mut arena, ids);
    Formula::of(&arena, id)
}

/// The fact of a name, with values. `...` and omitted values match any value.
///
/// >>> from lictor import atom
/// >>> print(atom("paid", "alice", ..., 3))
/// paid("alice",_,3)
#[pyfunction]
#[pyo3(signature = (name, *values))]
fn atom(name: &str, values: &Bound<'_, PyTuple>) -> PyResult<Formula> {
    if name.is_empty() {
        return Err(Error::Formula.with("a fact has a name"));
    }
    let terms = values.iter().map(|value| term(&value)).collect::<PyResult<Vec<Term>>>()?;
    let mut arena = Arena::new();
    let id = arena.insert(Node::Fact(Atom::new(name, terms)));
    Formula::of(&arena, id)
}

fn term(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    if value.is(value.py().Ellipsis()) {
        return Ok(Term::Any);
    }
    let known = if let Ok(truth) = value.cast::<PyBool>() {
        Some(Value::Bool(truth.is_true()))
    } else if let Ok(text) = value.cast::<PyString>() {
        Some(Value::text(text.to_cow()?.as_ref()))
    } else if value.is_instance_of::<PyInt>() {
        value.extract::<i64>().ok().map(Value::Integer)
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Value::number(number.value())
    } else {
        None
    };
    known.map(Term::Value).ok_or_else(|| Error::Formula.with("a value is a text, a truth value or a number of 64 bits"))
}

/// True of everything.
#[pyfunction]
fn true_() -> PyResult<Formula> {
    Formula::read("true")
}

/// True of nothing.
#[pyfunction]
fn false_() -> PyResult<Formula> {
    Formula::read("false")
}

/// It does not hold.
///
/// >>> from lictor import atom, not_
/// >>> print(not_(not_(atom("a"))))
/// a
#[pyfunction]
fn not_(f: &Bound<'_, PyAny>) -> PyResult<Formula> {
    over(&Formula::given(f)?, Node::Not)
}

/// All of them hold; `true` if there are none.
///
/// >>> from lictor import and_, atom
/// >>> and_(atom("b"), atom("a")) == and_(atom("a"), atom("b"), atom("a"))
/// True
#[pyfunction]
#[pyo3(signature = (*formulas))]
fn and_(formulas: &Bound<'_, PyTuple>) -> PyResult<Formula> {
    joined(&given(formulas)?, |arena, ids| arena.and(ids))
}

/// At least one of them holds; `false` if there are none.
#[pyfunction]
#[pyo3(signature = (*formulas))]
fn or_(formulas: &Bound<'_, PyTuple>) -> PyResult<Formula> {
    joined(&given(formulas)?, |arena, ids| arena.or(ids))
}

/// If the left one holds, the right one does.
#[pyfunction]
fn implies(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<Formula> {
    between(&Formula::given(left)?, &Formula::given(right)?, Node::Implies)
}

/// Both hold or neither.
#[pyfunction]
fn iff(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<Formula> {
    between(&Formula::given(left)?, &Formula::given(right)?, Node::Iff)
}

/// For every value of the variables, named in a text such as `"s, t"`.
///
/// >>> from lictor import forall
/// >>> print(forall("s", "G(erased(s) -> G !disclosed(s))"))
/// forall s. G(erased(s) -> G !disclosed(s))
#[pyfunction]
fn forall(variables: &str, f: &Bound<'_, PyAny>) -> PyResult<Formula> {
    quantified(Quantifier::Forall, variables, f)
}

/// For some value of the variables.
#[pyfunction]
fn exists(variables: &str, f: &Bound<'_, PyAny>) -> PyResult<Formula> {
    quantified(Quantifier::Exists, variables, f)
}

/// Parses the body below the quantifier: elsewhere its variables would be unknown.
fn quantified(quantifier: Quantifier, variables: &str, f: &Bound<'_, PyAny>) -> PyResult<Formula> {
    let word = match quantifier {
        Quantifier::Forall => "forall",
        Quantifier::Exists => "exists",
    };
    match f.cast::<PyString>() {
        Ok(text) => Formula::read(&format!("{word} {variables}. {}", text.to_cow()?)),
        Err(_) => Formula::read(&format!("{word} {variables}. {}", Formula::given(f)?.text())),
    }
}

fn given(formulas: &Bound<'_, PyTuple>) -> PyResult<Vec<Formula>> {
    formulas.iter().map(|formula| Formula::given(&formula)).collect()
}

/// Parses a bound as in formulas: `[0,30s]`, `[2,5]`.
fn bound(within: Option<&str>) -> PyResult<Interval> {
    let Some(text) = within else { return Ok(Interval::UNBOUNDED) };
    let mut arena = Arena::new();
    let id = arena.parse(&format!("F{} bounded", text.trim())).map_err(|errors| Error::Formula.with(errors))?;
    match &arena[id] {
        Node::Unary(Unary::Eventually, interval, _) => Ok(*interval),
        _ => Err(PyValueError::new_err(format!("`{text}` is no bound; write it like [0,30s] or [2,5]"))),
    }
}

macro_rules! unary {
    ($($(#[doc = $doc:literal])+ $letter:literal $name:ident $operator:ident,)*) => { $(
        $(#[doc = $doc])+
        #[pyfunction]
        #[pyo3(name = $letter, signature = (f, within = None))]
        fn $name(f: &Bound<'_, PyAny>, within: Option<&str>) -> PyResult<Formula> {
            let interval = bound(within)?;
            over(&Formula::given(f)?, |id| Node::Unary(Unary::$operator, interval, id))
        }
    )* };
}

macro_rules! step {
    ($($(#[doc = $doc:literal])+ $letter:literal $name:ident $operator:ident,)*) => { $(
        $(#[doc = $doc])+
        #[pyfunction]
        #[pyo3(name = $letter)]
        fn $name(f: &Bound<'_, PyAny>) -> PyResult<Formula> {
            over(&Formula::given(f)?, |id| Node::Unary(Unary::$operator, Interval::UNBOUNDED, id))
        }
    )* };
}

macro_rules! binary {
    ($($(#[doc = $doc:literal])+ $letter:literal $name:ident $operator:ident,)*) => { $(
        $(#[doc = $doc])+
        #[pyfunction]
        #[pyo3(name = $letter, signature = (left, right, within = None))]
        fn $name(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, within: Option<&str>) -> PyResult<Formula> {
            let interval = bound(within)?;
            let (left, right) = (Formula::given(left)?, Formula::given(right)?);
            between(&left, &right, |f, g| Node::Binary(Binary::$operator, interval, f, g))
        }
    )* };
}

unary! {
    /// Always: at this step and every later one.
    "G" always Always,
    /// Eventually: at this step or a later one; `within="[0,30s]"` or `"[0,5]"` bounds it.
    ///
    /// >>> from lictor import F
    /// >>> print(F("closed", within="[0,30s]"))
    /// F[0,30s] closed
    "F" eventually Eventually,
    /// Once: at this step or an earlier one.
    "O" once Once,
    /// Historically: at this step and every earlier one.
    "H" historically Historically,
}

step! {
    /// Next: there is a next step, and it holds there.
    "X" next Next,
    /// Weak next: if there is a next step, it holds there.
    "N" weak_next WeakNext,
    /// Previous: there is a step before this one, and it held there.
    "Y" previous Previous,
    /// Weak previous: if there is a step before this one, it held there.
    "Z" weak_previous WeakPrevious,
}

binary! {
    /// Until: the right one holds at last, the left one until then.
    "U" until Until,
    /// Weak until: until, or the left one for ever.
    "W" weak_until WeakUntil,
    /// Release: the right one up to and including the step where the left one holds, or for ever.
    "R" release Release,
    /// Strong release: release, and the left one holds at last.
    "M" strong_release StrongRelease,
    /// Since: the right one held once, and the left one ever since.
    "S" since Since,
    /// Trigger: the right one since and including the step where the left one held, or from the beginning.
    "T" trigger Trigger,
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! add {
        ($($name:ident)*) => { $( module.add_function(wrap_pyfunction!($name, module)?)?; )* };
    }
    add!(atom true_ false_ not_ and_ or_ implies iff forall exists always eventually once historically next weak_next previous weak_previous until weak_until release strong_release since trigger);
    Ok(())
}

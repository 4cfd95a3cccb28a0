//! Bare formulas on one trace.

use std::sync::{Mutex, PoisonError};

use lictor_logic::{Moment, Monitor as CompiledMonitor, MonitorId, MonitorSet, Time, TraceState, Verdict, Witness};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::Error;
use crate::facts::moment;
use crate::formula::Formula;
use crate::{value, verdict};

/// Follows one trace with one formula.
///
/// A verdict is exact: `VIOLATED` as soon as no continuation can satisfy the formula, `SATISFIED` as soon as all do. A
/// definite verdict stays.
///
/// >>> from lictor import Monitor, Verdict
/// >>> monitor = Monitor("G(request -> F answer)")
/// >>> monitor.observe({"request"})
/// <Verdict.INCONCLUSIVE: 'inconclusive'>
/// >>> print(monitor.residual)
/// F answer & G(request -> F answer)
/// >>> monitor.end()
/// <Verdict.VIOLATED: 'violated'>
/// >>> Monitor("G a & F !a").verdict
/// <Verdict.VIOLATED: 'violated'>
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Monitor {
    formula: Formula,
    following: Mutex<FollowedTrace>,
}

/// A formula and the state of its trace.
#[derive(Clone, Debug)]
struct FollowedTrace {
    watch: MonitorSet,
    id: MonitorId,
    standing: TraceState,
    /// The first position with a definite verdict, from one.
    decided_at: Option<u64>,
}

impl FollowedTrace {
    fn new(formula: &Formula) -> PyResult<FollowedTrace> {
        let compiled = CompiledMonitor::new(&formula.arena, formula.id).map_err(|error| {
            let (message, hint) = (error.message(), error.hint());
            Error::Formula.with(format!("{message}\n  {}\n  hint: {hint}", formula.text()))
        })?;
        let mut watch = MonitorSet::new();
        let id = watch.add(compiled);
        let standing = watch.start();
        Ok(FollowedTrace { watch, id, standing, decided_at: None })
    }

    fn take(&mut self, moment: &Moment) -> Verdict {
        match moment {
            Moment::Position(facts) => self.watch.step(&mut self.standing, facts),
            Moment::Tick(now) => self.watch.tick(&mut self.standing, *now),
        };
        let verdict = self.watch.verdict(&mut self.standing, self.id);
        if verdict.is_definite() && self.decided_at.is_none() {
            self.decided_at = Some(self.standing.positions());
        }
        verdict
    }
}

impl Monitor {
    /// Calls `act` with the trace locked. It must not call Python: Python code might wait for the same lock.
    fn with<T>(&self, act: impl FnOnce(&mut FollowedTrace) -> T) -> T {
        // A step never panics, so a poisoned lock holds no partial step.
        act(&mut self.following.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Monitor {
    #[new]
    fn new(py: Python<'_>, formula: &Bound<'_, PyAny>) -> PyResult<Monitor> {
        let formula = Formula::given(formula)?;
        let following = Mutex::new(py.detach(|| FollowedTrace::new(&formula))?);
        Ok(Monitor { formula, following })
    }

    /// Reads a position: a set of facts, or a mapping with `facts`, `unknown` and `time`. Returns the verdict.
    ///
    /// A fact is a name or a name with values: `{"tool_call", 'paid("alice",3)'}`. A single step holds the GIL, because
    /// releasing it costs more than the step; `observe_all` releases it.
    #[pyo3(signature = (position, time = None))]
    fn observe(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut moment = moment(position)?;
        if let (Moment::Position(facts), Some(time)) = (&mut moment, time) {
            facts.time = Some(value::time(time)?);
        }
        let verdict = self.with(|following| following.take(&moment));
        verdict::to_python(py, verdict)
    }

    /// Reads many positions, without the GIL, and returns the verdict after each.
    ///
    /// >>> from lictor import Monitor
    /// >>> [str(verdict) for verdict in Monitor("F done").observe_all([set(), {"done"}])]
    /// ['inconclusive', 'satisfied']
    fn observe_all(&self, py: Python<'_>, trace: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let moments = trace.try_iter()?.map(|entry| moment(&entry?)).collect::<PyResult<Vec<Moment>>>()?;
        let verdicts: Vec<Verdict> =
            py.detach(|| self.with(|following| moments.iter().map(|moment| following.take(moment)).collect()));
        verdicts.into_iter().map(|verdict| verdict::to_python(py, verdict)).collect()
    }

    /// Advances time: no position up to this time will follow. Returns the verdict.
    fn tick(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let now: Time = value::time(time)?;
        let verdict = self.with(|following| following.take(&Moment::Tick(now)));
        verdict::to_python(py, verdict)
    }

    /// The verdict that holds for all continuations of the trace.
    #[getter]
    fn verdict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let verdict = self.with(|following| following.watch.verdict(&mut following.standing, following.id));
        verdict::to_python(py, verdict)
    }

    /// Returns the verdict if the trace ended here: unmet obligations are violations. The trace may continue.
    fn end(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let verdict = self.with(|following| following.watch.end(&mut following.standing, following.id));
        verdict::to_python(py, verdict)
    }

    /// The remaining obligation, as a formula about the rest of the trace; none if that cannot be written.
    #[getter]
    fn residual(&self) -> PyResult<Option<Formula>> {
        let sentence = self.with(|following| following.watch.residual(&mut following.standing, following.id));
        sentence.map(|sentence| Formula::of(&sentence.arena, sentence.formula)).transpose()
    }

    /// The formula it follows.
    #[getter]
    fn formula(&self) -> Formula {
        self.formula.clone()
    }

    /// The number of positions read.
    #[getter]
    fn steps(&self) -> u64 {
        self.with(|following| following.standing.positions())
    }

    /// The position that decided the verdict, from one; none while it is open.
    #[getter]
    fn decided_at(&self) -> Option<u64> {
        self.with(|following| following.decided_at)
    }

    /// Returns an independent monitor in the same state.
    fn copy(&self) -> Monitor {
        Monitor { formula: self.formula.clone(), following: Mutex::new(self.with(|following| following.clone())) }
    }

    fn __repr__(&self) -> String {
        format!("<Monitor {} after {} steps>", self.formula.text(), self.steps())
    }
}

/// A step of a witness: its number, the present facts, the absent facts, and the obligation after it.
type Step = (usize, Vec<String>, Vec<String>, String);

/// The result for a whole trace: the verdict, the live verdict, the deciding position, the steps of the witness, and
/// the binding.
type TraceOutcome<'py> = (Py<PyAny>, Py<PyAny>, Option<u64>, Vec<Step>, Bound<'py, PyTuple>);

/// Judges a whole trace by a formula; see `lictor.evaluate`.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    formula: &Bound<'py, PyAny>,
    trace: &Bound<'py, PyAny>,
) -> PyResult<TraceOutcome<'py>> {
    let formula = Formula::given(formula)?;
    let trace = trace.try_iter()?.map(|entry| moment(&entry?)).collect::<PyResult<Vec<Moment>>>()?;
    let (live, end, decided_at, witness) = py.detach(|| {
        let mut following = FollowedTrace::new(&formula)?;
        for moment in &trace {
            following.take(moment);
        }
        let live = following.watch.verdict(&mut following.standing, following.id);
        let end = following.watch.end(&mut following.standing, following.id);
        let witness = Witness::find(&formula.arena, formula.id, &trace, !live.is_definite());
        PyResult::Ok((live, end, following.decided_at, witness.filter(|witness| witness.verdict == end)))
    })?;
    let shown = |facts: &[lictor_logic::Fact]| facts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let steps = witness.iter().flat_map(|witness| &witness.steps).map(|step| {
        let absent = step.absent.iter().map(ToString::to_string).collect();
        (step.position, shown(&step.present), absent, step.residual.to_string())
    });
    let steps: Vec<Step> = steps.collect();
    let binding = witness.iter().flat_map(|witness| &witness.binding);
    let binding: Vec<(String, String)> = binding.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let (end, live) = (verdict::to_python(py, end)?, verdict::to_python(py, live)?);
    Ok((end, live, decided_at, steps, PyTuple::new(py, binding)?))
}

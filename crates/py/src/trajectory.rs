//! A monitor of named properties over the steps of an agent, with the usual four built in.
//!
//! A step has eight flags at most, so it is a number below 256, and the observation for each number is computed once. A
//! step then costs four table look-ups.

use std::sync::{Mutex, OnceLock, PoisonError};

use lictor_logic::{
    Facts, Monitor as CompiledMonitor, MonitorId, MonitorSet, Name, Observation, Spelling, TraceState, Verdict,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PyMapping, PyString};

use crate::error::Error;
use crate::facts::{each_text, fact};
use crate::formula::Formula;
use crate::verdict;

/// The flags of a step, in the order of the bits.
const FLAGS: [&str; 8] = [
    "tool_call",
    "verification_passed",
    "handoff",
    "coherence_check",
    "injection_detected",
    "output_emitted",
    "fact_claim",
    "evidence_retrieved",
];

/// The properties that are used by default.
const BUILT_IN: [(&str, &str); 4] = [
    ("tool_calls_are_verified", "G(tool_call -> F verification_passed)"),
    ("handoff_is_coherence_checked", "G(handoff -> X coherence_check)"),
    ("no_output_after_injection", "G !(injection_detected & output_emitted)"),
    ("fact_claims_are_grounded", "G(fact_claim -> F evidence_retrieved)"),
];

/// The facts of one step of an agent; omitted ones are false.
///
/// >>> from lictor import StepObservation
/// >>> StepObservation(tool_call=True, extra={"external_api_call"})
/// StepObservation(tool_call=True, extra={'external_api_call'})
#[pyclass(module = "lictor", frozen, eq, hash)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepObservation {
    flags: u8,
    /// Other facts, in order.
    extra: Vec<String>,
}

#[pymethods]
impl StepObservation {
    #[new]
    #[pyo3(signature = (
        tool_call = false, verification_passed = false, handoff = false, coherence_check = false,
        injection_detected = false, output_emitted = false, fact_claim = false, evidence_retrieved = false,
        *, extra = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "a flag for each thing that may happen in a step")]
    #[expect(clippy::fn_params_excessive_bools, reason = "the same")]
    fn new(
        tool_call: bool,
        verification_passed: bool,
        handoff: bool,
        coherence_check: bool,
        injection_detected: bool,
        output_emitted: bool,
        fact_claim: bool,
        evidence_retrieved: bool,
        extra: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<StepObservation> {
        let given = [
            tool_call,
            verification_passed,
            handoff,
            coherence_check,
            injection_detected,
            output_emitted,
            fact_claim,
            evidence_retrieved,
        ];
        let flags = given.iter().enumerate().fold(0, |bits, (bit, &is_set)| bits | u8::from(is_set) << bit);
        let mut names = Vec::new();
        if let Some(extra) = extra {
            each_text(extra, |text| {
                fact(text)?;
                names.push(text.to_owned());
                Ok(())
            })?;
        }
        names.sort_unstable();
        names.dedup();
        Ok(StepObservation { flags, extra: names })
    }

    /// The facts that hold at the step.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let mut facts: Vec<&str> = self.names().collect();
        facts.extend(self.extra.iter().map(String::as_str));
        PyFrozenSet::new(py, facts)
    }

    /// A tool was called.
    #[getter]
    fn tool_call(&self) -> bool {
        self.has(0)
    }

    /// A verification passed.
    #[getter]
    fn verification_passed(&self) -> bool {
        self.has(1)
    }

    /// The work was passed to another agent.
    #[getter]
    fn handoff(&self) -> bool {
        self.has(2)
    }

    /// A handoff was checked.
    #[getter]
    fn coherence_check(&self) -> bool {
        self.has(3)
    }

    /// An injection was found.
    #[getter]
    fn injection_detected(&self) -> bool {
        self.has(4)
    }

    /// Output was sent to the outside.
    #[getter]
    fn output_emitted(&self) -> bool {
        self.has(5)
    }

    /// A fact was claimed.
    #[getter]
    fn fact_claim(&self) -> bool {
        self.has(6)
    }

    /// Evidence was found.
    #[getter]
    fn evidence_retrieved(&self) -> bool {
        self.has(7)
    }

    fn __repr__(&self) -> String {
        let mut parts: Vec<String> = self.names().map(|name| format!("{name}=True")).collect();
        if !self.extra.is_empty() {
            let extra: Vec<String> = self.extra.iter().map(|name| format!("{name:?}").replace('"', "'")).collect();
            parts.push(format!("extra={{{}}}", extra.join(", ")));
        }
        format!("StepObservation({})", parts.join(", "))
    }
}

impl StepObservation {
    /// Whether the flag of a bit is set.
    fn has(&self, bit: u8) -> bool {
        self.flags & (1 << bit) != 0
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let flags = self.flags;
        FLAGS.into_iter().enumerate().filter(move |(bit, _)| flags & (1 << bit) != 0).map(|(_, name)| name)
    }
}

/// Follows the trajectory of an agent with named properties; the four built-in ones if none are given.
///
/// >>> from lictor import G, StepObservation, TrajectorySafetyMonitor, atom, not_
/// >>> monitor = TrajectorySafetyMonitor()
/// >>> monitor.observe(StepObservation(tool_call=True))
/// <Verdict.INCONCLUSIVE: 'inconclusive'>
/// >>> monitor.finalize()["violations"]
/// ['tool_calls_are_verified']
/// >>> monitor = TrajectorySafetyMonitor({"offline": G(not_(atom("external_api_call")))})
/// >>> monitor.observe({"external_api_call"})
/// <Verdict.VIOLATED: 'violated'>
///
/// Steps are counted from one. Monitors share nothing, and one monitor may be used by several threads.
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct TrajectorySafetyMonitor(Mutex<Trajectory>);

/// The properties and their states.
#[derive(Clone, Debug)]
struct Trajectory {
    properties: Vec<NamedFormula>,
    watch: MonitorSet,
    standing: TraceState,
    flags: [Name; 8],
    /// The observation for each combination of flags that occurred.
    read: Vec<Option<Observation>>,
    /// The worst verdict.
    worst: Verdict,
    is_final: bool,
}

#[derive(Clone, Debug)]
struct NamedFormula {
    name: String,
    /// In the notation of textbooks.
    formula: String,
    id: MonitorId,
    verdict: Verdict,
    violated_at: Option<u64>,
}

impl Trajectory {
    fn new(properties: &[(String, Formula)]) -> PyResult<Trajectory> {
        let mut watch = MonitorSet::new();
        let mut named = Vec::new();
        for (name, formula) in properties {
            let compiled = CompiledMonitor::new(&formula.arena, formula.id).map_err(|error| {
                Error::Formula.with(format!("`{name}`: {}\n  hint: {}", error.message(), error.hint()))
            })?;
            let id = watch.add(compiled);
            let shown = formula.arena.show(formula.id, Spelling::Letters).to_string();
            let verdict = Verdict::Inconclusive;
            named.push(NamedFormula { name: name.clone(), formula: shown, id, verdict, violated_at: None });
        }
        let flags = FLAGS.map(|flag| watch.name(flag));
        let standing = watch.start();
        let worst = Verdict::Satisfied;
        let mut made =
            Trajectory { properties: named, watch, standing, flags, read: vec![None; 256], worst, is_final: false };
        // Formulas that do not depend on the trace are decided before the first step.
        made.judge(false);
        Ok(made)
    }

    /// Returns the built-in properties before the first step, computed once.
    fn built_in() -> PyResult<Trajectory> {
        static READY: OnceLock<Trajectory> = OnceLock::new();
        if let Some(ready) = READY.get() {
            return Ok(ready.clone());
        }
        let parsed = BUILT_IN.map(|(name, text)| Formula::read(text).map(|formula| (name.to_owned(), formula)));
        let made = Trajectory::new(&parsed.into_iter().collect::<PyResult<Vec<_>>>()?)?;
        Ok(READY.get_or_init(|| made).clone())
    }

    /// Reads a combination of flags.
    fn flags(&mut self, flags: u8) {
        let place = usize::from(flags);
        if self.read[place].is_none() {
            let mut observation = Observation::new();
            let set = self.flags.iter().enumerate().filter(|(bit, _)| flags & (1 << bit) != 0);
            set.for_each(|(_, name)| observation.push(*name, &[]));
            self.watch.prepare(&mut observation);
            self.read[place] = Some(observation);
        }
        let Trajectory { read, watch, standing, .. } = self;
        let is_decisive = match &read[place] {
            Some(observation) => !watch.observe(standing, observation).is_empty(),
            None => false,
        };
        if is_decisive {
            self.judge(false);
        }
    }

    fn facts(&mut self, facts: &Facts) {
        if !self.watch.step(&mut self.standing, facts).is_empty() {
            self.judge(false);
        }
    }

    /// Reads steps and returns the worst verdict after them; none if the trajectory is over.
    fn take(&mut self, steps: &[Step]) -> Option<Verdict> {
        if self.is_final {
            return None;
        }
        for step in steps {
            match step {
                Step::Flags(flags) => self.flags(*flags),
                Step::Facts(facts) => self.facts(facts),
            }
        }
        Some(self.worst)
    }

    /// Updates the verdicts to the present ones, or to those at the end of the trace.
    fn judge(&mut self, at_end: bool) {
        let steps = self.standing.positions();
        for property in &mut self.properties {
            if property.verdict.is_definite() {
                continue;
            }
            property.verdict = match at_end {
                true => self.watch.end(&mut self.standing, property.id),
                false => self.watch.verdict(&mut self.standing, property.id),
            };
            property.violated_at = (property.verdict == Verdict::Violated).then_some(steps);
        }
        self.worst = self.properties.iter().map(|property| property.verdict).max().unwrap_or(Verdict::Satisfied);
    }

    fn account(&self) -> Account {
        Account { properties: self.properties.clone(), worst: self.worst, steps: self.standing.positions() }
    }
}

/// The verdicts of a trajectory.
struct Account {
    properties: Vec<NamedFormula>,
    worst: Verdict,
    steps: u64,
}

fn told(py: Python<'_>, worst: Option<Verdict>) -> PyResult<Py<PyAny>> {
    match worst {
        Some(worst) => verdict::to_python(py, worst),
        None => Err(Error::State.with("the trajectory was finalized\n  hint: begin another monitor")),
    }
}

fn report<'py>(py: Python<'py>, account: &Account) -> PyResult<Bound<'py, PyDict>> {
    let specs = PyList::empty(py);
    let violations = PyList::empty(py);
    for property in &account.properties {
        let entry = PyDict::new(py);
        entry.set_item("name", &property.name)?;
        entry.set_item("verdict", verdict::to_python(py, property.verdict)?)?;
        entry.set_item("formula", &property.formula)?;
        entry.set_item("violated_at_step", property.violated_at)?;
        specs.append(entry)?;
        if property.verdict == Verdict::Violated {
            violations.append(&property.name)?;
        }
    }
    let report = PyDict::new(py);
    report.set_item("verdict", verdict::to_python(py, account.worst)?)?;
    report.set_item("steps", account.steps)?;
    report.set_item("specs", specs)?;
    report.set_item("violations", violations)?;
    Ok(report)
}

impl TrajectorySafetyMonitor {
    /// Calls `act` with the trajectory locked. It must not call Python: Python code might wait for the same lock.
    fn with<T>(&self, act: impl FnOnce(&mut Trajectory) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A parsed step.
enum Step {
    Flags(u8),
    Facts(Facts),
}

impl Step {
    fn of(given: &Bound<'_, PyAny>) -> PyResult<Step> {
        let mut facts = Facts::default();
        let mut take = |text: &str| {
            facts.known.push(fact(text)?);
            Ok(())
        };
        match given.cast_exact::<StepObservation>() {
            Ok(observed) if observed.get().extra.is_empty() => return Ok(Step::Flags(observed.get().flags)),
            Ok(observed) => {
                let observed = observed.get();
                observed.names().try_for_each(&mut take)?;
                observed.extra.iter().try_for_each(|text| take(text))?;
            }
            Err(_) => each_text(given, &mut take)?,
        }
        Ok(Step::Facts(facts))
    }
}

#[pymethods]
impl TrajectorySafetyMonitor {
    #[new]
    #[pyo3(signature = (specs = None))]
    fn new(specs: Option<&Bound<'_, PyAny>>) -> PyResult<TrajectorySafetyMonitor> {
        let Some(specs) = specs else { return Ok(TrajectorySafetyMonitor(Mutex::new(Trajectory::built_in()?))) };
        let Ok(mapping) = specs.cast::<PyMapping>() else {
            return Err(Error::Formula.with("properties are a mapping from names to formulas"));
        };
        let mut properties = Vec::new();
        for pair in mapping.items()?.iter() {
            let (name, formula) = pair.extract::<(Bound<'_, PyString>, Bound<'_, PyAny>)>()?;
            properties.push((name.to_cow()?.into_owned(), Formula::given(&formula)?));
        }
        Ok(TrajectorySafetyMonitor(Mutex::new(Trajectory::new(&properties)?)))
    }

    /// Reads one step: a `StepObservation`, or a set of names. Returns the worst verdict of all properties.
    fn observe(&self, py: Python<'_>, step: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let step = Step::of(step)?;
        told(py, self.with(|trajectory| trajectory.take(std::slice::from_ref(&step))))
    }

    /// Reads many steps, in order, without the GIL. Returns the worst verdict of all properties.
    ///
    /// >>> from lictor import StepObservation, TrajectorySafetyMonitor
    /// >>> steps = [StepObservation(tool_call=True), StepObservation(verification_passed=True)]
    /// >>> TrajectorySafetyMonitor().observe_all(steps)
    /// <Verdict.INCONCLUSIVE: 'inconclusive'>
    fn observe_all(&self, py: Python<'_>, steps: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let steps = steps.try_iter()?.map(|step| Step::of(&step?)).collect::<PyResult<Vec<Step>>>()?;
        let worst = py.detach(|| self.with(|trajectory| trajectory.take(&steps)));
        told(py, worst)
    }

    /// Returns the present verdicts of all properties. Definite verdicts stay; open obligations are inconclusive.
    ///
    /// The report has formulas and numbers of steps, without content.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, &self.with(|trajectory| trajectory.account()))
    }

    /// Ends the trajectory and returns the report: unmet obligations are violated, unbroken properties satisfied.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let account = self.with(|trajectory| {
            if !trajectory.is_final {
                trajectory.judge(true);
                trajectory.is_final = true;
            }
            trajectory.account()
        });
        report(py, &account)
    }

    /// The worst verdict of all properties.
    #[getter]
    fn verdict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        verdict::to_python(py, self.with(|trajectory| trajectory.worst))
    }

    /// The properties by their names, as formulas.
    #[getter]
    fn specs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specs = PyDict::new(py);
        for property in &self.with(|trajectory| trajectory.account()).properties {
            specs.set_item(&property.name, Formula::read(&property.formula)?)?;
        }
        Ok(specs)
    }

    fn __repr__(&self) -> String {
        let Account { worst, steps, .. } = self.with(|trajectory| trajectory.account());
        format!("<TrajectorySafetyMonitor {worst} after {steps} steps>")
    }
}

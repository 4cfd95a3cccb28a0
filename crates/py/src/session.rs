//! One session of an agent, judged step by step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lictor::event::{Event, write_time};
use lictor::finding::Finding;
use lictor::guidance::CallSketch;
use lictor::json::Json;
use lictor::judge::Judge;
use lictor::session::{Proposal as JudgeProposal, Session as JudgeSession, SessionError, SessionSummary};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Error;
use crate::event::read_event;
use crate::forecast::{self, Chain, ForecastQuestion, Predictors};
use crate::policy::Policy;
use crate::{value, verdict};

/// Returns findings as Python objects.
pub(crate) fn findings<'py>(py: Python<'py>, found: &[Finding]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    if !found.is_empty() {
        let class = py.import("lictor.findings")?.getattr("Finding")?;
        for finding in found {
            list.append(class.call_method1("from_dict", (value::loads(py, &finding.to_json())?,))?)?;
        }
    }
    Ok(list)
}

/// One session of an agent, judged step by step by a policy.
///
/// `propose` returns what an event would break and changes nothing, `commit` makes it part of the session, `observe` is
/// both at once. An event is a mapping in Lictor's own format; `lictor schema event` prints its fields.
///
/// >>> from lictor import Policy, Session
/// >>> policy = Policy.parse('''
/// ... lictor: 1
/// ... name: shop
/// ... properties:
/// ...   - id: refunds-are-approved
/// ...     says: A refund is approved first.
/// ...     formula: always (tool_call("refund") implies once approval)
/// ... ''')
/// >>> session = Session(policy)
/// >>> refund = {"kind": "tool_call", "tool": "refund"}
/// >>> proposal = session.propose(refund)
/// >>> [finding.property for finding in proposal.findings]
/// ['refunds-are-approved']
/// >>> session.steps
/// 0
/// >>> session.observe({"kind": "approval"})
/// []
/// >>> session.commit(session.propose(refund))
/// []
///
/// `fork` returns an independent copy, and `propose(event, after=proposal)` tries a further event: nothing of that becomes
/// part of the session.
///
/// Sessions share nothing, not even histories across sessions: use `Guard` for those.
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Session {
    name: String,
    /// Shared with the forks of the session.
    judge: Arc<Mutex<Judge>>,
    /// Shared with the forks, too. Locked last.
    predictors: Arc<Mutex<Predictors>>,
    /// Locked before the judge.
    session: Mutex<JudgeSession>,
}

/// An event that may become part of a session, and what it would break.
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Proposal {
    findings: Py<PyList>,
    doubts: Vec<String>,
    proposed: Mutex<Option<JudgeProposal>>,
}

/// The error for a proposal that was committed before.
const COMMITTED: &str = "the proposal was committed already\n  hint: propose the event again";

#[pymethods]
impl Proposal {
    /// What the event would newly break.
    #[getter]
    fn findings(&self, py: Python<'_>) -> Py<PyList> {
        self.findings.clone_ref(py)
    }

    /// The properties for which it is unknown whether the event breaks them.
    #[getter]
    fn doubts(&self) -> Vec<String> {
        self.doubts.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Proposal with {} findings>", self.findings.bind(py).len())
    }
}

impl Session {
    /// Calls a function with the session and its judge, without the GIL.
    fn with<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut JudgeSession, &mut Judge) -> T + Send) -> T {
        py.detach(|| call(&mut lock(&self.session), &mut lock(&self.judge)))
    }
}

/// Returns the exception for a call that the session refuses.
fn to_error(refused: SessionError) -> PyErr {
    Error::State.with(refused.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (policy, name = "session", *, content = false))]
    fn new(policy: &Bound<'_, PyAny>, name: &str, content: bool) -> PyResult<Session> {
        let mut judge = Policy::given(policy, Policy::judge)?;
        let session = JudgeSession::new(&mut judge, name);
        let session = if content { session.showing_content() } else { session };
        Ok(Session {
            name: name.to_owned(),
            judge: Arc::new(Mutex::new(judge)),
            predictors: Arc::default(),
            session: Mutex::new(session),
        })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The number of its events.
    #[getter]
    fn steps(&self, py: Python<'_>) -> u32 {
        py.detach(|| lock(&self.session).steps())
    }

    /// Returns an independent copy, to try events that may never happen. Neither sees the later events of the other.
    fn fork(&self, py: Python<'_>) -> Session {
        let session = py.detach(|| lock(&self.session).fork());
        Session {
            name: self.name.clone(),
            judge: Arc::clone(&self.judge),
            predictors: Arc::clone(&self.predictors),
            session: Mutex::new(session),
        }
    }

    /// Returns a proposal with what the event would newly break. The session is unchanged.
    ///
    /// With `after`, the event comes after a proposed one; both can still be committed, in their order.
    #[pyo3(signature = (event, *, after = None))]
    fn propose(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        after: Option<&Bound<'_, Proposal>>,
    ) -> PyResult<Proposal> {
        let event = read_event(event)?;
        let after = after.map(Bound::get);
        let proposed: Result<JudgeProposal, String> = self.with(py, |session, judge| match after {
            None => session.propose(judge, &event).map_err(|refused| refused.to_string()),
            Some(after) => {
                let before = lock(&after.proposed);
                session
                    .propose_upon(judge, before.as_ref().ok_or(COMMITTED)?, &event)
                    .map_err(|refused| refused.to_string())
            }
        });
        let proposed = proposed.map_err(|message| Error::State.with(message))?;
        let findings = findings(py, &proposed.findings)?.unbind();
        let doubts = proposed.doubts.iter().map(|property| property.id.to_string()).collect();
        Ok(Proposal { findings, doubts, proposed: Mutex::new(Some(proposed)) })
    }

    /// Makes a proposed event part of the session, and returns what it broke.
    ///
    /// A proposal can be committed once, to the session that made it, and only while that session is unchanged.
    fn commit<'py>(&self, py: Python<'py>, proposal: &Bound<'py, Proposal>) -> PyResult<Bound<'py, PyList>> {
        let given = proposal.get();
        let found: Result<Vec<Finding>, String> = self.with(py, |session, judge| {
            let mut given = lock(&given.proposed);
            // A proposal that is refused here can still be committed where it was made.
            session.check(given.as_ref().ok_or(COMMITTED)?).map_err(|refused| refused.to_string())?;
            let proposed = given.take().ok_or(COMMITTED)?;
            session.commit(judge, proposed).map_err(|refused| refused.to_string())
        });
        findings(py, &found.map_err(|message| Error::State.with(message))?)
    }

    /// Makes an event part of the session, and returns what it broke.
    fn observe<'py>(&self, py: Python<'py>, event: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let event = read_event(event)?;
        let found = self.with(py, |session, judge| session.observe(judge, &event));
        findings(py, &found.map_err(to_error)?)
    }

    /// Makes many events part of the session, in order, and returns what they broke.
    ///
    /// Equals an `observe` for each, but releases the GIL once, so that many threads can use all cores.
    fn observe_all<'py>(&self, py: Python<'py>, events: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let events = events.try_iter()?.map(|event| read_event(&event?)).collect::<PyResult<Vec<Event>>>()?;
        let found = self.with(py, |session, judge| -> Result<Vec<Finding>, SessionError> {
            let mut found = Vec::new();
            for event in &events {
                found.append(&mut session.observe(judge, event)?);
            }
            Ok(found)
        });
        findings(py, &found.map_err(to_error)?)
    }

    /// Advances time, and returns the deadlines missed by then.
    fn tick<'py>(&self, py: Python<'py>, time: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let now = value::time(time)?;
        let found = self.with(py, |session, judge| session.tick(judge, now));
        findings(py, &found.map_err(to_error)?)
    }

    /// Returns the unmet obligations, as if the session ended here. It may continue.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = self.with(py, |session, judge| session.finish(judge));
        findings(py, &found.map_err(to_error)?)
    }

    /// Returns the open obligations, the nearest deadline first, as mappings with `property`, `says`, `open` (what must
    /// still hold, in words), `due`, `remedy` and `settled_by` (facts that settle it alone).
    fn obligations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let open = self.with(py, |session, judge| session.obligations(judge)).map_err(to_error)?;
        let list = PyList::empty(py);
        for obligation in &open {
            let entry = PyDict::new(py);
            entry.set_item("property", obligation.property.id.as_str())?;
            entry.set_item("says", obligation.property.says.as_str())?;
            entry.set_item("open", &obligation.residual)?;
            entry.set_item("due", obligation.deadline.map(write_time))?;
            entry.set_item("remedy", obligation.property.remedy.as_deref())?;
            let facts: Vec<&str> = obligation.settled_by.iter().map(|settling| settling.fact.as_str()).collect();
            entry.set_item("settled_by", facts)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Returns the properties with `respond: block` that every call of a tool would break now, whatever its arguments
    /// are. With `args`, only calls with these arguments count; the others may be anything.
    ///
    /// >>> from lictor import Policy, Session
    /// >>> session = Session(Policy.parse('''
    /// ... lictor: 1
    /// ... name: shop
    /// ... properties:
    /// ...   - id: checked-first
    /// ...     formula: always (tool_call("pay") implies once tool_call("check"))
    /// ...     respond: block
    /// ... '''))
    /// >>> session.stopping("pay"), session.stopping("check")
    /// (['checked-first'], [])
    /// >>> session.observe({"kind": "tool_call", "tool": "check"})
    /// []
    /// >>> session.stopping("pay")
    /// []
    #[pyo3(signature = (tool, args = None))]
    fn stopping(&self, py: Python<'_>, tool: &str, args: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
        let mut sketch = CallSketch::new(tool);
        if let Some(Json::Object(known)) = args.map(value::to_json).transpose()? {
            sketch.known = known.into_members();
        }
        let found = self.with(py, |session, judge| session.stopping(judge, &sketch, None)).map_err(to_error)?;
        Ok(found.iter().map(|property| property.id.to_string()).collect())
    }

    /// Returns how likely a property is newly violated within some actions of the agent, by a chain. `None` if the session
    /// is unlike those that the chain was learnt from.
    ///
    /// With `properties`, only these count; with `pattern`, a formula about `violated("ID")` and `satisfied("ID")` is
    /// forecast instead of a violation; with `after`, from a proposed event on, and what that event violates counts.
    #[pyo3(signature = (chain, *, within = 3, properties = None, pattern = None, after = None))]
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        chain: &Bound<'_, Chain>,
        within: u32,
        properties: Option<Vec<String>>,
        pattern: Option<String>,
        after: Option<&Bound<'_, Proposal>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let question = ForecastQuestion { within, properties, pattern };
        question.check()?;
        let (chain, after) = (chain.get(), after.map(Bound::get));
        let outlook = self.with(py, |session, judge| {
            let mut predictors = lock(&self.predictors);
            let predictor = predictors.get(judge, chain, &question).map_err(|why| Error::Forecast.with(why))?;
            match after {
                None => session.forecast(judge, predictor).map_err(to_error),
                Some(after) => {
                    let proposed = lock(&after.proposed);
                    let proposed = proposed.as_ref().ok_or_else(|| Error::State.with(COMMITTED))?;
                    session.forecast_upon(judge, predictor, proposed).map_err(to_error)
                }
            }
        });
        forecast::to_python(py, &outlook?)
    }

    /// Returns the verdicts of the session and the numbers of its steps, without content. With `at_end`, as if it ended
    /// here.
    #[pyo3(signature = (*, at_end = false))]
    fn report<'py>(&self, py: Python<'py>, at_end: bool) -> PyResult<Bound<'py, PyDict>> {
        let summary = self.with(py, |session, judge| match at_end {
            true => session.report_at_end(judge),
            false => session.report(judge),
        });
        to_dict(py, &summary.map_err(to_error)?)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Session {} after {} steps>", self.name, self.steps(py))
    }
}

fn to_dict<'py>(py: Python<'py>, summary: &SessionSummary) -> PyResult<Bound<'py, PyDict>> {
    let properties = PyList::empty(py);
    for property in &summary.properties {
        let entry = PyDict::new(py);
        entry.set_item("name", property.id.as_str())?;
        entry.set_item("verdict", verdict::to_python(py, property.verdict)?)?;
        entry.set_item("formula", &property.formula)?;
        entry.set_item("violated_at_step", property.violated_at_step)?;
        properties.append(entry)?;
    }
    let report = PyDict::new(py);
    report.set_item("verdict", verdict::to_python(py, summary.verdict)?)?;
    report.set_item("steps", summary.steps)?;
    report.set_item("properties", properties)?;
    report.set_item("violations", summary.violations.iter().map(|name| name.as_str()).collect::<Vec<_>>())?;
    Ok(report)
}

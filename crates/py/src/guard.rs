//! The native half of a guard: decisions on events of any number of sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lictor::event::Event;
use lictor::finding::Finding;
use lictor::guard::{Capabilities, Decision, Guard, GuardOptions, Preview, ReplyScores};
use lictor::guidance::{Guidance, GuidanceQuery};
use lictor::judge::Foresight;
use lictor::policy::{PredictSettings, Steering};
use lictor_exchange::{LocalDecider, LocalParts, LocalSessions, ResumedCall, changes_texts, reads_texts};
use lictor_logic::{Span, Time};
use lictor_warden::RefusedInput;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::{Map, Value};

use crate::decider::Decider;
use crate::error::Error;
use crate::event::read_event;
use crate::policy::Policy;
use crate::session::findings;
use crate::value;

/// The message in a process that was forked after the guard was made.
const FORKED: &str = "this guard was made by another process, of which this one is a copy\nhint: make the guard after forking, \
                      with a log of its own for each process";

/// The native part of `lictor.Guard`.
#[pyclass(module = "lictor._lictor", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct GuardCore {
    guarding: Arc<Mutex<GuardState>>,
    /// The process that made it. A forked process has a copy of its sessions and approvals, so that each could be used in
    /// both; and no thread that writes the log or releases a held lock.
    process: u32,
    writes: bool,
    changes_texts: bool,
    reads_texts: bool,
    predict: Option<Arc<PredictSettings>>,
    steering: Steering,
}

/// A guard, and the sessions of the model clients that it guards.
#[derive(Debug)]
pub(crate) struct GuardState {
    decider: Decider,
    sessions: LocalSessions,
}

impl GuardState {
    /// Decides on an event of a session, now; an error if that cannot be recorded.
    pub(crate) fn decide(&mut self, mut event: Event, session: &str) -> Result<Arc<Decision>, String> {
        event.session = Some(session.into());
        let decision = self.decider.decide(event, Capabilities::default(), now())?;
        self.sessions.settle(session, &decision, &mut self.decider)?;
        Ok(decision)
    }

    /// Resumes a call that a reviewer approved, or else decides on it. A call that waits for a reviewer can be resumed.
    pub(crate) fn admit(&mut self, mut event: Event, session: &str) -> Result<Admission, String> {
        event.session = Some(session.into());
        if let Some(resumed) = self.sessions.resume(session, &event, &mut self.decider)? {
            return Ok(Admission::Resumed(resumed));
        }
        let decision = self.decide(event.clone(), session)?;
        self.sessions.hold(session, &event, &decision);
        Ok(Admission::Decided(decision))
    }

    /// Returns the parts that drive an exchange.
    pub(crate) fn parts(&mut self) -> LocalParts<'_> {
        (&mut self.sessions, &mut self.decider)
    }
}

/// What becomes of a call.
#[derive(Debug)]
pub(crate) enum Admission {
    Resumed(ResumedCall),
    Decided(Arc<Decision>),
}

impl LocalDecider for Decider {
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String> {
        Decider::decide(self, event, capabilities, now())
    }

    fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        Decider::preview(self, event)
    }

    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        Decider::score(self, session, replies)
    }

    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String> {
        Decider::guide(self, session, query, now())
    }

    fn now(&self) -> Option<Time> {
        Some(now())
    }

    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        Decider::is_pending(self, session, id)
    }

    fn note(&mut self, record: Map<String, Value>) -> Result<(), String> {
        Decider::note(self, record, now())
    }

    fn refuse(&mut self, code: &str, bytes: &[u8], exchange: &str) -> Result<(), String> {
        let exchange = Some(exchange.to_owned());
        Decider::refuse(self, &RefusedInput { reason: code.to_owned(), bytes: bytes.to_vec(), exchange }, now())
    }
}

/// Returns the time of this machine.
fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}

impl GuardCore {
    /// Whether the policy may change what an assistant says.
    pub(crate) fn changes_texts(&self) -> bool {
        self.changes_texts
    }

    /// Whether a property looks at what an assistant says.
    pub(crate) fn reads_texts(&self) -> bool {
        self.reads_texts
    }

    /// Returns how replies with a bad forecast are replaced.
    pub(crate) fn predict(&self) -> Option<Arc<PredictSettings>> {
        self.predict.clone()
    }

    /// How the policy steers the model.
    pub(crate) fn steering(&self) -> Steering {
        self.steering
    }

    /// Locks the guard. Returns an error in a forked process.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, GuardState>, String> {
        match self.process == std::process::id() {
            true => Ok(self.guarding.lock().unwrap_or_else(PoisonError::into_inner)),
            false => Err(FORKED.to_owned()),
        }
    }

    /// Returns the exception for a step that could not be decided.
    pub(crate) fn error(&self, message: String) -> PyErr {
        match message == FORKED && !self.writes {
            true => Error::State.with(message),
            false => Error::Log.with(message),
        }
    }
}

/// Returns a decision as a Python object.
pub(crate) fn to_python<'py>(py: Python<'py>, line: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("lictor.decisions")?.getattr("Decision")?;
    class.call_method1("from_dict", (value::loads(py, line)?,))
}

/// Findings and decisions as Python objects.
type FindingsAndDecisions<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

/// A decision, or the id and the rewritten form of a call that is resumed.
type AdmittedCall<'py> = (Option<Bound<'py, PyAny>>, Option<(Option<String>, Option<Bound<'py, PyAny>>)>);

fn told<'py>(py: Python<'py>, told: PyResult<(Vec<Finding>, Vec<Decision>)>) -> PyResult<FindingsAndDecisions<'py>> {
    let (found, refused) = told?;
    let list = PyList::empty(py);
    for decision in refused {
        list.append(to_python(py, &decision.line())?)?;
    }
    Ok((findings(py, &found)?, list))
}

#[pymethods]
impl GuardCore {
    #[new]
    fn new(
        policy: &Bound<'_, PyAny>,
        patience: f64,
        content: bool,
        log: Option<PathBuf>,
        origin: &str,
        keep_content: bool,
    ) -> PyResult<GuardCore> {
        if !(0.0..1e9).contains(&patience) {
            return Err(Error::State.with("patience is a number of seconds"));
        }
        let options = GuardOptions::default().patience(Span((patience * 1e9) as u64)).content(content);
        let wanted = |policy: &Policy| {
            let (judge, loaded) = (policy.judge(), policy.policy());
            let foresight = Foresight::open(&judge, loaded).map_err(|problem| problem.to_string());
            let texts = (changes_texts(loaded), reads_texts(loaded));
            let settings = (texts, loaded.steering, loaded.predict.clone().map(Arc::new));
            (judge, policy.fingerprint(), settings, policy.labelers(true), foresight)
        };
        let (judge, fingerprint, settings, labelers, foresight) = Policy::given(policy, wanted)?;
        let ((changes_texts, reads_texts), steering, predict) = settings;
        let foresight = foresight.map_err(|problem| Error::Policy.with(problem))?;
        let labelers = labelers.map_err(|problems| Error::Policy.with(problems))?;
        let guard = Guard::new(judge, options).labeled_by(labelers).foreseeing(foresight);
        let decider = policy.py().detach(|| match log {
            Some(folder) => Decider::writing(guard, fingerprint, &folder, origin, keep_content),
            None => Ok(Decider::Forgetful(Box::new(guard))),
        });
        let decider = decider.map_err(|message| Error::Log.with(message))?;
        let writes = matches!(decider, Decider::Writing(_));
        let guarding = Arc::new(Mutex::new(GuardState { decider, sessions: LocalSessions::default() }));
        let process = std::process::id();
        Ok(GuardCore { guarding, process, writes, changes_texts, reads_texts, steering, predict })
    }

    /// Returns the key that verifies the log.
    fn log_key(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.lock().ok()?.decider.key())
    }

    /// Decides on an event before it takes effect.
    fn decide<'py>(&self, py: Python<'py>, event: &Bound<'py, PyAny>, session: &str) -> PyResult<Bound<'py, PyAny>> {
        let event = read_event(event)?;
        let decided = py.detach(|| self.lock()?.decide(event, session));
        to_python(py, &decided.map_err(|message| self.error(message))?.line())
    }

    /// Decides on a call before it is made; one that a reviewer approved is resumed. Returns the decision, or the id and the
    /// rewritten form of the resumed call.
    fn admit<'py>(&self, py: Python<'py>, event: &Bound<'py, PyAny>, session: &str) -> PyResult<AdmittedCall<'py>> {
        let event = read_event(event)?;
        let admitted = py.detach(|| self.lock()?.admit(event, session));
        Ok(match admitted.map_err(|message| self.error(message))? {
            Admission::Decided(decision) => (Some(to_python(py, &decision.line())?), None),
            Admission::Resumed(ResumedCall { id, rewritten }) => {
                let rewritten = rewritten.map(|event| value::loads(py, &event.to_json().to_string())).transpose()?;
                (None, Some((id, rewritten)))
            }
        })
    }

    /// Returns the sessions in which something waits for a reviewer by this id.
    fn awaiting(&self, py: Python<'_>, id: &str) -> PyResult<Vec<String>> {
        py.detach(|| self.lock()?.decider.awaiting(id)).map_err(|message| self.error(message))
    }

    /// Returns the sessions in which a call was approved by this id and not made since.
    fn approved(&self, py: Python<'_>, id: &str) -> PyResult<Vec<String>> {
        let found = py.detach(|| Ok(self.lock()?.sessions.approved(id, now())));
        found.map_err(|message| self.error(message))
    }

    /// Advances time to now. Returns the missed deadlines and the expired approvals.
    fn tick<'py>(&self, py: Python<'py>) -> PyResult<FindingsAndDecisions<'py>> {
        told(py, py.detach(|| self.lock()?.decider.tick(now())).map_err(|message| self.error(message)))
    }

    /// Returns the findings if the session ended here.
    fn owed<'py>(&self, py: Python<'py>, session: &str) -> PyResult<Bound<'py, PyList>> {
        let found = py.detach(|| self.lock()?.decider.owed(session));
        findings(py, &found.map_err(|message| self.error(message))?)
    }

    /// Ends a session.
    fn finish<'py>(&self, py: Python<'py>, session: &str) -> PyResult<FindingsAndDecisions<'py>> {
        let ended = py.detach(|| {
            let mut guarding = self.lock()?;
            guarding.sessions.forget(session);
            guarding.decider.finish(session, now())
        });
        told(py, ended.map_err(|message| self.error(message)))
    }

    /// Closes the log. Nothing is decided afterwards.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // The process that writes a log closes it.
        if self.process != std::process::id() {
            return Ok(());
        }
        py.detach(|| self.lock()?.decider.close(now())).map_err(|message| self.error(message))
    }
}

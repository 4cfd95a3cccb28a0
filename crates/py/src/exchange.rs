//! One exchange with a model: what a client sends and what it is answered pass through the guard.
//!
//! The bytes are read and written by `lictor-wire`; this puts the guard between. What cannot be read is answered with an
//! error in the vendor's own shape, and never passes.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lictor::event::{Event, Kind};
use lictor::guard::{Action, Decision};
use lictor_wire::{
    Api, ConversationHistory, Reply, Request, Route, Ruling, SentItem, Stream, StreamAction, StreamLimits, WireRefusal,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Error;
use crate::guard::{GuardCore, Guarding, to_python};

/// What is said in place of something that has no message of its own.
const WITHHELD: &str = "[withheld]";

/// Why a request goes no further.
const BLOCKED: &str = "policy.blocked";

/// Why nothing goes on that cannot be written down.
const UNWRITTEN: &str = "audit.unavailable";

/// One exchange of a session with a model.
#[pyclass(module = "lictor._lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Exchange {
    core: GuardCore,
    session: String,
    api: Option<Api>,
    /// Whether it needs no judging.
    is_harmless: bool,
    hold_text: bool,
    stream: Mutex<Option<Flow>>,
}

#[derive(Debug)]
struct Flow {
    stream: Stream,
    moves: VecDeque<StreamAction>,
    /// Whether it ended because something could not be written down: nothing leaves any more.
    is_cut: bool,
}

/// The status and the body of an answer that never came from the model.
type Answer<'py> = (u16, Bound<'py, PyBytes>);

/// What may be sent, or what is answered instead; and the decisions that changed something.
type Asked<'py> = (Option<Bound<'py, PyBytes>>, Option<Answer<'py>>, Vec<Bound<'py, PyAny>>);

impl Exchange {
    fn api(&self) -> Api {
        self.api.unwrap_or(Api::Chat)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Guarding>, WireRefusal> {
        self.core.lock().map_err(|message| WireRefusal::new(UNWRITTEN, message))
    }

    fn refusal<'py>(&self, py: Python<'py>, status: u16, refused: &WireRefusal) -> Answer<'py> {
        let status = match refused.code {
            UNWRITTEN => 503,
            BLOCKED => 403,
            _ => status,
        };
        (status, PyBytes::new(py, &self.api().error(status, refused.code, &refused.message)))
    }
}

/// Decides on an event and says what becomes of it on the wire.
fn rule(guarding: &mut Guarding, session: &str, event: Event, told: &mut Vec<Decision>) -> Result<Ruling, WireRefusal> {
    let decided = guarding.decide(event, session).map_err(|message| WireRefusal::new(UNWRITTEN, message))?;
    let Some(decision) = decided.decision else { return Ok(Ruling::Deny { text: WITHHELD.to_owned() }) };
    let text = || decision.message.clone().unwrap_or_else(|| WITHHELD.to_owned());
    let ruling = match (decision.action, &decision.rewritten) {
        (Action::Forward | Action::Steer, _) => Ruling::Forward,
        (Action::Redact, Some(event)) => Ruling::Rewrite(event.clone()),
        (Action::Redact | Action::Ask | Action::Block, _) => Ruling::Deny { text: text() },
    };
    if decision.action != Action::Forward {
        told.push(decision);
    }
    Ok(ruling)
}

/// The same for something that the model said or did.
fn rule_reply(
    guarding: &mut Guarding,
    session: &str,
    event: Event,
    told: &mut Vec<Decision>,
) -> Result<Ruling, WireRefusal> {
    let call = event.id.clone().filter(|_| event.kind == Kind::ToolCall);
    let ruling = rule(guarding, session, event, told)?;
    if let (Some(id), Ruling::Deny { text }) = (call, &ruling) {
        guarding.histories.entry(session.to_owned()).or_default().denied.push((id, text.clone()));
    }
    Ok(ruling)
}

/// Decisions as Python knows them.
fn list<'py>(py: Python<'py>, decisions: &[Decision]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    decisions.iter().map(|decision| to_python(py, &decision.line())).collect()
}

/// What a request says is judged; the body as it may be sent.
fn ask(
    guarding: &mut Guarding,
    session: &str,
    api: Api,
    body: &[u8],
    told: &mut Vec<Decision>,
) -> Result<Vec<u8>, WireRefusal> {
    let request = Request::read(api, body)?;
    let mut history = guarding.histories.get(session).cloned().unwrap_or_default();
    let fold = history.known.fold(&request);
    if let Some(event) = fold.event() {
        // That a history was changed is told, and decides nothing by itself.
        rule(guarding, session, event, told)?;
    }
    for (index, event) in &fold.fresh {
        let ruling = rule(guarding, session, event.clone(), told)?;
        // Only for answers something else can be said in their place; nobody else's words are put into a person's mouth.
        if let Ruling::Deny { text } = &ruling
            && !matches!(event.kind, Kind::ToolResult | Kind::Retrieval)
        {
            return Err(WireRefusal::new(BLOCKED, text.clone()));
        }
        if let (false, Some(item)) = (ruling.is_forward(), request.items.get(*index)) {
            history.changed.insert(item.hash, ruling);
        }
    }
    let changed = request.items.iter().enumerate();
    let changes: Vec<(usize, Ruling)> =
        changed.filter_map(|(index, item)| Some((index, history.changed.get(&item.hash)?.clone()))).collect();
    // A client that sends the history itself never saw the call that was denied.
    let denied = std::mem::take(&mut history.denied);
    let answers = if request.carries_history() { &[][..] } else { &denied };
    let rewritten = request.answered(&changes, answers)?;
    history.known = fold.known;
    guarding.histories.insert(session.to_owned(), history);
    Ok(rewritten)
}

/// Takes up what the client was told: it will send it back.
fn replied(guarding: &mut Guarding, session: &str, sent: &[Vec<SentItem>]) {
    let known: &mut ConversationHistory = &mut guarding.histories.entry(session.to_owned()).or_default().known;
    known.replied(sent);
}

impl Flow {
    /// Makes the moves that the stream asks for; what may leave.
    fn play(&mut self, guarding: &mut Guarding, exchange: &Exchange, told: &mut Vec<Decision>) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(next) = self.moves.pop_front() {
            let more = match next {
                StreamAction::Release(bytes) => {
                    out.extend(bytes);
                    continue;
                }
                StreamAction::Judge(event) => match rule_reply(guarding, &exchange.session, *event, told) {
                    Ok(ruling) => self.stream.rule(ruling),
                    Err(unwritten) => {
                        let sequence = self.stream.sequence();
                        out.extend(exchange.api().error_event(503, unwritten.code, &unwritten.message, sequence));
                        self.moves.clear();
                        self.is_cut = true;
                        continue;
                    }
                },
                StreamAction::Text { .. } => self.stream.mask(&[]),
                StreamAction::Refuse(refused) => {
                    let sequence = self.stream.sequence();
                    out.extend(exchange.api().error_event(502, refused.code, &refused.message, sequence));
                    continue;
                }
            };
            self.moves.extend(more);
        }
        out
    }
}

#[pymethods]
impl Exchange {
    #[new]
    fn new(core: &Bound<'_, GuardCore>, session: &str, method: &str, path: &str, hold_text: bool) -> Exchange {
        let (api, is_harmless) = match Api::route(method, path) {
            Route::Judged(api) => (Some(api), false),
            Route::Harmless(api) => (Some(api), true),
            Route::Unknown => (None, false),
        };
        let core = core.get().clone();
        Exchange { core, session: session.to_owned(), api, is_harmless, hold_text, stream: Mutex::new(None) }
    }

    /// Whether there is nothing to judge: lists of models, counts of tokens.
    #[getter]
    fn is_harmless(&self) -> bool {
        self.is_harmless
    }

    /// Whether nobody here knows what the request does.
    #[getter]
    fn is_unknown(&self) -> bool {
        self.api.is_none()
    }

    /// An error in the vendor's own shape.
    fn error<'py>(&self, py: Python<'py>, status: u16, code: &str, message: &str) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.api().error(status, code, message))
    }

    /// Judges the body of a request.
    fn ask<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Asked<'py>> {
        let mut told = Vec::new();
        let asked = py.detach(|| {
            let mut guarding = self.lock()?;
            ask(&mut guarding, &self.session, self.api(), body, &mut told)
        });
        let told = list(py, &told)?;
        Ok(match asked {
            Ok(bytes) => (Some(PyBytes::new(py, &bytes)), None, told),
            Err(refused) => (None, Some(self.refusal(py, 400, &refused)), told),
        })
    }

    /// Judges the body of a reply.
    fn reply<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Asked<'py>> {
        let mut told = Vec::new();
        let settled = py.detach(|| {
            let reply = Reply::read(self.api(), body)?;
            let guarding = &mut *self.lock()?;
            let events = reply.events().iter();
            let rulings = events.map(|event| rule_reply(guarding, &self.session, event.clone(), &mut told));
            let rulings: Vec<Ruling> = rulings.collect::<Result<_, _>>()?;
            let settled = reply.settle(&rulings)?;
            replied(guarding, &self.session, &settled.sent);
            Ok(settled.body)
        });
        let told = list(py, &told)?;
        Ok(match settled {
            Ok(bytes) => (Some(PyBytes::new(py, &bytes)), None, told),
            Err(refused) => (None, Some(self.refusal(py, 502, &refused)), told),
        })
    }

    /// Takes bytes of a streamed reply, none at its end; gives those that may leave, and the decisions that changed
    /// something.
    fn push<'py>(
        &self,
        py: Python<'py>,
        bytes: Option<&[u8]>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<Bound<'py, PyAny>>)> {
        let mut told = Vec::new();
        let out = py.detach(|| {
            let mut guarding = match self.lock() {
                Ok(guarding) => guarding,
                Err(refused) => return self.api().error_event(503, refused.code, &refused.message, 0),
            };
            let guarding = &mut *guarding;
            let mut flow = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            let flow = flow.get_or_insert_with(|| {
                let hold_back = if self.hold_text { usize::MAX } else { 0 };
                let limits = StreamLimits { hold_back, ..StreamLimits::default() };
                Flow { stream: Stream::new(self.api(), limits), moves: VecDeque::new(), is_cut: false }
            });
            if flow.is_cut {
                return Vec::new();
            }
            let moves = match bytes {
                Some(bytes) => flow.stream.push(bytes),
                None => flow.stream.end(),
            };
            flow.moves.extend(moves);
            let out = flow.play(guarding, self, &mut told);
            if bytes.is_none() && !flow.is_cut {
                replied(guarding, &self.session, &flow.stream.sent());
            }
            out
        });
        let told = list(py, &told)?;
        Ok((PyBytes::new(py, &out), told))
    }

    fn __repr__(&self) -> PyResult<String> {
        let api = self.api.map(Api::name).ok_or_else(|| Error::State.with("a request of no known kind"))?;
        Ok(format!("<Exchange of {} by {api}>", self.session))
    }
}

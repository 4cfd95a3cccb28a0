//! Chains, and what they say about the rest of a session.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use lictor::event::Event;
use lictor::judge::Judge;
use lictor::predict::{Chain as LearntChain, Forecast, Outlook, Predictor, SOME_VIOLATION};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Error;
use crate::event::read_event;
use crate::policy::Policy;

/// The most actions that a forecast looks ahead.
const MAX_WITHIN: u32 = 20;

/// How many predictors a session keeps with what they have computed. Programs use one or two.
const MAX_PREDICTORS: usize = 16;

/// How the events of an agent follow each other, learnt from past sessions: forecasts are made by it.
///
/// >>> from lictor import Chain, Policy, Session
/// >>> policy = Policy.parse('''
/// ... lictor: 1
/// ... name: database
/// ... properties:
/// ...   - id: no-drop
/// ...     formula: always not tool_call("drop")
/// ... ''')
/// >>> def call(tool):
/// ...     return {"kind": "tool_call", "tool": tool}
/// >>> past = [[call("open"), call("drop" if n % 2 else "read")] for n in range(40)]
/// >>> chain = Chain.learn(policy, past)
/// >>> session = Session(policy)
/// >>> session.observe(call("open"))
/// []
/// >>> forecast = session.forecast(chain, within=1)
/// >>> 0.4 < forecast.chance < 0.6, forecast.chance < forecast.most
/// (True, True)
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Chain(Arc<LearntChain>);

#[pymethods]
impl Chain {
    /// Loads a chain from the file that `lictor learn chain` or `text` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Chain> {
        let read = py.detach(|| std::fs::read_to_string(&path));
        let text = read.map_err(|error| Error::Forecast.with(format!("cannot read {}: {error}", path.display())))?;
        let parsed = py.detach(|| LearntChain::parse(&text));
        let chain = parsed.map_err(|error| Error::Forecast.with(format!("{}: {error}", path.display())))?;
        Ok(Chain(Arc::new(chain)))
    }

    /// Parses the text of a chain.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Chain> {
        let parsed = py.detach(|| LearntChain::parse(text));
        Ok(Chain(Arc::new(parsed.map_err(|error| Error::Forecast.with(error))?)))
    }

    /// Learns a chain from whole sessions, each a list of events. The facts are those that the policy asks for.
    #[staticmethod]
    fn learn(py: Python<'_>, policy: &Bound<'_, PyAny>, sessions: &Bound<'_, PyAny>) -> PyResult<Chain> {
        let read = |session: PyResult<Bound<'_, PyAny>>| -> PyResult<Vec<Event>> {
            session?.try_iter()?.map(|given| read_event(&given?)).collect()
        };
        let sessions: Vec<Vec<Event>> = sessions.try_iter()?.map(read).collect::<PyResult<_>>()?;
        let mut judge = Policy::given(policy, Policy::judge)?;
        let learnt = py.detach(|| judge.learn_chain(sessions.iter().map(Vec::as_slice)));
        Ok(Chain(Arc::new(learnt.map_err(|error| Error::Forecast.with(error))?)))
    }

    /// Its text, to be written to a file.
    #[getter]
    fn text(&self) -> String {
        self.0.to_file()
    }

    /// A hash of it; equal chains have equal hashes.
    #[getter]
    fn hash(&self) -> &str {
        self.0.hash()
    }

    /// The number of sessions that it was learnt from.
    #[getter]
    fn sessions(&self) -> u64 {
        self.0.sessions()
    }

    fn __repr__(&self) -> String {
        format!("<Chain of {} sessions>", self.0.sessions())
    }
}

/// What is forecast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ForecastQuestion {
    pub(crate) within: u32,
    /// The properties by their ids; without any, all that can be forecast.
    pub(crate) properties: Option<Vec<String>>,
    /// A formula about verdicts; by default a violation.
    pub(crate) pattern: Option<String>,
}

impl ForecastQuestion {
    /// Refuses a question that no forecast answers.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.within {
            1..=MAX_WITHIN => Ok(()),
            within => Err(PyValueError::new_err(format!("within is from 1 to {MAX_WITHIN} actions, not {within}"))),
        }
    }
}

/// The predictors of a session and its forks: they remember what they have computed.
#[derive(Debug, Default)]
pub(crate) struct Predictors(HashMap<(String, ForecastQuestion), Predictor>);

impl Predictors {
    /// Returns the predictor for a question. An error says why there is none.
    pub(crate) fn get(
        &mut self,
        judge: &Judge,
        chain: &Chain,
        question: &ForecastQuestion,
    ) -> Result<&mut Predictor, String> {
        let key = (chain.0.hash().to_owned(), question.clone());
        if !self.0.contains_key(&key) && self.0.len() >= MAX_PREDICTORS {
            self.0.clear();
        }
        match self.0.entry(key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(make_predictor(judge, chain, question)?)),
        }
    }
}

fn make_predictor(judge: &Judge, chain: &Chain, question: &ForecastQuestion) -> Result<Predictor, String> {
    let known = judge.properties();
    let find = |id: &String| {
        let unknown = || format!("the policy has no property `{id}`");
        known.iter().position(|property| property.id == id.as_str()).ok_or_else(unknown)
    };
    let properties = match &question.properties {
        Some(ids) => ids.iter().map(find).collect::<Result<Vec<usize>, String>>()?,
        None => judge.predictable_properties(&chain.0).0,
    };
    if properties.is_empty() {
        return Err("no property of the policy can be forecast by this chain\n  hint: learn it with this policy".into());
    }
    let pattern = question.pattern.as_deref().unwrap_or(SOME_VIOLATION);
    judge.predictor(&chain.0, &properties, pattern, question.within).map_err(|error| error.to_string())
}

/// Returns a forecast as a Python object; `None` if the session is unlike those that the chain was learnt from.
pub(crate) fn to_python<'py>(py: Python<'py>, outlook: &Outlook) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(forecast) = outlook.forecast() else { return Ok(None) };
    let Forecast { within, least, chance, most, method, .. } = forecast;
    let class = py.import("lictor.forecasts")?.getattr("Forecast")?;
    class.call1((*within, *least, *chance, *most, method.to_string())).map(Some)
}

//! Loaded policies, with a judge.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lictor::event::labeler::Labelers;
use lictor::judge::Judge;
use lictor::pack;
use lictor::policy::{FileResolver, LoadedPolicy, Policy as Loadable, Problems, lint};
use lictor_label::open::{OpenOptions, open_labelers};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::Error;

/// A policy for an agent: facts to look for, properties over them, and what to do when one is broken.
///
/// >>> from lictor import Policy
/// >>> policy = Policy.parse('''
/// ... lictor: 1
/// ... name: shop
/// ... properties:
/// ...   - id: refunds-are-approved
/// ...     says: A refund is approved first.
/// ...     formula: always (tool_call("refund") implies once approval)
/// ... ''')
/// >>> policy.properties
/// ['refunds-are-approved']
/// >>> Policy.load("gdpr,agent-safety").name
/// 'gdpr-agent-safety'
#[pyclass(module = "lictor", frozen)]
#[derive(Debug)]
pub(crate) struct Policy {
    policy: Loadable,
    warnings: Vec<String>,
    /// The judge that others are forked from; forks start with the tables it has learned.
    judge: Mutex<Judge>,
}

impl Policy {
    fn ready(loaded: Result<LoadedPolicy, Problems>) -> PyResult<Policy> {
        let LoadedPolicy { policy, warnings } = loaded.map_err(|problems| Error::Policy.with(problems))?;
        let judge = Judge::new(&policy).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Error::Policy.with(lines.join("\n"))
        })?;
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Policy { policy, warnings, judge: Mutex::new(judge) })
    }

    fn read(py: Python<'_>, source: &str) -> PyResult<Policy> {
        py.detach(|| match Path::new(source).is_file() {
            true => Policy::ready(Loadable::load(Path::new(source))),
            false => {
                let text = pack::compose_policy(source).map_err(|message| Error::Policy.with(message))?;
                Policy::ready(Loadable::parse(&text, source, &FileResolver))
            }
        })
    }

    /// Returns the loaded policy.
    pub(crate) fn policy(&self) -> &Loadable {
        &self.policy
    }

    /// Opens the labelers of this policy; drift is watched for events as they happen.
    pub(crate) fn labelers(&self, is_live: bool) -> Result<Labelers, String> {
        let options = OpenOptions::default();
        let opened = open_labelers(&self.policy, &if is_live { options.live() } else { options });
        let describe = |problems: Vec<lictor::policy::Problem>| {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        opened.map(|opened| opened.labelers).map_err(describe)
    }

    /// Returns an independent judge for this policy.
    pub(crate) fn judge(&self) -> Judge {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner).fork()
    }

    /// Calls `wanted` with the policy of an argument: a policy, a file, or packs by their names.
    pub(crate) fn given<T: Send>(value: &Bound<'_, PyAny>, wanted: impl FnOnce(&Policy) -> T + Send) -> PyResult<T> {
        let py = value.py();
        if let Ok(policy) = value.cast::<Policy>() {
            let policy = policy.get();
            return Ok(py.detach(|| wanted(policy)));
        }
        let source =
            path(value).ok_or_else(|| Error::Policy.with("a policy is a `Policy`, a path, or packs by their names"))?;
        Ok(wanted(&Policy::read(py, &source)?))
    }
}

/// Returns a path as text; none if the value is no path.
pub(crate) fn path(value: &Bound<'_, PyAny>) -> Option<String> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_cow().ok().map(std::borrow::Cow::into_owned),
        Err(_) => value.extract::<PathBuf>().ok().map(|path| path.display().to_string()),
    }
}

#[pymethods]
impl Policy {
    /// Loads a policy: a file, or packs by their names with commas between them.
    ///
    /// Raises a `PolicyError` that lists all mistakes.
    #[staticmethod]
    fn load(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Policy> {
        let Some(source) = path(source) else { return Err(Error::Policy.with("a policy is a path or a text")) };
        Policy::read(py, &source)
    }

    /// Parses the text of a policy; paths in it are relative to the folder of `name`.
    #[staticmethod]
    #[pyo3(signature = (text, name = "<policy>"))]
    fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Policy> {
        py.detach(|| Policy::ready(Loadable::parse(text, name, &FileResolver)))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.policy.name.to_string()
    }

    /// The names of its properties, in order.
    #[getter]
    fn properties(&self) -> Vec<String> {
        self.policy.properties.iter().map(|property| property.id.to_string()).collect()
    }

    /// Returns the formula of a property.
    fn formula(&self, property: &str) -> PyResult<crate::formula::Formula> {
        match self.policy.properties.iter().find(|known| known.id == property) {
            Some(found) => crate::formula::Formula::read(&found.formula),
            None => Err(pyo3::exceptions::PyKeyError::new_err(property.to_owned())),
        }
    }

    /// The warnings from loading it.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Returns probable mistakes: formulas that cannot hold, cannot fail, or contradict each other.
    fn lint(&self, py: Python<'_>) -> Vec<String> {
        let today = jiff::Zoned::now().date();
        py.detach(|| lint(&self.policy, today).iter().map(ToString::to_string).collect())
    }

    /// A hash of the whole policy; the same text gives the same hash.
    #[getter]
    pub(crate) fn fingerprint(&self) -> String {
        self.policy.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<Policy {} with {} properties>", self.policy.name, self.policy.properties.len())
    }
}

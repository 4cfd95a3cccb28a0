//! Audits of whole logs, and their reports.

use std::fmt::Write as _;
use std::sync::Arc;

use lictor::audit::{AnswerBook, AuditError, AuditOptions, audit};
use lictor::decode::Format;
use lictor::input::{Input, InputLimits};
use lictor::judge::Judge;
use lictor::report::{self, Report as AuditReport, markdown, text};
use lictor_cli::FoundLogs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Error;
use crate::policy::Policy;
use crate::value;

/// The report of an audit; made by `lictor.audit`.
#[pyclass(module = "lictor._lictor", frozen, name = "NativeReport")]
#[derive(Debug)]
pub(crate) struct Report(AuditReport);

/// The options of an audit, as `lictor.audit` passes them.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AuditArguments<'py> {
    format: Option<String>,
    threads: Option<usize>,
    content: bool,
    as_of: Option<Bound<'py, PyAny>>,
    baseline: Vec<String>,
    session_key: Option<String>,
    join: Vec<String>,
}

impl AuditArguments<'_> {
    fn options(self) -> PyResult<AuditOptions> {
        let named = |name: String| {
            let known = || Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
            let unknown = || PyValueError::new_err(format!("no format `{name}`; known are {}", known()));
            Format::named(&name).ok_or_else(unknown)
        };
        let limits = AuditOptions::default().input_limits().clone();
        let join = find_logs(&self.join, &limits)?.inputs;
        Ok(AuditOptions::default()
            .join(join)
            .format(self.format.map(named).transpose()?)
            .threads(self.threads)
            .content(self.content)
            .as_of(self.as_of.as_ref().map(value::time).transpose()?)
            .today(Some(jiff::Zoned::now().date()))
            .baseline(self.baseline.into_iter().collect())
            .session_key(self.session_key.map(Into::into)))
    }
}

fn run(mut judge: Judge, fingerprint: String, inputs: &[Input], options: &AuditOptions) -> PyResult<Report> {
    match audit(&mut judge, inputs, options, &()) {
        Ok(mut found) => {
            found.origin.fingerprint = Some(fingerprint.into());
            Ok(Report(found))
        }
        Err(AuditError::NoEvents { faults, files }) => {
            let mut message = AuditError::NoEvents { faults: faults.clone(), files }.to_string();
            for fault in faults.iter().take(20) {
                let _ = write!(message, "\n{}:{}: {}", fault.file, fault.line, fault.message);
            }
            Err(Error::Audit.with(message))
        }
        Err(error) => Err(Error::Audit.with(error)),
    }
}

/// Returns the logs of paths, as the command line finds them; none without a path.
fn find_logs(paths: &[String], limits: &InputLimits) -> PyResult<FoundLogs> {
    match paths.is_empty() {
        true => Ok(FoundLogs::default()),
        false => lictor_cli::find_logs(paths, limits).map_err(|error| Error::Audit.with(format!("{error:#}"))),
    }
}

/// Judges files, folders, ledgers and globs, and traces in memory: each a name and its events.
#[pyfunction]
pub(crate) fn audit_logs(
    py: Python<'_>,
    paths: Vec<String>,
    traces: Vec<(String, Bound<'_, PyAny>)>,
    policy: &Bound<'_, PyAny>,
    wanted: AuditArguments<'_>,
) -> PyResult<Report> {
    let given = |policy: &Policy| (policy.judge(), policy.fingerprint(), policy.labelers(false));
    let (judge, fingerprint, labelers) = Policy::given(policy, given)?;
    let labelers = labelers.map_err(|problems| Error::Policy.with(problems))?;
    let answers = (!labelers.is_empty()).then(|| Arc::new(AnswerBook::new(labelers)));
    let options = wanted.options()?.answers(answers);
    let found = py.detach(|| find_logs(&paths, options.input_limits()))?;
    let (mut inputs, options) = (found.inputs, options.guarded(found.guarded));
    for (name, events) in traces {
        let mut lines = String::new();
        for (place, event) in events.try_iter()?.enumerate() {
            let event = value::to_json(&event?).map_err(|error| at_record(py, &error, &name, place + 1))?;
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{event}");
        }
        inputs.push(Input::from_bytes(name, lines.into_bytes()));
    }
    py.detach(|| run(judge, fingerprint, &inputs, &options))
}

/// Returns the error of a record that is not JSON, with its place in the trace.
fn at_record(py: Python<'_>, error: &PyErr, name: &str, line: usize) -> PyErr {
    Error::Event.with(format!("{name}:{line}: {}", error.value(py)))
}

#[pymethods]
impl Report {
    /// Returns the report in a format: `json`, `jsonl`, `text`, `markdown`, `html`, `sarif` or `junit`.
    fn render(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let mut bytes = Vec::new();
        let Report(found) = self;
        let written = py.detach(|| match format {
            "json" => Some(report::json::write(found, &mut bytes)),
            "jsonl" => Some(report::jsonl::write(found, &mut bytes)),
            "text" => Some(text::write(found, text::TerminalStyle::default(), &mut bytes)),
            "markdown" => Some(markdown::write(found, markdown::ReportDetail::default(), &mut bytes)),
            "html" => Some(report::html::write(found, &mut bytes)),
            "sarif" => Some(report::sarif::write(found, &mut bytes)),
            "junit" => Some(report::junit::write(found, &mut bytes)),
            _ => None,
        });
        match written {
            Some(Ok(())) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(Err(error)) => Err(Error::Audit.with(error)),
            None => {
                let known = "json, jsonl, text, markdown, html, sarif, junit";
                Err(PyValueError::new_err(format!("no format `{format}`; known are {known}")))
            }
        }
    }

    /// Describes what is undecided.
    fn undecided(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.describe_doubts())
    }

    /// Whether something in the logs could violate a property.
    fn is_exercised(&self) -> bool {
        !self.0.is_unexercised()
    }

    /// Returns the number of findings.
    fn __len__(&self) -> usize {
        self.0.findings.len()
    }
}

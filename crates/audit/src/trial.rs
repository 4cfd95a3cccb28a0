//! Runs the examples of pages and compares their findings with the expected ones.

use std::sync::Arc;

use indexmap::IndexMap;
use lictor_logic::{Span, Time};

use lictor_decode::LogRecord;
use lictor_event::Event;
use lictor_json::{self as json, Text};
use lictor_judge::Judge;
use lictor_judge::finding::Finding;
use lictor_judge::session::{Session, SessionError};
use lictor_policy::Place;
use lictor_policy::pack::{ExpectedFinding, Page, Trace};

/// A difference between an example and its page.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The line of the page.
    pub place: Place,
    /// The title of the trace.
    pub trace: String,
    /// What was expected and what was found.
    pub message: String,
}

/// The findings that the remarks of a page are about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TrialScope<'a> {
    /// Those of one property; others are ignored.
    Property(&'a str),
    /// All; a remark must name the property.
    All,
}

/// Runs the traces of a page.
pub fn run(judge: &Judge, page: &Page, scope: TrialScope<'_>) -> Vec<Mismatch> {
    let run = |trace| {
        let mut trial = Trial { judge, scope, trace, mismatches: Vec::new() };
        if let Err(error) = trial.run() {
            trial.add_mismatch(&trace.place, error.to_string());
        }
        trial.mismatches
    };
    page.traces.iter().flat_map(run).collect()
}

/// When a finding is expected.
#[derive(Clone, Copy)]
enum RemarkMoment {
    /// At an event.
    Event,
    /// After this much time without events.
    After(Span),
    /// At the end of the sessions.
    End,
}

impl RemarkMoment {
    /// Returns the remark that expects a finding of a property.
    fn describe_remark(self, id: &str) -> String {
        match self {
            RemarkMoment::Event => format!("# violated: {id}"),
            RemarkMoment::After(span) => format!("# after {span}: violated: {id}"),
            RemarkMoment::End => format!("# end: violated: {id}"),
        }
    }
}

impl std::fmt::Display for RemarkMoment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RemarkMoment::Event => Ok(()),
            RemarkMoment::After(span) => write!(f, "after {span}: "),
            RemarkMoment::End => f.write_str("at the end: "),
        }
    }
}

struct Trial<'a> {
    judge: &'a Judge,
    scope: TrialScope<'a>,
    trace: &'a Trace,
    mismatches: Vec<Mismatch>,
}

impl Trial<'_> {
    fn run(&mut self) -> Result<(), SessionError> {
        // Each trace starts with a fresh judge.
        let mut judge = self.judge.fork();
        let mut sessions: IndexMap<Option<Text>, Session> = IndexMap::new();
        let mut last = None;
        for line in &self.trace.lines {
            let place = Place { line: line.line, column: 1, ..self.trace.place.clone() };
            match parse_event(&line.text, &place) {
                Ok(event) => {
                    last = event.time.or(last);
                    let session = sessions.entry(event.session.clone()).or_insert_with(|| {
                        let name = event.session.clone().unwrap_or_else(|| self.trace.title.clone());
                        Session::new(&mut judge, name)
                    });
                    let found = session.observe(&mut judge, &event)?;
                    self.compare(&place, RemarkMoment::Event, &line.expected, &found);
                }
                Err(message) => self.add_mismatch(&place, message),
            }
        }
        let line = self.trace.lines.last().map_or(self.trace.place.line, |line| line.line);
        let place = Place { line, column: 1, ..self.trace.place.clone() };
        for (span, expected) in &self.trace.later {
            let now = last.unwrap_or(Time(0)).plus(*span);
            let mut found: Vec<Finding> = Vec::new();
            for session in sessions.values_mut() {
                found.append(&mut session.tick(&mut judge, now)?);
            }
            found.append(&mut judge.tick_histories(now));
            let moment = RemarkMoment::After(*span);
            self.compare(&place, moment, expected, &found);
        }
        let mut found: Vec<Finding> = Vec::new();
        for session in sessions.values_mut() {
            found.append(&mut session.finish(&mut judge)?);
        }
        self.compare(&place, RemarkMoment::End, &self.trace.end, &found);
        Ok(())
    }

    fn compare(&mut self, place: &Place, moment: RemarkMoment, expected: &[ExpectedFinding], found: &[Finding]) {
        let mut found: Vec<&Finding> = match self.scope {
            TrialScope::Property(id) => found.iter().filter(|finding| finding.property.id == id).collect(),
            TrialScope::All => found.iter().collect(),
        };
        for expected in expected {
            let id = match (&expected.property, self.scope) {
                (Some(id), _) => id.as_str(),
                (None, TrialScope::Property(id)) => id,
                (None, TrialScope::All) => {
                    let message = format!("the remark must name the property: `{}`", moment.describe_remark("ID"));
                    self.add_mismatch(place, message);
                    continue;
                }
            };
            let fits = |finding: &&Finding| {
                finding.property.id == id && expected.binding.iter().all(|bound| finding.binding.contains(bound))
            };
            match found.iter().position(fits) {
                Some(place) => drop(found.remove(place)),
                None => {
                    let values: Vec<String> =
                        expected.binding.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                    let message = format!("{moment}expected a finding of {id}{}, found none", values.concat());
                    self.add_mismatch(place, message);
                }
            }
        }
        for finding in found {
            let values: Vec<String> = finding.binding.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            let id = &finding.property.id;
            let remark = moment.describe_remark(id);
            let message = format!("{moment}unexpected finding of {id}{}; if it is right: `{remark}`", values.concat());
            self.add_mismatch(place, message);
        }
    }

    fn add_mismatch(&mut self, place: &Place, message: String) {
        self.mismatches.push(Mismatch { place: place.clone(), trace: self.trace.title.to_string(), message });
    }
}

/// Parses the event that a line holds.
fn parse_event(text: &str, place: &Place) -> Result<Event, String> {
    let value = json::parse_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let file = Arc::clone(&place.file);
    let record = LogRecord { value, file, line: place.line, index: place.line.saturating_sub(1) };
    record.native_event().map_err(|fault| fault.message)
}

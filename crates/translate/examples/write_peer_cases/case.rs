//! One exported policy with its traces, each as lines of ours, as input of the other engine, and with our verdicts.

use std::collections::BTreeSet;

use lictor_event::Event;
use lictor_event::native::NativeDecoder;
use lictor_event::record::{DecodedEvents, Decoder, LogRecord};
use lictor_judge::Judge;
use lictor_judge::session::Session;
use lictor_policy::{FileResolver, Policy};
use lictor_translate::export::{ExportedPolicy, dogwood, fact_traces, rego};
use serde_json::{Value, json};

/// A language of other engines that judge traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Rego,
    Dogwood,
}

/// A policy, its export, and traces that it judged.
#[derive(Debug)]
pub(crate) struct PeerCase {
    policy: Policy,
    judge: Judge,
    language: Language,
    exported: ExportedPolicy,
    traces: Vec<Value>,
}

impl PeerCase {
    /// Parses a policy and exports it. In Dogwood the types of values come from the sample events.
    pub(crate) fn parse(text: &str, language: Language, sample: &[Event]) -> Result<PeerCase, String> {
        let loaded = Policy::parse(text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
        PeerCase::new(loaded.policy, language, sample)
    }

    /// Exports a loaded policy.
    pub(crate) fn new(policy: Policy, language: Language, sample: &[Event]) -> Result<PeerCase, String> {
        let mut judge = Judge::new(&policy).map_err(|problems| format!("{problems:?}"))?;
        let exported = match language {
            Language::Rego => rego::policy(&policy, &[]),
            Language::Dogwood => dogwood::policy(&policy, &fact_traces(&mut judge, [("sample".into(), sample)])),
        };
        Ok(PeerCase { policy, judge, language, exported, traces: Vec::new() })
    }

    /// Judges a session and adds it; a lawful one must be without violations.
    pub(crate) fn add_trace(&mut self, title: &str, is_lawful: bool, lines: &str) -> Result<(), String> {
        let events = parse_events(lines)?;
        let verdicts = self.find_violations(&events)?;
        let traces = fact_traces(&mut self.judge, [("s".into(), events.as_slice())]);
        let trace = traces.first().ok_or("there is no session")?;
        let input = match self.language {
            Language::Rego => rego::trace(trace),
            Language::Dogwood => dogwood::trace(&self.policy, trace)?,
        };
        self.traces.push(json!({
            "title": title, "is_lawful": is_lawful, "lines": lines, "input": input, "verdicts": verdicts,
        }));
        Ok(())
    }

    /// Returns the violations in a session of the properties that are exported: the place of the event from zero, and
    /// the property.
    fn find_violations(&mut self, events: &[Event]) -> Result<BTreeSet<(usize, String)>, String> {
        let mut session = Session::new(&mut self.judge, "s");
        let mut verdicts = BTreeSet::new();
        for (place, event) in events.iter().enumerate() {
            for finding in session.observe(&mut self.judge, event).map_err(|error| error.to_string())? {
                let id = finding.property.id.to_string();
                if !self.exported.left_out.iter().any(|left| left.property == id) {
                    verdicts.insert((place, id));
                }
            }
        }
        Ok(verdicts)
    }

    /// Returns it as the tests in `peers/` read it.
    pub(crate) fn into_json(self) -> Value {
        let properties: Vec<String> = self.policy.properties.iter().map(|property| property.id.to_string()).collect();
        let left_out: Vec<String> = self.exported.left_out.into_iter().map(|left| left.property).collect();
        json!({
            "policy": self.policy.name.to_string(), "files": self.exported.files,
            "properties": properties, "left_out": left_out, "traces": self.traces,
        })
    }
}

/// Parses events in Lictor's own format, one per line.
pub(crate) fn parse_events(lines: &str) -> Result<Vec<Event>, String> {
    let (mut decoder, mut decoded) = (NativeDecoder::default(), DecodedEvents::default());
    for (index, line) in lines.lines().enumerate() {
        let value = lictor_json::parse_str(line).map_err(|error| error.message)?;
        let index = index as u32;
        decoder.record(LogRecord { value, file: "trace".into(), line: index + 1, index }, &mut decoded);
    }
    match decoded.faults.first() {
        Some(fault) => Err(fault.message.clone()),
        None => Ok(decoded.events),
    }
}

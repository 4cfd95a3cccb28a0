//! A policy with its exports for both other engines, and traces in the languages of each.

use std::collections::BTreeSet;

use lictor::decode::{DecodedEvents, Format, LogRecord};
use lictor::event::Event;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::session::Session;
use lictor_peers::cases::Verdicts;
use lictor_translate::export::{FactTrace, dogwood, fact_traces, rego};

/// The files of an exported policy, by name.
type Files = Vec<(String, String)>;

/// A policy of ours that both other engines can express.
#[derive(Debug)]
pub(crate) struct Exports {
    policy: Policy,
    judge: Judge,
    pub(crate) dogwood: Files,
    pub(crate) rego: Files,
}

impl Exports {
    /// Parses a policy and exports it. In Dogwood the types of values come from the sample events.
    pub(crate) fn new(text: &str, sample: &[Event]) -> Result<Exports, String> {
        let policy = Policy::parse(text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?.policy;
        let mut judge = Judge::new(&policy).map_err(|problems| format!("{problems:?}"))?;
        let traces = fact_traces(&mut judge, [("sample".into(), sample)]);
        let exports = [dogwood::policy(&policy, &traces), rego::policy(&policy, &[])];
        if let Some(left) = exports.iter().flat_map(|exported| &exported.left_out).next() {
            return Err(left.to_string());
        }
        let [dogwood, rego] = exports.map(|exported| exported.files);
        Ok(Exports { policy, judge, dogwood, rego })
    }

    /// Returns a trace as Dogwood reads it.
    pub(crate) fn for_dogwood(&mut self, events: &[Event]) -> Result<String, String> {
        let trace = self.facts(events)?;
        dogwood::trace(&self.policy, &trace)
    }

    /// Returns a trace as the Rego engine reads it.
    pub(crate) fn for_rego(&mut self, events: &[Event]) -> Result<String, String> {
        self.facts(events).map(|trace| rego::trace(&trace))
    }

    fn facts(&mut self, events: &[Event]) -> Result<FactTrace, String> {
        fact_traces(&mut self.judge, [("s".into(), events)]).pop().ok_or_else(|| "there is no session".to_owned())
    }

    /// Returns the violations that Lictor finds.
    pub(crate) fn find_violations(&mut self, events: &[Event]) -> Result<Verdicts, String> {
        let mut session = Session::new(&mut self.judge, "s");
        let mut verdicts = BTreeSet::new();
        for (place, event) in events.iter().enumerate() {
            let found = session.observe(&mut self.judge, event).map_err(|error| error.to_string())?;
            verdicts.extend(found.into_iter().map(|finding| (place, finding.property.id.to_string())));
        }
        Ok(verdicts)
    }
}

/// Parses events in Lictor's own format, one per line.
pub(crate) fn parse_events(lines: &str) -> Result<Vec<Event>, String> {
    let (mut decoder, mut decoded) = (Format::Native.decoder(), DecodedEvents::default());
    for (index, line) in lines.lines().enumerate() {
        let value = lictor::json::parse_str(line).map_err(|error| error.message)?;
        let index = index as u32;
        decoder.record(LogRecord { value, file: "trace".into(), line: index + 1, index }, &mut decoded);
    }
    match decoded.faults.first() {
        Some(fault) => Err(fault.message.clone()),
        None => Ok(decoded.events),
    }
}

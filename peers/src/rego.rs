//! The export to Rego, run by regorus, an engine that shares nothing with ours.

use std::collections::BTreeSet;

use lictor::decode::{DecodedEvents, Format, LogRecord};
use lictor::event::Event;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::session::Session;
use lictor_translate::export::{FactTrace, fact_traces, rego};
use regorus::Engine;

/// The violations of a trace: the place of the event from zero, and the property that it breaks.
pub type Verdicts = BTreeSet<(usize, String)>;

/// A policy that Lictor and a Rego engine judge.
#[derive(Debug)]
pub struct RegoComparison {
    judge: Judge,
    engine: Engine,
    /// The properties that Rego cannot express.
    pub left_out: Vec<String>,
}

impl RegoComparison {
    /// Parses a policy and exports it to the Rego engine.
    pub fn new(text: &str) -> Result<RegoComparison, String> {
        let loaded = Policy::parse(text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
        RegoComparison::of(&loaded.policy)
    }

    /// Exports a loaded policy to the Rego engine.
    pub fn of(policy: &Policy) -> Result<RegoComparison, String> {
        let judge = Judge::new(policy).map_err(|problems| format!("{problems:?}"))?;
        let exported = rego::policy(policy, &[]);
        let mut engine = Engine::new();
        for (name, text) in exported.files {
            engine.add_policy(name, text.clone()).map_err(|error| format!("{error:#}\n{text}"))?;
        }
        let left_out = exported.left_out.into_iter().map(|left| left.property).collect();
        Ok(RegoComparison { judge, engine, left_out })
    }

    /// Returns the violations that Lictor finds in a session, of the properties that Rego can express.
    pub fn ours(&mut self, events: &[Event]) -> Result<Verdicts, String> {
        let mut session = Session::new(&mut self.judge, "s");
        let mut verdicts = Verdicts::new();
        for (place, event) in events.iter().enumerate() {
            for finding in session.observe(&mut self.judge, event).map_err(|error| error.to_string())? {
                let id = finding.property.id.to_string();
                if !self.left_out.contains(&id) {
                    verdicts.insert((place, id));
                }
            }
        }
        Ok(verdicts)
    }

    /// Returns the violations that the Rego engine finds in a session.
    pub fn theirs(&mut self, events: &[Event]) -> Result<Verdicts, String> {
        let traces: Vec<FactTrace> = fact_traces(&mut self.judge, [("s".into(), events)]);
        let input = traces.first().map(rego::trace).unwrap_or_default();
        self.engine.set_input_json(&input).map_err(|error| format!("{error:#}"))?;
        let value = self.engine.eval_rule("data.lictor.violations".to_owned()).map_err(|error| format!("{error:#}"))?;
        let text = value.to_json_str().map_err(|error| format!("{error:#}"))?;
        let list: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        let verdict = |entry: &serde_json::Value| {
            let place = entry.get("event")?.as_u64()? as usize;
            Some((place, entry.get("property")?.as_str()?.to_owned()))
        };
        list.iter().map(|entry| verdict(entry).ok_or_else(|| format!("what is {entry}?"))).collect()
    }
}

/// Parses events in Lictor's own format, one per line.
pub fn events(lines: &str) -> Result<Vec<Event>, String> {
    let (mut decoder, mut decoded) = (Format::Native.decoder(), DecodedEvents::default());
    for (index, line) in lines.lines().enumerate() {
        let value = lictor::json::parse_str(line).map_err(|error| error.message)?;
        let index = index as u32;
        decoder.record(LogRecord { value, file: "dialogue".into(), line: index + 1, index }, &mut decoded);
    }
    match decoded.faults.first() {
        Some(fault) => Err(fault.message.clone()),
        None => Ok(decoded.events),
    }
}

//! Dogwood and Lictor: Lictor judges Dogwood's own cases, and Dogwood's engine judges Lictor's exports.

pub mod corpus;

use std::collections::BTreeSet;

use dogwood_language::{Authorizer, Decision, LoweredPolicySet, PolicySchema, ServiceSchema, parse_trace};
use lictor::event::Event;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::session::Session;
use lictor_translate::export::{dogwood, fact_traces};

use crate::rego::Verdicts;

/// A policy that Lictor and Dogwood's engine judge.
#[derive(Debug)]
pub struct DogwoodComparison {
    policy: Policy,
    judge: Judge,
    service: ServiceSchema,
    /// The exported policy, and its action schema.
    text: String,
    actions: String,
    /// The property of each statement; the first permits everything.
    statements: Vec<String>,
    /// The properties that Dogwood cannot express.
    pub left_out: Vec<String>,
}

impl DogwoodComparison {
    /// Parses a policy and exports it to Dogwood. The types of values come from the sample events.
    pub fn new(text: &str, sample: &[Event]) -> Result<DogwoodComparison, String> {
        let loaded = Policy::parse(text, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
        let mut judge = Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}"))?;
        let traces = fact_traces(&mut judge, [("sample".into(), sample)]);
        let exported = dogwood::policy(&loaded.policy, &traces);
        let file = |name: &str| {
            let found = exported.files.iter().find(|(file, _)| file == name);
            found.map(|(_, text)| text.clone()).ok_or_else(|| format!("{name} was not written"))
        };
        let (text, actions) = (file("policy.dw")?, file("actions.cedarschema")?);
        let service = ServiceSchema::builder()
            .event_schema_str(&file("events.dwschema")?)
            .build()
            .map_err(|error| format!("{error:?}"))?;
        let ids = text.lines().filter_map(|line| line.strip_prefix("@id(\"")?.strip_suffix("\")"));
        let statements = std::iter::once("").chain(ids).map(str::to_owned).collect();
        let left_out = exported.left_out.into_iter().map(|left| left.property).collect();
        Ok(DogwoodComparison { policy: loaded.policy, judge, service, text, actions, statements, left_out })
    }

    /// Returns Dogwood's engine before the first event.
    pub fn authorizer(&self) -> Result<Authorizer, String> {
        let schema = PolicySchema::from_cedarschema_str(&self.actions).map_err(|error| format!("{error:?}"))?;
        let lowered = LoweredPolicySet::from_str(&self.text, &self.service, &schema)
            .map_err(|error| format!("{error:?}\n{}\n{}", self.text, self.actions))?;
        Ok(Authorizer::new(lowered))
    }

    /// Returns the events in Dogwood's format, one for each of ours.
    pub fn requests(&mut self, events: &[Event]) -> Result<Vec<dogwood_language::Event>, String> {
        let traces = fact_traces(&mut self.judge, [("s".into(), events)]);
        let trace = traces.first().ok_or("there is no session")?;
        let log = dogwood::trace(&self.policy, trace)?;
        parse_trace(&log).map_err(|error| format!("{error:?}\n{log}"))
    }

    /// Returns the properties that one event breaks by Dogwood's decision; the event then is part of its history.
    pub fn decide(&self, authorizer: &mut Authorizer, event: &dogwood_language::Event) -> BTreeSet<String> {
        let Some(response) = authorizer.is_authorized(event) else { return BTreeSet::new() };
        if response.decision() == Decision::Allow {
            return BTreeSet::new();
        }
        let broken = response.diagnostics().reason().filter_map(|found| self.statements.get(found.rule_index));
        broken.cloned().collect()
    }

    /// Returns the violations that Dogwood finds in a session.
    pub fn theirs(&mut self, events: &[Event]) -> Result<Verdicts, String> {
        let requests = self.requests(events)?;
        let mut authorizer = self.authorizer()?;
        let mut verdicts = Verdicts::new();
        for (place, request) in requests.iter().enumerate() {
            verdicts.extend(self.decide(&mut authorizer, request).into_iter().map(|property| (place, property)));
        }
        Ok(verdicts)
    }

    /// Returns the violations that Lictor finds in a session, of the properties that Dogwood can express.
    pub fn ours(&mut self, events: &[Event]) -> Result<Verdicts, String> {
        let mut session = Session::new(&mut self.judge, "s");
        let mut verdicts = Verdicts::new();
        for (place, event) in events.iter().enumerate() {
            let found = session.observe(&mut self.judge, event).map_err(|error| error.to_string())?;
            let found = found.into_iter().map(|finding| finding.property.id.to_string());
            verdicts.extend(found.filter(|id| !self.left_out.contains(id)).map(|id| (place, id)));
        }
        Ok(verdicts)
    }
}

//! Exports to Dogwood, run by its own engine.

use std::collections::BTreeSet;

use dogwood_language::{Authorizer, Decision, Event, LoweredPolicySet, PolicySchema, ServiceSchema, parse_trace};

use crate::cases::Verdicts;

/// An exported policy for Dogwood's engine.
#[derive(Debug)]
pub struct DogwoodPolicy {
    service: ServiceSchema,
    /// The policy, and its action schema.
    text: String,
    actions: String,
    /// The property of each statement; the first permits everything.
    statements: Vec<String>,
}

impl DogwoodPolicy {
    /// Reads the files of an exported policy.
    pub fn new(files: &[(String, String)]) -> Result<DogwoodPolicy, String> {
        let file = |name: &str| {
            let found = files.iter().find(|(file, _)| file == name);
            found.map(|(_, text)| text.clone()).ok_or_else(|| format!("{name} was not written"))
        };
        let (text, actions) = (file("policy.dw")?, file("actions.cedarschema")?);
        let service = ServiceSchema::builder()
            .event_schema_str(&file("events.dwschema")?)
            .build()
            .map_err(|error| format!("{error:?}"))?;
        let ids = text.lines().filter_map(|line| line.strip_prefix("@id(\"")?.strip_suffix("\")"));
        let statements = std::iter::once("").chain(ids).map(str::to_owned).collect();
        Ok(DogwoodPolicy { service, text, actions, statements })
    }

    /// Returns Dogwood's engine before the first event.
    pub fn authorizer(&self) -> Result<Authorizer, String> {
        let schema = PolicySchema::from_cedarschema_str(&self.actions).map_err(|error| format!("{error:?}"))?;
        let lowered = LoweredPolicySet::from_str(&self.text, &self.service, &schema)
            .map_err(|error| format!("{error:?}\n{}\n{}", self.text, self.actions))?;
        Ok(Authorizer::new(lowered))
    }

    /// Returns the violations that it finds in an exported trace.
    pub fn judge(&self, input: &str) -> Result<Verdicts, String> {
        let mut authorizer = self.authorizer()?;
        let mut verdicts = Verdicts::new();
        for (place, request) in parse_requests(input)?.iter().enumerate() {
            verdicts.extend(self.decide(&mut authorizer, request).into_iter().map(|property| (place, property)));
        }
        Ok(verdicts)
    }

    /// Returns the properties that one event breaks by Dogwood's decision; the event then is part of its history.
    fn decide(&self, authorizer: &mut Authorizer, event: &Event) -> BTreeSet<String> {
        let Some(response) = authorizer.is_authorized(event) else { return BTreeSet::new() };
        if response.decision() == Decision::Allow {
            return BTreeSet::new();
        }
        let broken = response.diagnostics().reason().filter_map(|found| self.statements.get(found.rule_index));
        broken.cloned().collect()
    }
}

/// Parses an exported trace.
pub fn parse_requests(input: &str) -> Result<Vec<Event>, String> {
    parse_trace(input).map_err(|error| format!("{error:?}\n{input}"))
}

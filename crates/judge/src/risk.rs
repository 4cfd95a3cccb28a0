//! Properties with a risk: they follow the chances of what labelers answered.
//!
//! A property with a risk has a belief beside its monitor. The belief decides: an event whose risk reaches the one that
//! the property allows violates it, and one whose risk is below does not, whatever the answers say taken literally. If
//! unknown facts let the risk be on either side, it is unknown. The monitor finds witnesses.
//!
//! An answer that drifted away from the calibration has no chance. Like any other without one it is unknown to a belief, so
//! that the property's `unknown` decides: drift is no reason to let an event pass.

use std::sync::Arc;

use lictor_logic::{
    After, Belief, BeliefMonitor, BeliefSnapshot, BindingRisk, Chance, ChanceRange, Choice, Fact, FactInfluence, Facts,
    Time, Value,
};

use crate::facts::Labels;
use crate::finding::DecidedBy;
use crate::monitor_group::{Violation, Violations};
use crate::prepared::PreparedPolicy;
use crate::restore_error::RestoreError;
use crate::state::ViolationCount;
use lictor_json::Text;
use lictor_policy::Property;

/// The properties with a risk, and their beliefs' monitors.
#[derive(Clone, Debug, Default)]
pub(crate) struct RiskGroup {
    properties: Vec<RiskProperty>,
}

#[derive(Clone, Debug)]
struct RiskProperty {
    /// Its number in the policy.
    property: usize,
    /// The risk from which on an event violates it.
    threshold: Chance,
    /// Whether its first violation is final.
    is_latched: bool,
    monitor: BeliefMonitor,
}

/// The beliefs of the properties with a risk in one session.
pub(crate) type Beliefs = Box<[Belief]>;

/// Beliefs as data, by the names of their properties.
pub(crate) type SavedBeliefs = Vec<(Text, BeliefSnapshot)>;

/// The risk that an event, or the time before it, violates a property.
#[derive(Clone, Debug)]
pub(crate) struct EventRisk {
    /// Its place among the properties with a risk.
    place: usize,
    by: DecidedBy,
    risk: ChanceRange,
    /// The bindings that it may violate, each with its own risk.
    bindings: Vec<BindingRisk>,
}

impl RiskGroup {
    /// Adds a property by its number.
    pub(crate) fn add(&mut self, number: usize, property: &Property, threshold: Chance, monitor: BeliefMonitor) {
        let is_latched = property.after == After::Latch;
        self.properties.push(RiskProperty { property: number, threshold, is_latched, monitor });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Whether a property has a risk.
    pub(crate) fn has(&self, property: usize) -> bool {
        self.properties.iter().any(|it| it.property == property)
    }

    /// Returns the beliefs before the first event.
    pub(crate) fn start(&self) -> Beliefs {
        self.properties.iter().map(|it| it.monitor.start()).collect()
    }

    /// Advances beliefs by an event, and returns the risks that it, and the time before it, violate something.
    pub(crate) fn read(
        &mut self,
        beliefs: &mut [Belief],
        labels: &Labels,
        time: Option<Time>,
        prepared: &PreparedPolicy,
    ) -> Vec<EventRisk> {
        let (facts, choices) = labels.doubtful_facts(time, &prepared.plan.names);
        let mut risks = Vec::with_capacity(beliefs.len());
        for (place, (it, belief)) in self.properties.iter_mut().zip(beliefs).enumerate() {
            if let Some(time) = time {
                let (risk, bindings) = it.monitor.tick_by_binding(belief, Time(time.0.saturating_sub(1)));
                risks.push(EventRisk { place, by: DecidedBy::Deadline, risk, bindings });
            }
            let (risk, bindings) = it.monitor.step_by_binding(belief, &facts, &choices);
            risks.push(EventRisk { place, by: DecidedBy::Event, risk, bindings });
        }
        risks
    }

    /// Lets time pass, and returns the risks that a deadline was missed.
    pub(crate) fn tick(&mut self, beliefs: &mut [Belief], now: Time) -> Vec<EventRisk> {
        let places = self.properties.iter_mut().zip(beliefs).enumerate();
        let risk = |(place, (it, belief)): (usize, (&mut RiskProperty, &mut Belief))| {
            let (risk, bindings) = it.monitor.tick_by_binding(belief, now);
            EventRisk { place, by: DecidedBy::Deadline, risk, bindings }
        };
        places.map(risk).collect()
    }

    /// Whether each open fact of the next event can change what becomes of a property.
    pub(crate) fn find_relevant(
        &mut self,
        beliefs: &[Belief],
        property: usize,
        facts: &Facts,
        open: &[Fact],
    ) -> Vec<bool> {
        match self.properties.iter_mut().zip(beliefs).find(|(it, _)| it.property == property) {
            Some((it, belief)) => it.monitor.find_relevant(belief, facts, open),
            None => vec![false; open.len()],
        }
    }

    /// Returns the risk of a property that a session violates it by its end.
    pub(crate) fn risk_at_end(&self, beliefs: &[Belief], property: usize) -> Option<(ChanceRange, Chance)> {
        let (it, belief) = self.properties.iter().zip(beliefs).find(|(it, _)| it.property == property)?;
        Some((it.monitor.risk_at_end(belief), it.threshold))
    }

    /// Returns the influence of each answer of a trace on a property; none if it has no risk, or has quantifiers.
    pub(crate) fn find_influences(&mut self, property: usize, trace: &[(Facts, Vec<Choice>)]) -> Vec<FactInfluence> {
        let known = self.properties.iter_mut().find(|it| it.property == property);
        known.and_then(|it| it.monitor.find_influences(trace)).unwrap_or_default()
    }

    /// Returns beliefs as data that survives a restart, by the names of their properties.
    pub(crate) fn save(&self, beliefs: &[Belief], properties: &[Arc<Property>]) -> SavedBeliefs {
        let saved =
            |(it, belief): (&RiskProperty, &Belief)| (properties[it.property].id.clone(), it.monitor.snapshot(belief));
        self.properties.iter().zip(beliefs).map(saved).collect()
    }

    /// Restores beliefs of the same policy.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedBeliefs,
        properties: &[Arc<Property>],
    ) -> Result<Beliefs, RestoreError> {
        let restored = self.properties.iter_mut().map(|it| {
            let id = &properties[it.property].id;
            let refuse = |why: &str| RestoreError::new(format!("the chances of `{id}` cannot be restored: {why}"));
            let (_, saved) = saved.iter().find(|(name, _)| name == id).ok_or_else(|| refuse("they are missing"))?;
            it.monitor.restore(saved).map_err(|error| refuse(&error.to_string()))
        });
        restored.collect()
    }

    /// Restores beliefs of another policy; those of other formulas start anew.
    pub(crate) fn migrate(&mut self, saved: &SavedBeliefs, properties: &[Arc<Property>]) -> Beliefs {
        let migrated = self.properties.iter_mut().map(|it| {
            let id = &properties[it.property].id;
            let saved = saved.iter().find(|(name, _)| name == id);
            let restored = saved.and_then(|(_, saved)| it.monitor.restore(saved).ok());
            restored.unwrap_or_else(|| it.monitor.start())
        });
        migrated.collect()
    }

    /// Replaces what the monitors found of properties with a risk by what their risks say. Returns the properties, by
    /// number, for which that is unknown. `counts` are the violations before.
    pub(crate) fn weigh(
        &self,
        violations: &mut Violations,
        risks: &[EventRisk],
        counts: &[ViolationCount],
    ) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        violations.broken.retain(|it| !self.has(it.property));
        let mut unknown = Vec::new();
        for EventRisk { place, by, risk, bindings } in risks {
            let RiskProperty { property, threshold, is_latched, .. } = &self.properties[*place];
            if *is_latched && counts[*property].count > 0 {
                continue;
            }
            if risk.least >= *threshold {
                let violation = |binding: Vec<Option<Value>>| Violation {
                    property: *property,
                    by: *by,
                    binding,
                    risk: Some(*risk),
                };
                let blamed = blame(bindings, *threshold);
                match blamed.is_empty() {
                    true => violations.broken.push(violation(Vec::new())),
                    false => violations.broken.extend(blamed.into_iter().map(|(values, _)| violation(values.clone()))),
                }
            } else if risk.most >= *threshold {
                unknown.push(*property);
            }
        }
        unknown
    }
}

/// Returns the bindings to blame for a violation: those whose own risk reaches the threshold, or else the likeliest.
fn blame(bindings: &[BindingRisk], threshold: Chance) -> Vec<&BindingRisk> {
    let alone: Vec<&BindingRisk> = bindings.iter().filter(|(_, risk)| risk.least >= threshold).collect();
    match alone.is_empty() {
        false => alone,
        true => bindings.iter().max_by_key(|(_, risk)| (risk.least, risk.most)).into_iter().collect(),
    }
}

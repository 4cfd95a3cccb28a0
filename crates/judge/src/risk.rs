//! Properties with a risk: they follow the chances of what labelers answered.
//!
//! A property with a risk has a belief beside its monitor. The belief decides: an event whose risk reaches the one that
//! the property allows violates it, and one whose risk is below does not, whatever the answers say taken literally. If
//! unknown facts let the risk be on either side, it is unknown. The monitor finds witnesses.

use std::sync::Arc;

use lictor_logic::{After, Belief, BeliefMonitor, BeliefSnapshot, Chance, ChanceRange, Fact, Facts, Time};

use crate::finding::DecidedBy;
use crate::label::{Labels, Plan};
use crate::monitor_group::{Violation, Violations};
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

/// The risk that an event, or the time before it, violates a property.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRisk {
    /// Its place among the properties with a risk.
    place: usize,
    by: DecidedBy,
    risk: ChanceRange,
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
    pub(crate) fn start(&self) -> Box<[Belief]> {
        self.properties.iter().map(|it| it.monitor.start()).collect()
    }

    /// Advances beliefs by an event, and returns the risks that it, and the time before it, violate something.
    pub(crate) fn read(
        &mut self,
        beliefs: &mut [Belief],
        labels: &Labels,
        time: Option<Time>,
        plan: &Plan,
    ) -> Vec<EventRisk> {
        let (facts, choices) = labels.doubtful_facts(time, &plan.names);
        let mut risks = Vec::with_capacity(beliefs.len());
        for (place, (it, belief)) in self.properties.iter_mut().zip(beliefs).enumerate() {
            if let Some(time) = time {
                let risk = it.monitor.tick(belief, Time(time.0.saturating_sub(1)));
                risks.push(EventRisk { place, by: DecidedBy::Deadline, risk });
            }
            let risk = it.monitor.step(belief, &facts, &choices);
            risks.push(EventRisk { place, by: DecidedBy::Event, risk });
        }
        risks
    }

    /// Lets time pass, and returns the risks that a deadline was missed.
    pub(crate) fn tick(&mut self, beliefs: &mut [Belief], now: Time) -> Vec<EventRisk> {
        let places = self.properties.iter_mut().zip(beliefs).enumerate();
        let risk = |(place, (it, belief)): (usize, (&mut RiskProperty, &mut Belief))| EventRisk {
            place,
            by: DecidedBy::Deadline,
            risk: it.monitor.tick(belief, now),
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

    /// Returns beliefs as data that survives a restart, by the names of their properties.
    pub(crate) fn save(&self, beliefs: &[Belief], properties: &[Arc<Property>]) -> Vec<(Text, BeliefSnapshot)> {
        let saved =
            |(it, belief): (&RiskProperty, &Belief)| (properties[it.property].id.clone(), it.monitor.snapshot(belief));
        self.properties.iter().zip(beliefs).map(saved).collect()
    }

    /// Restores beliefs of the same policy.
    pub(crate) fn restore(
        &mut self,
        saved: &[(Text, BeliefSnapshot)],
        properties: &[Arc<Property>],
    ) -> Result<Box<[Belief]>, RestoreError> {
        let restored = self.properties.iter_mut().map(|it| {
            let id = &properties[it.property].id;
            let refuse = |why: &str| RestoreError::new(format!("the chances of `{id}` cannot be restored: {why}"));
            let (_, saved) = saved.iter().find(|(name, _)| name == id).ok_or_else(|| refuse("they are missing"))?;
            it.monitor.restore(saved).map_err(|error| refuse(&error.to_string()))
        });
        restored.collect()
    }

    /// Restores beliefs of another policy; those of other formulas start anew.
    pub(crate) fn migrate(&mut self, saved: &[(Text, BeliefSnapshot)], properties: &[Arc<Property>]) -> Box<[Belief]> {
        let migrated = self.properties.iter_mut().map(|it| {
            let id = &properties[it.property].id;
            let known = saved.iter().find(|(name, _)| name == id);
            known.and_then(|(_, saved)| it.monitor.restore(saved).ok()).unwrap_or_else(|| it.monitor.start())
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
        let (literal, others) = violations.broken.drain(..).partition::<Vec<_>, _>(|it| self.has(it.property));
        violations.broken = others;
        let mut unknown = Vec::new();
        for EventRisk { place, by, risk } in risks.iter().copied() {
            let RiskProperty { property, threshold, is_latched, .. } = &self.properties[place];
            if *is_latched && counts[*property].count > 0 {
                continue;
            }
            if risk.least >= *threshold {
                let same = literal.iter().filter(|it| it.property == *property && it.by == by);
                let before = violations.broken.len();
                violations.broken.extend(same.map(|it| Violation { risk: Some(risk), ..it.clone() }));
                if violations.broken.len() == before {
                    let binding = Vec::new();
                    violations.broken.push(Violation { property: *property, by, binding, risk: Some(risk) });
                }
            } else if risk.most >= *threshold {
                unknown.push(*property);
            }
        }
        unknown
    }
}

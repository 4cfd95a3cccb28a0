//! What the state of a session says before the next event: open obligations, and calls that would be stopped.

use std::sync::Arc;

use lictor_logic::Time;
use lictor_policy::{Mode, Property, Response};

use super::{Session, SessionError};
use crate::Judge;
use crate::finding::DecidedBy;
use crate::guidance::{CallSketch, Obligation};

impl Session {
    /// Returns the open obligations, those with the nearest deadline first. They are of properties that are judged over
    /// sessions and enforced. Those that only evidence could meet are left out while the session has none of it.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn obligations(&self, judge: &mut Judge) -> Result<Vec<Obligation>, SessionError> {
        self.check_judge(judge)?;
        Ok(self.find_obligations(judge))
    }

    pub(crate) fn find_obligations(&self, judge: &mut Judge) -> Vec<Obligation> {
        let (mut state, mut obligations) = (self.state.clone(), Vec::new());
        for place in 0..judge.properties().len() {
            let property = Arc::clone(&judge.properties()[place]);
            if property.mode == Mode::Shadow
                || !judge.owes(&mut state, place)
                || !judge.has_evidence(&property, |name| self.may_have_fact(judge, name))
            {
                continue;
            }
            let Some((residual, settled_by, takes_all)) = judge.describe_obligation(&mut state, place) else {
                continue;
            };
            let deadline = judge.deadline_of(&state, place);
            obligations.push(Obligation { property, residual, deadline, settled_by, takes_all });
        }
        obligations.sort_by_key(|obligation| obligation.deadline.unwrap_or(Time(i64::MAX)));
        obligations
    }

    /// Returns the properties with `respond: block` that every call of this sketch would violate now: the call would be
    /// blocked, whatever its other arguments are. Only properties that are judged over sessions count. Nothing changes.
    ///
    /// A fork answers for a session that has continued hypothetically.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn stopping(
        &self,
        judge: &mut Judge,
        sketch: &CallSketch,
        now: Option<Time>,
    ) -> Result<Vec<Arc<Property>>, SessionError> {
        self.check_judge(judge)?;
        let violated = self.find_violated(judge, sketch, now, false);
        Ok(violated.into_iter().filter(|property| is_blocking(property)).collect())
    }

    /// Returns the properties that every call of a sketch would violate now.
    pub(crate) fn find_violated(
        &self,
        judge: &mut Judge,
        sketch: &CallSketch,
        now: Option<Time>,
        is_annotated: bool,
    ) -> Vec<Arc<Property>> {
        let (mut standing, mut beliefs) = (self.state.standing.clone(), self.state.beliefs.clone());
        let labeled = judge.label_sketch(&self.state, sketch, now, is_annotated);
        let (mut violations, _) = judge.read_with_risks(&mut standing, &mut beliefs, &self.state.counts, &labeled);
        self.state.spare_lost(&mut violations);
        let by_event = violations.broken.iter().filter(|broken| broken.by == DecidedBy::Event);
        let mut places: Vec<usize> = by_event.map(|broken| broken.property).collect();
        places.sort_unstable();
        places.dedup();
        judge.recycle(labeled.labels, labeled.observation);
        places.into_iter().map(|place| Arc::clone(&judge.properties()[place])).collect()
    }
}

/// Whether a violation of a property stops the event.
pub(crate) fn is_blocking(property: &Property) -> bool {
    property.mode == Mode::Enforce && property.respond == Response::Block
}

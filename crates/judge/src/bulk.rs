//! Judging in bulk: callers that follow many sessions at once keep a [`SessionState`] for each, and no history.
//!
//! An audit judges this way first, and looks for witnesses only where something was violated.

use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_logic::{Facts, MonitorId, Time, Verdict};
use lictor_policy::Suppression;

use crate::Judge;
use crate::facts::Context;
use crate::finding::Finding;
use crate::monitor_group::Violations;
use crate::session::SessionError;
use crate::shared_history::HistoryEvent;
use crate::state::{SessionState, ViolationCount};

impl Judge {
    /// Begins a session of which only the state is kept.
    pub fn start(&mut self) -> SessionState {
        let counts = vec![ViolationCount::default(); self.properties().len()];
        let (standing, context) = (self.group.start(), Context::default());
        let beliefs = self.risks.start();
        SessionState { judge: self.id, standing, beliefs, context, steps: 0, counts, lost: None, blind: None }
    }

    /// Whether a state belongs to this judge.
    pub(crate) fn owns(&self, state: &SessionState) -> bool {
        state.judge == self.id
    }

    fn check_state(&self, state: &SessionState) -> Result<(), SessionError> {
        match self.owns(state) {
            true => Ok(()),
            false => Err(SessionError::foreign_judge(None)),
        }
    }

    /// Advances a session by an event.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn advance(&mut self, state: &mut SessionState, event: &Event) -> Result<(), SessionError> {
        self.check_state(state)?;
        self.add_event(state, event);
        Ok(())
    }

    /// Advances a session by an event, and returns the properties, by number, of which it is unknown whether the event
    /// violates them.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn advance_doubtful(&mut self, state: &mut SessionState, event: &Event) -> Result<Vec<usize>, SessionError> {
        self.check_state(state)?;
        let labeled = self.label(state, event);
        let before = state.standing.clone();
        let (mut violations, unweighed) =
            self.read_with_risks(&mut state.standing, &mut state.beliefs, &state.counts, &labeled);
        state.spare_lost(&mut violations);
        let (labels, time) = (&labeled.labels, labeled.observation.time);
        let prepared = Arc::clone(self.prepared());
        let mut doubts = self.group.possible_doubts((&before, &state.standing), (labels, time), &violations, &prepared);
        state.take(labeled.notes, &violations);
        self.recycle(labeled.labels, labeled.observation);
        doubts.extend(unweighed);
        Ok(doubts)
    }

    /// Advances the state of a session by an event.
    pub(crate) fn add_event(&mut self, state: &mut SessionState, event: &Event) {
        let labeled = self.label(state, event);
        let (mut violations, _) =
            self.read_with_risks(&mut state.standing, &mut state.beliefs, &state.counts, &labeled);
        state.spare_lost(&mut violations);
        state.take(labeled.notes, &violations);
        self.recycle(labeled.labels, labeled.observation);
    }

    /// Advances the clock of a session.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn advance_time(&mut self, state: &mut SessionState, now: Time) -> Result<(), SessionError> {
        self.check_state(state)?;
        self.tick(state, now);
        Ok(())
    }

    /// Adds missing events to a session; `next` is the time of the event after them.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn advance_missing(
        &mut self,
        state: &mut SessionState,
        count: u64,
        next: Option<Time>,
    ) -> Result<(), SessionError> {
        self.check_state(state)?;
        self.miss(state, count, next);
        Ok(())
    }

    pub(crate) fn tick(&mut self, state: &mut SessionState, now: Time) -> Violations {
        let mut violations = Violations::default();
        self.group.tick(&mut state.standing, now, &self.provers.prepared, &mut violations);
        let risks = self.risks.tick(&mut state.beliefs, now);
        self.risks.weigh(&mut violations, &risks, &state.counts);
        state.spare_lost(&mut violations);
        state.count(&violations);
        violations
    }

    /// Returns the verdict on a property now. A violated property stays violated; one judged over more than the session
    /// stays inconclusive.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn verdict(&mut self, state: &mut SessionState, property: usize) -> Result<Verdict, SessionError> {
        self.check_state(state)?;
        Ok(self.live_verdict(state, property))
    }

    pub(crate) fn live_verdict(&mut self, state: &mut SessionState, property: usize) -> Verdict {
        if state.counts[property].count > 0 {
            return Verdict::Violated;
        }
        match self.monitor(property).filter(|_| !state.is_lost(property)) {
            // Its risk may still reach what the property allows.
            Some(_) if self.has_risk(property) => Verdict::Inconclusive,
            Some(id) => self.group.verdict(&mut state.standing, id),
            None => Verdict::Inconclusive,
        }
    }

    /// Returns the verdict if the session ends here. A deadline that has not passed leaves the property inconclusive. A
    /// history across sessions does not end with one of them: the session has violated the property, or it has not.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn end(&mut self, state: &mut SessionState, property: usize) -> Result<Verdict, SessionError> {
        self.check_state(state)?;
        Ok(self.end_verdict(state, property))
    }

    pub(crate) fn end_verdict(&mut self, state: &mut SessionState, property: usize) -> Verdict {
        let verdict = self.live_verdict(state, property);
        match self.monitor(property) {
            _ if verdict != Verdict::Inconclusive || state.is_lost(property) => verdict,
            None => Verdict::Satisfied,
            Some(id) => match self.verdict_at_end(state, property, id) {
                Verdict::Violated if self.prepared().formulas[property].is_timed => Verdict::Inconclusive,
                verdict => verdict,
            },
        }
    }

    /// Returns the verdict on an open property if the session ends here, deadlines included.
    fn verdict_at_end(&mut self, state: &mut SessionState, property: usize, id: MonitorId) -> Verdict {
        match self.risk_at_end(state, property) {
            None => self.group.end(&mut state.standing, id),
            Some((risk, threshold)) if risk.least >= threshold => Verdict::Violated,
            Some((risk, threshold)) if risk.most < threshold => Verdict::Satisfied,
            Some(_) => Verdict::Inconclusive,
        }
    }

    /// Whether the end of the session here would violate a property, apart from earlier violations. With `after: reset`
    /// or `each` an obligation may be open again after the property was violated.
    ///
    /// # Errors
    ///
    /// The state belongs to another judge.
    pub fn is_owed(&mut self, state: &mut SessionState, property: usize) -> Result<bool, SessionError> {
        self.check_state(state)?;
        Ok(self.is_open(state, property))
    }

    /// Whether the end of the session here would violate a property that has no deadlines.
    pub(crate) fn is_open(&mut self, state: &mut SessionState, property: usize) -> bool {
        !self.prepared().formulas[property].is_timed && self.owes(state, property)
    }

    /// Whether the session owes something by a property, with a deadline or by its end.
    pub(crate) fn owes(&mut self, state: &mut SessionState, property: usize) -> bool {
        let Some(id) = self.monitor(property).filter(|_| !state.is_lost(property)) else { return false };
        let is_open = match self.has_risk(property) {
            true => self.verdict_at_end(state, property, id) == Verdict::Violated,
            false => {
                self.group.verdict(&mut state.standing, id) == Verdict::Inconclusive
                    && self.group.end(&mut state.standing, id) == Verdict::Violated
            }
        };
        if !is_open {
            return false;
        }
        // A property that owes something without any event owes it again as soon as it restarts. That is no new
        // obligation of the session.
        state.counts[property].count == 0 || {
            let mut start = self.group.start();
            self.group.end(&mut start, id) != Verdict::Violated
        }
    }

    /// Returns the facts of the event judged last.
    pub fn last_facts(&self, time: Option<Time>) -> Facts {
        self.labels.facts(time, &self.prepared().plan.names)
    }

    /// Returns the event judged last, for the histories across sessions; `None` if no property needs them.
    pub fn last_history_event(
        &self,
        state: &SessionState,
        event: &Event,
        session: impl FnOnce() -> Text,
        shows_content: bool,
    ) -> Option<HistoryEvent> {
        self.history_event(state.whose(), &self.labels, event, state.steps, session, shows_content)
    }

    /// Adds an event to the histories across sessions it belongs to, and returns what it violates there.
    ///
    /// # Errors
    ///
    /// The event was labeled by another policy. A [fork](Judge::fork) has the same policy.
    pub fn observe_shared(&mut self, event: HistoryEvent) -> Result<Vec<Finding>, SessionError> {
        if event.policy != self.prepared().id {
            return Err(SessionError::foreign_policy());
        }
        Ok(self.commit_shared(event).into_iter().map(|(_, finding)| finding).collect())
    }

    /// Begins one session of which only the facts are of interest. It borrows the judge, so it cannot fail.
    pub fn follow(&mut self) -> Follower<'_> {
        let state = self.start();
        Follower { judge: self, state }
    }

    /// Whether some property is judged over more than a session.
    pub fn has_shared_histories(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Adds missing events, which may belong to any history across sessions.
    pub fn miss_shared(&mut self, count: u64) {
        self.shared.miss(count, self.provers.prepared.as_ref());
    }

    /// The findings that the policy accepts, with reason and expiry date.
    pub fn suppressions(&self) -> &[Suppression] {
        &self.prepared().suppressions
    }
}

/// One session and its judge, to read the facts of its events.
#[derive(Debug)]
pub struct Follower<'j> {
    pub(crate) judge: &'j mut Judge,
    pub(crate) state: SessionState,
}

impl Follower<'_> {
    /// Advances the session by an event.
    pub fn advance(&mut self, event: &Event) {
        self.judge.add_event(&mut self.state, event);
    }

    /// Returns the facts of the last event.
    pub fn last_facts(&self, time: Option<Time>) -> Facts {
        self.judge.last_facts(time)
    }
}

//! The stage that judges events, and at the end of a session finds its outcomes.

use lictor_event::Event;
use lictor_judge::session::SessionError;
use lictor_judge::{Judge, SessionState};
use lictor_logic::{Time, Verdict};

use crate::closed_session::LogEnd;
use crate::report::PropertyOutcome;

/// Judges the events of all sessions of a thread.
#[derive(Debug)]
pub(crate) struct JudgeStage {
    pub(crate) judge: Judge,
}

impl JudgeStage {
    /// Advances a session by an event.
    #[inline]
    pub(crate) fn advance(&mut self, state: &mut SessionState, event: &Event) -> Result<(), SessionError> {
        self.judge.advance(state, event)
    }

    /// Advances a session by missing events; `next` is the time of the event after them.
    pub(crate) fn miss(
        &mut self,
        state: &mut SessionState,
        count: u64,
        next: Option<Time>,
    ) -> Result<(), SessionError> {
        self.judge.advance_missing(state, count, next)
    }

    /// Ends a session and returns the outcome of each property.
    pub(crate) fn close(
        &mut self,
        state: &mut SessionState,
        end: LogEnd,
    ) -> Result<Vec<PropertyOutcome>, SessionError> {
        if let LogEnd::Reached(Some(now)) = end {
            self.judge.advance_time(state, now)?;
        }
        (0..state.violations().len()).map(|property| self.find_outcome(state, property, end)).collect()
    }

    fn find_outcome(
        &mut self,
        state: &mut SessionState,
        property: usize,
        end: LogEnd,
    ) -> Result<PropertyOutcome, SessionError> {
        let live = self.judge.verdict(state, property)?;
        let is_cut = end == LogEnd::Cut;
        let verdict = if is_cut { live } else { self.judge.end(state, property)? };
        let tally = state.violations()[property];
        let is_owed = match tally.count {
            _ if is_cut => false,
            0 => verdict == Verdict::Violated,
            _ => self.judge.is_owed(state, property)?,
        };
        let at_end = (verdict == Verdict::Violated).then_some(state.steps());
        Ok(PropertyOutcome {
            verdict,
            live: live != Verdict::Inconclusive,
            violated_at_step: if tally.count > 0 { Some(tally.first) } else { at_end },
            violations: tally.count + u32::from(is_owed),
            is_judged: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_logic::Fact;
    use lictor_policy::{FileResolver, Policy};

    fn state_after(stage: &mut JudgeStage, facts: &[&str]) -> SessionState {
        let mut state = stage.judge.start();
        for fact in facts {
            let event = Event { facts: vec![Fact::parse(fact).unwrap()], ..Event::default() };
            stage.advance(&mut state, &event).unwrap();
        }
        state
    }

    #[test]
    fn judge_stage_counts_violation_at_end() {
        let policy = "lictor: 1\nproperties:\n  - id: answered\n    formula: G(asked -> F answered)\n";
        let policy = Policy::parse(policy, "policy.yaml", &FileResolver);
        let mut stage = JudgeStage { judge: Judge::new(&policy.unwrap().policy).unwrap() };
        let mut state = state_after(&mut stage, &["asked", "other"]);
        let outcomes = stage.close(&mut state, LogEnd::Reached(None)).unwrap();
        let outcome = outcomes[0];
        assert_eq!((outcome.verdict, outcome.violations, outcome.violated_at_step), (Verdict::Violated, 1, Some(2)));
        assert!(!outcome.live, "the end decides");
        let mut state = state_after(&mut stage, &["asked", "answered"]);
        assert_eq!(stage.close(&mut state, LogEnd::Reached(None)).unwrap()[0].verdict, Verdict::Satisfied);
        let mut state = state_after(&mut stage, &["asked"]);
        assert_eq!(stage.close(&mut state, LogEnd::Cut).unwrap()[0].verdict, Verdict::Inconclusive, "it may go on");
    }
}

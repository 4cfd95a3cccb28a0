//! What a local driver decides with: a guard, or one that records.

use std::sync::Arc;

use lictor_event::Event;
use lictor_judge::guard::{Capabilities, Decision, Guard, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_logic::Time;
use serde_json::{Map, Value};

/// Decides for a local driver. An error means that the decision could not be recorded; nothing is forwarded then.
pub trait LocalDecider {
    /// Decides on an event.
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String>;

    /// Returns the decision that an event would get.
    fn preview(&mut self, event: &Event) -> Result<Preview, String>;

    /// Returns how likely each of several replies leads to a violation.
    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String>;
    /// Returns what the model of a session should know now.
    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String>;

    /// Whether the approval with this id is still pending in a session.
    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String>;

    /// Returns the present time; none if there is no clock, so that nothing expires.
    fn now(&self) -> Option<Time> {
        None
    }

    /// Writes a record that is no decision.
    fn note(&mut self, _record: Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    /// Records a refusal of input that is no event.
    fn refuse(&mut self, _code: &str, _bytes: &[u8], _exchange: &str) -> Result<(), String> {
        Ok(())
    }
}

/// A guard that records nothing; events keep their own time.
impl LocalDecider for Guard {
    fn decide(&mut self, event: Event, capabilities: Capabilities) -> Result<Arc<Decision>, String> {
        Ok(Arc::new(self.decide_within(capabilities, event, None)))
    }

    fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        Ok(Guard::preview(self, event))
    }

    fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        Ok(Guard::score(self, session, replies))
    }

    fn guide(&mut self, session: &str, query: &GuidanceQuery) -> Result<Guidance, String> {
        Ok(Guard::guide(self, session, query, None))
    }

    fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        Ok(self.waits(session, id))
    }
}

//! What was decided about an event, and why.

use std::fmt;
use std::sync::Arc;

use lictor_logic::Time;

use super::Redaction;
use crate::Judge;
use crate::finding::Finding;
use crate::session::{Proposal, Session};
use lictor_event::Event;
use lictor_event::order::Gap;
use lictor_json::Text;
use lictor_policy::{Property, Response};

/// What is done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It goes on as it is.
    Forward,
    /// It goes on as it is, and the model is told what would be right.
    Steer,
    /// It goes on without what offends.
    Redact,
    /// It waits until a person has answered.
    Ask,
    /// It is stopped.
    Block,
}

impl Action {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Action::Forward => "forward",
            Action::Steer => "steer",
            Action::Redact => "redact",
            Action::Ask => "ask",
            Action::Block => "block",
        }
    }

    /// Whether the event takes effect.
    pub fn goes_on(self) -> bool {
        self <= Action::Redact
    }
}

/// Why something that would have to be allowed was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody answered in time.
    Late,
    /// Somebody denied it.
    Denied(Text),
    /// The session ended before.
    Ended,
    /// There is nobody who could be asked.
    Alone,
}

impl Refusal {
    /// Its name, which tells nothing of anybody.
    pub fn name(&self) -> &'static str {
        match self {
            Refusal::Late => "late",
            Refusal::Denied(_) => "denied",
            Refusal::Ended => "ended",
            Refusal::Alone => "alone",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Late => f.write_str("nobody answered in time"),
            Refusal::Denied(by) => write!(f, "denied by {by}"),
            Refusal::Ended => f.write_str("the session ended"),
            Refusal::Alone => f.write_str("nobody can be asked here"),
        }
    }
}

/// Why a property stands against an event.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The event, or the time before it, breaks the property.
    Violation(Box<Finding>),
    /// Nobody can tell whether it does.
    Unknown,
}

/// A property that stands against an event.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The property.
    pub property: Arc<Property>,
    /// What it asks for; to observe, for one that only reports or was waived.
    pub response: Response,
    /// Why.
    pub why: Cause,
    /// Who allowed the event in spite of it.
    pub waived_by: Option<Text>,
}

/// What was decided about an event: the record of the audited trace.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What is done.
    pub action: Action,
    /// The event, as it was given.
    pub event: Event,
    /// The event as it goes on, if it was rewritten.
    pub rewritten: Option<Box<Event>>,
    /// What was taken out.
    pub redactions: Vec<Redaction>,
    /// What stands against it, as it was given.
    pub objections: Vec<Objection>,
    /// Its number in the accepted trace of its session, from one; none if it is not part of it.
    pub step: Option<u32>,
    /// What the model is told.
    pub message: Option<String>,
    /// The id by which a reviewer answers, if it waits for an approval.
    pub approval_id: Option<Text>,
    /// Until when a person may answer.
    pub until: Option<Time>,
    /// The id by which it had waited.
    pub settles: Option<Text>,
    /// Why it was refused, other than by a property: nobody answered, or somebody denied it.
    pub refused: Option<Refusal>,
    /// What had waited and was decided along with this.
    pub settled: Vec<Decision>,
    /// Events that are missing before it, or that it came too late for its place, by its number.
    pub gap: Option<Gap>,
}

impl Decision {
    /// A decision that nothing came of yet.
    pub(super) fn on(event: Event, objections: Vec<Objection>) -> Decision {
        Decision {
            action: Action::Forward,
            event,
            rewritten: None,
            redactions: Vec::new(),
            objections,
            step: None,
            message: None,
            approval_id: None,
            until: None,
            settles: None,
            refused: None,
            settled: Vec::new(),
            gap: None,
        }
    }

    /// Makes the proposed event part of the accepted trace.
    pub(super) fn accept(&mut self, session: &mut Session, judge: &mut Judge, proposal: Proposal) {
        session.accept(judge, proposal);
        self.step = Some(session.steps());
    }
}

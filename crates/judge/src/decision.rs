//! The decision on an event, and its reasons.

use std::fmt;
use std::sync::Arc;

use lictor_logic::Time;

use crate::finding::Finding;
use lictor_event::Event;
use lictor_event::order::Gap;
use lictor_json::Text;
use lictor_policy::{Property, Response};
use lictor_predict::Score;

/// What happens to an event, from the mildest to the strictest.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It is forwarded unchanged.
    Forward,
    /// It is forwarded unchanged, and the model gets a correction.
    Steer,
    /// It is forwarded with the violating parts removed.
    Redact,
    /// It waits until a reviewer has answered.
    Ask,
    /// It is blocked.
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
    pub fn takes_effect(self) -> bool {
        self <= Action::Redact
    }
}

/// Why an event that needed approval was refused.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No reviewer answered in time.
    Late,
    /// A reviewer denied it.
    Denied(Text),
    /// The session ended before an answer.
    Ended,
    /// No reviewer can be asked.
    Alone,
}

impl Refusal {
    /// Its name, which contains no personal data.
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
            Refusal::Late => f.write_str("no reviewer answered in time"),
            Refusal::Denied(by) => write!(f, "denied by {by}"),
            Refusal::Ended => f.write_str("the session ended"),
            Refusal::Alone => f.write_str("no reviewer can be asked here"),
        }
    }
}

/// Why a property objects to an event.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The event, or a deadline before it, violates the property.
    Violation(Box<Finding>),
    /// It is unknown whether the event violates it.
    Unknown,
}

/// A property's objection to an event.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The property.
    pub property: Arc<Property>,
    /// The response that it demands; `observe` for a property that only reports or was waived.
    pub response: Response,
    /// Why.
    pub why: Cause,
    /// Who allowed the event in spite of it.
    pub waived_by: Option<Text>,
}

/// The objection of a forecast to a call: it violates nothing yet, and probably leads to a violation.
#[derive(Clone, Debug)]
pub struct ForecastObjection {
    /// The response that the policy has for it: to ask a reviewer, or to block.
    pub response: Response,
    /// The forecast with the call; none if there is none.
    pub score: Option<Score>,
    /// How many actions of the agent it looks ahead.
    pub within: u32,
    /// The properties at risk, the most likely violation first.
    pub properties: Vec<Arc<Property>>,
}

impl fmt::Display for ForecastObjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Score { chance, most }) = self.score else {
            return write!(f, "no forecast can be made of the next {} actions", self.within);
        };
        write!(f, "a violation is forecast within {} actions: {chance:.2}, at most {most:.2}", self.within)?;
        match self.properties.iter().map(|property| property.id.as_str()).collect::<Vec<_>>() {
            at_risk if at_risk.is_empty() => Ok(()),
            at_risk => write!(f, " ({})", at_risk.join(", ")),
        }
    }
}

/// A part that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// Where: `text`, `args.customer.dob`, `result.0.note`.
    pub path: Text,
    /// What: a category of personal data, a person, or an argument by its name.
    pub what: Text,
}

impl fmt::Display for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.what)
    }
}

/// The decision on an event: its record in the audited trace.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What happens to the event.
    pub action: Action,
    /// The event as it arrived.
    pub event: Event,
    /// The event as it is forwarded, if it was rewritten.
    pub rewritten: Option<Box<Event>>,
    /// The parts that were removed.
    pub redactions: Vec<Redaction>,
    /// The objections to the event as it arrived.
    pub objections: Vec<Objection>,
    /// The objection of a forecast, unless a reviewer has allowed the event.
    pub forecast: Option<ForecastObjection>,
    /// Whether a forecast was wanted, and could not be made: the session is unlike those that the chain was learnt from.
    pub is_unforeseen: bool,
    /// Its number in the accepted trace of its session, from one; none if it is not part of it.
    pub step: Option<u32>,
    /// The message for the model.
    pub message: Option<String>,
    /// The id by which a reviewer answers, if it waits for approval.
    pub approval_id: Option<Text>,
    /// When the approval expires.
    pub until: Option<Time>,
    /// The approval id under which the event had waited, if this settles it.
    pub settles: Option<Text>,
    /// Who approved or denied the event, if this settles it and the answer names them.
    pub answered_by: Option<Text>,
    /// The name that all records of its approval share, if a warden keeps records.
    pub approval_record: Option<Text>,
    /// Why it was refused, if not by a property: no answer, or a denial.
    pub refused: Option<Refusal>,
    /// Pending events that were decided along with this one.
    pub settled: Vec<Decision>,
    /// Events missing before it, or its late arrival, by its number.
    pub gap: Option<Gap>,
    /// The time that the event gave, if it was too far from the time at which it was received. The event was then
    /// judged at the time of its receipt, which is the time of [`event`](Decision::event).
    pub claimed_time: Option<Time>,
}

impl Decision {
    /// Returns a decision that forwards the event and has no effects yet.
    pub(crate) fn on(event: Event, objections: Vec<Objection>) -> Decision {
        Decision {
            action: Action::Forward,
            event,
            rewritten: None,
            answered_by: None,
            approval_record: None,
            redactions: Vec::new(),
            objections,
            forecast: None,
            is_unforeseen: false,
            step: None,
            message: None,
            approval_id: None,
            until: None,
            settles: None,
            refused: None,
            settled: Vec::new(),
            gap: None,
            claimed_time: None,
        }
    }
}

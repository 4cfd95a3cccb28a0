//! The state of one session: where every property is, what later facts depend on, and what was violated so far.

use lictor_logic::TraceState;

use crate::label::{Context, Notes, Whose};
use crate::monitor_group::{Violation, Violations};

/// Where a session stands with every property. It keeps no history: for witnesses there is
/// [`Session`](crate::session::Session).
#[derive(Clone, Debug)]
pub struct SessionState {
    pub(crate) standing: TraceState,
    pub(crate) context: Context,
    /// How many events there were.
    pub(crate) steps: u32,
    /// For each property, at which event it was first broken, and how often.
    pub(crate) counts: Vec<ViolationCount>,
    /// The properties of which nothing can be told any more, where there are any.
    pub(crate) lost: Option<Box<[bool]>>,
}

/// How often a session broke a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViolationCount {
    /// The step of the first violation, from one; zero for none.
    pub first: u32,
    /// How many there were.
    pub count: u32,
}

impl SessionState {
    /// How many events it has.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// How often each property was violated, in the order of the policy.
    pub fn violations(&self) -> &[ViolationCount] {
        &self.counts
    }

    /// Counts what an event broke: each property once, for however many values.
    pub(crate) fn count(&mut self, violations: &Violations) {
        for (place, Violation { property, by, .. }) in violations.broken.iter().enumerate() {
            if !violations.broken[..place].iter().any(|other| other.property == *property && other.by == *by) {
                self.tally(*property);
            }
        }
    }

    /// Makes an event part of the session whose standing has been moved by it.
    pub(crate) fn take(&mut self, notes: Notes, violations: &Violations) {
        self.steps += 1;
        self.count(violations);
        self.context.remember(notes);
    }

    /// Whose history its last event belongs to.
    pub(crate) fn whose(&self) -> &Whose {
        self.context.whose()
    }

    /// Counts a property that the last event broke.
    pub(crate) fn tally(&mut self, property: usize) {
        let tally = &mut self.counts[property];
        tally.first = if tally.count == 0 { self.steps } else { tally.first };
        tally.count += 1;
    }
}

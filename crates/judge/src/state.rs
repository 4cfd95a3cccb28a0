//! The state of one session: where every property is, what later facts depend on, and what was violated so far.

use lictor_logic::{Belief, TraceState};

use crate::facts::{Context, Notes, Whose};
use crate::identity::Identity;
use crate::monitor_group::{Violation, Violations};

/// The state of a session for every property. It keeps no trail: [`Session`](crate::session::Session) does, for
/// witnesses.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// The judge that it belongs to: the numbers of its states mean something else to every other one.
    pub(crate) judge: Identity,
    pub(crate) standing: TraceState,
    /// The beliefs of the properties with a risk.
    pub(crate) beliefs: Box<[Belief]>,
    pub(crate) context: Context,
    /// How many events there were.
    pub(crate) steps: u32,
    /// For each property, the first violation and their number.
    pub(crate) counts: Vec<ViolationCount>,
    /// Marks the properties that missing events made undecidable, if there are any.
    pub(crate) lost: Option<Box<[bool]>>,
    /// The properties whose past cannot be told, by number, if there are any.
    pub(crate) blind: Option<Box<[usize]>>,
}

/// How often a session violated a property.
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

    /// Returns how many bytes the sayings of the session take, which properties about `argument_from` need.
    pub fn sayings_size(&self) -> usize {
        self.context.sayings_size()
    }

    /// Takes the sayings out of the session, as bytes to be kept elsewhere. Before the next event they must be
    /// [put back](SessionState::restore_sayings).
    pub fn take_sayings(&mut self) -> Vec<u8> {
        self.context.take_sayings()
    }

    /// Puts the sayings back. Damaged ones make the source of every argument unknown.
    pub fn restore_sayings(&mut self, bytes: &[u8]) {
        self.context.restore_sayings(bytes);
    }

    /// Counts the violations of an event: each property once, for however many values.
    pub(crate) fn count(&mut self, violations: &Violations) {
        for (place, Violation { property, by, .. }) in violations.broken.iter().enumerate() {
            if !violations.broken[..place].iter().any(|other| other.property == *property && other.by == *by) {
                self.tally(*property);
            }
        }
    }

    /// Makes an event part of the session. The trace state must have been advanced by it.
    pub(crate) fn take(&mut self, notes: Notes, violations: &Violations) {
        self.steps += 1;
        self.count(violations);
        self.context.remember(notes);
    }

    /// Whose history its last event belongs to.
    pub(crate) fn whose(&self) -> &Whose {
        self.context.whose()
    }

    /// Counts a property that the last event violated.
    pub(crate) fn tally(&mut self, property: usize) {
        let tally = &mut self.counts[property];
        tally.first = if tally.count == 0 { self.steps } else { tally.first };
        tally.count += 1;
    }
}

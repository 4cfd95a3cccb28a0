//! Which set made the state of a trace.
//!
//! The state of a trace holds numbers of states that the set has learnt, so it means nothing to another set. A clone
//! knows the states that the original made before it; after that, each learns other states by the same numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set at one time of its life, as the states of traces name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetStamp {
    /// The number of the set; 0 for a state that no set has read yet.
    set: u64,
    /// How many clones had been made of the set.
    generation: u64,
}

/// The identity of a set and of those that it was cloned from.
#[derive(Debug)]
pub(crate) struct SetIdentity {
    set: u64,
    /// How many clones were made of the set: the states that it made after a clone are foreign to the clone.
    generation: AtomicU64,
    /// The sets that it was cloned from, directly or not, each at the time of the clone; the oldest first.
    origins: Vec<SetStamp>,
}

impl SetIdentity {
    fn new(origins: Vec<SetStamp>) -> SetIdentity {
        static SETS: AtomicU64 = AtomicU64::new(1);
        SetIdentity { set: SETS.fetch_add(1, Ordering::Relaxed), generation: AtomicU64::new(0), origins }
    }

    #[inline]
    fn stamp(&self) -> SetStamp {
        SetStamp { set: self.set, generation: self.generation.load(Ordering::Relaxed) }
    }

    /// Panics if the state with a stamp belongs to another set.
    #[inline]
    pub(crate) fn check(&self, stamp: SetStamp) {
        if stamp != self.stamp() {
            self.check_origin(stamp);
        }
    }

    /// Checks the stamp of a state like [`SetIdentity::check`], and replaces it by that of this set.
    #[inline]
    pub(crate) fn claim(&self, stamp: &mut SetStamp) {
        let own = self.stamp();
        if *stamp != own {
            self.check_origin(*stamp);
            *stamp = own;
        }
    }

    // A panic and no error: a `Result` from each step would burden every caller, and no caller could do anything
    // about it but correct the program.
    #[cold]
    #[expect(clippy::panic, reason = "any other answer would be about another trace")]
    fn check_origin(&self, stamp: SetStamp) {
        let is_known = |known: &SetStamp| stamp.set == known.set && stamp.generation <= known.generation;
        let is_new = stamp == SetStamp::default();
        if !is_new && !is_known(&self.stamp()) && !self.origins.iter().any(is_known) {
            panic!("the trace state belongs to another monitor set: move it with `MonitorSet::snapshot` and `restore`");
        }
    }
}

impl Default for SetIdentity {
    fn default() -> SetIdentity {
        SetIdentity::new(Vec::new())
    }
}

impl Clone for SetIdentity {
    /// Returns the identity of a clone, which knows the states that the original made so far.
    fn clone(&self) -> SetIdentity {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        SetIdentity::new(self.origins.iter().copied().chain([SetStamp { set: self.set, generation }]).collect())
    }
}

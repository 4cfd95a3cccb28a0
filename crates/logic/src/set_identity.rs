//! Which set made the state of a trace.
//!
//! The state of a trace holds numbers of states that the set has learnt, so it means nothing to another set. A clone
//! knows the states that the original made before it; after that, each learns other states by the same numbers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A set at one time of its life, as the states of traces name it: the number of the set, 0 for a state that no set has
/// read yet, and in the lower half how many clones had been made of the set.
///
/// One word, because every step compares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetStamp(u64);

impl SetStamp {
    fn set(self) -> u64 {
        self.0 >> u32::BITS
    }

    /// Whether a state with this stamp is known to a set that had the other stamp.
    fn is_known_at(self, known: SetStamp) -> bool {
        self.set() == known.set() && self.0 <= known.0
    }
}

/// The identity of a set and of those that it was cloned from.
#[derive(Debug)]
pub(crate) struct SetIdentity {
    /// The current stamp. It grows with every clone, because the states that the set makes afterwards are foreign to
    /// the clone.
    stamp: AtomicU64,
    /// The sets that it was cloned from, directly or not, each at the time of the clone; the oldest first.
    origins: Vec<SetStamp>,
}

impl SetIdentity {
    fn new(origins: Vec<SetStamp>) -> SetIdentity {
        static SETS: AtomicU32 = AtomicU32::new(1);
        let set = SETS.fetch_add(1, Ordering::Relaxed).max(1);
        SetIdentity { stamp: AtomicU64::new(u64::from(set) << u32::BITS), origins }
    }

    #[inline]
    fn stamp(&self) -> SetStamp {
        SetStamp(self.stamp.load(Ordering::Relaxed))
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
    #[inline(never)]
    #[expect(clippy::panic, reason = "any other answer would be about another trace")]
    fn check_origin(&self, stamp: SetStamp) {
        let is_new = stamp == SetStamp::default();
        let is_known = || self.origins.iter().chain([&self.stamp()]).any(|known| stamp.is_known_at(*known));
        if !is_new && !is_known() {
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
        let parting = SetStamp(self.stamp.fetch_add(1, Ordering::Relaxed));
        SetIdentity::new(self.origins.iter().copied().chain([parting]).collect())
    }
}

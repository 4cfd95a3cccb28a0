//! The same work by hand, for one formula each: a floor that no general engine can be expected to beat.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::hint::black_box;

use rustc_hash::FxBuildHasher;

/// `G(request -> F answer)` as an automaton of two states: nothing open, something open.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    state: u8,
    /// The state after a state and a letter, whose bits are request and answer.
    table: [u8; 8],
}

impl Automaton {
    pub(crate) fn response() -> Automaton {
        Automaton { state: 0, table: [0, 1, 0, 0, 1, 1, 0, 0] }
    }

    pub(crate) fn read(&mut self, letters: &[u8]) {
        for letter in letters {
            self.state = self.table[usize::from(self.state << 2 | letter & 3)];
            black_box(self.state);
        }
    }
}

/// The subjects whose data were erased, in a plain hash table.
#[derive(Clone, Debug)]
pub(crate) struct ErasedSubjects<V> {
    subjects: HashMap<V, u8, FxBuildHasher>,
}

impl<V: Eq + Hash + Clone> ErasedSubjects<V> {
    pub(crate) fn new() -> ErasedSubjects<V> {
        ErasedSubjects { subjects: HashMap::default() }
    }

    pub(crate) fn erase(&mut self, subject: &V) {
        if !self.subjects.contains_key(subject) {
            self.subjects.insert(subject.clone(), 1);
        }
    }

    /// Whether this is a violation.
    pub(crate) fn disclose(&mut self, subject: &V) -> bool {
        match self.subjects.get_mut(subject) {
            Some(state) => {
                *state = 2;
                true
            }
            None => false,
        }
    }
}

/// Calls that must be verified in time: a hash table and a queue of deadlines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    open: HashMap<i64, i64, FxBuildHasher>,
    queue: VecDeque<(i64, i64)>,
    pub(crate) missed: u64,
}

impl Deadlines {
    /// Advances time.
    pub(crate) fn advance(&mut self, now: i64) {
        while let Some((end, call)) = self.queue.front().copied().filter(|(end, _)| *end < now) {
            self.queue.pop_front();
            if self.open.get(&call) == Some(&end) {
                self.open.remove(&call);
                self.missed += 1;
            }
        }
    }

    pub(crate) fn call(&mut self, call: i64, end: i64) {
        if let std::collections::hash_map::Entry::Vacant(vacant) = self.open.entry(call) {
            vacant.insert(end);
            self.queue.push_back((end, call));
        }
    }

    pub(crate) fn verify(&mut self, call: i64) {
        self.open.remove(&call);
    }
}

//! Missing events of a session.

use lictor_logic::Time;

use super::Session;
use super::step::without_numbers;
use crate::Judge;
use crate::facts::{Labels, NameId};
use crate::finding::Finding;

/// How many missing events a trail keeps of each gap: enough for witnesses, and verdicts do not need them.
const MAX_KEPT_EVENTS: u64 = 64;

impl Session {
    /// Adds missing events, and returns what they violate in every case.
    pub(crate) fn add_missing(&mut self, judge: &mut Judge, count: u64, next: Option<Time>) -> Vec<Finding> {
        self.renew();
        self.is_torn = true;
        let violations = judge.miss(&mut self.state, count, next);
        let mut labels = Labels::default();
        let names = judge.prepared().plan.names.len() as NameId;
        (0..names).for_each(|name| labels.doubt(name, Vec::new()));
        let kept = count.min(MAX_KEPT_EVENTS) as usize;
        without_numbers(self.trail.miss(judge.provers(), &labels, kept, self.state.steps, &violations))
    }
}

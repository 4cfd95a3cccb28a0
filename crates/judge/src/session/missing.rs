//! Events of a session that are known to be missing.

use lictor_logic::Time;

use super::{Session, without_numbers};
use crate::Judge;
use crate::finding::Finding;
use crate::label::{Labels, NameId};

/// How many missing events a trail keeps at a time: enough for witnesses, and verdicts do not need it.
const MOST_KEPT: u64 = 64;

impl Session {
    /// Makes missing events part of the session: positions of which nothing is known. `next` is the time of the event
    /// behind them. What is found, they broke whatever they were.
    pub fn miss(&mut self, judge: &mut Judge, count: u64, next: Option<Time>) -> Vec<Finding> {
        self.renew();
        self.is_torn = true;
        let violations = judge.miss(&mut self.state, count, next);
        let mut labels = Labels::default();
        let names = judge.prepared().plan.names.len() as NameId;
        (0..names).for_each(|name| labels.doubt(name, Vec::new()));
        let kept = count.min(MOST_KEPT) as usize;
        without_numbers(self.trail.miss(judge.provers(), &labels, kept, self.state.steps, &violations))
    }
}

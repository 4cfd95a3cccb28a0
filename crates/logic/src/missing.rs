//! Missing positions: positions at which all facts are unknown.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::facts::Facts;
use crate::monitor_set::{Conclusion, Entry, MonitorId, MonitorSet};
use crate::observation::Observation;
use crate::step_reader::StepReader;
use crate::term::Atom;
use crate::trace_state::TraceState;

/// The most letter bits of a formula that can read a missing position: all combinations are followed.
const MAX_MISSING_BITS: u32 = 12;

/// How many missing positions are read one by one.
const MAX_MISSING_POSITIONS: u64 = 256;

/// The effect of missing positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingOutcome {
    /// The verdicts that became definite, for all facts that the positions may have had.
    pub decided: Vec<Conclusion>,
    /// The monitors that can no longer be followed: the positions have too many possible letters, or may have brought
    /// values that the formula compares. Their state and verdicts are invalid from here on.
    pub lost: Vec<MonitorId>,
}

impl MonitorSet {
    /// Reads missing positions: any fact may have held at them, with any values. They have the time of the position
    /// before them.
    ///
    /// Later verdicts are definite only if they do not depend on the missing positions.
    ///
    /// ```
    /// use lictor_logic::{Arena, Facts, Monitor, Verdict, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(paid -> O approved)").unwrap();
    /// let mut monitors = MonitorSet::new();
    /// let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    /// let mut trace_state = monitors.start();
    /// monitors.miss(&mut trace_state, 2);
    /// monitors.step(&mut trace_state, &Facts::parse("paid").unwrap());
    /// assert_eq!(monitors.verdict(&mut trace_state, id), Verdict::Inconclusive);
    /// assert_eq!(monitors.end(&mut trace_state, id), Verdict::Inconclusive);
    /// ```
    pub fn miss(&mut self, trace_state: &mut TraceState, count: u64) -> MissingOutcome {
        self.add_missing_states(trace_state);
        let facts = self.all_unknown();
        let (mut followed, lost): (Vec<u32>, Vec<u32>) =
            (0..self.len() as u32).partition(|monitor| self.can_miss(*monitor));
        let mut missed =
            MissingOutcome { lost: lost.into_iter().map(MonitorId).collect(), ..MissingOutcome::default() };
        for read in 1..=count {
            // Once a missing position leaves a state unchanged, further ones do too.
            let before = (read >= 4 && read.is_power_of_two()).then(|| trace_state.clone());
            self.miss_one(trace_state, &facts, &followed);
            missed.decided.append(&mut self.scratch.decided);
            let Some(before) = before else { continue };
            let moves = |monitor: &u32| !self.is_same(&before, trace_state, *monitor as usize);
            followed.retain(moves);
            if read >= MAX_MISSING_POSITIONS || followed.is_empty() {
                // The remaining positions still count.
                trace_state.positions += count - read;
                missed.lost.extend(followed.drain(..).filter(|_| read < count).map(MonitorId));
                break;
            }
        }
        missed.lost.sort_unstable();
        missed
    }

    /// Whether a monitor can continue after missing positions. One that compares the values of bindings cannot: the
    /// positions may have brought values with an unknown order.
    fn can_miss(&self, monitor: u32) -> bool {
        let entry = self.entries.get(monitor as usize).and_then(Option::as_ref);
        entry.is_none_or(|entry| entry.width <= MAX_MISSING_BITS && entry.monitor.compiled.rigid.is_trivial())
    }

    /// Returns a position where every fact that a monitor asks for is unknown.
    fn all_unknown(&self) -> Facts {
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        for Entry { monitor, .. } in self.entries.iter().flatten() {
            names.append(&mut monitor.fact_names());
        }
        // Internal facts of monitors are no facts of a position; no formula can contain them.
        names.retain(|name| !name.starts_with('('));
        let unknown = names.into_iter().map(|name| Atom { name, terms: [].into() }).collect();
        Facts { unknown, ..Facts::default() }
    }

    /// Reads one missing position, for some monitors.
    fn miss_one(&mut self, trace_state: &mut TraceState, facts: &Facts, monitors: &[u32]) {
        self.scratch.decided.clear();
        trace_state.positions += 1;
        trace_state.clock.read(None);
        let now = trace_state.clock.now();
        let observation = Observation::new();
        let reader = StepReader { observation: &observation, facts: Some(facts), unknown: true, now };
        for &monitor in monitors {
            self.step_one(trace_state, monitor, 0, reader);
        }
    }
}

//! Positions of which nothing is known but that they were there.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::facts::Facts;
use crate::interval::Time;
use crate::monitor_set::{Conclusion, Entry, MonitorId, MonitorSet};
use crate::observation::Observation;
use crate::probe::Probe;
use crate::reading::Reading;
use crate::term::Atom;
use crate::trace_state::TraceState;
use crate::witness::collect_atoms;

/// How many facts a formula may ask for: a position has two to the power of that many ways to have been.
const MOST_BITS: u32 = 12;

/// How many positions are gone through one by one.
const MOST_POSITIONS: u64 = 256;

/// What positions brought of which nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingOutcome {
    /// The verdicts that became definite: whatever the positions were, they brought them.
    pub decided: Vec<Conclusion>,
    /// The monitors that were given up: there are too many ways the positions could have been, or they may have brought
    /// values that the formula compares. Nothing may be concluded from where they stand any more.
    pub lost: Vec<MonitorId>,
}

impl MonitorSet {
    /// Reads positions of which nothing is known: any fact may have held at them, with any values. They are at the time of
    /// the position before them.
    ///
    /// What is told afterwards is so whatever they were; what depends on them stays inconclusive.
    ///
    /// ```
    /// use lictor_logic::{After, Arena, Facts, Monitor, Verdict, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(paid -> O approved)").unwrap();
    /// let mut watch = MonitorSet::new();
    /// let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
    /// let mut standing = watch.start();
    /// watch.miss(&mut standing, 2);
    /// watch.step(&mut standing, &Facts::of(["paid"]));
    /// assert_eq!(watch.verdict(&mut standing, id), Verdict::Inconclusive);
    /// assert_eq!(watch.end(&mut standing, id), Verdict::Inconclusive);
    /// ```
    pub fn miss(&mut self, standing: &mut TraceState, count: u64) -> MissingOutcome {
        self.seat_all(standing);
        let facts = self.all_unknown();
        let (mut followed, lost): (Vec<u32>, Vec<u32>) =
            (0..self.len() as u32).partition(|monitor| self.can_miss(*monitor));
        let mut missed =
            MissingOutcome { lost: lost.into_iter().map(MonitorId).collect(), ..MissingOutcome::default() };
        for read in 1..=count {
            // What nobody knows changes nothing more once it has changed nothing.
            let before = (read >= 4 && read.is_power_of_two()).then(|| standing.clone());
            self.miss_one(standing, &facts, &followed);
            missed.decided.append(&mut self.scratch.decided);
            let Some(before) = before else { continue };
            let moves = |monitor: &u32| !self.is_same(&before, standing, *monitor as usize);
            followed.retain(moves);
            if read >= MOST_POSITIONS || followed.is_empty() {
                // What is behind them still counts in how many positions there were.
                standing.positions += count - read;
                missed.lost.extend(followed.drain(..).filter(|_| read < count).map(MonitorId));
                break;
            }
        }
        missed.lost.sort_unstable();
        missed
    }

    /// Whether a monitor can go on behind positions of which nothing is known. One that compares the values of bindings
    /// cannot: they may have brought values of which nobody knows how they compare.
    fn can_miss(&self, monitor: u32) -> bool {
        let entry = self.entries.get(monitor as usize).and_then(Option::as_ref);
        entry.is_none_or(|entry| entry.width <= MOST_BITS && entry.monitor.compiled.rigid.is_trivial())
    }

    /// That any fact may hold that some monitor asks for.
    fn all_unknown(&self) -> Facts {
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        for Entry { monitor, .. } in self.entries.iter().flatten() {
            names.extend(monitor.patterns().map(|(_, pattern)| pattern.name.clone()));
            names.extend(monitor.data_names().iter().cloned());
            let compiled = &monitor.compiled;
            let mut atoms = Vec::new();
            for probe in &compiled.probes {
                if let Probe::Local { body, .. } = probe {
                    collect_atoms(&compiled.arena, *body, &mut atoms);
                }
            }
            names.extend(atoms.into_iter().map(|atom| atom.name));
        }
        // What monitors tell themselves is no fact of a position; no formula can spell it.
        names.retain(|name| !name.starts_with('('));
        let unknown = names.into_iter().map(|name| Atom { name, terms: [].into() }).collect();
        Facts { unknown, ..Facts::default() }
    }

    /// One such position, for some monitors.
    fn miss_one(&mut self, standing: &mut TraceState, facts: &Facts, monitors: &[u32]) {
        self.scratch.decided.clear();
        standing.positions += 1;
        if standing.clock.is_none() {
            standing.clock = Some(Time::default());
        }
        let now = standing.clock.unwrap_or_default();
        let observation = Observation::new();
        let reading = Reading { observation: &observation, facts: Some(facts), unknown: true, now };
        for &monitor in monitors {
            self.step_one(standing, monitor, 0, reading);
        }
    }
}

//! The measured engine: a watch, one trace, and the ways to pass it events.

use std::error::Error;
use std::fmt;
use std::hint::black_box;

use lictor_logic::{After, Arena, Facts, Monitor, MonitorId, MonitorSet, Name, Observation, TraceState, Verdict};

use crate::letters::Letters;

/// A watch with one trace.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) watch: MonitorSet,
    pub(crate) standing: TraceState,
    pub(crate) monitors: Vec<MonitorId>,
}

/// The numbers of satisfactions and violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) satisfied: u64,
    pub(crate) violated: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} satisfied, {} violated", self.satisfied, self.violated)
    }
}

impl Ours {
    pub(crate) fn new<T: AsRef<str>>(formulas: &[T], after: After) -> Result<Ours, Box<dyn Error>> {
        let mut watch = MonitorSet::new();
        let mut monitors = Vec::new();
        for text in formulas {
            let mut arena = Arena::new();
            let formula = arena.parse(text.as_ref()).map_err(|errors| format!("{}: {errors:?}", text.as_ref()))?;
            let monitor =
                Monitor::with_after(&arena, formula, after).map_err(|error| format!("{}: {error}", text.as_ref()))?;
            monitors.push(watch.add(monitor));
        }
        let standing = watch.start();
        Ok(Ours { watch, standing, monitors })
    }

    /// Starts a new trace; the learned states stay.
    pub(crate) fn restart(&mut self) {
        self.standing = self.watch.start();
    }

    /// Returns the distinct letters as observations.
    pub(crate) fn observations(&mut self, letters: &Letters) -> Vec<Observation> {
        let names = self.names(letters);
        let observation = |letter: &u64| {
            let mut observation = Observation::new();
            letters.places(*letter).for_each(|place| observation.push(names[place], &[]));
            self.watch.prepare(&mut observation);
            observation
        };
        letters.distinct.iter().map(observation).collect()
    }

    pub(crate) fn names(&mut self, letters: &Letters) -> Vec<Name> {
        letters.names.iter().map(|name| self.watch.name(name)).collect()
    }

    /// Reads events whose observations are ready.
    pub(crate) fn read_prepared(&mut self, observations: &[Observation], events: &[u32]) {
        for event in events {
            black_box(self.watch.observe(&mut self.standing, &observations[*event as usize]).len());
        }
    }

    /// Reads events, reusing one observation.
    pub(crate) fn read_filled(&mut self, names: &[Name], letters: &[u64], events: &[u32]) {
        let mut observation = Observation::new();
        for event in events {
            observation.clear();
            fill(&mut observation, names, letters[*event as usize]);
            black_box(self.watch.observe(&mut self.standing, &observation).len());
        }
    }

    /// Reads events with strings for names.
    pub(crate) fn read_strings(&mut self, facts: &[Facts], events: &[u32]) {
        for event in events {
            black_box(self.watch.step(&mut self.standing, &facts[*event as usize]).len());
        }
    }

    /// Counts the definite verdicts of events.
    pub(crate) fn tally(&mut self, observations: &[Observation], events: &[u32]) -> Tally {
        let mut tally = Tally::default();
        for event in events {
            for decided in self.watch.observe(&mut self.standing, &observations[*event as usize]) {
                match decided.verdict {
                    Verdict::Satisfied => tally.satisfied += 1,
                    Verdict::Violated => tally.violated += 1,
                    Verdict::Inconclusive => {}
                }
            }
        }
        tally
    }

    /// Returns how many states all monitors have learned.
    pub(crate) fn states(&self) -> usize {
        self.monitors.iter().filter_map(|id| self.watch.usage(*id)).map(|usage| usage.states).sum()
    }
}

fn fill(observation: &mut Observation, names: &[Name], letter: u64) {
    let mut rest = letter;
    while rest != 0 {
        observation.push(names[rest.trailing_zeros() as usize], &[]);
        rest &= rest - 1;
    }
}

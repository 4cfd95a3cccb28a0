//! Properties about data: sums over a window by payee, and two different approvers for a payment.
//!
//! As large as a bank's day, which no other engine here finishes. On traces that they can finish, others are measured
//! beside us by `peers/src/bin/decisions.rs`, which `cargo xtask bench data` runs behind this.

mod four_eyes;
mod structuring;

use std::error::Error;

use lictor_logic::{After, Arena, Monitor, MonitorSet, Name, Observation, TraceState};

use crate::measure::once;
use crate::table::Table;

/// Measures all.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    structuring::run(&mut table)?;
    four_eyes::run(&mut table)?;
    table.finish();
    Ok(())
}

/// A watch with one property of which every position that breaks it is told, and one trace.
struct Watched {
    watch: MonitorSet,
    standing: TraceState,
}

impl Watched {
    fn new(formula: &str) -> Result<Watched, Box<dyn Error>> {
        let mut arena = Arena::new();
        let parsed = arena.parse(formula).map_err(|errors| errors.to_string())?;
        let mut watch = MonitorSet::new();
        watch.add(Monitor::each(&arena, parsed)?, After::Each);
        let standing = watch.start();
        Ok(Watched { watch, standing })
    }

    fn name(&mut self, name: &str) -> Name {
        self.watch.name(name)
    }

    /// Reads a batch: the nanoseconds it took, and how many violations there were.
    fn read(&mut self, batch: &Batch) -> (f64, usize) {
        let mut broken = 0;
        let spent = once(1, || self.watch.observe_all(&mut self.standing, &batch.0, |_, _| broken += 1));
        (spent, broken)
    }
}

/// How many events are handed over at once, as from a log.
const BATCH: usize = 64;

/// Events that are handed over at once. Making them is not measured: a decoder has just done so.
struct Batch(Vec<Observation>);

impl Batch {
    fn new() -> Batch {
        Batch(vec![Observation::new(); BATCH])
    }

    fn fill(&mut self, mut event: impl FnMut(&mut Observation, u64)) {
        for (place, observation) in self.0.iter_mut().enumerate() {
            observation.clear();
            event(observation, place as u64);
        }
    }
}

//! Properties about data: sums over a window by payee, and two different approvers for a payment.
//!
//! The traces are as large as a bank's day, which no other engine here finishes. `peers/src/bin/decisions.rs` measures
//! other engines on shorter traces; `cargo xtask bench data` runs it after this.

mod four_eyes;
mod structuring;

use std::error::Error;

use lictor_logic::{After, Arena, Monitor, MonitorSet, Name, Observation, TraceState};

use crate::measure::once;
use crate::table::Table;

/// Measures all workloads.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    structuring::run(&mut table)?;
    four_eyes::run(&mut table)?;
    table.finish();
    Ok(())
}

/// A watch with one trace and one property, which reports every position that breaks it.
struct WatchedTrace {
    watch: MonitorSet,
    standing: TraceState,
}

impl WatchedTrace {
    fn new(formula: &str) -> Result<WatchedTrace, Box<dyn Error>> {
        let mut arena = Arena::new();
        let parsed = arena.parse(formula).map_err(|errors| errors.to_string())?;
        let mut watch = MonitorSet::new();
        watch.add(Monitor::with_after(&arena, parsed, After::Each)?);
        let standing = watch.start();
        Ok(WatchedTrace { watch, standing })
    }

    fn name(&mut self, name: &str) -> Name {
        self.watch.name(name)
    }

    /// Reads a batch. Returns the nanoseconds and the number of violations.
    fn read(&mut self, batch: &Batch) -> (f64, usize) {
        let mut broken = 0;
        let spent = once(1, || self.watch.observe_all(&mut self.standing, &batch.0, |_, _| broken += 1));
        (spent, broken)
    }
}

/// How many events a batch has, as from a log.
const BATCH: usize = 64;

/// A batch of events. Building it is not measured: that is the work of a decoder.
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

//! One formula on one trace: the shortest way to use the crate.
//!
//! A [`Run`] is a [`MonitorSet`] with one monitor and the state of one trace. Programs with many formulas or many
//! traces use the set itself: its traces share what the monitors learn.

use crate::after::After;
use crate::facts::Facts;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::monitor_set::{MonitorId, MonitorSet};
use crate::sentence::Sentence;
use crate::trace_state::TraceState;
use crate::verdict::Verdict;

/// One formula on one trace. A clone continues independently of the original.
///
/// ```
/// use lictor_logic::{Facts, Monitor, Verdict};
/// let mut run = Monitor::parse("G(request -> F answer)")?.run();
/// assert_eq!(run.step(&Facts::parse("request")?), Verdict::Inconclusive);
/// assert_eq!(run.residual().to_string(), "F answer & G(request -> F answer)");
/// assert_eq!(run.end(), Verdict::Violated);
/// run.step(&Facts::parse("answer")?);
/// assert_eq!(run.end(), Verdict::Satisfied);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Run {
    monitors: MonitorSet,
    id: MonitorId,
    trace_state: TraceState,
}

impl Monitor {
    /// Starts a trace that this formula alone follows. A definite verdict latches, whatever [`Monitor::after`]
    /// says: the verdict of a run is about its whole trace.
    pub fn run(&self) -> Run {
        let mut monitors = MonitorSet::new();
        let mut monitor = self.clone();
        monitor.after = After::Latch;
        let id = monitors.add(monitor);
        let trace_state = monitors.start();
        Run { monitors, id, trace_state }
    }
}

impl Run {
    /// Reads the next position and returns the verdict after it.
    pub fn step(&mut self, facts: &Facts) -> Verdict {
        self.monitors.step(&mut self.trace_state, facts);
        self.verdict()
    }

    /// Lets time pass and returns the verdict after it: every later position is after this moment.
    pub fn tick(&mut self, now: Time) -> Verdict {
        self.monitors.tick(&mut self.trace_state, now);
        self.verdict()
    }

    /// Returns the verdict on the trace so far and all its continuations.
    pub fn verdict(&mut self) -> Verdict {
        self.monitors.verdict(&mut self.trace_state, self.id)
    }

    /// Returns the verdict if the trace ends here. The trace may still continue.
    pub fn end(&mut self) -> Verdict {
        self.monitors.end(&mut self.trace_state, self.id)
    }

    /// Returns what must still hold, as a formula about the rest of the trace.
    pub fn residual(&mut self) -> Sentence {
        // INVARIANT: the monitor is never removed, so there is a residual.
        self.monitors.residual(&mut self.trace_state, self.id).unwrap_or_else(|| Sentence::from_truth(true))
    }

    /// Returns the next moment at which a tick may change the verdict, if a deadline is open.
    pub fn deadline(&self) -> Option<Time> {
        self.monitors.deadline(&self.trace_state)
    }

    /// Returns how many positions have been read.
    pub fn positions(&self) -> u64 {
        self.trace_state.positions()
    }
}

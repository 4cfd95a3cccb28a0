//! Violations that are possible but not certain, because facts are unknown.

use crate::cache::VIOLATED_STATE;
use crate::facts::Facts;
use crate::letter::read_letter;
use crate::monitor_set::{MonitorId, MonitorSet};
use crate::state::Point;
use crate::trace_state::{ExtendedState, TraceState};

impl MonitorSet {
    /// Whether a position violates a formula, not violated before, under some resolution of the unknown facts. `before`
    /// is the state of the trace before it, with all deadlines up to its time expired.
    ///
    /// ```
    /// use lictor_logic::{Arena, Facts, Monitor, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(halt -> G !pay)").unwrap();
    /// let mut monitors = MonitorSet::new();
    /// let id = monitors.add(Monitor::new(&arena, formula).unwrap());
    /// let mut trace_state = monitors.start();
    /// monitors.step(&mut trace_state, &Facts::parse("hello").unwrap());
    /// assert!(!monitors.may_break(&trace_state, id, &Facts::parse("pay").unwrap()));
    /// monitors.miss(&mut trace_state, 1);
    /// assert!(monitors.may_break(&trace_state, id, &Facts::parse("pay").unwrap()));
    /// assert!(!monitors.may_break(&trace_state, id, &Facts::parse("hello").unwrap()));
    /// ```
    pub fn may_break(&mut self, before: &TraceState, id: MonitorId, facts: &Facts) -> bool {
        self.check_owner(before);
        let Some(Some(entry)) = self.entries.get_mut(id.index()) else { return false };
        let Some(monitor_state) = before.states.get(id.index()) else { return false };
        // A formula that is judged by its negation is not violated by a single binding.
        if entry.monitor.compiled.negated {
            return true;
        }
        // As in a step: time never goes back.
        let time = before.clock.peek(facts.time);
        let skeleton = &entry.monitor.compiled.skeleton;
        let point = match monitor_state.extended.as_deref() {
            None if monitor_state.number <= VIOLATED_STATE => return false,
            // It is unknown, and `is_full` says so.
            None if entry.cache.is_stopped_at(monitor_state.number) => return true,
            None => Point::cached(monitor_state.number),
            Some(ExtendedState::Point(point)) => point.clone(),
            Some(ExtendedState::Bindings(bindings)) => {
                return bindings.may_break(&entry.monitor, &mut entry.cache, facts, time);
            }
            // For those, `is_undetermined` answers after the position was read.
            Some(ExtendedState::Data(..) | ExtendedState::Removed) => return false,
        };
        let (bits, unknown) = read_letter(&entry.monitor, facts, &[]);
        entry.cache.may_break(skeleton, &point, bits, unknown, time)
    }

    /// Whether it is unknown if the last position violates a formula about data: it sums a value that is no number, or
    /// depends on unknown facts.
    pub fn is_undetermined(&self, trace_state: &TraceState, id: MonitorId) -> bool {
        self.check_owner(trace_state);
        let monitor_state =
            trace_state.states.get(id.index()).and_then(|monitor_state| monitor_state.extended.as_deref());
        matches!(monitor_state, Some(ExtendedState::Data(_, store)) if store.is_undetermined(trace_state.positions))
    }
}

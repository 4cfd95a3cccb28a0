//! What a position may break without anybody being able to tell.

use crate::facts::Facts;
use crate::letter::read;
use crate::monitor_set::{MonitorId, MonitorSet};
use crate::state::Point;
use crate::trace_state::{TraceState, Wide};

impl MonitorSet {
    /// Whether a position may break a formula that was not broken before it, in some way in which facts that nobody could
    /// tell may have been. `before` is where the trace stood, with all deadlines up to the position passed.
    ///
    /// ```
    /// use lictor_logic::{After, Arena, Facts, Monitor, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(halt -> G !pay)").unwrap();
    /// let mut watch = MonitorSet::new();
    /// let id = watch.add(Monitor::new(&arena, formula).unwrap(), After::Latch);
    /// let mut standing = watch.start();
    /// watch.step(&mut standing, &Facts::of(["hello"]));
    /// assert!(!watch.may_break(&standing, id, &Facts::of(["pay"])));
    /// watch.miss(&mut standing, 1);
    /// assert!(watch.may_break(&standing, id, &Facts::of(["pay"])));
    /// assert!(!watch.may_break(&standing, id, &Facts::of(["hello"])));
    /// ```
    pub fn may_break(&mut self, before: &TraceState, id: MonitorId, facts: &Facts) -> bool {
        let Some(Some(entry)) = self.entries.get_mut(id.index()) else { return false };
        let Some(seat) = before.seats.get(id.index()) else { return false };
        // Of a formula that is judged by its negation, no binding by itself breaks anything.
        if entry.monitor.compiled.negated {
            return true;
        }
        let time = facts.time.or(before.clock).unwrap_or_default();
        let skeleton = &entry.monitor.compiled.skeleton;
        let point = match seat.wide.as_deref() {
            None => Point::cached(seat.at),
            Some(Wide::Point(point)) => point.clone(),
            Some(Wide::Bindings(bindings)) => return bindings.may_break(&entry.monitor, &mut entry.cache, facts, time),
            // Of those it is known at the position itself.
            Some(Wide::Data(..) | Wide::Vacant) => return false,
        };
        let (bits, unknown) = read(&entry.monitor, facts, &[]);
        entry.cache.may_break(skeleton, &point, bits, unknown, time)
    }

    /// Whether nobody can tell if the position that was read last breaks a formula about data: it counts what is no number,
    /// or what may or may not have been.
    pub fn is_untold(&self, standing: &TraceState, id: MonitorId) -> bool {
        let seat = standing.seats.get(id.index()).and_then(|seat| seat.wide.as_deref());
        matches!(seat, Some(Wide::Data(_, store)) if store.is_untold(standing.positions))
    }
}

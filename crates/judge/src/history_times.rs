//! The times at which the events of one session take their places in histories across sessions.
//!
//! Sessions are merged by time, and the events of one session stay in their order. So an event is not placed before an
//! earlier one of its session in the same history, whatever its own time. Only the same history counts: a time that
//! jumps ahead must not move the events of another person.

use std::collections::HashMap;

use lictor_logic::Time;

use crate::facts::Owner;
use crate::shared_history::HistoryEvent;

/// The latest times of one session, for each history that it has events in.
#[derive(Clone, Debug, Default)]
pub struct HistoryTimes {
    /// The latest time of all.
    whole: Option<Time>,
    /// The time of the last gap: its events may belong to any history, so all later events come after it.
    gap: Option<Time>,
    /// The latest time in each history, with the index of its kind.
    own: HashMap<(usize, Owner), Option<Time>>,
}

impl HistoryTimes {
    /// Returns an event with its time in its histories; one part for each time if they differ.
    pub fn place_event(&mut self, event: HistoryEvent) -> Vec<(Option<Time>, HistoryEvent)> {
        self.whole = self.whole.max(event.summary.time);
        let earliest = self.gap.max(event.summary.time);
        let mut times: Vec<Option<Time>> = Vec::new();
        for (kind, owner) in event.owners() {
            let latest = self.own.entry((kind, owner.clone())).or_default();
            *latest = (*latest).max(earliest);
            if !times.contains(latest) {
                times.push(*latest);
            }
        }
        match times.as_slice() {
            [] => Vec::new(),
            [time] => vec![(*time, event)],
            times => {
                let of = |kind: usize, owner: &Owner| self.own.get(&(kind, owner.clone())).copied().flatten();
                times.iter().map(|time| (*time, event.only(|kind, owner| of(kind, owner) == *time))).collect()
            }
        }
    }

    /// Notes a gap before an event of some time, and returns the time of the gap: after all earlier events.
    pub fn place_gap(&mut self, next: Option<Time>) -> Option<Time> {
        self.whole = self.whole.max(next);
        self.gap = self.whole;
        self.gap
    }
}

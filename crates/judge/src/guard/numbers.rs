//! Numbered events. The guard does not wait for missing events, and does not undo decisions for late ones.

use lictor_logic::Time;

use super::{Decider, Guard, GuardedSession};
use lictor_event::Event;
use lictor_event::order::{Gap, GapCause};
use lictor_json::Text;

impl Guard {
    /// Adds missing events to a session, as events with unknown facts; `next` is the time of the event after them.
    /// Where a property depends on them, its `unknown` response applies.
    pub fn miss(&mut self, name: &str, count: u64, next: Option<Time>) {
        let Guard { decider, sessions, .. } = self;
        let guarded = sessions.entry(Text::new(name)).or_insert_with_key(|name| Box::new(decider.begin(name)));
        guarded.add_missing(&mut decider.judge, count, next);
    }
}

impl Decider {
    /// Notes the number of an event. Missing events before it become part of the trace with unknown facts. A late event
    /// is decided when it arrives.
    pub(super) fn number(&mut self, guarded: &mut GuardedSession, event: &Event) -> Option<Gap> {
        let number = event.seq?;
        let next = guarded.next.unwrap_or_else(|| number.clamp(0, 1));
        guarded.next = Some(next.max(number.saturating_add(1)));
        let (cause, first, last) = match number {
            _ if number == next => return None,
            _ if number < next => (GapCause::Late, number, number),
            _ => (GapCause::Missing, next, number - 1),
        };
        let gap = Gap { cause, first, last, source: event.source.clone() };
        if cause == GapCause::Missing {
            guarded.add_missing(&mut self.judge, gap.count(), event.time);
        }
        Some(gap)
    }
}

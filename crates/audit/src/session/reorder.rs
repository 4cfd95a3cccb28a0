//! The stage that puts numbered events in their order, and notes what was missing, late or there twice.

use std::borrow::Cow;

use lictor_event::Event;
use lictor_event::order::{Gap, GapCause, ReorderBuffer, ReorderWindow, SequenceStep};

/// An event, with its place as the pass counts places.
#[derive(Clone, Debug)]
pub(crate) struct PlacedEvent<'e, P> {
    pub(crate) event: Cow<'e, Event>,
    pub(crate) place: P,
}

/// The order of one session: the events that wait for those before them, and the gaps so far.
#[derive(Clone, Debug)]
pub(crate) struct SessionOrder<'e, P> {
    waiting: ReorderBuffer<PlacedEvent<'e, P>>,
    gaps: Vec<Gap>,
    is_unordered: bool,
}

impl<P> Default for SessionOrder<'_, P> {
    fn default() -> Self {
        SessionOrder { waiting: ReorderBuffer::default(), gaps: Vec::new(), is_unordered: false }
    }
}

impl<'e, P> SessionOrder<'e, P> {
    /// Whether an event is the next one: it has no number, or the one that follows. Then it counts as arrived.
    #[inline]
    pub(crate) fn admits(&mut self, event: &Event) -> bool {
        event.seq.is_none_or(|number| self.waiting.admits(number))
    }

    /// Takes an event that is not the next one, and returns the steps that follow.
    pub(crate) fn take(
        &mut self,
        placed: PlacedEvent<'e, P>,
        window: &ReorderWindow,
    ) -> Vec<SequenceStep<PlacedEvent<'e, P>>> {
        self.is_unordered = true;
        let (number, time) = (placed.event.seq.unwrap_or_default(), placed.event.time);
        let source = placed.event.source.clone();
        let steps = self.waiting.take(number, time, placed, window);
        steps.iter().for_each(|step| self.note_gap(step, &source));
        steps
    }

    /// Ends the session and returns the steps that are left.
    pub(crate) fn finish(&mut self) -> Vec<SequenceStep<PlacedEvent<'e, P>>> {
        let steps = self.waiting.finish();
        let first = steps.iter().find_map(|step| match step {
            SequenceStep::Event(waiting) => Some(waiting.event.source.clone()),
            _ => None,
        });
        let source = first.unwrap_or_default();
        steps.iter().for_each(|step| self.note_gap(step, &source));
        steps
    }

    /// Notes a step that is no event in its place; missing events are noticed at an event of that source.
    fn note_gap(&mut self, step: &SequenceStep<PlacedEvent<'_, P>>, source: &lictor_event::Source) {
        let (cause, first, last, source) = match step {
            SequenceStep::Event(_) => return,
            SequenceStep::Missing(first, last) => (GapCause::Missing, *first, *last, source),
            SequenceStep::Late(PlacedEvent { event, .. }) => {
                let number = event.seq.unwrap_or_default();
                (GapCause::Late, number, number, &event.source)
            }
            SequenceStep::Again(PlacedEvent { event, .. }) => {
                let number = event.seq.unwrap_or_default();
                (GapCause::Repeated, number, number, &event.source)
            }
        };
        self.gaps.push(Gap { cause, first, last, source: source.clone() });
    }

    /// Whether some event was out of order.
    pub(crate) fn is_unordered(&self) -> bool {
        self.is_unordered
    }

    /// Returns the gaps, in the order in which they were noticed.
    pub(crate) fn into_gaps(self) -> Vec<Gap> {
        self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: i64, place: u32) -> PlacedEvent<'static, u32> {
        PlacedEvent { event: Cow::Owned(Event { seq: Some(number), ..Event::default() }), place }
    }

    #[test]
    fn session_order_notes_gaps_with_their_source() {
        let (mut order, window) = (SessionOrder::default(), ReorderWindow::default().events(0));
        assert!(order.admits(&Event::default()), "without a number");
        assert!(order.admits(&place(1, 0).event));
        assert!(!order.is_unordered());
        let steps = order.take(place(4, 1), &window);
        assert!(matches!(&steps[..], [SequenceStep::Missing(2, 3), SequenceStep::Event(PlacedEvent { place: 1, .. })]));
        assert!(matches!(&order.take(place(3, 2), &window)[..], [SequenceStep::Late(_)]));
        assert!(matches!(&order.take(place(1, 3), &window)[..], [SequenceStep::Again(_)]));
        assert!(order.finish().is_empty() && order.is_unordered());
        let gaps: Vec<_> = order.into_gaps().iter().map(|gap| (gap.cause, gap.first, gap.last)).collect();
        assert_eq!(gaps, [(GapCause::Missing, 2, 3), (GapCause::Late, 3, 3), (GapCause::Repeated, 1, 1)]);
    }
}

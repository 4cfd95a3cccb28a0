//! The sequence of one session: its events in their order, entries of other systems among them, and missing events.
//!
//! Both passes judge this sequence, so that a witness is found for exactly what was judged before.

use std::borrow::Cow;

use lictor_event::Event;
use lictor_event::order::{Gap, ReorderWindow, SequenceStep};
use lictor_json::Text;
use lictor_judge::Judge;
use lictor_judge::session::SessionError;

use super::join::SessionJoin;
use super::reorder::{PlacedEvent, SessionOrder};
use crate::join::JoinEntries;

/// What the sequences of all sessions have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceOptions<'r> {
    /// How far numbered events may come out of order; none takes events as they come.
    pub(crate) window: Option<&'r ReorderWindow>,
    /// The entries of other systems, if there are any.
    pub(crate) joins: Option<&'r JoinEntries>,
}

/// The next step of a session.
#[derive(Debug)]
pub(crate) enum SessionStep<'s, P> {
    /// An event of the log.
    Event(&'s Event, P),
    /// An entry of another system, by its number. It takes the place of the event of the log that comes next, or of the
    /// last one.
    Joined(u32, P),
    /// So many events are missing before the next one.
    Missing(u64, Option<(&'s Event, P)>),
    /// An event that was reported missing before; it is not judged.
    Late(P),
    /// An event whose number came before; it is not judged.
    Again(P),
}

/// Takes the steps of one session.
pub(crate) trait StepSink<P> {
    /// Returns the judge of the session.
    fn judge(&self) -> &Judge;

    /// Takes the next step.
    fn take_step(&mut self, step: SessionStep<'_, P>) -> Result<(), SessionError>;
}

/// The sequence of one session.
#[derive(Debug)]
pub(crate) struct SessionSequence<'e, P> {
    order: SessionOrder<'e, P>,
    join: SessionJoin,
}

impl<'e, P: Copy> SessionSequence<'e, P> {
    /// Returns the sequence of a session at its beginning.
    pub(crate) fn new(rules: SequenceOptions<'_>, name: impl FnOnce() -> Text) -> SessionSequence<'e, P> {
        SessionSequence { order: SessionOrder::default(), join: SessionJoin::new(rules.joins, name) }
    }

    /// Takes the next event of the log, and passes the steps that follow to the sink. `hold` returns an event that has to
    /// wait.
    #[inline]
    pub(crate) fn take<'x>(
        &mut self,
        rules: SequenceOptions<'_>,
        event: &'x Event,
        place: P,
        hold: impl FnOnce(&'x Event) -> Cow<'e, Event>,
        sink: &mut impl StepSink<P>,
    ) -> Result<(), SessionError> {
        match rules.window {
            Some(window) if !self.order.admits(event) => {
                let steps = self.order.take(PlacedEvent { event: hold(event), place }, window);
                self.pass_steps(rules, &steps, sink)
            }
            _ => self.pass_event(rules, event, place, sink),
        }
    }

    /// Ends the session: passes the events that still wait, and the entries of other systems after the last event, which
    /// take the place that `last` returns. Returns the entries that belong to it and have no place in it.
    pub(crate) fn finish<S: StepSink<P>>(
        &mut self,
        rules: SequenceOptions<'_>,
        last: impl FnOnce(&S) -> P,
        sink: &mut S,
    ) -> Result<Vec<u32>, SessionError> {
        let steps = self.order.finish();
        self.pass_steps(rules, &steps, sink)?;
        let left = self.join.finish();
        let place = last(sink);
        for number in left.after {
            sink.take_step(SessionStep::Joined(number, place))?;
        }
        Ok(left.unplaced)
    }

    /// Whether some event was out of order.
    pub(crate) fn is_unordered(&self) -> bool {
        self.order.is_unordered()
    }

    /// Returns the gaps, in the order in which they were noticed.
    pub(crate) fn into_gaps(self) -> Vec<Gap> {
        self.order.into_gaps()
    }

    /// Passes an event in its place, after the entries of other systems that come before it.
    #[inline]
    fn pass_event(
        &mut self,
        rules: SequenceOptions<'_>,
        event: &Event,
        place: P,
        sink: &mut impl StepSink<P>,
    ) -> Result<(), SessionError> {
        for number in self.join.take_before(rules.joins, sink.judge(), event) {
            sink.take_step(SessionStep::Joined(number, place))?;
        }
        sink.take_step(SessionStep::Event(event, place))
    }

    #[inline(never)]
    fn pass_steps(
        &mut self,
        rules: SequenceOptions<'_>,
        steps: &[SequenceStep<PlacedEvent<'e, P>>],
        sink: &mut impl StepSink<P>,
    ) -> Result<(), SessionError> {
        for (number, step) in steps.iter().enumerate() {
            match step {
                SequenceStep::Event(PlacedEvent { event, place }) => self.pass_event(rules, event, *place, sink)?,
                SequenceStep::Late(placed) => sink.take_step(SessionStep::Late(placed.place))?,
                SequenceStep::Again(placed) => sink.take_step(SessionStep::Again(placed.place))?,
                SequenceStep::Missing(first, last) => {
                    let next = steps[number..].iter().find_map(|step| match step {
                        SequenceStep::Event(waiting) => Some((&*waiting.event, waiting.place)),
                        _ => None,
                    });
                    let count = last.abs_diff(*first).saturating_add(1);
                    sink.take_step(SessionStep::Missing(count, next))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_policy::Policy;

    struct Words {
        judge: Judge,
        words: Vec<String>,
    }

    impl StepSink<usize> for Words {
        fn judge(&self) -> &Judge {
            &self.judge
        }

        fn take_step(&mut self, step: SessionStep<'_, usize>) -> Result<(), SessionError> {
            self.words.push(match step {
                SessionStep::Event(_, place) => format!("{place}"),
                SessionStep::Joined(number, place) => format!("joined {number} at {place}"),
                SessionStep::Missing(count, next) => {
                    format!("{count} missing before {:?}", next.map(|(_, place)| place))
                }
                SessionStep::Late(place) => format!("late {place}"),
                SessionStep::Again(place) => format!("again {place}"),
            });
            Ok(())
        }
    }

    #[test]
    fn session_sequence_passes_steps_in_order() {
        let window = ReorderWindow::default().events(1);
        let rules = SequenceOptions { window: Some(&window), joins: None };
        let mut sink = Words { judge: Judge::new(&Policy::default()).unwrap(), words: Vec::new() };
        let events = [1, 3, 2, 2, 7, 8, 6].map(|number| Event { seq: Some(number), ..Event::default() });
        let mut sequence = SessionSequence::new(rules, Text::default);
        for (place, event) in events.iter().enumerate() {
            sequence.take(rules, event, place, Cow::Borrowed, &mut sink).unwrap();
        }
        assert_eq!(sequence.finish(rules, |_| 9, &mut sink).unwrap(), [0u32; 0]);
        assert_eq!(sink.words, ["0", "2", "1", "again 3", "3 missing before Some(4)", "4", "5", "late 6"]);
    }
}

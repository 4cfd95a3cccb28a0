//! Puts numbered events in order within a window, and reports missing ones.
//!
//! The log's writer numbers the events of a session from 1, or from 0 if the log begins with that. An event that comes
//! early waits for those before it. When more events wait than the window allows, or when they have waited too long by
//! their own times, the events before them are reported missing. In a session whose events come in order nothing waits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use lictor_logic::{Span, Time};

use crate::Source;

/// How far events may come out of order. Bounds that are not set keep their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReorderWindow {
    events: usize,
    time: Option<Span>,
}

impl ReorderWindow {
    /// Sets how many events may wait for one before them; 64 by default.
    #[must_use]
    pub fn events(self, events: usize) -> ReorderWindow {
        ReorderWindow { events, ..self }
    }

    /// Sets how long they may wait, by the times of the events; none, the default, is without limit.
    #[must_use]
    pub fn time(self, time: Option<Span>) -> ReorderWindow {
        ReorderWindow { time, ..self }
    }
}

impl Default for ReorderWindow {
    fn default() -> ReorderWindow {
        ReorderWindow { events: 64, time: None }
    }
}

/// Events of a session that could not be judged in their place.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Why they could not be judged in their place.
    pub cause: GapCause,
    /// The number of the first one.
    pub first: i64,
    /// The number of the last one.
    pub last: i64,
    /// The event at which that was noticed.
    pub source: Source,
}

/// The reason why events could not be judged in their place.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapCause {
    /// They never came, or not within the window.
    Missing,
    /// One came after it was reported missing. It is left out: its place was judged as unknown.
    Late,
    /// One came twice. The second is left out.
    Repeated,
    /// Two that differ have one number. The second is left out.
    Conflicting,
}

impl GapCause {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            GapCause::Missing => "missing",
            GapCause::Late => "late",
            GapCause::Repeated => "repeated",
            GapCause::Conflicting => "conflicting",
        }
    }

    /// Whether verdicts may depend on it.
    pub fn is_serious(self) -> bool {
        self != GapCause::Repeated
    }
}

impl Gap {
    /// Returns the number of events in it.
    pub fn count(&self) -> u64 {
        self.last.abs_diff(self.first).saturating_add(1)
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { cause, first, last, .. } = self;
        match cause {
            GapCause::Missing if first == last => write!(f, "gap: event {first} is missing"),
            GapCause::Missing => write!(f, "gap: events {first} to {last} are missing"),
            GapCause::Late => write!(f, "gap: event {first} came too late to be judged in its place"),
            GapCause::Repeated => write!(f, "event {first} came twice"),
            GapCause::Conflicting => write!(f, "gap: two events that differ have the number {first}"),
        }
    }
}

/// How many ranges of missing numbers are kept, to tell late events from duplicates.
const MAX_MISSING_RANGES: usize = 1024;

/// The next number before the first event, which may be 0 or 1.
const BEFORE_FIRST: i64 = i64::MIN;

/// The numbered events of one session that wait for those before them.
#[derive(Clone, Debug)]
pub struct ReorderBuffer<T> {
    /// The number of the next event; before the first one, [`BEFORE_FIRST`].
    next: i64,
    state: Option<Box<ReorderState<T>>>,
}

/// The state of a session whose events came out of order.
#[derive(Clone, Debug)]
struct ReorderState<T> {
    /// Those that came too early.
    waiting: BTreeMap<i64, (Option<Time>, T)>,
    /// The latest time of any that came.
    latest: Option<Time>,
    /// The numbers that were reported missing, as ranges.
    missing: Vec<(i64, i64)>,
}

/// The next step of a session, in order.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceStep<T> {
    /// An event, in its place.
    Event(T),
    /// Numbers from one to another are missing; an event after them comes next.
    Missing(i64, i64),
    /// An event that was reported missing before.
    Late(T),
    /// An event whose number came before.
    Again(T),
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> ReorderBuffer<T> {
        ReorderBuffer { next: BEFORE_FIRST, state: None }
    }
}

impl<T> Default for ReorderState<T> {
    fn default() -> ReorderState<T> {
        ReorderState { waiting: BTreeMap::new(), latest: None, missing: Vec::new() }
    }
}

impl<T> ReorderBuffer<T> {
    /// Whether the event of a number is simply the next one; then it counts as arrived.
    #[inline]
    pub fn admits(&mut self, number: i64) -> bool {
        let is_next = number == self.next || self.next == BEFORE_FIRST && (0..=1).contains(&number);
        let is_next = is_next && self.state.as_ref().is_none_or(|state| state.waiting.is_empty());
        if is_next {
            self.next = number.saturating_add(1);
        }
        is_next
    }

    /// Takes an event whose number is not simply the next one, and returns the steps that follow.
    pub fn take(&mut self, number: i64, time: Option<Time>, event: T, window: &ReorderWindow) -> Vec<SequenceStep<T>> {
        let state = self.state.get_or_insert_default();
        state.latest = state.latest.max(time);
        if number == 0 && self.next == BEFORE_FIRST {
            self.next = 0;
        }
        let mut turns = Vec::new();
        if number < next_number(self.next) {
            turns.push(if state.close_missing(number) {
                SequenceStep::Late(event)
            } else {
                SequenceStep::Again(event)
            });
        } else {
            match state.waiting.entry(number) {
                Entry::Vacant(place) => {
                    place.insert((time, event));
                }
                Entry::Occupied(_) => turns.push(SequenceStep::Again(event)),
            }
        }
        self.release(&mut turns, |state| state.is_over_window(window));
        turns
    }

    /// Ends the session and returns the events that still wait.
    pub fn finish(&mut self) -> Vec<SequenceStep<T>> {
        let mut turns = Vec::new();
        self.release(&mut turns, |_| true);
        turns
    }

    /// Releases the events that are next, and those that have waited too long.
    fn release(&mut self, turns: &mut Vec<SequenceStep<T>>, is_over: impl Fn(&ReorderState<T>) -> bool) {
        let Some(state) = &mut self.state else { return };
        while let Some((&number, _)) = state.waiting.first_key_value() {
            let next = next_number(self.next);
            if number > next {
                if !is_over(state) {
                    return;
                }
                turns.push(SequenceStep::Missing(next, number - 1));
                state.missing.push((next, number - 1));
                if state.missing.len() > MAX_MISSING_RANGES {
                    state.missing.remove(0);
                }
            }
            turns.extend(state.waiting.pop_first().map(|(_, (_, event))| SequenceStep::Event(event)));
            self.next = number.saturating_add(1);
        }
        if state.missing.is_empty() {
            self.state = None;
        }
    }
}

/// Returns the next number; 1 before the first event.
fn next_number(next: i64) -> i64 {
    if next == BEFORE_FIRST { 1 } else { next }
}

impl<T> ReorderState<T> {
    fn is_over_window(&self, window: &ReorderWindow) -> bool {
        let first = self.waiting.values().find_map(|(time, _)| *time);
        let waited = first.zip(self.latest).map(|(first, latest)| latest.since(first));
        let is_old = window.time.zip(waited).is_some_and(|(most, waited)| waited > most);
        self.waiting.len() > window.events || is_old
    }

    /// Whether a number was missing; from now on it is not.
    fn close_missing(&mut self, number: i64) -> bool {
        let Some(place) = self.missing.iter().position(|(first, last)| (*first..=*last).contains(&number)) else {
            return false;
        };
        let (first, last) = self.missing.remove(place);
        if number < last {
            self.missing.insert(place, (number + 1, last));
        }
        if first < number {
            self.missing.insert(place, (first, number - 1));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps for a sequence of numbers, in words.
    fn replay(numbers: &[i64], events: usize) -> String {
        let (mut order, window) = (ReorderBuffer::default(), ReorderWindow { events, time: None });
        let mut turns = Vec::new();
        for number in numbers {
            match order.admits(*number) {
                true => turns.push(SequenceStep::Event(*number)),
                false => turns.append(&mut order.take(*number, None, *number, &window)),
            }
        }
        turns.append(&mut order.finish());
        let word = |turn: &SequenceStep<i64>| match turn {
            SequenceStep::Event(number) => number.to_string(),
            SequenceStep::Missing(first, last) => format!("({first}-{last})"),
            SequenceStep::Late(number) => format!("late{number}"),
            SequenceStep::Again(number) => format!("again{number}"),
        };
        turns.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn reorder_puts_early_events_in_place() {
        assert_eq!(replay(&[1, 2, 3], 0), "1 2 3");
        assert_eq!(replay(&[0, 1, 2], 0), "0 1 2");
        assert_eq!(replay(&[3, 2, 1, 4], 2), "1 2 3 4");
        assert_eq!(replay(&[2, 0, 1, 3], 2), "0 1 2 3");
        assert_eq!(replay(&[0, 0, 1], 2), "0 again0 1");
    }

    #[test]
    fn reorder_reports_missing_late_and_repeated_events() {
        assert_eq!(replay(&[3, 2, 1, 4], 1), "(1-1) 2 3 late1 4");
        assert_eq!(replay(&[1, 5, 6], 9), "1 (2-4) 5 6");
        assert_eq!(replay(&[1, 5, 3, 6, 3, 2], 0), "1 (2-4) 5 late3 6 again3 late2");
        assert_eq!(replay(&[1, 3, 3, 2, 1], 9), "1 again3 2 3 again1");
        assert_eq!(replay(&[7, 8], 1), "(1-6) 7 8");
        assert_eq!(
            replay(&[i64::MAX, i64::MIN], 0),
            "(1-9223372036854775806) 9223372036854775807 again-9223372036854775808"
        );
    }

    #[test]
    fn reorder_releases_events_after_window_time() {
        let window = ReorderWindow { events: 9, time: Some(Span::from_seconds(5)) };
        let mut order = ReorderBuffer::default();
        let at = |second| Some(Time::from_seconds(second));
        assert_eq!(order.take(2, at(10), 'b', &window), []);
        assert_eq!(order.take(4, at(15), 'd', &window), []);
        let turns = order.take(5, at(16), 'e', &window);
        assert_eq!(turns, [SequenceStep::Missing(1, 1), SequenceStep::Event('b')]);
        assert_eq!(order.finish(), [SequenceStep::Missing(3, 3), SequenceStep::Event('d'), SequenceStep::Event('e')]);
    }
}

//! The order of events that are numbered: put right within a window, and where some are missing, told.
//!
//! The numbers of a session are those that whoever wrote the log gave its events, counted from 1, or from 0 if the log
//! begins with that. An event that comes too early waits for those before it, but not for ever: when more events wait
//! than the window allows, or when they have waited for too long by their own times, what is before them is missing.
//! Nothing waits in a session whose events come as they are numbered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use lictor_logic::{Span, Time};

use crate::Source;

/// How far events may come out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderWindow {
    /// How many events wait at most for one before them.
    pub events: usize,
    /// For how long they wait at most, by the times of the events; none is without an end.
    pub time: Option<Span>,
}

impl Default for ReorderWindow {
    fn default() -> ReorderWindow {
        ReorderWindow { events: 64, time: None }
    }
}

/// Events of a session that could not be judged in their place.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What was the matter with them.
    pub cause: GapCause,
    /// The number of the first one.
    pub first: i64,
    /// The number of the last one.
    pub last: i64,
    /// The event at which that was found out.
    pub source: Source,
}

/// Why events could not be judged in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapCause {
    /// They never came, or not in time.
    Missing,
    /// One came when its place had been given up. It is left out: its place was judged as one of which nothing is known.
    Late,
    /// One came twice. The second is left out.
    Repeated,
    /// Two that differ have one number. The second is left out.
    Conflicting,
}

impl GapCause {
    /// Its name.
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
    /// How many events there are in it.
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

/// How many ranges of missing numbers are kept, to tell what comes late from what comes twice.
const MOST_RANGES: usize = 1024;

/// No number is before it: that of the first event is 1, or 0.
const BEFORE: i64 = i64::MIN;

/// Where a session stands with its numbers.
#[derive(Clone, Debug)]
pub struct ReorderBuffer<T> {
    /// The number of the next event; before the first one, [`BEFORE`].
    next: i64,
    rest: Option<Box<Rest<T>>>,
}

/// What is kept of a session whose events did not come as they are numbered.
#[derive(Clone, Debug)]
struct Rest<T> {
    /// Those that came too early.
    waiting: BTreeMap<i64, (Option<Time>, T)>,
    /// The latest time of any that came.
    latest: Option<Time>,
    /// The numbers that were given up, as ranges.
    missing: Vec<(i64, i64)>,
}

/// What happens next in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Sequenced<T> {
    /// An event, in its place.
    Event(T),
    /// Numbers from one to another are missing; an event behind them comes next.
    Missing(i64, i64),
    /// An event whose place was given up.
    Late(T),
    /// An event whose number was there before.
    Again(T),
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> ReorderBuffer<T> {
        ReorderBuffer { next: BEFORE, rest: None }
    }
}

impl<T> Default for Rest<T> {
    fn default() -> Rest<T> {
        Rest { waiting: BTreeMap::new(), latest: None, missing: Vec::new() }
    }
}

impl<T> ReorderBuffer<T> {
    /// Whether the event of a number is the next one and nothing waits for it; it has come then.
    #[inline]
    pub fn admits(&mut self, number: i64) -> bool {
        let is_next = number == self.next || self.next == BEFORE && (0..=1).contains(&number);
        let is_next = is_next && self.rest.as_ref().is_none_or(|rest| rest.waiting.is_empty());
        if is_next {
            self.next = number.saturating_add(1);
        }
        is_next
    }

    /// Takes the event of a number that is not simply the next one, and says what happens.
    pub fn take(&mut self, number: i64, time: Option<Time>, event: T, window: &ReorderWindow) -> Vec<Sequenced<T>> {
        let rest = self.rest.get_or_insert_default();
        rest.latest = rest.latest.max(time);
        if number == 0 && self.next == BEFORE {
            self.next = 0;
        }
        let mut turns = Vec::new();
        if number < first_or(self.next) {
            turns.push(if rest.give_up(number) { Sequenced::Late(event) } else { Sequenced::Again(event) });
        } else {
            match rest.waiting.entry(number) {
                Entry::Vacant(place) => {
                    place.insert((time, event));
                }
                Entry::Occupied(_) => turns.push(Sequenced::Again(event)),
            }
        }
        self.release(&mut turns, |rest| rest.is_too_much(window));
        turns
    }

    /// The end of the session: nothing waits any more.
    pub fn finish(&mut self) -> Vec<Sequenced<T>> {
        let mut turns = Vec::new();
        self.release(&mut turns, |_| true);
        turns
    }

    /// Lets go what is in its place, and what has waited for too long.
    fn release(&mut self, turns: &mut Vec<Sequenced<T>>, is_over: impl Fn(&Rest<T>) -> bool) {
        let Some(rest) = &mut self.rest else { return };
        while let Some((&number, _)) = rest.waiting.first_key_value() {
            let next = first_or(self.next);
            if number > next {
                if !is_over(rest) {
                    return;
                }
                turns.push(Sequenced::Missing(next, number - 1));
                rest.missing.push((next, number - 1));
                if rest.missing.len() > MOST_RANGES {
                    rest.missing.remove(0);
                }
            }
            turns.extend(rest.waiting.pop_first().map(|(_, (_, event))| Sequenced::Event(event)));
            self.next = number.saturating_add(1);
        }
        if rest.missing.is_empty() {
            self.rest = None;
        }
    }
}

/// The number that is next, or that of a first event.
fn first_or(next: i64) -> i64 {
    if next == BEFORE { 1 } else { next }
}

impl<T> Rest<T> {
    fn is_too_much(&self, window: &ReorderWindow) -> bool {
        let first = self.waiting.values().find_map(|(time, _)| *time);
        let waited = first.zip(self.latest).map(|(first, latest)| latest.since(first));
        let is_old = window.time.zip(waited).is_some_and(|(most, waited)| waited > most);
        self.waiting.len() > window.events || is_old
    }

    /// Whether a number was missing; it is not any more.
    fn give_up(&mut self, number: i64) -> bool {
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

    /// What becomes of numbers, in words.
    fn told(numbers: &[i64], events: usize) -> String {
        let (mut order, window) = (ReorderBuffer::default(), ReorderWindow { events, time: None });
        let mut turns = Vec::new();
        for number in numbers {
            match order.admits(*number) {
                true => turns.push(Sequenced::Event(*number)),
                false => turns.append(&mut order.take(*number, None, *number, &window)),
            }
        }
        turns.append(&mut order.finish());
        let word = |turn: &Sequenced<i64>| match turn {
            Sequenced::Event(number) => number.to_string(),
            Sequenced::Missing(first, last) => format!("({first}-{last})"),
            Sequenced::Late(number) => format!("late{number}"),
            Sequenced::Again(number) => format!("again{number}"),
        };
        turns.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_comes_within_the_window_is_put_in_order() {
        assert_eq!(told(&[1, 2, 3], 0), "1 2 3");
        assert_eq!(told(&[0, 1, 2], 0), "0 1 2");
        assert_eq!(told(&[3, 2, 1, 4], 2), "1 2 3 4");
        assert_eq!(told(&[2, 0, 1, 3], 2), "0 1 2 3");
        assert_eq!(told(&[0, 0, 1], 2), "0 again0 1");
    }

    #[test]
    fn what_comes_too_late_or_never_or_twice_is_told() {
        assert_eq!(told(&[3, 2, 1, 4], 1), "(1-1) 2 3 late1 4");
        assert_eq!(told(&[1, 5, 6], 9), "1 (2-4) 5 6");
        assert_eq!(told(&[1, 5, 3, 6, 3, 2], 0), "1 (2-4) 5 late3 6 again3 late2");
        assert_eq!(told(&[1, 3, 3, 2, 1], 9), "1 again3 2 3 again1");
        assert_eq!(told(&[7, 8], 1), "(1-6) 7 8");
        assert_eq!(
            told(&[i64::MAX, i64::MIN], 0),
            "(1-9223372036854775806) 9223372036854775807 again-9223372036854775808"
        );
    }

    #[test]
    fn nothing_waits_longer_than_the_window_says() {
        let window = ReorderWindow { events: 9, time: Some(Span::from_seconds(5)) };
        let mut order = ReorderBuffer::default();
        let at = |second| Some(Time::from_seconds(second));
        assert_eq!(order.take(2, at(10), 'b', &window), []);
        assert_eq!(order.take(4, at(15), 'd', &window), []);
        let turns = order.take(5, at(16), 'e', &window);
        assert_eq!(turns, [Sequenced::Missing(1, 1), Sequenced::Event('b')]);
        assert_eq!(order.finish(), [Sequenced::Missing(3, 3), Sequenced::Event('d'), Sequenced::Event('e')]);
    }
}

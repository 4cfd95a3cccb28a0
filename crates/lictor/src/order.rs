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

use crate::event::Source;

/// How far events may come out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many events wait at most for one before them.
    pub events: usize,
    /// For how long they wait at most, by the times of the events; none is without an end.
    pub time: Option<Span>,
}

impl Default for Window {
    fn default() -> Window {
        Window { events: 64, time: None }
    }
}

/// Events of a session that could not be judged in their place.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What was the matter with them.
    pub cause: Cause,
    /// The number of the first one.
    pub first: i64,
    /// The number of the last one.
    pub last: i64,
    /// The event at which that was found out.
    pub source: Source,
}

/// Why events could not be judged in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// They never came, or not in time.
    Missing,
    /// One came when its place had been given up. It is left out: its place was judged as one of which nothing is known.
    Late,
    /// One came twice. The second is left out.
    Repeated,
    /// Two that differ have one number. The second is left out.
    Conflicting,
}

impl Cause {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Missing => "missing",
            Cause::Late => "late",
            Cause::Repeated => "repeated",
            Cause::Conflicting => "conflicting",
        }
    }

    /// Whether verdicts may depend on it.
    pub fn is_serious(self) -> bool {
        self != Cause::Repeated
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
            Cause::Missing if first == last => write!(f, "gap: event {first} is missing"),
            Cause::Missing => write!(f, "gap: events {first} to {last} are missing"),
            Cause::Late => write!(f, "gap: event {first} came too late to be judged in its place"),
            Cause::Repeated => write!(f, "event {first} came twice"),
            Cause::Conflicting => write!(f, "gap: two events that differ have the number {first}"),
        }
    }
}

/// How many ranges of missing numbers are kept, to tell what comes late from what comes twice.
const MOST_RANGES: usize = 1024;

/// No number is before it: that of the first event is 1, or 0.
const BEFORE: i64 = i64::MIN;

/// Where a session stands with its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Order<T> {
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
pub(crate) enum Turn<T> {
    /// An event, in its place.
    Event(T),
    /// Numbers from one to another are missing; an event behind them comes next.
    Missing(i64, i64),
    /// An event whose place was given up.
    Late(T),
    /// An event whose number was there before.
    Again(T),
}

impl<T> Default for Order<T> {
    fn default() -> Order<T> {
        Order { next: BEFORE, rest: None }
    }
}

impl<T> Default for Rest<T> {
    fn default() -> Rest<T> {
        Rest { waiting: BTreeMap::new(), latest: None, missing: Vec::new() }
    }
}

impl<T> Order<T> {
    /// Whether the event of a number is the next one and nothing waits for it; it has come then.
    #[inline]
    pub(crate) fn admits(&mut self, number: i64) -> bool {
        let is_next = number == self.next || self.next == BEFORE && (0..=1).contains(&number);
        let is_next = is_next && self.rest.as_ref().is_none_or(|rest| rest.waiting.is_empty());
        if is_next {
            self.next = number.saturating_add(1);
        }
        is_next
    }

    /// Takes the event of a number that is not simply the next one, and says what happens.
    pub(crate) fn take(&mut self, number: i64, time: Option<Time>, event: T, window: &Window) -> Vec<Turn<T>> {
        let rest = self.rest.get_or_insert_default();
        rest.latest = rest.latest.max(time);
        if number == 0 && self.next == BEFORE {
            self.next = 0;
        }
        let mut turns = Vec::new();
        if number < first_or(self.next) {
            turns.push(if rest.give_up(number) { Turn::Late(event) } else { Turn::Again(event) });
        } else {
            match rest.waiting.entry(number) {
                Entry::Vacant(place) => {
                    place.insert((time, event));
                }
                Entry::Occupied(_) => turns.push(Turn::Again(event)),
            }
        }
        self.release(&mut turns, |rest| rest.is_too_much(window));
        turns
    }

    /// The end of the session: nothing waits any more.
    pub(crate) fn finish(&mut self) -> Vec<Turn<T>> {
        let mut turns = Vec::new();
        self.release(&mut turns, |_| true);
        turns
    }

    /// Lets go what is in its place, and what has waited for too long.
    fn release(&mut self, turns: &mut Vec<Turn<T>>, is_over: impl Fn(&Rest<T>) -> bool) {
        let Some(rest) = &mut self.rest else { return };
        while let Some((&number, _)) = rest.waiting.first_key_value() {
            let next = first_or(self.next);
            if number > next {
                if !is_over(rest) {
                    return;
                }
                turns.push(Turn::Missing(next, number - 1));
                rest.missing.push((next, number - 1));
                if rest.missing.len() > MOST_RANGES {
                    rest.missing.remove(0);
                }
            }
            turns.extend(rest.waiting.pop_first().map(|(_, (_, event))| Turn::Event(event)));
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
    fn is_too_much(&self, window: &Window) -> bool {
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
        let (mut order, window) = (Order::default(), Window { events, time: None });
        let mut turns = Vec::new();
        for number in numbers {
            match order.admits(*number) {
                true => turns.push(Turn::Event(*number)),
                false => turns.append(&mut order.take(*number, None, *number, &window)),
            }
        }
        turns.append(&mut order.finish());
        let word = |turn: &Turn<i64>| match turn {
            Turn::Event(number) => number.to_string(),
            Turn::Missing(first, last) => format!("({first}-{last})"),
            Turn::Late(number) => format!("late{number}"),
            Turn::Again(number) => format!("again{number}"),
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
        let window = Window { events: 9, time: Some(Span::from_seconds(5)) };
        let mut order = Order::default();
        let at = |second| Some(Time::from_seconds(second));
        assert_eq!(order.take(2, at(10), 'b', &window), []);
        assert_eq!(order.take(4, at(15), 'd', &window), []);
        let turns = order.take(5, at(16), 'e', &window);
        assert_eq!(turns, [Turn::Missing(1, 1), Turn::Event('b')]);
        assert_eq!(order.finish(), [Turn::Missing(3, 3), Turn::Event('d'), Turn::Event('e')]);
    }
}

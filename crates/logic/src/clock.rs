//! The clock of one trace: from the times of its positions to the moments that the engine counts with.
//!
//! A position without a time is at the time of the one before it, and positions before the first known time are at that
//! time. A state is older than a time that becomes known later. So the engine counts such a trace from its first known
//! time, and no state changes when that time becomes known. All other traces count from the origin.

use crate::interval::Time;

/// The clock of one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// No later position is before this time; none before the first known one.
    latest: Option<Time>,
    /// The moment that counts as the origin, if the trace began with positions without a time: the first known time, or
    /// the origin as long as none is known.
    start: Option<Time>,
}

impl Clock {
    /// Returns the clock of a saved trace from what [`latest`](Clock::latest) and [`start`](Clock::start) said.
    pub(crate) fn restored(latest: Option<Time>, start: Option<Time>) -> Clock {
        Clock { latest, start }
    }

    /// Returns the latest time that was read; none if no position or tick had one.
    pub(crate) fn latest(self) -> Option<Time> {
        self.latest
    }

    /// Returns the time that the engine's moments are counted from, if it is not the origin of all traces.
    pub(crate) fn start(self) -> Option<Time> {
        self.start
    }

    /// Whether nothing was read, neither a position nor a tick.
    #[inline]
    pub(crate) fn is_unset(self) -> bool {
        self.latest.is_none() && self.start.is_none()
    }

    /// Returns the current moment of the engine.
    #[inline]
    pub(crate) fn now(self) -> Time {
        self.latest.map_or(Time::default(), |latest| self.to_moment(latest))
    }

    /// Returns the moment of the engine at which the next position is. Time never goes back.
    pub(crate) fn peek(mut self, time: Option<Time>) -> Time {
        self.read(time);
        self.now()
    }

    /// Reads the time of a position. Whether the moment of the engine is another now, or the first one.
    pub(crate) fn read(&mut self, time: Option<Time>) -> bool {
        let before = *self;
        match time {
            Some(time) => self.set(time),
            None if self.is_unset() => self.start = Some(Time::default()),
            None => {}
        }
        before.is_unset() || before.now() != self.now()
    }

    /// Moves the clock to a time, unless it is there or later. Whether it moved.
    pub(crate) fn tick(&mut self, time: Time) -> bool {
        let is_later = self.latest.is_none_or(|latest| latest < time);
        if is_later {
            self.set(time);
        }
        is_later
    }

    /// Returns the time of a moment of the engine; none as long as no time is known.
    pub(crate) fn to_time(self, moment: Time) -> Option<Time> {
        let start = self.start.unwrap_or_default();
        self.latest.map(|_| Time(moment.0.saturating_add(start.0)))
    }

    fn set(&mut self, time: Time) {
        self.start = self.start.map(|start| if self.latest.is_none() { time } else { start });
        self.latest = self.latest.max(Some(time));
    }

    #[inline]
    fn to_moment(self, time: Time) -> Time {
        self.start.map_or(time, |start| Time(time.0.saturating_sub(start.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Option<Time> {
        Some(Time::from_seconds(seconds))
    }

    #[test]
    fn clock_counts_from_first_known_time() {
        let mut clock = Clock::default();
        assert!(clock.is_unset() && clock.read(None) && !clock.read(None));
        assert_eq!((clock.now(), clock.latest(), clock.to_time(Time::default())), (Time::default(), None, None));
        assert!(!clock.read(at(1000)), "no time has passed");
        assert_eq!((clock.now(), clock.latest()), (Time::default(), at(1000)));
        assert!(clock.read(at(1030)));
        assert_eq!((Some(clock.now()), clock.to_time(clock.now())), (at(30), at(1030)));
        assert!(!clock.read(at(1010)), "time never goes back");
        assert_eq!(Clock::restored(clock.latest(), clock.start()), clock);
    }

    #[test]
    fn clock_of_timed_trace_counts_from_origin() {
        let mut clock = Clock::default();
        assert!(clock.read(at(1000)) && !clock.read(None) && clock.read(at(1001)));
        assert_eq!((Some(clock.now()), clock.start()), (at(1001), None));
        assert!(!clock.tick(Time::from_seconds(1001)) && clock.tick(Time::from_seconds(1002)));
        assert_eq!((Some(clock.peek(at(1000))), Some(clock.peek(at(1007)))), (at(1002), at(1007)));
    }

    #[test]
    fn tick_is_first_known_time() {
        let mut clock = Clock::default();
        clock.read(None);
        assert!(clock.tick(Time::from_seconds(9)));
        assert_eq!((clock.now(), clock.latest()), (Time::default(), at(9)));
    }
}

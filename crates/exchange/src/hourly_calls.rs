//! Counts the calls of the last hour, for a driver.

use std::collections::VecDeque;

use lictor_logic::{Span, Time};

const MINUTE: Span = Span::from_seconds(60);

/// The calls of the last hour, by the minute. A call counts for at least an hour, and at most a minute longer.
///
/// ```
/// use lictor_exchange::HourlyCalls;
/// use lictor_logic::Time;
///
/// let mut calls = HourlyCalls::default();
/// let minute = |minute: i64| Some(Time(minute * 60_000_000_000));
/// assert_eq!(calls.reserve(minute(0), 4, 5), 4);
/// assert_eq!(calls.reserve(minute(60), 4, 5), 1);
/// assert_eq!(calls.reserve(minute(61), 9, 5), 4);
/// ```
#[derive(Debug, Default)]
pub struct HourlyCalls {
    minutes: VecDeque<(i64, usize)>,
}

impl HourlyCalls {
    /// Counts calls before they are made, and returns how many of the wanted ones are within the limit. Without a clock
    /// no call is forgotten.
    pub fn reserve(&mut self, now: Option<Time>, wanted: usize, limit: usize) -> usize {
        let length = i64::try_from(MINUTE.0).unwrap_or(i64::MAX);
        let minute = now.map_or(0, |now| now.0.div_euclid(length));
        if now.is_some() {
            self.minutes.retain(|(begun, _)| *begun >= minute.saturating_sub(60));
        }
        let made: usize = self.minutes.iter().map(|(_, calls)| *calls).sum();
        let granted = wanted.min(limit.saturating_sub(made));
        match self.minutes.back_mut() {
            Some((begun, calls)) if *begun >= minute => *calls += granted,
            _ if granted > 0 => self.minutes.push_back((minute, granted)),
            _ => {}
        }
        granted
    }
}

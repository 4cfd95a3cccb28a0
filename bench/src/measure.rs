//! The clock and the scales: processor time of this thread, and resident memory of this process.
//!
//! Processor time leaves out what other programs take, but not that they slow the processor down by sharing its caches
//! and its core. That only ever adds, so every figure is the best of some rounds of the same length, after rounds that
//! do not count.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// Rounds that count, and rounds before them.
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;

/// Processor time of this thread so far, in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds for each of `events` that one call of `work` reads: the best round.
pub(crate) fn per_event(events: usize, mut work: impl FnMut()) -> f64 {
    for _ in 0..WARM_UP {
        work();
    }
    (0..ROUNDS).map(|_| once(events, &mut work)).fold(f64::INFINITY, f64::min)
}

/// The same for two whose ratio is wanted: their rounds take turns, so that a slow while of the machine strikes both.
pub(crate) fn per_event_of_two(events: usize, mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    for _ in 0..WARM_UP {
        first();
        second();
    }
    (0..ROUNDS).fold((f64::INFINITY, f64::INFINITY), |(one, two), _| {
        (one.min(once(events, &mut first)), two.min(once(events, &mut second)))
    })
}

/// The same for a single round.
pub(crate) fn once(events: usize, mut work: impl FnMut()) -> f64 {
    let start = now();
    work();
    (now() - start) / events as f64
}

/// Resident memory of this process in bytes; 0 where it cannot be told.
pub(crate) fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split_whitespace().nth(1).and_then(|field| field.parse::<usize>().ok()));
    pages.unwrap_or(0) * rustix::param::page_size()
}

//! Measures processor time of this thread, and resident memory of this process.
//!
//! Processor time excludes other programs, but they still slow this one down by sharing its caches and its core. That
//! only adds time, so every figure is the best of several rounds of the same length, after warm-up rounds.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// The measured rounds, and the warm-up rounds before them.
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;

/// Returns the processor time of this thread so far, in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the nanoseconds for each of `events` that one call of `work` reads, in the best round.
pub(crate) fn per_event(events: usize, mut work: impl FnMut()) -> f64 {
    for _ in 0..WARM_UP {
        work();
    }
    (0..ROUNDS).map(|_| once(events, &mut work)).fold(f64::INFINITY, f64::min)
}

/// Measures two like [`per_event`], for their ratio: rounds take turns, so that a slow phase affects both.
pub(crate) fn per_event_of_two(events: usize, mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    for _ in 0..WARM_UP {
        first();
        second();
    }
    (0..ROUNDS).fold((f64::INFINITY, f64::INFINITY), |(one, two), _| {
        (one.min(once(events, &mut first)), two.min(once(events, &mut second)))
    })
}

/// Returns the nanoseconds per event of a single round.
pub(crate) fn once(events: usize, mut work: impl FnMut()) -> f64 {
    let start = now();
    work();
    (now() - start) / events as f64
}

/// Returns the resident memory of this process in bytes; 0 if the system does not report it.
pub(crate) fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split_whitespace().nth(1).and_then(|field| field.parse::<usize>().ok()));
    pages.unwrap_or(0) * rustix::param::page_size()
}

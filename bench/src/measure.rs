//! The clock and the scales: processor time of this thread, and resident memory of this process.
//!
//! Processor time leaves out what other programs take. Every figure is the median over rounds of the same length, after
//! rounds that do not count.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// Rounds that count, and rounds before them.
pub(crate) const ROUNDS: usize = 9;
const WARM_UP: usize = 2;

/// Processor time of this thread so far, in nanoseconds.
pub(crate) fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds for each of `events` that one call of `work` reads: the median over rounds.
pub(crate) fn per_event(events: usize, work: impl FnMut()) -> f64 {
    median(&mut rounds(events, WARM_UP, ROUNDS, work))
}

/// The same for each round by itself.
pub(crate) fn rounds(events: usize, warm_up: usize, count: usize, mut work: impl FnMut()) -> Vec<f64> {
    for _ in 0..warm_up {
        work();
    }
    let timed = (0..count).map(|_| {
        let start = now();
        work();
        (now() - start) / events as f64
    });
    timed.collect()
}

pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Resident memory of this process in bytes; 0 where it cannot be told.
pub(crate) fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split_whitespace().nth(1).and_then(|field| field.parse::<usize>().ok()));
    pages.unwrap_or(0) * rustix::param::page_size()
}

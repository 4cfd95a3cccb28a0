//! Histograms of durations, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds: from a decision in memory to the longest reply of a model.
const BUCKET_BOUNDS_MICROS: [u64; 22] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
];

/// How many durations fell into each bucket, and their sum.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKET_BOUNDS_MICROS.len() + 1],
    sum_micros: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub(crate) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKET_BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Writes the metric `lictor_NAME`.
    pub(super) fn write(&self, text: &mut String, name: &str, help: &str) {
        let _ = writeln!(text, "# HELP lictor_{name} {help}\n# TYPE lictor_{name} histogram");
        let mut count = 0;
        for (bound, bucket) in BUCKET_BOUNDS_MICROS.iter().zip(&self.buckets) {
            count += bucket.load(Ordering::Relaxed);
            let seconds = Duration::from_micros(*bound).as_secs_f64();
            let _ = writeln!(text, "lictor_{name}_bucket{{le=\"{seconds}\"}} {count}");
        }
        count += self.buckets.last().map_or(0, |bucket| bucket.load(Ordering::Relaxed));
        let sum = Duration::from_micros(self.sum_micros.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(text, "lictor_{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "lictor_{name}_sum {sum}\nlictor_{name}_count {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_bounds_are_inclusive() {
        let histogram = Histogram::default();
        for micros in [50, 51, 700_000_000] {
            histogram.add(Duration::from_micros(micros));
        }
        let mut text = String::new();
        histogram.write(&mut text, "x_seconds", "X.");
        for line in [
            "lictor_x_seconds_bucket{le=\"0.00005\"} 1",
            "lictor_x_seconds_bucket{le=\"0.0001\"} 2",
            "lictor_x_seconds_bucket{le=\"600\"} 2",
            "lictor_x_seconds_bucket{le=\"+Inf\"} 3",
            "lictor_x_seconds_sum 700.000101",
            "lictor_x_seconds_count 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
    }
}

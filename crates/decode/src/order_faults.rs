//! Faults of logs whose records are not in the order of their times.

use lictor_logic::Time;

/// The code of the fault of a log with the newest record first.
pub(super) const REVERSED_LOG: &str = "decode.reversed_log";

/// The code of a fault for sessions whose records are not in the order of their times.
pub const UNORDERED_LOG: &str = "decode.unordered_log";

/// What the message of such a fault ends with.
pub(super) const UNSORTED: &str = "a log is judged from its first record to its last, unless each record of a session has a time of \
                            its own; sort the records by time";

/// By how much the time of a session falls at least if its order is in doubt. Writers on several threads or machines differ
/// by less than a second, and what they wrote first is then first in the log.
const MIN_FALL: Time = Time(1_000_000_000);

/// Whether the time of a session falls by more than its writers may differ.
pub fn is_clear_fall(before: Time, after: Time) -> bool {
    before.0.saturating_sub(after.0) >= MIN_FALL.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_of_writers_is_no_fall() {
        assert!(!is_clear_fall(Time(5_000_000_000), Time(4_000_000_001)));
        assert!(is_clear_fall(Time(5_000_000_000), Time(4_000_000_000)));
        assert!(!is_clear_fall(Time(i64::MIN), Time(i64::MAX)) && is_clear_fall(Time(i64::MAX), Time(i64::MIN)));
    }
}

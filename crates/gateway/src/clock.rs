//! The clock of the gateway.

use lictor_logic::Time;

/// Returns the time, in nanoseconds since 1970.
pub(crate) fn now() -> Time {
    Time(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}

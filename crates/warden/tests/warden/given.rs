//! Events and times that the tests share.

use lictor_decode::LogRecord;
use lictor_event::Event;
use lictor_json as json;
use lictor_logic::Time;

/// Returns the event of a line in Lictor's own format.
pub(crate) fn event(line: &str) -> Event {
    LogRecord { value: json::parse_str(line).unwrap(), file: "-".into(), line: 1, index: 0 }.native_event().unwrap()
}

/// Returns a time so many seconds after a fixed one.
pub(crate) fn at(seconds: i64) -> Time {
    Time((1_800_000_000 + seconds) * 1_000_000_000)
}

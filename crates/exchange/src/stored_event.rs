//! Events that a session remembers, each as a line of Lictor's own format.

use lictor_event::Event;
use lictor_event::record::LogRecord;
use lictor_json as json;
use lictor_wire::Ruling;

/// Returns the line of an event.
pub(crate) fn write_event(event: &Event) -> String {
    event.to_json().to_string()
}

/// Returns the ruling that sends the event of a line of Lictor's own format. A line that cannot be read is a denial:
/// the original must not be sent.
pub(crate) fn read_event(line: &str) -> Ruling {
    let record = |value| LogRecord { value, file: "-".into(), line: 0, index: 0 };
    let event = json::parse_str(line).ok().and_then(|value| record(value).stored_event().ok());
    event.map_or_else(|| Ruling::Deny { text: "[withheld]".to_owned() }, |event| Ruling::Rewrite(Box::new(event)))
}

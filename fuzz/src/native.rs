//! Lines of Lictor's own format: the fast path and the full decoder read the same event, which is written and read again.

use lictor_event::native::NativeDecoder;
use lictor_event::record::{DecodedEvents, Decoder, LogRecord};
use lictor_event::{Event, Source};
use lictor_json::{Json, parse_str};

use crate::choices::Choices;

pub(crate) fn run(input: &[u8]) {
    let text = Choices(input).text();
    let source = Source { file: "log".into(), line: 7, record: 3 };
    let full = parse_str(text).ok().map(|value| decode(value, &source));
    let mut fast = DecodedEvents::default();
    if NativeDecoder::default().text(text, &source, &mut fast) {
        assert!(fast.faults.is_empty(), "the fast path reports {:?}", fast.faults);
        let full = full.as_ref().map(|full| (full.events.as_slice(), full.faults.as_slice()));
        assert_eq!(full, Some((fast.events.as_slice(), &[][..])), "the full decoder against the fast path");
    } else {
        assert!(fast.events.is_empty() && fast.faults.is_empty(), "a line that the fast path leaves has left traces");
    }
    let Some(event) = full.as_ref().and_then(|full| full.events.first()) else { return };
    if let Some(session) = NativeDecoder::default().session(text) {
        assert_eq!(Some(session), event.session.as_deref(), "the session found quickly");
    }
    check_written(event);
}

fn decode(value: Json, source: &Source) -> DecodedEvents {
    let mut decoded = DecodedEvents::default();
    let Source { file, line, record: index } = source.clone();
    NativeDecoder::default().record(LogRecord { value, file, line, index }, &mut decoded);
    decoded
}

/// An event that is written and read again is written the same.
fn check_written(event: &Event) {
    let line = event.to_json().to_string();
    let value = parse_str(&line);
    assert!(value.is_ok(), "not JSON: {line}");
    let record = LogRecord { value: value.unwrap_or_default(), file: "log".into(), line: 7, index: 3 };
    let read = record.stored_event();
    assert_eq!(read.as_ref().map(|event| event.to_json().to_string()), Ok(line), "written and read again");
}

//! Events as mappings.

use lictor::decode::LogRecord;
use lictor::event::{Event, Source};
use pyo3::prelude::*;

use crate::error::Error;
use crate::value;

/// Returns the event of a mapping in Lictor's own format.
pub(crate) fn read_event(given: &Bound<'_, PyAny>) -> PyResult<Event> {
    let record = LogRecord { value: value::to_json(given)?, file: "<python>".into(), line: 1, index: 0 };
    let mut event = record.native_event().map_err(|fault| Error::Event.with(fault.message))?;
    // The event was not read from a file, so it has no source.
    event.source = Source::default();
    Ok(event)
}

//! Reads logs once, in order and on one thread, and gathers what could not be read of them.
//!
//! An audit reads on all cores instead, with the worker pool. Both report the same faults.

use indexmap::IndexMap;

use super::batch::{self, Batches};
use super::session_key::check_session_key;
use super::time_order::{TimeOrder, UnorderedSessions};
use super::{AuditError, AuditOptions};
use crate::report::FileReport;
use lictor_decode::input::Input;
use lictor_decode::{Fault, Format, LogNotes};
use lictor_event::Event;
use lictor_json::Text;

/// What was read of some logs, besides their events.
#[derive(Debug)]
pub(super) struct LogReading {
    /// The files, with their formats.
    pub(super) files: Vec<FileReport>,
    /// How many sessions there are.
    pub(super) sessions: usize,
    /// The places that could not be read.
    pub(super) faults: Vec<Fault>,
}

/// Passes each event to `add`, with the number of its session among those that began before. Logs without any event are an
/// error, and so is a session key that no record has.
pub(super) fn read_events(
    inputs: &[Input],
    options: &AuditOptions,
    mut add: impl FnMut(usize, Event) -> Result<(), AuditError>,
) -> Result<LogReading, AuditError> {
    check_session_key(inputs, options)?;
    let mut batches = Batches::new(inputs, options);
    let mut sessions: IndexMap<(Option<usize>, Option<Text>), TimeOrder> = IndexMap::new();
    let mut placed: Vec<(usize, Fault)> = Vec::new();
    let (mut unordered, mut notes) = (UnorderedSessions::default(), LogNotes::default());
    while let Some(batch) = batches.next() {
        let (file, log, spans_files) = (batch.file(), batch.log(), batch.format() == Format::Native);
        let decoded = batch.decode(options, &mut notes);
        placed.extend(decoded.faults.into_iter().map(|fault| (file, fault)));
        batches.add_events(file, decoded.events.len() as u64);
        for event in decoded.events {
            let of_file = (!spans_files || event.session.is_none()).then_some(log);
            let entry = sessions.entry((of_file, event.session.clone()));
            let number = entry.index();
            let order = entry.or_default();
            // As in an audit: the decoders of other formats watch their order themselves.
            if let (true, None, Some(time)) = (spans_files, event.seq, event.time)
                && order.add(time)
            {
                unordered.note(file, &event.source);
            }
            add(number, event)?;
        }
    }
    placed.extend(unordered.into_fault());
    placed.extend(notes.into_faults().into_iter().map(|fault| (batches.number(&fault.file), fault)));
    placed.sort_by_key(|(file, fault)| (*file, fault.line, fault.column));
    let mut faults: Vec<Fault> = placed.into_iter().map(|(_, fault)| fault).collect();
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    if sessions.is_empty() {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    faults.extend(batch::find_eventless(inputs, &files));
    Ok(LogReading { files: files.into_iter().flatten().collect(), sessions: sessions.len(), faults })
}

//! All sessions of some inputs, with their events.

use indexmap::IndexMap;

use super::batch::Batches;
use super::{AuditError, AuditOptions};
use lictor_decode::input::Input;
use lictor_decode::{Format, LogNotes};
use lictor_event::Event;
use lictor_json::Text;

/// A session and its events.
pub type SessionEvents = (Text, Vec<Event>);

/// Returns the sessions of the inputs, in the order in which they began. All of it is held in memory: for logs that are
/// to be turned into something else, not for audits.
pub fn sessions(inputs: &[Input], options: &AuditOptions) -> Result<Vec<SessionEvents>, AuditError> {
    let mut batches = Batches::new(inputs, options);
    let mut sessions: IndexMap<(Option<usize>, Option<Text>), SessionEvents> = IndexMap::new();
    let (mut faults, mut notes) = (Vec::new(), LogNotes::default());
    for batch in batches.by_ref() {
        let (log, spans_files) = (batch.log(), batch.format() == Format::Native);
        let mut decoded = batch.decode(options, &mut notes);
        faults.append(&mut decoded.faults);
        for event in decoded.events {
            let of_file = (!spans_files || event.session.is_none()).then_some(log);
            let name = event.session.clone().unwrap_or_else(|| Text::new(&event.source.file));
            let key = (of_file, event.session.clone());
            sessions.entry(key).or_insert_with(|| (name, Vec::new())).1.push(event);
        }
    }
    let (files, mut unreadable) = batches.into_files();
    faults.append(&mut unreadable);
    faults.append(&mut notes.into_faults());
    if sessions.is_empty() {
        return Err(AuditError::NoEvents { faults, files: files.into_iter().flatten().collect() });
    }
    Ok(sessions.into_values().collect())
}

//! Reads the entries of other systems, all of them into memory.

use lictor_decode::input::{self, Input, InputLimits};
use lictor_decode::{DecodedEvents, Fault, Format};
use lictor_event::Event;

use crate::AuditError;

/// The most entries that are joined: they are held in memory.
const MAX_ENTRIES: usize = 1_000_000;

/// Reads the entries of some files, and the places that could not be read.
pub(crate) fn read_entries(inputs: &[Input], limits: &InputLimits) -> Result<(Vec<Event>, Vec<Fault>), AuditError> {
    read_at_most(MAX_ENTRIES, inputs, limits)
}

fn read_at_most(max: usize, inputs: &[Input], limits: &InputLimits) -> Result<(Vec<Event>, Vec<Fault>), AuditError> {
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for input in inputs {
        // A file in no known format is read as native events, whose faults say what is wrong with it.
        let format = input::detect(input, limits).map_or(Format::Native, |(_, format)| format);
        let (mut decoder, mut decoded) = (format.decoder(), DecodedEvents::default());
        let too_many = |decoded: &DecodedEvents| entries.len() + decoded.events.len() > max;
        for chunk in input.chunks(limits)? {
            chunk.decode(None, decoder.as_mut(), &mut decoded);
            if too_many(&decoded) {
                break;
            }
        }
        decoder.finish(&mut decoded);
        if too_many(&decoded) {
            return Err(AuditError::Join(format!(
                "{}: more than {max} events to join; leave out those of other sessions and times, or audit the logs in \
                 parts",
                input.name()
            )));
        }
        if let (true, Some(first)) = (decoded.events.is_empty(), decoded.faults.first()) {
            return Err(AuditError::Join(format!(
                "{}:{}: {}; no event of this file could be read\nhint: join files hold events, one in a line, such as \
                 {{\"kind\":\"approval\",\"id\":\"call_1\"}}",
                first.file, first.line, first.message
            )));
        }
        entries.append(&mut decoded.events);
        faults.append(&mut decoded.faults);
    }
    Ok((entries, faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Input {
        Input::from_bytes("approvals.jsonl", "{\"kind\":\"approval\",\"id\":\"c1\"}\n".repeat(count).into_bytes())
    }

    #[test]
    fn join_over_limit_is_refused_with_limit() {
        let limits = InputLimits::default();
        assert_eq!(read_at_most(4, &[lines(2), lines(2)], &limits).unwrap().0.len(), 4);
        let message = read_at_most(3, &[lines(2), lines(2)], &limits).unwrap_err().to_string();
        assert!(message.starts_with("approvals.jsonl: more than 3 events to join; leave out"), "{message}");
    }

    #[test]
    fn join_file_without_readable_entry_is_refused() {
        let broken = Input::from_bytes("approvals.jsonl", b"{\"kind\":\"approval\",\"id\":[]}\n".to_vec());
        let message = read_entries(&[broken], &InputLimits::default()).unwrap_err().to_string();
        assert!(message.starts_with("approvals.jsonl:1: "), "{message}");
        assert!(message.contains("; no event of this file could be read\nhint: "), "{message}");
    }
}

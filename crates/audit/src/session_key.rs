//! Whether a log has the member that the user named for its sessions.

use super::{AuditError, AuditOptions};
use lictor_decode::SessionMembers;
use lictor_decode::input::{self, Input};

/// Checks that some record has the member that the options name for sessions. What cannot be read is reported where it is
/// judged.
pub(super) fn check_session_key(inputs: &[Input], options: &AuditOptions) -> Result<(), AuditError> {
    let Some(key) = &options.session_key else { return Ok(()) };
    let mut members = SessionMembers::new(key);
    for input in inputs {
        let detected = || input::detect(input, &options.limits).ok().map(|(_, format)| format);
        let Some(format) = options.format.or_else(detected).filter(|format| format.takes_session_key()) else {
            continue;
        };
        let Ok(chunks) = input.chunks(&options.limits) else { continue };
        for chunk in chunks {
            for record in chunk.records().flatten() {
                members.read(record, format);
                if members.is_found() {
                    return Ok(());
                }
            }
        }
    }
    match members.is_missing() {
        true => Err(AuditError::SessionKey { key: key.clone(), members: members.others().cloned().collect() }),
        false => Ok(()),
    }
}

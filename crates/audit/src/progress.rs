//! The progress of a running audit, for those who wait for it.

/// Receives the progress of a running audit.
pub trait Progress: Sync {
    /// Reports that so many more bytes were read and events judged.
    fn advanced(&self, bytes: u64, events: u64);

    /// Reports that witnesses were found in so many sessions, of all that have findings.
    fn explained(&self, _sessions: usize, _all: usize) {}

    /// Whether the audit is to stop. It then reports what is judged so far.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Ignores the progress.
impl Progress for () {
    fn advanced(&self, _bytes: u64, _events: u64) {}
}

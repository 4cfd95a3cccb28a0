//! How many entries were joined, and which matched nothing.

use lictor_event::Source;

/// The entries of other systems, as they were joined to the logs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct JoinReport {
    /// How many files with such entries were read.
    pub files: usize,
    /// How many entries were joined, each counted once, however many sessions it belongs to.
    pub joined: usize,
    /// How many entries belong to no session.
    pub unmatched: usize,
    /// The first ten of those.
    pub first_unmatched: Vec<UnmatchedEntry>,
}

/// An entry that belongs to no session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnmatchedEntry {
    /// Where it was read.
    pub source: Source,
    /// Why it belongs nowhere.
    pub reason: &'static str,
}

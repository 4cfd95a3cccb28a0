//! Entries of other systems that are joined to a log: approvals, consents, withdrawals, erasures, tickets.
//!
//! Logs of agents seldom have such events, and most properties about them need them. Both passes of an audit ask one
//! cursor for each session which entries come before its next event, so that both judge the same sequence.

mod cursor;
mod entries;
mod reader;
mod report;

pub(crate) use cursor::{JoinCursor, RemainingEntries};
pub(crate) use entries::JoinEntries;
pub(crate) use reader::read_entries;
pub use report::{JoinReport, UnmatchedEntry};

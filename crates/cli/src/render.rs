//! How results are shown: for people, as one document, or line by line.

pub(crate) mod automaton;
pub(crate) mod check;
pub(crate) mod dot;
pub(crate) mod json;
pub(crate) mod jsonl;
mod layout;
pub(crate) mod paint;
pub(crate) mod svg;
pub(crate) mod text;
pub(crate) mod witness;
pub(crate) mod word;

use std::io;

use lictor_logic::Verdict;

use crate::judge::{Judged, Step};

/// Whoever wants to hear how traces are judged. The judge knows no format.
pub(crate) trait Report {
    /// A trace begins.
    fn begin(&mut self, trace: &str) -> io::Result<()>;

    /// A line of it was read.
    fn step(&mut self, step: &Step<'_>) -> io::Result<()>;

    /// It is over, or there is nothing more to read.
    fn end(&mut self, judged: &Judged) -> io::Result<()>;

    /// There is such a trace, but it could not be opened.
    fn unreadable(&mut self, _trace: &str) -> io::Result<()> {
        Ok(())
    }

    /// That was the last trace.
    fn finish(&mut self, worst: Option<Verdict>) -> io::Result<()>;
}

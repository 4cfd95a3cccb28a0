//! Reads traces: files with one JSON value per line, each a position or a tick.
//!
//! Lines are read one by one in bounded memory. An invalid line is returned with all of its errors, so that nothing is
//! skipped silently.

mod clock;
mod shape;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use lictor_logic::{Moment, Time};

use crate::complaint::{Complaint, TextFault};
pub(crate) use crate::trace::clock::Clock;
pub(crate) use crate::trace::shape::SHAPES;

/// The name of standard input in messages.
pub(crate) const STDIN: &str = "<stdin>";

/// The longest line in bytes.
const MAX_LINE_BYTES: usize = 16 << 20;

/// A line of a trace that is not blank.
#[derive(Debug)]
pub(crate) enum TraceLine {
    /// A valid line.
    Entry(TraceEntry),
    /// An invalid line, with its errors.
    Bad(Vec<Complaint>),
}

/// A position or a tick, with its line.
#[derive(Clone, Debug)]
pub(crate) struct TraceEntry {
    /// Its line, from 1.
    pub(crate) line: u64,
    pub(crate) moment: Moment,
    /// Whether its time is before the latest time so far.
    pub(crate) goes_back: bool,
}

/// A trace being read.
pub(crate) struct Trace {
    name: String,
    input: Box<dyn BufRead>,
    buffer: Vec<u8>,
    line: u64,
    clock: Clock,
    /// The earliest allowed time of the next position.
    reached: Option<Time>,
}

impl Trace {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &str) -> anyhow::Result<Trace> {
        if path == "-" {
            return Ok(Trace::new(STDIN, Box::new(BufReader::new(io::stdin()))));
        }
        if Path::new(path).is_dir() {
            bail!("`{path}` is a folder\n  hint: name a file with one step per line");
        }
        let file = File::open(path).map_err(|error| {
            anyhow!("cannot read the trace `{path}`: {error}\n  hint: name a file with one step per line, or `-` for standard input")
        })?;
        Ok(Trace::new(path, Box::new(BufReader::with_capacity(1 << 16, file))))
    }

    /// Returns a trace read from any input.
    pub(crate) fn new(name: &str, input: Box<dyn BufRead>) -> Trace {
        Trace { name: name.to_owned(), input, buffer: Vec::new(), line: 0, clock: Clock::default(), reached: None }
    }

    /// Returns its name for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format of its times.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Reads the next line that is not blank; none at the end.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<TraceLine>> {
        loop {
            let Some(is_whole) = self.read_line().with_context(|| format!("cannot read the trace `{}`", self.name))?
            else {
                return Ok(None);
            };
            if !is_whole {
                let message = format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20);
                let fault = TextFault::new(0..0, message, "put each step on its own line");
                let start = String::from_utf8_lossy(self.buffer.get(..200).unwrap_or(&[])).into_owned();
                return Ok(Some(self.bad(&start, vec![fault])));
            }
            let bytes = std::mem::take(&mut self.buffer);
            let line = self.parse_line(&bytes);
            self.buffer = bytes;
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Reads the next line into the buffer, without its newline. Returns none at the end of the input, and false if the
    /// line is too long; then the buffer holds its start.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let most = MAX_LINE_BYTES as u64 + 2;
        if self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        for end in [b'\n', b'\r'] {
            if self.buffer.last() == Some(&end) {
                self.buffer.pop();
            }
        }
        if self.buffer.len() <= MAX_LINE_BYTES {
            return Ok(Some(true));
        }
        self.buffer.truncate(MAX_LINE_BYTES);
        self.skip_line()?;
        Ok(Some(false))
    }

    /// Skips the rest of the line.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let ahead = self.input.fill_buf()?;
            let (length, found) = match ahead.iter().position(|byte| *byte == b'\n') {
                Some(place) => (place + 1, true),
                None => (ahead.len(), ahead.is_empty()),
            };
            self.input.consume(length);
            if found {
                return Ok(());
            }
        }
    }

    /// Parses a line; none if it is blank.
    fn parse_line(&mut self, bytes: &[u8]) -> Option<TraceLine> {
        // A byte order mark is allowed at the start of a file only.
        let bytes = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.valid_up_to();
                let fault = TextFault::new(good..good, "the line is not UTF-8", "save the file as UTF-8");
                return Some(self.bad(&String::from_utf8_lossy(bytes), vec![fault]));
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        match shape::read(text, &mut self.clock) {
            Ok(moment) => Some(TraceLine::Entry(self.entry(moment))),
            Err(faults) => Some(self.bad(text, faults)),
        }
    }

    fn entry(&mut self, moment: Moment) -> TraceEntry {
        let (time, next) = match &moment {
            Moment::Position(facts) => (facts.time, facts.time),
            // A tick says that no position up to its time will follow.
            Moment::Tick(now) => (None, Some(Time(now.0.saturating_add(1)))),
        };
        let goes_back = matches!((time, self.reached), (Some(time), Some(reached)) if time < reached);
        self.reached = self.reached.max(next);
        TraceEntry { line: self.line, moment, goes_back }
    }

    fn bad(&self, text: &str, faults: Vec<TextFault>) -> TraceLine {
        TraceLine::Bad(faults.into_iter().map(|fault| Complaint::new(&self.name, self.line, text, fault)).collect())
    }
}

#[cfg(test)]
mod tests;

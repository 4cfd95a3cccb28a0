//! Reads a trace: a file with one JSON value a line, each a position or a tick.
//!
//! Lines are read one by one in bounded memory. A line that cannot be read is handed on with everything that is wrong
//! with it, so that nothing is skipped in silence.

mod clock;
mod shape;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use lictor_logic::{Moment, Time};

use crate::complaint::{Complaint, Fault};
pub(crate) use crate::trace::clock::Clock;
pub(crate) use crate::trace::shape::SHAPES;

/// What standard input is called in messages.
pub(crate) const STDIN: &str = "<stdin>";

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 16 << 20;

/// A line of a trace that is not blank.
#[derive(Debug)]
pub(crate) enum Line {
    /// One that was understood.
    Entry(Entry),
    /// One that was not: what is wrong with it.
    Bad(Vec<Complaint>),
}

/// A position or a tick, and where it was read.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its line, the first being 1.
    pub(crate) line: u64,
    pub(crate) moment: Moment,
    /// Does its time lie before the time that was reached already?
    pub(crate) goes_back: bool,
}

/// A trace being read.
pub(crate) struct Trace {
    name: String,
    input: Box<dyn BufRead>,
    buffer: Vec<u8>,
    line: u64,
    clock: Clock,
    /// No later position may lie before this moment.
    reached: Option<Time>,
}

impl Trace {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &str) -> anyhow::Result<Trace> {
        if path == "-" {
            return Ok(Trace::new(STDIN, Box::new(BufReader::new(io::stdin()))));
        }
        if Path::new(path).is_dir() {
            bail!("`{path}` is a folder\n  hint: name a file with one step a line");
        }
        let file = File::open(path).map_err(|error| {
            anyhow!("cannot read the trace `{path}`: {error}\n  hint: name a file with one step a line, or `-` for standard input")
        })?;
        Ok(Trace::new(path, Box::new(BufReader::with_capacity(1 << 16, file))))
    }

    /// A trace that is read from anywhere.
    pub(crate) fn new(name: &str, input: Box<dyn BufRead>) -> Trace {
        Trace { name: name.to_owned(), input, buffer: Vec::new(), line: 0, clock: Clock::default(), reached: None }
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How its times are written.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The next line that is not blank; none at the end.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Line>> {
        loop {
            let Some(is_whole) = self.read_line().with_context(|| format!("cannot read the trace `{}`", self.name))?
            else {
                return Ok(None);
            };
            if !is_whole {
                let message = format!("the line is longer than {} MiB", LONGEST_LINE >> 20);
                let fault = Fault::new(0..0, message, "put every step on a line of its own");
                let start = String::from_utf8_lossy(self.buffer.get(..200).unwrap_or(&[])).into_owned();
                return Ok(Some(self.bad(&start, vec![fault])));
            }
            let bytes = std::mem::take(&mut self.buffer);
            let line = self.understand(&bytes);
            self.buffer = bytes;
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Fills the buffer with the next line, without its end. None at the end of the input, false if the line is too
    /// long; then the buffer holds its beginning.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let most = LONGEST_LINE as u64 + 2;
        if self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        for end in [b'\n', b'\r'] {
            if self.buffer.last() == Some(&end) {
                self.buffer.pop();
            }
        }
        if self.buffer.len() <= LONGEST_LINE {
            return Ok(Some(true));
        }
        self.buffer.truncate(LONGEST_LINE);
        self.skip_line()?;
        Ok(Some(false))
    }

    /// Goes on behind the end of the line, whatever is in it.
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

    /// None for a blank line.
    fn understand(&mut self, bytes: &[u8]) -> Option<Line> {
        // A byte order mark may stand at the beginning of a file, and nowhere else.
        let bytes = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.valid_up_to();
                let fault = Fault::new(good..good, "the line is not UTF-8", "save the file as UTF-8");
                return Some(self.bad(&String::from_utf8_lossy(bytes), vec![fault]));
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        match shape::read(text, &mut self.clock) {
            Ok(moment) => Some(Line::Entry(self.entry(moment))),
            Err(faults) => Some(self.bad(text, faults)),
        }
    }

    fn entry(&mut self, moment: Moment) -> Entry {
        let (time, next) = match &moment {
            Moment::Position(facts) => (facts.time, facts.time),
            // A tick says that nothing up to its time will come any more.
            Moment::Tick(now) => (None, Some(Time(now.0.saturating_add(1)))),
        };
        let goes_back = matches!((time, self.reached), (Some(time), Some(reached)) if time < reached);
        self.reached = self.reached.max(next);
        Entry { line: self.line, moment, goes_back }
    }

    fn bad(&self, text: &str, faults: Vec<Fault>) -> Line {
        Line::Bad(faults.into_iter().map(|fault| Complaint::new(&self.name, self.line, text, fault)).collect())
    }
}

#[cfg(test)]
mod tests;

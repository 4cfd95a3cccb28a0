//! The pass over the records in their segments.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use crate::error::{LedgerError, LedgerFault};
use crate::record::{MAX_LINE_BYTES, RecordLine};
use crate::segment;
use crate::tree::Hash;
use crate::walk::{Tail, Walk};

/// The size of the read buffer.
const READ_BUFFER_BYTES: usize = 256 * 1024;

impl Walk<'_> {
    /// Reads segments from an offset in one of them, up to the first bad line that no checkpoint covers.
    pub(super) fn read_segments(&mut self, begin: u64, offset: u64) -> Result<(), LedgerError> {
        let skipped = self.segments.iter().take_while(|first| **first < begin).count();
        for place in skipped..self.segments.len() {
            let first = self.segments[place];
            let offset = if first == begin { offset } else { 0 };
            if offset == 0 && first != self.tiles.size() {
                let message = format!("missing: the next segment begins with record {first}");
                return Err(self.fault(self.tiles.size(), message).into());
            }
            self.read_segment(first, offset)?;
            if let Some(tail) = &self.tail {
                // A segment begins only when the one before it is complete.
                if place + 1 < self.segments.len() {
                    return Err(tail.fault.clone().into());
                }
            }
        }
        Ok(())
    }

    fn read_segment(&mut self, first: u64, offset: u64) -> Result<(), LedgerError> {
        let path = self.folder.join(segment::path(first));
        let failed = |error| LedgerError::file("read", &path, error);
        let mut file = File::open(&path).map_err(failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut file = BufReader::with_capacity(READ_BUFFER_BYTES, file);
        self.length = offset;
        self.unsigned_from = offset;
        let mut line = Vec::new();
        loop {
            line.clear();
            (&mut file).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line).map_err(failed)?;
            if line.is_empty() {
                return Ok(());
            }
            let index = self.tiles.size();
            let wrong = match line.split_last() {
                Some((b'\n', text)) => self.read_record(index, text)?,
                _ => Some("the line has no newline".to_owned()),
            };
            let Some(message) = wrong else {
                self.length += line.len() as u64;
                if self.tiles.size() <= self.covered {
                    self.unsigned_from = self.length;
                }
                continue;
            };
            let fault = self.fault(index, message);
            if index < self.covered {
                return Err(fault.into());
            }
            self.tail = Some(read_tail(fault, line, file).map_err(failed)?);
            return Ok(());
        }
    }

    /// Reads one record, or returns what is wrong with it.
    fn read_record(&mut self, index: u64, text: &[u8]) -> Result<Option<String>, LedgerError> {
        let line = match RecordLine::read(text) {
            Ok(line) => line,
            Err(message) => return Ok(Some(message)),
        };
        if line.index != index {
            return Ok(Some(format!("its index is {}, expected {index}", line.index)));
        }
        if line.time < self.time.as_str() {
            return Ok(Some(format!(
                "its time {} is earlier than that of the record before, {}",
                line.time, self.time
            )));
        }
        if self.kept.has_other_line(index, text)? {
            return Ok(Some(format!("`{}` holds a different line for it", segment::NOTICES_FILE)));
        }
        if let Err(message) = line.notice().and_then(|notice| self.apply_notice(index, notice)) {
            return Ok(Some(message));
        }
        if self.time != line.time {
            self.time.clear();
            self.time.push_str(line.time);
        }
        self.push_leaf(Hash::leaf(text))?;
        Ok(None)
    }

    /// Returns a fault at a record, with its segment and line.
    pub(super) fn fault(&self, index: u64, message: String) -> LedgerFault {
        let first = self.segments.iter().rev().find(|first| **first <= index);
        match first {
            Some(first) => {
                LedgerFault { file: segment::path(*first), line: index - first + 1, index: Some(index), message }
            }
            None => LedgerFault { file: segment::FOLDER.into(), line: 0, index: Some(index), message },
        }
    }

    /// Returns the earlier of an error and of an earlier suspicion: a changed record may look good by itself and make
    /// the next one look bad.
    pub(super) fn pick_earliest(&mut self, error: LedgerError) -> LedgerError {
        let at = error.fault().and_then(|fault| fault.index);
        let suspect = self.suspect.take();
        match (at, suspect.as_ref().map(|suspect| suspect.index).or_else(|| self.differing_leaf())) {
            // Two records in a row are wrong, so the records were changed and not the tile.
            (Some(at), Some(index)) if index < at => {
                self.fault(index, "its hash is not the one in the tree".to_owned()).into()
            }
            (None, Some(_)) => suspect.map_or(error, |suspect| suspect.fault.into()),
            _ => error,
        }
    }
}

/// Reads the rest of a segment after its last good record.
fn read_tail(fault: LedgerFault, first: Vec<u8>, mut file: impl BufRead) -> std::io::Result<Tail> {
    let is_unfinished = first.last() != Some(&b'\n') && first.len() < MAX_LINE_BYTES;
    let (mut bytes, mut lines, mut line) = (first.len() as u64, 1, Vec::new());
    let mut times: Vec<String> = Vec::new();
    loop {
        line.clear();
        (&mut file).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Tail { fault, bytes, lines, is_unfinished, has_batches: times.len() > 1 });
        }
        bytes += line.len() as u64;
        lines += 1;
        let record = line.split_last().and_then(|(_, text)| RecordLine::read(text).ok());
        if let Some(time) = record.map(|record| record.time).filter(|time| times.last().is_none_or(|last| last != time))
        {
            times.push(time.to_owned());
            // Only whether there are several matters.
            times.truncate(2);
        }
    }
}

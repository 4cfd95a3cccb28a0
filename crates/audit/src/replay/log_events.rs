//! Reads the events of some sessions once more, in the order of the log.

use std::iter::Take;

use lictor_decode::input::{Chunk, Chunks, Input};
use lictor_decode::{DecodedEvents, Decoder, Format};
use lictor_event::Event;
use rayon::prelude::*;

use super::ReplayedLog;
use crate::batch::{LogCut, find_logs};
use crate::closed_session::ClosedSession;
use crate::{AuditError, AuditOptions};

/// How many events of a log whose records depend on each other are read at once, about.
const MIN_READ_EVENTS: usize = 4096;

/// The events of some sessions, and others among them.
pub(super) struct LogEvents<'a> {
    inputs: &'a [Input],
    options: &'a AuditOptions,
    files: Vec<WantedFile>,
    /// Where the log was cut in the first pass, if it was.
    cut: Option<LogCut>,
    /// The next file.
    next: usize,
    open: Option<OpenLog>,
}

/// What is wanted of a file.
struct WantedFile {
    format: Option<Format>,
    /// The file in which its log begins.
    log: usize,
    /// The wanted records, in order.
    records: Vec<u32>,
}

/// A log that is being read.
struct OpenLog {
    file: usize,
    /// The chunks of the present file.
    chunks: Take<Chunks>,
    /// The decoder of a log whose records depend on each other.
    decoder: Option<Box<dyn Decoder>>,
}

/// Events that were read together.
pub(super) struct ReadEvents {
    /// The file in which their log begins.
    pub(super) log: u32,
    /// Whether sessions continue in other files.
    pub(super) spans_files: bool,
    pub(super) events: Vec<Event>,
}

impl<'a> LogEvents<'a> {
    /// Returns the events of some sessions.
    pub(super) fn new<'s>(
        log: ReplayedLog<'a>,
        sessions: impl Iterator<Item = &'s ClosedSession>,
        options: &'a AuditOptions,
    ) -> LogEvents<'a> {
        let ReplayedLog { inputs, files, cut, .. } = log;
        let mut records: Vec<Vec<u32>> = vec![Vec::new(); inputs.len()];
        for session in sessions {
            for (file, indices) in session.records.by_file() {
                records[file as usize].extend(indices);
            }
        }
        let logs = find_logs(inputs, files);
        let wanted = |(file, mut records): (usize, Vec<u32>)| {
            records.sort_unstable();
            records.dedup();
            let format = files.get(file).and_then(Option::as_ref).map(|file| file.format);
            WantedFile { format, log: logs[file], records }
        };
        let files = records.into_iter().enumerate().map(wanted).collect();
        LogEvents { inputs, options, files, cut, next: 0, open: None }
    }

    /// Returns the next events; none at the end.
    pub(super) fn read_next(&mut self) -> Result<Option<ReadEvents>, AuditError> {
        while self.open.is_some() || self.open_next()? {
            let Some(OpenLog { file, .. }) = self.open else { continue };
            let WantedFile { format, log, .. } = self.files[file];
            let events = self.read_open()?;
            if !events.is_empty() {
                let spans_files = format == Some(Format::Native);
                return Ok(Some(ReadEvents { log: log as u32, spans_files, events }));
            }
        }
        Ok(None)
    }

    /// Opens the next file with wanted records, or the log that it is a part of. Whether there is one.
    fn open_next(&mut self) -> Result<bool, AuditError> {
        while let Some(wanted) = self.files.get(self.next) {
            let Some(format) = wanted.format.filter(|_| !wanted.records.is_empty()) else {
                self.next += 1;
                continue;
            };
            // A log whose records depend on each other is read from its beginning.
            let (file, decoder) = match format.records_stand_alone() {
                true => (self.next, None),
                false => (wanted.log, Some(self.options.decoder(format))),
            };
            let chunks = open_chunks(self.inputs, self.options, self.cut, file)?;
            self.open = Some(OpenLog { file, chunks, decoder });
            self.next += 1;
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads some events of the open log, and closes it at its end.
    fn read_open(&mut self) -> Result<Vec<Event>, AuditError> {
        let Some(open) = &mut self.open else { return Ok(Vec::new()) };
        let Some(decoder) = &mut open.decoder else {
            let round: Vec<Chunk> = open.chunks.by_ref().take(4 * rayon::current_num_threads()).collect();
            let wanted = &self.files[open.file];
            if round.is_empty() {
                self.open = None;
                return Ok(Vec::new());
            }
            let decode = |chunk: Chunk| decode_records(&chunk, wanted, self.options);
            let decoded: Vec<Vec<Event>> = round.into_par_iter().map(decode).collect();
            return Ok(decoded.into_iter().flatten().collect());
        };
        let mut decoded = DecodedEvents::default();
        while decoded.events.len() < MIN_READ_EVENTS {
            if let Some(chunk) = open.chunks.next() {
                chunk.decode(None, decoder.as_mut(), &mut decoded);
                decoded.faults.clear();
                continue;
            }
            let log = self.files[open.file].log;
            let part = (open.file + 1..self.files.len()).find(|part| self.files[*part].log == log);
            let Some(part) = part else {
                decoder.finish(&mut decoded);
                // The other parts of this log are read.
                while self.files.get(self.next).is_some_and(|file| file.log == log) {
                    self.next += 1;
                }
                self.open = None;
                break;
            };
            (open.file, open.chunks) = (part, open_chunks(self.inputs, self.options, self.cut, part)?);
        }
        Ok(decoded.events)
    }
}

/// Opens a file, up to where the first pass read it.
fn open_chunks(
    inputs: &[Input],
    options: &AuditOptions,
    cut: Option<LogCut>,
    file: usize,
) -> Result<Take<Chunks>, AuditError> {
    let most = match cut {
        Some(cut) if cut.file == file => cut.chunks,
        Some(cut) if cut.file < file => 0,
        _ => usize::MAX,
    };
    Ok(inputs[file].chunks(&options.limits)?.take(most))
}

/// Decodes the wanted records of a chunk, each of which is decoded on its own.
fn decode_records(chunk: &Chunk, wanted: &WantedFile, options: &AuditOptions) -> Vec<Event> {
    let Some(format) = wanted.format else { return Vec::new() };
    let (mut decoder, mut decoded) = (options.decoder(format), DecodedEvents::default());
    let range = chunk.indices();
    let from = wanted.records.partition_point(|index| *index < range.start);
    let to = wanted.records.partition_point(|index| *index < range.end);
    chunk.decode(Some(&wanted.records[from..to]), decoder.as_mut(), &mut decoded);
    decoder.finish(&mut decoded);
    decoded.events
}

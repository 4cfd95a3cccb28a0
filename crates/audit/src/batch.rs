//! Files split into batches.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::AuditOptions;
use crate::report::FileReport;
use lictor_decode::input::{self, Chunk, ChunkLine, Chunks, Input, InputError};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format, LogNotes};
use lictor_event::Event;

/// A part of a file that one thread decodes.
pub(super) struct Batch {
    /// The file's number among the inputs.
    file: usize,
    /// The file in which its log begins: the first part of a rotated log, else itself.
    log: usize,
    format: Format,
    work: BatchContent,
}

enum BatchContent {
    /// A chunk of independent records.
    Chunk(Chunk),
    /// A whole file, small enough for one batch.
    File(Vec<Chunk>),
    /// Events of a file whose records must be decoded in order.
    Decoded(DecodedEvents, u64),
}

/// A batch divided among the shards.
pub(super) struct ShardedBatch {
    pub(super) file: usize,
    /// The file in which its log begins.
    pub(super) log: usize,
    pub(super) bytes: u64,
    /// Lines that each shard decodes itself, so that an event is judged while it is in the cache.
    pub(super) lines: Option<Chunk>,
    /// Events that had to be decoded to find their session.
    pub(super) events: Vec<Event>,
    pub(super) faults: Vec<Fault>,
    /// What decoding it showed of the whole log.
    pub(super) notes: LogNotes,
    /// For each shard its items, in order; empty if a single shard judges all lines.
    pub(super) shard_items: Vec<Vec<ShardItem>>,
    /// Whether sessions continue in other files.
    pub(super) spans_files: bool,
}

/// One item for a shard to judge.
pub(super) enum ShardItem {
    /// A line, with the hash of its session.
    Line(ChunkLine, u64),
    /// An event by its index, with the hash of its session.
    Event(u32, u64),
}

/// The batches of all files, in order.
pub(super) struct Batches<'a> {
    inputs: &'a [Input],
    options: &'a AuditOptions,
    next: usize,
    current: Option<OpenFile>,
    /// The decoder of the last file, until it is known whether the next one continues its log.
    ended: Option<EndedPart>,
    /// The report of each input so far; none for unreadable ones.
    files: Vec<Option<FileReport>>,
    faults: Vec<Fault>,
    /// Where reading was stopped, if it was.
    cut: Option<LogCut>,
}

/// Where an audit that was stopped ceased to read: after so many chunks of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogCut {
    pub(super) file: usize,
    pub(super) chunks: usize,
}

/// A file that is being read.
struct OpenFile {
    file: usize,
    log: usize,
    format: Format,
    chunks: Chunks,
    /// How many chunks of it were read.
    read: usize,
    /// The decoder between batches, for a file that must be decoded in order.
    decoder: Option<Box<dyn Decoder>>,
}

/// A part of a log that was read to its end.
struct EndedPart {
    file: usize,
    log: usize,
    format: Format,
    decoder: Box<dyn Decoder>,
}

impl EndedPart {
    /// Returns the events that only the end of the log shows.
    fn finish(mut self) -> Batch {
        let mut decoded = DecodedEvents::default();
        self.decoder.finish(&mut decoded);
        Batch { file: self.file, log: self.log, format: self.format, work: BatchContent::Decoded(decoded, 0) }
    }
}

/// Whether a file continues the log of the one before it: both are parts of one log, whose records are decoded in order.
pub(super) fn continues_log(before: (&Input, Format), after: (&Input, Format)) -> bool {
    before.0.log().is_some() && before.0.log() == after.0.log() && before.1 == after.1 && !after.1.records_stand_alone()
}

impl<'a> Batches<'a> {
    pub(super) fn new(inputs: &'a [Input], options: &'a AuditOptions) -> Batches<'a> {
        Batches {
            inputs,
            options,
            next: 0,
            current: None,
            ended: None,
            files: Vec::new(),
            faults: Vec::new(),
            cut: None,
        }
    }

    pub(super) fn options(&self) -> &'a AuditOptions {
        self.options
    }

    /// Stops reading: only what the decoders hold is still to come.
    pub(super) fn stop(&mut self) {
        if self.cut.is_some() {
            return;
        }
        let open = self.current.as_ref().map(|open| LogCut { file: open.file, chunks: open.read });
        self.cut = Some(open.unwrap_or(LogCut { file: self.next, chunks: 0 }));
        if let Some(OpenFile { file, log, format, decoder: Some(decoder), .. }) = self.current.take() {
            self.ended = Some(EndedPart { file, log, format, decoder });
        }
        self.next = self.inputs.len();
    }

    /// Returns where reading was stopped before the end of the logs.
    pub(super) fn cut(&self) -> Option<LogCut> {
        self.cut.filter(|cut| cut.file < self.inputs.len())
    }

    /// Returns the number of the input with a name, or the number after the last.
    pub(super) fn number(&self, name: &str) -> usize {
        self.inputs.iter().position(|input| &**input.name() == name).unwrap_or(self.inputs.len())
    }

    /// Adds to the number of events of a file.
    pub(super) fn add_events(&mut self, file: usize, events: u64) {
        if let Some(Some(file)) = self.files.get_mut(file) {
            file.events += events;
        }
    }

    /// Returns the reports of the inputs, and a fault for each unreadable one.
    pub(super) fn into_files(self) -> (Vec<Option<FileReport>>, Vec<Fault>) {
        (self.files, self.faults)
    }

    /// Opens the next input. One that cannot be read is a fault like any other: the rest is still judged.
    fn open_next(&mut self) -> Option<Batch> {
        let input = &self.inputs[self.next];
        match self.start_file(self.next, input) {
            Ok(batch) => batch,
            Err(error) => {
                self.next += 1;
                self.files.resize(self.next, None);
                let (name, message) = (Arc::clone(input.name()), error.describe_without_path());
                self.faults.push(Fault { file: name, line: 1, column: None, code: input::UNREADABLE, message });
                None
            }
        }
    }

    fn start_file(&mut self, file: usize, input: &Input) -> Result<Option<Batch>, InputError> {
        let format = match self.options.format {
            Some(format) => format,
            None => input::detect(input, &self.options.limits)?.1,
        };
        let is_next = |ended: &EndedPart| continues_log((&self.inputs[ended.file], ended.format), (input, format));
        // A log that does not continue is finished first, and this file is opened again.
        if let Some(ended) = self.ended.take_if(|ended| !is_next(ended)) {
            return Ok(Some(ended.finish()));
        }
        let mut chunks = input.chunks(&self.options.limits)?;
        self.next = file + 1;
        self.files.push(Some(FileReport { name: Arc::clone(input.name()), format, events: 0 }));
        if format.records_stand_alone() {
            self.current = Some(OpenFile { file, log: file, format, chunks, read: 0, decoder: None });
            return Ok(None);
        }
        if let Some(EndedPart { log, decoder, .. }) = self.ended.take() {
            self.current = Some(OpenFile { file, log, format, chunks, read: 0, decoder: Some(decoder) });
            return Ok(None);
        }
        let Some(first) = chunks.next() else { return Ok(None) };
        match chunks.next() {
            None if input.log().is_none() => {
                Ok(Some(Batch { file, log: file, format, work: BatchContent::File(vec![first]) }))
            }
            second => {
                let mut decoder = self.options.decoder(format);
                let mut decoded = DecodedEvents::default();
                let read: Vec<Chunk> = [first].into_iter().chain(second).collect();
                let bytes = read.iter().map(Chunk::size).sum();
                feed_decoder(&read, decoder.as_mut(), &mut decoded);
                let count = read.len();
                self.current = Some(OpenFile { file, log: file, format, chunks, read: count, decoder: Some(decoder) });
                Ok(Some(Batch { file, log: file, format, work: BatchContent::Decoded(decoded, bytes) }))
            }
        }
    }

    /// Returns the next batch of the open file; none at its end.
    fn read_current(&mut self) -> Option<Batch> {
        let current = self.current.as_mut()?;
        let OpenFile { file, log, format, .. } = *current;
        let chunk = current.chunks.next();
        current.read += usize::from(chunk.is_some());
        match (chunk, &mut current.decoder) {
            (Some(chunk), None) => Some(Batch { file, log, format, work: BatchContent::Chunk(chunk) }),
            (Some(chunk), Some(decoder)) => {
                let mut decoded = DecodedEvents::default();
                let bytes = chunk.size();
                feed_decoder(&[chunk], decoder.as_mut(), &mut decoded);
                Some(Batch { file, log, format, work: BatchContent::Decoded(decoded, bytes) })
            }
            (None, decoder) => {
                self.ended = decoder.take().map(|decoder| EndedPart { file, log, format, decoder });
                self.current = None;
                None
            }
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        loop {
            if self.current.is_some() {
                match self.read_current() {
                    Some(batch) => return Some(batch),
                    None => continue,
                }
            }
            if self.next >= self.inputs.len() {
                return self.ended.take().map(EndedPart::finish);
            }
            if let Some(batch) = self.open_next() {
                return Some(batch);
            }
        }
    }
}

/// Returns for each file the one in which its log begins.
pub(super) fn find_logs(inputs: &[Input], files: &[Option<FileReport>]) -> Vec<usize> {
    let mut logs: Vec<usize> = (0..inputs.len()).collect();
    let mut before: Option<(usize, Format)> = None;
    for (file, report) in files.iter().enumerate() {
        let Some(report) = report else { continue };
        if let Some((part, format)) = before
            && continues_log((&inputs[part], format), (&inputs[file], report.format))
        {
            logs[file] = logs[part];
        }
        before = Some((file, report.format));
    }
    logs
}

/// Returns a fault for each file that was read and made no event, among files that did. The events of a log in parts may
/// all come at its end.
pub(super) fn find_eventless<'f>(
    inputs: &'f [Input],
    files: &'f [Option<FileReport>],
) -> impl Iterator<Item = Fault> + 'f {
    let logs = find_logs(inputs, files);
    let with_events: HashSet<usize> = files
        .iter()
        .zip(&logs)
        .filter(|(file, _)| file.as_ref().is_some_and(|file| file.events > 0))
        .map(|(_, log)| *log)
        .collect();
    let silent = files.iter().zip(logs).filter(move |(_, log)| !with_events.contains(log));
    silent.filter_map(|(file, _)| file.as_ref()).map(|file| Fault {
        file: Arc::clone(&file.name),
        line: 1,
        column: None,
        code: input::NO_EVENTS,
        message: format!("nothing in this file is an event when it is read as {}; check its format", file.format),
    })
}

/// Decodes chunks with a new decoder, to the end, and adds what it notes of a log that others decode as well.
fn decode_chunks(mut decoder: Box<dyn Decoder>, chunks: &[Chunk], notes: &mut LogNotes) -> DecodedEvents {
    let mut decoded = DecodedEvents::default();
    feed_decoder(chunks, decoder.as_mut(), &mut decoded);
    match decoder.take_notes() {
        Some(taken) => notes.merge(taken),
        None => decoder.finish(&mut decoded),
    }
    decoded
}

/// Passes all records of some chunks to a decoder.
fn feed_decoder(chunks: &[Chunk], decoder: &mut dyn Decoder, decoded: &mut DecodedEvents) {
    chunks.iter().for_each(|chunk| chunk.decode(None, decoder, decoded));
}

impl Batch {
    pub(super) fn file(&self) -> usize {
        self.file
    }

    /// Returns the file in which its log begins.
    pub(super) fn log(&self) -> usize {
        self.log
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Decodes all its events, and adds what only the whole log shows to the notes.
    pub(super) fn decode(self, options: &AuditOptions, notes: &mut LogNotes) -> DecodedEvents {
        match self.work {
            BatchContent::Decoded(decoded, _) => decoded,
            BatchContent::Chunk(chunk) => decode_chunks(options.decoder(self.format), &[chunk], notes),
            BatchContent::File(chunks) => decode_chunks(options.decoder(self.format), &chunks, notes),
        }
    }

    /// Divides it among the shards.
    pub(super) fn divide(self, hasher: &RandomState, shards: usize, options: &AuditOptions) -> ShardedBatch {
        let (file, format) = (self.file, self.format);
        let mut batch = ShardedBatch {
            file,
            log: self.log,
            bytes: 0,
            lines: None,
            events: Vec::new(),
            faults: Vec::new(),
            notes: LogNotes::default(),
            shard_items: (0..shards).map(|_| Vec::new()).collect(),
            spans_files: format == Format::Native,
        };
        match self.work {
            BatchContent::Decoded(decoded, bytes) => {
                batch.bytes = bytes;
                batch.add_decoded(decoded, hasher);
            }
            // A line is read quickly where its session is named in the usual place.
            BatchContent::Chunk(chunk)
                if format == Format::Native && chunk.is_lines() && options.session_key.is_none() =>
            {
                batch.bytes = chunk.size();
                if shards > 1 {
                    batch.divide_lines(&chunk, hasher);
                } else {
                    batch.shard_items.clear();
                }
                batch.lines = Some(chunk);
            }
            BatchContent::Chunk(chunk) => {
                batch.bytes = chunk.size();
                let decoded = decode_chunks(options.decoder(format), &[chunk], &mut batch.notes);
                batch.add_decoded(decoded, hasher);
            }
            BatchContent::File(chunks) => {
                batch.bytes = chunks.iter().map(Chunk::size).sum();
                let decoded = decode_chunks(options.decoder(format), &chunks, &mut batch.notes);
                batch.add_decoded(decoded, hasher);
            }
        }
        batch
    }
}

impl ShardedBatch {
    /// Assigns each line to the shard of its session. A line whose session cannot be read without decoding is decoded
    /// here.
    fn divide_lines(&mut self, chunk: &Chunk, hasher: &RandomState) {
        let mut decoder = Format::Native.decoder();
        // Events of one session mostly come together.
        let mut last: Option<(&str, u64)> = None;
        for line in chunk.lines() {
            match chunk.line(&line).ok().and_then(|text| decoder.session(text)) {
                Some(session) => {
                    let known = last.filter(|(name, _)| *name == session).map(|(_, hash)| hash);
                    let hash = known.unwrap_or_else(|| hash_session(hasher, None, Some(session)));
                    last = Some((session, hash));
                    let shard = self.shard_index(hash);
                    self.shard_items[shard].push(ShardItem::Line(line, hash));
                }
                None => {
                    let mut decoded = DecodedEvents::default();
                    chunk.decode_line(&line, decoder.as_mut(), &mut decoded);
                    self.add_decoded(decoded, hasher);
                }
            }
        }
        self.notes = decoder.take_notes().unwrap_or_default();
    }

    fn add_decoded(&mut self, decoded: DecodedEvents, hasher: &RandomState) {
        self.faults.extend(decoded.faults);
        for event in decoded.events {
            let hash = hash_session(hasher, self.session_log(&event), event.session.as_deref());
            let (place, shard) = (self.events.len() as u32, self.shard_index(hash));
            self.shard_items[shard].push(ShardItem::Event(place, hash));
            self.events.push(event);
        }
    }

    /// Returns the log that the session of an event belongs to; none if it continues in other logs.
    pub(super) fn session_log(&self, event: &Event) -> Option<u32> {
        (!self.spans_files || event.session.is_none()).then_some(self.log as u32)
    }

    fn shard_index(&self, hash: u64) -> usize {
        hash as usize % self.shard_items.len()
    }
}

/// Hashes a session by the log that it belongs to, unless it continues in others, and by its name.
pub(super) fn hash_session(hasher: &RandomState, log: Option<u32>, session: Option<&str>) -> u64 {
    hasher.hash_one((log, session))
}

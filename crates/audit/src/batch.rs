//! Files split into batches.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::AuditOptions;
use crate::report::FileReport;
use lictor_decode::input::{self, Chunk, ChunkLine, Chunks, Input, InputError};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format};
use lictor_event::Event;

/// A part of a file that one thread decodes.
pub(super) struct Batch {
    /// The file's number among the inputs.
    file: usize,
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
    pub(super) bytes: u64,
    /// Lines that each shard decodes itself, so that an event is judged while it is in the cache.
    pub(super) lines: Option<Chunk>,
    /// Events that had to be decoded to find their session.
    pub(super) events: Vec<Event>,
    pub(super) faults: Vec<Fault>,
    /// For each shard its items, in order; empty if a single shard judges all lines.
    pub(super) shard_items: Vec<Vec<ShardItem>>,
    /// Whether sessions continue in other files.
    pub(super) spans_files: bool,
}

/// One item for a shard to judge.
pub(super) enum ShardItem {
    /// A line.
    Line(ChunkLine),
    /// An event by its index, with the hash of its session.
    Event(u32, u64),
}

/// The batches of all files, in order.
pub(super) struct Batches<'a> {
    inputs: &'a [Input],
    options: &'a AuditOptions,
    next: usize,
    current: Option<OpenFile>,
    /// The report of each input so far; none for unreadable ones.
    files: Vec<Option<FileReport>>,
    faults: Vec<Fault>,
}

/// A file that is being read.
struct OpenFile {
    file: usize,
    format: Format,
    chunks: Chunks,
    /// The decoder between batches, for a file that must be decoded in order.
    decoder: Option<Box<dyn Decoder>>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(inputs: &'a [Input], options: &'a AuditOptions) -> Batches<'a> {
        Batches { inputs, options, next: 0, current: None, files: Vec::new(), faults: Vec::new() }
    }

    pub(super) fn options(&self) -> &'a AuditOptions {
        self.options
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
        let file = self.next;
        self.next += 1;
        match self.start_file(file, input) {
            Ok(batch) => batch,
            Err(error) => {
                self.files.resize(file + 1, None);
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
        let mut chunks = input.chunks(&self.options.limits)?;
        self.files.push(Some(FileReport { name: Arc::clone(input.name()), format, events: 0 }));
        if format.records_stand_alone() {
            self.current = Some(OpenFile { file, format, chunks, decoder: None });
            return Ok(None);
        }
        let Some(first) = chunks.next() else { return Ok(None) };
        match chunks.next() {
            None => Ok(Some(Batch { file, format, work: BatchContent::File(vec![first]) })),
            Some(second) => {
                let mut decoder = self.options.decoder(format);
                let mut decoded = DecodedEvents::default();
                let bytes = first.size() + second.size();
                feed_decoder(&[first, second], decoder.as_mut(), &mut decoded);
                self.current = Some(OpenFile { file, format, chunks, decoder: Some(decoder) });
                Ok(Some(Batch { file, format, work: BatchContent::Decoded(decoded, bytes) }))
            }
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        loop {
            if let Some(current) = &mut self.current {
                let (file, format) = (current.file, current.format);
                match (current.chunks.next(), &mut current.decoder) {
                    (Some(chunk), None) => return Some(Batch { file, format, work: BatchContent::Chunk(chunk) }),
                    (Some(chunk), Some(decoder)) => {
                        let mut decoded = DecodedEvents::default();
                        let bytes = chunk.size();
                        feed_decoder(&[chunk], decoder.as_mut(), &mut decoded);
                        return Some(Batch { file, format, work: BatchContent::Decoded(decoded, bytes) });
                    }
                    (None, decoder) => {
                        let decoder = decoder.take();
                        self.current = None;
                        if let Some(mut decoder) = decoder {
                            let mut decoded = DecodedEvents::default();
                            decoder.finish(&mut decoded);
                            return Some(Batch { file, format, work: BatchContent::Decoded(decoded, 0) });
                        }
                    }
                }
                continue;
            }
            if self.next >= self.inputs.len() {
                return None;
            }
            if let Some(batch) = self.open_next() {
                return Some(batch);
            }
        }
    }
}

/// Returns a fault for each file that was read and made no event, among files that did.
pub(super) fn find_eventless(files: &[Option<FileReport>]) -> impl Iterator<Item = Fault> + '_ {
    files.iter().flatten().filter(|file| file.events == 0).map(|file| Fault {
        file: Arc::clone(&file.name),
        line: 1,
        column: None,
        code: input::NO_EVENTS,
        message: format!("nothing in this file is an event when it is read as {}; check its format", file.format),
    })
}

/// Decodes chunks with a new decoder, to the end.
fn decode_chunks(mut decoder: Box<dyn Decoder>, chunks: &[Chunk]) -> DecodedEvents {
    let mut decoded = DecodedEvents::default();
    feed_decoder(chunks, decoder.as_mut(), &mut decoded);
    decoder.finish(&mut decoded);
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

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Decodes all its events.
    pub(super) fn decode(self, options: &AuditOptions) -> DecodedEvents {
        match self.work {
            BatchContent::Decoded(decoded, _) => decoded,
            BatchContent::Chunk(chunk) => decode_chunks(options.decoder(self.format), &[chunk]),
            BatchContent::File(chunks) => decode_chunks(options.decoder(self.format), &chunks),
        }
    }

    /// Divides it among the shards.
    pub(super) fn divide(self, hasher: &RandomState, shards: usize, options: &AuditOptions) -> ShardedBatch {
        let (file, format) = (self.file, self.format);
        let mut batch = ShardedBatch {
            file,
            bytes: 0,
            lines: None,
            events: Vec::new(),
            faults: Vec::new(),
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
                batch.add_decoded(decode_chunks(options.decoder(format), &[chunk]), hasher);
            }
            BatchContent::File(chunks) => {
                batch.bytes = chunks.iter().map(Chunk::size).sum();
                batch.add_decoded(decode_chunks(options.decoder(format), &chunks), hasher);
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
        for line in chunk.lines() {
            match chunk.line(&line).ok().and_then(|text| decoder.session(text)) {
                Some(session) => {
                    let shard = self.shard_index(hash_session(hasher, Some(session)));
                    self.shard_items[shard].push(ShardItem::Line(line));
                }
                None => {
                    let mut decoded = DecodedEvents::default();
                    chunk.decode_line(&line, decoder.as_mut(), &mut decoded);
                    self.add_decoded(decoded, hasher);
                }
            }
        }
    }

    fn add_decoded(&mut self, decoded: DecodedEvents, hasher: &RandomState) {
        self.faults.extend(decoded.faults);
        for event in decoded.events {
            let hash = match (&event.session, self.spans_files) {
                (Some(session), true) => hash_session(hasher, Some(session)),
                (session, _) => hasher.hash_one((self.file, session.as_deref())),
            };
            let (place, shard) = (self.events.len() as u32, self.shard_index(hash));
            self.shard_items[shard].push(ShardItem::Event(place, hash));
            self.events.push(event);
        }
    }

    fn shard_index(&self, hash: u64) -> usize {
        hash as usize % self.shard_items.len()
    }
}

/// Hashes a session that continues in other files.
pub(super) fn hash_session(hasher: &RandomState, session: Option<&str>) -> u64 {
    hasher.hash_one(session)
}

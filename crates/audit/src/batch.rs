//! Files cut into pieces of work.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::AuditOptions;
use crate::report::FileReport;
use lictor_decode::input::{self, Chunk, ChunkLine, Chunks, Input, InputError};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format};
use lictor_event::Event;

/// A piece of a file.
pub(super) struct Batch {
    /// The file's number among the inputs.
    file: usize,
    format: Format,
    work: Work,
}

enum Work {
    /// A chunk whose records stand alone.
    Chunk(Chunk),
    /// A whole file, small enough for one piece.
    File(Vec<Chunk>),
    /// Part of a file whose records must be taken in order, decoded already.
    Decoded(DecodedEvents, u64),
}

/// A piece of work, told apart by who judges what of it.
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) bytes: u64,
    /// Lines that are decoded by whoever judges them: what is made of a line is then judged while it is at hand.
    pub(super) lines: Option<Chunk>,
    /// Events that had to be decoded to see whose they are.
    pub(super) events: Vec<Event>,
    pub(super) faults: Vec<Fault>,
    /// For each shard, what it judges, in order; none where a single one judges all lines.
    pub(super) of_shard: Vec<Vec<Share>>,
    /// Whether sessions go on in other files.
    pub(super) spans_files: bool,
}

/// Something to judge.
pub(super) enum Share {
    /// A line.
    Line(ChunkLine),
    /// An event by its place, with the hash of its session.
    Event(u32, u64),
}

/// All pieces of all files, in order.
pub(super) struct Batches<'a> {
    inputs: &'a [Input],
    options: &'a AuditOptions,
    next: usize,
    current: Option<Current>,
    /// What is known of each input so far; none for those that cannot be read.
    files: Vec<Option<FileReport>>,
    faults: Vec<Fault>,
}

/// A file that is being read.
struct Current {
    file: usize,
    format: Format,
    chunks: Chunks,
    /// For a file that must be taken in order: its decoder, between pieces.
    decoder: Option<Box<dyn Decoder>>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(inputs: &'a [Input], options: &'a AuditOptions) -> Batches<'a> {
        Batches { inputs, options, next: 0, current: None, files: Vec::new(), faults: Vec::new() }
    }

    /// Counts events of a file.
    pub(super) fn note(&mut self, file: usize, events: u64) {
        if let Some(Some(file)) = self.files.get_mut(file) {
            file.events += events;
        }
    }

    /// What was read, by input, and the inputs that could not be.
    pub(super) fn into_files(self) -> (Vec<Option<FileReport>>, Vec<Fault>) {
        (self.files, self.faults)
    }

    /// Opens the next input. One that cannot be read is a fault like any other: the rest is still judged.
    fn open(&mut self) -> Option<Batch> {
        let input = &self.inputs[self.next];
        let file = self.next;
        self.next += 1;
        match self.begin(file, input) {
            Ok(batch) => batch,
            Err(error) => {
                self.files.resize(file + 1, None);
                let (name, message) = (Arc::clone(input.name()), error.to_string());
                self.faults.push(Fault { file: name, line: 1, column: None, code: "input.unreadable", message });
                None
            }
        }
    }

    fn begin(&mut self, file: usize, input: &Input) -> Result<Option<Batch>, InputError> {
        let format = match self.options.format {
            Some(format) => format,
            None => input::detect(input, &self.options.limits)?.1,
        };
        let mut chunks = input.chunks(&self.options.limits)?;
        self.files.push(Some(FileReport { name: Arc::clone(input.name()), format, events: 0 }));
        if format.records_stand_alone() {
            self.current = Some(Current { file, format, chunks, decoder: None });
            return Ok(None);
        }
        let Some(first) = chunks.next() else { return Ok(None) };
        match chunks.next() {
            None => Ok(Some(Batch { file, format, work: Work::File(vec![first]) })),
            Some(second) => {
                let mut decoder = format.decoder();
                let mut decoded = DecodedEvents::default();
                let bytes = first.size() + second.size();
                take(&[first, second], decoder.as_mut(), &mut decoded);
                self.current = Some(Current { file, format, chunks, decoder: Some(decoder) });
                Ok(Some(Batch { file, format, work: Work::Decoded(decoded, bytes) }))
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
                    (Some(chunk), None) => return Some(Batch { file, format, work: Work::Chunk(chunk) }),
                    (Some(chunk), Some(decoder)) => {
                        let mut decoded = DecodedEvents::default();
                        let bytes = chunk.size();
                        take(&[chunk], decoder.as_mut(), &mut decoded);
                        return Some(Batch { file, format, work: Work::Decoded(decoded, bytes) });
                    }
                    (None, decoder) => {
                        let decoder = decoder.take();
                        self.current = None;
                        if let Some(mut decoder) = decoder {
                            let mut decoded = DecodedEvents::default();
                            decoder.finish(&mut decoded);
                            return Some(Batch { file, format, work: Work::Decoded(decoded, 0) });
                        }
                    }
                }
                continue;
            }
            if self.next >= self.inputs.len() {
                return None;
            }
            if let Some(batch) = self.open() {
                return Some(batch);
            }
        }
    }
}

/// What a decoder of its own makes of some chunks.
fn decoded(format: Format, chunks: &[Chunk]) -> DecodedEvents {
    let (mut decoder, mut decoded) = (format.decoder(), DecodedEvents::default());
    take(chunks, decoder.as_mut(), &mut decoded);
    decoder.finish(&mut decoded);
    decoded
}

/// Gives all records of some chunks to a decoder.
fn take(chunks: &[Chunk], decoder: &mut dyn Decoder, decoded: &mut DecodedEvents) {
    chunks.iter().for_each(|chunk| chunk.decode(None, decoder, decoded));
}

impl Batch {
    pub(super) fn file(&self) -> usize {
        self.file
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// All its events, whoever judges them.
    pub(super) fn decode(self) -> DecodedEvents {
        match self.work {
            Work::Decoded(decoded, _) => decoded,
            Work::Chunk(chunk) => decoded(self.format, &[chunk]),
            Work::File(chunks) => decoded(self.format, &chunks),
        }
    }

    /// Finds out who judges what.
    pub(super) fn divide(self, hasher: &RandomState, shards: usize) -> Piece {
        let (file, format) = (self.file, self.format);
        let mut piece = Piece {
            file,
            bytes: 0,
            lines: None,
            events: Vec::new(),
            faults: Vec::new(),
            of_shard: (0..shards).map(|_| Vec::new()).collect(),
            spans_files: format == Format::Native,
        };
        match self.work {
            Work::Decoded(decoded, bytes) => {
                piece.bytes = bytes;
                piece.add(decoded, hasher);
            }
            Work::Chunk(chunk) if format == Format::Native && chunk.is_lines() => {
                piece.bytes = chunk.size();
                if shards > 1 {
                    piece.divide_lines(&chunk, hasher);
                } else {
                    piece.of_shard.clear();
                }
                piece.lines = Some(chunk);
            }
            Work::Chunk(chunk) => {
                piece.bytes = chunk.size();
                piece.add(decoded(format, &[chunk]), hasher);
            }
            Work::File(chunks) => {
                piece.bytes = chunks.iter().map(Chunk::size).sum();
                piece.add(decoded(format, &chunks), hasher);
            }
        }
        piece
    }
}

impl Piece {
    /// Gives each line to the shard of its session. A line that does not tell it at a glance is decoded here.
    fn divide_lines(&mut self, chunk: &Chunk, hasher: &RandomState) {
        let mut decoder = Format::Native.decoder();
        for line in chunk.lines() {
            match chunk.line(&line).ok().and_then(|text| decoder.session(text)) {
                Some(session) => {
                    let shard = self.shard_of(hash_of(hasher, Some(session)));
                    self.of_shard[shard].push(Share::Line(line));
                }
                None => {
                    let mut decoded = DecodedEvents::default();
                    chunk.decode_line(&line, decoder.as_mut(), &mut decoded);
                    self.add(decoded, hasher);
                }
            }
        }
    }

    fn add(&mut self, decoded: DecodedEvents, hasher: &RandomState) {
        self.faults.extend(decoded.faults);
        for event in decoded.events {
            let hash = match (&event.session, self.spans_files) {
                (Some(session), true) => hash_of(hasher, Some(session)),
                (session, _) => hasher.hash_one((self.file, session.as_deref())),
            };
            let (place, shard) = (self.events.len() as u32, self.shard_of(hash));
            self.of_shard[shard].push(Share::Event(place, hash));
            self.events.push(event);
        }
    }

    fn shard_of(&self, hash: u64) -> usize {
        hash as usize % self.of_shard.len()
    }
}

/// The hash of a session that goes on in other files.
pub(super) fn hash_of(hasher: &RandomState, session: Option<&str>) -> u64 {
    hasher.hash_one(session)
}

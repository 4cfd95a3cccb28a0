//! Files cut into pieces of work.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::Options;
use crate::decode::{Decoded, Decoder, Fault, Format};
use crate::event::Event;
use crate::input::{self, Chunk, Chunks, Input, InputError};
use crate::report::FileReport;

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
    Decoded(Decoded, u64),
}

/// The events of a piece.
pub(super) struct Events {
    pub(super) file: usize,
    pub(super) bytes: u64,
    pub(super) events: Vec<Event>,
    pub(super) faults: Vec<Fault>,
    /// For each shard, its events, each with the hash of its session.
    pub(super) of_shard: Vec<Vec<(u32, u64)>>,
    /// Whether sessions go on in other files.
    pub(super) spans_files: bool,
}

/// All pieces of all files, in order.
pub(super) struct Batches<'a> {
    inputs: &'a [Input],
    options: &'a Options,
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
    pub(super) fn new(inputs: &'a [Input], options: &'a Options) -> Batches<'a> {
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
                let mut decoded = Decoded::default();
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
                        let mut decoded = Decoded::default();
                        let bytes = chunk.size();
                        take(&[chunk], decoder.as_mut(), &mut decoded);
                        return Some(Batch { file, format, work: Work::Decoded(decoded, bytes) });
                    }
                    (None, decoder) => {
                        let decoder = decoder.take();
                        self.current = None;
                        if let Some(mut decoder) = decoder {
                            let mut decoded = Decoded::default();
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

/// Gives all records of some chunks to a decoder.
fn take(chunks: &[Chunk], decoder: &mut dyn Decoder, decoded: &mut Decoded) {
    chunks.iter().for_each(|chunk| chunk.decode(None, decoder, decoded));
}

impl Batch {
    /// The events of the piece, told apart by who judges them.
    pub(super) fn decode(self, hasher: &RandomState, shards: usize) -> Events {
        let mut decoded = Decoded::default();
        let bytes = match self.work {
            Work::Decoded(ready, bytes) => {
                decoded = ready;
                bytes
            }
            Work::Chunk(chunk) => {
                let mut decoder = self.format.decoder();
                let bytes = chunk.size();
                take(&[chunk], decoder.as_mut(), &mut decoded);
                decoder.finish(&mut decoded);
                bytes
            }
            Work::File(chunks) => {
                let mut decoder = self.format.decoder();
                let bytes = chunks.iter().map(Chunk::size).sum();
                take(&chunks, decoder.as_mut(), &mut decoded);
                decoder.finish(&mut decoded);
                bytes
            }
        };
        let spans_files = self.format == Format::Native;
        let mut of_shard = vec![Vec::new(); shards];
        for (place, event) in decoded.events.iter().enumerate() {
            let hash = match (&event.session, spans_files) {
                (Some(session), true) => hasher.hash_one(session.as_str()),
                (session, _) => hasher.hash_one((self.file, session.as_deref())),
            };
            of_shard[hash as usize % shards].push((place as u32, hash));
        }
        let Decoded { events, faults } = decoded;
        Events { file: self.file, bytes, events, faults, of_shard, spans_files }
    }
}

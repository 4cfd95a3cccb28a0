//! From what the user names to records.
//!
//! [`find`] turns paths, directories, globs and `-` into [`Input`]s. An input is read as [`Chunks`]: blocks of some tens of
//! kilobytes that end where a record ends, so that memory stays flat and chunks can be decoded side by side. A
//! [`Chunk`] gives its [`LogRecords`], and beside them the places that could not be read: a mistake costs its record, never
//! the rest of the file.
//!
//! What a file is shows in its content, not in its name:
//!
//! | first bytes | framing | records |
//! |---|---|---|
//! | the magic number of gzip or zstd | as its content | |
//! | `<` | [`Framing::Whole`] | the whole text |
//! | `GET /path HTTP/1.1`, `HTTP/1.1 200` | [`Framing::Http`] | each JSON body, each payload of a streamed body |
//! | `data:`, `event:`, `id:`, `retry:`, `:` | [`Framing::Events`] | each payload |
//! | `{`, `[`, `"` that begin JSON | [`Framing::Json`] | see below |
//! | anything else | [`Framing::Lines`] | each line, as a string |
//!
//! JSON comes as one value a line, as elements of one list, or as documents that span lines. If the first line is a
//! whole value, each line is a record: strictly, so that a torn line costs one line. Otherwise a record ends with the
//! line on which its brackets close. A list is a record of its own where more lines follow it, or where it begins with
//! something other than an object or a list (`["tool_call"]` is a step with one fact); otherwise its elements are the
//! records. A list of nothing has no records. Two values on one line are a mistake in either case.

mod chunk;
mod chunks;
mod error;
mod events;
mod find;
mod framing;
mod http;
mod lines;
mod source;
mod values;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use chunk::ChunkLine;
pub use chunk::{Chunk, LogRecords};
pub use chunks::Chunks;
pub use error::InputError;
pub use find::find;

use crate::{Format, Framing};

/// How many records show the format of a file.
const TELLING: usize = 50;

/// What an input may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// The longest record, in bytes: 64 MiB. A longer one is skipped and reported.
    pub record: usize,
    /// The longest file that is one text, in bytes: 1 GiB.
    pub whole: usize,
    /// The longest file after decompression, in bytes: 64 GiB.
    pub file: u64,
    /// How many bytes one compressed byte may become: 1000.
    pub ratio: u64,
    /// From how many decompressed bytes on the ratio counts: 64 MiB.
    pub ratio_from: u64,
    /// How long a chunk is, about, in bytes: 64 KiB, so that what is made of it is still in the cache when it is judged.
    pub chunk: usize,
}

impl Default for InputLimits {
    fn default() -> InputLimits {
        const MEBI: usize = 1 << 20;
        InputLimits {
            record: 64 * MEBI,
            whole: 1024 * MEBI,
            file: 64 << 30,
            ratio: 1000,
            ratio_from: 64 << 20,
            chunk: MEBI / 16,
        }
    }
}

/// Something to read: a file, standard input, or bytes at hand. It can be read any number of times.
#[derive(Clone)]
pub struct Input {
    name: Arc<str>,
    content: Content,
}

#[derive(Clone)]
enum Content {
    File(PathBuf),
    /// What came through a pipe, kept in a file without a name.
    Spooled(Arc<Mutex<File>>),
    Bytes(Arc<[u8]>),
}

impl Input {
    /// An input of bytes at hand.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: impl Into<Arc<[u8]>>) -> Input {
        Input { name: name.into(), content: Content::Bytes(bytes.into()) }
    }

    /// The name by which the user knows it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How many bytes it has as it lies there, compressed or not; none where that cannot be told.
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            Content::File(path) => path.metadata().ok().map(|data| data.len()),
            Content::Spooled(file) => {
                let file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.metadata().ok().map(|data| data.len())
            }
            Content::Bytes(bytes) => Some(bytes.len() as u64),
        }
    }

    /// Reads it from the beginning.
    pub fn chunks(&self, limits: &InputLimits) -> Result<Chunks, InputError> {
        let opened = match &self.content {
            Content::File(path) => File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>),
            Content::Spooled(file) => Ok(Box::new(Spooled { file: Arc::clone(file), at: 0 }) as Box<dyn Read + Send>),
            Content::Bytes(bytes) => Ok(Box::new(io::Cursor::new(Arc::clone(bytes))) as Box<dyn Read + Send>),
        };
        match opened {
            Ok(reader) => Chunks::open(Arc::clone(&self.name), reader, limits.clone()),
            Err(error) => Err(InputError::from_io(&self.name, &error)),
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Input").field(&self.name).finish()
    }
}

/// How an input is framed and which format it has, by its first records.
pub fn detect(input: &Input, limits: &InputLimits) -> Result<(Framing, Format), InputError> {
    let chunks = input.chunks(limits)?;
    let framing = chunks.framing();
    let mut records = Vec::new();
    let mut fault = None;
    for chunk in chunks {
        for record in chunk.records().take(TELLING - records.len()) {
            match record {
                Ok(record) => records.push(record.value),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        if !records.is_empty() {
            break;
        }
    }
    match (Format::detect(&records), fault) {
        (Some(format), _) => Ok((framing, format)),
        (None, Some(fault)) if records.is_empty() => Err(InputError::unreadable(&input.name, &fault)),
        (None, _) if records.is_empty() => {
            Err(InputError::new(&input.name, "holds no records").hint("is this the log you meant?"))
        }
        (None, _) => {
            let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
            Err(InputError::new(&input.name, "is in no format that is known here")
                .hint(format!("name the format with --input-format, one of: {}", names.join(", "))))
        }
    }
}

/// A reader of its own over a spooled file that others read too.
struct Spooled {
    file: Arc<Mutex<File>>,
    at: u64,
}

impl Read for Spooled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The position is set before every read, so one that panicked elsewhere has spoiled nothing.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

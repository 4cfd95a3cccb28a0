//! Files, directories, globs and standard input, read as records.
//!
//! [`find`] turns paths, directories, globs and `-` into [`Input`]s. An input is read as [`Chunks`]: blocks of some
//! tens of kilobytes that end where a record ends, so that memory stays flat and chunks can be decoded in parallel. A
//! [`Chunk`] returns its [`LogRecords`], and a fault for each place that could not be read: a mistake costs its record,
//! never the rest of the file.
//!
//! The first bytes of a file decide how it is read, not its name:
//!
//! | first bytes | framing | records |
//! |---|---|---|
//! | the magic number of gzip or zstd | as its content | |
//! | a zip archive with `samples/` | [`Framing::Json`] | each JSON file in it |
//! | `<` | [`Framing::Whole`] | the whole text |
//! | `GET /path HTTP/1.1`, `HTTP/1.1 200` | [`Framing::Http`] | each JSON body, each payload of a streamed body |
//! | `data:`, `event:`, `id:`, `retry:`, `:` | [`Framing::Events`] | each payload |
//! | `{`, `[`, `"` that begin JSON | [`Framing::Json`] | see below |
//! | anything else | [`Framing::Lines`] | each line, as a string |
//!
//! JSON comes as one value a line, as elements of one list, or as documents that span lines. If the first line is a
//! whole value, each line is a record: strictly, so that a torn line costs one line. Otherwise a record ends with the
//! line on which its brackets close. A list is one record where more lines follow it, or where it begins with something
//! other than an object or a list (`["tool_call"]` is a step with one fact); otherwise its elements are the records. An
//! empty list has no records. Two values on one line are a mistake in either case.

mod blocks;
mod byte_source;
mod chunk;
mod chunks;
mod error;
mod event_cutter;
mod http_cutter;
mod input_finder;
mod layout;
mod limits;
mod line_cutter;
mod line_reader;
mod log_name;
mod log_parts;
mod payloads;
mod spare_buffers;
mod value_cutter;
mod zip_members;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use chunk::{Chunk, ChunkLine, LogRecords};
pub use chunks::Chunks;
pub use error::InputError;
pub use input_finder::{FoundInputs, find, find_with_skipped};
pub use limits::InputLimits;

use crate::closest_format::describe_unknown;
use crate::mixed_sessions::MIXED_SESSIONS;
use crate::order_faults::REVERSED_LOG;
pub use crate::order_faults::{UNORDERED_LOG, is_clear_fall};
use crate::sliding_windows::UNJOINED_WINDOWS;
use crate::xes::{BROKEN_XML, NAMELESS_EVENT};
use crate::{Fault, Format, Framing};
use chunk::TOO_LONG;
use lictor_json::Json;

/// The code of a fault for a whole file that cannot be read.
pub const UNREADABLE: &str = "input.unreadable";

/// The code of a fault for a file that was read and made no event, while other files did.
pub const NO_EVENTS: &str = "input.no_events";

/// Whether a fault is about a whole file or everything after a place in it, so that its cost is unknown: it could not be
/// read, or its sessions and their order may not be those that are judged.
///
/// Other faults cost one record each.
pub fn is_of_unknown_extent(fault: &Fault) -> bool {
    fault.code.starts_with("input.")
        || [MIXED_SESSIONS, UNJOINED_WINDOWS, REVERSED_LOG, UNORDERED_LOG, BROKEN_XML].contains(&fault.code)
}

/// What the message of a fault ends with if the record that it refuses seems to hold a call.
pub(crate) const HELD_CALL: &str = "; the record seems to hold a call, which is not judged";

/// Whether a fault says that a call is not judged: one that was not read, or that is, or may be, in a record that was
/// refused. Then a property may be violated, however much else was read.
///
/// Other faults may cost words only.
pub fn hides_call(fault: &Fault) -> bool {
    let codes = ["decode.unread_call", "decode.unnamed_call", "decode.missing_call", NAMELESS_EVENT, TOO_LONG];
    codes.contains(&fault.code) || fault.message.ends_with(HELD_CALL)
}

/// How many records a format is detected by.
const DETECTION_RECORDS: usize = 50;

/// A file, standard input, or bytes in memory. It can be read any number of times.
#[derive(Clone)]
pub struct Input {
    name: Arc<str>,
    /// The log of which it is one of several parts.
    log: Option<Arc<str>>,
    content: InputContent,
}

/// Where the bytes of an input are.
#[derive(Clone)]
enum InputContent {
    File(PathBuf),
    /// The bytes of a pipe, kept in a temporary file without a name.
    Spooled(Arc<Mutex<File>>),
    Bytes(Arc<[u8]>),
}

impl Input {
    /// Returns an input of bytes in memory.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: impl Into<Arc<[u8]>>) -> Input {
        Input { name: name.into(), log: None, content: InputContent::Bytes(bytes.into()) }
    }

    /// Returns the name by which the user knows it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the log of which it is one of several parts: a rotated log, or the requests and answers of a batch. None if
    /// it is a log of its own.
    pub fn log(&self) -> Option<&Arc<str>> {
        self.log.as_ref()
    }

    /// Returns the path of a file; none for standard input and for bytes in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.content {
            InputContent::File(path) => Some(path),
            InputContent::Spooled(_) | InputContent::Bytes(_) => None,
        }
    }

    /// Returns its stored size in bytes, compressed or not; none where that is unknown.
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            InputContent::File(path) => path.metadata().ok().map(|data| data.len()),
            InputContent::Spooled(file) => {
                let file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.metadata().ok().map(|data| data.len())
            }
            InputContent::Bytes(bytes) => Some(bytes.len() as u64),
        }
    }

    /// Reads the input from the beginning.
    pub fn chunks(&self, limits: &InputLimits) -> Result<Chunks, InputError> {
        let opened = match &self.content {
            InputContent::File(path) => File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>),
            InputContent::Spooled(file) => {
                Ok(Box::new(SpoolReader { file: Arc::clone(file), position: 0 }) as Box<dyn Read + Send>)
            }
            InputContent::Bytes(bytes) => Ok(Box::new(io::Cursor::new(Arc::clone(bytes))) as Box<dyn Read + Send>),
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

/// Returns the member in which a log shipper or a database keeps the records of an input; none if they are bare.
pub fn find_wrapper(input: &Input, limits: &InputLimits) -> Option<&'static str> {
    let (_, records, _) = read_first_records(input, limits).ok()?;
    Format::open_records(&records).map(|(key, _)| key)
}

/// Reads the records by which a format is detected, and the first fault among them.
fn read_first_records(input: &Input, limits: &InputLimits) -> Result<(Framing, Vec<Json>, Option<Fault>), InputError> {
    let chunks = input.chunks(limits)?;
    let framing = chunks.framing();
    let mut records = Vec::new();
    let mut fault = None;
    for chunk in chunks {
        for record in chunk.records().take(DETECTION_RECORDS - records.len()) {
            match record {
                Ok(record) => records.push(record.value),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        if !records.is_empty() {
            break;
        }
    }
    Ok((framing, records, fault))
}

/// Detects how an input is framed and which format it has, by its first records.
pub fn detect(input: &Input, limits: &InputLimits) -> Result<(Framing, Format), InputError> {
    let (framing, records, fault) = read_first_records(input, limits)?;
    match (Format::detect(&records), fault) {
        (Some(Format::Actions), _) if is_document(&input.name) => {
            Err(InputError::new(&input.name, "is a document with numbered lines, not a log")
                .with_hint("if the lines are what an agent did, name the format with --input-format actions"))
        }
        (Some(format), _) => Ok((framing, format)),
        (None, Some(fault)) if records.is_empty() => Err(InputError::from_fault(&input.name, &fault)),
        (None, _) if records.is_empty() => {
            Err(InputError::new(&input.name, "holds no records").with_hint("check that this is the log you meant"))
        }
        (None, _) => {
            let seen = describe_unknown(&records);
            Err(InputError::new(&input.name, format!("is in no known format: {seen}"))
                .with_hint("name the format with --input-format; `--input-format help` lists all formats"))
        }
    }
}

/// Whether a file is a document by its name. Documents have numbered lists too, and those are no actions of an agent.
fn is_document(name: &str) -> bool {
    let endings = ["md", "markdown", "mdx", "rst", "adoc", "org", "tex"];
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

/// Reads a spooled file from its own position, while others read it too.
struct SpoolReader {
    file: Arc<Mutex<File>>,
    position: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The position is set before every read, so one that panicked elsewhere has spoiled nothing.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.position))?;
        let count = file.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

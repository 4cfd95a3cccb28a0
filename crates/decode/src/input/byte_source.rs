//! The bytes of a file, decompressed and counted.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::limits::InputLimits;
use super::zip_members;

/// The largest window of a zstd frame, as a power of two: what `zstd -19` and any level below uses.
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// How many bytes show whether a file is compressed.
const MAGIC_BYTES: u64 = 4;

type BoxedReader = Box<dyn Read + Send>;

/// The content of a file, decompressed and within the limits.
pub(super) struct ByteSource {
    content: BoxedReader,
    limits: InputLimits,
    compressed: bool,
    /// How many bytes were read from a compressed file.
    raw: Arc<AtomicU64>,
    /// How many bytes came out.
    plain: u64,
}

impl ByteSource {
    pub(super) fn new(mut file: BoxedReader, limits: InputLimits) -> io::Result<ByteSource> {
        let mut magic = Vec::new();
        file.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
        let raw = Arc::new(AtomicU64::new(magic.len() as u64));
        let start = io::Cursor::new(magic.clone());
        let counted = |file| CountingReader { file, count: Arc::clone(&raw) };
        let (content, compressed): (BoxedReader, bool) = match *magic {
            [0x1f, 0x8b, ..] => (Box::new(flate2::read::MultiGzDecoder::new(start.chain(counted(file)))), true),
            // A frame, or a skippable one before it.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let mut decoder = zstd::stream::read::Decoder::new(start.chain(counted(file)))?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                (Box::new(decoder), true)
            }
            [b'P', b'K', 3, 4] => zip_members::open(start.chain(counted(file)), &limits)?,
            _ => (Box::new(start.chain(file)), false),
        };
        Ok(ByteSource { content, limits, compressed, raw, plain: 0 })
    }

    /// Appends so many bytes to a buffer, or all that are left, and returns how many. What was appended before an error
    /// stays.
    pub(super) fn read_block(&mut self, length: usize, buffer: &mut Vec<u8>) -> io::Result<usize> {
        if self.compressed {
            return DecompressedReader(self).take(length as u64).read_to_end(buffer);
        }
        // Readers of the standard library do not clear the buffer before they fill it. One of our own, which counts the
        // bytes, would have each byte cleared.
        let within = (length as u64).min(self.limits.file - self.plain);
        let count = self.content.by_ref().take(within).read_to_end(buffer)?;
        self.plain += count as u64;
        let is_at_limit = count as u64 == within && within < length as u64;
        if is_at_limit && self.content.by_ref().take(1).read_to_end(&mut Vec::new())? > 0 {
            return Err(ReadFailure::TooLong(self.limits.file).into());
        }
        Ok(count)
    }
}

/// Reads what comes out of a compressed file, and stops at a limit.
struct DecompressedReader<'s>(&'s mut ByteSource);

impl Read for DecompressedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = &mut *self.0;
        let count = source.content.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => ReadFailure::Compressed(error.to_string()).into(),
        })?;
        source.plain += count as u64;
        if source.plain > source.limits.file {
            return Err(ReadFailure::TooLong(source.limits.file).into());
        }
        let most = source.raw.load(Ordering::Relaxed).saturating_mul(source.limits.ratio);
        if source.plain > source.limits.ratio_from && source.plain > most {
            return Err(ReadFailure::Bomb(source.limits.ratio).into());
        }
        Ok(count)
    }
}

/// Why a file is not read to its end.
#[derive(Debug)]
enum ReadFailure {
    Compressed(String),
    TooLong(u64),
    Bomb(u64),
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadFailure::Compressed(error) => {
                write!(f, "the compressed data is corrupt or truncated ({error}); the records before it were read")
            }
            ReadFailure::TooLong(limit) => {
                write!(
                    f,
                    "the file is over the limit of {limit} bytes; the rest was not read; raise the limit or split it"
                )
            }
            ReadFailure::Bomb(ratio) => write!(
                f,
                "the compressed data expands more than {ratio} times, like a decompression bomb; the rest was not read; \
                 decompress the file yourself if you trust it"
            ),
        }
    }
}

impl std::error::Error for ReadFailure {}

impl From<ReadFailure> for io::Error {
    fn from(failure: ReadFailure) -> io::Error {
        io::Error::other(failure)
    }
}

/// Returns the code and the message for a failed read.
pub(super) fn describe_failure(error: &io::Error) -> (&'static str, String) {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ReadFailure>()) {
        Some(failure @ ReadFailure::Compressed(_)) => ("input.compressed", failure.to_string()),
        Some(failure @ ReadFailure::TooLong(_)) => ("input.too_long", failure.to_string()),
        Some(failure @ ReadFailure::Bomb(_)) => ("input.bomb", failure.to_string()),
        None => ("input.read", format!("the rest of the file cannot be read: {error}")),
    }
}

/// Counts the bytes that are read from the file.
struct CountingReader {
    file: BoxedReader,
    count: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

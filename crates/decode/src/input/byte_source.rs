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
    /// How many bytes were read from the file.
    raw: Arc<AtomicU64>,
    /// How many bytes came out.
    plain: u64,
}

impl ByteSource {
    pub(super) fn new(file: BoxedReader, limits: InputLimits) -> io::Result<ByteSource> {
        let raw = Arc::new(AtomicU64::new(0));
        let mut file = CountingReader { file, count: Arc::clone(&raw) };
        let mut magic = Vec::new();
        file.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
        let whole = io::Cursor::new(magic.clone()).chain(file);
        let (content, compressed): (BoxedReader, bool) = match *magic {
            [0x1f, 0x8b, ..] => (Box::new(flate2::read::MultiGzDecoder::new(whole)), true),
            // A frame, or a skippable one before it.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let mut decoder = zstd::stream::read::Decoder::new(whole)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                (Box::new(decoder), true)
            }
            [b'P', b'K', 3, 4] => zip_members::open(whole, &limits)?,
            _ => (Box::new(whole), false),
        };
        Ok(ByteSource { content, limits, compressed, raw, plain: 0 })
    }
}

impl Read for ByteSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer).map_err(|error| match self.compressed {
            true if error.kind() != io::ErrorKind::Interrupted => ReadFailure::Compressed(error.to_string()).into(),
            _ => error,
        })?;
        self.plain += count as u64;
        if self.plain > self.limits.file {
            return Err(ReadFailure::TooLong(self.limits.file).into());
        }
        let most = self.raw.load(Ordering::Relaxed).saturating_mul(self.limits.ratio);
        if self.compressed && self.plain > self.limits.ratio_from && self.plain > most {
            return Err(ReadFailure::Bomb(self.limits.ratio).into());
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

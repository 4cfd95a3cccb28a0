//! The bytes of a file, decompressed and counted.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::InputLimits;

/// The largest window of a zstd frame, as a power of two: what `zstd -19` and any level below uses.
const WINDOW: u32 = 27;

/// How much is read to see what a file is.
const MAGIC: u64 = 4;

type Bytes = Box<dyn Read + Send>;

/// The content of a file: what it holds once it is decompressed, within the limits.
pub(super) struct Source {
    content: Bytes,
    limits: InputLimits,
    compressed: bool,
    /// How many bytes were read from the file.
    raw: Arc<AtomicU64>,
    /// How many bytes came out.
    plain: u64,
}

impl Source {
    pub(super) fn new(file: Bytes, limits: InputLimits) -> io::Result<Source> {
        let raw = Arc::new(AtomicU64::new(0));
        let mut file = Counted { file, count: Arc::clone(&raw) };
        let mut magic = Vec::new();
        file.by_ref().take(MAGIC).read_to_end(&mut magic)?;
        let whole = io::Cursor::new(magic.clone()).chain(file);
        let (content, compressed): (Bytes, bool) = match *magic {
            [0x1f, 0x8b, ..] => (Box::new(flate2::read::MultiGzDecoder::new(whole)), true),
            // A frame, or a skippable one before it.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let mut decoder = zstd::stream::read::Decoder::new(whole)?;
                decoder.window_log_max(WINDOW)?;
                (Box::new(decoder), true)
            }
            _ => (Box::new(whole), false),
        };
        Ok(Source { content, limits, compressed, raw, plain: 0 })
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer).map_err(|error| match self.compressed {
            true if error.kind() != io::ErrorKind::Interrupted => Trouble::Compressed(error.to_string()).into(),
            _ => error,
        })?;
        self.plain += count as u64;
        if self.plain > self.limits.file {
            return Err(Trouble::TooLong(self.limits.file).into());
        }
        let most = self.raw.load(Ordering::Relaxed).saturating_mul(self.limits.ratio);
        if self.compressed && self.plain > self.limits.ratio_from && self.plain > most {
            return Err(Trouble::Bomb(self.limits.ratio).into());
        }
        Ok(count)
    }
}

/// Why a file is not read to its end.
#[derive(Debug)]
enum Trouble {
    Compressed(String),
    TooLong(u64),
    Bomb(u64),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Compressed(error) => {
                write!(f, "the compressed data is broken or ends early ({error}); what came before was read")
            }
            Trouble::TooLong(limit) => {
                write!(f, "the file holds more than {limit} bytes; the rest was not read; raise the limit or split it")
            }
            Trouble::Bomb(ratio) => write!(
                f,
                "the compressed data grows more than {ratio} times, as only a trap does; the rest was not read; decompress \
                 it yourself if you trust it"
            ),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> io::Error {
        io::Error::other(trouble)
    }
}

/// The code and the message for a reader that failed.
pub(super) fn trouble(error: &io::Error) -> (&'static str, String) {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Trouble>()) {
        Some(trouble @ Trouble::Compressed(_)) => ("input.compressed", trouble.to_string()),
        Some(trouble @ Trouble::TooLong(_)) => ("input.too_long", trouble.to_string()),
        Some(trouble @ Trouble::Bomb(_)) => ("input.bomb", trouble.to_string()),
        None => ("input.read", format!("the rest of the file cannot be read: {error}")),
    }
}

struct Counted {
    file: Bytes,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

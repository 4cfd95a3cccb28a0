//! How much an input may cost.

/// The bounds within which an input is read. Bounds that are not set keep their defaults.
///
/// ```
/// let limits = lictor_decode::input::InputLimits::default().record(1 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputLimits {
    pub(crate) record: usize,
    pub(crate) whole: usize,
    pub(crate) file: u64,
    pub(crate) ratio: u64,
    pub(crate) ratio_from: u64,
    pub(crate) chunk: usize,
}

impl InputLimits {
    /// Sets the longest record, in bytes; 64 MiB by default. A longer one is skipped and reported.
    #[must_use]
    pub fn record(self, record: usize) -> InputLimits {
        InputLimits { record, ..self }
    }

    /// Sets the longest file that is one text, in bytes; 1 GiB by default.
    #[must_use]
    pub fn whole(self, whole: usize) -> InputLimits {
        InputLimits { whole, ..self }
    }

    /// Sets the longest file after decompression, in bytes; 64 GiB by default.
    #[must_use]
    pub fn file(self, file: u64) -> InputLimits {
        InputLimits { file, ..self }
    }

    /// Sets how many bytes one compressed byte may become; 1000 by default.
    #[must_use]
    pub fn ratio(self, ratio: u64) -> InputLimits {
        InputLimits { ratio, ..self }
    }

    /// Sets from how many decompressed bytes on the ratio counts; 64 MiB by default.
    #[must_use]
    pub fn ratio_from(self, ratio_from: u64) -> InputLimits {
        InputLimits { ratio_from, ..self }
    }

    /// Sets about how long a chunk is, in bytes; 64 KiB by default, so that its events are still in the processor's cache
    /// when they are judged.
    #[must_use]
    pub fn chunk(self, chunk: usize) -> InputLimits {
        InputLimits { chunk, ..self }
    }
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

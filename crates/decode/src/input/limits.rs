//! How much an input may cost.

/// The bounds within which an input is read.
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
    /// About how long a chunk is, in bytes: 64 KiB, so that its events are still in the processor's cache when they are
    /// judged.
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

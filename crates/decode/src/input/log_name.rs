//! Which files of a directory are logs, by their names, and in which order they were written.

use std::cmp::Reverse;
use std::ffi::OsStr;

/// The extensions of logs. Only these files are read from a directory.
pub(super) const LOG_EXTENSIONS: [&str; 10] =
    ["json", "jsonl", "ndjson", "sse", "http", "xes", "traj", "eval", "txt", "log"];

/// The extensions of compressed files.
const COMPRESSED_EXTENSIONS: [&str; 4] = ["gz", "gzip", "zst", "zstd"];

/// The fewest digits of a rotated log's suffix that are a date, and not a number.
const DATE_DIGITS: usize = 8;

/// The name of a file, as rotation makes it: `agent.jsonl.2.gz` is the second old part of `agent.jsonl`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogName {
    /// The name without what rotation and compression add.
    base: String,
    part: LogPart,
    /// The whole name, so that the order is total.
    name: String,
}

/// A part of a rotated log. The order is that in which the parts were written.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LogPart {
    /// `agent.jsonl-20260501`, `agent.log.2026-05-01`.
    Dated(String),
    /// `agent.jsonl.2`: the higher number is the older part.
    Numbered(Reverse<u64>),
    /// The part that is written now, or a log without rotation.
    Current,
}

impl LogName {
    /// Returns the parts of a file's name.
    pub(super) fn parse(name: &OsStr) -> LogName {
        let name = name.to_string_lossy().into_owned();
        let plain = match name.rsplit_once('.') {
            Some((rest, last)) if is_any(&COMPRESSED_EXTENSIONS, last) => rest,
            _ => name.as_str(),
        };
        let rotated = [split_suffix(plain, '.'), split_suffix(plain, '-')].into_iter().flatten();
        let (base, part) = rotated
            .filter(|(base, _)| has_log_extension(base))
            .map(|(base, suffix)| (base.to_owned(), LogPart::from_suffix(suffix)))
            .next()
            .unwrap_or_else(|| (plain.to_owned(), LogPart::Current));
        LogName { base, part, name }
    }

    /// Returns the name of the log, without what rotation and compression add.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Whether both are the same part of the same log.
    pub(super) fn is_same_part(&self, other: &LogName) -> bool {
        self.base == other.base && self.part == other.part
    }

    /// Whether a file of this name is read from a directory.
    pub(super) fn is_log(&self) -> bool {
        has_log_extension(&self.base)
    }
}

impl LogPart {
    fn from_suffix(suffix: &str) -> LogPart {
        match suffix.parse() {
            Ok(number) if suffix.len() < DATE_DIGITS => LogPart::Numbered(Reverse(number)),
            _ => LogPart::Dated(suffix.to_owned()),
        }
    }
}

/// Splits off a number or a date after the first `mark` that only such a suffix follows.
fn split_suffix(name: &str, mark: char) -> Option<(&str, &str)> {
    let is_suffix = |suffix: &str| {
        suffix.starts_with(|first: char| first.is_ascii_digit())
            && suffix.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
    };
    let places = name.match_indices(mark).map(|(place, _)| (&name[..place], &name[place + 1..]));
    places.into_iter().find(|(_, suffix)| is_suffix(suffix))
}

fn has_log_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| is_any(&LOG_EXTENSIONS, extension))
}

fn is_any(extensions: &[&str], extension: &str) -> bool {
    extensions.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

//! The floor: only parsing the same lines into the same fields.

use std::error::Error;
use std::hint::black_box;

use compact_str::CompactString;
use serde::Deserialize;

/// The fields of an event that an audit needs: owned strings, arguments as a value.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "what counts is the time it takes to fill them")]
struct Line {
    #[serde(default)]
    session: Option<CompactString>,
    #[serde(default)]
    seq: Option<i64>,
    #[serde(default)]
    time: Option<CompactString>,
    kind: CompactString,
    #[serde(default)]
    agent: Option<CompactString>,
    #[serde(default)]
    id: Option<CompactString>,
    #[serde(default)]
    tool: Option<CompactString>,
    #[serde(default)]
    args: Option<sonic_rs::Value>,
    #[serde(default)]
    text: Option<CompactString>,
    #[serde(default)]
    purposes: Option<Vec<CompactString>>,
    #[serde(default)]
    categories: Option<Vec<CompactString>>,
    #[serde(default)]
    subjects: Option<Vec<CompactString>>,
    #[serde(default)]
    labels: Option<Vec<CompactString>>,
}

/// Parses every line.
pub(super) fn all(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Line = sonic_rs::from_slice(line)?;
        black_box(&line);
    }
    Ok(())
}

/// Parses every line on several threads, each with a separate piece.
pub(super) fn split(bytes: &[u8], threads: usize) -> Result<(), Box<dyn Error>> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for left in (1..=threads).rev() {
        let end = rest[rest.len() / left..].iter().position(|byte| *byte == b'\n');
        let end = end.map_or(rest.len(), |end| rest.len() / left + end + 1);
        let (piece, later) = rest.split_at(end.min(rest.len()));
        pieces.push(piece);
        rest = later;
    }
    let parse = |piece: &[u8]| all(piece).map_err(|error| error.to_string());
    std::thread::scope(|scope| {
        let threads: Vec<_> = pieces.into_iter().map(|piece| scope.spawn(move || parse(piece))).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread gave up")??;
        }
        Ok(())
    })
}

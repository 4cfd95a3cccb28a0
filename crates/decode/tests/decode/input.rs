//! Any bytes and paths are read as records.
//!
//! | file | result |
//! |---|---|
//! | empty lines, CRLF, no line end at the end | accepted |
//! | a truncated last line | a fault with its own code, and all before it is read |
//! | one line of a hundred megabytes | skipped in bounded memory, and the rest is read |
//! | two values on one line, a line that is no JSON | a fault with its place, and the rest is read |
//! | a byte order mark | accepted at the very beginning only |
//! | UTF-16, Parquet, an archive | an error that says what to do |
//! | gzip of several members, zstd of several frames | read as one |
//! | a compressed file that is a bomb, or truncated | a fault; the records before it are read |
//! | a list over many lines, documents over many lines | elements and documents are the records |
//! | server-sent events in every way to end a line | the same payloads |
//!
//! Every case is read in chunks of many sizes, down to a byte, and comes out the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod files;
mod framing;
mod limits;

use std::io::Write;

use lictor_decode::Framing;
use lictor_decode::input::{Input, InputLimits};

/// A record: a value with its line, or a fault with its line and code.
#[derive(Clone, Debug, PartialEq)]
enum Read {
    Value(u32, String),
    Fault(u32, &'static str),
}

fn value(line: u32, text: &str) -> Read {
    Read::Value(line, text.to_owned())
}

fn fault(line: u32, code: &'static str) -> Read {
    Read::Fault(line, code)
}

fn limits_of_chunk(chunk: usize) -> InputLimits {
    InputLimits::default().chunk(chunk)
}

/// Everything in an input.
fn read(bytes: &[u8], limits: &InputLimits) -> (Framing, Vec<Read>) {
    let chunks = Input::from_bytes("log", bytes).chunks(limits).unwrap();
    let framing = chunks.framing();
    let mut all = Vec::new();
    for chunk in chunks {
        for record in chunk.records() {
            all.push(match record {
                Ok(record) => Read::Value(record.line, record.value.to_string()),
                Err(fault) => Read::Fault(fault.line, fault.code),
            });
        }
    }
    (framing, all)
}

/// Reads bytes in chunks of many sizes, plain and compressed, and complains where the result is not as expected.
fn expect_records(name: &str, bytes: &[u8], framing: Framing, expected: &[Read]) {
    for chunk in [1, 2, 3, 5, 16, 100, 1 << 20] {
        let limits = limits_of_chunk(chunk);
        assert_eq!(read(bytes, &limits), (framing, expected.to_vec()), "{name}, in chunks of {chunk}");
    }
    assert_eq!(read(&gzip(bytes), &InputLimits::default()), (framing, expected.to_vec()), "{name}, with gzip");
    assert_eq!(read(&zstd(bytes), &InputLimits::default()), (framing, expected.to_vec()), "{name}, with zstd");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

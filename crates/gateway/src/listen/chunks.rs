//! Finds the end of a chunked body.
//!
//! The HTTP library decodes the chunks. This module only finds their end, as strictly as heads are checked, so that
//! both agree on where the next request begins.

use super::head::{BARE_LINE_END, Fault};

/// The longest line of a chunk's size, and the most bytes of trailers.
const MAX_LINE_BYTES: usize = 1024;
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// The position in a chunked body.
#[derive(Clone, Debug)]
pub(super) enum Chunks {
    /// In the line with a size: the size so far, the number of digits and of bytes, whether an extension has begun.
    Size { size: u64, digits: u8, bytes: usize, extended: bool },
    /// After the carriage return of that line.
    SizeEnd(u64),
    /// In the data of a chunk, with so many bytes left.
    Data(u64),
    /// After the data, before its line end; whether the carriage return was read.
    DataEnd(bool),
    /// In the trailers: bytes so far, bytes of this line, whether a carriage return was last.
    Trailers { bytes: usize, line: usize, returned: bool },
    /// After the last byte.
    Done,
}

const SIZE: Chunks = Chunks::Size { size: 0, digits: 0, bytes: 0, extended: false };
const BAD_SIZE: Fault = Fault::new("http.chunk", "invalid chunk size: not a hexadecimal number");

impl Chunks {
    pub(super) fn new() -> Chunks {
        SIZE
    }

    /// Reads bytes, and returns how many of them belong to the body.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut place = 0;
        while let Some(&byte) = bytes.get(place) {
            match self {
                Chunks::Done => break,
                // The data of a chunk is skipped at once, since it may be long.
                Chunks::Data(left) => {
                    let here = (bytes.len() - place).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= here as u64;
                    place += here;
                    if *left == 0 {
                        *self = Chunks::DataEnd(false);
                    }
                    continue;
                }
                _ => *self = self.next(byte)?,
            }
            place += 1;
        }
        Ok(place)
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Chunks::Done)
    }

    fn next(&self, byte: u8) -> Result<Chunks, Fault> {
        match *self {
            Chunks::Size { digits: 0, .. } if byte == b'\r' => Err(BAD_SIZE),
            Chunks::Size { size, .. } if byte == b'\r' => Ok(Chunks::SizeEnd(size)),
            Chunks::Size { bytes, .. } if byte == b'\n' || byte == 0 || bytes > MAX_LINE_BYTES => {
                Err(if byte == b'\n' { BARE_LINE_END } else { BAD_SIZE })
            }
            Chunks::Size { size, digits, bytes, extended: true } => {
                Ok(Chunks::Size { size, digits, bytes: bytes + 1, extended: true })
            }
            Chunks::Size { size, digits, bytes, extended: false } => match (byte, char::from(byte).to_digit(16)) {
                (_, Some(digit)) if digits < 15 => {
                    let size = (size << 4) | u64::from(digit);
                    Ok(Chunks::Size { size, digits: digits + 1, bytes: bytes + 1, extended: false })
                }
                (b';', _) if digits > 0 => Ok(Chunks::Size { size, digits, bytes: bytes + 1, extended: true }),
                _ => Err(BAD_SIZE),
            },
            Chunks::SizeEnd(_) if byte != b'\n' => Err(BARE_LINE_END),
            Chunks::SizeEnd(0) => Ok(Chunks::Trailers { bytes: 0, line: 0, returned: false }),
            Chunks::SizeEnd(size) => Ok(Chunks::Data(size)),
            Chunks::DataEnd(false) if byte == b'\r' => Ok(Chunks::DataEnd(true)),
            Chunks::DataEnd(true) if byte == b'\n' => Ok(SIZE),
            Chunks::DataEnd(_) => Err(Fault::new("http.chunk", "chunk data is longer than its chunk size")),
            Chunks::Trailers { bytes, line, returned } => match (byte, returned) {
                _ if bytes > MAX_TRAILER_BYTES => Err(Fault::new("http.trailers", "trailer section is too large")),
                (b'\n', true) if line == 0 => Ok(Chunks::Done),
                (b'\n', true) => Ok(Chunks::Trailers { bytes: bytes + 1, line: 0, returned: false }),
                (b'\n', false) | (_, true) => Err(BARE_LINE_END),
                (b'\r', false) => Ok(Chunks::Trailers { bytes: bytes + 1, line, returned: true }),
                (0, false) => Err(Fault::new("http.control", "NUL in trailer section")),
                _ => Ok(Chunks::Trailers { bytes: bytes + 1, line: line + 1, returned: false }),
            },
            Chunks::Data(_) | Chunks::Done => Ok(self.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the length of the body, read whole and byte by byte; none if it does not end.
    fn length(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let whole = {
            let mut chunks = Chunks::new();
            chunks.read(bytes).map_err(|fault| fault.code).map(|length| chunks.is_done().then_some(length))
        };
        let mut chunks = Chunks::new();
        let mut single = 0;
        for byte in bytes {
            match chunks.read(&[*byte]) {
                Ok(taken) => single += taken,
                Err(fault) => {
                    assert_eq!(whole, Err(fault.code));
                    return whole;
                }
            }
        }
        assert_eq!(whole, Ok(chunks.is_done().then_some(single)));
        whole
    }

    #[test]
    fn chunked_body_end_is_found_at_every_split() {
        for (body, rest) in [
            ("0\r\n\r\n", "GET /"),
            ("5\r\nhello\r\n0\r\n\r\n", ""),
            ("5;name=value\r\nhello\r\nA\r\n0123456789\r\n0\r\nauthorization: x\r\n\r\n", "POST"),
        ] {
            assert_eq!(length(format!("{body}{rest}").as_bytes()).unwrap(), Some(body.len()), "{body:?}");
        }
        assert_eq!(length(b"5\r\nhel").unwrap(), None);
    }

    #[test]
    fn chunk_sizes_and_line_ends_are_strict() {
        for body in [
            "\r\n",
            "5\nhello",
            "0x5\r\n",
            "-1\r\n",
            " 5\r\n",
            "5 \r\n",
            "5\r\nhelloX\r\n",
            "5\r\nhello\n",
            "FFFFFFFFFFFFFFFFF\r\n",
            "0\r\nA: b\n\r\n",
            "0\r\nA\rb\r\n\r\n",
        ] {
            assert!(length(body.as_bytes()).is_err(), "{body:?}");
        }
    }
}

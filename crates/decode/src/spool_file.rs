//! A temporary file for what does not fit into memory.
//!
//! The file has no name and is open to this process alone. It vanishes with the process, however that ends.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// A temporary file to which blocks of bytes are added. It is made on first use.
#[derive(Debug, Default)]
pub struct SpoolFile {
    file: Option<File>,
    end: u64,
}

/// Where a block of bytes is in a [`SpoolFile`].
#[derive(Clone, Copy, Debug)]
pub struct SpoolPlace {
    start: u64,
    length: usize,
}

impl SpoolPlace {
    /// Returns how many bytes it has.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl SpoolFile {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.file.is_none()
    }

    /// Adds a block of bytes, and returns where it is.
    ///
    /// # Errors
    ///
    /// The file cannot be made or written, as on a full disk. Then it is as before.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<SpoolPlace> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)?;
        let place = SpoolPlace { start: self.end, length: bytes.len() };
        self.end += bytes.len() as u64;
        Ok(place)
    }

    /// Reads a block to the end of a buffer.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&mut self, place: SpoolPlace, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(place.start))?;
        let before = out.len();
        out.resize(before + place.length, 0);
        file.read_exact(&mut out[before..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spool_file_returns_blocks_by_place() {
        let mut spool = SpoolFile::default();
        assert!(spool.is_empty());
        let places: Vec<SpoolPlace> = [&b"one"[..], b"", b"three"].map(|bytes| spool.write(bytes).unwrap()).to_vec();
        let mut read = Vec::new();
        places.iter().rev().for_each(|place| spool.read(*place, &mut read).unwrap());
        assert_eq!((read.as_slice(), places[2].length()), (&b"threeone"[..], 5));
    }
}

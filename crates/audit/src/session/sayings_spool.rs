//! The sayings of idle sessions, kept in a temporary file.
//!
//! A property about `argument_from` needs everything that was said in a session. Together that is as much as the log, so
//! only the sessions that were used last keep it in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// How many bytes of sayings a thread keeps in memory.
pub(super) const MAX_RESIDENT_BYTES: usize = 32 << 20;

/// The sayings of the sessions of one thread that are not in memory.
#[derive(Debug, Default)]
pub(super) struct SayingsSpool {
    /// Made on first use; it has no name, and vanishes with the process.
    file: Option<File>,
    end: u64,
}

/// Where the sayings of a session are in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpooledSayings {
    start: u64,
    length: usize,
}

impl SayingsSpool {
    /// Writes the sayings of a session.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<SpooledSayings> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)?;
        let spooled = SpooledSayings { start: self.end, length: bytes.len() };
        self.end += bytes.len() as u64;
        Ok(spooled)
    }

    /// Reads the sayings of a session.
    pub(super) fn read(&mut self, spooled: SpooledSayings) -> io::Result<Vec<u8>> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(spooled.start))?;
        let mut bytes = vec![0; spooled.length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

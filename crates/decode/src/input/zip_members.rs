//! The JSON files of a log that is a zip archive, a line each.
//!
//! Inspect writes a log as an archive with a header and a file for each sample. Only such an archive is opened. The
//! index of an archive is at its end, so the archive is kept in a temporary file while it is read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::limits::InputLimits;

/// How many bytes of a member are read at once.
const BLOCK_BYTES: usize = 1 << 16;

/// The folder of an archive with its samples.
const SAMPLES: &str = "samples/";

type MemberReader = Box<dyn Read + Send>;

/// Returns the content of an archive, and whether it is one that is read; another one is returned as it is.
pub(super) fn open(archive: impl Read, limits: &InputLimits) -> io::Result<(MemberReader, bool)> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut archive.take(limits.file), &mut file)?;
    let members = list_members(&file).unwrap_or_default();
    file.seek(SeekFrom::Start(0))?;
    if members.is_empty() {
        return Ok((Box::new(file), false));
    }
    let lines = MemberLines { file, members, open: None, block: Vec::new(), sent: 0, in_text: false, escapes: false };
    Ok((Box::new(lines), true))
}

/// Where a member is in the archive.
#[derive(Debug)]
struct Member {
    place: (u64, u64),
    method: CompressionMethod,
}

/// Returns the header and the samples of an archive; none if it has no samples or cannot be read.
fn list_members(file: &File) -> Option<VecDeque<Member>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file.try_clone().ok()?, &mut buffer).ok()?;
    let mut found = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().ok()? {
        let name = entry.file_path().try_normalize().ok()?.as_ref().to_owned();
        found.push((name, entry.wayfinder(), entry.compression_method()));
    }
    let has = |wanted: &str| found.iter().any(|(name, ..)| name == wanted);
    // A run that was interrupted has only the header of its beginning.
    let header = ["header.json", "_journal/start.json"].into_iter().find(|name| has(name))?;
    found.iter().find(|(name, ..)| name.starts_with(SAMPLES))?;
    let is_sample = |name: &str| name.starts_with(SAMPLES) && name.ends_with(".json");
    // The header first: it is the one that says what the samples are of.
    let (headers, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|(name, ..)| name == header);
    let members = headers.into_iter().chain(rest.into_iter().filter(|(name, ..)| is_sample(name)));
    let place = |(_, wayfinder, method)| {
        let place = archive.get_entry(wayfinder).ok()?.compressed_data_range();
        Some(Member { place, method })
    };
    members.map(place).collect()
}

/// The members of an archive, one after the other, each on one line.
struct MemberLines {
    file: File,
    members: VecDeque<Member>,
    open: Option<MemberReader>,
    block: Vec<u8>,
    /// How much of the block was returned.
    sent: usize,
    /// Whether the block ends inside a string of JSON, and there after a backslash.
    in_text: bool,
    escapes: bool,
}

impl Read for MemberLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.sent == self.block.len() {
            if !self.read_block()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.block.len() - self.sent);
        buffer[..count].copy_from_slice(&self.block[self.sent..self.sent + count]);
        self.sent += count;
        Ok(count)
    }
}

impl MemberLines {
    /// Reads the next block; returns whether there was one.
    fn read_block(&mut self) -> io::Result<bool> {
        let Some(open) = &mut self.open else {
            let Some(member) = self.members.pop_front() else { return Ok(false) };
            self.open = Some(self.open_member(&member)?);
            (self.in_text, self.escapes) = (false, false);
            return Ok(true);
        };
        self.sent = 0;
        self.block.resize(BLOCK_BYTES, 0);
        let count = open.read(&mut self.block)?;
        self.block.truncate(count);
        match count {
            0 => {
                self.open = None;
                self.block.push(b'\n');
            }
            _ => self.join_lines(),
        }
        Ok(true)
    }

    fn open_member(&self, member: &Member) -> io::Result<MemberReader> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(member.place.0))?;
        let content = file.take(member.place.1.saturating_sub(member.place.0));
        Ok(match member.method {
            CompressionMethod::STORE => Box::new(content),
            CompressionMethod::DEFLATE => Box::new(flate2::read::DeflateDecoder::new(content)),
            CompressionMethod::ZSTD => Box::new(zstd::stream::read::Decoder::new(content)?),
            method => return Err(io::Error::other(format!("the archive uses the unknown compression {method:?}"))),
        })
    }

    /// Replaces the line breaks between values by spaces. One inside a string is a mistake, and stays.
    fn join_lines(&mut self) {
        for byte in &mut self.block {
            match byte {
                _ if self.escapes => self.escapes = false,
                b'\\' if self.in_text => self.escapes = true,
                b'"' => self.in_text = !self.in_text,
                b'\n' | b'\r' if !self.in_text => *byte = b' ',
                _ => {}
            }
        }
    }
}

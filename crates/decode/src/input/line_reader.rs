//! Lines of any line end, one by one.

use memchr::memchr2;

use super::blocks::Blocks;

/// A line of a file.
pub(super) struct FileLine<'a> {
    /// Its content, without the line end.
    pub(super) text: &'a [u8],
    /// Its content with the line end.
    pub(super) whole: &'a [u8],
    pub(super) number: u32,
    /// Whether it was over the limit, so that its content is missing.
    pub(super) skipped: bool,
}

/// Reads lines that end with CR, LF or CRLF.
#[derive(Default)]
pub(super) struct LineReader {
    at: usize,
    lines: u32,
}

impl LineReader {
    /// Returns the number of the next line, from one.
    pub(super) fn line(&self) -> u32 {
        self.lines.saturating_add(1)
    }

    pub(super) fn next_line<'a>(&mut self, blocks: &'a mut Blocks) -> Option<FileLine<'a>> {
        if self.at > blocks.limits.chunk {
            blocks.buffer.drain(..self.at);
            self.at = 0;
        }
        let mut searched = self.at;
        let mut skipped = false;
        let (end, next) = loop {
            let found = memchr2(b'\r', b'\n', &blocks.buffer[searched..]).map(|length| searched + length);
            match found {
                // Whether LF follows CR shows in the next byte.
                Some(end) if end + 1 == blocks.buffer.len() && blocks.buffer[end] == b'\r' && !blocks.ended => {
                    searched = end;
                }
                Some(end) => {
                    let both = blocks.buffer[end..].starts_with(b"\r\n");
                    break (end, end + 1 + usize::from(both));
                }
                None if blocks.ended => break (blocks.buffer.len(), blocks.buffer.len()),
                None => searched = blocks.buffer.len(),
            }
            if searched - self.at > blocks.limits.record {
                skipped = true;
                blocks.buffer.drain(self.at..searched);
                searched = self.at;
            }
            blocks.read_more();
        };
        let start = self.at;
        if next == start && !skipped {
            return None;
        }
        self.at = next;
        self.lines = self.lines.saturating_add(1);
        if skipped || end - start > blocks.limits.record {
            return Some(FileLine { text: &[], whole: &[], number: self.lines, skipped: true });
        }
        let (text, whole) = (&blocks.buffer[start..end], &blocks.buffer[start..next]);
        Some(FileLine { text, whole, number: self.lines, skipped: false })
    }
}

//! The text of a policy, and places in it.

use std::ops::Range;
use std::sync::Arc;

use lictor_logic::Excerpt;

use super::{Place, Problem};

/// A text that holds a policy: a whole file, or a block in a page.
#[derive(Clone, Debug)]
pub struct PolicyText {
    /// The file, or the page of a pack.
    pub file: Arc<str>,
    /// The whole text.
    text: Arc<str>,
    /// The part of it that is the policy.
    body: Range<usize>,
    /// Where each line of the whole text begins.
    lines: Arc<[usize]>,
}

impl PolicyText {
    /// Creates the text of a file that is a policy as a whole.
    pub fn new(file: &str, text: &str) -> PolicyText {
        // A byte order mark is no part of the text, but editors still write it.
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place + 1);
        let lines = std::iter::once(start).chain(breaks).collect();
        PolicyText { file: file.into(), text: text.into(), body: start..text.len(), lines }
    }

    /// Returns this text with another part of it as the policy.
    #[must_use]
    pub fn with_body(&self, body: Range<usize>) -> PolicyText {
        PolicyText { body, ..self.clone() }
    }

    /// Returns the policy.
    pub fn body(&self) -> &str {
        self.text.get(self.body.clone()).unwrap_or_default()
    }

    /// Returns the offset in the file of an offset in the policy.
    pub fn file_offset(&self, offset: usize) -> usize {
        self.body.start + offset
    }

    /// Returns a part of the whole text.
    pub(super) fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    /// Returns the length of the policy after an offset of the file.
    pub(super) fn body_length_from(&self, offset: usize) -> usize {
        self.body.end.saturating_sub(offset)
    }

    /// Returns the place of a byte of the whole text.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let line = self.line_index(offset);
        let before = self.text.get(self.line_start(line)..offset).unwrap_or_default();
        Place { file: Arc::clone(&self.file), line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// Returns the number of the line of a byte of the whole text, from one.
    pub(super) fn line_number(&self, offset: usize) -> u32 {
        self.line_index(offset) as u32 + 1
    }

    /// Returns an error in a part of the whole text.
    pub fn problem(&self, span: Range<usize>, code: &'static str, message: impl Into<String>) -> Problem {
        let line = self.line_index(span.start);
        let start = self.line_start(line);
        let text = self.line_text(line);
        let inside = span.start.min(start + text.len()) - start..span.end.min(start + text.len()).max(start) - start;
        let length = text.get(inside.clone()).unwrap_or_default().chars().count() as u32;
        Problem::new(&self.place(span.start), code, message).with_excerpt(length, Excerpt::new(text, inside))
    }

    /// Returns the byte of a place that was taken from this text.
    pub(super) fn offset(&self, place: &Place) -> usize {
        let line = (place.line as usize).saturating_sub(1);
        let text = self.line_text(line);
        let inside =
            text.char_indices().nth((place.column as usize).saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        self.line_start(line) + inside
    }

    fn line_index(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn line_start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.text.len())
    }

    /// Returns a line without its break.
    fn line_text(&self, line: usize) -> &str {
        let rest = self.text.get(self.line_start(line)..self.line_start(line + 1)).unwrap_or_default();
        rest.trim_end_matches(['\n', '\r'])
    }
}

impl PartialEq for PolicyText {
    fn eq(&self, other: &PolicyText) -> bool {
        self.file == other.file && self.text == other.text && self.body == other.body
    }
}

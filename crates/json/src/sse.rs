//! Server-sent events by the rules of the HTML standard: cut into frames out of bytes that come in any pieces.
//!
//! A frame is everything up to and with an empty line, byte for byte: fields, comments, line ends. The frames of a
//! stream joined together are the stream, so a proxy can forward a frame unchanged. A line ends with CR, LF or CRLF,
//! also where the bytes are cut between CR and LF. A frame is complete at the CR of its empty line; an LF after it is
//! the first byte of the next frame, so that no event waits for a byte that may never come.
//!
//! Fields are read from the frame's bytes without a copy. Nothing is assumed to be UTF-8 here: the reader of the data
//! decides.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

/// The byte order mark, which the first frame of a stream may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts bytes into frames.
///
/// ```
/// use lictor_json::SseFramer;
///
/// let mut framer = SseFramer::default();
/// assert!(framer.push(b"event: greeting\r\ndata: hel").is_empty());
/// let frames = framer.push(b"lo\r\n\r\n");
/// assert_eq!(frames[0].name(), Some(&b"greeting"[..]));
/// assert_eq!(frames[0].data().as_deref(), Some(&b"hello"[..]));
/// ```
#[derive(Debug)]
pub struct SseFramer {
    /// The bytes of the frame so far, at most `max_frame_bytes`.
    raw: Vec<u8>,
    max_frame_bytes: usize,
    is_oversized: bool,
    /// Whether the current line has no bytes yet.
    is_line_empty: bool,
    /// Whether the last byte was a CR, so that an LF after it ends nothing.
    is_after_return: bool,
    /// Whether the frame begins with the LF of the CR that ended the frame before it.
    begins_with_line_feed: bool,
    /// Whether no frame has ended yet, so that a byte order mark may come first.
    is_first_frame: bool,
    /// How many lines have ended.
    ended_lines: u32,
    /// How many lines had ended when the frame began.
    lines_before_frame: u32,
}

/// One event, or comments between events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseFrame {
    raw: Vec<u8>,
    /// How many bytes come before the first line: a byte order mark, or the LF of a CR in the frame before.
    prefix: usize,
    first_line: u32,
    is_oversized: bool,
}

/// One line of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseField<'a> {
    /// The name of the field; empty for a comment.
    pub name: &'a [u8],
    /// The value, without the one space that may come before it.
    pub value: &'a [u8],
    /// The number of the line in the stream, from one.
    pub line: u32,
}

impl Default for SseFramer {
    /// A framer without a limit.
    fn default() -> SseFramer {
        SseFramer::with_max_frame_bytes(usize::MAX)
    }
}

impl SseFramer {
    /// A framer that keeps at most so many bytes of a frame. A longer frame is delivered with its first bytes and as
    /// [oversized](SseFrame::is_oversized).
    pub fn with_max_frame_bytes(max_frame_bytes: usize) -> SseFramer {
        SseFramer {
            raw: Vec::new(),
            max_frame_bytes,
            is_oversized: false,
            is_line_empty: true,
            is_after_return: false,
            begins_with_line_feed: false,
            is_first_frame: true,
            ended_lines: 0,
            lines_before_frame: 0,
        }
    }

    /// Takes the next bytes of the stream and returns the frames that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<SseFrame> {
        let mut frames = Vec::new();
        // Up to here the bytes are looked at, and up to `kept` they are kept: a frame within one piece is copied once.
        let (mut at, mut kept) = (0, 0);
        while at < bytes.len() {
            if std::mem::take(&mut self.is_after_return) && bytes[at] == b'\n' {
                self.begins_with_line_feed |= self.raw.is_empty() && kept == at;
                at += 1;
                continue;
            }
            let Some(length) = memchr2(b'\r', b'\n', &bytes[at..]) else {
                self.is_line_empty = false;
                break;
            };
            let is_frame_end = self.is_line_empty && length == 0;
            at += length + 1;
            self.is_after_return = bytes[at - 1] == b'\r';
            self.is_line_empty = true;
            self.ended_lines = self.ended_lines.saturating_add(1);
            if is_frame_end {
                self.keep(&bytes[kept..at]);
                kept = at;
                frames.push(self.cut());
            }
        }
        self.keep(&bytes[kept..]);
        frames
    }

    /// Ends the stream and returns the frame that it ends in, if any: many senders leave out the last empty line.
    pub fn finish(&mut self) -> Option<SseFrame> {
        self.is_after_return = false;
        self.is_line_empty = true;
        (!self.raw.is_empty()).then(|| self.cut())
    }

    /// Returns how many bytes wait for the end of their frame.
    pub fn pending_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Returns the number of the current line, from one.
    pub fn line(&self) -> u32 {
        self.ended_lines.saturating_add(1)
    }

    /// Keeps bytes of the frame, as far as the limit allows.
    fn keep(&mut self, bytes: &[u8]) {
        let room = self.max_frame_bytes - self.raw.len();
        self.is_oversized |= bytes.len() > room;
        self.raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn cut(&mut self) -> SseFrame {
        let raw = std::mem::take(&mut self.raw);
        let begins_with_line_feed = std::mem::take(&mut self.begins_with_line_feed);
        let prefix = match std::mem::take(&mut self.is_first_frame) {
            true if raw.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            _ => usize::from(begins_with_line_feed).min(raw.len()),
        };
        let first_line = self.lines_before_frame.saturating_add(1);
        self.lines_before_frame = self.ended_lines;
        SseFrame { raw, prefix, first_line, is_oversized: std::mem::take(&mut self.is_oversized) }
    }
}

impl SseFrame {
    /// Returns the bytes of the frame as they were sent; of an oversized one, the first.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns the bytes of the frame by value.
    pub fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// Whether the frame was longer than the framer's limit, so that its end is missing here.
    pub fn is_oversized(&self) -> bool {
        self.is_oversized
    }

    /// Returns the lines of the frame that are not empty, in order: fields and comments.
    pub fn fields(&self) -> impl Iterator<Item = SseField<'_>> {
        self.lines().filter_map(|line| read_field(&self.raw[line.content], line.number))
    }

    /// Returns the type of the event, by its last `event` field; none where that is missing or empty.
    pub fn name(&self) -> Option<&[u8]> {
        self.last_value(b"event").filter(|name| !name.is_empty())
    }

    /// Returns the id that the frame sets; one that holds a NUL is no id.
    pub fn id(&self) -> Option<&[u8]> {
        self.last_value(b"id").filter(|id| memchr(0, id).is_none())
    }

    /// Returns the `data` lines joined with LF; none where there are none. A single line is not copied.
    pub fn data(&self) -> Option<Cow<'_, [u8]>> {
        let mut lines = self.fields().filter(|field| field.name == b"data").map(|field| field.value);
        let mut data = Cow::Borrowed(lines.next()?);
        for line in lines {
            let joined = data.to_mut();
            joined.push(b'\n');
            joined.extend_from_slice(line);
        }
        Some(data)
    }

    /// Returns the number of the first `data` line in the stream, from one; that of the frame's first line if it has
    /// no data.
    pub fn data_line(&self) -> u32 {
        self.fields().find(|field| field.name == b"data").map_or(self.first_line, |field| field.line)
    }

    /// Returns the frame with one line of other data, which is JSON, in the place of its data, every other byte as it was.
    /// Line ends in the data become spaces, and what some readers take for a line end is escaped, so that nothing in it
    /// can pass for another field.
    pub fn with_data(&self, data: &str) -> SseFrame {
        self.write_data(data, &self.raw[..self.prefix])
    }

    /// Returns a second frame that follows this one: like [`with_data`](SseFrame::with_data), but a byte order mark comes
    /// once, and the LF of this frame's last CR comes first.
    pub fn next_with_data(&self, data: &str) -> SseFrame {
        let prefix: &[u8] = if self.raw.ends_with(b"\r") && memchr(b'\n', &self.raw).is_some() { b"\n" } else { b"" };
        self.write_data(data, prefix)
    }

    fn write_data(&self, data: &str, prefix: &[u8]) -> SseFrame {
        let mut out = Vec::with_capacity(self.raw.len() + data.len());
        out.extend_from_slice(prefix);
        let mut is_written = false;
        for line in self.lines() {
            let content = &self.raw[line.content.clone()];
            if content != b"data" && !content.starts_with(b"data:") {
                out.extend_from_slice(&self.raw[line.content.start..line.end]);
            } else if !std::mem::replace(&mut is_written, true) {
                out.extend_from_slice(b"data: ");
                push_data(&mut out, data.as_bytes());
                let line_end = &self.raw[line.content.end..line.end];
                out.extend_from_slice(if line_end.is_empty() { b"\n" } else { line_end });
            }
        }
        SseFrame { raw: out, prefix: prefix.len(), first_line: self.first_line, is_oversized: self.is_oversized }
    }

    /// Returns the frame in the form that all readers cut into the same lines; none if it has that form.
    ///
    /// Some readers also end lines at other characters than CR and LF, as Python's `str.splitlines` does, or take each
    /// `data` line for an event. So the data, which is JSON, is one line with these characters escaped. Comments become
    /// empty. An `id` or a `retry` of anything but plain characters is left out.
    pub fn settled(&self) -> Option<SseFrame> {
        let data_lines = self.fields().filter(|field| field.name == b"data").count();
        let is_data_plain = data_lines < 2
            && self.fields().filter(|field| field.name == b"data").all(|field| !has_line_end(field.value));
        let is_plain = |field: SseField<'_>| match field.name {
            b"" => field.value.is_empty(),
            _ => is_kept(&field),
        };
        if is_data_plain && self.fields().all(is_plain) {
            return None;
        }
        let mut out = Vec::with_capacity(self.raw.len() + 16);
        out.extend_from_slice(&self.raw[..self.prefix]);
        let mut data = self.data().filter(|_| !is_data_plain);
        for line in self.lines() {
            let (content, line_end) = (&self.raw[line.content.clone()], &self.raw[line.content.end..line.end]);
            let Some(field) = read_field(content, line.number) else {
                out.extend_from_slice(line_end);
                continue;
            };
            match field.name {
                b"" => out.push(b':'),
                b"data" if !is_data_plain => {
                    let Some(data) = data.take() else { continue };
                    out.extend_from_slice(b"data: ");
                    push_data(&mut out, &data);
                }
                _ if is_kept(&field) => out.extend_from_slice(content),
                _ => continue,
            }
            out.extend_from_slice(if line_end.is_empty() { b"\n" } else { line_end });
        }
        Some(SseFrame { raw: out, ..self.without_raw() })
    }

    /// Returns everything but the bytes.
    fn without_raw(&self) -> SseFrame {
        let SseFrame { prefix, first_line, is_oversized, .. } = *self;
        SseFrame { raw: Vec::new(), prefix, first_line, is_oversized }
    }

    /// Returns how the frame ends its lines, for a frame of our own beside it.
    pub fn line_end(&self) -> &'static str {
        match (memchr(b'\r', &self.raw), memchr(b'\n', &self.raw)) {
            (Some(_), Some(_)) => "\r\n",
            (Some(_), None) => "\r",
            _ => "\n",
        }
    }

    fn last_value(&self, name: &[u8]) -> Option<&[u8]> {
        self.fields().filter(|field| field.name == name).last().map(|field| field.value)
    }

    /// Returns all lines, empty ones too.
    fn lines(&self) -> impl Iterator<Item = FrameLine> {
        let mut start = self.prefix;
        let mut number = self.first_line;
        std::iter::from_fn(move || {
            let rest = self.raw.get(start..).filter(|rest| !rest.is_empty())?;
            let length = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
            let line_end = match &rest[length..] {
                [] => 0,
                [b'\r', b'\n', ..] => 2,
                _ => 1,
            };
            let line = FrameLine { content: start..start + length, end: start + length + line_end, number };
            start = line.end;
            number = number.saturating_add(1);
            Some(line)
        })
    }
}

/// Where a line of a frame is, with and without its line end.
struct FrameLine {
    content: Range<usize>,
    end: usize,
    number: u32,
}

/// Returns a line as a field or a comment; none if it is empty.
fn read_field(content: &[u8], line: u32) -> Option<SseField<'_>> {
    let (name, value) = content.split_at(memchr(b':', content).unwrap_or(content.len()));
    let value = value.strip_prefix(b":").unwrap_or(value);
    let value = value.strip_prefix(b" ").unwrap_or(value);
    (!content.is_empty()).then_some(SseField { name, value, line })
}

/// Whether a field is forwarded: no reader can take a part of its value for another field.
fn is_kept(field: &SseField<'_>) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+*$=".contains(byte);
    match field.name {
        b"id" => field.value.iter().all(is_plain),
        b"retry" => field.value.iter().all(u8::is_ascii_digit),
        _ => true,
    }
}

/// Whether a byte is a line end to some reader, or begins a character that is one: vertical tab, form feed, the
/// separators of files, groups and records, next line, line separator and paragraph separator.
fn may_end_line(byte: &u8) -> bool {
    matches!(byte, b'\n'..=b'\r' | 0x1c..=0x1e | 0xc2 | 0xe2)
}

/// Whether some reader ends a line within a value.
fn has_line_end(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some(place) = rest.iter().position(may_end_line) {
        rest = match &rest[place..] {
            [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] => return true,
            [0xc2 | 0xe2, after @ ..] => after,
            _ => return true,
        };
    }
    false
}

/// Appends JSON that every reader takes for one line. Line ends are white space in JSON, except three characters that
/// may be in its strings: those are escaped.
fn push_data(out: &mut Vec<u8>, data: &[u8]) {
    let mut rest = data;
    while let Some(plain) = rest.iter().position(may_end_line) {
        let (before, found) = rest.split_at(plain);
        out.extend_from_slice(before);
        let (written, length): (&[u8], usize) = match found {
            [0xc2, 0x85, ..] => (br"\u0085", 2),
            [0xe2, 0x80, 0xa8, ..] => (br"\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => (br"\u2029", 3),
            [0xc2 | 0xe2, ..] => (&found[..1], 1),
            _ => (b" ", 1),
        };
        out.extend_from_slice(written);
        rest = &found[length..];
    }
    out.extend_from_slice(rest);
}

/// Returns an event as bytes: its id, its type, a `data` line for each line of the data, which is JSON, and an empty line.
///
/// An id of anything but visible ASCII is left out, so that no part of it can pass for another field. The name and the
/// line end come from the program, never from the stream.
pub fn write_sse_event(name: Option<&str>, id: Option<&[u8]>, data: &[u8], line_end: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 32);
    let mut add_line = |name: &[u8], value: &[u8]| {
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        push_data(&mut out, value);
        out.extend_from_slice(line_end.as_bytes());
    };
    if let Some(id) = id.filter(|id| id.iter().all(u8::is_ascii_graphic)) {
        add_line(b"id", id);
    }
    if let Some(name) = name {
        add_line(b"event", name.as_bytes());
    }
    for line in data.split(|byte| matches!(byte, b'\r' | b'\n')) {
        add_line(b"data", line);
    }
    out.extend_from_slice(line_end.as_bytes());
    out
}

#[cfg(test)]
mod tests;

//! Transcripts of HTTP: requests and responses one behind the other, as text.
//!
//! A message begins with its request line or status line and goes on to the next one, whatever lengths its headers
//! claim: transcripts are edited by hand. Of the headers only the content type counts.

use std::ops::Range;

use super::chunk::Chunk;
use super::chunks::Blocks;
use super::events::{Line, LineReader, Payloads, Stream};

/// Cuts after messages.
#[derive(Default)]
pub(super) struct Http {
    lines: LineReader,
    message: Message,
    first: u32,
}

#[derive(Default)]
struct Message {
    /// Whether the headers are behind.
    in_body: bool,
    content: Content,
    body: Vec<u8>,
    /// The line on which the body begins.
    line: u32,
    too_long: bool,
}

/// What a body is, as its message says.
#[derive(Clone, Copy, Default, PartialEq)]
enum Content {
    #[default]
    Unsaid,
    Json,
    /// JSON, a value a line.
    Lines,
    Events,
    Other,
}

impl Http {
    pub(super) fn line(&self) -> u32 {
        self.lines.line()
    }

    pub(super) fn next(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        let mut payloads = Payloads::new(blocks);
        let (enough, limit) = (blocks.limits.chunk, blocks.limits.record);
        while payloads.len() < enough {
            let Some(line) = self.lines.next(blocks) else {
                std::mem::take(&mut self.message).finish(&mut payloads, true);
                break;
            };
            if is_first(line.text) {
                std::mem::take(&mut self.message).finish(&mut payloads, false);
            } else {
                self.message.line(&line, limit);
            }
        }
        payloads.chunk(&mut self.first, blocks)
    }
}

impl Message {
    fn line(&mut self, line: &Line<'_>, limit: usize) {
        if self.in_body {
            if self.body.is_empty() {
                self.line = line.number;
            }
            self.too_long |= line.skipped || self.body.len() + line.whole.len() > limit;
            if self.too_long {
                self.body.clear();
                self.body.push(b'\n');
            } else if !self.body.is_empty() || !line.text.is_empty() {
                self.body.extend_from_slice(line.whole);
            }
        } else if line.text.is_empty() && !line.skipped {
            self.in_body = true;
        } else if let Some(content) = content_type(line.text) {
            self.content = content;
        }
    }

    fn finish(self, payloads: &mut Payloads, file_ends: bool) {
        if self.too_long {
            return payloads.too_long(self.line);
        }
        let joined = joined(&self.body);
        // Of a body that was put together no column is known.
        let column = u32::from(joined.is_none());
        let body = joined.as_deref().unwrap_or(&self.body);
        let begins_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
        let content = match self.content {
            Content::Unsaid | Content::Other if begins_json => Content::Json,
            Content::Unsaid if lines(body).any(|line| body[line].starts_with(b"data:")) => Content::Events,
            said => said,
        };
        match content {
            _ if body.trim_ascii().is_empty() => {}
            Content::Other => {}
            Content::Unsaid | Content::Json => payloads.add(body.trim_ascii_end(), self.line, column, file_ends),
            Content::Lines => {
                for (number, line) in (self.line..).zip(lines(body)) {
                    if !body[line.clone()].trim_ascii().is_empty() {
                        let ends = file_ends && line.end == body.len();
                        payloads.add(&body[line], number, column, ends);
                    }
                }
            }
            Content::Events => {
                let mut stream = Stream::default();
                for (number, line) in (self.line..).zip(lines(body)) {
                    let text = &body[line];
                    let text = text.strip_suffix(b"\r").unwrap_or(text);
                    stream.line(&Line { text, whole: text, number, skipped: false }, payloads);
                }
                stream.end(payloads, file_ends);
            }
        }
    }
}

/// The lines of a body, without LF.
fn lines(body: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    body.split(|&byte| byte == b'\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end + 1;
        range
    })
}

/// Whether a line is the first of a message: `POST /path HTTP/1.1` or `HTTP/1.1 200 OK`.
pub(super) fn is_first(line: &[u8]) -> bool {
    let mut words = line.trim_ascii_end().split(|&byte| byte == b' ');
    let is_version = |word: &[u8]| matches!(word, [b'H', b'T', b'T', b'P', b'/', b'1'..=b'3', ..]) && word.len() <= 8;
    let first = words.next().unwrap_or_default();
    if is_version(first) {
        return words.next().is_some_and(|status| status.len() == 3 && status.iter().all(u8::is_ascii_digit));
    }
    let is_method = (3..=10).contains(&first.len()) && first.iter().all(u8::is_ascii_uppercase);
    is_method && words.next().is_some() && words.next().is_some_and(is_version) && words.next().is_none()
}

/// What a header says about the content, if it is the one that says it.
fn content_type(line: &[u8]) -> Option<Content> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    if !line[..colon].trim_ascii().eq_ignore_ascii_case(b"content-type") {
        return None;
    }
    let said = String::from_utf8_lossy(&line[colon + 1..]).to_ascii_lowercase();
    Some(match said.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => Content::Events,
        "application/x-ndjson" | "application/jsonl" | "application/x-jsonlines" | "application/json-seq" => {
            Content::Lines
        }
        kind if kind.ends_with("json") => Content::Json,
        _ => Content::Other,
    })
}

/// A body that was sent in chunks, put together again; none if it was not.
fn joined(body: &[u8]) -> Option<Vec<u8>> {
    let mut rest = body;
    let mut whole = Vec::new();
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let size = std::str::from_utf8(rest[..end].trim_ascii()).ok()?;
        let size = size.split(';').next().unwrap_or_default();
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 1..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(..size)?);
        rest = &rest[size..];
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

//! Transcripts of HTTP: requests and responses one after the other, as text.
//!
//! A message begins with its request line or status line and continues to the next one. Content-Length is ignored:
//! transcripts are edited by hand. Of the headers only the content type counts.

use std::ops::Range;

use super::blocks::Blocks;
use super::chunk::Chunk;
use super::event_cutter::event_framer;
use super::layout::is_http_start;
use super::line_reader::{FileLine, LineReader};
use super::payloads::Payloads;

/// Cuts a file after messages.
#[derive(Default)]
pub(super) struct HttpCutter {
    lines: LineReader,
    message: HttpMessage,
    first: u32,
}

/// The message that is being read.
#[derive(Default)]
struct HttpMessage {
    /// Whether the headers have ended.
    in_body: bool,
    content: BodyType,
    body: Vec<u8>,
    /// The line on which the body begins.
    line: u32,
    too_long: bool,
}

/// The type of a body, by the content type of its message.
#[derive(Clone, Copy, Default, PartialEq)]
enum BodyType {
    #[default]
    Unknown,
    Json,
    /// JSON, a value a line.
    Lines,
    Events,
    Other,
}

impl HttpCutter {
    pub(super) fn line(&self) -> u32 {
        self.lines.line()
    }

    pub(super) fn next_chunk(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        let mut payloads = Payloads::new(blocks);
        let (enough, limit) = (blocks.limits.chunk, blocks.limits.record);
        while payloads.len() < enough {
            let Some(line) = self.lines.next_line(blocks) else {
                std::mem::take(&mut self.message).finish(limit, &mut payloads, true);
                break;
            };
            if is_http_start(line.text) {
                std::mem::take(&mut self.message).finish(limit, &mut payloads, false);
            } else {
                self.message.take_line(&line, limit);
            }
        }
        payloads.into_chunk(&mut self.first, blocks)
    }
}

impl HttpMessage {
    fn take_line(&mut self, line: &FileLine<'_>, limit: usize) {
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
        } else if let Some(content) = parse_content_type(line.text) {
            self.content = content;
        }
    }

    fn finish(self, limit: usize, payloads: &mut Payloads, file_ends: bool) {
        if self.too_long {
            return payloads.add_too_long(self.line);
        }
        let joined = join_chunks(&self.body);
        // The columns of a joined body are unknown.
        let column = u32::from(joined.is_none());
        let body = joined.as_deref().unwrap_or(&self.body);
        let begins_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
        let content = match self.content {
            BodyType::Unknown | BodyType::Other if begins_json => BodyType::Json,
            BodyType::Unknown if body_lines(body).any(|line| body[line].starts_with(b"data:")) => BodyType::Events,
            known => known,
        };
        match content {
            _ if body.trim_ascii().is_empty() => {}
            BodyType::Other => {}
            BodyType::Unknown | BodyType::Json => payloads.add(body.trim_ascii_end(), self.line, column, file_ends),
            BodyType::Lines => {
                for (number, line) in (self.line..).zip(body_lines(body)) {
                    if !body[line.clone()].trim_ascii().is_empty() {
                        let ends = file_ends && line.end == body.len();
                        payloads.add(&body[line], number, column, ends);
                    }
                }
            }
            BodyType::Events => {
                let mut framer = event_framer(limit);
                for frame in framer.push(body) {
                    payloads.add_event(&frame, self.line.saturating_sub(1), false);
                }
                if let Some(frame) = framer.finish() {
                    payloads.add_event(&frame, self.line.saturating_sub(1), file_ends);
                }
            }
        }
    }
}

/// Returns the lines of a body, without LF.
fn body_lines(body: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    body.split(|&byte| byte == b'\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end + 1;
        range
    })
}

/// Returns the body type that a header names; none if it is another header.
fn parse_content_type(line: &[u8]) -> Option<BodyType> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    if !line[..colon].trim_ascii().eq_ignore_ascii_case(b"content-type") {
        return None;
    }
    let value = String::from_utf8_lossy(&line[colon + 1..]).to_ascii_lowercase();
    Some(match value.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => BodyType::Events,
        "application/x-ndjson" | "application/jsonl" | "application/x-jsonlines" | "application/json-seq" => {
            BodyType::Lines
        }
        kind if kind.ends_with("json") => BodyType::Json,
        _ => BodyType::Other,
    })
}

/// Joins a body in chunked transfer encoding; none if it is not in chunks.
fn join_chunks(body: &[u8]) -> Option<Vec<u8>> {
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

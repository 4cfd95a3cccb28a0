//! How a file is laid out, by its first bytes.

use lictor_json as json;

/// How many bytes of a line are looked at to tell JSON from text.
const MAX_GLANCE_BYTES: usize = 4096;

/// How many bytes are searched for the first data of an event stream.
const MAX_STREAM_GLANCE_BYTES: usize = 1 << 16;

/// What to do with a file that is a table.
const TABLE_HINT: &str =
    "audit it with the Python package, `lictor.audit(\"FILE\", \"POLICY\")`, or export it as JSON lines";

/// Where the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// JSON, a value a line.
    JsonLines,
    /// JSON values that may span lines, and lists of them.
    Values,
    Events,
    Http,
    Whole,
    /// Text, a record a line.
    Lines,
}

/// Returns why a file is not text, and a hint; none if it may be text.
pub(super) fn detect_binary(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let head = &bytes[..bytes.len().min(512)];
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, b'{' | b'[' | b'<', ..] | [b'{' | b'[' | b'<', 0, ..] => {
            Some(("is in UTF-16", "convert it to UTF-8, for instance with `iconv -f UTF-16 -t UTF-8`"))
        }
        [b'P', b'A', b'R', b'1', ..] => Some(("is a Parquet file", TABLE_HINT)),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, _, _, 0, 0, ..] => {
            Some(("is an Arrow file", TABLE_HINT))
        }
        [b'P', b'K', 3, 4, ..] => Some(("is a zip archive", "unpack it and name the files in it")),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("is compressed twice", "decompress it once")),
        _ if head.contains(&0) => Some(("is binary, not text", "check that this is the log you meant")),
        _ => None,
    }
}

/// Detects the layout of a file by its first bytes; none if more bytes are needed. With `enough` there are no more.
pub(super) fn detect_layout(bytes: &[u8], enough: bool) -> Option<Layout> {
    let mut lines = NonBlankLines { rest: bytes, enough };
    let Some(first) = lines.next() else { return enough.then_some(Layout::Lines) };
    let glance = &first.text[..first.text.len().min(MAX_GLANCE_BYTES)];
    match glance[0] {
        b'<' => return Some(Layout::Whole),
        _ if is_http_start(glance) => return Some(Layout::Http),
        _ if is_event_stream(&bytes[..bytes.len().min(MAX_STREAM_GLANCE_BYTES)]) => return Some(Layout::Events),
        b'{' | b'[' | b'"' if begins_json(glance) => {}
        _ => {
            // A log that was cut at its beginning has half a record first.
            let Some(second) = lines.next().filter(|second| second.text[0] == b'{') else { return Some(Layout::Lines) };
            let torn = second.is_whole_object()?;
            return Some(if torn { Layout::JsonLines } else { Layout::Lines });
        }
    }
    if !first.complete && !enough {
        return None;
    }
    let second = lines.next();
    if second.is_none() && !enough {
        return None;
    }
    let first = first.text;
    if is_balanced(first) {
        let element = first[1..].trim_ascii_start().first();
        let is_list = first[0] == b'[' && matches!(element, Some(b'{' | b'[' | b']'));
        return Some(if is_list && second.is_none() { Layout::Values } else { Layout::JsonLines });
    }
    // A truncated first line before a whole one.
    let breaks = !matches!(first.last(), Some(b'[' | b'{' | b',' | b':'));
    match second {
        Some(second) if breaks && second.at_margin && second.is_whole_object()? => Some(Layout::JsonLines),
        _ => Some(Layout::Values),
    }
}

/// Iterates over the lines that are not blank.
struct NonBlankLines<'a> {
    rest: &'a [u8],
    enough: bool,
}

/// A line with something on it.
struct NonBlankLine<'a> {
    /// Its content without white space around it; not empty.
    text: &'a [u8],
    /// Whether it begins without white space.
    at_margin: bool,
    /// Whether its end is seen.
    complete: bool,
}

impl<'a> Iterator for NonBlankLines<'a> {
    type Item = NonBlankLine<'a>;

    fn next(&mut self) -> Option<NonBlankLine<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', self.rest);
            let line = &self.rest[..end.unwrap_or(self.rest.len())];
            self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
            let text = line.trim_ascii();
            if !text.is_empty() {
                let at_margin = text.len() == line.trim_ascii_end().len();
                return Some(NonBlankLine { text, at_margin, complete: end.is_some() || self.enough });
            }
        }
    }
}

impl NonBlankLine<'_> {
    /// Whether it is one object from its beginning to its end; none if its end is not yet seen.
    fn is_whole_object(&self) -> Option<bool> {
        if self.text[0] != b'{' {
            return Some(false);
        }
        self.complete.then(|| is_balanced(self.text))
    }
}

/// Whether a line is JSON, or begins it, or is meant to.
fn begins_json(glance: &[u8]) -> bool {
    if glance[0] == b'{' || glance.starts_with(b"[{") || glance.starts_with(b"[\"") {
        return true;
    }
    // The bytes may end inside a character.
    let text = match std::str::from_utf8(glance) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&glance[..error.valid_up_to()]).unwrap_or_default(),
    };
    json::parse_str(text).map_or_else(|error| error.code != "json.syntax" && error.code != "json.trailing", |_| true)
}

/// Whether the brackets of a line balance exactly at its end.
fn is_balanced(line: &[u8]) -> bool {
    let (mut depth, mut string, mut escape) = (0usize, false, false);
    for (place, &byte) in line.iter().enumerate() {
        match byte {
            _ if escape => escape = false,
            b'\\' if string => escape = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => depth += 1,
            b'}' | b']' if !string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !string {
            return place + 1 == line.len();
        }
    }
    false
}

/// Whether a text is a stream of events: fields of events first, and data among them.
fn is_event_stream(bytes: &[u8]) -> bool {
    let fields = ["data:", "event:", "id:", "retry:"];
    let mut lines = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).filter(|line| !line.is_empty());
    let begins = lines.clone().find(|line| !line.starts_with(b":"));
    begins.is_some_and(|line| fields.iter().any(|field| line.starts_with(field.as_bytes())))
        && lines.any(|line| line.starts_with(b"data:"))
}

/// Whether a line begins an HTTP message: `POST /path HTTP/1.1` or `HTTP/1.1 200 OK`.
pub(super) fn is_http_start(line: &[u8]) -> bool {
    let mut words = line.trim_ascii_end().split(|&byte| byte == b' ');
    let is_version = |word: &[u8]| matches!(word, [b'H', b'T', b'T', b'P', b'/', b'1'..=b'3', ..]) && word.len() <= 8;
    let first = words.next().unwrap_or_default();
    if is_version(first) {
        return words.next().is_some_and(|status| status.len() == 3 && status.iter().all(u8::is_ascii_digit));
    }
    let is_method = (3..=10).contains(&first.len()) && first.iter().all(u8::is_ascii_uppercase);
    is_method && words.next().is_some() && words.next().is_some_and(is_version) && words.next().is_none()
}

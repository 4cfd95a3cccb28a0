//! Server-sent events, cut out of bytes that come in any pieces, and written again.
//!
//! A frame is everything up to and with an empty line, byte for byte: comments, fields that nobody reads, whatever the
//! lines end with. The frames of a stream put one behind the other are the stream.

use lictor_json::JsonError;

use crate::WireRefusal;

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// The frame that is coming.
    raw: Vec<u8>,
    /// Where its current line begins.
    line: usize,
    /// Whether the last byte was a carriage return, so that a line feed after it ends nothing.
    after_return: bool,
    /// Whether anything came before, so that a mark of the byte order is none any more.
    has_begun: bool,
}

/// One event, or a comment between events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its bytes.
    pub(crate) raw: Vec<u8>,
    /// What sort of event it says it is.
    pub(crate) name: Option<String>,
    /// Its lines of data, joined; none if it has none.
    pub(crate) data: Option<String>,
}

impl Splitter {
    /// Takes one byte; gives the frame that it ends.
    pub(crate) fn push(&mut self, byte: u8) -> Option<Result<Frame, WireRefusal>> {
        self.raw.push(byte);
        let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if follows_return => {
                // It belongs to the line that has ended. If that ended a frame, it is the first byte of this one.
                self.line = self.raw.len();
                None
            }
            b'\r' | b'\n' => {
                let is_empty = self.line + 1 == self.raw.len();
                self.line = self.raw.len();
                is_empty.then(|| self.cut())
            }
            _ => None,
        }
    }

    /// Takes the end: what has come of a frame counts, because lenient readers take it too.
    pub(crate) fn end(&mut self) -> Option<Result<Frame, WireRefusal>> {
        (!self.raw.is_empty()).then(|| self.cut())
    }

    /// How many bytes are kept.
    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    fn cut(&mut self) -> Result<Frame, WireRefusal> {
        self.line = 0;
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        Frame::read(std::mem::take(&mut self.raw), is_first)
    }
}

impl Frame {
    fn read(raw: Vec<u8>, is_first: bool) -> Result<Frame, WireRefusal> {
        let text = std::str::from_utf8(&raw).map_err(|error| {
            let error = JsonError {
                code: "json.utf8",
                offset: error.valid_up_to(),
                message: "the bytes are not UTF-8".to_owned(),
            };
            WireRefusal::json("an event of the stream", error)
        })?;
        let text = if is_first { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let (mut name, mut data) = (None, None::<String>);
        for line in lines(text) {
            let (field, value) = field(line);
            match field {
                "event" => name = Some(value.to_owned()),
                "data" => match &mut data {
                    Some(before) => {
                        before.push('\n');
                        before.push_str(value);
                    }
                    None => data = Some(value.to_owned()),
                },
                // A comment, or a field that says nothing about the content.
                "" | "id" | "retry" => {}
                other => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(WireRefusal::new(
                        "stream.field",
                        format!("an event of the stream has a field `{shown}`, which is not known"),
                    ));
                }
            }
        }
        Ok(Frame { raw, name: name.filter(|name| !name.is_empty()), data })
    }

    /// The frame with other data, and everything else as it was. JSON on one line holds no end of a line, so nothing in
    /// it can look like another event.
    pub(crate) fn with_data(&self, data: &str) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.raw);
        let mut out = String::new();
        let mut is_written = false;
        for line in whole_lines(&text) {
            let (content, ending) = line.split_at(line.trim_end_matches(['\r', '\n']).len());
            if field(content.trim_start_matches('\u{feff}')).0 != "data" {
                out.push_str(line);
            } else if !is_written {
                is_written = true;
                out.push_str("data: ");
                out.push_str(&data.replace(['\r', '\n'], " "));
                out.push_str(if ending.is_empty() { "\n" } else { ending });
            }
        }
        out.into_bytes()
    }

    /// A frame of our own beside this one, with an end of lines like its own.
    pub(crate) fn sibling(&self, name: Option<&str>, data: &str) -> Vec<u8> {
        let ending = match (self.raw.contains(&b'\r'), self.raw.contains(&b'\n')) {
            (true, true) => "\r\n",
            (true, false) => "\r",
            _ => "\n",
        };
        let name = name.map(|name| format!("event: {name}{ending}")).unwrap_or_default();
        format!("{name}data: {data}{ending}{ending}").into_bytes()
    }
}

/// A field and its value; a comment has no field.
fn field(line: &str) -> (&str, &str) {
    match line.split_once(':') {
        Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
        None => (line, ""),
    }
}

/// The lines of a text without their ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    whole_lines(text).map(|line| line.trim_end_matches(['\r', '\n']))
}

/// The lines of a text with their ends: a carriage return, a line feed, or both.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.find(['\r', '\n']) {
            Some(place) if rest[place..].starts_with("\r\n") => place + 2,
            Some(place) => place + 1,
            None => rest.len(),
        };
        let (line, left) = rest.split_at(end);
        rest = left;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<Frame> {
        let mut splitter = Splitter::default();
        let mut frames: Vec<Frame> = text.bytes().filter_map(|byte| splitter.push(byte)).map(Result::unwrap).collect();
        frames.extend(splitter.end().map(Result::unwrap));
        assert_eq!(frames.iter().flat_map(|frame| frame.raw.clone()).collect::<Vec<u8>>(), text.as_bytes());
        frames
    }

    #[test]
    fn sse_line_endings_are_equivalent() {
        for ending in ["\n", "\r", "\r\n"] {
            let text = ":hello\nevent: a\ndata: 1\ndata:2\nid\n\ndata\n\n".replace('\n', ending);
            for text in [text.clone(), format!("\u{feff}{text}"), format!("{text}{ending}{ending}")] {
                let frames = frames(&text);
                assert_eq!(frames[0].name.as_deref(), Some("a"));
                assert_eq!(frames[0].data.as_deref(), Some("1\n2"));
                assert_eq!((frames[1].name.as_deref(), frames[1].data.as_deref()), (None, Some("")));
            }
        }
        assert_eq!(frames("data: a\r\n\ndata: b\n\r\ndata: c").len(), 3);
    }

    #[test]
    fn rewritten_frame_replaces_all_data_lines() {
        let frame = &frames("\u{feff}: c\r\nevent: a\r\ndata: 1\r\ndata: 2\r\nid: 7\r\n\r\n")[0];
        let written = String::from_utf8(frame.with_data("{\n}")).unwrap();
        assert_eq!(written, "\u{feff}: c\r\nevent: a\r\ndata: { }\r\nid: 7\r\n\r");
        assert_eq!(frame.sibling(Some("b"), "3"), b"event: b\r\ndata: 3\r\n\r\n");
    }
}

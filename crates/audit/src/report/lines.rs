//! JSON for people, programs and pages: the outer levels have a line for each element, what lies deeper is compact.
//!
//! A report of ten thousand sessions stays small that way, and a difference between two reports is a difference of
//! lines. Inside strings the characters that some readers take for a line break are written as escapes, and for a page
//! also those that could end a script or deceive who reads the source.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::words::is_hidden;

/// How JSON is laid out.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// How many levels have lines of their own.
    levels: usize,
    /// Whether the text will stand inside an HTML page.
    is_in_page: bool,
    /// The level of the writer.
    depth: usize,
    /// Whether the array or object that ends now has elements.
    has_elements: bool,
}

impl Lines {
    /// Lines for the elements of this many levels.
    pub(super) fn of(levels: usize) -> Lines {
        Lines { levels, is_in_page: false, depth: 0, has_elements: false }
    }

    /// Compact, and safe inside a script element.
    pub(super) fn in_page() -> Lines {
        Lines { is_in_page: true, ..Lines::of(0) }
    }

    /// Writes a value.
    pub(super) fn write(self, value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        value.serialize(&mut Serializer::with_formatter(&mut out, self))?;
        out.flush()
    }

    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        self.depth += 1;
        self.has_elements = false;
        out.write_all(&[bracket])
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        let has_line = self.has_elements && self.depth <= self.levels;
        self.depth = self.depth.saturating_sub(1);
        // Whatever ended is an element of what is still open.
        self.has_elements = true;
        if has_line {
            self.line(out)?;
        }
        out.write_all(&[bracket])
    }

    fn element<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.has_elements = true;
        if !is_first {
            out.write_all(b",")?;
        }
        if self.depth <= self.levels { self.line(out) } else { Ok(()) }
    }

    fn line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        for _ in 0..self.depth {
            out.write_all(b"  ")?;
        }
        Ok(())
    }

    fn must_escape(&self, character: char) -> bool {
        matches!(character, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
            || (self.is_in_page && (matches!(character, '<' | '>' | '&') || is_hidden(character)))
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b'[')
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b']')
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.element(out, is_first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b'{')
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b'}')
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.element(out, is_first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth <= self.levels { b": " } else { b":" })
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((before, character)) = split_at(rest, |character| self.must_escape(character)) {
            out.write_all(before.as_bytes())?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = rest.get(before.len() + character.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

/// What stands before the first such character, and the character.
fn split_at(text: &str, is_such: impl Fn(char) -> bool) -> Option<(&str, char)> {
    let (place, character) = text.char_indices().find(|(_, character)| is_such(*character))?;
    Some((text.get(..place)?, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: Lines, value: &serde_json::Value) -> String {
        let mut out = Vec::new();
        lines.write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_layout_breaks_only_outer_levels() {
        let value = serde_json::json!({"a": [], "b": [{"c": [1, 2]}, {}], "d": {}});
        let expected = "{\n  \"a\": [],\n  \"b\": [\n    {\"c\":[1,2]},\n    {}\n  ],\n  \"d\": {}\n}";
        assert_eq!(written(Lines::of(2), &value), expected);
        assert_eq!(written(Lines::of(0), &value), value.to_string());
    }

    #[test]
    fn json_layout_escapes_line_and_script_ends() {
        let value = serde_json::json!("</script>\u{2028}&\u{85}é");
        assert_eq!(written(Lines::in_page(), &value), r#""\u003c/script\u003e\u2028\u0026\u0085é""#);
        assert_eq!(written(Lines::of(0), &value), r#""</script>\u2028&\u0085é""#);
    }
}

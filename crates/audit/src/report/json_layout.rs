//! JSON for people, programs and pages: the outer levels have a line for each element, what lies deeper is compact.
//!
//! A report of ten thousand sessions stays small that way, and a difference between two reports is a difference of
//! lines. Inside strings the characters that some readers take for a line break are written as escapes, and for a page
//! also those that could end a script or deceive a reader of the source.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::words::is_hidden;

/// How JSON is laid out.
#[derive(Clone, Debug)]
pub(super) struct JsonLayout {
    /// How many levels have lines of their own.
    levels: usize,
    /// Whether the text will be part of an HTML page.
    is_in_page: bool,
    /// The level of the writer.
    depth: usize,
    /// Whether the array or object that ends now has elements.
    has_elements: bool,
}

impl JsonLayout {
    /// Returns a layout with a line for each element of this many levels.
    pub(super) fn with_line_levels(levels: usize) -> JsonLayout {
        JsonLayout { levels, is_in_page: false, depth: 0, has_elements: false }
    }

    /// Returns a compact layout that is safe inside a script element.
    pub(super) fn for_page() -> JsonLayout {
        JsonLayout { is_in_page: true, ..JsonLayout::with_line_levels(0) }
    }

    /// Writes a value.
    pub(super) fn write(self, value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        value.serialize(&mut Serializer::with_formatter(&mut out, self))?;
        out.flush()
    }

    fn open_bracket<W: Write + ?Sized>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        self.depth += 1;
        self.has_elements = false;
        out.write_all(&[bracket])
    }

    fn close_bracket<W: Write + ?Sized>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        let has_line = self.has_elements && self.depth <= self.levels;
        self.depth = self.depth.saturating_sub(1);
        // The value that ended is an element of the enclosing one.
        self.has_elements = true;
        if has_line {
            self.break_line(out)?;
        }
        out.write_all(&[bracket])
    }

    fn begin_element<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.has_elements = true;
        if !is_first {
            out.write_all(b",")?;
        }
        if self.depth <= self.levels { self.break_line(out) } else { Ok(()) }
    }

    fn break_line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
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

impl Formatter for JsonLayout {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open_bracket(out, b'[')
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close_bracket(out, b']')
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.begin_element(out, is_first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open_bracket(out, b'{')
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close_bracket(out, b'}')
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.begin_element(out, is_first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth <= self.levels { b": " } else { b":" })
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((before, character)) = split_before(rest, |character| self.must_escape(character)) {
            out.write_all(before.as_bytes())?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = rest.get(before.len() + character.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Returns the text before the first such character, and the character.
fn split_before(text: &str, is_such: impl Fn(char) -> bool) -> Option<(&str, char)> {
    let (place, character) = text.char_indices().find(|(_, character)| is_such(*character))?;
    Some((text.get(..place)?, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: JsonLayout, value: &serde_json::Value) -> String {
        let mut out = Vec::new();
        lines.write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_layout_breaks_only_outer_levels() {
        let value = serde_json::json!({"a": [], "b": [{"c": [1, 2]}, {}], "d": {}});
        let expected = "{\n  \"a\": [],\n  \"b\": [\n    {\"c\":[1,2]},\n    {}\n  ],\n  \"d\": {}\n}";
        assert_eq!(written(JsonLayout::with_line_levels(2), &value), expected);
        assert_eq!(written(JsonLayout::with_line_levels(0), &value), value.to_string());
    }

    #[test]
    fn json_layout_escapes_line_and_script_ends() {
        let value = serde_json::json!("</script>\u{2028}&\u{85}é");
        assert_eq!(written(JsonLayout::for_page(), &value), r#""\u003c/script\u003e\u2028\u0026\u0085é""#);
        assert_eq!(written(JsonLayout::with_line_levels(0), &value), r#""</script>\u2028&\u0085é""#);
    }
}

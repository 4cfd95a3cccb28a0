//! The value of a scalar, and the source position of a part of its text.

use std::ops::Range;

use saphyr_parser::ScalarStyle;

use lictor_json::{Json, Number};

/// Returns the value of a text without quotes, by the core schema of YAML 1.2.
pub(super) fn resolve_plain(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        _ => parse_number(text).map_or_else(|| Json::from(text), Json::Number),
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return i128::from_str_radix(hexadecimal, 16).ok().map(Number::whole);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return i128::from_str_radix(octal, 8).ok().map(Number::whole);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = text.parse::<i128>() {
        return Some(Number::whole(whole));
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let float = digits.chars().all(is_number).then(|| text.parse::<f64>().ok())??;
    float.is_finite().then_some(Number::Float(float))
}

/// Returns where in the source a part of a scalar's text was written.
///
/// Folding changes nothing but white space, and quotes only put escapes before characters. So both texts are walked
/// side by side: white space is skipped in each as it comes, everything else must agree. None if it does not.
pub(super) fn locate(written: &str, text: &str, style: ScalarStyle, part: Range<usize>) -> Option<Range<usize>> {
    let mut walk = SourceWalk { rest: written.char_indices().peekable(), style, last: 0 };
    if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
        walk.rest.next();
        walk.last = 1;
    }
    let mut start = None;
    for (offset, character) in text.char_indices() {
        if offset >= part.end.max(part.start + 1) {
            break;
        }
        if character.is_whitespace() {
            continue;
        }
        let found = walk.next_match(character)?;
        if offset >= part.start && start.is_none() {
            start = Some(found.start);
        }
        walk.last = found.end;
    }
    // After the last character, for something missing at the end.
    let start = start.unwrap_or(walk.last);
    let end = if part.is_empty() { start } else { walk.last.max(start) };
    Some(start..end)
}

struct SourceWalk<'a> {
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
    style: ScalarStyle,
    last: usize,
}

impl SourceWalk<'_> {
    /// Returns the next written character that is not white space, if it is the one that is wanted.
    fn next_match(&mut self, wanted: char) -> Option<Range<usize>> {
        loop {
            let (start, character) = self.rest.next()?;
            let meant = match (self.style, character) {
                (ScalarStyle::SingleQuoted, '\'') => {
                    self.rest.next_if(|(_, next)| *next == '\'')?;
                    '\''
                }
                (ScalarStyle::DoubleQuoted, '\\') => self.read_escape()?,
                _ => character,
            };
            let end = self.rest.peek().map_or(start + character.len_utf8(), |(next, _)| *next);
            match meant {
                white if white.is_whitespace() => {}
                same if same == wanted => return Some(start..end),
                _ => return None,
            }
        }
    }

    /// Reads the character that an escape in double quotes means.
    fn read_escape(&mut self) -> Option<char> {
        let (_, letter) = self.rest.next()?;
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'n' | 't' | 'r' | 'f' | 'v' | ' ' | '\n' | '\r' | '\t' | 'N' | '_' | 'L' | 'P' => return Some(' '),
            other => return Some(other),
        };
        let mut value = 0;
        for _ in 0..digits {
            value = value * 16 + self.rest.next()?.1.to_digit(16)?;
        }
        char::from_u32(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(written: &str, text: &str, style: ScalarStyle, wanted: &str) -> String {
        let start = text.find(wanted).unwrap();
        let found = locate(written, text, style, start..start + wanted.len()).unwrap();
        written.get(found).unwrap().to_owned()
    }

    #[test]
    fn scalar_part_is_located_in_every_style() {
        assert_eq!(part("G(a -> F b)", "G(a -> F b)", ScalarStyle::Plain, "F b"), "F b");
        assert_eq!(part("'it''s ''b'''", "it's 'b'", ScalarStyle::SingleQuoted, "'b'"), "''b''");
        assert_eq!(part(r#""a \"x\" \u00e9 b""#, "a \"x\" é b", ScalarStyle::DoubleQuoted, "é"), r"\u00e9");
        assert_eq!(part("\n  G(a ->\n    F b)\n", "G(a ->\n  F b)\n", ScalarStyle::Literal, "F"), "F");
        assert_eq!(part("G(a ->\n   F b)", "G(a -> F b)", ScalarStyle::Folded, "-> F"), "->\n   F");
    }

    #[test]
    fn scalar_empty_part_is_located_at_end() {
        assert_eq!(locate("a &  ", "a &", ScalarStyle::Plain, 3..3), Some(3..3));
        assert_eq!(locate("'a & '", "a & ", ScalarStyle::SingleQuoted, 4..4), Some(4..4));
    }

    #[test]
    fn plain_scalar_follows_yaml_core_schema() {
        assert_eq!(resolve_plain("0x1F"), Json::from(31));
        assert_eq!(resolve_plain("+12"), Json::from(12));
        assert_eq!(resolve_plain("-1.5e3"), Json::Number(Number::Float(-1500.0)));
        assert_eq!(resolve_plain("2027-01-31"), Json::from("2027-01-31"));
        assert_eq!(resolve_plain("NO"), Json::from("NO"));
        assert_eq!(resolve_plain("1e999"), Json::from("1e999"));
        assert_eq!(resolve_plain(".5"), Json::Number(Number::Float(0.5)));
        assert_eq!(resolve_plain("~"), Json::Null);
    }
}

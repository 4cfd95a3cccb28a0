//! The members of JSON objects in a text, with the values that their keys name.
//!
//! Most tool results are JSON as a text, and often a part of it: cut off, after a line of prose, one object a line, or as a
//! program prints it with single quotes. So this reads members wherever they are, and parses no whole document.

use std::ops::Range;

use lictor_json::{Json, parse_str};

/// How deep objects and lists are followed. Members below have no parent.
const MAX_DEPTH: usize = 64;

/// The most bytes of a key.
const MAX_KEY_BYTES: usize = 128;

/// How deep JSON may be written as a text within JSON.
const MAX_JSON_LEVELS: usize = 8;

/// A member of an object, or an item of a list that is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its key, as written.
    pub(super) key: String,
    /// The key of its object; empty if it has none.
    pub(super) parent: String,
    /// The value: a text as it reads, or a number.
    pub(super) value: String,
    /// The bytes of the value in the text, without quotes. Of JSON within a text, those of the whole text.
    pub(super) range: Range<usize>,
}

/// The most bytes of a key that a program would choose as a name.
const MAX_NAME_BYTES: usize = 40;

/// The fewest digits of a key that may be a number of a person.
const MIN_DIGITS: usize = 7;

/// Whether a key may be data or a sentence rather than a name: it has characters that names lack, as many digits as a phone
/// number, or more letters than a name. The key `consent_withdrawn` is a name: its value says whether it is so.
pub(super) fn may_hold_data(key: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    key.len() > MAX_NAME_BYTES
        || !key.bytes().all(is_of_name)
        || key.bytes().filter(u8::is_ascii_digit).count() >= MIN_DIGITS
}

/// Whether a text may have members.
pub(super) fn may_have_members(text: &str) -> bool {
    memchr::memchr_iter(b':', text.as_bytes()).any(|colon| {
        let before = text.as_bytes()[..colon].trim_ascii_end();
        colon - before.len() < 3 && matches!(before.last(), Some(b'"' | b'\''))
    })
}

/// Returns the members in a text, and those of JSON in its values.
pub(super) fn read_members(text: &str) -> Vec<Member> {
    let mut found = Vec::new();
    MemberReader::read(text).members.into_iter().for_each(|member| unpack(member, 0, &mut found));
    found
}

/// Returns where the value starts that is not complete at the end of a text, with its key and parent.
pub(super) fn find_open_member(text: &str) -> Option<(usize, String, String)> {
    MemberReader::read(text).open
}

/// Adds a member, and the members of the JSON that its value is.
fn unpack(member: Member, level: usize, found: &mut Vec<Member>) {
    if level < MAX_JSON_LEVELS && may_have_members(&member.value) {
        for inner in MemberReader::read(&member.value).members {
            unpack(Member { range: member.range.clone(), ..inner }, level + 1, found);
        }
    }
    found.push(member);
}

/// An object or a list around the place that is read.
struct Frame {
    is_list: bool,
    /// The key of the object; of a list, the key of its items.
    key: String,
    /// The key of the object around it.
    parent: String,
}

/// The state of reading one text.
struct MemberReader<'t> {
    text: &'t str,
    frames: Vec<Frame>,
    /// How many opened brackets have no frame.
    skipped: usize,
    /// The key whose value comes next.
    pending: Option<String>,
    members: Vec<Member>,
    open: Option<(usize, String, String)>,
}

impl<'t> MemberReader<'t> {
    fn read(text: &'t str) -> MemberReader<'t> {
        let mut reader =
            MemberReader { text, frames: Vec::new(), skipped: 0, pending: None, members: Vec::new(), open: None };
        reader.read_all();
        reader
    }

    fn read_all(&mut self) {
        let bytes = self.text.as_bytes();
        let mut place = 0;
        // The last byte that is no white space.
        let mut last = 0;
        while let Some(&byte) = bytes.get(place) {
            let mut next = place + 1;
            match byte {
                b'{' | b'[' => self.open_frame(byte == b'['),
                b'}' | b']' => self.close_frame(),
                b'"' => next = self.read_text(place),
                b'\'' if matches!(last, b'{' | b'[' | b',' | b':') => next = self.read_text(place),
                b'-' | b'0'..=b'9' if self.is_value_next() => next = self.read_number(place),
                b' ' | b'\t' | b'\n' | b'\r' => {
                    place += 1;
                    continue;
                }
                b':' => {}
                _ => self.pending = None,
            }
            last = bytes[next - 1];
            place = next;
        }
    }

    fn is_value_next(&self) -> bool {
        self.pending.is_some() || self.frames.last().is_some_and(|frame| frame.is_list)
    }

    /// Returns the key and the parent of the next value.
    fn take_names(&mut self) -> Option<(String, String)> {
        let frame = self.frames.last();
        match self.pending.take() {
            Some(key) => Some((key, frame.filter(|frame| !frame.is_list).map_or(String::new(), |it| it.key.clone()))),
            None => frame.filter(|frame| frame.is_list).map(|frame| (frame.key.clone(), frame.parent.clone())),
        }
    }

    fn open_frame(&mut self, is_list: bool) {
        if self.frames.len() >= MAX_DEPTH || self.skipped > 0 {
            self.skipped += 1;
            return;
        }
        let (key, parent) = self.take_names().unwrap_or_default();
        self.frames.push(Frame { is_list, key, parent });
    }

    fn close_frame(&mut self) {
        self.pending = None;
        match self.skipped.checked_sub(1) {
            Some(left) => self.skipped = left,
            None => drop(self.frames.pop()),
        }
    }

    /// Reads the text whose quote is here: a key, a value, or neither. Returns where it ends.
    fn read_text(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let quote = bytes[start];
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(byte) if *byte == quote => break,
                // A text of JSON has its line breaks escaped.
                Some(b'\n') => return end,
                Some(_) => end += 1,
                None => {
                    if self.is_value_next() {
                        self.open = self.take_names().map(|(key, parent)| (start + 1, key, parent));
                    }
                    return bytes.len();
                }
            }
        }
        let after = bytes[end + 1..].trim_ascii_start();
        let is_key = after.first() == Some(&b':') && self.pending.is_none();
        let raw = self.text.get(start + 1..end).unwrap_or_default();
        if is_key {
            // No longer key names a category, and each item of a list has its key.
            let key = if raw.len() <= MAX_KEY_BYTES { raw } else { "" };
            self.pending = Some(key.to_owned());
        } else if let Some((key, parent)) = self.take_names() {
            let value = read_value(self.text.get(start..end + 1).unwrap_or_default(), raw);
            self.members.push(Member { key, parent, value, range: start + 1..end });
        }
        end + 1
    }

    fn read_number(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let is_of_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let end = bytes[start..].iter().position(|byte| !is_of_number(byte)).map_or(bytes.len(), |it| start + it);
        if let Some((key, parent)) = self.take_names() {
            if end == bytes.len() {
                self.open = Some((start, key.clone(), parent.clone()));
            }
            let value = self.text.get(start..end).unwrap_or_default().to_owned();
            self.members.push(Member { key, parent, value, range: start..end });
        }
        end
    }
}

/// Returns what a text in quotes reads.
fn read_value(quoted: &str, raw: &str) -> String {
    match parse_str(quoted) {
        Ok(Json::String(text)) => text.to_string(),
        _ => raw.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<String> {
        let show = |member: Member| {
            assert!(text.get(member.range.clone()).is_some());
            format!("{}.{}={}", member.parent, member.key, member.value)
        };
        read_members(text).into_iter().map(show).collect()
    }

    #[test]
    fn members_are_read_with_key_and_parent() {
        assert_eq!(
            members(r#"{"a":"x","b":{"c":1,"d":["y",2]},"e":"z\n"}"#),
            [".a=x", "b.c=1", "b.d=y", "b.d=2", ".e=z\n"]
        );
        assert_eq!(members(r#"{"a":[{"b":"x"},{"b":"y"}]}"#), ["a.b=x", "a.b=y"]);
        assert_eq!(members("{'a': 'x', 'b': 5}"), [".a=x", ".b=5"]);
    }

    #[test]
    fn members_are_read_in_parts_of_json() {
        assert_eq!(members("Result: {\"a\": \"x\", \"b\": \"cut o"), [".a=x"]);
        assert_eq!(members("{\"a\":\"x\"}\n{\"a\":\"y\"}"), [".a=x", ".a=y"]);
        assert_eq!(
            members(
                r#"a 5" pipe: 6
{"a":"x"}"#
            ),
            [".a=x"]
        );
        assert_eq!(members(r#""a": see "b", 5"#), Vec::<String>::new());
        assert_eq!(members(r#"He said "a" and 'b': it's 5"#), Vec::<String>::new());
    }

    #[test]
    fn members_of_json_in_json_are_read() {
        assert_eq!(members(r#"{"a":"{\"b\":\"x\"}"}"#), [".b=x", r#".a={"b":"x"}"#]);
    }

    #[test]
    fn open_member_is_found() {
        let open = |text: &str| find_open_member(text).map(|(start, key, _)| (text[start..].to_owned(), key));
        assert_eq!(open(r#"{"a":"x","b":"yz"#), Some(("yz".into(), "b".into())));
        assert_eq!(open(r#"{"a":12"#), Some(("12".into(), "a".into())));
        assert_eq!(open(r#"{"a":"x""#), None);
        assert_eq!(open(r#"say "x"#), None);
    }

    /// Each of these would take minutes if a part were read again at each of its places.
    #[test]
    fn members_of_one_long_run_end() {
        for part in ["{", "[", "\"a\":", "\"", "'", "{\"a\":", "[\"a\",", "\\", "\":", "1:"] {
            let text = part.repeat(500_000 / part.len());
            let _ = (may_have_members(&text), read_members(&text).len());
        }
    }
}

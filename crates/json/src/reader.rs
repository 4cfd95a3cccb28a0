//! From bytes to a value, in one pass and without recursion.
//!
//! Finished values wait on two stacks, and a list or an object that closes takes its own from the top in one exact
//! allocation. So nothing is sized by a guess, which a text of many small objects could turn against us, and each thread
//! keeps its stacks from text to text.

use std::cell::RefCell;
use std::collections::HashSet;

use super::error::JsonError;
use super::slots::{Slots, fill};
use super::{Json, Object, Text, scan};

/// How deep values may nest.
pub const MAX_DEPTH: usize = 128;

/// How many values one text may hold.
pub const MAX_VALUES: usize = 2_000_000;

/// From how many keys on repeated ones are found by hashing.
const MANY_KEYS: usize = 24;

/// How many bytes a text holds without memory of its own.
const SHORT: usize = 24;

/// What a step of the reader gives; the error is rare and boxed so that the rest stays small.
pub(super) type Step<T> = Result<T, Box<JsonError>>;

/// Reads one value that fills the whole text.
pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_str(text),
        Err(error) => Err(JsonError::utf8(error)),
    }
}

/// Reads one value that fills the whole text.
pub fn parse_str(text: &str) -> Result<Json, JsonError> {
    READER.with_borrow_mut(|reader| reader.parse(text)).map_err(|error| *error)
}

thread_local! {
    static READER: RefCell<Reader> = const { RefCell::new(Reader::new()) };
}

/// Reads the value at a place, which is nested so many levels deep, and goes behind it.
pub(super) fn value_at(cursor: &mut Cursor<'_>, depth: usize) -> Step<Json> {
    READER.with_borrow_mut(|reader| {
        let result = reader.value(cursor, depth);
        reader.clear();
        result
    })
}

/// Reads text after text and keeps its working memory between them.
struct Reader {
    /// Members of all objects that are open; the last of each waits for its value.
    members: Slots<(Text, Json)>,
    /// Elements of all lists that are open; the whole text is a list of one.
    items: Slots<Json>,
    /// What is open around the innermost.
    around: Vec<Open>,
}

/// A list or an object that is still open.
struct Open {
    /// Which of the two it is.
    object: bool,
    /// Where its own values begin on their stack.
    start: usize,
    /// A bit for each key so far, by a rough hash: a key whose bit is not set cannot be a repeated one.
    rough: u64,
    /// All keys, once they are many.
    seen: Option<HashSet<Text>>,
}

impl Reader {
    const fn new() -> Reader {
        Reader { members: Slots::new(), items: Slots::new(), around: Vec::new() }
    }

    fn parse(&mut self, text: &str) -> Step<Json> {
        let mut cursor = Cursor::new(text);
        let result = self.value(&mut cursor, 0);
        self.clear();
        result.and_then(|value| cursor.end().map(|()| value))
    }

    fn clear(&mut self) {
        self.members.clear();
        self.items.clear();
        self.around.clear();
    }

    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Step<Json> {
        let mut inner = Open::new(false, 0);
        let mut values = 0;
        loop {
            // Here a value begins.
            values += 1;
            if values > MAX_VALUES {
                return Err(cursor.error("json.too_many_values", format!("more than {MAX_VALUES} values")));
            }
            let first = cursor.solid();
            if first == b'{' || first == b'[' {
                if self.around.len() + depth >= MAX_DEPTH {
                    return Err(cursor.error("json.too_deep", format!("values nest deeper than {MAX_DEPTH}")));
                }
                cursor.at += 1;
                let object = first == b'{';
                let empty = cursor.solid() == first + 2;
                if !empty {
                    let start = if object { self.members.top } else { self.items.top };
                    self.around.push(std::mem::replace(&mut inner, Open::new(object, start)));
                    if object {
                        self.key(cursor, &mut inner)?;
                    }
                    continue;
                }
                cursor.at += 1;
                let slot = self.slot(&inner);
                fill(slot, if object { Json::Object(Object::new()) } else { Json::Array(Vec::new()) });
            } else {
                let slot = self.slot(&inner);
                match first {
                    b'"' => {
                        // A blank slot is an empty string, so this is always so.
                        if let Json::String(text) = slot {
                            cursor.string(text)?;
                        }
                    }
                    b'-' | b'0'..=b'9' => cursor.number(slot)?,
                    b't' => cursor.word("true", slot, Json::Bool(true))?,
                    b'f' => cursor.word("false", slot, Json::Bool(false))?,
                    b'n' => cursor.word("null", slot, Json::Null)?,
                    _ => return Err(cursor.unexpected("a value")),
                }
            }
            // Here it ended; close what ends with it.
            loop {
                let next = cursor.solid();
                if inner.object {
                    match next {
                        b',' => {
                            cursor.at += 1;
                            self.key(cursor, &mut inner)?;
                            break;
                        }
                        b'}' => {}
                        _ => return Err(cursor.unexpected("`,` or `}`")),
                    }
                } else if self.around.is_empty() {
                    return self.items.take_from(0).pop().ok_or_else(|| cursor.unexpected("a value"));
                } else {
                    match next {
                        b',' => {
                            cursor.at += 1;
                            break;
                        }
                        b']' => {}
                        _ => return Err(cursor.unexpected("`,` or `]`")),
                    }
                }
                cursor.at += 1;
                let value = if inner.object {
                    Json::Object(Object(self.members.take_from(inner.start)))
                } else {
                    Json::Array(self.items.take_from(inner.start))
                };
                if let Some(outer) = self.around.pop() {
                    inner = outer;
                }
                fill(self.slot(&inner), value);
            }
        }
    }

    /// The place for the next value of what is open: behind its key, or behind the elements so far.
    #[inline(always)]
    fn slot(&mut self, inner: &Open) -> &mut Json {
        if inner.object { &mut self.members.last().1 } else { self.items.next() }
    }

    /// A key, which is not to stand twice in its object, and the colon behind it.
    #[inline(always)]
    fn key(&mut self, cursor: &mut Cursor<'_>, open: &mut Open) -> Step<()> {
        if cursor.solid() != b'"' {
            return Err(cursor.unexpected("a key in double quotes"));
        }
        let place = cursor.at;
        let (key, _) = self.members.next();
        let plain = cursor.string(key)?;
        let written = &cursor.bytes[place + 1..cursor.at - 1];
        let bit = 1 << rough_hash(if plain { written } else { key.as_bytes() });
        if open.rough & bit != 0 && repeated(self.members.from(open.start), open) {
            cursor.at = place;
            let key = &self.members.last().0;
            return Err(cursor.error("json.duplicate_key", format!("the key {key:?} stands twice")));
        }
        open.rough |= bit;
        if let Some(seen) = &mut open.seen {
            seen.insert(self.members.last().0.clone());
        }
        if cursor.solid() != b':' {
            return Err(cursor.unexpected("`:`"));
        }
        cursor.at += 1;
        Ok(())
    }
}

impl Open {
    fn new(object: bool, start: usize) -> Open {
        Open { object, start, rough: 0, seen: None }
    }
}

/// Whether the last key of an object stands before too. Short objects are searched, long ones hashed with a random seed.
#[cold]
fn repeated(members: &[(Text, Json)], open: &mut Open) -> bool {
    let Some(((key, _), before)) = members.split_last() else { return false };
    if before.len() < MANY_KEYS {
        return before.iter().any(|(name, _)| name == key);
    }
    open.seen.get_or_insert_with(|| before.iter().map(|(name, _)| name.clone()).collect()).contains(key)
}

/// A number below 64 that is the same for the same key and rarely for others of its object.
#[inline(always)]
fn rough_hash(bytes: &[u8]) -> u32 {
    let ends = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)),
        _ => bytes.iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte)),
    };
    ((ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
}

/// A place in a text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, bytes: text.as_bytes(), at: 0 }
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Step<()> {
        match self.at < self.bytes.len() {
            true => Err(self.error("json.trailing", "something follows the value".to_owned())),
            false => Ok(()),
        }
    }

    /// The next byte that is not white space, or zero at the end; a zero is nowhere right in JSON.
    #[inline(always)]
    pub(super) fn solid(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte > b' ' => return byte,
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                _ => return 0,
            }
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads a string into an empty text; says whether it is written as it is meant, without escapes.
    #[inline(always)]
    fn string(&mut self, into: &mut Text) -> Step<bool> {
        let start = self.at + 1;
        let end = scan::plain(self.bytes, start);
        if self.bytes.get(end) != Some(&b'"') {
            *into = self.escaped(start, end)?;
            return Ok(false);
        }
        self.at = end + 1;
        let plain = &self.text[start..end];
        if plain.len() <= SHORT {
            into.push_str(plain);
        } else {
            *into = Text::new(plain);
        }
        Ok(true)
    }

    fn word(&mut self, word: &str, slot: &mut Json, value: Json) -> Step<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            fill(slot, value);
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.at = self.bytes.len();
        }
        Err(self.unexpected("a value"))
    }

    #[cold]
    pub(super) fn unexpected(&self, wanted: &str) -> Box<JsonError> {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => self.error("json.syntax", format!("expected {wanted}, found {found:?}")),
            None => self.error("json.torn", format!("the text ends where {wanted} was expected")),
        }
    }

    #[cold]
    pub(super) fn error(&self, code: &'static str, message: String) -> Box<JsonError> {
        Box::new(JsonError { code, offset: self.at, message })
    }
}

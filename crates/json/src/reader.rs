//! Parses a JSON text into a value, in one pass and without recursion.
//!
//! Finished values wait on two stacks, and a list or an object that closes takes its own from the top in one exact
//! allocation. So nothing is sized by a guess, which a text of many small objects could exploit, and each thread keeps
//! its stacks from text to text.

use std::cell::RefCell;
use std::collections::HashSet;

use super::cursor::{Cursor, ReadResult};
use super::error::JsonError;
use super::slots::{Slots, fill};
use super::{Json, Object, Text};

/// How many levels deep values may nest.
pub const MAX_DEPTH: usize = 128;

/// How many values one text may hold.
pub const MAX_VALUES: usize = 2_000_000;

/// From how many keys on duplicates are found by hashing.
const MIN_HASHED_KEYS: usize = 24;

/// Parses bytes that are one JSON value.
pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
    parse_str(read_utf8(bytes)?)
}

/// Returns bytes as text, or the place at which they are not UTF-8.
pub fn read_utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    // The quick check does not tell the place.
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => std::str::from_utf8(bytes).map_err(JsonError::from_utf8),
    }
}

/// Parses a text that is one JSON value.
pub fn parse_str(text: &str) -> Result<Json, JsonError> {
    READER.with_borrow_mut(|reader| reader.parse(text)).map_err(|error| *error)
}

thread_local! {
    static READER: RefCell<Reader> = const { RefCell::new(Reader::new()) };
}

/// Reads the value at the cursor, which is nested `depth` levels deep, and moves the cursor past it.
pub(super) fn read_value(cursor: &mut Cursor<'_>, depth: usize) -> ReadResult<Json> {
    READER.with_borrow_mut(|reader| {
        let result = reader.read_value(cursor, depth);
        reader.clear();
        result
    })
}

/// A reader that keeps its working memory from text to text.
struct Reader {
    /// Members of all objects that are open; the last of each waits for its value.
    members: Slots<(Text, Json)>,
    /// Elements of all lists that are open; the whole text is a list of one.
    items: Slots<Json>,
    /// The containers around the innermost one.
    around: Vec<OpenContainer>,
}

/// A list or an object that is still open.
struct OpenContainer {
    /// Whether it is an object.
    object: bool,
    /// Where its own values begin on their stack.
    start: usize,
    /// A bit for each key so far, by a rough hash: a key whose bit is not set cannot be a duplicate.
    rough: u64,
    /// All keys, once they are many.
    seen: Option<HashSet<Text>>,
}

impl Reader {
    const fn new() -> Reader {
        Reader { members: Slots::new(), items: Slots::new(), around: Vec::new() }
    }

    fn parse(&mut self, text: &str) -> ReadResult<Json> {
        let mut cursor = Cursor::new(text);
        let result = self.read_value(&mut cursor, 0);
        self.clear();
        result.and_then(|value| cursor.expect_end().map(|()| value))
    }

    fn clear(&mut self) {
        self.members.clear();
        self.items.clear();
        self.around.clear();
    }

    fn read_value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> ReadResult<Json> {
        let mut inner = OpenContainer::new(false, 0);
        let mut values = 0;
        loop {
            // Here a value begins.
            values += 1;
            if values > MAX_VALUES {
                return Err(
                    cursor.error("json.too_many_values", format!("the text holds more than {MAX_VALUES} values"))
                );
            }
            let first = cursor.peek_solid();
            if first == b'{' || first == b'[' {
                if self.around.len() + depth >= MAX_DEPTH {
                    return Err(cursor.error("json.too_deep", format!("values nest deeper than {MAX_DEPTH} levels")));
                }
                cursor.at += 1;
                let object = first == b'{';
                let empty = cursor.peek_solid() == first + 2;
                if !empty {
                    let start = if object { self.members.top } else { self.items.top };
                    self.around.push(std::mem::replace(&mut inner, OpenContainer::new(object, start)));
                    if object {
                        self.read_key(cursor, &mut inner)?;
                    }
                    continue;
                }
                cursor.at += 1;
                let slot = self.next_slot(&inner);
                fill(slot, if object { Json::Object(Object::new()) } else { Json::Array(Vec::new()) });
            } else {
                let slot = self.next_slot(&inner);
                match first {
                    b'"' => {
                        // A blank slot is an empty string, so this is always so.
                        if let Json::String(text) = slot {
                            cursor.read_string(text)?;
                        }
                    }
                    b'-' | b'0'..=b'9' => cursor.read_number(slot)?,
                    b't' => cursor.read_word("true", slot, Json::Bool(true))?,
                    b'f' => cursor.read_word("false", slot, Json::Bool(false))?,
                    b'n' => cursor.read_word("null", slot, Json::Null)?,
                    _ => return Err(cursor.unexpected_error("a value")),
                }
            }
            // Here it ended; close what ends with it.
            loop {
                let next = cursor.peek_solid();
                if inner.object {
                    match next {
                        b',' => {
                            cursor.at += 1;
                            self.read_key(cursor, &mut inner)?;
                            break;
                        }
                        b'}' => {}
                        _ => return Err(cursor.unexpected_error("`,` or `}`")),
                    }
                } else if self.around.is_empty() {
                    return self.items.take_from(0).pop().ok_or_else(|| cursor.unexpected_error("a value"));
                } else {
                    match next {
                        b',' => {
                            cursor.at += 1;
                            break;
                        }
                        b']' => {}
                        _ => return Err(cursor.unexpected_error("`,` or `]`")),
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
                fill(self.next_slot(&inner), value);
            }
        }
    }

    /// Returns the slot for the next value of a container: after its key, or after the elements so far.
    #[inline(always)]
    fn next_slot(&mut self, inner: &OpenContainer) -> &mut Json {
        if inner.object { &mut self.members.last_mut().1 } else { self.items.claim() }
    }

    /// Reads a key and the colon after it; a duplicate key is an error.
    #[inline(always)]
    fn read_key(&mut self, cursor: &mut Cursor<'_>, open: &mut OpenContainer) -> ReadResult<()> {
        if cursor.peek_solid() != b'"' {
            return Err(cursor.unexpected_error("a key in double quotes"));
        }
        let place = cursor.at;
        let (key, _) = self.members.claim();
        let plain = cursor.read_string(key)?;
        let written = &cursor.bytes[place + 1..cursor.at - 1];
        let bit = 1 << rough_hash(if plain { written } else { key.as_bytes() });
        if open.rough & bit != 0 && is_repeated_key(self.members.values_from(open.start), open) {
            cursor.at = place;
            let key = &self.members.last_mut().0;
            return Err(cursor.error("json.duplicate_key", format!("duplicate key {key:?}")));
        }
        open.rough |= bit;
        if let Some(seen) = &mut open.seen {
            seen.insert(self.members.last_mut().0.clone());
        }
        if cursor.peek_solid() != b':' {
            return Err(cursor.unexpected_error("`:`"));
        }
        cursor.at += 1;
        Ok(())
    }
}

impl OpenContainer {
    fn new(object: bool, start: usize) -> OpenContainer {
        OpenContainer { object, start, rough: 0, seen: None }
    }
}

/// Whether the last key of an object is a duplicate. Short objects are searched, long ones hashed with a random seed.
#[cold]
fn is_repeated_key(members: &[(Text, Json)], open: &mut OpenContainer) -> bool {
    let Some(((key, _), before)) = members.split_last() else { return false };
    if before.len() < MIN_HASHED_KEYS {
        return before.iter().any(|(name, _)| name == key);
    }
    open.seen.get_or_insert_with(|| before.iter().map(|(name, _)| name.clone()).collect()).contains(key)
}

/// Returns a number below 64 that is equal for equal keys and rarely for others of the object.
#[inline(always)]
fn rough_hash(bytes: &[u8]) -> u32 {
    let ends = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last)),
        _ => bytes.iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte)),
    };
    ((ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
}

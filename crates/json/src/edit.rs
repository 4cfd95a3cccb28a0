//! Edits of values within a JSON text that leave every other byte as it was.
//!
//! The caller has parsed the text before, so it is well formed and no object has a duplicate key. All that is needed here
//! is to find where a value begins and ends. Nothing recurses.

use std::ops::Range;

use crate::{Json, Text, parse_str};

/// One step on the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonStep {
    /// Into an object, by a key.
    Key(Text),
    /// Into an array, by a position.
    Index(usize),
}

/// The path to a value, from the outermost. The macro [`json_path!`](crate::json_path) writes one.
pub type JsonPath = Vec<JsonStep>;

/// The change of the value at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonEdit {
    /// Puts this value in its place. A key that the object lacks is added as its last member.
    Set(Json),
    /// Removes it with its key. Only for members of objects.
    Remove,
    /// Puts these before its first element. Only for arrays.
    Prepend(Vec<Json>),
}

/// Returns a [`JsonPath`] of its steps: texts are keys, numbers are positions.
///
/// ```
/// use lictor_json::{JsonEdit, edit_text, json_path};
///
/// let edits = [(json_path!["a", 1], JsonEdit::Set(7.into()))];
/// assert_eq!(edit_text("{ \"a\": [1, 2] }", &edits).as_deref(), Some("{ \"a\": [1, 7] }"));
/// ```
#[macro_export]
macro_rules! json_path {
    ($($step:expr),* $(,)?) => { $crate::JsonPath::from([$($crate::JsonStep::from($step)),*]) };
}

impl From<&str> for JsonStep {
    fn from(key: &str) -> JsonStep {
        JsonStep::Key(key.into())
    }
}

impl From<usize> for JsonStep {
    fn from(index: usize) -> JsonStep {
        JsonStep::Index(index)
    }
}

impl JsonEdit {
    /// Returns the edit that empties a value and keeps its type where it can; none if the value is empty already.
    pub fn to_empty(value: &Json) -> Option<JsonEdit> {
        match value {
            Json::Null => None,
            Json::Array(list) => (!list.is_empty()).then(|| JsonEdit::Set(Vec::new().into())),
            Json::String(_) => Some(JsonEdit::Set("".into())),
            _ => Some(JsonEdit::Set(Json::Null)),
        }
    }
}

impl Json {
    /// Returns the value at a path.
    pub fn find(&self, path: &[JsonStep]) -> Option<&Json> {
        path.iter().try_fold(self, |value, step| match step {
            JsonStep::Key(key) => value.get(key),
            JsonStep::Index(index) => value.as_array()?.get(*index),
        })
    }
}

/// Returns a path with more steps after it.
pub fn join_path(path: &[JsonStep], more: impl IntoIterator<Item = JsonStep>) -> JsonPath {
    path.iter().cloned().chain(more).collect()
}

/// Returns the text with these edits; none if a path leads nowhere. No path may lead into the value at another.
pub fn edit_text(text: &str, edits: &[(JsonPath, JsonEdit)]) -> Option<String> {
    let mut changes = Vec::new();
    for (path, edit) in edits {
        changes.push(find_change(text, path, edit)?);
    }
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (range, with) in changes {
        out.push_str(text.get(end..range.start)?);
        out.push_str(&with);
        end = range.end;
    }
    out.push_str(text.get(end..)?);
    Some(out)
}

/// Returns the range that an edit replaces, and the text that comes there.
fn find_change(text: &str, path: &[JsonStep], edit: &JsonEdit) -> Option<(Range<usize>, String)> {
    let whole = skip_space(text, 0)..text.trim_end().len();
    let Some((last, parents)) = path.split_last() else {
        return match edit {
            JsonEdit::Set(value) => Some((whole, value.to_string())),
            JsonEdit::Remove | JsonEdit::Prepend(_) => None,
        };
    };
    let parent = parents.iter().try_fold(whole, |range, step| Some(find_child(text, range, step)?.value))?;
    match (find_child(text, parent.clone(), last), edit, last) {
        (Some(found), JsonEdit::Set(value), _) => Some((found.value, value.to_string())),
        (Some(found), JsonEdit::Prepend(items), _) if text.get(found.value.clone())?.starts_with('[') => {
            let start = found.value.start + 1;
            let is_empty = text.get(start..found.value.end - 1)?.trim().is_empty();
            let written: Vec<String> = items.iter().map(Json::to_string).collect();
            let comma = if is_empty || written.is_empty() { "" } else { "," };
            Some((start..start, format!("{}{comma}", written.join(","))))
        }
        (Some(found), JsonEdit::Remove, JsonStep::Key(_)) => Some((found.with_comma(text, &parent), String::new())),
        (None, JsonEdit::Remove, JsonStep::Key(_)) => Some((parent.start..parent.start, String::new())),
        (None, JsonEdit::Set(value), JsonStep::Key(key)) if text.get(parent.clone())?.starts_with('{') => {
            let is_empty = text.get(parent.start + 1..parent.end - 1)?.trim().is_empty();
            let comma = if is_empty { "" } else { "," };
            let end = text.get(..parent.end - 1)?.trim_end().len();
            Some((end..end, format!("{comma}{}:{value}", Json::String(key.clone()))))
        }
        _ => None,
    }
}

/// An element of an array or a member of an object.
struct Child {
    /// Where its key begins, or the value where there is no key.
    start: usize,
    value: Range<usize>,
}

impl Child {
    /// Returns the range of the child and one comma: the one after it, else the one before it.
    fn with_comma(&self, text: &str, parent: &Range<usize>) -> Range<usize> {
        let after = skip_space(text, self.value.end);
        if text.as_bytes().get(after) == Some(&b',') {
            return self.start..skip_space(text, after + 1);
        }
        let before = text.get(parent.start..self.start).unwrap_or_default().trim_end();
        match before.strip_suffix(',') {
            Some(before) => parent.start + before.len()..self.value.end,
            None => self.start..self.value.end,
        }
    }
}

/// Finds a child of the array or object at `parent`.
fn find_child(text: &str, parent: Range<usize>, step: &JsonStep) -> Option<Child> {
    let bytes = text.as_bytes();
    let is_object = match (bytes.get(parent.start)?, step) {
        (b'{', JsonStep::Key(_)) => true,
        (b'[', JsonStep::Index(_)) => false,
        _ => return None,
    };
    let (mut at, mut number) = (skip_space(text, parent.start + 1), 0);
    while at < parent.end - 1 {
        let start = at;
        let mut is_it = *step == JsonStep::Index(number);
        if is_object {
            let end = value_end(text, at)?;
            let key = parse_str(text.get(at..end)?).ok()?;
            is_it = matches!(step, JsonStep::Key(name) if key.as_str() == Some(name));
            // A colon follows the key.
            at = skip_space(text, skip_space(text, end) + 1);
        }
        let end = value_end(text, at)?;
        if is_it {
            return Some(Child { start, value: at..end });
        }
        // A comma or the end follows the value.
        at = skip_space(text, skip_space(text, end) + 1);
        number += 1;
    }
    None
}

fn skip_space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns where the value that begins here ends.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0usize);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += 1;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth > 0 => {
                at += 1;
                continue;
            }
            // A number, `true`, `false` or `null`.
            _ => {
                let rest = bytes.get(at..)?;
                let length = rest.iter().take_while(|byte| !b",:]} \t\n\r".contains(byte)).count();
                if length == 0 {
                    return None;
                }
                at += length;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests;

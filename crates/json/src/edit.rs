//! Edits of values within a JSON text that leave every other byte as it was.
//!
//! The caller has parsed the text before, so it is well formed and no object has a duplicate key. All that is needed here
//! is to find where a value begins and ends. Nothing recurses.

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::{Json, Text, parse_str};

/// One step on the path to a value.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonStep {
    /// Into an object, by a key.
    Key(Text),
    /// Into an array, by a position.
    Index(usize),
}

/// The path to a value, from the outermost. The macro [`json_path!`](crate::json_path) writes one.
pub type JsonPath = Vec<JsonStep>;

/// The change of the value at a path.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonEdit {
    /// Puts this value in its place. A key that the object lacks is added as its last member.
    Set(Json),
    /// Removes it with its key. Only for members of objects.
    Remove,
    /// Puts these before its first element. Only for arrays.
    Prepend(Vec<Json>),
    /// Puts these after its last element. Only for arrays.
    Append(Vec<Json>),
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

impl fmt::Display for JsonStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonStep::Key(key) => f.write_str(key),
            JsonStep::Index(index) => write!(f, "{index}"),
        }
    }
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

    /// Returns the value at a path, to change it.
    pub fn find_mut(&mut self, path: &[JsonStep]) -> Option<&mut Json> {
        path.iter().try_fold(self, |value, step| match (step, value) {
            (JsonStep::Key(key), Json::Object(object)) => object.get_mut(key),
            (JsonStep::Index(index), Json::Array(items)) => items.get_mut(*index),
            _ => None,
        })
    }
}

/// Returns a path with more steps after it.
pub fn join_path(path: &[JsonStep], more: impl IntoIterator<Item = JsonStep>) -> JsonPath {
    path.iter().cloned().chain(more).collect()
}

/// Returns the text with these edits, in one pass however many there are; none if a path leads nowhere. No path may lead
/// into the value at another.
pub fn edit_text(text: &str, edits: &[(JsonPath, JsonEdit)]) -> Option<String> {
    let mut changes = Vec::with_capacity(edits.len());
    for ((path, edit), place) in edits.iter().zip(find_places(text, edits)?) {
        changes.push(find_change(text, path, edit, place)?);
    }
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    if changes.windows(2).any(|pair| pair[1].0.start < pair[0].0.end) {
        return edit_then_remove(text, edits);
    }
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (range, with) in changes {
        out.push_str(text.get(end..range.start)?);
        out.push_str(&with);
        end = range.end;
    }
    out.push_str(text.get(end..)?);
    Some(out)
}

/// Edits where the last members of an object are removed together, so that both would take the comma between them.
fn edit_then_remove(text: &str, edits: &[(JsonPath, JsonEdit)]) -> Option<String> {
    let (removals, rest): (Vec<_>, Vec<_>) = edits.iter().cloned().partition(|(_, edit)| *edit == JsonEdit::Remove);
    // Without removals they overlap because a path leads into another.
    let removals: Vec<JsonPath> = removals.into_iter().map(|(path, _)| path).collect();
    if removals.is_empty() {
        return None;
    }
    remove_members(&edit_text(text, &rest)?, &removals)
}

/// Returns where the value at a path is written.
///
/// ```
/// use lictor_json::{find_value, json_path};
///
/// assert_eq!(find_value("{\"a\": [1, [2]]}", &json_path!["a", 1]), Some(10..13));
/// ```
pub fn find_value(text: &str, path: &[JsonStep]) -> Option<Range<usize>> {
    let whole = skip_space(text, 0)..text.trim_end().len();
    path.iter().try_fold(whole, |range, step| Some(find_child(text, range, step)?.value))
}

/// Where the last step of a path leads.
struct Place {
    parent: Range<usize>,
    child: Option<Child>,
}

/// Returns the places of the paths of edits, in their order: none where a step before the last leads nowhere. None at all
/// if the text is no JSON.
fn find_places(text: &str, edits: &[(JsonPath, JsonEdit)]) -> Option<Vec<Option<Place>>> {
    let mut places: Vec<Option<Place>> = edits.iter().map(|_| None).collect();
    let mut order: Vec<usize> = (0..edits.len()).filter(|&edit| !edits[edit].0.is_empty()).collect();
    order.sort_by(|a, b| edits[*a].0.cmp(&edits[*b].0));
    let whole = skip_space(text, 0)..text.trim_end().len();
    // The values that are left to look into: each with the edits within it, and how many steps lead to it.
    let mut left = vec![(whole, order.as_slice(), 0)];
    while let Some((range, inside, depth)) = left.pop() {
        let step_of = |edit: &usize| edits[*edit].0.get(depth);
        let is_last = |edit: &&usize| edits[**edit].0.len() == depth + 1;
        for edit in inside.iter().filter(is_last) {
            places[*edit] = Some(Place { parent: range.clone(), child: None });
        }
        let (mut open, Some(mut children)) = (inside.len(), Children::new(text, range.clone())) else { continue };
        while open > 0
            && let Some((step, child)) = children.next_child()?
        {
            let from = inside.partition_point(|edit| step_of(edit) < Some(&step));
            let until = from + inside[from..].partition_point(|edit| step_of(edit) == Some(&step));
            let found = &inside[from..until];
            open -= found.len();
            // Paths that end here come before those that lead further.
            let ends = found.iter().take_while(is_last).count();
            for edit in &found[..ends] {
                places[*edit] = Some(Place { parent: range.clone(), child: Some(child.clone()) });
            }
            if ends < found.len() {
                left.push((child.value, &found[ends..], depth + 1));
            }
        }
    }
    Some(places)
}

/// Returns the range that an edit replaces, and the text that comes there.
fn find_change(text: &str, path: &[JsonStep], edit: &JsonEdit, place: Option<Place>) -> Option<(Range<usize>, String)> {
    let Some(last) = path.last() else {
        return match edit {
            JsonEdit::Set(value) => Some((find_value(text, path)?, value.to_string())),
            JsonEdit::Remove | JsonEdit::Prepend(_) | JsonEdit::Append(_) => None,
        };
    };
    let Place { parent, child } = place?;
    match (child, edit, last) {
        (Some(found), JsonEdit::Set(value), _) => Some((found.value, value.to_string())),
        (Some(found), JsonEdit::Prepend(items), _) if text.get(found.value.clone())?.starts_with('[') => {
            let start = found.value.start + 1;
            let is_empty = text.get(start..found.value.end - 1)?.trim().is_empty();
            let written: Vec<String> = items.iter().map(Json::to_string).collect();
            let comma = if is_empty || written.is_empty() { "" } else { "," };
            Some((start..start, format!("{}{comma}", written.join(","))))
        }
        (Some(found), JsonEdit::Append(items), _) if text.get(found.value.clone())?.starts_with('[') => {
            let end = found.value.end - 1;
            let is_empty = text.get(found.value.start + 1..end)?.trim().is_empty();
            let written: Vec<String> = items.iter().map(Json::to_string).collect();
            let comma = if is_empty || written.is_empty() { "" } else { "," };
            Some((end..end, format!("{comma}{}", written.join(","))))
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
#[derive(Clone)]
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
    let mut children = Children::new(text, parent)?;
    while let Some((found, child)) = children.next_child()? {
        if found == *step {
            return Some(child);
        }
    }
    None
}

/// The children of an array or object, in their order.
struct Children<'a> {
    text: &'a str,
    is_object: bool,
    at: usize,
    end: usize,
    number: usize,
}

impl<'a> Children<'a> {
    /// Returns the children of the value at `parent`; none if it can have none.
    fn new(text: &'a str, parent: Range<usize>) -> Option<Children<'a>> {
        let is_object = match text.as_bytes().get(parent.start)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        Some(Children { text, is_object, at: skip_space(text, parent.start + 1), end: parent.end - 1, number: 0 })
    }

    /// Returns the next child and the step to it; the outer `None` is a text that is no JSON.
    #[expect(clippy::option_option, reason = "the end is no error")]
    fn next_child(&mut self) -> Option<Option<(JsonStep, Child)>> {
        if self.at >= self.end {
            return Some(None);
        }
        let (text, start) = (self.text, self.at);
        let mut step = JsonStep::Index(self.number);
        if self.is_object {
            let end = value_end(text, self.at)?;
            step = JsonStep::Key(read_key(text.get(self.at..end)?)?);
            // A colon follows the key.
            self.at = skip_space(text, skip_space(text, end) + 1);
        }
        let value = self.at..value_end(text, self.at)?;
        // A comma or the end follows the value.
        self.at = skip_space(text, skip_space(text, value.end) + 1);
        self.number += 1;
        Some(Some((step, Child { start, value })))
    }
}

/// Returns the places of the elements of the list under a key of the outermost object; none if there is no such list.
///
/// ```
/// assert_eq!(lictor_json::find_elements("{\"a\": [1, [2]]}", "a"), Some(vec![7..8, 10..13]));
/// ```
pub fn find_elements(text: &str, key: &str) -> Option<Vec<Range<usize>>> {
    let list = find_value(text, &[key.into()])?;
    let mut children = Children::new(text, list).filter(|children| !children.is_object)?;
    let mut elements = Vec::new();
    while let Some((_, child)) = children.next_child()? {
        elements.push(child.value);
    }
    Some(elements)
}

/// Returns the text without the members of objects at these paths, in one pass however many there are; none if the text
/// is no JSON.
pub fn remove_members(text: &str, paths: &[JsonPath]) -> Option<String> {
    let mut sorted: Vec<&[JsonStep]> = paths.iter().map(Vec::as_slice).collect();
    sorted.sort_unstable();
    let whole = skip_space(text, 0)..text.trim_end().len();
    let mut out = String::with_capacity(text.len());
    copy_without(text, whole, &sorted, 0, &mut out)?;
    Some(out)
}

/// Copies the value at `range` without the members at sorted `paths`, of which `depth` steps lead to the value.
fn copy_without(text: &str, range: Range<usize>, paths: &[&[JsonStep]], depth: usize, out: &mut String) -> Option<()> {
    if paths.is_empty() {
        out.push_str(text.get(range)?);
        return Some(());
    }
    let mut children = Children::new(text, range)?;
    let is_object = children.is_object;
    out.push(if is_object { '{' } else { '[' });
    let mut is_first = true;
    while let Some((step, child)) = children.next_child()? {
        let from = paths.partition_point(|path| path.get(depth) < Some(&step));
        let until = from + paths[from..].partition_point(|path| path.get(depth) == Some(&step));
        let inside = &paths[from..until];
        // A path that ends here comes before those that lead further.
        if is_object && inside.first().is_some_and(|path| path.len() == depth + 1) {
            continue;
        }
        if !std::mem::replace(&mut is_first, false) {
            out.push(',');
        }
        out.push_str(text.get(child.start..child.value.start)?);
        copy_without(text, child.value, inside, depth + 1, out)?;
    }
    out.push(if is_object { '}' } else { ']' });
    Some(())
}

fn skip_space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns a key as it is meant; `written` is in double quotes.
fn read_key(written: &str) -> Option<Text> {
    let plain = written.get(1..written.len().checked_sub(1)?)?;
    match memchr(b'\\', plain.as_bytes()) {
        None => Some(plain.into()),
        Some(_) => Some(parse_str(written).ok()?.as_str()?.into()),
    }
}

/// Returns where the string that begins here ends.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns where the value that begins here ends.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0usize);
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
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

//! Values within a JSON text replaced, and every other byte left as it was.
//!
//! The text has been read strictly before, so it is known to be well formed and every key to stand once. All that is
//! needed here is to find where a value begins and ends. Nothing recurses.

use std::ops::Range;

use lictor_json::{self as json, Json, Text};

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into an object.
    Key(Text),
    /// Into a list.
    Index(usize),
}

/// The way to a value, from the outermost.
pub(crate) type Path = Vec<Step>;

/// What becomes of the value at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// It is this. A member that the object does not have yet is added as its last.
    Set(Json),
    /// It is gone, with its key. Only for members of objects.
    Remove,
    /// These stand before its first element. Only for lists.
    Prepend(Vec<Json>),
}

/// A path, step by step: names are keys, numbers are places.
macro_rules! at {
    ($($step:expr),* $(,)?) => { $crate::splice::Path::from([$($crate::splice::Step::from($step)),*]) };
}
pub(crate) use at;

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

/// A path that goes on.
pub(crate) fn join(path: &[Step], more: impl IntoIterator<Item = Step>) -> Path {
    path.iter().cloned().chain(more).collect()
}

/// The value at a path.
pub(crate) fn value_at<'a>(value: &'a Json, path: &[Step]) -> Option<&'a Json> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.as_array()?.get(*index),
    })
}

/// The edit by which a value says nothing, in the form that it has; none if it does not say anything.
pub(crate) fn nothing(value: &Json) -> Option<Edit> {
    match value {
        Json::Null => None,
        Json::Array(list) => (!list.is_empty()).then(|| Edit::Set(Vec::new().into())),
        Json::String(_) => Some(Edit::Set("".into())),
        _ => Some(Edit::Set(Json::Null)),
    }
}

/// The text with some values changed. Paths do not lead into one another; none if one leads nowhere.
pub(crate) fn edited(text: &str, edits: &[(Path, Edit)]) -> Option<String> {
    let mut changes = Vec::new();
    for (path, edit) in edits {
        changes.push(change(text, path, edit)?);
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

fn change(text: &str, path: &[Step], edit: &Edit) -> Option<(Range<usize>, String)> {
    let whole = skip_space(text, 0)..text.trim_end().len();
    let Some((last, parents)) = path.split_last() else {
        return match edit {
            Edit::Set(value) => Some((whole, value.to_string())),
            Edit::Remove | Edit::Prepend(_) => None,
        };
    };
    let parent = parents.iter().try_fold(whole, |range, step| Some(child(text, range, step)?.value))?;
    match (child(text, parent.clone(), last), edit, last) {
        (Some(found), Edit::Set(value), _) => Some((found.value, value.to_string())),
        (Some(found), Edit::Prepend(items), _) if text.get(found.value.clone())?.starts_with('[') => {
            let start = found.value.start + 1;
            let is_empty = text.get(start..found.value.end - 1)?.trim().is_empty();
            let written: Vec<String> = items.iter().map(Json::to_string).collect();
            let comma = if is_empty || written.is_empty() { "" } else { "," };
            Some((start..start, format!("{}{comma}", written.join(","))))
        }
        (Some(found), Edit::Remove, Step::Key(_)) => Some((found.with_comma(text, &parent), String::new())),
        (None, Edit::Remove, Step::Key(_)) => Some((parent.start..parent.start, String::new())),
        (None, Edit::Set(value), Step::Key(key)) if text.get(parent.clone())?.starts_with('{') => {
            let is_empty = text.get(parent.start + 1..parent.end - 1)?.trim().is_empty();
            let comma = if is_empty { "" } else { "," };
            let end = text.get(..parent.end - 1)?.trim_end().len();
            Some((end..end, format!("{comma}{}:{value}", Json::String(key.clone()))))
        }
        _ => None,
    }
}

/// An element or a member.
struct Child {
    /// From its key on, or from itself on.
    start: usize,
    value: Range<usize>,
}

impl Child {
    /// The child and one comma beside it: the one after it, else the one before it.
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

/// Finds a child of the list or object at `parent`.
fn child(text: &str, parent: Range<usize>, step: &Step) -> Option<Child> {
    let bytes = text.as_bytes();
    let is_object = match (bytes.get(parent.start)?, step) {
        (b'{', Step::Key(_)) => true,
        (b'[', Step::Index(_)) => false,
        _ => return None,
    };
    let (mut at, mut number) = (skip_space(text, parent.start + 1), 0);
    while at < parent.end - 1 {
        let start = at;
        let mut is_it = *step == Step::Index(number);
        if is_object {
            let end = value_end(text, at)?;
            let key = json::parse_str(text.get(at..end)?).ok()?;
            is_it = matches!(step, Step::Key(name) if key.as_str() == Some(name));
            // Behind the key stands a colon.
            at = skip_space(text, skip_space(text, end) + 1);
        }
        let end = value_end(text, at)?;
        if is_it {
            return Some(Child { start, value: at..end });
        }
        // Behind the value stands a comma, or the end.
        at = skip_space(text, skip_space(text, end) + 1);
        number += 1;
    }
    None
}

fn skip_space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value that begins here ends.
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
            // A number or a word.
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
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_value_changes() {
        let text = r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null}"#;
        let cases: [(Path, Edit, &str); 9] = [
            (at!["a", 1, "bc"], Edit::Set("y".into()), r#" { "a" : [1, {"b\u0063":"y"}, 2.50 ] ,"d":{ } , "e":null}"#),
            (at!["a", 2], Edit::Set(3.into()), r#" { "a" : [1, {"b\u0063":"x\"}]"}, 3 ] ,"d":{ } , "e":null}"#),
            (at!["a"], Edit::Remove, r#" { "d":{ } , "e":null}"#),
            (at!["e"], Edit::Remove, r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } }"#),
            (
                at!["d", "n"],
                Edit::Set(1.into()),
                r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{"n":1 } , "e":null}"#,
            ),
            (at!["n"], Edit::Set(1.into()), r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null,"n":1}"#),
            (at!["a", 1, "bc"], Edit::Remove, r#" { "a" : [1, {}, 2.50 ] ,"d":{ } , "e":null}"#),
            (
                at!["a"],
                Edit::Prepend(vec![7.into(), 8.into()]),
                r#" { "a" : [7,8,1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null}"#,
            ),
            (at![], Edit::Set(1.into()), " 1"),
        ];
        for (path, edit, expected) in cases {
            assert_eq!(edited(text, &[(path, edit)]).as_deref(), Some(expected));
        }
        assert_eq!(edited(text, &[(at!["a", 7], Edit::Set(1.into()))]), None);
        assert_eq!(edited(text, &[(at!["x", "y"], Edit::Set(1.into()))]), None);
        assert_eq!(edited(text, &[(at!["x"], Edit::Remove)]).as_deref(), Some(text));
    }
}

//! Finds attributes by their dotted names, in any of three spellings.
//!
//! OpenTelemetry attributes are flat, so lists and objects are written as many attributes (`llm.tools.0.tool.name`), as
//! one attribute that holds JSON text, or, once exported, as nested objects. All three read the same here.

use lictor_json::{Json, Object, Text};

/// How many steps of a dotted name are followed; the rest stays one name.
const MAX_STEPS: usize = 32;

/// Returns the value of an attribute: under its own name, under nested names, or joined from flattened ones.
pub(super) fn attribute(attributes: &Object, name: &str) -> Option<Json> {
    if let Some(value) = attributes.get(name).or_else(|| find_nested(attributes, name)) {
        return (!value.is_null()).then(|| value.clone());
    }
    collect_flattened(attributes, name)
}

/// Returns the text of an attribute; none if it is empty or no text.
pub(super) fn text_attribute(attributes: &Object, name: &str) -> Option<Text> {
    match attributes.get(name).or_else(|| find_nested(attributes, name))? {
        Json::String(text) if !text.is_empty() => Some(text.clone()),
        Json::Number(number) => Some(Text::from(number.to_string())),
        _ => None,
    }
}

/// Returns the value of an attribute that holds a structure, or a JSON text of one.
pub(super) fn structure(attributes: &Object, name: &str) -> Option<Json> {
    attribute(attributes, name).map(parse_embedded)
}

/// Parses a string that holds JSON; returns any other value unchanged.
pub(super) fn parse_embedded(value: Json) -> Json {
    match value {
        Json::String(text) if looks_structured(&text) => match lictor_json::parse_str(&text) {
            Ok(inner) => inner,
            Err(_) => Json::String(text),
        },
        value => value,
    }
}

fn looks_structured(text: &str) -> bool {
    matches!(text.trim_ascii_start().as_bytes().first(), Some(b'{' | b'[' | b'"'))
}

/// Follows a dotted name through nested objects. Each object may itself hold the rest of the name under one key.
fn find_nested<'a>(attributes: &'a Object, name: &str) -> Option<&'a Json> {
    let mut object = attributes;
    let mut rest = name;
    for _ in 0..MAX_STEPS {
        let (step, after) = rest.split_once('.')?;
        object = object.get(step)?.as_object()?;
        if let Some(value) = object.get(after) {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// A value that is being joined: the leaf of a flattened name, or a branch that several names share.
enum AttributeNode {
    Leaf(Json),
    Branch(Vec<(Text, AttributeNode)>),
}

fn collect_flattened(attributes: &Object, name: &str) -> Option<Json> {
    let mut root = Vec::new();
    for (key, value) in attributes.iter() {
        if let Some(path) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
            insert_path(&mut root, path, value);
        }
    }
    (!root.is_empty()).then(|| AttributeNode::Branch(root).into_json())
}

fn insert_path(mut branch: &mut Vec<(Text, AttributeNode)>, path: &str, value: &Json) {
    let mut steps = path.splitn(MAX_STEPS, '.').peekable();
    while let Some(step) = steps.next() {
        // Attributes come in order, so the place is nearly always the last one.
        let at = match branch.iter().rposition(|(key, _)| key == step) {
            Some(at) => at,
            None => {
                branch.push((Text::from(step), AttributeNode::Branch(Vec::new())));
                branch.len() - 1
            }
        };
        if steps.peek().is_none() {
            if matches!(&branch[at].1, AttributeNode::Branch(inner) if inner.is_empty()) {
                branch[at].1 = AttributeNode::Leaf(value.clone());
            }
            return;
        }
        // Where a name is both a value and the beginning of others, the others win.
        if let AttributeNode::Leaf(_) = branch[at].1 {
            branch[at].1 = AttributeNode::Branch(Vec::new());
        }
        let AttributeNode::Branch(inner) = &mut branch[at].1 else { return };
        branch = inner;
    }
}

impl AttributeNode {
    /// Returns the value; names that are all numbers make a list, in the order of the numbers.
    fn into_json(self) -> Json {
        let members = match self {
            AttributeNode::Leaf(value) => return value,
            AttributeNode::Branch(members) => members,
        };
        let numbers: Option<Vec<u32>> = members.iter().map(|(key, _)| key.parse().ok()).collect();
        match numbers {
            Some(numbers) => {
                let mut items: Vec<(u32, AttributeNode)> =
                    numbers.into_iter().zip(members).map(|(number, (_, node))| (number, node)).collect();
                items.sort_by_key(|(number, _)| *number);
                Json::Array(items.into_iter().map(|(_, node)| node.into_json()).collect())
            }
            None => Json::Object(members.into_iter().map(|(key, node)| (key, node.into_json())).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(text: &str) -> Object {
        match lictor_json::parse_str(text).unwrap() {
            Json::Object(object) => object,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn attribute_spellings_read_the_same() {
        let flat = attributes(r#"{"m.0.message.role":"user","m.1.message.role":"tool","m.10.message.role":"ai"}"#);
        let nested =
            attributes(r#"{"m":[{"message":{"role":"user"}},{"message":{"role":"tool"}},{"message":{"role":"ai"}}]}"#);
        let text = attributes(
            r#"{"m":"[{\"message\":{\"role\":\"user\"}},{\"message\":{\"role\":\"tool\"}},{\"message\":{\"role\":\"ai\"}}]"}"#,
        );
        assert_eq!(structure(&flat, "m"), structure(&nested, "m"));
        assert_eq!(structure(&text, "m"), structure(&nested, "m"));
    }

    #[test]
    fn attribute_is_found_through_nested_objects() {
        let mixed = attributes(r#"{"llm":{"model":{"name":"x"},"a.b":1},"tool.name":"t"}"#);
        assert_eq!(text_attribute(&mixed, "llm.model.name").as_deref(), Some("x"));
        assert_eq!(attribute(&mixed, "llm.a.b"), Some(Json::from(1)));
        assert_eq!(text_attribute(&mixed, "tool.name").as_deref(), Some("t"));
        assert_eq!(attribute(&mixed, "llm.nothing"), None);
    }

    #[test]
    fn attribute_path_over_limit_is_cut() {
        let key = format!("a{}", ".b".repeat(100_000));
        let mut object = Object::new();
        object.insert(key, true);
        assert!(attribute(&object, "a").is_some());
    }
}

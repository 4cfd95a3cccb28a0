//! Keys of arguments that differ in upper and lower case only. Tools in Go and C# take the one for the other, so what was
//! judged would not be what is done.
//!
//! Such keys are told apart where the tool's own schema declares both, and where the schema leaves the keys of an object free,
//! as for HTTP headers and environment variables.

use lictor_json::{Json, Object, Text};

use crate::known::fold_case;

/// How many steps lead from a schema to those that it is made of.
const MAX_SCHEMA_STEPS: usize = 16;

/// Of how many schemas one is made.
const MAX_SCHEMAS: usize = 256;

/// The members with the schemas that a schema is made of.
const COMPOSITIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns the first key of a call's arguments that differs in case only from another one beside it, or from one that the
/// tool declares. `schema` is the JSON schema of the arguments.
///
/// ```
/// use lictor_json::parse_str;
///
/// let arguments = parse_str(r#"{"amount":1,"Amount":1000}"#)?;
/// assert!(lictor_wire::find_similar_key(&arguments, None).is_some());
/// let schema = parse_str(r#"{"properties":{"amount":{},"Amount":{}}}"#)?;
/// assert!(lictor_wire::find_similar_key(&arguments, Some(&schema)).is_none());
/// # Ok::<(), lictor_json::JsonError>(())
/// ```
pub fn find_similar_key(arguments: &Json, schema: Option<&Json>) -> Option<Text> {
    let root = schema.unwrap_or(&Json::Null);
    let mut own = ValueSchemas::default();
    if let Some(schema) = schema {
        own.add(root, schema, MAX_SCHEMA_STEPS);
    }
    find_in_value(root, &own, arguments, true)
}

/// The schemas of one value, with those that they are made of.
#[derive(Debug, Default)]
struct ValueSchemas<'s> {
    all: Vec<&'s Json>,
    /// Whether the value is within one whose content the schema leaves free.
    is_free: bool,
}

impl<'s> ValueSchemas<'s> {
    fn add(&mut self, root: &'s Json, schema: &'s Json, steps: usize) {
        let Some(steps) = steps.checked_sub(1).filter(|_| self.all.len() < MAX_SCHEMAS) else { return };
        self.is_free |= schema.as_bool() == Some(true);
        self.all.push(schema);
        let parts = COMPOSITIONS.iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        for part in parts.chain(schema.text("$ref").and_then(|pointer| find_reference(root, pointer))) {
            self.add(root, part, steps);
        }
    }

    fn declares(&self, key: &str) -> bool {
        self.all.iter().any(|schema| schema.get("properties").is_some_and(|known| known.get(key).is_some()))
    }

    /// Whether any of the declared keys differs from this one in case only.
    fn declares_similar(&self, key: &str, folded: &str) -> bool {
        let declared =
            self.all.iter().filter_map(|schema| schema.get("properties")?.as_object()).flat_map(Object::iter);
        declared.map(|(known, _)| known.as_str()).any(|known| known != key && fold_case(known) == folded)
    }

    /// Whether the keys of an object are free: it is a map.
    fn has_free_keys(&self, is_top: bool) -> bool {
        let is_map = |schema: &&Json| {
            let is_set = |key: &str| schema.get(key).is_some_and(|value| value.as_object().is_some());
            let is_open = is_set("patternProperties")
                || is_set("additionalProperties")
                || schema.get("additionalProperties").and_then(Json::as_bool) == Some(true);
            is_open || !is_top && is_plain_object(schema)
        };
        self.is_free || self.all.iter().any(is_map)
    }

    /// Returns the schemas of a member of an object.
    fn member(&self, root: &'s Json, key: &str, is_map: bool) -> ValueSchemas<'s> {
        let mut inner = ValueSchemas::default();
        for schema in &self.all {
            if let Some(own) = schema.get("properties").and_then(|known| known.get(key)) {
                inner.add(root, own, MAX_SCHEMA_STEPS);
                continue;
            }
            let patterns = schema.get("patternProperties").and_then(Json::as_object).into_iter().flat_map(Object::iter);
            let others = schema.get("additionalProperties");
            for other in patterns.map(|(_, other)| other).chain(others) {
                inner.add(root, other, MAX_SCHEMA_STEPS);
            }
        }
        inner.is_free |= self.is_free || is_map && inner.all.is_empty();
        inner
    }

    /// Returns the schemas of an element of a list.
    fn element(&self, root: &'s Json) -> ValueSchemas<'s> {
        let mut inner = ValueSchemas { is_free: self.is_free, ..ValueSchemas::default() };
        for schema in &self.all {
            let listed = ["items", "prefixItems"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
            let all = schema.get("items").filter(|items| items.as_array().is_none());
            listed.chain(all).for_each(|element| inner.add(root, element, MAX_SCHEMA_STEPS));
        }
        inner
    }
}

fn find_in_value<'s>(root: &'s Json, schemas: &ValueSchemas<'s>, value: &Json, is_top: bool) -> Option<Text> {
    match value {
        Json::Array(values) => {
            let inner = schemas.element(root);
            values.iter().find_map(|value| find_in_value(root, &inner, value, false))
        }
        Json::Object(members) => {
            let is_map = schemas.has_free_keys(is_top);
            find_in_keys(schemas, members, is_map).or_else(|| {
                members.iter().find_map(|(key, value)| {
                    let has_keys = matches!(value, Json::Array(_) | Json::Object(_));
                    has_keys.then(|| find_in_value(root, &schemas.member(root, key, is_map), value, false))?
                })
            })
        }
        _ => None,
    }
}

/// Returns a key of one object that another reader takes for another one.
fn find_in_keys(schemas: &ValueSchemas<'_>, members: &Object, is_map: bool) -> Option<Text> {
    let mut folded: Vec<(String, &Text, bool)> =
        members.iter().map(|(key, _)| (fold_case(key), key, schemas.declares(key))).collect();
    if let Some((_, key, _)) =
        folded.iter().find(|(folded, key, is_declared)| !is_declared && schemas.declares_similar(key, folded))
    {
        return Some((*key).clone());
    }
    folded.sort_unstable();
    let similar = folded.windows(2).find(|pair| pair[0].0 == pair[1].0 && !(pair[0].2 && pair[1].2) && !is_map);
    similar.map(|pair| pair[1].1.clone())
}

/// Whether a schema allows objects and says nothing of their members.
fn is_plain_object(schema: &Json) -> bool {
    let allows_objects = match schema.get("type") {
        Some(Json::String(name)) => name == "object",
        Some(Json::Array(names)) => names.iter().any(|name| name.as_str() == Some("object")),
        _ => true,
    };
    let says_members =
        ["properties", "$ref", "enum", "const"].iter().chain(&COMPOSITIONS).any(|key| match schema.get(key) {
            Some(Json::Object(members)) => !members.is_empty(),
            Some(value) => !value.is_null(),
            None => false,
        });
    let is_closed = schema.get("additionalProperties").and_then(Json::as_bool) == Some(false);
    allows_objects && !says_members && !is_closed && schema.as_object().is_some()
}

/// Returns the schema that a reference within the same document points to.
fn find_reference<'s>(root: &'s Json, pointer: &str) -> Option<&'s Json> {
    let steps = pointer.strip_prefix("#/")?.split('/');
    steps.map(|step| step.replace("~1", "/").replace("~0", "~")).try_fold(root, |value, step| value.get(&step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_keys_are_found_unless_declared_or_free() {
        let cases = [
            ("{}", r#"{"amount":1,"Amount":2}"#, true),
            ("{}", "{\"\u{17f}um\":1,\"sum\":2}", true),
            ("{}", r#"{"a":[{"b":{"to":1,"TO":2}}]}"#, true),
            ("{}", r#"{"amount":1,"to":2}"#, false),
            (r#"{"properties":{"amount":{"type":"number"}}}"#, r#"{"Amount":2}"#, true),
            (r#"{"properties":{"amount":{},"Amount":{}}}"#, r#"{"Amount":2,"amount":1}"#, false),
            (r#"{"properties":{"amount":{},"Amount":{}}}"#, r#"{"AMOUNT":2}"#, true),
            (r#"{"properties":{"headers":{"type":"object"}}}"#, r#"{"headers":{"A":1,"a":2}}"#, false),
            (
                r#"{"properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}"#,
                r#"{"env":{"A":"1","a":"2"}}"#,
                false,
            ),
            (
                r#"{"properties":{"env":{"type":"object","additionalProperties":false}}}"#,
                r#"{"env":{"A":"1","a":"2"}}"#,
                true,
            ),
            (
                r#"{"properties":{"to":{"type":"object","properties":{"iban":{}}}}}"#,
                r#"{"to":{"iban":1,"IBAN":2}}"#,
                true,
            ),
            (
                r#"{"properties":{"to":{"type":"object","properties":{"iban":{}},"additionalProperties":true}}}"#,
                r#"{"to":{"IBAN":2}}"#,
                true,
            ),
            (
                r#"{"properties":{"to":{"type":"object","properties":{"iban":{}},"additionalProperties":true}}}"#,
                r#"{"to":{"x":1,"X":2}}"#,
                false,
            ),
            (
                r#"{"properties":{"h":{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":{}}]}}}"#,
                r#"{"h":{"A":1,"a":2}}"#,
                false,
            ),
            (
                r##"{"properties":{"h":{"$ref":"#/$defs/map"}},"$defs":{"map":{"type":"object"}}}"##,
                r#"{"h":{"A":1,"a":2}}"#,
                false,
            ),
            (
                r##"{"properties":{"h":{"$ref":"#/$defs/h"}},"$defs":{"h":{"$ref":"#/$defs/h"}}}"##,
                r#"{"h":{"A":1,"a":2}}"#,
                true,
            ),
            (
                r#"{"properties":{"all":{"items":{"type":"object","properties":{"id":{}}}}}}"#,
                r#"{"all":[{"id":1},{"ID":2}]}"#,
                true,
            ),
            (r#"{"type":"object"}"#, r#"{"a":1,"A":2}"#, true),
            (r#"{"type":"object","additionalProperties":true}"#, r#"{"a":1,"A":2}"#, false),
        ];
        for (schema, arguments, expected) in cases {
            let schema = lictor_json::parse_str(schema).unwrap();
            let arguments = lictor_json::parse_str(arguments).unwrap();
            assert_eq!(find_similar_key(&arguments, Some(&schema)).is_some(), expected, "{schema} {arguments}");
        }
    }
}

//! Whether a value fits a JSON schema, as far as a client relies on it: types, values that are listed, and members that must
//! or must not be there. Other words of a schema, and references, refuse nothing.

use lictor_json::{Json, Object};

/// How deep a schema is read.
const MAX_SCHEMA_DEPTH: usize = 16;

/// Whether a value fits a schema.
pub(super) fn fits(value: &Json, schema: &Json) -> bool {
    fits_within(value, schema, MAX_SCHEMA_DEPTH)
}

fn fits_within(value: &Json, schema: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let list = |key: &str| schema.get(key).and_then(Json::as_array);
    let is_typed = match schema.get("type") {
        Some(Json::String(name)) => is_of_type(value, name),
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).any(|name| is_of_type(value, name)),
        _ => true,
    };
    is_typed
        && list("enum").is_none_or(|listed| listed.contains(value))
        && schema.get("const").is_none_or(|only| only == value)
        && list("allOf").is_none_or(|all| all.iter().all(|one| fits_within(value, one, depth)))
        && list("anyOf").is_none_or(|any| any.iter().any(|one| fits_within(value, one, depth)))
        && value.as_object().is_none_or(|members| has_members(members, schema, depth))
        && match (value, schema.get("items")) {
            (Json::Array(values), Some(items)) => values.iter().all(|value| fits_within(value, items, depth)),
            _ => true,
        }
}

fn has_members(members: &Object, schema: &Json, depth: usize) -> bool {
    let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    let known = schema.get("properties").and_then(Json::as_object);
    let is_closed = schema.get("additionalProperties").and_then(Json::as_bool) == Some(false);
    required.iter().filter_map(Json::as_str).all(|name| members.get(name).is_some())
        && members.iter().all(|(name, value)| match known.and_then(|known| known.get(name)) {
            Some(schema) => fits_within(value, schema, depth),
            None => !is_closed,
        })
}

fn is_of_type(value: &Json, name: &str) -> bool {
    match (name, value) {
        ("null", _) => value.is_null(),
        ("boolean", _) => value.as_bool().is_some(),
        ("string", _) => value.as_str().is_some(),
        ("array", _) => value.as_array().is_some(),
        ("object", _) => value.as_object().is_some(),
        ("number", _) => matches!(value, Json::Number(_)),
        // JSON Schema takes 2.0 for a whole number.
        ("integer", Json::Number(number)) => number.as_f64().fract() == 0.0,
        ("integer", _) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_checked_in_its_parts() {
        let schema = r#"{"type":"object","properties":{"db":{"enum":["a","b"]},"n":{"type":["integer","null"]},
            "all":{"type":"array","items":{"type":"string"}}},"required":["db"],"additionalProperties":false}"#;
        let schema = lictor_json::parse_str(schema).unwrap();
        let cases = [
            (r#"{"db":"a"}"#, true),
            (r#"{"db":"c"}"#, false),
            ("{}", false),
            (r#"{"db":"a","n":2}"#, true),
            (r#"{"db":"a","n":2.0}"#, true),
            (r#"{"db":"a","n":2.5}"#, false),
            (r#"{"db":"a","n":null}"#, true),
            (r#"{"db":"a","x":1}"#, false),
            (r#"{"db":"a","all":["x"]}"#, true),
            (r#"{"db":"a","all":[1]}"#, false),
            ("[]", false),
        ];
        for (value, expected) in cases {
            assert_eq!(fits(&lictor_json::parse_str(value).unwrap(), &schema), expected, "{value}");
        }
    }
}

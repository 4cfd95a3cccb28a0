//! The tools that a request offers to the model, and the arguments of which their definitions list all values.

use lictor_json::{Json, JsonPath, Object, Text};

/// A tool that a request offers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfferedTool {
    /// The name by which the model calls it.
    pub name: Text,
    /// The arguments of which the definition lists all values.
    pub choices: Vec<ArgumentChoice>,
    /// Whether the vendor defines or runs it; its definition is never changed.
    pub is_vendors: bool,
    /// The path of the schema of its arguments within its entry.
    pub(crate) schema_at: JsonPath,
}

/// An argument of which the definition of a tool lists all values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArgumentChoice {
    /// The name of the argument.
    pub argument: Text,
    /// Its values: texts, numbers, truth values and null.
    pub values: Vec<Json>,
    /// Whether a call must have it.
    pub is_required: bool,
}

impl OfferedTool {
    /// Returns a tool that the client runs. The schema of its arguments is at a path of its entry.
    pub(crate) fn of_client(name: &str, entry: &Json, schema_at: JsonPath) -> OfferedTool {
        let choices = entry.find(&schema_at).map(read_choices).unwrap_or_default();
        OfferedTool { name: name.into(), choices, is_vendors: false, schema_at }
    }

    /// Returns a tool of the vendor.
    pub(crate) fn of_vendor(name: &str) -> OfferedTool {
        OfferedTool { name: name.into(), choices: Vec::new(), is_vendors: true, schema_at: JsonPath::new() }
    }
}

/// Returns the arguments of a JSON schema of which it lists all values.
fn read_choices(schema: &Json) -> Vec<ArgumentChoice> {
    let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
    let arguments = schema.get("properties").and_then(Json::as_object).into_iter().flat_map(Object::iter);
    let choice = |(argument, definition): (&Text, &Json)| {
        let values = match (definition.get("enum"), definition.get("const")) {
            (Some(Json::Array(values)), None) => values.clone(),
            (None, Some(value)) => vec![value.clone()],
            _ => return None,
        };
        let is_scalar = |value: &Json| !matches!(value, Json::Array(_) | Json::Object(_));
        if values.is_empty() || !values.iter().all(is_scalar) {
            return None;
        }
        let is_required = required.iter().any(|name| name.as_str() == Some(argument));
        Some(ArgumentChoice { argument: argument.clone(), values, is_required })
    };
    arguments.filter_map(choice).collect()
}

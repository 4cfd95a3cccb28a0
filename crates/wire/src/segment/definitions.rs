//! Tools on offer: the members of their definitions that are an event as they are. A text in any other member, such as a
//! `prompt`, is read on its own.

use lictor_json::{Json, JsonPath, JsonStep, Object, join_path};

use crate::name::is_name;

/// The members of a definition: what the tool is called, what it does, what it takes, and how its server is reached.
const DEFINITION_KEYS: [&str; 15] = [
    "name",
    "title",
    "description",
    "parameters",
    "input_schema",
    "inputSchema",
    "output_schema",
    "outputSchema",
    "input_examples",
    "annotations",
    "format",
    "server_url",
    "server_description",
    "authorization",
    "headers",
];

/// The members of a definition that hold names and settings. Another text in them is read on its own.
const SETTING_KEYS: [&str; 26] = [
    "connector_id",
    "server_name",
    "mcp_server_name",
    "allowed_tools",
    "require_approval",
    "allowed_callers",
    "allowed_domains",
    "blocked_domains",
    "excluded_websites",
    "allowed_websites",
    "sources",
    "filters",
    "vector_store_ids",
    "ranking_options",
    "container",
    "action",
    "background",
    "moderation",
    "output_format",
    "input_fidelity",
    "configs",
    "default_config",
    "cache_control",
    "search_content_types",
    "search_context_size",
    "user_location",
];

/// The members of a definition that hold definitions.
const INNER_KEYS: [&str; 3] = ["function", "custom", "tools"];

/// The members of a server of tools.
const SERVER_KEYS: [&str; 5] = ["name", "type", "url", "authorization_token", "cache_control"];

/// Returns the paths of what belongs to the definitions of tools.
pub(crate) fn definition_paths(tools: &Json, at: &[JsonStep]) -> Vec<JsonPath> {
    let mut paths = Vec::new();
    for (place, tool) in tools.as_array().unwrap_or_default().iter().enumerate() {
        add_paths(tool, &join_path(at, [place.into()]), &mut paths);
    }
    paths
}

fn add_paths(tool: &Json, at: &[JsonStep], paths: &mut Vec<JsonPath>) {
    for (key, value) in tool.as_object().into_iter().flat_map(Object::iter) {
        let here = join_path(at, [JsonStep::Key(key.clone())]);
        match (key.as_str(), value) {
            (key, Json::Object(_)) if INNER_KEYS.contains(&key) => add_paths(value, &here, paths),
            (key, Json::Array(_)) if INNER_KEYS.contains(&key) => paths.extend(definition_paths(value, &here)),
            (key, _) if DEFINITION_KEYS.contains(&key) => paths.push(here),
            (key, _) if SETTING_KEYS.contains(&key) && has_names_only(value) => paths.push(here),
            _ => {}
        }
    }
}

/// Returns the paths of what belongs to servers of tools.
pub(crate) fn server_paths(servers: &Json, at: &[JsonStep]) -> Vec<JsonPath> {
    let mut paths = Vec::new();
    for (place, server) in servers.as_array().unwrap_or_default().iter().enumerate() {
        for (key, value) in server.as_object().into_iter().flat_map(Object::iter) {
            if SERVER_KEYS.contains(&key.as_str()) || key == "tool_configuration" && has_names_only(value) {
                paths.push(join_path(at, [place.into(), JsonStep::Key(key.clone())]));
            }
        }
    }
    paths
}

/// Whether all texts and keys of a value are names.
fn has_names_only(value: &Json) -> bool {
    match value {
        Json::String(text) => is_name(text),
        Json::Array(values) => values.iter().all(has_names_only),
        Json::Object(members) => members.iter().all(|(key, value)| is_name(key) && has_names_only(value)),
        _ => true,
    }
}

//! Takes tools out of a request that the model must not call now, and leaves a request that the vendor accepts.
//!
//! - A tool of the client is removed, or values of its arguments are. Tools of the vendor stay.
//! - If no tool would be left, all stay and the model may call none of them: a history with calls needs definitions.
//! - A `tool_choice` that forces a removed tool leaves the choice to the model.

use lictor_json::{self as json, Json, JsonEdit, JsonPath, Text, edit_text, join_path, json_path};

use crate::api::Api;
use crate::interface::Interface;
use crate::offered_tool::OfferedTool;

/// What is removed from the tools of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolRemoval {
    /// The names of tools.
    pub tools: Vec<Text>,
    /// Values of arguments: the tool, the argument, and the value.
    pub values: Vec<(Text, Text, Json)>,
}

/// A request without some tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ShieldedRequest {
    /// The body.
    pub body: Vec<u8>,
    /// The unavailable tools that the client asked for in particular, or that had to stay: the model should be told.
    pub unanswered: Vec<Text>,
    /// Whether the tools were left in because none would remain; the model can call none of them.
    pub has_none: bool,
}

/// The lists of tools, each with the member that chooses among them. The second is the older form of Chat Completions.
pub(crate) const LISTS: [(&str, &str); 2] = [("tools", "tool_choice"), ("functions", "function_call")];

impl ToolRemoval {
    /// Whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.values.is_empty()
    }

    /// Returns the body of a request without these tools and values; none if it cannot be written.
    pub fn apply(&self, api: Api, body: &[u8]) -> Option<ShieldedRequest> {
        let interface = api.interface();
        let text = std::str::from_utf8(body).ok()?;
        let edits = self.narrow(interface, &json::parse_str(text).ok()?);
        let text = edit_text(text, &edits)?;
        let value = json::parse_str(&text).ok()?;
        let total: usize = LISTS.iter().map(|(key, _)| entries(&value, key).len()).sum();
        let left: usize = LISTS.iter().map(|(key, _)| self.keep(interface, &value, key).len()).sum();
        let (mut edits, mut unanswered, has_none) = (Vec::new(), Vec::new(), left == 0 && total > 0);
        for (key, choice_key) in LISTS {
            let kept = self.keep(interface, &value, key);
            if kept.len() == entries(&value, key).len() {
                continue;
            }
            let choice = value.get(choice_key).filter(|choice| !choice.is_null());
            if has_none {
                edits.push((json_path![choice_key], JsonEdit::Set(interface.choose("none", choice))));
                continue;
            }
            match (kept.is_empty(), choice) {
                (true, choice) => {
                    edits.push((json_path![key], JsonEdit::Remove));
                    edits.extend(choice.map(|_| (json_path![choice_key], JsonEdit::Remove)));
                }
                (false, choice) => {
                    edits.push((json_path![key], JsonEdit::Set(kept.into())));
                    edits.extend(choice.and_then(|choice| self.adapt(interface, choice_key, choice, &mut unanswered)));
                }
            }
        }
        if has_none {
            unanswered.clone_from(&self.tools);
        }
        Some(ShieldedRequest { body: edit_text(&text, &edits)?.into_bytes(), unanswered, has_none })
    }

    /// Returns the edits that take values out of the definitions of tools.
    fn narrow(&self, interface: &dyn Interface, value: &Json) -> Vec<(JsonPath, JsonEdit)> {
        let mut edits = Vec::new();
        for (key, _) in LISTS {
            for (place, entry) in entries(value, key).iter().enumerate() {
                let Some(tool) = interface.read_tool(entry).filter(|tool| !tool.is_vendors) else { continue };
                for choice in &tool.choices {
                    let is_removed = |value: &Json| {
                        let same = |(name, argument, removed): &(Text, Text, Json)| {
                            *name == tool.name && *argument == choice.argument && removed == value
                        };
                        self.values.iter().any(same)
                    };
                    let left: Vec<Json> = choice.values.iter().filter(|value| !is_removed(value)).cloned().collect();
                    if left.len() == choice.values.len() {
                        continue;
                    }
                    let schema_at = join_path(&json_path![key, place], tool.schema_at.iter().cloned());
                    let argument_at = join_path(&schema_at, ["properties".into(), choice.argument.as_str().into()]);
                    if left.is_empty() {
                        edits.push((argument_at, JsonEdit::Remove));
                        continue;
                    }
                    // A default that is no longer in the list would make the schema invalid.
                    let default_at = join_path(&argument_at, ["default".into()]);
                    if value.find(&default_at).is_some_and(|default| !left.contains(default)) {
                        edits.push((default_at, JsonEdit::Remove));
                    }
                    edits.push((join_path(&argument_at, ["enum".into()]), JsonEdit::Set(left.into())));
                }
            }
        }
        edits
    }

    fn is_removed(&self, tool: Option<&OfferedTool>) -> bool {
        tool.is_some_and(|tool| !tool.is_vendors && self.tools.contains(&tool.name))
    }

    /// Returns the entries of a list that stay.
    fn keep(&self, interface: &dyn Interface, value: &Json, key: &str) -> Vec<Json> {
        let stays = |entry: &&Json| !self.is_removed(interface.read_tool(entry).as_ref());
        entries(value, key).iter().filter(stays).cloned().collect()
    }

    /// Returns the edit of a choice that names a removed tool.
    fn adapt(
        &self,
        interface: &dyn Interface,
        key: &str,
        choice: &Json,
        unanswered: &mut Vec<Text>,
    ) -> Option<(JsonPath, JsonEdit)> {
        if let Some(forced) = forced_tool(choice).filter(|name| self.tools.iter().any(|tool| tool == name)) {
            unanswered.push(forced.into());
            return Some((json_path![key], JsonEdit::Set(interface.choose("auto", Some(choice)))));
        }
        let (at, allowed) = match choice.at("allowed_tools.tools") {
            Some(allowed) => (json_path![key, "allowed_tools", "tools"], allowed),
            None => (json_path![key, "tools"], choice.get("tools")?),
        };
        let allowed = allowed.as_array()?;
        let is_left = |entry: &&Json| !forced_tool(entry).is_some_and(|name| self.tools.iter().any(|it| it == name));
        let left: Vec<Json> = allowed.iter().filter(is_left).cloned().collect();
        if left.len() == allowed.len() {
            return None;
        }
        if left.is_empty() {
            unanswered.extend(allowed.iter().filter_map(forced_tool).map(Text::from));
            return Some((json_path![key], JsonEdit::Set(interface.choose("none", Some(choice)))));
        }
        Some((at, JsonEdit::Set(left.into())))
    }
}

/// Returns the tools that a request offers.
pub(crate) fn read_tools(interface: &dyn Interface, value: &Json) -> Vec<OfferedTool> {
    let lists = LISTS.iter().flat_map(|(key, _)| entries(value, key));
    lists.filter_map(|entry| interface.read_tool(entry)).collect()
}

/// Whether a request has an entry among its tools that the vendor defines or runs, or that cannot be read.
pub(crate) fn has_vendor_tools(interface: &dyn Interface, value: &Json) -> bool {
    let mut lists = LISTS.iter().flat_map(|(key, _)| entries(value, key));
    lists.any(|entry| interface.read_tool(entry).is_none_or(|tool| tool.is_vendors))
}

fn entries<'a>(value: &'a Json, key: &str) -> &'a [Json] {
    value.get(key).and_then(Json::as_array).unwrap_or_default()
}

/// Returns the tool that a choice, or an entry of the allowed tools, names.
fn forced_tool(choice: &Json) -> Option<&str> {
    let name = choice.at("function.name").or_else(|| choice.at("custom.name")).or_else(|| choice.get("name"));
    name.and_then(Json::as_str)
}

//! Calls within values whose members no table lists: quotations, results of tools, log probabilities. Some clients look
//! for calls at any depth, so these values hold none.

use lictor_json::{Json, JsonStep};

use super::Check;
use crate::known::fold_case;
use crate::name::is_member_name;
use crate::refusal::WireRefusal;
use crate::unread::FileHolder;

/// The members that hold calls, as readers compare them that ignore case and separators.
const CALL_KEYS: [&str; 8] =
    ["toolcalls", "toolcall", "tooluse", "tooluses", "functioncall", "functioncalls", "function", "customtoolcall"];

/// The ends of the types of objects that are calls, in small letters and without separators.
const CALL_TYPE_ENDS: [&str; 4] = ["tooluse", "toolcall", "functioncall", "toolinvocation"];

/// Whether an object of a type is a call.
pub(super) fn is_call_type(name: &str) -> bool {
    let folded = fold_name(name);
    let is_item = ["_call", "-call"].iter().any(|end| fold_case(name).ends_with(end));
    folded == "function" || is_item || CALL_TYPE_ENDS.iter().any(|end| folded.ends_with(end))
}

/// The members that libraries make of a reply, and take from it if it has them, without case and separators.
const MADE_KEYS: [&str; 2] = ["outputtext", "outputparsed"];

/// Whether some clients read a member as a call or as the text of a reply, although no table has it.
pub(super) fn is_read_by_clients(key: &str, value: &Json) -> bool {
    MADE_KEYS.contains(&fold_name(key).as_str()) || is_call_member(key, value)
}

/// Whether a member holds a call, or a list of them.
fn is_call_member(key: &str, value: &Json) -> bool {
    let name = fold_name(key);
    let is_structured = matches!(value, Json::Object(_) | Json::Array(_));
    let is_custom = name == "custom" && value.get("name").is_some() && value.get("input").is_some();
    is_structured && CALL_KEYS.contains(&name.as_str()) || is_custom
}

/// Returns a name without its case and its separators.
fn fold_name(name: &str) -> String {
    fold_case(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

impl Check<'_> {
    /// Takes calls out of a value, at any depth, and members whose names could be sentences if `has_names`. A call in a
    /// list is refused, as it cannot be left out alone.
    pub(super) fn seal(&mut self, name: &str, value: &Json, has_names: bool) -> Result<(), WireRefusal> {
        match value {
            Json::Object(members) if members.get("type").and_then(Json::as_str).is_some_and(is_call_type) => {
                if !matches!(self.path.last(), Some(JsonStep::Key(_))) {
                    return Err(self.wrong_type("a value without calls"));
                }
                self.remove(name, &member_of(&self.path));
            }
            Json::Object(members) => {
                for (key, value) in members.iter() {
                    self.path.push(JsonStep::Key(key.clone()));
                    match is_call_member(key, value) || has_names && !is_member_name(key) {
                        true => self.remove(name, key),
                        false => self.seal(name, value, has_names)?,
                    }
                    self.path.pop();
                }
            }
            Json::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    self.seal(name, value, has_names)?;
                    self.path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the result of a tool. The event of the result has the texts of its parts, or the whole value; what else
    /// parts say is judged beside the content.
    pub(super) fn read_result(&mut self, name: &str, value: &Json) -> Result<(), WireRefusal> {
        let parts = value.as_array().unwrap_or_default();
        let is_said = |part: &Json| {
            part.as_str().is_some()
                || part.text("text").is_some()
                || part.text("type").is_some_and(|name| name.starts_with("input_"))
        };
        let has_parts = parts.iter().all(is_said) && !parts.is_empty();
        self.seal(name, value, has_parts)?;
        if !has_parts {
            return Ok(());
        }
        for (place, part) in parts.iter().enumerate() {
            self.path.push(place.into());
            let members = part.as_object().into_iter().flat_map(|part| part.iter());
            let holder = part.as_object().map(|part| FileHolder::default().with_members(part)).unwrap_or_default();
            for (key, value) in members.filter(|(key, _)| key.as_str() != "text") {
                self.path.push(JsonStep::Key(key.clone()));
                self.quoted.add_within(&holder, key, value, &self.path);
                self.path.pop();
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Takes a member out, whatever becomes of unknown fields.
    fn remove(&mut self, name: &str, key: &str) {
        self.removals.push(self.path.clone());
        self.stripped.add(name, key);
    }
}

/// Returns the name of the member at a path.
fn member_of(path: &[JsonStep]) -> String {
    path.last().map(ToString::to_string).unwrap_or_default()
}

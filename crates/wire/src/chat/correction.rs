//! The next request to a model whose calls were denied, in Chat Completions.

use lictor_json::{Json, JsonEdit, Object, Text, json_path};

use crate::segment::Edits;

/// The members of a reply that are sent back. Services refuse requests with members that only replies have.
const MESSAGE_MEMBERS: [&str; 6] =
    ["role", "content", "tool_calls", "function_call", "reasoning_content", "reasoning_details"];

/// Returns the edits that add the reply and the results of its calls to the messages.
pub(super) fn correct(reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
    let said = reply.at("choices.0.message").and_then(Json::as_object)?;
    let mut message = Object::new();
    for key in MESSAGE_MEMBERS {
        if let Some(value) = said.get(key).filter(|value| !value.is_null() || key == "content") {
            message.insert(key, value.clone());
        }
    }
    let mut messages = vec![Json::Object(message)];
    for call in said.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
        let id = call.text("id").filter(|id| !id.is_empty())?;
        let (_, text) = denials.iter().find(|(denied, _)| denied == id)?;
        let result = [("role", "tool".into()), ("tool_call_id", id.into()), ("content", text.as_str().into())];
        messages.push(result.into());
    }
    // The old form has no ids, so its denial cannot be told from others.
    if messages.len() == 1 || said.get("function_call").is_some_and(|call| !call.is_null()) {
        return None;
    }
    Some(vec![(json_path!["messages"], JsonEdit::Append(messages))])
}

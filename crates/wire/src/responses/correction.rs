//! The next request to a model whose calls were denied, in OpenAI Responses.

use lictor_json::{Json, JsonEdit, Text, json_path};

use crate::segment::Edits;

/// Returns the edits that add the reply and the results of its calls to the input.
pub(super) fn correct(request: &Json, reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
    let output = reply.get("output").and_then(Json::as_array)?;
    let mut results = Vec::new();
    for item in output {
        let result_type = match item.text("type") {
            Some("function_call") => "function_call_output",
            Some("custom_tool_call") => "custom_tool_call_output",
            _ => continue,
        };
        let id = item.text("call_id").filter(|id| !id.is_empty())?;
        let (_, text) = denials.iter().find(|(denied, _)| denied == id)?;
        let result = [("type", result_type.into()), ("call_id", id.into()), ("output", text.as_str().into())];
        results.push(Json::from(result));
    }
    if results.is_empty() {
        return None;
    }
    let at = json_path!["input"];
    // The vendor has added the input and its own items to the conversation that it keeps.
    if request.get("conversation").is_some_and(|kept| !kept.is_null()) {
        return Some(vec![(at, JsonEdit::Set(results.into()))]);
    }
    let mut items: Vec<Json> = output.iter().filter(|item| can_be_sent_back(request, item)).cloned().collect();
    items.extend(results);
    let edit = match request.get("input") {
        Some(Json::Array(_)) => JsonEdit::Append(items),
        Some(text @ Json::String(_)) => {
            items.insert(0, Json::from([("role", "user".into()), ("content", text.clone())]));
            JsonEdit::Set(items.into())
        }
        _ => JsonEdit::Set(items.into()),
    };
    Some(vec![(at, edit)])
}

/// Whether the vendor knows an item again: it forgets its reasoning if it keeps nothing, unless it is in the item.
fn can_be_sent_back(request: &Json, item: &Json) -> bool {
    let is_kept = request.get("store").and_then(Json::as_bool) != Some(false);
    is_kept || item.text("type") != Some("reasoning") || item.text("encrypted_content").is_some()
}

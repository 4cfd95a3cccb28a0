//! The next request to a model whose calls were denied, in Anthropic Messages.

use lictor_json::{Json, JsonEdit, Text, json_path};

use crate::segment::Edits;

/// Returns the edits that add the reply and the results of its calls to the messages.
pub(super) fn correct(reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
    let blocks = reply.get("content").and_then(Json::as_array)?;
    let mut results: Vec<Json> = Vec::new();
    for block in blocks.iter().filter(|block| block.text("type") == Some("tool_use")) {
        let id = block.text("id").filter(|id| !id.is_empty())?;
        let (_, text) = denials.iter().find(|(denied, _)| denied == id)?;
        results.push(Json::from([
            ("type", "tool_result".into()),
            ("tool_use_id", id.into()),
            ("content", text.as_str().into()),
            ("is_error", true.into()),
        ]));
    }
    if results.is_empty() {
        return None;
    }
    let said = Json::from([("role", "assistant".into()), ("content", blocks.to_vec().into())]);
    let answered = Json::from([("role", "user".into()), ("content", results.into())]);
    Some(vec![(json_path!["messages"], JsonEdit::Append(vec![said, answered]))])
}

//! Requests of OpenAI Responses.

use lictor_json::{Json, JsonEdit, JsonPath, JsonStep, Object, Text, join_path, json_path};

use super::item::read_item;
use crate::refusal::WireRefusal;
use crate::request_parts::{RequestBody, read_instructions, read_list};
use crate::segment::message::read_message;
use crate::segment::{ITEM_REFERENCE, PROMPT, Segment};

/// Returns the segments of a request: instructions, a stored prompt with its variables, then the input.
pub(super) fn read_segments(body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = read_instructions(body.value, "instructions");
    // Only the vendor knows the text of a stored prompt; its variables are here.
    if let Some(prompt) = body.value.get("prompt").filter(|prompt| !prompt.is_null()) {
        segments.push(Segment::other(PROMPT, "prompt", prompt, json_path!["prompt"]));
        for (name, value) in prompt.get("variables").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
            segments.push(Segment::instructions(value, json_path!["prompt", "variables", name.as_str()]));
        }
    }
    match body.value.get(body.key) {
        None | Some(Json::Null) => {}
        Some(text @ Json::String(_)) => {
            // An input that is a text is the content of a user's message.
            let message = Json::from([("role", "user".into()), ("content", text.clone())]);
            let read = read_message(&message, &[])?;
            segments.extend(read.into_iter().map(|segment| segment.with_key_renamed("content", "input")));
        }
        Some(_) => segments.extend(read_list(body, read_input_item)?),
    }
    Ok(segments)
}

fn read_input_item(item: &Json, at: &[JsonStep]) -> Result<Vec<Segment>, WireRefusal> {
    match item.text("type") {
        // The vendor keeps the item itself; the request has only its id.
        Some("item_reference") => {
            let id = item.get("id").unwrap_or(&Json::Null);
            Ok(vec![Segment::other(ITEM_REFERENCE, "id", id, at.to_vec())])
        }
        // Tools that are offered in the course of a conversation.
        Some("additional_tools" | "tool_search_output") => {
            let tools_at = join_path(at, ["tools".into()]);
            let offered = item.get("tools").and_then(|tools| Segment::definitions(tools, tools_at));
            // The tools that the vendor found were in its reply.
            let is_known = item.text("type") == Some("tool_search_output") && item.text("execution") == Some("server");
            let mut segments: Vec<Segment> = offered.filter(|_| !is_known).into_iter().collect();
            segments.extend(read_item(item, at)?);
            Ok(segments)
        }
        _ => read_item(item, at),
    }
}

/// Returns the edit that puts results of denied calls before the rest of the input. An input that is a text becomes a
/// message of the user.
pub(super) fn answer_calls(body: &Json, answers: &[(Text, String)]) -> Option<(JsonPath, JsonEdit)> {
    let result = |(id, text): &(Text, String)| {
        let kind = ("type", "function_call_output".into());
        Json::from([kind, ("call_id", id.clone().into()), ("output", text.as_str().into())])
    };
    let mut items: Vec<Json> = answers.iter().map(result).collect();
    let edit = match body.get("input") {
        Some(Json::Array(_)) => JsonEdit::Prepend(items),
        Some(text @ Json::String(_)) => {
            items.push(Json::from([("role", "user".into()), ("content", text.clone())]));
            JsonEdit::Set(items.into())
        }
        None | Some(Json::Null) => JsonEdit::Set(items.into()),
        Some(_) => return None,
    };
    Some((json_path!["input"], edit))
}

//! Gemini: contents, requests, responses, both in one envelope, and recorded streams of responses.
//!
//! A content has a role and parts; a part is an object whose key says what it is (`functionCall`, or `function_call` as
//! the Python library dumps it). The pieces of a streamed response are joined. Calls often have no id, so they are paired with their answers by order and name.

use super::chat;
use super::dialect::fill_answer;
use super::envelope;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, find_exchange, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// The keys of the parts, as the interface spells them and as the Python library does.
const PART_KEYS: [[&str; 2]; 10] = [
    ["text", "text"],
    ["functionCall", "function_call"],
    ["functionResponse", "function_response"],
    ["inlineData", "inline_data"],
    ["fileData", "file_data"],
    ["executableCode", "executable_code"],
    ["codeExecutionResult", "code_execution_result"],
    ["toolCall", "tool_call"],
    ["toolResponse", "tool_response"],
    ["thoughtSignature", "thought_signature"],
];

/// Decodes the records of one file.
pub(super) type GeminiDecoder = MessageLogDecoder<GeminiLog>;

/// The shape of Gemini's contents.
#[derive(Debug, Default)]
pub(super) struct GeminiLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let has_contents = |list: &[Json]| list.iter().any(is_content);
    is_content(value)
        || list_contents(value).is_some_and(has_contents)
        || list_candidates(value).is_some_and(|list| list.iter().any(|one| one.get("content").is_some_and(is_content)))
        || value.as_array().is_some_and(|chunks| chunks.iter().any(|chunk| list_candidates(chunk).is_some()))
}

/// Whether a value is a content: parts without a type, of the user, the model or a function.
pub(super) fn is_content(value: &Json) -> bool {
    let role = value.get("role").filter(|role| !role.is_null());
    let parts = value.get("parts").and_then(Json::as_array);
    role.is_none_or(|role| matches!(role.as_str(), Some("user" | "model" | "function" | "tool" | "system")))
        && ["messageId", "kind", "taskId", "id"].iter().all(|key| value.get(key).is_none())
        && parts
            .is_some_and(|parts| parts.iter().any(is_known_part) && parts.iter().all(|part| part.get("type").is_none()))
}

fn is_known_part(part: &Json) -> bool {
    PART_KEYS.iter().any(|keys| member(part, keys).is_some())
}

/// Returns the member of an object under either spelling of its key, unless it is `null`.
pub(super) fn member<'a>(value: &'a Json, keys: &[&str; 2]) -> Option<&'a Json> {
    keys.iter().find_map(|key| value.get(key).filter(|member| !member.is_null()))
}

/// Returns the contents of a request, of a list, or of a chat's history.
fn list_contents(value: &Json) -> Option<&[Json]> {
    value.get("contents").or_else(|| value.get("history")).unwrap_or(value).as_array()
}

/// Returns the alternatives of a response. Only a response of this interface has them with contents or reasons to finish.
fn list_candidates(value: &Json) -> Option<&[Json]> {
    let is_own = |one: &Json| one.get("content").is_some() || find_reason(one).is_some();
    value.get("candidates").and_then(Json::as_array).filter(|list| list.iter().any(is_own))
}

/// Returns why the model stopped.
fn find_reason(candidate: &Json) -> Option<&Json> {
    member(candidate, &["finishReason", "finish_reason"])
}

impl MessageLog for GeminiLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        find_exchange(value, find_part)
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        read_content(message, reading);
    }
}

fn find_part(value: &Json) -> Vec<Turn<'_>> {
    if let Some(candidates) = list_candidates(value) {
        // The first alternative counts, as in a chat. A response without its reason to finish is a piece of one.
        let Some(first) = candidates.first() else { return Vec::new() };
        let messages = first.get("content").filter(|content| !content.is_null()).into_iter().collect();
        let is_open = find_reason(first).is_none();
        return vec![Turn { messages, is_stream: true, is_open, ..Turn::default() }];
    }
    if member(value, &["usageMetadata", "usage_metadata"]).is_some() && value.get("contents").is_none() {
        // The end of a stream, or a prompt that was refused.
        return vec![Turn::default()];
    }
    match list_contents(value) {
        // The chunks of a streamed response.
        Some(chunks) if !chunks.is_empty() && chunks.iter().all(|chunk| list_candidates(chunk).is_some()) => {
            let messages = chunks.iter().flat_map(find_part).flat_map(|turn| turn.messages).collect();
            vec![Turn { messages, is_stream: true, ..Turn::default() }]
        }
        Some(contents) => {
            let mut turn = Turn::from_history(contents);
            let config = value.get("config").unwrap_or(value);
            let keys = ["systemInstruction", "system_instruction"];
            let instructions = member(config, &keys).or_else(|| member(value, &keys));
            turn.instructions = instructions.map(|content| content.get("parts").unwrap_or(content));
            turn.definitions = config.get("tools").or_else(|| value.get("tools")).cloned();
            vec![turn]
        }
        None if is_content(value) => vec![Turn::from_message(value)],
        None => Vec::new(),
    }
}

/// Reads a content.
pub(super) fn read_content(content: &Json, reading: &mut Reading) {
    let parts = content.get("parts").filter(|parts| !parts.is_null());
    let speaker = match content.text("role") {
        Some("model") => Kind::AssistantMessage,
        Some("system") => Kind::SystemMessage,
        Some("user" | "function" | "tool") => Kind::UserMessage,
        None if parts.is_some() => Kind::UserMessage,
        _ => return reading.push_unknown(content),
    };
    match parts {
        Some(parts) => reading.push_content(speaker, parts, read_part),
        None if speaker == Kind::UserMessage => reading.push(Event::new(speaker)),
        // A model that says nothing.
        None => {}
    }
}

/// Reads a part of a content.
pub(super) fn read_part(part: &Json) -> Part {
    if part.get("thought") == Some(&Json::Bool(true)) {
        return Part::Silent;
    }
    let Some((sort, value)) = PART_KEYS.iter().find_map(|keys| Some((keys[0], member(part, keys)?))) else {
        return Part::Unknown;
    };
    let id = value.text("id");
    match sort {
        "text" => Part::from_text(value.as_str()),
        "functionCall" => Part::from_event(chat::tool_call(id, value.text("name"), value.get("args"))),
        "functionResponse" => {
            let mut event = tool_result(id, value.text("name"));
            let response = value.get("response").cloned().unwrap_or(Json::Null);
            event.failed = response.get("error").is_some_and(|error| !error.is_null());
            fill_answer(&mut event, response);
            Part::from_event(event)
        }
        // The model runs code where the vendor hosts it.
        "executableCode" => Part::from_event(chat::tool_call(id, Some("code_execution"), Some(value))),
        "codeExecutionResult" => {
            let mut event = tool_result(id, Some("code_execution"));
            event.text = value.text("output").map(Text::from);
            event.failed = value.text("outcome").is_some_and(|outcome| outcome != "OUTCOME_OK");
            Part::from_event(event)
        }
        "toolCall" => Part::from_event(chat::tool_call(
            id,
            member(value, &["toolType", "tool_type"]).and_then(Json::as_str),
            value.get("args"),
        )),
        "toolResponse" => {
            let mut event = tool_result(id, member(value, &["toolType", "tool_type"]).and_then(Json::as_str));
            fill_answer(&mut event, value.get("response").cloned().unwrap_or(Json::Null));
            Part::from_event(event)
        }
        "thoughtSignature" => Part::Silent,
        sort => Part::Attachment(Text::from(sort)),
    }
}

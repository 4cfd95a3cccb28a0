//! Chat histories of Semantic Kernel, as its Python and its .NET libraries write them.
//!
//! A message has a role and items; an item is a text, a call, an answer or a file. The tool of a call is the function;
//! the plugin that it is of is kept beside it.

use super::chat;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type SemanticKernelDecoder = MessageLogDecoder<SemanticKernelLog>;

/// The shapes of the kernel's messages.
#[derive(Debug, Default)]
pub(super) struct SemanticKernelLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_message(value) || list_messages(value).is_some_and(|messages| messages.iter().any(is_message))
}

fn is_message(value: &Json) -> bool {
    let items = member(value, "items", "Items").and_then(Json::as_array);
    find_role(value).is_some() && items.is_some_and(|items| items.iter().all(|item| item_type(item).is_some()))
}

fn list_messages(value: &Json) -> Option<&[Json]> {
    member(value, "messages", "Messages").unwrap_or(value).as_array()
}

/// Returns the member that Python writes under the first key and .NET under the second, or in camel case.
fn member<'a>(value: &'a Json, python: &str, dotnet: &str) -> Option<&'a Json> {
    let camel = || value.as_object()?.iter().find(|(key, _)| is_camel_case(key, dotnet)).map(|(_, member)| member);
    value.get(python).or_else(|| value.get(dotnet)).or_else(camel).filter(|member| !member.is_null())
}

fn is_camel_case(key: &str, dotnet: &str) -> bool {
    key.get(..1).zip(dotnet.get(..1)).is_some_and(|(key, dotnet)| key.eq_ignore_ascii_case(dotnet))
        && key.get(1..) == dotnet.get(1..)
}

fn text_member<'a>(value: &'a Json, python: &str, dotnet: &str) -> Option<&'a str> {
    member(value, python, dotnet).and_then(Json::as_str)
}

/// Returns the role of a message in lower case.
fn find_role(value: &Json) -> Option<String> {
    let role = member(value, "role", "Role")?;
    let label = role.as_str().or_else(|| text_member(role, "label", "Label"))?;
    Some(label.to_ascii_lowercase())
}

/// Returns the type of an item: `FunctionCallContent` and `function_call` alike.
fn item_type(item: &Json) -> Option<String> {
    let name = item.text("content_type").or_else(|| item.text("$type"))?;
    let letters = name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase);
    let name: String = letters.collect();
    Some(name.strip_suffix("content").map(str::to_owned).unwrap_or(name))
}

impl MessageLog for SemanticKernelLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        match list_messages(value) {
            Some(messages) => vec![Turn::from_history(messages)],
            None if is_message(value) => vec![Turn::from_message(value)],
            None => Vec::new(),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        let speaker = match find_role(message).as_deref() {
            Some("user") => Kind::UserMessage,
            Some("assistant") => Kind::AssistantMessage,
            Some("system" | "developer") => Kind::SystemMessage,
            Some("tool") => Kind::ToolResult,
            _ => return reading.push_unknown(message),
        };
        if speaker == Kind::AssistantMessage {
            let author = text_member(message, "name", "AuthorName");
            reading.agent = author.filter(|author| !author.is_empty()).map(Text::from);
        }
        let items = member(message, "items", "Items").or_else(|| member(message, "content", "Content"));
        reading.push_content(speaker, items.unwrap_or(&Json::Null), read_item);
    }
}

fn read_item(item: &Json) -> Part {
    let function = text_member(item, "function_name", "FunctionName").filter(|name| !name.is_empty());
    let tool = function.or_else(|| text_member(item, "name", "Name"));
    match item_type(item).as_deref() {
        Some("text" | "streamingtext") => Part::from_text(text_member(item, "text", "Text")),
        Some("functioncall") => {
            let arguments = member(item, "arguments", "Arguments");
            Part::from_event(with_plugin(item, chat::tool_call(text_member(item, "id", "Id"), tool, arguments)))
        }
        Some("functionresult") => {
            let id = text_member(item, "call_id", "CallId").or_else(|| text_member(item, "id", "Id"));
            let mut answer = tool_result(id, tool);
            fill_answer(&mut answer, member(item, "result", "Result").cloned().unwrap_or(Json::Null));
            Part::from_event(with_plugin(item, answer))
        }
        Some("reasoning") => Part::Silent,
        Some(sort @ ("image" | "audio" | "binary" | "file" | "filereference" | "annotation")) => {
            Part::Attachment(Text::from(sort))
        }
        _ => Part::Unknown,
    }
}

fn with_plugin(item: &Json, mut event: Event) -> Event {
    if let Some(plugin) = text_member(item, "plugin_name", "PluginName").filter(|plugin| !plugin.is_empty()) {
        event.more.insert("plugin", plugin);
    }
    event
}

//! Amazon Bedrock Converse: messages, requests, responses, both in one envelope, recorded streams, and invocation logs.
//!
//! A block of a message is an object with one key that says what it is (`text`, `toolUse`, `toolResult`). Strands agents
//! keep their messages in the same shape. An invocation log of `InvokeModel` holds the body of the model's own
//! interface: Anthropic's are read, others are reported.

mod converse_stream;

use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, find_exchange, tool_result};
use super::openai_chat::truncation_fault;
use super::{DecodedEvents, Decoder, LogRecord, chat, envelope};
use converse_stream::{StreamedMessage, has_events, join_streams, read_event};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Text};

/// The keys of blocks that are files.
const FILE_BLOCKS: [&str; 4] = ["image", "document", "video", "audio"];

/// The keys of the other blocks.
const BLOCKS: [&str; 8] = [
    "text",
    "toolUse",
    "toolResult",
    "guardContent",
    "citationsContent",
    "searchResult",
    "cachePoint",
    "reasoningContent",
];

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct BedrockDecoder {
    messages: MessageLogDecoder<BedrockLog>,
    /// The message of a stream whose end was not yet read, and the record that began it.
    stream: Option<(StreamedMessage, LogRecord)>,
}

impl Decoder for BedrockDecoder {
    fn checks_parts(&self) -> bool {
        true
    }

    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let Some((key, content)) = read_event(&record.value) else {
            self.end_stream(false, out);
            join_streams(&mut record.value);
            return self.messages.record(record, out);
        };
        if key == "messageStart" {
            self.end_stream(false, out);
        }
        // What comes after the end of a message is not a part of another.
        if key != "metadata" {
            let begin = || (StreamedMessage::default(), LogRecord { value: Json::Null, ..record.clone() });
            self.stream.get_or_insert_with(begin).0.add(key, content);
        }
        if key == "messageStop" {
            self.end_stream(true, out);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.end_stream(false, out);
        self.messages.finish(out);
    }
}

impl BedrockDecoder {
    /// Takes the message of a stream, as far as it came.
    fn end_stream(&mut self, is_complete: bool, out: &mut DecodedEvents) {
        let Some((message, record)) = self.stream.take() else { return };
        if !is_complete {
            out.faults.push(truncation_fault(&record.file, record.line));
        }
        self.messages.take_turn(Turn::from_message(&message.into_json()), &record, out);
    }
}

/// The shape of Bedrock's messages.
#[derive(Debug, Default)]
pub(super) struct BedrockLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value)
        || has_events(value)
        || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let has_messages = |list: &[Json]| list.iter().any(is_message);
    let messages = value.get("messages").or(Some(value)).and_then(Json::as_array);
    is_invocation(value)
        || is_message(value)
        || messages.is_some_and(has_messages)
        || value.at("output.message").is_some_and(is_message)
        || value.get("message").is_some_and(is_message)
}

fn is_invocation(value: &Json) -> bool {
    value.text("schemaType") == Some("ModelInvocationLog")
}

/// Whether a value is a message with a block that only this interface has.
fn is_message(value: &Json) -> bool {
    let blocks = value.get("content").and_then(Json::as_array).unwrap_or_default();
    matches!(value.text("role"), Some("user" | "assistant" | "system")) && blocks.iter().any(is_block)
}

fn is_block(block: &Json) -> bool {
    let is_named = |key: &Text| BLOCKS.contains(&key.as_str()) || FILE_BLOCKS.contains(&key.as_str());
    block.get("type").is_none()
        && block.as_object().is_some_and(|block| !block.is_empty() && block.iter().all(|(key, _)| is_named(key)))
}

impl MessageLog for BedrockLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        if !is_invocation(value) {
            return find_exchange(value, find_part);
        }
        let time = value.text("timestamp").and_then(parse_time);
        let mut turns = Vec::new();
        for (path, is_answer) in [("input.inputBodyJson", false), ("output.outputBodyJson", true)] {
            let body = value.at(path).filter(|body| !body.is_null());
            // A call that failed has no output; a large body is kept elsewhere.
            let side = if is_answer { value.get("output") } else { value.get("input") };
            let Some(body) = body.or(side.filter(|side| !side.is_null())) else { continue };
            let mut found = find_part(body);
            if found.is_empty() {
                found.push(Turn::from_message(body));
            }
            turns.extend(found.into_iter().map(|turn| Turn { time, is_history: !is_answer, ..turn }));
        }
        turns
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        let content = message.get("content").unwrap_or(&Json::Null);
        // The body of another interface has typed blocks, or a text.
        let is_typed = content.as_array().is_none_or(|blocks| blocks.iter().any(|block| block.get("type").is_some()));
        let speaker = match message.text("role") {
            Some("user") => Kind::UserMessage,
            Some("assistant") => Kind::AssistantMessage,
            Some("system") => Kind::SystemMessage,
            _ => return reading.push_unknown(message),
        };
        match is_typed {
            true => reading.push_chat(message),
            false => reading.push_content(speaker, content, read_block),
        }
    }
}

fn find_part(value: &Json) -> Vec<Turn<'_>> {
    if let Some(messages) = value.get("messages").or(Some(value)).and_then(Json::as_array) {
        let mut turn = Turn::from_history(messages);
        turn.instructions = value.get("system").filter(|system| !system.is_null());
        turn.definitions = value.at("toolConfig.tools").or_else(|| value.get("tools")).cloned();
        return vec![turn];
    }
    let message = value.at("output.message").or_else(|| value.get("message")).unwrap_or(value);
    match message.get("role").is_some() && message.get("content").is_some() {
        true => vec![Turn::from_message(message)],
        false => Vec::new(),
    }
}

fn read_block(block: &Json) -> Part {
    if let Some(text) = block.text("text").or_else(|| block.at("guardContent.text.text").and_then(Json::as_str)) {
        return Part::Text(text.into());
    }
    if let Some(call) = block.get("toolUse") {
        return Part::from_event(chat::tool_call(call.text("toolUseId"), call.text("name"), call.get("input")));
    }
    if let Some(answer) = block.get("toolResult") {
        return Part::from_event(read_answer(answer));
    }
    let cited = block.at("citationsContent.content").or_else(|| block.at("searchResult.content"));
    if let Some(texts) = cited.and_then(Json::as_array) {
        let texts: Option<Vec<&str>> = texts.iter().map(|text| text.text("text")).collect();
        return Part::from_text(texts.map(|texts| texts.join("")).as_deref());
    }
    if block.get("cachePoint").is_some() || block.get("reasoningContent").is_some() {
        return Part::Silent;
    }
    match FILE_BLOCKS.iter().find(|key| block.get(key).is_some()) {
        Some(sort) => Part::Attachment(Text::from(*sort)),
        None => Part::Unknown,
    }
}

/// Reads the answer of a tool. Its parts become text where all of them are texts, or a value.
fn read_answer(answer: &Json) -> Event {
    let mut event = tool_result(answer.text("toolUseId"), None);
    event.failed = answer.text("status") == Some("error");
    let parts = answer.get("content").and_then(Json::as_array).unwrap_or_default();
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part.text("text")).collect();
    match (texts, parts) {
        (Some(texts), _) => event.text = Some(texts.join("\n").into()),
        (None, [part]) if part.get("json").is_some() => event.result = part.get("json").cloned(),
        (None, parts) => event.result = Some(Json::Array(parts.to_vec())),
    }
    event
}

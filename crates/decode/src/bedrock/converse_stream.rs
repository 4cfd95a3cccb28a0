//! Recorded streams of `ConverseStream`: a message in pieces.
//!
//! An event is an object with one key. A message starts, its blocks come in pieces by their index, and it stops with a
//! reason. The input of a tool comes as pieces of a JSON text.

use std::collections::BTreeMap;

use lictor_json::{Json, Object, Text};

/// The keys of the events, each with a member that it has.
const EVENTS: [(&str, &str); 6] = [
    ("messageStart", "role"),
    ("contentBlockStart", "contentBlockIndex"),
    ("contentBlockDelta", "contentBlockIndex"),
    ("contentBlockStop", "contentBlockIndex"),
    ("messageStop", "stopReason"),
    ("metadata", "usage"),
];

/// Where a record keeps the events of a whole stream.
const STREAM_MEMBERS: [&str; 5] = ["stream", "response", "output", "outputBodyJson", "body"];

/// Returns the event of a value: its key and its content.
pub(super) fn read_event(value: &Json) -> Option<(&'static str, &Json)> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    EVENTS.iter().find_map(|(key, member)| {
        let content = object.get(key)?;
        content.get(member).is_some().then_some((*key, content))
    })
}

/// Whether a value is an event, or holds the events of a whole stream.
pub(super) fn has_events(value: &Json) -> bool {
    read_event(value).is_some()
        || is_stream(value)
        || STREAM_MEMBERS.iter().any(|key| value.get(key).is_some_and(has_stream))
}

fn has_stream(value: &Json) -> bool {
    is_stream(value) || STREAM_MEMBERS.iter().any(|key| value.get(key).is_some_and(is_stream))
}

fn is_stream(value: &Json) -> bool {
    value.as_array().is_some_and(|events| !events.is_empty() && events.iter().all(|event| read_event(event).is_some()))
}

/// Puts the message of each whole stream within a record in the place of its events.
pub(super) fn join_streams(value: &mut Json) {
    if is_stream(value) {
        let mut message = StreamedMessage::default();
        for (key, content) in value.as_array().unwrap_or_default().iter().filter_map(read_event) {
            message.add(key, content);
        }
        let output: Object = [(Text::from("message"), message.into_json())].into_iter().collect();
        *value = [(Text::from("output"), Json::from(output))].into_iter().collect::<Object>().into();
        return;
    }
    let Json::Object(object) = value else { return };
    for key in STREAM_MEMBERS {
        let Some(mut member) = object.get(key).filter(|member| has_stream(member)).cloned() else { continue };
        join_streams(&mut member);
        match key {
            // The stream is all there is of a response.
            "stream" => {
                *value = member;
                return;
            }
            _ => object.insert(key, member),
        }
    }
}

/// A message, as far as its events were read.
#[derive(Debug, Default)]
pub(super) struct StreamedMessage {
    role: Option<Text>,
    blocks: BTreeMap<i64, StreamedBlock>,
}

/// A block of a message.
#[derive(Debug, Default)]
struct StreamedBlock {
    /// The block as it starts, by its one key; text has no start.
    start: Option<(Text, Json)>,
    text: Option<String>,
    /// The input of a tool, as far as it came.
    input: String,
    /// The parts of a tool's answer.
    answer: Vec<Json>,
    /// Pieces of other blocks, by their key.
    other: Option<(Text, Json)>,
}

impl StreamedMessage {
    /// Adds an event.
    pub(super) fn add(&mut self, key: &str, content: &Json) {
        let index = content.get("contentBlockIndex").and_then(Json::as_i64).unwrap_or_default();
        let first = |member: &str| {
            let (key, value) = content.get(member)?.as_object()?.iter().next()?;
            Some((key.clone(), value.clone()))
        };
        match key {
            "messageStart" => self.role = content.text("role").map(Text::from),
            "contentBlockStart" => self.blocks.entry(index).or_default().start = first("start"),
            "contentBlockDelta" => {
                if let Some((key, value)) = first("delta") {
                    self.blocks.entry(index).or_default().add(key, value);
                }
            }
            _ => {}
        }
    }

    /// Returns the message as a response has it.
    pub(super) fn into_json(self) -> Json {
        let blocks = self.blocks.into_values().map(StreamedBlock::into_json).collect();
        let role = self.role.unwrap_or_else(|| Text::from("assistant"));
        let message = [(Text::from("role"), Json::String(role)), (Text::from("content"), Json::Array(blocks))];
        message.into_iter().collect::<Object>().into()
    }
}

impl StreamedBlock {
    fn add(&mut self, key: Text, value: Json) {
        match (key.as_str(), &value) {
            ("text", Json::String(piece)) => self.text.get_or_insert_default().push_str(piece),
            ("toolUse", value) => self.input.push_str(value.text("input").unwrap_or_default()),
            ("toolResult", Json::Array(parts)) => self.answer.extend(parts.iter().cloned()),
            // A citation is a piece of a text.
            ("citation", _) => {}
            _ => self.other = Some((key, value)),
        }
    }

    fn into_json(self) -> Json {
        let mut block = Object::new();
        match (self.start, self.text, self.other) {
            (Some((key, Json::Object(mut start))), _, _) => {
                match key.as_str() {
                    // A tool without arguments has no pieces.
                    "toolUse" if self.input.is_empty() => start.insert("input", Object::new()),
                    "toolUse" => start.insert("input", Text::from(self.input)),
                    "toolResult" => start.insert("content", Json::Array(self.answer)),
                    _ => {}
                }
                block.insert(key, start);
            }
            (_, Some(text), _) => block.insert("text", Text::from(text)),
            (_, None, Some((key, value))) => block.insert(key, value),
            (_, None, None) => block.insert("text", Text::from("")),
        }
        block.into()
    }
}

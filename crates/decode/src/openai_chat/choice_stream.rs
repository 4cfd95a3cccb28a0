//! Joins streamed answers from their chunks.
//!
//! The chunks of a stream share an id. Each speaks about choices by their index, and within a choice about tool calls
//! by theirs; ids and names come once, arguments in pieces. The joined message is one like any other, so a
//! streamed answer and a plain one make the same events by construction.

use std::sync::Arc;

use crate::conversation::{Conversations, Stamp};
use crate::{DecodedEvents, Fault, chat};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct ChoiceStreams {
    open: Vec<ChoiceStream>,
}

#[derive(Debug)]
struct ChoiceStream {
    id: Text,
    /// The conversation in which it began.
    conversation: usize,
    choices: Vec<ReplyChoice>,
    /// Where it began.
    stamp: Stamp,
    /// The line of its last chunk.
    line: u32,
}

/// One answer of a model, joined from its chunks.
#[derive(Clone, Debug, Default)]
pub struct ReplyChoice {
    index: i64,
    content: String,
    refusal: String,
    /// What the answer says in sound.
    transcript: String,
    calls: Vec<StreamedCall>,
    function: Option<StreamedCall>,
    is_finished: bool,
}

#[derive(Clone, Debug, Default)]
struct StreamedCall {
    index: Option<i64>,
    id: Text,
    name: String,
    /// The arguments of a function, the input of a custom tool.
    arguments: String,
    is_custom: bool,
}

impl ChoiceStreams {
    /// Takes a chunk.
    pub(super) fn take_chunk(&mut self, chunk: &Json, conversation: usize, stamp: &Stamp) {
        let id = chunk.text("id").unwrap_or_default();
        let choices = chunk.get("choices").and_then(Json::as_array).unwrap_or_default();
        let known = match id.is_empty() {
            true => self.open.len().checked_sub(1),
            false => self.open.iter().position(|stream| stream.id == id),
        };
        let place = match known {
            Some(place) => place,
            // A chunk that only counts tokens begins nothing.
            None if choices.is_empty() => return,
            None => {
                let stamp = stamp.clone();
                self.open.push(ChoiceStream { id: id.into(), conversation, choices: Vec::new(), line: 0, stamp });
                self.open.len() - 1
            }
        };
        let stream = &mut self.open[place];
        stream.line = stamp.source.line;
        for choice in choices {
            let index = choice.get("index").and_then(Json::as_i64).unwrap_or(0);
            stream.choice_mut(index).take(choice);
        }
    }

    /// Ends all streams, because another record follows or the file ends.
    pub(super) fn close(&mut self, conversations: &mut Conversations, out: &mut DecodedEvents) {
        for stream in self.open.drain(..) {
            let is_whole = stream.is_finished();
            if !is_whole {
                out.faults.push(truncation_fault(&stream.stamp.source.file, stream.line));
            }
            stream.finish(is_whole, conversations, out);
        }
    }
}

/// Returns the fault of a stream without an end.
pub(crate) fn truncation_fault(file: &Arc<str>, line: u32) -> Fault {
    Fault {
        file: Arc::clone(file),
        line,
        column: None,
        code: "stream.truncated",
        message: "the stream is truncated; the part that arrived is used".to_owned(),
    }
}

impl ChoiceStream {
    fn choice_mut(&mut self, index: i64) -> &mut ReplyChoice {
        let place = match self.choices.binary_search_by_key(&index, |choice| choice.index) {
            Ok(place) => place,
            Err(place) => {
                self.choices.insert(place, ReplyChoice { index, ..ReplyChoice::default() });
                place
            }
        };
        &mut self.choices[place]
    }

    fn is_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.is_finished)
    }

    fn finish(self, is_whole: bool, conversations: &mut Conversations, out: &mut DecodedEvents) {
        let choices = self.choices.into_iter().map(|choice| choice.events(is_whole)).collect();
        conversations.take_answer(self.conversation, choices, &self.stamp, out);
    }
}

impl ReplyChoice {
    /// Takes the part of a chunk about this choice.
    pub fn take(&mut self, choice: &Json) {
        self.is_finished |= choice.text("finish_reason").is_some();
        let Some(delta) = choice.get("delta") else { return };
        match delta.get("content") {
            Some(Json::String(text)) => self.content.push_str(text),
            Some(Json::Array(parts)) => parts.iter().for_each(|part| {
                let text = part.text("text").or_else(|| part.text("refusal"));
                self.content.push_str(text.unwrap_or_default());
            }),
            _ => {}
        }
        self.refusal.push_str(delta.text("refusal").unwrap_or_default());
        self.transcript.push_str(delta.at("audio.transcript").and_then(Json::as_str).unwrap_or_default());
        if let Some(function) = delta.get("function_call").filter(|function| !function.is_null()) {
            self.function.get_or_insert_default().take(function);
        }
        for call in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
            self.call_mut(call.get("index").and_then(Json::as_i64), call.text("id").unwrap_or_default())
                .take_entry(call);
        }
    }

    /// Returns the call that a piece belongs to. Some services number all calls alike, or not at all: then a new id
    /// begins a new call.
    fn call_mut(&mut self, index: Option<i64>, id: &str) -> &mut StreamedCall {
        let is_it = |call: &StreamedCall| {
            (index.is_none() || call.index == index) && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let place = match self.calls.iter().rposition(is_it) {
            Some(place) => place,
            None => {
                // In the order of their indices, as a plain answer lists them.
                let place = self.calls.iter().rposition(|call| call.index <= index).map_or(0, |place| place + 1);
                self.calls.insert(place, StreamedCall { index, ..StreamedCall::default() });
                place
            }
        };
        &mut self.calls[place]
    }

    /// Returns the events of the message. In a truncated stream, arguments of which nothing arrived are unknown, not
    /// empty.
    pub fn events(self, is_whole: bool) -> Vec<Event> {
        let mut message = Object::new();
        message.insert("role", "assistant");
        message.insert("content", self.content);
        message.insert("refusal", self.refusal);
        if !self.transcript.is_empty() {
            message.insert("audio", Json::from([("transcript", self.transcript.into())]));
        }
        let is_cut = !is_whole && !self.is_finished;
        let silent: Vec<bool> = self.calls.iter().chain(&self.function).map(|call| call.arguments.is_empty()).collect();
        message.insert("tool_calls", self.calls.into_iter().map(StreamedCall::into_entry).collect::<Vec<Json>>());
        if let Some(function) = self.function {
            message.insert("function_call", function.into_function());
        }
        let mut events = chat::read_message(&message.into()).unwrap_or_default();
        let calls = events.iter_mut().filter(|event| event.kind == Kind::ToolCall);
        for (event, _) in calls.zip(silent).filter(|(_, silent)| is_cut && *silent) {
            event.args = Some(Arguments::Unparsed(Text::default()));
        }
        events
    }
}

impl StreamedCall {
    fn take_entry(&mut self, entry: &Json) {
        if let Some(id) = entry.text("id").filter(|_| self.id.is_empty()) {
            self.id = id.into();
        }
        self.is_custom |= entry.text("type") == Some("custom") || entry.get("custom").is_some();
        if let Some(body) = entry.get("function").or_else(|| entry.get("custom")) {
            self.take(body);
        }
    }

    fn take(&mut self, body: &Json) {
        // A name comes in one piece; some services repeat it.
        if let Some(name) = body.text("name").filter(|name| self.name != *name) {
            self.name.push_str(name);
        }
        let arguments = body.text("arguments").or_else(|| body.text("input"));
        self.arguments.push_str(arguments.unwrap_or_default());
    }

    fn into_entry(self) -> Json {
        let mut entry = Object::new();
        if !self.id.is_empty() {
            entry.insert("id", self.id.clone());
        }
        match self.is_custom {
            true => entry.insert("custom", self.into_custom()),
            false => entry.insert("function", self.into_function()),
        }
        entry.into()
    }

    fn into_function(self) -> Json {
        Json::Object(
            [("name".into(), self.name.into()), ("arguments".into(), self.arguments.into())].into_iter().collect(),
        )
    }

    fn into_custom(self) -> Json {
        Json::Object([("name".into(), self.name.into()), ("input".into(), self.arguments.into())].into_iter().collect())
    }
}

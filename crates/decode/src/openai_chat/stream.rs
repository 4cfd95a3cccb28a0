//! Streamed answers, put together again.
//!
//! The chunks of a stream share an id. Each speaks about choices by their index, and within a choice about tool calls
//! by theirs; ids and names come once, arguments in pieces. What is put together is a message like any other, so a
//! streamed answer and a plain one give the same events by construction.

use std::sync::Arc;

use crate::conversation::{Conversations, Stamp};
use crate::{DecodedEvents, Fault, chat};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// The streams that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    id: Text,
    /// The conversation in which it began.
    conversation: usize,
    choices: Vec<Choice>,
    /// Where it began.
    stamp: Stamp,
    /// The line of its last chunk.
    line: u32,
}

/// One answer of a model that is coming, put together from its chunks.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    index: i64,
    content: String,
    refusal: String,
    calls: Vec<Call>,
    function: Option<Call>,
    is_finished: bool,
}

#[derive(Clone, Debug, Default)]
struct Call {
    index: Option<i64>,
    id: Text,
    name: String,
    /// The arguments of a function, the input of a custom tool.
    arguments: String,
    is_custom: bool,
}

impl Streams {
    /// Takes a chunk.
    pub(super) fn chunk(&mut self, chunk: &Json, conversation: usize, stamp: &Stamp) {
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
                self.open.push(Stream { id: id.into(), conversation, choices: Vec::new(), line: 0, stamp });
                self.open.len() - 1
            }
        };
        let stream = &mut self.open[place];
        stream.line = stamp.source.line;
        for choice in choices {
            let index = choice.get("index").and_then(Json::as_i64).unwrap_or(0);
            stream.choice(index).take(choice);
        }
    }

    /// Ends all streams, because something else begins or the file ends.
    pub(super) fn close(&mut self, conversations: &mut Conversations, out: &mut DecodedEvents) {
        for stream in self.open.drain(..) {
            let is_whole = stream.is_finished();
            if !is_whole {
                out.faults.push(truncated(&stream.stamp.source.file, stream.line));
            }
            stream.end(is_whole, conversations, out);
        }
    }
}

/// A stream without an end.
pub(crate) fn truncated(file: &Arc<str>, line: u32) -> Fault {
    Fault {
        file: Arc::clone(file),
        line,
        column: None,
        code: "stream.truncated",
        message: "the stream stops before its end; what had come until then is taken as it is".to_owned(),
    }
}

impl Stream {
    fn choice(&mut self, index: i64) -> &mut Choice {
        let place = match self.choices.binary_search_by_key(&index, |choice| choice.index) {
            Ok(place) => place,
            Err(place) => {
                self.choices.insert(place, Choice { index, ..Choice::default() });
                place
            }
        };
        &mut self.choices[place]
    }

    fn is_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.is_finished)
    }

    fn end(self, is_whole: bool, conversations: &mut Conversations, out: &mut DecodedEvents) {
        let choices = self.choices.into_iter().map(|choice| choice.events(is_whole)).collect();
        conversations.answer(self.conversation, choices, &self.stamp, out);
    }
}

impl Choice {
    /// Takes what a chunk says about this choice.
    pub fn take(&mut self, choice: &Json) {
        self.is_finished |= choice.text("finish_reason").is_some();
        let Some(delta) = choice.get("delta") else { return };
        self.content.push_str(delta.text("content").unwrap_or_default());
        self.refusal.push_str(delta.text("refusal").unwrap_or_default());
        if let Some(function) = delta.get("function_call").filter(|function| !function.is_null()) {
            self.function.get_or_insert_default().take(function);
        }
        for call in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
            self.call(call.get("index").and_then(Json::as_i64), call.text("id").unwrap_or_default()).take_entry(call);
        }
    }

    /// The call that a piece belongs to. Some services number all calls alike, or not at all: then an id that is new
    /// begins a new call.
    fn call(&mut self, index: Option<i64>, id: &str) -> &mut Call {
        let is_it = |call: &Call| {
            (index.is_none() || call.index == index) && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let place = match self.calls.iter().rposition(is_it) {
            Some(place) => place,
            None => {
                // In the order of their indices, as a plain answer lists them.
                let place = self.calls.iter().rposition(|call| call.index <= index).map_or(0, |place| place + 1);
                self.calls.insert(place, Call { index, ..Call::default() });
                place
            }
        };
        &mut self.calls[place]
    }

    /// The events of the message. In a stream that was cut, arguments of which nothing has come are not known, rather
    /// than none.
    pub fn events(self, is_whole: bool) -> Vec<Event> {
        let mut message = Object::new();
        message.insert("role", "assistant");
        message.insert("content", self.content);
        message.insert("refusal", self.refusal);
        let is_cut = !is_whole && !self.is_finished;
        let silent: Vec<bool> = self.calls.iter().chain(&self.function).map(|call| call.arguments.is_empty()).collect();
        message.insert("tool_calls", self.calls.into_iter().map(Call::entry).collect::<Vec<Json>>());
        if let Some(function) = self.function {
            message.insert("function_call", function.function());
        }
        let mut events = chat::events_of(&message.into()).unwrap_or_default();
        let calls = events.iter_mut().filter(|event| event.kind == Kind::ToolCall);
        for (event, _) in calls.zip(silent).filter(|(_, silent)| is_cut && *silent) {
            event.args = Some(Arguments::Unparsed(Text::default()));
        }
        events
    }
}

impl Call {
    fn take_entry(&mut self, entry: &Json) {
        if let Some(id) = entry.text("id").filter(|_| self.id.is_empty()) {
            self.id = id.into();
        }
        self.is_custom |= entry.text("type") == Some("custom");
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

    fn entry(self) -> Json {
        let mut entry = Object::new();
        if !self.id.is_empty() {
            entry.insert("id", self.id.clone());
        }
        match self.is_custom {
            true => entry.insert("custom", self.custom()),
            false => entry.insert("function", self.function()),
        }
        entry.into()
    }

    fn function(self) -> Json {
        Json::Object(
            [("name".into(), self.name.into()), ("arguments".into(), self.arguments.into())].into_iter().collect(),
        )
    }

    fn custom(self) -> Json {
        Json::Object([("name".into(), self.name.into()), ("input".into(), self.arguments.into())].into_iter().collect())
    }
}

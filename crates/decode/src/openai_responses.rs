//! OpenAI Responses: items, requests, responses, both in one envelope, and recorded streams.
//!
//! A request either repeats the whole history, which is folded, or names the response or the conversation it continues,
//! and then all of it is new.

mod item;
mod response_chains;
mod response_stream;

use std::collections::HashMap;

use lictor_logic::Time;

use super::chat::failure_event;
use super::content::Content;
use super::conversation::{Request, Stamp};
use super::exchange_log::{self, ExchangeDecoder, ExchangeLog};
use super::{DecodedEvents, Decoder, LogRecord, chat, envelope, unknown_record};
use item::is_item;
pub(super) use item::read_item;
use lictor_event::{Event, Kind, find_time};
use lictor_json::{Json, Text};
use response_chains::{ChainPlace, ResponseChains};
pub use response_stream::Piece;
use response_stream::ResponseStream;

/// Members that a request may have, beside its input.
const REQUEST_KEYS: [&str; 8] =
    ["model", "instructions", "previous_response_id", "conversation", "prompt", "max_output_tokens", "tools", "store"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let items = |list: &[Json]| list.iter().any(is_item);
    is_item(value)
        || is_response(value)
        || is_stream_payload(value)
        || is_request(value)
        || value.as_array().is_some_and(items)
}

fn is_response(value: &Json) -> bool {
    value.text("object") == Some("response") && value.get("output").is_some()
}

fn is_stream_payload(value: &Json) -> bool {
    let failed = value.text("type") == Some("error") && value.text("message").is_some();
    value.text("type").is_some_and(|name| name.starts_with("response.")) || failed
}

fn is_request(value: &Json) -> bool {
    let input = match value.get("input") {
        Some(Json::Array(items)) => items.iter().all(|item| is_item(item) || chat::is_message(item)),
        Some(input) => input.as_str().is_some(),
        None => value.text("previous_response_id").is_some(),
    };
    // Requests for embeddings have an input as well; answers and observations have an output.
    let other = ["encoding_format", "dimensions", "output", "messages", "kind", "type"];
    input
        && REQUEST_KEYS.iter().any(|key| value.get(key).is_some_and(|member| !member.is_null()))
        && other.iter().all(|key| value.get(key).is_none())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OpenaiResponsesDecoder {
    log: ExchangeLog,
    /// The events of each item that has an id, for requests that refer to it.
    items: HashMap<Text, Vec<Event>>,
    stream: Option<ResponseStream>,
    chains: ResponseChains,
}

impl Decoder for OpenaiResponsesDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        exchange_log::take_record(self, &record, out);
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        exchange_log::finish(self, out);
        out.faults.extend(self.chains.take_fault());
    }
}

impl ExchangeDecoder for OpenaiResponsesDecoder {
    fn is_part(value: &Json) -> bool {
        is_part(value)
    }

    fn is_lone(value: &Json) -> bool {
        value.as_object().is_some() && !is_stream_payload(value) && !is_request(value) && !is_response(value)
    }

    fn log(&mut self) -> &mut ExchangeLog {
        &mut self.log
    }

    fn take_part(
        &mut self,
        value: &Json,
        session: Option<&str>,
        stamp: &Stamp,
        record: &LogRecord,
        out: &mut DecodedEvents,
    ) {
        if value.as_str() == Some("[DONE]") {
            return;
        }
        if is_stream_payload(value) {
            return self.take_streamed(value, record, out);
        }
        self.end_stream(out);
        if !is_response(value) {
            self.chains.note_other();
        }
        if let Some(items) = value.as_array() {
            let events = self.read_items(items, record, out);
            let request = Request { session: session.map(Text::from), definitions: None, events };
            return self.log.conversations.take_request(request, stamp, out);
        }
        if is_request(value) {
            return self.take_request(value, session, stamp, record, out);
        }
        if let Some(session) = session {
            self.log.conversations.enter_session(session, stamp);
        }
        if is_response(value) {
            let index = self.find_conversation(value, session, record, stamp);
            self.take_response(value, index, Vec::new(), stamp, record, out);
        } else if let Some(events) = self.read_item(value) {
            self.log.conversations.append(events, stamp, out);
        } else if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.log.conversations.add_event(self.log.conversations.current(), failure_event(error), stamp, out);
        } else {
            out.faults.push(unknown_record::describe(record, value));
        }
    }

    fn end_stream(&mut self, out: &mut DecodedEvents) {
        if let Some(stream) = &self.stream {
            out.faults.push(stream.truncation_fault());
            self.flush(out);
        }
    }
}

impl OpenaiResponsesDecoder {
    fn take_request(
        &mut self,
        value: &Json,
        session: Option<&str>,
        stamp: &Stamp,
        record: &LogRecord,
        out: &mut DecodedEvents,
    ) {
        let mut events = Vec::new();
        if let Some(instructions) = read_instructions(value) {
            events.push(instructions);
        }
        match value.get("input") {
            Some(Json::String(text)) => events.push(item::user_message(text)),
            Some(Json::Array(items)) => events.extend(self.read_items(items, record, out)),
            _ => {}
        }
        let definitions = value.get("tools").cloned();
        // The history that the service keeps is not sent again.
        let previous = value.text("previous_response_id");
        let kept = match (previous.and_then(|id| self.chains.find(id)), session) {
            (Some(index), None) => Some(index),
            _ => name_conversation(value).or(session.filter(|_| previous.is_some())).map(|name| {
                self.log.conversations.enter_session(name, stamp);
                self.log.conversations.current()
            }),
        };
        if let Some(index) = kept {
            let request = Request { session: None, definitions, events };
            return self.log.conversations.take_continuation(index, request, stamp, out);
        }
        self.log.conversations.take_request(
            Request { session: session.map(Text::from), definitions, events },
            stamp,
            out,
        );
    }

    /// Returns the conversation of a response: that of the response before it, else the one of the last request.
    fn find_conversation(
        &mut self,
        response: &Json,
        session: Option<&str>,
        record: &LogRecord,
        stamp: &Stamp,
    ) -> usize {
        let conversations = &mut self.log.conversations;
        match self.chains.take_response(response, session.is_some(), record) {
            ChainPlace::Known(index) => conversations.enter(index),
            ChainPlace::New => conversations.begin_unnamed(stamp),
            ChainPlace::Current => {}
        }
        let index = conversations.current();
        if let Some(previous) = response.text("previous_response_id") {
            self.chains.add(previous, index);
        }
        index
    }

    /// Takes a response. Streamed items fill in for those that it lacks.
    fn take_response(
        &mut self,
        value: &Json,
        index: usize,
        streamed: Vec<Json>,
        stamp: &Stamp,
        record: &LogRecord,
        out: &mut DecodedEvents,
    ) {
        if let Some(id) = value.text("id") {
            self.chains.add(id, index);
        }
        let told: Vec<Event> = read_instructions(value).into_iter().collect();
        self.log.conversations.take_repeated(index, told, value.get("tools"), stamp, out);
        let mut items = value.get("output").and_then(Json::as_array).unwrap_or_default().to_vec();
        let missing = items.len().min(streamed.len());
        items.extend(streamed.into_iter().skip(missing));
        let events = self.read_items(&items, record, out);
        self.log.conversations.take_answer(index, vec![events], stamp, out);
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.log.conversations.add_event(index, failure_event(error), stamp, out);
        }
        if let Some(reason) = value.at("incomplete_details.reason").and_then(Json::as_str) {
            let mut event = Event::new(Kind::Other("incomplete".into()));
            event.text = Some(reason.into());
            self.log.conversations.add_event(index, event, stamp, out);
        }
    }

    fn take_streamed(&mut self, value: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        let stamp = Stamp::new(record, value.get("response").and_then(read_time));
        match value.text("type").unwrap_or_default() {
            "response.created" => {
                self.end_stream(out);
                let response = value.get("response").unwrap_or(&Json::Null);
                let index = self.find_conversation(response, None, record, &stamp);
                self.stream = Some(ResponseStream::new(index, &stamp));
            }
            "response.completed" | "response.failed" | "response.incomplete" | "response.cancelled" => {
                let (index, items, mut stamp) = match self.stream.take() {
                    Some(stream) => stream.into_items(),
                    None => (self.log.conversations.current(), Vec::new(), stamp.clone()),
                };
                stamp.time = stamp.time.or(value.get("response").and_then(read_time));
                let response = value.get("response").unwrap_or(&Json::Null);
                self.take_response(response, index, items, &stamp, record, out);
            }
            "error" => {
                let index = self.log.conversations.current();
                self.flush(out);
                self.log.conversations.add_event(index, failure_event(value), &stamp, out);
            }
            _ => {
                let index = self.log.conversations.current();
                let stream = self.stream.get_or_insert_with(|| ResponseStream::new(index, &stamp));
                if !stream.take_payload(value, &stamp) {
                    out.faults.push(unknown_record::describe(record, value));
                }
            }
        }
    }

    /// Emits the events of what has arrived of a stream.
    fn flush(&mut self, out: &mut DecodedEvents) {
        if let Some(stream) = self.stream.take() {
            let (index, events, stamp) = stream.into_events();
            self.log.conversations.take_answer(index, vec![events], &stamp, out);
        }
    }

    fn read_items(&mut self, items: &[Json], record: &LogRecord, out: &mut DecodedEvents) -> Vec<Event> {
        let mut events = Vec::new();
        for item in items {
            match self.read_item(item) {
                Some(said) => events.extend(said),
                None => out.faults.push(unknown_record::describe(record, item)),
            }
        }
        events
    }

    /// Returns the events of an item, or of the one that it refers to.
    fn read_item(&mut self, item: &Json) -> Option<Vec<Event>> {
        let id = item.text("id");
        if item.text("type") == Some("item_reference") {
            return Some(id.and_then(|id| self.items.get(id)).cloned().unwrap_or_default());
        }
        let events = item::read_item(item)?;
        if let Some(id) = id.filter(|_| !events.is_empty()) {
            self.items.insert(id.into(), events.clone());
        }
        Some(events)
    }
}

/// Returns the instructions of a request, which its response repeats.
fn read_instructions(value: &Json) -> Option<Event> {
    match value.get("instructions")? {
        Json::Null => None,
        Json::String(text) if text.is_empty() => None,
        instructions => Some(chat::message_event(Kind::SystemMessage, Content::from_json(instructions, "\n"))),
    }
}

/// Returns the conversation that the service keeps.
fn name_conversation(value: &Json) -> Option<&str> {
    let conversation = value.get("conversation")?;
    conversation.as_str().or_else(|| conversation.text("id"))
}

fn read_time(value: &Json) -> Option<Time> {
    value.as_object().and_then(find_time)
}

//! OpenAI Chat Completions: bare messages, requests, responses, both in one envelope, and recorded streams.

mod choice_stream;

use super::content::Content;
use super::conversation::{Request, Stamp};
use super::exchange_log::{self, ExchangeDecoder, ExchangeLog};
use super::{DecodedEvents, Decoder, LogRecord, chat, envelope, unknown_record};
use choice_stream::ChoiceStreams;
pub use choice_stream::ReplyChoice;
pub(super) use choice_stream::truncation_fault;
use lictor_event::{Event, Kind};
use lictor_json::Json;

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    is_conversation(value) || is_response(value)
}

/// Whether a value is a message, a list of messages or a request, which other formats write in the same way.
pub(super) fn is_conversation(value: &Json) -> bool {
    chat::is_message(value) && !chat::has_blocks(value) || is_request(value) || is_message_list(value)
}

/// Whether a value has calls as only this interface writes them, or an answer to one.
pub(super) fn has_own_calls(value: &Json) -> bool {
    let is_call = |call: &Json| call.at("function.name").is_some();
    let has_calls = |message: &Json| {
        let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
        calls.iter().any(is_call) || message.text("role") == Some("tool") && message.text("tool_call_id").is_some()
    };
    let list = value.get("messages").unwrap_or(value).as_array().unwrap_or_default();
    has_calls(value) || list.iter().any(has_calls) || is_response(value)
}

/// Whether a value is a request, of this interface or of one like it.
pub(super) fn is_request(value: &Json) -> bool {
    value.get("messages").is_some_and(is_message_list)
}

fn is_message_list(value: &Json) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(chat::is_message))
}

fn is_response(value: &Json) -> bool {
    is_chunk(value)
        || value.text("object") == Some("chat.completion")
        || value.at("choices.0.message").is_some_and(|message| message.get("role").is_some())
}

fn is_chunk(value: &Json) -> bool {
    let choices = value.get("choices").and_then(Json::as_array);
    value.text("object") == Some("chat.completion.chunk")
        || choices.is_some_and(|choices| choices.iter().any(|choice| choice.get("delta").is_some()))
        // Some services begin a stream with what they think of the prompt.
        || choices.is_some_and(|choices| choices.is_empty() && value.get("prompt_filter_results").is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OpenaiChatDecoder {
    log: ExchangeLog,
    streams: ChoiceStreams,
}

impl Decoder for OpenaiChatDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        exchange_log::take_record(self, &record, out);
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        exchange_log::finish(self, out);
    }
}

impl ExchangeDecoder for OpenaiChatDecoder {
    fn is_part(value: &Json) -> bool {
        is_part(value)
    }

    fn is_stream(parts: &[Json]) -> bool {
        parts.iter().all(is_chunk)
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
        // The mark at the end of a stream. Its chunks show whether it is complete.
        if value.as_str() == Some("[DONE]") {
            return;
        }
        if is_chunk(value) {
            return self.streams.take_chunk(value, self.log.conversations.current(), stamp);
        }
        self.end_stream(out);
        if let Some(messages) = value.get("messages").or(Some(value)).and_then(Json::as_array) {
            let mut request = read_request(value, messages, record, out);
            request.session = session.map(Into::into);
            return self.log.conversations.take_request(request, stamp, out);
        }
        if let Some(session) = session {
            self.log.conversations.enter_session(session, stamp);
        }
        if let Some(choices) = value.get("choices").and_then(Json::as_array) {
            let choices = choices.iter().map(|choice| read_choice(choice, record, out)).collect();
            self.log.conversations.take_answer(self.log.conversations.current(), choices, stamp, out);
        } else if let Some(events) = chat::read_logged_message(value) {
            self.log.conversations.append(events, stamp, out);
        } else if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.log.conversations.add_event(self.log.conversations.current(), chat::failure_event(error), stamp, out);
        } else {
            out.faults.push(unknown_record::describe(record, value));
        }
    }

    fn end_stream(&mut self, out: &mut DecodedEvents) {
        self.streams.close(&mut self.log.conversations, out);
    }
}

/// Reads a request: its instructions and messages, and the tools it offers.
pub(super) fn read_request(value: &Json, messages: &[Json], record: &LogRecord, out: &mut DecodedEvents) -> Request {
    let mut events = Vec::new();
    if let Some(system) = value.get("system").filter(|system| !system.is_null()) {
        events.push(chat::message_event(Kind::SystemMessage, Content::from_json(system, "\n")));
    }
    for written in messages {
        match chat::read_logged_message(written) {
            Some(said) => events.extend(said),
            None => out.faults.push(unknown_record::describe(record, written)),
        }
    }
    let definitions = value.get("tools").or_else(|| value.get("functions")).cloned();
    Request { session: None, definitions, events }
}

fn read_choice(choice: &Json, record: &LogRecord, out: &mut DecodedEvents) -> Vec<Event> {
    let events = choice.get("message").and_then(chat::read_message);
    events.unwrap_or_else(|| {
        out.faults.push(unknown_record::describe(record, choice));
        Vec::new()
    })
}

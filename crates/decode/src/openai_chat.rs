//! OpenAI Chat Completions: bare messages, requests, responses, both in one envelope, and recorded streams.

mod choice_stream;

use lictor_logic::Time;

use super::content::Content;
use super::conversation::{Conversations, Request, Stamp};
use super::session_key::{LoneMessages, find_session};
use super::unread_times::UnreadTimes;
use super::{DecodedEvents, Decoder, LogRecord, chat, envelope, unknown_record};
use choice_stream::ChoiceStreams;
pub use choice_stream::ReplyChoice;
pub(super) use choice_stream::truncation_fault;
use lictor_event::{Event, Kind, find_history_time, find_time};
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
    conversations: Conversations,
    streams: ChoiceStreams,
    lone: LoneMessages,
    times: UnreadTimes,
}

impl Decoder for OpenaiChatDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        match envelope::open_envelope(&record.value) {
            Some(exchange) if exchange.parts().any(is_part) => {
                self.times.check(&record.value, &record);
                let time = exchange.time;
                if let Some(request) = exchange.request {
                    let stamp = Stamp::new(&record, time.or_else(|| read_time(request)));
                    self.take_part(request, exchange.session.as_deref(), &stamp, &record, out);
                }
                match exchange.response {
                    // A log that keeps the text of an answer only.
                    Some(Json::String(text)) => {
                        let said =
                            chat::message_event(Kind::AssistantMessage, Content::from_json(&text.clone().into(), ""));
                        self.conversations.append(vec![said], &Stamp::new(&record, time), out);
                    }
                    Some(Json::Array(chunks)) if chunks.iter().all(is_chunk) => {
                        for chunk in chunks {
                            let stamp = Stamp::new(&record, time.or_else(|| read_time(chunk)));
                            self.take_part(chunk, None, &stamp, &record, out);
                        }
                        self.streams.close(&mut self.conversations, out);
                    }
                    Some(response) => {
                        let session = exchange.session.as_deref().filter(|_| exchange.request.is_none());
                        let stamp = Stamp::new(&record, time.or_else(|| read_time(response)));
                        self.take_part(response, session, &stamp, &record, out);
                    }
                    None => {}
                }
            }
            _ => {
                let is_lone = chat::is_message(&record.value);
                let session = self.lone.find_session(&record, is_lone, &mut self.conversations);
                self.times.check(&record.value, &record);
                let stamp = Stamp::new(&record, read_time(&record.value));
                self.take_part(&record.value, session.as_deref(), &stamp, &record, out);
            }
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.streams.close(&mut self.conversations, out);
        out.faults.extend(self.lone.fault());
        out.faults.extend(self.times.fault());
    }
}

impl OpenaiChatDecoder {
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
            return self.streams.take_chunk(value, self.conversations.current(), stamp);
        }
        self.streams.close(&mut self.conversations, out);
        if let Some(messages) = value.get("messages").or(Some(value)).and_then(Json::as_array) {
            messages.iter().for_each(|message| self.times.check(message, record));
            if session.is_none() && names_sessions(messages) {
                for message in messages {
                    let session = find_session(message);
                    self.conversations.leave_session();
                    self.take_part(message, session.as_deref(), &Stamp::new(record, read_time(message)), record, out);
                }
                return;
            }
            let mut request = read_request(value, messages, record, out);
            request.session = session.map(Into::into);
            return self.conversations.take_request(request, stamp, out);
        }
        if let Some(session) = session {
            self.conversations.enter_session(session, stamp);
        }
        if let Some(choices) = value.get("choices").and_then(Json::as_array) {
            let choices = choices.iter().map(|choice| read_choice(choice, record, out)).collect();
            self.conversations.take_answer(self.conversations.current(), choices, stamp, out);
        } else if let Some(events) = chat::read_logged_message(value) {
            self.conversations.append(events, stamp, out);
        } else if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.conversations.add_event(self.conversations.current(), failure_event(error), stamp, out);
        } else {
            out.faults.push(unknown_record::describe(record, value));
        }
    }
}

/// Whether the messages of a list name different sessions, as a whole log in one list does.
fn names_sessions(messages: &[Json]) -> bool {
    let first = messages.first().and_then(find_session);
    first.is_some() && messages.iter().any(|message| find_session(message) != first)
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

/// Returns the event of a failure that the service reports.
pub(super) fn failure_event(error: &Json) -> Event {
    let mut event = Event::new(Kind::Error);
    event.failed = true;
    event.text = Some(match error.text("message").or(error.as_str()) {
        Some(text) => text.into(),
        None => error.to_string().into(),
    });
    if let Some(code) = error.get("code").or_else(|| error.get("type")).filter(|code| !code.is_null()) {
        event.more.insert("code", code.clone());
    }
    event
}

/// Returns the time of a message, a response or a request.
pub(super) fn read_time(value: &Json) -> Option<Time> {
    let object = value.as_object()?;
    if object.get("messages").is_some() { find_history_time(object) } else { find_time(object) }
}

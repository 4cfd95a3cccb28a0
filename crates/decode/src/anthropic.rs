//! Anthropic Messages: requests, responses, both in one envelope, and recorded streams.

mod stream;

use super::conversation::{Conversations, Stamp};
use super::openai_chat::{failure, is_request, request};
use super::{DecodedEvents, Decoder, LogRecord, chat, exchange, unknown};
use lictor_event::{Event, Kind};
use lictor_json::Json;
pub use stream::Block;
use stream::Stream;

/// The types of the payloads of a stream.
const STREAMED: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
];

/// Whether a record is of this format. A message or a request that OpenAI would write just so is left to that format;
/// it gives the same events.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || exchange::open(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let messages = |list: &Json| list.as_array().is_some_and(|list| list.iter().any(chat::has_blocks));
    is_streamed(value) || is_response(value) || is_error(value) || chat::has_blocks(value) || messages(value) || {
        let own = ["system", "anthropic_version", "stop_sequences"].iter().any(|key| value.get(key).is_some());
        let schema = value.at("tools.0.input_schema").is_some();
        is_request(value) && (own || schema || value.get("messages").is_some_and(messages))
    }
}

fn is_streamed(value: &Json) -> bool {
    value.text("type").is_some_and(|name| STREAMED.contains(&name))
}

fn is_response(value: &Json) -> bool {
    let blocks = value.get("content").and_then(Json::as_array);
    value.text("type") == Some("message")
        && value.text("role") == Some("assistant")
        && value.get("stop_reason").is_some()
        && blocks.is_some()
}

fn is_error(value: &Json) -> bool {
    value.text("type") == Some("error") && value.at("error.type").is_some()
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    conversations: Conversations,
    stream: Option<Stream>,
}

impl Decoder for AnthropicDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        match exchange::open(&record.value) {
            Some(exchange) if exchange.parts().any(|part| is_part(part) || is_request(part)) => {
                if let Some(request) = exchange.request {
                    self.part(request, exchange.session, &record, out);
                }
                let session = exchange.session.filter(|_| exchange.request.is_none());
                match exchange.response {
                    Some(Json::Array(payloads)) => {
                        payloads.iter().for_each(|payload| self.part(payload, session, &record, out));
                    }
                    Some(response) => self.part(response, session, &record, out),
                    None => {}
                }
            }
            _ => self.part(&record.value, None, &record, out),
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.cut(out);
    }
}

impl AnthropicDecoder {
    fn part(&mut self, value: &Json, session: Option<&str>, record: &LogRecord, out: &mut DecodedEvents) {
        let stamp = Stamp::new(record, None);
        if is_streamed(value) {
            return self.streamed(value, &stamp, record, out);
        }
        if is_error(value) {
            // The stream ends here, and says why.
            if let Some(stream) = self.stream.take() {
                stream.end(false, &mut self.conversations, out);
            }
            if let Some(session) = session {
                self.conversations.enter(session, &stamp);
            }
            let index = self.conversations.current();
            return self.conversations.note(
                index,
                failure(&value.get("error").cloned().unwrap_or(Json::Null)),
                &stamp,
                out,
            );
        }
        self.cut(out);
        if let Some(messages) = value.get("messages").or(Some(value)).and_then(Json::as_array) {
            let mut request = request(value, messages, record, out);
            request.session = session.map(Into::into);
            return self.conversations.request(request, &stamp, out);
        }
        if let Some(session) = session {
            self.conversations.enter(session, &stamp);
        }
        match response_events(value) {
            Some(events) => self.conversations.add(events, &stamp, out),
            None => out.faults.push(unknown::fault(record, value)),
        }
    }

    fn streamed(&mut self, value: &Json, stamp: &Stamp, record: &LogRecord, out: &mut DecodedEvents) {
        match value.text("type") {
            Some("ping") => {}
            Some("message_start") => {
                self.cut(out);
                self.stream = Some(Stream::new(value, self.conversations.current(), stamp));
            }
            Some("message_stop") => {
                if let Some(stream) = self.stream.take() {
                    stream.end(true, &mut self.conversations, out);
                }
            }
            _ => {
                let stream = self.stream.get_or_insert_with(|| {
                    out.faults.push(
                        record.fault("stream.truncated", "the stream has no beginning; the rest is taken as it is"),
                    );
                    Stream::new(&Json::Null, self.conversations.current(), stamp)
                });
                if !stream.take(value, stamp) {
                    out.faults.push(unknown::fault(record, value));
                }
            }
        }
    }

    /// Ends a stream that has no end.
    fn cut(&mut self, out: &mut DecodedEvents) {
        if let Some(stream) = self.stream.take() {
            out.faults.push(stream.truncated());
            stream.end(false, &mut self.conversations, out);
        }
    }
}

/// The events of a message of the model, or of anybody.
pub(super) fn response_events(value: &Json) -> Option<Vec<Event>> {
    let mut events = chat::events_of(value)?;
    if value.text("stop_reason") == Some(chat::REFUSAL) {
        chat::refuse(&mut events);
        let refused = events.iter_mut().rfind(|event| event.kind == Kind::AssistantMessage);
        if let (Some(event), Some(details)) = (refused, value.get("stop_details").filter(|details| !details.is_null()))
        {
            event.more.insert("stop_details", details.clone());
        }
    }
    Some(events)
}

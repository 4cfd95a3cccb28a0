//! Anthropic Messages: requests, responses, both in one envelope, and recorded streams.

mod message_stream;

use super::chat::failure_event;
use super::conversation::Stamp;
use super::exchange_log::{self, ExchangeDecoder, ExchangeLog};
use super::openai_chat::{is_request, read_request};
use super::{DecodedEvents, Decoder, LogRecord, chat, envelope, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::Json;
pub use message_stream::Block;
use message_stream::MessageStream;

/// The types of the payloads of a stream.
const STREAM_TYPES: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
];

/// Whether a record is of this format. A message or a request that could be OpenAI's as well is left to that format,
/// which makes the same events.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let messages = |list: &Json| list.as_array().is_some_and(|list| list.iter().any(chat::has_blocks));
    is_stream_payload(value) || is_response(value) || is_error(value) || chat::has_blocks(value) || messages(value) || {
        let own = ["system", "anthropic_version", "stop_sequences"].iter().any(|key| value.get(key).is_some());
        let schema = value.at("tools.0.input_schema").is_some();
        is_request(value) && (own || schema || value.get("messages").is_some_and(messages))
    }
}

fn is_stream_payload(value: &Json) -> bool {
    value.text("type").is_some_and(|name| STREAM_TYPES.contains(&name))
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
    log: ExchangeLog,
    stream: Option<MessageStream>,
}

impl Decoder for AnthropicDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        exchange_log::take_record(self, &record, out);
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        exchange_log::finish(self, out);
    }
}

impl ExchangeDecoder for AnthropicDecoder {
    fn is_part(value: &Json) -> bool {
        is_part(value) || is_request(value)
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
        if is_stream_payload(value) {
            return self.take_streamed(value, stamp, record, out);
        }
        if is_error(value) {
            // The stream ends here, with the reason.
            if let Some(stream) = self.stream.take() {
                stream.finish(false, &mut self.log.conversations, out);
            }
            if let Some(session) = session {
                self.log.conversations.enter_session(session, stamp);
            }
            let index = self.log.conversations.current();
            return self.log.conversations.add_event(
                index,
                failure_event(&value.get("error").cloned().unwrap_or(Json::Null)),
                stamp,
                out,
            );
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
        match read_response(value) {
            Some(events) => self.log.conversations.append(events, stamp, out),
            None => out.faults.push(unknown_record::describe(record, value)),
        }
    }

    fn end_stream(&mut self, out: &mut DecodedEvents) {
        if let Some(stream) = self.stream.take() {
            out.faults.push(stream.truncation_fault());
            stream.finish(false, &mut self.log.conversations, out);
        }
    }
}

impl AnthropicDecoder {
    fn take_streamed(&mut self, value: &Json, stamp: &Stamp, record: &LogRecord, out: &mut DecodedEvents) {
        match value.text("type") {
            Some("ping") => {}
            Some("message_start") => {
                self.end_stream(out);
                self.stream = Some(MessageStream::new(value, self.log.conversations.current(), stamp));
            }
            Some("message_stop") => {
                if let Some(stream) = self.stream.take() {
                    stream.finish(true, &mut self.log.conversations, out);
                }
            }
            _ => {
                let stream = self.stream.get_or_insert_with(|| {
                    out.faults.push(
                        record.fault("stream.truncated", "the beginning of the stream is missing; the rest is used"),
                    );
                    MessageStream::new(&Json::Null, self.log.conversations.current(), stamp)
                });
                if !stream.take_piece(value, stamp) {
                    out.faults.push(unknown_record::describe(record, value));
                }
            }
        }
    }
}

/// Returns the events of a message; of a refused response, labeled so.
pub(super) fn read_response(value: &Json) -> Option<Vec<Event>> {
    let mut events = chat::read_message(value)?;
    if value.text("stop_reason") == Some(chat::REFUSAL) {
        chat::mark_refusal(&mut events);
        let refused = events.iter_mut().rfind(|event| event.kind == Kind::AssistantMessage);
        if let (Some(event), Some(details)) = (refused, value.get("stop_details").filter(|details| !details.is_null()))
        {
            event.more.insert("stop_details", details.clone());
        }
    }
    Some(events)
}

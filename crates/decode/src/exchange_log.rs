//! Logs of exchanges with a model: messages, requests, responses and streams, alone or in one envelope. The three
//! interfaces that are logged so differ in how a part looks, not in how the parts belong together.

use lictor_event::{Kind, find_history_time, find_time};
use lictor_json::Json;
use lictor_logic::Time;

use super::chat::failure_event;
use super::content::Content;
use super::conversation::{Conversations, Stamp};
use super::session_key::{LoneMessages, find_session};
use super::unread_times::UnreadTimes;
use super::{DecodedEvents, LogRecord, chat, envelope};

/// What is known of such a log beside the streams that are open.
#[derive(Debug, Default)]
pub(super) struct ExchangeLog {
    pub(super) conversations: Conversations,
    lone: LoneMessages,
    times: UnreadTimes,
}

/// The decoder of one interface.
pub(super) trait ExchangeDecoder {
    /// Whether a value is a request, a response or a piece of one.
    fn is_part(value: &Json) -> bool;

    /// Whether a record is a message of its own, which does not say what it belongs to.
    fn is_lone(value: &Json) -> bool {
        chat::is_message(value)
    }

    /// Whether a list is a recorded stream rather than messages.
    fn is_stream(_parts: &[Json]) -> bool {
        true
    }

    /// Returns what it knows of the log.
    fn log(&mut self) -> &mut ExchangeLog;

    /// Reads a part of an exchange.
    fn take_part(
        &mut self,
        value: &Json,
        session: Option<&str>,
        stamp: &Stamp,
        record: &LogRecord,
        out: &mut DecodedEvents,
    );

    /// Ends a stream that is open; a truncated one is a fault.
    fn end_stream(&mut self, out: &mut DecodedEvents);
}

/// Reads a record: an envelope, or a part of an exchange.
pub(super) fn take_record<D: ExchangeDecoder>(decoder: &mut D, record: &LogRecord, out: &mut DecodedEvents) {
    let value = &record.value;
    let envelope = envelope::open_envelope(value).filter(|exchange| exchange.parts().any(D::is_part));
    let Some(exchange) = envelope else {
        let log = decoder.log();
        if let (Some(failure), Some(session)) = (envelope::find_batch_failure(value), find_session(value)) {
            let stamp = Stamp::new(record, read_time(value));
            log.conversations.enter_session(&session, &stamp);
            return log.conversations.add_event(log.conversations.current(), failure_event(&failure), &stamp, out);
        }
        let session = log.lone.find_session(record, D::is_lone(value), &mut log.conversations);
        log.times.check(value, record);
        let stamp = Stamp::new(record, read_time(value));
        return take_messages(decoder, value, session.as_deref(), &stamp, record, out);
    };
    decoder.log().times.check(value, record);
    let stamp = |part: &Json| Stamp::new(record, exchange.time.or_else(|| read_time(part)));
    if let Some(request) = exchange.request {
        take_messages(decoder, request, exchange.session.as_deref(), &stamp(request), record, out);
    }
    let session = exchange.session.as_deref().filter(|_| exchange.request.is_none());
    match exchange.response {
        // A log that keeps the text of an answer only.
        Some(Json::String(text)) => {
            let said = chat::message_event(Kind::AssistantMessage, Content::from_json(&text.clone().into(), ""));
            decoder.log().conversations.append(vec![said], &Stamp::new(record, exchange.time), out);
        }
        Some(Json::Array(parts)) if D::is_stream(parts) => {
            for part in parts {
                decoder.take_part(part, session, &stamp(part), record, out);
            }
            decoder.end_stream(out);
        }
        Some(response) => decoder.take_part(response, session, &stamp(response), record, out),
        None => {}
    }
}

/// Reads a part of an exchange. Messages of a list that names different sessions, as a whole log in one list does, are
/// read one by one.
fn take_messages<D: ExchangeDecoder>(
    decoder: &mut D,
    value: &Json,
    session: Option<&str>,
    stamp: &Stamp,
    record: &LogRecord,
    out: &mut DecodedEvents,
) {
    let messages = value.get("messages").unwrap_or(value).as_array().unwrap_or_default();
    messages.iter().for_each(|message| decoder.log().times.check(message, record));
    let first = messages.first().and_then(find_session);
    let is_one = session.is_some() || first.is_none() || messages.iter().all(|message| find_session(message) == first);
    if is_one {
        return decoder.take_part(value, session, stamp, record, out);
    }
    decoder.end_stream(out);
    for message in messages {
        decoder.log().conversations.leave_session();
        let stamp = Stamp::new(record, read_time(message));
        decoder.take_part(message, find_session(message).as_deref(), &stamp, record, out);
    }
}

/// Ends a log, and says what could not be read of it.
pub(super) fn finish<D: ExchangeDecoder>(decoder: &mut D, out: &mut DecodedEvents) {
    decoder.end_stream(out);
    let ExchangeLog { conversations, lone, times } = decoder.log();
    out.faults.extend(conversations.take_fault());
    out.faults.extend(lone.faults());
    out.faults.extend(times.fault());
}

/// Returns the time of a message, a response or a request.
pub(super) fn read_time(value: &Json) -> Option<Time> {
    let object = value.as_object()?;
    if object.get("messages").is_some() { find_history_time(object) } else { find_time(object) }
}

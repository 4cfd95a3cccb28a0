//! OpenAI Responses.

mod correction;
mod guidance;
mod item;
mod replacement;
mod reply;
mod request;
mod stream;
mod streamed_item;
mod text_separator;

pub(crate) use item::COMPATIBLE_TOOLS;

use std::sync::LazyLock;

use lictor_json::{Json, JsonEdit, JsonPath, Text};

use crate::fields::FieldTable;
use crate::interface::Interface;
use crate::offered_tool::OfferedTool;
use crate::openai;
use crate::refusal::WireRefusal;
use crate::request_parts::RequestBody;
use crate::request_path::{RequestPath, Traffic};
use crate::ruled_reply::RuledReply;
use crate::segment::{Edits, Segment};
use crate::session_hints::SessionHints;
use crate::stream::action::StreamLimits;
use crate::stream::vendor::VendorStream;

/// The fields of its replies.
static FIELDS: LazyLock<FieldTable> = LazyLock::new(|| FieldTable::parse(include_str!("../fields/responses.txt")));

/// The interface Responses.
#[derive(Debug)]
pub(crate) struct Responses;

impl Interface for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn route(&self, method: &str, path: &RequestPath<'_>) -> Option<Traffic> {
        match method {
            // Compatible services have it under prefixes of their own.
            "POST" if path.ends_with(&["responses"]) => Some(Traffic::Conversation),
            "POST" if path.ends_with(&["responses", "input_tokens"]) => Some(Traffic::Count),
            _ => None,
        }
    }

    fn message_key(&self) -> &'static str {
        "input"
    }

    fn read_request(&self, body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal> {
        request::read_segments(body)
    }

    fn wants_structure(&self, body: &Json) -> bool {
        body.at("text.format").is_some_and(openai::is_structure)
    }

    fn read_hints(&self, body: &Json) -> SessionHints {
        let conversation = body.get("conversation");
        let conversation = conversation.and_then(|named| named.as_str().or_else(|| named.text("id")));
        SessionHints {
            user: openai::read_user(body),
            previous_response: openai::read_name(body, "previous_response_id"),
            conversation: conversation.map(Text::from),
            ..SessionHints::from_metadata(body)
        }
    }

    fn answer_calls(&self, body: &Json, answers: &[(Text, String)]) -> Option<(JsonPath, JsonEdit)> {
        request::answer_calls(body, answers)
    }

    fn read_tool(&self, entry: &Json) -> Option<OfferedTool> {
        guidance::read_tool(entry)
    }

    fn add_note(&self, body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
        guidance::add_note(body, note)
    }

    fn add_question(&self, body: &Json, question: &str) -> Option<Edits> {
        guidance::add_question(body, question)
    }

    fn correct_request(&self, request: &Json, reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
        correction::correct(request, reply, denials)
    }

    fn is_reasoning(&self, event: &Json) -> bool {
        event.text("type").is_some_and(|name| name.starts_with("response.reasoning"))
    }

    fn join_stream(&self, events: &[Json]) -> Option<Json> {
        // The last event has the whole reply.
        let last = events.iter().rfind(|event| event.text("type") == Some("response.completed"))?;
        last.get("response").cloned()
    }

    fn fields(&self) -> &'static FieldTable {
        &FIELDS
    }

    fn read_reply(&self, body: &Json) -> Result<Vec<Vec<Segment>>, WireRefusal> {
        Ok(vec![reply::read_segments(body)?])
    }

    fn edit_reply(&self, reply: &RuledReply<'_>) -> Result<Edits, WireRefusal> {
        reply::edit(reply)
    }

    fn open_stream(&self, limits: StreamLimits) -> Box<dyn VendorStream> {
        Box::new(stream::ResponseStream::new(limits.hold_back > 0, limits.separates_texts))
    }

    fn error_body(&self, status: u16, code: &str, message: &str) -> Json {
        openai::error_body(status, code, message)
    }

    fn error_event(&self, _status: u16, code: &str, message: &str, sequence: i64) -> (Option<&'static str>, Json) {
        let error = [
            ("type", "error".into()),
            ("code", code.into()),
            ("message", message.into()),
            ("param", Json::Null),
            ("sequence_number", sequence.into()),
        ];
        (Some("error"), error.into())
    }
}

//! Anthropic Messages.

mod correction;
mod guidance;
mod joined;
mod reply;
mod request;
mod stream;
mod streamed_block;

use std::sync::LazyLock;

use lictor_json::{Json, JsonEdit, JsonPath, Text};

use crate::fields::FieldTable;
use crate::interface::Interface;
use crate::offered_tool::OfferedTool;
use crate::refusal::WireRefusal;
use crate::request_parts::RequestBody;
use crate::request_path::{RequestPath, Traffic};
use crate::ruled_reply::RuledReply;
use crate::segment::{Edits, Segment};
use crate::session_hints::SessionHints;
use crate::stream::action::StreamLimits;
use crate::stream::vendor::VendorStream;

/// The fields of its replies.
static FIELDS: LazyLock<FieldTable> = LazyLock::new(|| FieldTable::parse(include_str!("../fields/messages.txt")));

/// The interface Messages.
#[derive(Debug)]
pub(crate) struct Messages;

impl Interface for Messages {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn route(&self, method: &str, path: &RequestPath<'_>) -> Option<Traffic> {
        match (method, path.own_names()) {
            ("POST", ["messages"]) => Some(Traffic::Conversation),
            ("POST", ["messages", "count_tokens"]) => Some(Traffic::Count),
            _ => None,
        }
    }

    fn message_key(&self) -> &'static str {
        "messages"
    }

    fn read_request(&self, body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal> {
        request::read_segments(body)
    }

    fn wants_structure(&self, body: &Json) -> bool {
        [body.get("output_format"), body.at("output_config.format")].iter().flatten().any(|format| !format.is_null())
    }

    fn read_hints(&self, body: &Json) -> SessionHints {
        let mut hints = SessionHints::from_metadata(body);
        hints.user = hints.metadata.get("user_id").and_then(Json::as_str).map(Text::from);
        hints
    }

    fn read_tool(&self, entry: &Json) -> Option<OfferedTool> {
        guidance::read_tool(entry)
    }

    fn add_note(&self, body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
        guidance::add_note(body, note)
    }

    fn choose(&self, word: &str, before: Option<&Json>) -> Json {
        guidance::choose(word, before)
    }

    fn correct_request(&self, _request: &Json, reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
        correction::correct(reply, denials)
    }

    fn is_reasoning(&self, event: &Json) -> bool {
        let kind = event.at("delta.type").or_else(|| event.at("content_block.type")).and_then(Json::as_str);
        kind.is_some_and(|kind| kind.contains("thinking"))
    }

    fn is_opening(&self, event: &Json) -> bool {
        matches!(event.text("type"), Some("message_start" | "ping"))
    }

    fn join_stream(&self, events: &[Json]) -> Option<Json> {
        joined::join(events)
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
        Box::new(stream::MessageStream::new(limits.separates_texts))
    }

    fn error_body(&self, status: u16, code: &str, message: &str) -> Json {
        let error = [("message", format!("{message} ({code})").into()), ("type", error_type(status).into())];
        Json::from([("type", "error".into()), ("error", error.into())])
    }

    fn error_event(&self, status: u16, code: &str, message: &str, _sequence: i64) -> (Option<&'static str>, Json) {
        (Some("error"), self.error_body(status, code, message))
    }
}

/// Returns Anthropic's name for errors of a status.
fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

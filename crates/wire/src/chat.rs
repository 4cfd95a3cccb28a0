//! OpenAI Chat Completions, and services that are compatible with it.

mod canonical;
mod correction;
mod guidance;
mod joined;
mod reply;
mod request;
mod stream;
mod streamed_choice;

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
static FIELDS: LazyLock<FieldTable> = LazyLock::new(|| FieldTable::parse(include_str!("../fields/chat.txt")));

/// The interface Chat Completions.
#[derive(Debug)]
pub(crate) struct Chat;

impl Interface for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn route(&self, method: &str, path: &RequestPath<'_>) -> Option<Traffic> {
        match method {
            // Compatible services have it under prefixes of their own.
            "POST" if path.ends_with(&["chat", "completions"]) => Some(Traffic::Conversation),
            "GET" | "HEAD" => match path.own_names() {
                ["models"] => Some(Traffic::Harmless),
                ["models", name] if is_model_name(name) => Some(Traffic::Harmless),
                ["models", owner, name] if is_name_part(owner) && is_name_part(name) => Some(Traffic::Harmless),
                _ => None,
            },
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
        body.get("response_format").is_some_and(openai::is_structure)
    }

    fn read_hints(&self, body: &Json) -> SessionHints {
        SessionHints { user: openai::read_user(body), ..SessionHints::from_metadata(body) }
    }

    fn read_tool(&self, entry: &Json) -> Option<OfferedTool> {
        guidance::read_tool(entry)
    }

    fn add_note(&self, body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
        guidance::add_note(body, note)
    }

    fn correct_request(&self, _request: &Json, reply: &Json, denials: &[(Text, String)]) -> Option<Edits> {
        correction::correct(reply, denials)
    }

    fn is_reasoning(&self, event: &Json) -> bool {
        let deltas = event.get("choices").and_then(Json::as_array).unwrap_or_default().iter();
        let mut deltas = deltas.filter_map(|choice| choice.get("delta")?.as_object());
        let is_said = |value: &Json| !value.is_null() && value.as_str() != Some("");
        deltas.any(|delta| delta.iter().any(|(name, value)| name.starts_with("reasoning") && is_said(value)))
    }

    fn is_opening(&self, event: &Json) -> bool {
        stream::opens_message(event)
    }

    fn resume_edits(&self, event: &Json, id: &str) -> Edits {
        stream::resume_edits(event, id)
    }

    fn join_stream(&self, events: &[Json]) -> Option<Json> {
        joined::join(events)
    }

    fn fields(&self) -> &'static FieldTable {
        &FIELDS
    }

    fn read_reply(&self, body: &Json) -> Result<Vec<Vec<Segment>>, WireRefusal> {
        reply::read_choices(body)
    }

    fn edit_reply(&self, reply: &RuledReply<'_>) -> Result<Edits, WireRefusal> {
        reply::edit(reply)
    }

    fn open_stream(&self, limits: StreamLimits) -> Box<dyn VendorStream> {
        Box::new(stream::ChatStream::new(limits.choices))
    }

    fn error_body(&self, status: u16, code: &str, message: &str) -> Json {
        openai::error_body(status, code, message)
    }

    fn error_event(&self, status: u16, code: &str, message: &str, _sequence: i64) -> (Option<&'static str>, Json) {
        (None, openai::error_body(status, code, message))
    }
}

/// Whether a part of a path is the name of a model. Vendors' libraries encode the slash of `owner/name`.
fn is_model_name(name: &str) -> bool {
    match name.split_once("%2F").or_else(|| name.split_once("%2f")) {
        Some((owner, name)) => is_name_part(owner) && is_name_part(name),
        None => is_name_part(name),
    }
}

fn is_name_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !part.is_empty() && !matches!(part, "." | "..") && part.bytes().all(is_allowed)
}

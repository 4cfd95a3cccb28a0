//! What every interface of a model vendor implements: routes, requests, replies, streams and errors.
//!
//! A vendor has one folder and one type that implements [`Interface`]. Everything else in this crate works for all of
//! them.

use lictor_json::{Json, JsonEdit, JsonPath, Text, json_path};

use crate::fields::FieldTable;
use crate::offered_tool::OfferedTool;
use crate::refusal::WireRefusal;
use crate::request_parts::RequestBody;
use crate::request_path::{RequestPath, Traffic};
use crate::ruled_reply::RuledReply;
use crate::segment::{Edits, Segment};
use crate::session_hints::SessionHints;
use crate::stream::action::StreamLimits;
use crate::stream::vendor::VendorStream;

/// An interface of a model vendor.
pub(crate) trait Interface: Sync {
    /// Returns the name that decoders of logs use for the format.
    fn name(&self) -> &'static str;

    /// Returns what a request carries, by its method and path; none if the path is not one of this interface.
    fn route(&self, method: &str, path: &RequestPath<'_>) -> Option<Traffic>;

    /// Returns the key of the list of messages in a request.
    fn message_key(&self) -> &'static str;

    /// Returns the segments of a request's body in their order, except the tools on offer: the messages come last.
    fn read_request(&self, body: RequestBody<'_>) -> Result<Vec<Segment>, WireRefusal>;

    /// Whether a request asks for structured output.
    fn wants_structure(&self, body: &Json) -> bool;

    /// Returns the names in a request's body by which its session may be known.
    fn read_hints(&self, body: &Json) -> SessionHints;

    /// Returns the edit that puts answers to denied calls before everything else in a request, each with the id of its
    /// call. None where the vendor keeps no history, or the body has no place for them.
    fn answer_calls(&self, _body: &Json, _answers: &[(Text, String)]) -> Option<(JsonPath, JsonEdit)> {
        None
    }

    /// Returns the tool of an entry in the list of tools on offer.
    fn read_tool(&self, entry: &Json) -> Option<OfferedTool>;

    /// Returns the edit that adds a note for the model where the vendor takes instructions from, after everything else.
    /// None if the body has no place for it.
    fn add_note(&self, body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)>;

    /// Returns the edits that put a question of the user after the conversation. None if the body has no place for it.
    fn add_question(&self, body: &Json, question: &str) -> Option<Edits> {
        body.get("messages").and_then(Json::as_array)?;
        let message = Json::from([("role", "user".into()), ("content", question.into())]);
        Some(vec![(json_path!["messages"], JsonEdit::Append(vec![message]))])
    }

    /// Returns the value of `tool_choice` for `auto` or `none`, in place of the present one.
    fn choose(&self, word: &str, _before: Option<&Json>) -> Json {
        word.into()
    }

    /// Returns the edits of a request that tell the model why its calls were denied, as the results of its tools: the
    /// reply comes after the messages, and a result for each call after it. None if the body has no place for them.
    fn correct_request(&self, request: &Json, reply: &Json, denials: &[(Text, String)]) -> Option<Edits>;

    /// Returns the whole reply that the events of a stream stand for, with what [`correct_request`] needs of it; none if
    /// they cannot be joined.
    ///
    /// [`correct_request`]: Interface::correct_request
    fn join_stream(&self, events: &[Json]) -> Option<Json>;

    /// Whether an event of a stream shows the model's reasoning.
    fn is_reasoning(&self, event: &Json) -> bool;

    /// Whether an event of a stream only opens the reply: it names it, and shows nothing of it. A client that has such an
    /// event can also be sent the rest of another reply, with [`resume_edits`](Interface::resume_edits).
    fn is_opening(&self, _event: &Json) -> bool {
        false
    }

    /// Returns the edits by which an event continues the reply with this id, which another stream opened.
    fn resume_edits(&self, _event: &Json, _id: &str) -> Edits {
        Vec::new()
    }

    /// Returns the fields of its replies.
    fn fields(&self) -> &'static FieldTable;

    /// Returns the segments of a reply's body, for each choice of the model.
    fn read_reply(&self, body: &Json) -> Result<Vec<Vec<Segment>>, WireRefusal>;

    /// Returns the edits that carry out the rulings on a reply.
    fn edit_reply(&self, reply: &RuledReply<'_>) -> Result<Edits, WireRefusal>;

    /// Returns the reader of a stream that begins.
    fn open_stream(&self, limits: StreamLimits) -> Box<dyn VendorStream>;

    /// Returns the body of an error in the vendor's own form.
    fn error_body(&self, status: u16, code: &str, message: &str) -> Json;

    /// Returns the name and the data of an error within a stream. `sequence` is the number of the next event, where the
    /// interface numbers them.
    fn error_event(&self, status: u16, code: &str, message: &str, sequence: i64) -> (Option<&'static str>, Json);
}

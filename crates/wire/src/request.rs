//! Requests: what a client sends to a model, as a list of items in the same form for every interface.
//!
//! The list has the tools on offer, the instructions and the messages. A request is refused if two readers could
//! understand it differently, or if it has a message of an unknown kind. Any other text in the body is an item as well.

mod known_messages;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use lictor_event::content_hash::ContentHash;
use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, JsonError, Text, edit_text, find_elements, json_path};

use crate::api::Api;
use crate::offered_tool::OfferedTool;
use crate::question::ask_question;
use crate::refusal::WireRefusal;
use crate::request_parts::{RequestBody, shape};
use crate::ruling::Ruling;
use crate::segment::{APPROVAL_RESPONSE, Segment, server_paths};
use crate::session_hints::SessionHints;
use crate::shield::{has_vendor_tools, read_tools};
use crate::unread::add_unread;

/// Members of a body by which the vendor may run tools that `tools` does not list.
const VENDOR_TOOL_KEYS: [&str; 3] = ["web_search_options", "mcp_servers", "prompt"];

/// The body of a request, read strictly.
#[derive(Clone, Debug)]
pub struct Request {
    /// The interface.
    pub api: Api,
    /// Whether the client asks for a stream.
    pub streams: bool,
    /// How many choices the client asks for.
    pub choices: usize,
    /// The model that the client asks for.
    pub model: Option<Text>,
    /// All content of the request, old and new, one item for each event: first the tools on offer and the instructions,
    /// then the messages in their order. The result of a tool has the name of the tool if the request holds the call.
    pub items: Vec<Arc<RequestItem>>,
    /// The names by which the session may be known.
    pub hints: SessionHints,
    text: String,
    /// Where the messages are in the text; none if they are no list.
    messages: Vec<Range<usize>>,
}

/// One event of a request.
#[derive(Clone, Debug)]
pub struct RequestItem {
    /// The hash of its content, however it is written.
    pub hash: ContentHash,
    segment: Segment,
}

impl RequestItem {
    fn new(segment: Segment) -> Arc<RequestItem> {
        Arc::new(RequestItem { hash: segment.hash(), segment })
    }

    /// Returns the event.
    pub fn event(&self) -> &Event {
        &self.segment.event
    }

    /// Whether it is beside what the model said, and comes back with that.
    pub(crate) fn is_sent_back(&self) -> bool {
        self.segment.is_sent_back
    }
}

impl Request {
    /// Reads a body. Ambiguous bodies and messages of unknown kinds are refused.
    pub fn read(api: Api, body: &[u8]) -> Result<Request, WireRefusal> {
        let text = json::read_utf8(body).map_err(unreadable)?;
        let (mut request, mut segments) = Request::read_shortened(api, text, 0)?;
        name_tools(&[], &mut segments);
        request.items = segments.into_iter().map(RequestItem::new).collect();
        request.hints.opening = find_opening(&request.items);
        text.clone_into(&mut request.text);
        Ok(request)
    }

    /// Reads a body of whose messages the first ones may be left out: the first entry of the list stands for them. Returns
    /// the request without items and text, and the segments.
    fn read_shortened(api: Api, text: &str, skipped: usize) -> Result<(Request, Vec<Segment>), WireRefusal> {
        let value = json::parse_str(text).map_err(unreadable)?;
        if value.as_object().is_none() {
            return Err(shape("the body is not a JSON object"));
        }
        let interface = api.interface();
        let body = RequestBody { value: &value, key: interface.message_key(), skipped };
        let mut segments = read_offered_tools(&value);
        segments.extend(interface.read_request(body)?);
        add_unread(body, &mut segments)?;
        let streams = match value.get("stream") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(streams)) => *streams,
            Some(_) => return Err(shape("`stream` is neither true nor false")),
        };
        let choices = match value.get("n").filter(|_| api == Api::Chat) {
            None | Some(Json::Null) => 1,
            Some(count) => count.as_i64().and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX),
        };
        let hints = interface.read_hints(&value);
        let model = value.text("model").map(Text::from);
        let messages = find_elements(text, body.key).unwrap_or_default();
        let (items, text) = (Vec::new(), String::new());
        Ok((Request { api, streams, choices, model, items, hints, text, messages }, segments))
    }

    /// Whether the request carries the whole history; otherwise it continues one that the vendor keeps.
    pub fn carries_history(&self) -> bool {
        self.hints.previous_response.is_none() && self.hints.conversation.is_none()
    }

    /// Returns the tools that it offers to the model.
    pub fn offered_tools(&self) -> Vec<OfferedTool> {
        json::parse_str(&self.text).map_or_else(|_| Vec::new(), |value| read_tools(self.api.interface(), &value))
    }

    /// Whether the vendor may run tools while it answers a body of a request: asking again would run them again. Also if the
    /// body cannot be read.
    pub fn may_run_vendor_tools(api: Api, body: &[u8]) -> bool {
        let Ok(value) = json::parse(body) else { return true };
        let is_given = |key: &&str| value.get(key).is_some_and(|given| !given.is_null());
        has_vendor_tools(api.interface(), &value) || VENDOR_TOOL_KEYS.iter().any(is_given)
    }

    /// Returns a body of a request with a note for the model, where the vendor takes instructions from, after everything
    /// else. None if it has no place for it. The note is no part of the history: the client never sees it.
    pub fn with_note(api: Api, body: &[u8], note: &str) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(body).ok()?;
        let edit = api.interface().add_note(&json::parse_str(text).ok()?, note)?;
        Some(edit_text(text, &[edit])?.into_bytes())
    }

    /// Returns a body of a request that asks the model a question about the conversation, which stays as it is. The model
    /// can call no tool, and the answer is whole and is not stored. None if the request has no place for a question, or if
    /// the vendor would keep it in a conversation of the client. For requests without tools that the vendor runs.
    pub fn with_question(api: Api, body: &[u8], question: &str) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(body).ok()?;
        let edits = ask_question(api, &json::parse_str(text).ok()?, question)?;
        Some(edit_text(text, &edits)?.into_bytes())
    }

    /// Returns the body with some items changed, by their index. Every byte outside of the changed values stays as it
    /// was. A denied item has the text of the denial instead. Calls and tool definitions cannot be denied this way, so
    /// the result is a refusal: the caller has to refuse the request.
    pub fn rewritten(&self, changes: &[(usize, Ruling)]) -> Result<Vec<u8>, WireRefusal> {
        self.answered(changes, &[])
    }

    /// Returns the body of [`Request::rewritten`] with answers to denied calls: the ids of the calls, and the results
    /// of the tool. A vendor that keeps the history knows of a call that the client never saw, and does not continue
    /// without its result. Only for requests that do not carry the history; others hold no denied call.
    pub fn answered(&self, changes: &[(usize, Ruling)], answers: &[(Text, String)]) -> Result<Vec<u8>, WireRefusal> {
        if !answers.is_empty() && self.carries_history() {
            return Err(shape("a request that carries its history holds no denied call"));
        }
        let mut edits = Vec::new();
        for (index, ruling) in changes {
            let segment = &self.items.get(*index).ok_or_else(|| shape("there is no such item"))?.segment;
            match ruling {
                Ruling::Forward => {}
                Ruling::Rewrite(event) => edits.extend(segment.rewrite(event)?),
                Ruling::Deny { text } => edits.extend(segment.deny(text)?),
            }
        }
        let unwritable = || shape("a change cannot be written back");
        let text = edit_text(&self.text, &edits).ok_or_else(unwritable)?;
        if answers.is_empty() {
            return Ok(text.into_bytes());
        }
        let body = json::parse_str(&text).map_err(|_| unwritable())?;
        let edit = self.api.interface().answer_calls(&body, answers).ok_or_else(unwritable)?;
        Ok(edit_text(&text, &[edit]).ok_or_else(unwritable)?.into_bytes())
    }
}

/// Returns the tools on offer: definitions, and servers of tools.
fn read_offered_tools(body: &Json) -> Vec<Segment> {
    let definitions =
        ["tools", "functions"].into_iter().filter_map(|key| Segment::definitions(body.get(key)?, json_path![key]));
    let servers = body.get("mcp_servers").filter(|servers| servers.as_array().is_some_and(|list| !list.is_empty()));
    let servers = servers.map(|servers| {
        let at = json_path!["mcp_servers"];
        let held = server_paths(servers, &at);
        Segment { held, ..Segment::other("mcp_servers", "servers", &without_secrets(servers), at) }
    });
    definitions.chain(servers).collect()
}

/// Returns servers without their access tokens, which no event may hold.
fn without_secrets(servers: &Json) -> Json {
    let redact = |server: &Json| {
        let mut server = server.as_object().cloned().unwrap_or_default();
        server.remove("authorization_token");
        Json::Object(server)
    };
    servers.as_array().unwrap_or_default().iter().map(redact).collect::<Vec<Json>>().into()
}

/// Returns the refusal of a body that is no JSON.
fn unreadable(error: JsonError) -> WireRefusal {
    WireRefusal::json("the body of the request", error)
}

/// Returns the hash of the first message of the user.
fn find_opening(items: &[Arc<RequestItem>]) -> Option<ContentHash> {
    items.iter().find(|item| item.event().kind == Kind::UserMessage).map(|item| item.hash)
}

/// Gives results the names of their tools. The items before them have theirs.
fn name_tools(before: &[Arc<RequestItem>], segments: &mut [Segment]) {
    let is_nameless = |event: &Event| event.kind == Kind::ToolResult || is_approval_response(&event.kind);
    if !segments.iter().any(|segment| is_nameless(&segment.event)) {
        return;
    }
    let mut tools: HashMap<Text, Text> = HashMap::new();
    before.iter().for_each(|item| add_tool(&mut tools, item.event()));
    for Segment { event, .. } in segments {
        match (&event.id, is_approval_response(&event.kind)) {
            (Some(id), true) => event.tool = tools.get(id).cloned(),
            (Some(id), false) if event.kind == Kind::ToolResult => {
                event.tool = tools.get(id).cloned().or(event.tool.take());
            }
            _ => add_tool(&mut tools, event),
        }
    }
}

/// Adds the tool of a call, by the id of the call.
fn add_tool(tools: &mut HashMap<Text, Text>, event: &Event) {
    let is_call = matches!(event.kind, Kind::ToolCall | Kind::Other(_)) && !is_approval_response(&event.kind);
    if let (Some(id), Some(tool), true) = (&event.id, &event.tool, is_call) {
        tools.insert(id.clone(), tool.clone());
    }
}

fn is_approval_response(kind: &Kind) -> bool {
    matches!(kind, Kind::Other(kind) if kind == APPROVAL_RESPONSE)
}

//! What a client sends to a model.
//!
//! Three interfaces, one list of items: the tools on offer, the instructions, the messages. What is refused here is
//! refused because two readers could understand it differently or because nobody knows what it means; fields that say
//! nothing to the model pass as they are.

use std::collections::HashMap;

use lictor_event::content_hash::ContentHash;
use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, Object, Text};

use crate::api::object;
use crate::segment::{self, Segment};
use crate::splice::{self, Edit, Step, at, join};
use crate::{Api, Ruling, WireRefusal};

/// The body of a request, read strictly.
#[derive(Clone, Debug)]
pub struct Request {
    /// The interface.
    pub api: Api,
    /// Whether the reply is to be streamed.
    pub streams: bool,
    /// The model that is asked for.
    pub model: Option<Text>,
    /// Everything the request says, old and new, one item for each event: first the tools on offer and the
    /// instructions, then the messages in their order. The answer of a tool carries the name of the tool where the
    /// request holds the call too.
    pub items: Vec<RequestItem>,
    /// By what the session may be known.
    pub hints: SessionHints,
    text: String,
    segments: Vec<Segment>,
}

/// One thing that a request says.
#[derive(Clone, Debug)]
pub struct RequestItem {
    /// The hash of what it says, however it is written.
    pub hash: ContentHash,
    /// What it is.
    pub event: Event,
}

/// By what a session may be known, as far as the body says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionHints {
    /// The end user: `user`, `safety_identifier`, or `metadata.user_id` with Anthropic.
    pub user: Option<Text>,
    /// What the client says about the request, free of meaning for the vendor.
    pub metadata: Object,
    /// The response that this goes on from, whose history the vendor keeps.
    pub previous_response: Option<Text>,
    /// The conversation that the vendor keeps.
    pub conversation: Option<Text>,
}

impl Request {
    /// Reads a body. What two readers could understand differently is refused, and so is a message of a kind that is not
    /// known.
    pub fn read(api: Api, body: &[u8]) -> Result<Request, WireRefusal> {
        let value = json::parse(body).map_err(|error| WireRefusal::json("the body of the request", error))?;
        let text = String::from_utf8(body.to_vec()).map_err(|_| shape("the body is not UTF-8"))?;
        if value.as_object().is_none() {
            return Err(shape("the body is not a JSON object"));
        }
        let mut segments = offered(&value);
        segments.extend(match api {
            Api::Chat => chat(&value)?,
            Api::Responses => responses(&value)?,
            Api::Messages => messages(&value)?,
        });
        name_tools(&mut segments);
        let streams = match value.get("stream") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(streams)) => *streams,
            Some(_) => return Err(shape("`stream` is neither true nor false")),
        };
        let items = segments.iter().map(|segment| RequestItem { hash: segment.hash(), event: segment.event.clone() });
        Ok(Request {
            api,
            streams,
            model: value.text("model").map(Text::from),
            items: items.collect(),
            hints: hints(api, &value),
            text,
            segments,
        })
    }

    /// Whether the request carries the whole history, rather than go on from one that the vendor keeps.
    pub fn carries_history(&self) -> bool {
        self.hints.previous_response.is_none() && self.hints.conversation.is_none()
    }

    /// The body with some items changed, by their index: nothing but the values concerned differs from the body that
    /// was read. An item that is denied says the text of the denial instead; that a call or the tools on offer cannot,
    /// so denying those is refused: refuse the request.
    pub fn rewritten(&self, changes: &[(usize, Ruling)]) -> Result<Vec<u8>, WireRefusal> {
        self.answered(changes, &[])
    }

    /// The same, with answers to calls that were denied: their ids, and what the tool is to have said. A vendor who keeps
    /// the history knows of a call that the client never saw, and refuses to go on without its answer. Only for requests
    /// that do not carry the history, others need none.
    pub fn answered(&self, changes: &[(usize, Ruling)], answers: &[(Text, String)]) -> Result<Vec<u8>, WireRefusal> {
        if !answers.is_empty() && self.carries_history() {
            return Err(shape("a request that carries its history holds no call that was denied"));
        }
        let mut edits = Vec::new();
        for (index, ruling) in changes {
            let segment = self.segments.get(*index).ok_or_else(|| shape("there is no such item"))?;
            match ruling {
                Ruling::Forward => {}
                Ruling::Rewrite(event) => edits.extend(segment.rewrite(event)?),
                Ruling::Deny { text } => edits.extend(segment.deny(text)?),
            }
        }
        let lost = || shape("an item is not where it was");
        let text = splice::edited(&self.text, &edits).ok_or_else(lost)?;
        if answers.is_empty() {
            return Ok(text.into_bytes());
        }
        let edit = answering(&text, answers).ok_or_else(lost)?;
        Ok(splice::edited(&text, &[(at!["input"], edit)]).ok_or_else(lost)?.into_bytes())
    }
}

/// The edit of its input by which a body answers calls before it says anything else. An input that is a text is the
/// message of a user, and is written as one where something has to stand before it.
fn answering(text: &str, answers: &[(Text, String)]) -> Option<Edit> {
    let answer = |(id, text): &(Text, String)| -> Json {
        let kind = ("type", "function_call_output".into());
        object(&[kind, ("call_id", id.clone().into()), ("output", text.as_str().into())]).into()
    };
    let mut items: Vec<Json> = answers.iter().map(answer).collect();
    let body = json::parse_str(text).ok()?;
    match body.get("input") {
        Some(Json::Array(_)) => return Some(Edit::Prepend(items)),
        Some(said @ Json::String(_)) => {
            items.push(object(&[("role", "user".into()), ("content", said.clone())]).into());
        }
        None | Some(Json::Null) => {}
        Some(_) => return None,
    }
    Some(Edit::Set(items.into()))
}

fn shape(message: &str) -> WireRefusal {
    WireRefusal::new("request.shape", message)
}

/// The tools on offer, wherever they come from.
fn offered(value: &Json) -> Vec<Segment> {
    let tools = ["tools", "functions"].into_iter().filter_map(|key| segment::definitions(value.get(key)?, at![key]));
    let servers = value.get("mcp_servers").filter(|servers| servers.as_array().is_some_and(|list| !list.is_empty()));
    let servers =
        servers.map(|servers| segment::other("mcp_servers", "servers", &without_secrets(servers), at!["mcp_servers"]));
    tools.chain(servers).collect()
}

/// Servers by name and address; what they are entered with is nobody's business.
fn without_secrets(servers: &Json) -> Json {
    let open = |server: &Json| {
        let mut server = server.as_object().cloned().unwrap_or_default();
        server.remove("authorization_token");
        Json::Object(server)
    };
    servers.as_array().unwrap_or_default().iter().map(open).collect::<Vec<Json>>().into()
}

fn chat(value: &Json) -> Result<Vec<Segment>, WireRefusal> {
    // What the client expects to be said is read by the model as well.
    let expected = value.at("prediction.content").filter(|content| !content.is_null());
    let expected = expected.map(|content| segment::instructions(content, at!["prediction", "content"]));
    let mut segments: Vec<Segment> = expected.into_iter().collect();
    segments.extend(list(value, "messages", segment::message)?);
    Ok(segments)
}

fn messages(value: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = told(value, "system");
    segments.extend(list(value, "messages", segment::message)?);
    Ok(segments)
}

fn responses(value: &Json) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = told(value, "instructions");
    // What a stored prompt says the vendor knows; what is filled into it is here.
    if let Some(prompt) = value.get("prompt").filter(|prompt| !prompt.is_null()) {
        segments.push(segment::other("prompt", "prompt", prompt, at!["prompt"]));
        for (name, filled) in prompt.get("variables").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
            segments.push(segment::instructions(filled, at!["prompt", "variables", name.as_str()]));
        }
    }
    match value.get("input") {
        None | Some(Json::Null) => {}
        Some(text @ Json::String(_)) => {
            let mut said = Object::new();
            said.insert("role", "user");
            said.insert("content", text.clone());
            // The path of the content is that of the input itself.
            let spoken = segment::message(&said.into(), &[])?;
            segments.extend(spoken.into_iter().map(|segment| segment.moved("content", "input")));
        }
        Some(_) => segments.extend(list(value, "input", input)?),
    }
    Ok(segments)
}

fn input(item: &Json, at: &[Step]) -> Result<Vec<Segment>, WireRefusal> {
    match item.text("type") {
        // What it refers to is not here. That something is referred to is all that can be said.
        Some("item_reference") => {
            Ok(vec![segment::other("item_reference", "id", item.get("id").unwrap_or(&Json::Null), at.to_vec())])
        }
        // Tools that are offered in the course of a conversation.
        Some("additional_tools" | "tool_search_output") => {
            let offered = item.get("tools").and_then(|tools| segment::definitions(tools, join(at, ["tools".into()])));
            // What the vendor found itself was seen in its reply.
            let is_known = item.text("type") == Some("tool_search_output") && item.text("execution") == Some("server");
            let mut segments: Vec<Segment> = offered.filter(|_| !is_known).into_iter().collect();
            segments.extend(segment::item(item, at)?);
            Ok(segments)
        }
        _ => segment::item(item, at),
    }
}

fn told(value: &Json, key: &str) -> Vec<Segment> {
    let content = value.get(key).filter(|content| !content.is_null() && content.as_str() != Some(""));
    content.map(|content| segment::instructions(content, at![key])).into_iter().collect()
}

fn list(
    value: &Json,
    key: &str,
    read: impl Fn(&Json, &[Step]) -> Result<Vec<Segment>, WireRefusal>,
) -> Result<Vec<Segment>, WireRefusal> {
    let Some(entries) = value.get(key).and_then(Json::as_array) else {
        return Err(shape(&format!("`{key}` is not a list")));
    };
    let mut segments = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if entry.as_object().is_none() {
            return Err(shape(&format!("`{key}.{place}` is not an object")));
        }
        let read = read(entry, &at![key, place]);
        segments
            .extend(read.map_err(|error| WireRefusal::new(error.code, format!("`{key}.{place}`: {}", error.message)))?);
    }
    Ok(segments)
}

/// Gives answers the names of their tools.
fn name_tools(segments: &mut [Segment]) {
    let mut tools: HashMap<Text, Text> = HashMap::new();
    for Segment { event, .. } in segments {
        let Some(id) = &event.id else { continue };
        match (&event.kind, &event.tool) {
            (Kind::ToolCall, Some(tool)) => drop(tools.insert(id.clone(), tool.clone())),
            (Kind::ToolResult, _) => event.tool = tools.get(id).cloned().or(event.tool.take()),
            (Kind::Other(kind), _) if kind == segment::APPROVAL_RESPONSE => event.tool = tools.get(id).cloned(),
            (Kind::Other(_), Some(tool)) => drop(tools.insert(id.clone(), tool.clone())),
            _ => {}
        }
    }
}

fn hints(api: Api, value: &Json) -> SessionHints {
    let text = |key: &str| value.text(key).filter(|text| !text.is_empty()).map(Text::from);
    let metadata = value.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
    let user = match api {
        Api::Messages => metadata.get("user_id").and_then(Json::as_str).map(Text::from),
        _ => text("safety_identifier").or_else(|| text("user")),
    };
    let kept = api == Api::Responses;
    let conversation = value.get("conversation").filter(|_| kept);
    SessionHints {
        user,
        metadata,
        previous_response: text("previous_response_id").filter(|_| kept),
        conversation: conversation.and_then(|named| named.as_str().or_else(|| named.text("id"))).map(Text::from),
    }
}

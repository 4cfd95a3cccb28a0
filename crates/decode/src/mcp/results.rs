//! Reads the results of the protocol as events.

use super::PendingRequest;
use crate::content::Content;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// Returns the events of a result, by the method that it answers or, where the request is not in the log, by its
/// content. None if the method is unknown.
pub(super) fn read_result(
    result: &Json,
    method: Option<&str>,
    asked: Option<&PendingRequest>,
    id: Option<Text>,
) -> Option<Vec<Event>> {
    let mut event = match method.or_else(|| guess_method(result))? {
        "tools/call" => {
            let mut event = tool_result_event(result);
            event.tool = asked.and_then(|asked| asked.params.text("name")).map(Text::from);
            event
        }
        "tools/list" => {
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", result.get("tools").cloned().unwrap_or(Json::Array(Vec::new())));
            return Some(vec![event]);
        }
        name @ ("resources/read" | "prompts/get" | "completion/complete") => retrieval_event(name, result, asked),
        "elicitation/create" => read_input(result),
        "sampling/createMessage" => {
            let mut event = Event::new(Kind::Other("sampling_result".into()));
            Content::from_json(result.get("content").unwrap_or(&Json::Null), "\n").fill(&mut event);
            event
        }
        // Instructions of the server for the models of all its clients.
        "initialize" | "server/discover" => {
            let words = result.text("instructions").filter(|text| !text.is_empty());
            let instructions =
                |text: &str| Event { text: Some(text.into()), ..Event::new(Kind::Other("server_instructions".into())) };
            return Some(words.map(instructions).into_iter().collect());
        }
        _ => return Some(Vec::new()),
    };
    event.id = id;
    Some(vec![event])
}

/// Guesses the method that a result answers by its members.
fn guess_method(result: &Json) -> Option<&'static str> {
    let shapes = [
        ("content", "tools/call"),
        ("structuredContent", "tools/call"),
        ("tools", "tools/list"),
        ("contents", "resources/read"),
        ("messages", "prompts/get"),
        ("action", "elicitation/create"),
        ("protocolVersion", "initialize"),
        ("supportedVersions", "server/discover"),
        ("resources", "resources/list"),
        ("resourceTemplates", "resources/templates/list"),
        ("prompts", "prompts/list"),
        ("completion", "completion/complete"),
        ("roots", "roots/list"),
        ("tasks", "tasks/list"),
    ];
    if result.get("role").is_some() && result.get("model").is_some() {
        return Some("sampling/createMessage");
    }
    let known = shapes.iter().find(|(key, _)| result.get(key).is_some()).map(|(_, method)| *method);
    let is_empty =
        result.as_object().is_some_and(|object| object.iter().all(|(key, _)| key == "_meta" || key == "resultType"));
    known.or(is_empty.then_some("ping"))
}

/// Whether a result is one that only clients send.
pub(super) fn is_client_result(result: &Json) -> bool {
    ["action", "roots"].iter().any(|key| result.get(key).is_some())
        || result.get("role").is_some() && result.get("model").is_some()
}

/// Returns the event of a tool's answer.
pub(super) fn tool_result_event(result: &Json) -> Event {
    let mut event = Event::new(Kind::ToolResult);
    Content::from_json(result.get("content").unwrap_or(&Json::Null), "\n").fill(&mut event);
    let values: Vec<Json> =
        ["structuredContent", "toolResult"].iter().filter_map(|key| result.get(key)).cloned().collect();
    event.result = match &values[..] {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(Json::Array(values)),
    };
    event.failed = result.get("isError").and_then(Json::as_bool).unwrap_or(false);
    event
}

/// Returns the event of a resource, a prompt or completions that the server returned.
fn retrieval_event(method: &str, result: &Json, asked: Option<&PendingRequest>) -> Event {
    let mut event = Event::new(Kind::Retrieval);
    event.tool = Some(method.into());
    event.args = asked.map(|asked| Arguments::Value(asked.params.clone()));
    let mut content = Content::default();
    if method == "prompts/get" {
        content.add(result.get("description").unwrap_or(&Json::Null), "\n");
    }
    for value in result.at("completion.values").and_then(Json::as_array).unwrap_or_default() {
        content.add(value, "\n");
    }
    for part in result.get("contents").and_then(Json::as_array).unwrap_or_default() {
        content.add(part, "\n");
    }
    for message in result.get("messages").and_then(Json::as_array).unwrap_or_default() {
        content.add(message.get("content").unwrap_or(&Json::Null), "\n");
    }
    content.fill(&mut event);
    event
}

/// The members of a schema whose texts no person reads.
const SCHEMA_SETTINGS: [&str; 6] = ["type", "format", "pattern", "required", "$schema", "$ref"];

/// Adds what a person reads of a question of the server: the message, the address to open, and the texts of the form.
pub(super) fn add_question(params: &Json, content: &mut Content) {
    for key in ["message", "url"] {
        content.add(params.get(key).unwrap_or(&Json::Null), "\n");
    }
    add_schema_texts(params.get("requestedSchema").unwrap_or(&Json::Null), content);
}

fn add_schema_texts(schema: &Json, content: &mut Content) {
    match schema {
        Json::String(_) => content.add(schema, "\n"),
        Json::Array(values) => values.iter().for_each(|value| add_schema_texts(value, content)),
        Json::Object(members) => {
            for (key, value) in members.iter() {
                // A form shows the name of a field that has no title.
                if key.contains(char::is_whitespace) {
                    content.add(&key.clone().into(), "\n");
                }
                if !(SCHEMA_SETTINGS.contains(&key.as_str()) && value.as_object().is_none()) {
                    add_schema_texts(value, content);
                }
            }
        }
        _ => {}
    }
}

/// Returns the event of a server that needs input before it continues.
pub(super) fn input_required_event(result: &Json, asked: Option<&PendingRequest>, id: Option<Text>) -> Event {
    let mut event = Event::new(Kind::Other("input_required".into()));
    event.id = id;
    event.tool = asked.and_then(|asked| asked.params.text("name")).map(Text::from);
    let requests = result.get("inputRequests").and_then(Json::as_object);
    let mut content = Content::default();
    for (_, request) in requests.into_iter().flat_map(Object::iter) {
        add_question(request.get("params").unwrap_or(&Json::Null), &mut content);
    }
    event.text = content.text;
    event.result = result.get("inputRequests").cloned();
    event
}

/// Returns the event of a response to a request for input: an approval, a denial, or something else.
pub(super) fn read_input(response: &Json) -> Event {
    let kind = match response.text("action") {
        Some("accept") => Kind::Approval,
        Some(_) => Kind::Denial,
        None => Kind::Other("input_response".into()),
    };
    let is_other = matches!(kind, Kind::Other(_));
    let mut event = Event::new(kind);
    if let Some(action) = response.text("action") {
        event.more.insert("action", action);
    }
    match (is_other, response.get("content")) {
        (true, Some(content)) => Content::from_json(content, "\n").fill(&mut event),
        (_, content) => event.result = content.filter(|content| !content.is_null()).cloned(),
    }
    event
}

/// Returns the event of a request whose parameters the user or the model fills in: the arguments of a prompt, the beginning
/// of a value to complete.
pub(super) fn input_event(kind: &'static str, method: &str, params: &Json) -> Event {
    let mut event = Event::new(Kind::Other(kind.into()));
    event.tool = Some(method.into());
    event.args = Some(Arguments::Value(params.clone()));
    event
}

/// Returns the event of a server that asks the client's model.
pub(super) fn sampling_event(params: &Json) -> Event {
    let mut event = Event::new(Kind::Other("sampling".into()));
    let mut content = Content::default();
    if let Some(system) = params.get("systemPrompt") {
        content.add(system, "\n");
    }
    for message in params.get("messages").and_then(Json::as_array).unwrap_or_default() {
        content.add(message.get("content").unwrap_or(&Json::Null), "\n");
    }
    content.fill(&mut event);
    event
}

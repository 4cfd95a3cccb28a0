//! Generations of Langfuse: the messages that a model was sent, and its answer.
//!
//! Langfuse keeps what the traced library sent: messages of OpenAI and LangChain, contents of Gemini, calls of the Vercel
//! AI SDK.

use crate::attributes::parse_embedded;
use crate::dialect::{self, take_any};
use crate::message_log::Reading;
use crate::spans::{self, Work};
use crate::{chat, gemini};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};

/// Returns the work of a generation. Unreadable parts go to `unread`.
pub(super) fn read_model(
    name: &str,
    observation: &mut Object,
    (asked, said): (Json, Json),
    failure: Option<Text>,
    unread: &mut Vec<String>,
) -> Work {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut asked = parse_embedded(asked);
    let mut tools = observation.remove("toolDefinitions").filter(|tools| !tools.is_null());
    if let Json::Object(request) = &mut asked {
        tools = request.remove("tools").filter(|tools| !tools.is_null()).or(tools);
        // Gemini keeps the instructions apart.
        if let Some(Json::String(text)) = request.get("config").and_then(|config| config.get("system_instruction")) {
            input.push(Event { text: Some(text.clone()), ..Event::new(Kind::SystemMessage) });
        }
        if let Some(messages) = take_any(request, &["messages", "contents", "input", "prompt"]) {
            asked = messages;
        }
    }
    let offered = take_offered_tools(&mut asked);
    let tools = tools.map(parse_embedded).filter(|tools| !is_empty(tools)).or(offered);
    input.extend(tools.map(spans::definitions));
    let mut known = read_words(asked, Kind::UserMessage, &mut input);
    let mut said = parse_embedded(said);
    if let Json::Object(response) = &mut said
        && let Some(messages) = take_any(response, &["choices", "output", "messages"])
    {
        said = messages;
    }
    known &= match said {
        // A model that was asked for JSON answers a value that is no message.
        Json::Object(value)
            if value.get("role").is_none() && value.get("content").is_none() && value.get("message").is_none() =>
        {
            dialect::read_said(
                Json::String(Json::Object(value).to_string().into()),
                Kind::AssistantMessage,
                &mut output,
            )
        }
        said => read_words(with_role(said), Kind::AssistantMessage, &mut output),
    };
    if let Some(reason) = failure {
        output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if !known {
        unread.push(format!("the generation `{name}` holds a message of an unknown shape, which is not judged"));
    }
    Work::Model { input, output }
}

/// Adds the role to a model's message that leaves it out.
fn with_role(said: Json) -> Json {
    match said {
        Json::Object(mut message) if message.get("role").is_none() && message.get("message").is_none() => {
            message.insert("role", "assistant");
            Json::Object(message)
        }
        said => said,
    }
}

/// Adds the events of messages of any library; returns whether all of them are known.
fn read_words(said: Json, speaker: Kind, events: &mut Vec<Event>) -> bool {
    match said {
        Json::Array(items) => dialect::read_each(items, |item| match item {
            Json::String(text) => dialect::read_said(Json::String(text), speaker.clone(), events),
            item => read_word(item, events),
        }),
        said @ Json::Object(_) => read_word(said, events),
        said => dialect::read_said(said, speaker, events),
    }
}

fn read_word(item: Json, events: &mut Vec<Event>) -> bool {
    // The answer of a Gemini model wraps its content.
    let content = item.get("content").filter(|content| gemini::is_content(content));
    if let Some(content) = content.or(Some(&item).filter(|item| gemini::is_content(item))) {
        let mut reading = Reading::default();
        gemini::read_content(content, &mut reading);
        let (mut read, is_known) = reading.into_events();
        events.append(&mut read);
        return is_known;
    }
    if let (Some(id), Some(tool)) = (item.text("toolCallId"), item.text("toolName")) {
        let arguments = item.get("input").or_else(|| item.get("args"));
        events.push(chat::tool_call(Some(id), Some(tool), arguments));
        return true;
    }
    dialect::read_message(item, events)
}

/// Takes the tools out of a list of messages: the callback of LangChain writes each as a message of a tool.
fn take_offered_tools(asked: &mut Json) -> Option<Json> {
    let Json::Array(messages) = asked else { return None };
    let is_offer =
        |message: &Json| message.text("role") == Some("tool") && message.at("content.function.name").is_some();
    let (offers, said) = std::mem::take(messages).into_iter().partition::<Vec<Json>, _>(is_offer);
    *messages = said;
    let tools: Vec<Json> = offers.iter().filter_map(|offer| offer.get("content").cloned()).collect();
    (!tools.is_empty()).then_some(Json::Array(tools))
}

fn is_empty(tools: &Json) -> bool {
    tools.as_array().is_some_and(<[Json]>::is_empty) || tools.as_object().is_some_and(Object::is_empty)
}

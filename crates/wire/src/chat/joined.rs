//! A streamed reply as the whole one that it stands for, in Chat Completions.

use lictor_json::{Json, Object};

/// The texts of a message that come in pieces.
const TEXTS: [&str; 2] = ["content", "reasoning_content"];

/// Returns the whole reply with the message of the only choice; none if there are several.
pub(super) fn join(events: &[Json]) -> Option<Json> {
    let mut texts: [Option<String>; 2] = [None, None];
    let mut calls: Vec<JoinedCall> = Vec::new();
    for choice in events.iter().filter_map(|event| event.get("choices")).filter_map(Json::as_array).flatten() {
        if choice.get("index").and_then(Json::as_i64).unwrap_or(0) != 0 {
            return None;
        }
        let Some(delta) = choice.get("delta") else { continue };
        for (joined, name) in texts.iter_mut().zip(TEXTS) {
            if let Some(piece) = delta.text(name) {
                joined.get_or_insert_default().push_str(piece);
            }
        }
        for piece in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
            let index = usize::try_from(piece.get("index").and_then(Json::as_i64)?).ok()?;
            if index > calls.len() {
                return None;
            }
            if index == calls.len() {
                calls.push(JoinedCall::default());
            }
            calls[index].add(piece);
        }
    }
    let mut message = Object::new();
    message.insert("role", "assistant");
    for (text, name) in texts.into_iter().zip(TEXTS) {
        match text {
            Some(text) => message.insert(name, text.as_str()),
            None if name == "content" => message.insert(name, Json::Null),
            None => {}
        }
    }
    message.insert("tool_calls", calls.iter().map(JoinedCall::to_json).collect::<Vec<_>>());
    let choice =
        Json::from([("index", 0.into()), ("message", Json::Object(message)), ("finish_reason", "tool_calls".into())]);
    Some(Json::from([("object", "chat.completion".into()), ("choices", vec![choice].into())]))
}

/// A call of which the pieces were joined.
#[derive(Default)]
struct JoinedCall {
    id: String,
    name: String,
    arguments: String,
}

impl JoinedCall {
    fn add(&mut self, piece: &Json) {
        if let Some(id) = piece.text("id").filter(|id| !id.is_empty()) {
            self.id = id.to_owned();
        }
        if let Some(name) = piece.at("function.name").and_then(Json::as_str).filter(|name| !name.is_empty()) {
            self.name = name.to_owned();
        }
        self.arguments.push_str(piece.at("function.arguments").and_then(Json::as_str).unwrap_or_default());
    }

    fn to_json(&self) -> Json {
        let function = [("name", self.name.as_str().into()), ("arguments", self.arguments.as_str().into())];
        Json::from([("id", self.id.as_str().into()), ("type", "function".into()), ("function", function.into())])
    }
}

//! The message that takes the place of a denied item, and the events of a stream that announce it.

use lictor_json::{Json, Object, Text};

/// Returns the message in the place of a denied item. Its id is made of the id of that item: it is used nowhere else,
/// and begins as ids of messages must.
pub(super) fn message_item(id: &str, part: Json) -> Json {
    Json::from([
        ("type", "message".into()),
        ("id", format!("msg_{id}").into()),
        ("role", "assistant".into()),
        ("status", "completed".into()),
        ("content", vec![part].into()),
    ])
}

/// Returns a part of a message with a text.
pub(super) fn text_part(text: &str) -> Json {
    Json::from([("type", "output_text".into()), ("text", text.into()), ("annotations", Vec::new().into())])
}

/// Returns a part of a message by which the model refuses structured output.
pub(super) fn refusal_part(text: &str) -> Json {
    Json::from([("type", "refusal".into()), ("refusal", text.into())])
}

/// Returns an event of a stream about an item.
pub(super) fn item_event(name: &str, index: i64, more: &[(&str, Json)]) -> Object {
    let mut event = Object::from([("type", name.into()), ("output_index", index.into())]);
    more.iter().for_each(|(key, value)| event.insert(*key, value.clone()));
    event
}

/// Returns the events of a stream that come before a message is done.
pub(super) fn announce_message(message: &Json, index: i64) -> Vec<Object> {
    let id: Json = message.text("id").unwrap_or_default().into();
    let text: Text = message.at("content.0.text").and_then(Json::as_str).unwrap_or_default().into();
    let mut begun = message.as_object().cloned().unwrap_or_default();
    begun.insert("status", "in_progress");
    begun.insert("content", Vec::new());
    let part_event = |name: &str, key: &str, value: Json| {
        let more = [("item_id", id.clone()), ("content_index", 0.into()), (key, value)];
        item_event(&format!("response.{name}"), index, &more)
    };
    let mut events = vec![
        item_event("response.output_item.added", index, &[("item", begun.into())]),
        part_event("content_part.added", "part", text_part("")),
        part_event("output_text.delta", "delta", text.clone().into()),
        part_event("output_text.done", "text", text.clone().into()),
        part_event("content_part.done", "part", text_part(&text)),
    ];
    for event in &mut events[2..4] {
        event.insert("logprobs", Vec::new());
    }
    events
}

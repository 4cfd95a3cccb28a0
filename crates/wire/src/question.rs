//! Requests that ask the model for its plan: what it would do next, without doing it.
//!
//! The conversation stays as the client sent it, and the question comes after it. The tools stay on offer, because a
//! history with calls needs their definitions and the model plans with them; but it may call none of them. Members that
//! would shape, cut, stream or store the answer are left out.

use lictor_json::{Json, JsonEdit, Number, json_path};

use crate::api::Api;
use crate::segment::Edits;
use crate::shield::LISTS;

/// How freely the model plans at least, where the client says how freely it answers. Some models refuse any such number.
const TEMPERATURE: f64 = 0.8;

/// How many tokens a plan may have at least.
const MIN_PLAN_TOKENS: i64 = 1024;

/// Members that would shape, cut, stream, store, multiply or delay the answer.
const LEFT_OUT: [&str; 15] = [
    "stop",
    "stop_sequences",
    "max_completion_tokens",
    "max_output_tokens",
    "seed",
    "stream",
    "stream_options",
    "n",
    "response_format",
    "output_format",
    "output_config",
    "text",
    "background",
    "logprobs",
    "top_logprobs",
];

/// Returns the edits that make a request ask a question; none if it has no place for it, or if the vendor would keep
/// the question in a conversation of the client.
pub(crate) fn ask_question(api: Api, body: &Json, question: &str) -> Option<Edits> {
    let interface = api.interface();
    if body.get("conversation").is_some_and(|kept| !kept.is_null()) {
        return None;
    }
    let mut edits = interface.add_question(body, question)?;
    for (list, choice) in LISTS {
        if body.get(list).and_then(Json::as_array).is_some_and(|tools| !tools.is_empty()) {
            edits.push((json_path![choice], JsonEdit::Set(interface.choose("none", body.get(choice)))));
        }
    }
    if api == Api::Chat && body.get("store").is_some() {
        edits.push((json_path!["store"], JsonEdit::Set(false.into())));
    }
    if let Some(most) = body.get("max_tokens") {
        // One interface asks for this number; a plan needs room.
        let edit = match (api, most.as_i64()) {
            (Api::Messages, Some(most)) => JsonEdit::Set(most.max(MIN_PLAN_TOKENS).into()),
            (Api::Messages, None) => JsonEdit::Set(MIN_PLAN_TOKENS.into()),
            _ => JsonEdit::Remove,
        };
        edits.push((json_path!["max_tokens"], edit));
    }
    let dropped = LEFT_OUT.iter().filter(|key| body.get(key).is_some());
    edits.extend(dropped.map(|key| (json_path![*key], JsonEdit::Remove)));
    // A model that thinks aloud takes one temperature only.
    let thinks = body.get("thinking").is_some_and(|thinking| thinking.text("type") != Some("disabled"));
    let is_lower = body
        .get("temperature")
        .is_some_and(|given| matches!(given, Json::Number(given) if given.as_f64() < TEMPERATURE));
    if is_lower && !thinks {
        edits.push((json_path!["temperature"], JsonEdit::Set(Json::Number(Number::Float(TEMPERATURE)))));
    }
    Some(edits)
}

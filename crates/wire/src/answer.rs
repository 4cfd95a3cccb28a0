//! Whether a reply is a whole answer: the model ended it by itself, refuses nothing, and says or calls something.
//!
//! A reply that was cut short, filtered, is a refusal or is empty violates nothing, so it would win any comparison of risks; and it is of
//! no use to the client.

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json, SseFramer};

use crate::api::Api;
use crate::quoted::QUOTED;
use crate::reply::Reply;

/// The fields with the reason of the end, as stripped fields name them.
const UNKNOWN_ENDS: [&str; 2] = ["choice.finish_reason", "reply.stop_reason"];

impl Reply {
    /// Whether it is a whole answer with this many choices.
    pub fn is_whole_answer(&self, choices: usize) -> bool {
        let says = |choice: usize| self.events_of(choice).any(says_something);
        // A reason that was replaced since it is not known may be any.
        let has_known_end = !self.stripped().names.iter().any(|name| UNKNOWN_ENDS.contains(&name.as_str()));
        let is_whole = has_known_end && !is_cut_short(self.api(), self.body());
        self.choices() == choices && (0..choices).all(says) && is_whole
    }

    /// Whether the bytes of a stream say that it was cut short, or refuse to answer.
    pub fn is_stream_cut_short<'a>(api: Api, pieces: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut framer = SseFramer::default();
        pieces.into_iter().flat_map(|piece| framer.push(piece)).any(|frame| {
            let payload = frame.data().and_then(|data| json::parse(&data).ok());
            payload.is_some_and(|payload| is_cut_short(api, &payload))
        })
    }
}

/// Whether an event calls something, or says something that is not blank and not only quoted.
pub fn says_something(event: &Event) -> bool {
    let is_said = event.more.get(QUOTED).is_none() && event.text.as_ref().is_some_and(|text| !text.trim().is_empty());
    event.kind == Kind::ToolCall || is_said
}

/// Whether a reply, or an event of a stream, names an end that the model did not choose, or refuses to answer. Where no end
/// is named, there is none.
fn is_cut_short(api: Api, payload: &Json) -> bool {
    match api {
        Api::Chat => {
            let mut choices = payload.get("choices").and_then(Json::as_array).unwrap_or_default().iter();
            choices.any(|choice| {
                is_other_than(choice.text("finish_reason"), &["stop", "tool_calls", "function_call"])
                    || ["message", "delta"].iter().filter_map(|key| choice.get(key)).any(is_refusal)
            })
        }
        Api::Messages => {
            let reason = payload.text("stop_reason").or_else(|| payload.get("delta")?.text("stop_reason"));
            is_other_than(reason, &["end_turn", "tool_use", "stop_sequence"])
        }
        Api::Responses => match payload.text("type") {
            Some(kind) => {
                let is_bad_end =
                    matches!(kind, "response.incomplete" | "response.failed" | "response.cancelled" | "error");
                is_bad_end || kind.starts_with("response.refusal.")
            }
            None => {
                let items = payload.get("output").and_then(Json::as_array).unwrap_or_default();
                is_other_than(payload.text("status"), &["completed"]) || items.iter().any(is_refusal)
            }
        },
    }
}

/// Whether a message refuses to answer: beside its content, or as a part of it.
fn is_refusal(message: &Json) -> bool {
    let says = |value: &Json| value.text("refusal").is_some_and(|text| !text.is_empty());
    let parts = message.get("content").and_then(Json::as_array).unwrap_or_default();
    says(message) || parts.iter().any(|part| part.text("type") == Some("refusal") || says(part))
}

fn is_other_than(word: Option<&str>, known: &[&str]) -> bool {
    word.is_some_and(|word| !known.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_are_told_from_cut_ones() {
        let chat = |message: &str, reason: &str| {
            let choice = format!(r#"{{"index":0,"message":{message},"finish_reason":"{reason}"}}"#);
            format!(r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{choice}]}}"#)
        };
        let messages = |content: &str, reason: &str| {
            let head = r#""id":"m","type":"message","role":"assistant","model":"m""#;
            format!(
                r#"{{{head},"content":{content},"stop_reason":"{reason}","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
            )
        };
        let responses = |output: &str, status: &str| {
            format!(
                r#"{{"id":"r","object":"response","created_at":1,"model":"m","status":"{status}","output":{output}}}"#
            )
        };
        let text = r#"[{"type":"text","text":"Done."}]"#;
        let item = r#"[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}]"#;
        let refused = r#"[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"No."}]}]"#;
        let cases = [
            (Api::Chat, chat(r#"{"role":"assistant","content":"Done."}"#, "stop"), true),
            (Api::Chat, chat(r#"{"role":"assistant","content":"I wi"}"#, "length"), false),
            (Api::Chat, chat(r#"{"role":"assistant","content":" "}"#, "stop"), false),
            (Api::Chat, chat(r#"{"role":"assistant","content":null}"#, "content_filter"), false),
            (Api::Chat, chat(r#"{"role":"assistant","content":null,"refusal":"No."}"#, "stop"), false),
            (Api::Chat, chat(r#"{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}"#, "stop"), false),
            (Api::Chat, chat(r#"{"role":"assistant","content":"Done.","refusal":null}"#, "stop"), true),
            (Api::Responses, responses(refused, "completed"), false),
            (Api::Messages, messages(text, "end_turn"), true),
            (Api::Messages, messages(text, "max_tokens"), false),
            (Api::Messages, messages("[]", "end_turn"), false),
            (Api::Responses, responses(item, "completed"), true),
            (Api::Responses, responses(item, "incomplete"), false),
            (Api::Responses, responses("[]", "completed"), false),
        ];
        for (api, body, expected) in cases {
            let reply = Reply::read(api, body.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal:?}: {body}"));
            assert_eq!(reply.is_whole_answer(1), expected, "{body}");
            assert!(!reply.is_whole_answer(2), "{body}");
        }
    }

    #[test]
    fn cut_streams_are_told_by_their_events() {
        let cases: [(Api, &[u8], bool); 6] = [
            (Api::Chat, b"data: {\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"No\"}}]}\n\n", true),
            (Api::Responses, b"data: {\"type\":\"response.refusal.delta\",\"delta\":\"No\"}\n\n", true),
            (Api::Chat, b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", false),
            (Api::Chat, b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n", true),
            (Api::Messages, b"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"pause_turn\"}}\n\n", true),
            (Api::Responses, b"data: {\"type\":\"response.incomplete\",\"response\":{}}\n\n", true),
        ];
        for (api, bytes, expected) in cases {
            assert_eq!(Reply::is_stream_cut_short(api, [bytes]), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}

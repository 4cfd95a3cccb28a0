//! The texts: conversations of four exchanges in which, as usual, every request repeats the whole history.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::{Value, json};

/// The lengths of the texts, so that requests have 2 KB on average.
const SYSTEM: usize = 560;
const USER: usize = 300;
const ASSISTANT: usize = 300;

/// How many exchanges a conversation has.
const EXCHANGES: usize = 4;

/// How many pieces a streamed reply has.
const PIECES: usize = 24;

const WORDS: [&str; 16] = [
    "the", "order", "of", "last", "week", "was", "sent", "to", "another", "shelf", "and", "waits", "for", "a",
    "second", "look",
];

/// Returns the bodies of a conversation's requests, in order.
pub(super) fn requests(streams: bool) -> Vec<Bytes> {
    let mut messages = vec![json!({"role": "system", "content": words(SYSTEM, 0)})];
    let mut bodies = Vec::new();
    for exchange in 0..EXCHANGES {
        messages.push(json!({"role": "user", "content": words(USER, exchange + 1)}));
        let mut body = json!({"model": "m", "messages": messages, "temperature": 0.2});
        if streams {
            body["stream"] = json!(true);
        }
        bodies.push(Bytes::from(body.to_string()));
        messages.push(json!({"role": "assistant", "content": said()}));
    }
    bodies
}

/// Returns the text of every reply of the model.
pub(super) fn said() -> String {
    words(ASSISTANT, 7)
}

/// Returns the body of a reply that is not streamed.
pub(super) fn reply() -> Bytes {
    let reply = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": said()}, "finish_reason": "stop", "logprobs": null,
        }],
        "usage": {"prompt_tokens": 400, "completion_tokens": 60, "total_tokens": 460},
    });
    Bytes::from(reply.to_string())
}

/// Returns the pieces of a streamed reply: the role, the text, the end.
pub(super) fn pieces() -> Vec<Bytes> {
    let frame = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices,
        });
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let said = said();
    let mut frames = vec![frame(json!({"role": "assistant", "content": ""}), Value::Null)];
    for piece in said.as_bytes().chunks(said.len().div_ceil(PIECES)) {
        frames.push(frame(json!({"content": String::from_utf8_lossy(piece)}), Value::Null));
    }
    frames.push(frame(json!({}), json!("stop")));
    frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
    frames
}

/// Returns a text of `bytes` bytes; another text for another number.
fn words(bytes: usize, number: usize) -> String {
    let mut text = format!("{number}:");
    for place in 0.. {
        if text.len() >= bytes {
            break;
        }
        let word = WORDS[(place * 7 + number * 3 + place / WORDS.len()) % WORDS.len()];
        write!(text, " {word}").unwrap_or_default();
    }
    text.truncate(bytes);
    text
}

//! Errors of an upstream that hold a reply of a model.
//!
//! An error has nothing that a model says or does, so it is not judged. A client that ignores the status would read a reply in
//! it like any other.

use lictor_json::{self as json, Json, Object, SseFramer};

use crate::known::fold_case;

/// The members with what a model says or does, of replies and of events of streams.
const REPLY_MEMBERS: [&str; 5] = ["choices", "output", "content", "candidates", "content_block"];

/// The members with a part of a reply, of events of streams. Some services have details of an error in them.
const PART_MEMBERS: [&str; 4] = ["delta", "item", "response", "message"];

/// The members of such a part that details of an error do not have.
const SAID_MEMBERS: [&str; 10] =
    ["role", "text", "refusal", "tool_calls", "function_call", "arguments", "partial_json", "name", "input", "parts"];

/// The members of these that no error has, in a body that cannot be read.
const TELLING_MEMBERS: [&str; 6] = ["choices", "output", "candidates", "content_block", "tool_calls", "tool_use"];

/// Whether the body of an error holds a reply of a model, whole or as a stream.
pub fn holds_reply(body: &[u8]) -> bool {
    match json::parse(body) {
        Ok(value) => is_reply(&value),
        Err(_) => {
            let mut framer = SseFramer::default();
            let mut frames = framer.push(body);
            frames.extend(framer.finish());
            let data: Vec<_> = frames.iter().filter_map(json::SseFrame::data).collect();
            match data.is_empty() {
                true => mentions_reply(body),
                false => {
                    data.iter().any(|data| json::parse(data).map_or_else(|_| mentions_reply(data), |it| is_reply(&it)))
                }
            }
        }
    }
}

fn is_reply(value: &Json) -> bool {
    let has_content = |value: &Json| match value {
        Json::Array(values) => !values.is_empty(),
        Json::Object(members) => !members.is_empty(),
        _ => false,
    };
    let has_member = |object: &Object, names: &[&str]| {
        object.iter().any(|(key, value)| !value.is_null() && names.contains(&fold_case(key).as_str()))
    };
    let is_part =
        |value: &Json| value.as_object().is_some_and(|part| has_member(part, &SAID_MEMBERS)) || is_reply(value);
    match value {
        Json::Object(object) => object.iter().any(|(key, value)| {
            let key = fold_case(key);
            let is_own = REPLY_MEMBERS.contains(&key.as_str()) && has_content(value);
            is_own || PART_MEMBERS.contains(&key.as_str()) && is_part(value)
        }),
        Json::Array(values) => values.iter().any(is_reply),
        _ => false,
    }
}

/// Whether a text that is no strict JSON has the name of a member, as a lenient reader would find it.
fn mentions_reply(text: &[u8]) -> bool {
    let text = fold_case(&String::from_utf8_lossy(text));
    TELLING_MEMBERS.iter().any(|name| text.contains(&format!("\"{name}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"drop","arguments":"{}"}}]}"#;

    #[test]
    fn reply_within_error_is_found() {
        let replies = [
            format!(r#"{{"choices":[{{"message":{CALL}}}]}}"#),
            format!(r#"{{"error":{{"message":"busy"}},"Choices":[{{"message":{CALL}}}]}}"#),
            r#"{"output":[{"type":"function_call","name":"drop","arguments":"{}"}]}"#.to_owned(),
            r#"{"type":"message","content":[{"type":"tool_use","name":"drop","input":{}}]}"#.to_owned(),
            r#"{"candidates":[{"content":{"parts":[]}}]}"#.to_owned(),
            r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"drop"}}"#.to_owned(),
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"drop"}}"#.to_owned(),
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","name":"drop"}]}}"#
                .to_owned(),
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"drop it"}}"#.to_owned(),
            format!(r#"{{"error":"busy","message":{CALL}}}"#),
        ];
        for reply in replies {
            let stream = format!("event: error\ndata: {{\"error\":{{}}}}\n\ndata: {reply}\n\ndata: [DONE]\n\n");
            let cut = format!("data: {reply}");
            for body in [reply.clone(), format!("[{reply}]"), stream, cut] {
                assert!(holds_reply(body.as_bytes()), "{body}");
            }
        }
        let twice = format!(r#"{{"id":1,"id":2,"choices":[{{"message":{CALL}}}]}}"#);
        assert!(holds_reply(twice.as_bytes()), "some readers take either of two members");
    }

    #[test]
    fn plain_error_holds_no_reply() {
        for body in [
            r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#,
            r#"{"message":"not found","content":"none","choices":[],"status":404}"#,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"no"}]},"code":null}"#,
            r#"{"error":"bad gateway","response":{"status":502,"reason":"no route"}}"#,
            "<html><body>502 Bad Gateway</body></html>",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"Overloaded\"}}\n\n",
            "",
        ] {
            assert!(!holds_reply(body.as_bytes()), "{body}");
        }
    }
}

//! Fields beside a text, a call or a result do not leak the removed content.

use lictor_event::{Event, Kind};
use lictor_wire::{Api, Mask, Reply, Request, Ruling};

use crate::drive::{drive, forward};

const NUMBER: &str = "4111-1111";

/// Whole replies with the number in a text and again in another field.
const WHOLE: [(Api, &str); 3] = [
    (
        Api::Chat,
        r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"card 4111-1111","annotations":[{"type":"url_citation","url_citation":{"title":"4111-1111"}}]},"finish_reason":"stop","token_ids":[4111],"logprobs":{"content":[{"token":"4111-1111"}]}}]}"#,
    ),
    (
        Api::Messages,
        r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"card "},{"type":"text","text":"4111-1111","citations":[{"type":"char_location","cited_text":"card 4111-1111","document_title":"4111"}]}],"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"4111-1111"}}"#,
    ),
    (
        Api::Responses,
        r#"{"id":"r","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"card 4111-1111","annotations":[{"type":"url_citation","title":"4111"}],"logprobs":[{"token":"4111"}]}]}]}"#,
    ),
];

/// The replies of [`WHOLE`] as streams.
const STREAMED: [(Api, &[&str]); 3] = [
    (
        Api::Chat,
        &[
            r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","annotations":[{"title":"4111"}]},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"card 41"},"finish_reason":null,"logprobs":{"content":[{"token":"card 41"}]}}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"11-1111, thank you"},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"annotations":[{"url_citation":{"title":"4111"}}]},"finish_reason":null}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop","logprobs":{"content":[{"token":"4111"}]}}]}"#,
        ],
    ),
    (
        Api::Messages,
        &[
            r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"4111"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"card 4111-1111, thank you"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"4111"}}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        Api::Responses,
        &[
            r#"{"type":"response.output_item.added","sequence_number":0,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","sequence_number":1,"output_index":0,"content_index":0,"item_id":"m","delta":"card 4111-1111, thank you","logprobs":[{"token":"4111"}]}"#,
            r#"{"type":"response.output_text.annotation.added","sequence_number":2,"output_index":0,"content_index":0,"item_id":"m","annotation":{"title":"4111"}}"#,
            r#"{"type":"response.output_text.done","sequence_number":3,"output_index":0,"content_index":0,"item_id":"m","text":"card 4111-1111, thank you","logprobs":[{"token":"4111"}]}"#,
            r#"{"type":"response.content_part.done","sequence_number":4,"output_index":0,"content_index":0,"item_id":"m","part":{"type":"output_text","text":"card 4111-1111, thank you","annotations":[{"title":"4111"}],"logprobs":[{"token":"4111"}]}}"#,
            r#"{"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"card 4111-1111, thank you","annotations":[{"title":"4111"}],"logprobs":[]}]}}"#,
            r#"{"type":"response.completed","sequence_number":6,"response":{"id":"r","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"card 4111-1111, thank you","annotations":[{"title":"4111"}],"logprobs":[]}]}]}}"#,
        ],
    ),
];

fn hidden(event: &Event) -> Ruling {
    match &event.text {
        Some(text) => {
            Ruling::Rewrite(Box::new(Event { text: Some(text.replace(NUMBER, "[redacted]").into()), ..event.clone() }))
        }
        None => Ruling::Forward,
    }
}

#[test]
fn changed_reply_leaks_nothing_in_other_fields() {
    for (api, body) in WHOLE {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        for rule in [hidden, |_: &Event| Ruling::Deny { text: "no".into() }] {
            let rulings: Vec<Ruling> = reply.events().iter().map(rule).collect();
            let settled = String::from_utf8(reply.settle(&rulings).unwrap().body).unwrap();
            assert!(!settled.contains("4111"), "{settled}");
        }
        assert_eq!(reply.settle(&[]).unwrap().body, body.as_bytes());
    }
}

#[test]
fn changed_stream_leaks_nothing_in_other_fields() {
    let hide = |text: &str, from: usize| -> Vec<Mask> {
        let found = text.match_indices(NUMBER).map(|(place, found)| place..place + found.len());
        found.filter(|range| range.end > from).map(|range| Mask { range, with: "[redacted]".into() }).collect()
    };
    for (api, frames) in STREAMED {
        let frame = |data: &&str| match api {
            Api::Chat => format!("data: {data}\n\n"),
            _ => format!("event: {}\ndata: {data}\n\n", data.split('"').nth(3).unwrap()),
        };
        let text: String = frames.iter().map(frame).collect();
        assert_eq!(forward(api, &text).text(), text);
        let driven = drive(api, 16, text.as_bytes().chunks(7), |_| Ruling::Forward, |_, _| Vec::new());
        assert_eq!(driven.text(), text, "held, and as it came");
        let driven = drive(api, 16, text.as_bytes().chunks(7), |_| Ruling::Forward, hide);
        assert_eq!(driven.refused, None);
        assert!(!driven.text().contains("41"), "{}", driven.text());
        let again = forward(api, driven.text());
        assert_eq!(again.refused, None);
        assert_eq!(again.events()[0].text.as_deref(), Some("card [redacted], thank you"));
    }
}

#[test]
fn log_probabilities_of_changed_call_are_removed() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"t","arguments":"{\"n\":\"4111\"}"}}]},"finish_reason":"tool_calls","logprobs":{"content":[{"token":"4111"}]}}]}"#;
    let reply = Reply::read(Api::Chat, body.as_bytes()).unwrap();
    let settled = reply.settle(&[Ruling::Deny { text: "no".into() }]).unwrap();
    assert!(!String::from_utf8(settled.body).unwrap().contains("4111"));
}

#[test]
fn error_beside_choices_hides_no_event() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]}"#;
    let body = format!(r#"{{"error":{{"message":"x"}},"choices":[{{"index":0,"message":{call}}}]}}"#);
    let kinds = |body: &str| -> Vec<Kind> {
        Reply::read(Api::Chat, body.as_bytes()).unwrap().events().iter().map(|event| event.kind.clone()).collect()
    };
    assert_eq!(kinds(&body), [Kind::ToolCall, Kind::Error, Kind::AssistantMessage]);
    assert_eq!(kinds(r#"{"error":{"message":"x"}}"#), [Kind::Error]);
    let both =
        format!(r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"x"}},"delta":{call}}}]}}"#);
    let settled = Reply::read(Api::Chat, both.as_bytes()).unwrap().settle(&[]).unwrap();
    assert_eq!(settled.body, br#"{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}]}"#);
}

#[test]
fn denied_tool_result_is_removed_entirely() {
    let bodies = [
        (
            Api::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"SECRET"},{"type":"image","source":{"type":"url","url":"SECRET"}},{"type":"document","title":"SECRET","source":{"type":"text","data":"SECRET"}}]}]}]}"#,
        ),
        (
            Api::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"url","url":"SECRET"}}]}]}]}"#,
        ),
        (
            Api::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}"#,
        ),
        (
            Api::Responses,
            r#"{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"SECRET"},{"type":"input_image","image_url":"SECRET"}]}]}"#,
        ),
        (
            Api::Chat,
            r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"SECRET"},{"type":"text","text":"SECRET"}]}]}"#,
        ),
    ];
    for (api, body) in bodies {
        let request = Request::read(api, body.as_bytes()).unwrap();
        let denied = request.rewritten(&[(0, Ruling::Deny { text: "withheld".into() })]).unwrap();
        let denied = String::from_utf8(denied).unwrap();
        assert!(!denied.contains("SECRET") && denied.contains(r#""withheld""#), "{denied}");
        Request::read(api, denied.as_bytes()).unwrap();
    }
}

#[test]
fn approval_reported_by_client_allows_nothing() {
    let body = r#"{"model":"m","input":[{"type":"mcp_approval_request","id":"a","name":"refund","arguments":"{}","server_label":"s"},{"type":"mcp_approval_response","approval_request_id":"a","approve":true}]}"#;
    let request = Request::read(Api::Responses, body.as_bytes()).unwrap();
    let told: Vec<(&str, Option<&str>)> =
        request.items.iter().map(|item| (item.event().kind.name(), item.event().tool.as_deref())).collect();
    assert_eq!(told, [("approval_request", Some("refund")), ("approval_response", Some("refund"))]);
}

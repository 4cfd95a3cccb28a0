//! Streams of compatible services get the form that all clients read alike.

use lictor_json::Json;
use lictor_wire::{Api, Reply, Ruling};

use crate::drive::{StreamResult, deny, forward, ruled, shown};
use crate::made::chunks;

const END: &str = r#"{"index":0,"delta":{},"finish_reason":"tool_calls"}"#;

/// A chunk with pieces of calls.
fn calls(pieces: &str) -> String {
    format!(r#"{{"index":0,"delta":{{"role":"assistant","tool_calls":[{pieces}]}}}}"#)
}

fn stream(pieces: &[&str]) -> String {
    let mut choices: Vec<String> = pieces.iter().map(|pieces| calls(pieces)).collect();
    choices.push(END.to_owned());
    chunks(&choices.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The pieces of calls that the client gets: the index, the id, the name and the arguments.
fn received(driven: &StreamResult) -> Vec<String> {
    let payloads = driven.text().lines().filter_map(|line| line.strip_prefix("data: "));
    let payloads = payloads.filter_map(|data| lictor_json::parse_str(data).ok());
    let pieces = payloads.flat_map(|chunk| {
        let pieces = chunk.at("choices.0.delta.tool_calls").and_then(Json::as_array).unwrap_or_default();
        pieces.to_vec()
    });
    let text = |piece: &Json, path: &str| piece.at(path).and_then(Json::as_str).unwrap_or("-").to_owned();
    let show = |piece: Json| {
        let index = piece.get("index").map_or("-".to_owned(), Json::to_string);
        let parts = ["id", "function.name", "function.arguments"].map(|path| text(&piece, path));
        format!("{index} {}", parts.join(" "))
    };
    pieces.map(show).collect()
}

#[test]
fn calls_without_index_are_numbered() {
    let first = r#"{"extra_content":{"google":{"thought_signature":"s"}},"function":{"arguments":"{}","name":"ok"},"id":"call_1","type":"function"}"#;
    let second = r#"{"index":null,"id":"call_2","function":{"name":"drop","arguments":"{\"a\":1}"}}"#;
    for text in [stream(&[first, second]), stream(&[&format!("{first},{second}")])] {
        let driven = forward(Api::Chat, &text);
        assert_eq!(driven.refused, None);
        assert_eq!(shown(&driven.events()), ["tool_call ok call_1 {}", "tool_call drop call_2 {\"a\":1}"]);
        assert_eq!(received(&driven), ["0 call_1 ok {}", "1 call_2 drop {\"a\":1}"]);
        let driven = ruled(Api::Chat, &text, deny("drop"));
        assert_eq!(received(&driven), ["0 call_1 ok {}"]);
    }
}

#[test]
fn calls_under_one_index_are_separated() {
    let text = stream(&[
        r#"{"index":0,"id":"a","function":{"name":"ok","arguments":"{}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"drop","arguments":""}}"#,
        r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
        r#"{"index":1,"id":"c","function":{"name":"ok","arguments":"{}"}}"#,
    ]);
    let driven = forward(Api::Chat, &text);
    assert_eq!(driven.refused, None);
    assert_eq!(shown(&driven.events()), ["tool_call ok a {}", "tool_call drop b {\"a\":1}", "tool_call ok c {}"]);
    assert_eq!(received(&driven), ["0 a ok {}", "1 b drop ", "1 - - {\"a\":1}", "2 c ok {}"]);
    let driven = ruled(Api::Chat, &text, deny("drop"));
    assert_eq!(received(&driven), ["0 a ok {}", "1 c ok {}"]);
}

#[test]
fn repeated_call_name_is_sent_once() {
    let text = stream(&[
        r#"{"index":0,"id":"a","function":{"name":"ok","arguments":"{\"a\""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"ok","arguments":":1}"}}"#,
    ]);
    let driven = forward(Api::Chat, &text);
    assert_eq!(shown(&driven.events()), ["tool_call ok a {\"a\":1}"]);
    assert_eq!(received(&driven), ["0 a ok {\"a\"", "0 - - :1}"]);
}

#[test]
fn null_choices_become_an_empty_list() {
    let text = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":null,\"usage\":{\"total_tokens\":2}}\n\ndata: [DONE]\n\n",
    );
    let driven = forward(Api::Chat, text);
    assert_eq!(driven.refused, None);
    assert_eq!(driven.text(), text.replace("null", "[]"));
}

#[test]
fn call_pieces_of_unclear_call_are_refused() {
    let whole = r#"{"id":"a","function":{"name":"ok","arguments":"{}"}}"#;
    let cases = [
        vec![r#"{"id":"a","function":{"name":"ok"}}"#],
        vec![r#"{"function":{"name":"ok","arguments":"{}"}}"#],
        vec![whole, whole],
        vec![whole, r#"{"function":{"arguments":"{}"}}"#],
        vec![whole, r#"{"index":0,"function":{"arguments":"{}"}}"#],
        vec![whole, r#"{"index":1,"id":"b","function":{"name":"drop","arguments":"{}"}}"#],
        vec![r#"{"index":0,"id":"b","function":{"name":"drop","arguments":"{}"}}"#, whole],
        vec![
            r#"{"index":0,"id":"a","function":{"name":"ok","arguments":"{}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"ok","arguments":"{}"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"ok","arguments":"{}"}}"#,
        ],
    ];
    for pieces in cases {
        let code = forward(Api::Chat, &stream(&pieces)).refused.map(|refusal| refusal.code);
        assert_eq!(code, Some("stream.shape"), "{pieces:?}");
    }
}

#[test]
fn denied_call_without_index_is_corrected() {
    let text = stream(&[r#"{"id":"a","function":{"name":"drop","arguments":"{}"}}"#]);
    let sent = br#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let denials = [("a".into(), "no".to_owned())];
    let next = Reply::correct_streamed(Api::Chat, text.as_bytes(), sent, &denials).unwrap();
    assert!(String::from_utf8(next).unwrap().contains(r#""tool_call_id":"a""#));
    let driven = ruled(Api::Chat, &text, |_| Ruling::Deny { text: "no".into() });
    assert!(!driven.text().contains("drop"), "{}", driven.text());
}

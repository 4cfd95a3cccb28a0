//! Whole replies keep their bytes, except for the values that a ruling changes.

use lictor_event::{Arguments, Event, Kind};
use lictor_json as json;
use lictor_wire::{Api, Reply, Ruling};

use crate::drive::{deny, rewrite, shown};
use crate::made::{plain, turn, usual};

/// A reply after rulings, and its texts.
fn settled(api: Api, body: &str, rule: impl FnMut(&Event) -> Ruling) -> (String, Vec<String>) {
    let reply = Reply::read(api, body.as_bytes()).unwrap();
    let rulings: Vec<Ruling> = reply.events().iter().map(rule).collect();
    let settled = reply.settle(&rulings).unwrap();
    let again = Reply::read(api, &settled.body).unwrap();
    assert_eq!(again.settle(&[]).unwrap().sent, settled.sent);
    (String::from_utf8(settled.body).unwrap(), shown(again.events()))
}

/// The body with spaces that Lictor would not write.
fn spaced(body: &str) -> String {
    body.replacen("{\"", "{ \"", 3).replace("\"usage\":", "\n\"usage\" : ")
}

#[test]
fn forwarded_reply_has_the_same_bytes() {
    for api in Api::ALL {
        let body = spaced(&plain(api, &usual()));
        assert_eq!(settled(api, &body, |_| Ruling::Forward).0, body);
    }
}

#[test]
fn denied_call_becomes_text_and_rest_is_unchanged() {
    for api in Api::ALL {
        let body = spaced(&plain(api, &usual()));
        let (one, said) = settled(api, &body, deny("send_mail"));
        assert!(!one.contains("bob@example.org"), "{one}");
        assert!(one.contains("\n\"usage\" : "), "{one}");
        assert_eq!(said.iter().filter(|said| said.starts_with("tool_call")).count(), 1);
        assert!(said.iter().any(|said| said.ends_with("send_mail is not allowed")), "{said:?}");
        let stop = if api == Api::Messages { "\"tool_use\"" } else { "\"tool_calls\"" };
        assert!(api == Api::Responses || one.contains(stop));
        let (all, said) = settled(api, &body, |event| match event.kind {
            Kind::ToolCall => Ruling::Deny { text: "no".into() },
            _ => Ruling::Forward,
        });
        assert!(said.iter().all(|said| said.starts_with("assistant_message")), "{said:?}");
        match api {
            Api::Chat => assert!(all.contains(r#""finish_reason":"stop""#) && !all.contains("tool_calls"), "{all}"),
            Api::Messages => assert!(all.contains(r#""stop_reason":"end_turn""#), "{all}"),
            Api::Responses => assert!(!all.contains("function_call"), "{all}"),
        }
    }
}

#[test]
fn arguments_and_text_are_rewritten_in_place() {
    for api in Api::ALL {
        let body = spaced(&plain(api, &usual()));
        let (one, said) = settled(api, &body, rewrite("send_mail", r#"{"to":"[redacted]"}"#));
        assert!(!one.contains("bob@") && one.contains("\n\"usage\" : "));
        assert_eq!(said[2], "tool_call send_mail call_b {\"to\":\"[redacted]\"}");
        assert_eq!(one.len(), body.len() + "[redacted]".len() - "bob@example.org".len());
        let (two, said) = settled(api, &body, |event| match &event.text {
            Some(text) => {
                let text = text.replace("moment", "[redacted]");
                Ruling::Rewrite(Box::new(Event { text: Some(text.into()), ..event.clone() }))
            }
            None => Ruling::Forward,
        });
        assert!(said[0].contains("Ä [redacted]: \"quoted\""), "{said:?}");
        assert!(two.contains("bob@example.org"));
        let (_, said) = settled(api, &body, |event| match event.kind {
            Kind::AssistantMessage => Ruling::Deny { text: "Not that.".into() },
            _ => deny("lookup")(event),
        });
        assert_eq!(said.iter().filter(|said| said.contains("Ä")).count(), 0, "{said:?}");
        assert!(said.concat().contains("Not that.") && said.concat().contains("lookup is not allowed"), "{said:?}");
    }
}

#[test]
fn call_beside_denied_call_can_be_rewritten() {
    let body = plain(Api::Chat, &usual());
    let (_, said) = settled(Api::Chat, &body, |event| match event.tool.as_deref() {
        Some("lookup") => Ruling::Deny { text: "no".into() },
        Some(_) => {
            let args = json::parse_str("{\"to\":1}").unwrap();
            Ruling::Rewrite(Box::new(Event { args: Some(Arguments::Value(args)), ..event.clone() }))
        }
        None => Ruling::Forward,
    });
    assert_eq!(said.last().unwrap(), "tool_call send_mail call_b {\"to\":1}");
}

#[test]
fn legacy_and_custom_calls_are_calls() {
    let old = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    let (body, said) = settled(Api::Chat, old, deny("f"));
    assert_eq!(said, ["assistant_message f is not allowed"]);
    assert!(body.contains(r#""finish_reason":"stop""#) && !body.contains("function_call"), "{body}");
    let free = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"rm"}}]},"finish_reason":"tool_calls"}]}"#;
    let (body, said) = settled(Api::Chat, free, rewrite("sh", r#"{"input":"ls"}"#));
    assert_eq!(said, ["tool_call sh c {\"input\":\"ls\"}"]);
    assert!(body.contains(r#""input":"ls""#), "{body}");
}

#[test]
fn texts_between_calls_are_separate_messages() {
    let body = r#"{"role":"assistant","stop_reason":"tool_use","content":[{"type":"text","text":"A card "},{"type":"text","text":"4111 here"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":"after"}]}"#;
    let reply = Reply::read(Api::Messages, body.as_bytes()).unwrap();
    assert_eq!(
        shown(reply.events()),
        ["assistant_message A card 4111 here", "tool_call f a {}", "assistant_message after"]
    );
    let (body, _) = settled(Api::Messages, body, |event| match &event.text {
        Some(text) if text.contains("4111") => {
            let text = text.replace("card 4111", "[redacted]");
            Ruling::Rewrite(Box::new(Event { text: Some(text.into()), ..event.clone() }))
        }
        _ => Ruling::Forward,
    });
    assert!(body.contains(r#""text":"A [redacted]""#) && body.contains(r#""text":" here""#), "{body}");
}

#[test]
fn empty_reply_is_read() {
    for api in Api::ALL {
        let reply = Reply::read(api, plain(api, &turn("", &[])).as_bytes()).unwrap();
        assert_eq!(reply.events(), []);
        assert_eq!(reply.settle(&[]).unwrap().sent, [[]]);
    }
}

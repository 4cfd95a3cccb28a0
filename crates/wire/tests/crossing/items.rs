//! Items of Responses: only known types are read, and only named calls may name a tool.

use lictor_wire::{Api, Reply, Request};

use crate::drive::{forward, shown};
use crate::made::events;

fn whole(item: &str) -> String {
    format!(r#"{{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[{item}]}}"#)
}

fn streamed(item: &str) -> String {
    events(&[
        r#"{"type":"response.created","response":{"output":[]}}"#,
        &format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#),
        &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
        &format!(r#"{{"type":"response.completed","response":{{"output":[{item}]}}}}"#),
    ])
}

/// The codes by which an item is refused: in a whole reply, in a stream.
fn codes(item: &str) -> [Option<&'static str>; 2] {
    let read = Reply::read(Api::Responses, whole(item).as_bytes());
    [
        read.err().map(|refusal| refusal.code),
        forward(Api::Responses, &streamed(item)).refused.map(|refusal| refusal.code),
    ]
}

#[test]
fn unknown_call_item_is_refused() {
    for name in ["new_call", "Function_call", "FUNCTION_call", "drop_call", "tool_call", "new_call_output", "_call"] {
        let item = format!(r#"{{"type":"{name}","id":"x","call_id":"c","name":"drop","arguments":"{{}}"}}"#);
        assert_eq!(codes(&item), [Some("wire.unknown"); 2], "{item}");
        let unnamed = item.replace(r#""name":"drop","#, "");
        assert_eq!(codes(&unnamed), [Some("wire.unknown"); 2], "{unnamed}");
        let request = format!(r#"{{"model":"m","input":[{item}]}}"#);
        let refused = Request::read(Api::Responses, request.as_bytes()).err().map(|refusal| refusal.code);
        assert_eq!(refused, Some("wire.unknown"), "{request}");
    }
}

#[test]
fn vendor_call_item_names_no_tool() {
    for name in ["web_search_call", "computer_call", "shell_call", "program", "reasoning", "function_call_output"] {
        let item =
            format!(r#"{{"type":"{name}","id":"x","call_id":"c","name":"drop","arguments":"{{}}","summary":[]}}"#);
        assert_eq!(codes(&item), [Some("wire.shape"); 2], "{item}");
    }
}

#[test]
fn known_call_items_pass() {
    let items = [
        (r#"{"type":"function_call","id":"x","call_id":"c","name":"drop","arguments":"{}"}"#, "tool_call drop c {}"),
        (
            r#"{"type":"web_search_call","id":"c","action":{"query":"tea"}}"#,
            "tool_call web_search c {\"query\":\"tea\"}",
        ),
        (r#"{"type":"x_search_call","id":"c","action":{"query":"tea"}}"#, "tool_call x_search c {\"query\":\"tea\"}"),
        (r#"{"type":"bing_grounding_call","id":"x","call_id":"c","arguments":"{}"}"#, "tool_call bing_grounding c {}"),
        (
            r#"{"type":"apply_patch_call","id":"x","call_id":"c","operation":{"a":1}}"#,
            "tool_call apply_patch c {\"a\":1}",
        ),
    ];
    for (item, event) in items {
        let reply = Reply::read(Api::Responses, whole(item).as_bytes()).unwrap();
        assert_eq!(shown(reply.events()), [event]);
        assert_eq!(shown(&forward(Api::Responses, &streamed(item)).events()), [event]);
    }
}

//! Replies of services that are compatible with Chat Completions, in the shapes that they document: whole and streamed,
//! each passes, and fields that Lictor does not know are left out.

use std::fs;
use std::path::Path;

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};
use lictor_wire::{Api, Reply, Ruling, UnknownFields};

use crate::drive::{deny, drive, forward, ruled, shown};
use crate::made::events;

/// Returns the vendors and their replies.
fn vendors() -> Vec<(String, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crossing/vendors");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut vendors: Vec<(String, Json)> = files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, json::parse(&fs::read(&path).unwrap()).unwrap())
        })
        .collect();
    vendors.sort_by(|a, b| a.0.cmp(&b.0));
    vendors
}

fn stream_of(vendor: &Json) -> String {
    let chunks = vendor.get("stream").and_then(Json::as_array).unwrap();
    let chunks: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    format!("{}{chunks}data: [DONE]\n\n", vendor.text("comment").unwrap_or_default())
}

fn check_events(name: &str, vendor: &Json, events: &[Event]) {
    match vendor.text("call") {
        Some(tool) => {
            let call = events.iter().find(|event| event.kind == Kind::ToolCall).unwrap();
            assert_eq!(call.tool.as_deref(), Some(tool), "{name}");
        }
        None => {
            let said = events.iter().find(|event| event.kind == Kind::AssistantMessage).unwrap();
            assert_eq!(said.text.as_deref(), vendor.text("text"), "{name}");
        }
    }
}

#[test]
fn replies_of_compatible_vendors_pass() {
    for (name, vendor) in vendors() {
        let body = vendor.get("reply").unwrap().to_string();
        let reply = Reply::read(Api::Chat, body.as_bytes()).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        check_events(&name, &vendor, reply.events());
        let driven = forward(Api::Chat, &stream_of(&vendor));
        assert_eq!(driven.refused, None, "{name}");
        assert!(driven.is_complete, "{name}");
        check_events(&name, &vendor, &driven.events());
        assert_eq!(reply.settle(&[]).unwrap().sent, driven.sent, "{name}: both are remembered alike");
    }
}

#[test]
fn unknown_fields_of_vendors_are_stripped_and_named() {
    for (name, vendor) in vendors() {
        let body = vendor.get("reply").unwrap().to_string();
        let reply = Reply::read(Api::Chat, body.as_bytes()).unwrap();
        let stripped = vendor.get("stripped").and_then(Json::as_array).unwrap();
        let wanted: Vec<&str> = stripped.iter().filter_map(Json::as_str).collect();
        let settled = json::parse(&reply.settle(&[]).unwrap().body).unwrap();
        let driven = forward(Api::Chat, &stream_of(&vendor));
        for field in &wanted {
            let member = field.split('.').nth(1).unwrap();
            // `message` is known in a whole reply, and no part of a chunk.
            let is_piece = field.starts_with("piece.");
            assert!(is_piece || !settled.to_string().contains(&format!("\"{member}\"")), "{name}: {field}");
            assert!(!driven.text().contains(&format!("\"{member}\"")), "{name}: {field}");
        }
        for found in &reply.stripped().names {
            assert!(wanted.contains(&found.as_str()), "{name}: {found} was stripped");
        }
        let refused = Reply::read_with(Api::Chat, body.as_bytes(), UnknownFields::Refuse);
        assert_eq!(refused.is_err(), reply.stripped().count > 0, "{name}");
        let passed = Reply::read_with(Api::Chat, body.as_bytes(), UnknownFields::Pass).unwrap();
        assert_eq!(passed.stripped().count, 0, "{name}: {:?}", passed.stripped());
    }
}

/// OpenRouter ends a stream with an error beside a choice.
#[test]
fn error_beside_choice_of_stream_is_judged() {
    let text = concat!(
        "data: {\"id\":\"gen-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,",
        "\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"gen-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"provider\":\"p\",\"error\":",
        "{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},",
        "\"finish_reason\":\"error\",\"native_finish_reason\":null}]}\n\n",
        "data: [DONE]\n\n",
    );
    let driven = forward(Api::Chat, text);
    assert_eq!((driven.refused.as_ref(), driven.text()), (None, text));
    assert!(driven.is_complete);
    let said = ["assistant_message Hi", "assistant_message Provider disconnected", "error Provider disconnected"];
    let mut shown = shown(&driven.events());
    shown.sort_unstable();
    assert_eq!(shown, said);
    let denied = ruled(Api::Chat, text, |event| match event.more.get("quoted") {
        Some(_) => Ruling::Deny { text: "no".into() },
        None => Ruling::Forward,
    });
    assert!(denied.text().contains("(withheld)") && !denied.text().contains("disconnected"), "{}", denied.text());
}

/// LiteLLM answers a stream of a model that it does not know with the whole reply: at the end only, after pieces of text
/// without an announcement, or announced as a whole.
#[test]
fn responses_streams_made_of_whole_replies_pass() {
    let message = r#"{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi there","annotations":[]}]}"#;
    let call = r#"{"type":"function_call","id":"fc_1","call_id":"c1","name":"look","arguments":"{\"a\":1}","status":"completed"}"#;
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
    let created = r#"{"type":"response.created","response":{"id":"resp_1","output":[]}}"#.to_owned();
    let completed =
        |output: &str| format!(r#"{{"type":"response.completed","response":{{"id":"resp_1","output":[{output}]}}}}"#);
    let piece = |text: &str| {
        format!(
            r#"{{"type":"response.output_text.delta","item_id":"resp_1","output_index":0,"content_index":0,"delta":"{text}"}}"#
        )
    };
    let item = |event: &str, index: usize, item: &str| {
        format!(r#"{{"type":"response.output_item.{event}","output_index":{index},"item":{item}}}"#)
    };
    let streams = [
        vec![completed(&format!("{reasoning},{message},{call}"))],
        vec![created.clone(), completed(&format!("{message},{call}"))],
        vec![piece("Hi th"), piece("ere"), completed(&format!("{message},{call}"))],
        vec![
            created,
            item("added", 0, message),
            format!(r#"{{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{{"type":"output_text","text":"Hi there"}}}}"#),
            piece("Hi there").replace("resp_1", "msg_1"),
            item("done", 0, message),
            item("added", 1, call),
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"a\":1}"}"#.to_owned(),
            r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":1,"arguments":"{\"a\":1}"}"#.to_owned(),
            item("done", 1, call),
            completed(&format!("{message},{call}")),
        ],
    ];
    for stream in streams {
        let text = events(&stream.iter().map(String::as_str).collect::<Vec<_>>());
        let driven = forward(Api::Responses, &text);
        assert_eq!(driven.refused, None, "{text}");
        assert!(driven.is_complete, "{text}");
        assert_eq!(shown(&driven.events()), ["assistant_message Hi there", r#"tool_call look c1 {"a":1}"#], "{text}");
        assert_eq!(driven.sent.first().map(Vec::len), Some(2), "{text}");
        let denied = ruled(Api::Responses, &text, deny("look"));
        assert!(!denied.text().contains("\"look\"") && !denied.text().contains("a\\\":1"), "{}", denied.text());
        let last = denied.text().rsplit("event: ").next().unwrap();
        assert!(last.contains("look is not allowed") && last.contains("Hi there"), "{last}");
        // A text that may change is held until it is decided on.
        let held = drive(Api::Responses, usize::MAX, [text.as_bytes()], deny_texts, |_, _| Vec::new());
        assert!(!held.text().contains("there"), "{}", held.text());
    }
    let other = [piece("Hello"), completed(message)];
    let text = events(&other.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(forward(Api::Responses, &text).refused.map(|refused| refused.code), Some("stream.shape"));
}

fn deny_texts(event: &Event) -> Ruling {
    match event.kind {
        Kind::AssistantMessage => Ruling::Deny { text: "no".into() },
        _ => Ruling::Forward,
    }
}

//! Replies of services that are compatible with Chat Completions, in the shapes that they document: whole and streamed,
//! each passes, and fields that Lictor does not know are left out.

use std::fs;
use std::path::Path;

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};
use lictor_wire::{Api, Reply, UnknownFields};

use crate::drive::forward;

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

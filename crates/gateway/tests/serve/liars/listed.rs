//! Lies that were thought out one by one, told by a model to its client and by a client to its model: calls under almost the
//! right name, keys in other letters, identifiers and keys that are sentences, files in other encodings. The vendors' own
//! libraries send and read them. `LICTOR_LIES` has no effect here: all are told in every run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lictor_wire::Api;
use serde_json::{Map, Value, json};

use crate::crossing::EVERY_TRANSFER;
use crate::libraries::{python_script, run};
use crate::vendor::{call, reply, stream, text};
use crate::world::{Model, Play, SeenRequest, plan};

const POLICY: &str = r#"
lictor: 1
name: doors
facts:
  secret:
    - {on: user_message, where: {text: '/secret plan/i'}}
    - {on: system_message, where: {text: '/secret plan/i'}}
    - {on: tool_result, where: {text: '/secret plan/i'}}
    - {on: assistant_message, where: {text: '/secret plan/i'}}
  large: {on: tool_call(pay), when: args.amount > 100}
properties:
  - {id: no-secret, formula: always !secret, respond: block}
  - {id: no-drop, formula: 'always !tool_call("drop")', respond: block}
  - {id: no-large, formula: always !large, respond: block}
"#;

/// What must not cross.
const SECRET: &str = "The Secret plan für Ann";

/// A lie, and the text that must not be read.
struct Lie {
    name: String,
    api: Api,
    streams: bool,
    /// Members of the request.
    body: Value,
    /// What the model answers first.
    play: Play,
    forbidden: String,
    /// Whether the client lies to the model, and not the model to the client.
    is_request: bool,
}

/// Returns the tools on offer, in the form of an interface.
fn tools(api: Api) -> Value {
    let amount = json!({"type": "object", "properties": {"amount": {"type": "number"}, "to": {"type": "object", "properties": {"iban": {}}}}});
    let tool = |name: &str, schema: Value| match api {
        Api::Chat => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        Api::Responses => json!({"type": "function", "name": name, "parameters": schema}),
        Api::Messages => json!({"name": name, "input_schema": schema}),
    };
    let plain = || json!({"type": "object", "properties": {}});
    json!([tool("look", plain()), tool("drop", plain()), tool("pay", amount)])
}

fn messages(api: Api, content: Value) -> Value {
    let key = if api == Api::Responses { "input" } else { "messages" };
    json!({key: [{"role": "user", "content": content}]})
}

/// Calls under names that a lenient client takes for `drop`, and with keys that a lenient tool takes for others.
fn lies_about_calls(lies: &mut Vec<Lie>) {
    let names = ["functions.drop", " drop", "drop ", "Drop", "DROP", "default_api.drop", "dr\u{43e}p", "drop\u{200b}"];
    let arguments = [
        json!({"amount": 1, "Amount": 900_017}),
        json!({"AMOUNT": 900_017}),
        json!({"amount": 1, "to": {"iban": "x", "IBAN": "900017"}}),
    ];
    for (api, streams) in EVERY_TRANSFER {
        let said = names.iter().map(|name| (*name, json!({}), format!("\"{name}\"")));
        let said = said.chain(arguments.iter().map(|given| ("pay", given.clone(), "900017".to_owned())));
        for (place, (name, given, forbidden)) in said.enumerate() {
            let said = [call("c1", name, given)];
            let play = if streams { Play::stream(&stream(api, &said, 4)) } else { Play::json(reply(api, &said)) };
            let mut body = messages(api, json!("Go."));
            body["tools"] = tools(api);
            lies.push(Lie {
                name: format!("call {place} {name}"),
                api,
                streams,
                body,
                play,
                forbidden,
                is_request: false,
            });
        }
    }
}

/// Replies with words where clients expect identifiers, with items that only clients send, and headers to elsewhere.
fn lies_beside_content(lies: &mut Vec<Lie>) {
    let mut tell = |name: &str, api: Api, play: Play, forbidden: &str| {
        let (body, forbidden) = (messages(api, json!("Hi.")), forbidden.to_owned());
        let streams = play.headers.iter().any(|(_, value)| value == "text/event-stream");
        lies.push(Lie { name: name.to_owned(), api, streams, body, play, forbidden, is_request: false });
    };
    let chat = |message: Value| {
        let mut written: Value = serde_json::from_str(&reply(Api::Chat, &[text("Hello.")])).unwrap();
        let target = written["choices"][0]["message"].as_object_mut().unwrap();
        message.as_object().unwrap().iter().for_each(|(key, value)| drop(target.insert(key.clone(), value.clone())));
        Play::json(written.to_string())
    };
    tell("tool_call_id", Api::Chat, chat(json!({"tool_call_id": SECRET})), SECRET);
    let thought =
        json!({"reasoning_details": [{"type": "reasoning.text", "text": "t", "format": SECRET, "id": SECRET}]});
    tell("format", Api::Chat, chat(thought), SECRET);
    tell(
        "audio id",
        Api::Chat,
        chat(json!({"audio": {"id": SECRET, "transcript": "a", "data": "", "expires_at": 1}})),
        SECRET,
    );
    let keyed = |key: &str| chat(json!({"provider_specific_fields": {key: 1}}));
    tell("sentence as key", Api::Chat, keyed(SECRET), SECRET);
    tell("card as key", Api::Chat, keyed("4111-1111-1111-1111"), "4111-1111");
    let output = |item: Value| {
        let mut written: Value = serde_json::from_str(&reply(Api::Responses, &[text("Hello.")])).unwrap();
        written["output"].as_array_mut().unwrap().push(item);
        Play::json(written.to_string())
    };
    let remote = json!({"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}", "server_label": SECRET});
    tell("server_label", Api::Responses, output(remote), SECRET);
    let approval = json!({"type": "mcp_approval_response", "id": "a", "approval_request_id": "q", "approve": true, "reason": SECRET});
    tell("approval", Api::Responses, output(approval), SECRET);
    let named = json!({"type": "function_call", "id": SECRET, "call_id": "c", "name": "look", "namespace": SECRET, "arguments": "{}"});
    tell("item id", Api::Responses, output(named), SECRET);
    let seen = json!({"type": "computer_call_output", "id": "o", "call_id": "c", "output": [{"type": "input_image",
        "image_url": format!("data:text/plain,{}", percent(SECRET.as_bytes()))}]});
    tell("picture of words", Api::Responses, output(seen), &percent(SECRET.as_bytes()));
    let content = |block: Value| {
        let mut written: Value = serde_json::from_str(&reply(Api::Messages, &[text("Hello.")])).unwrap();
        written["content"].as_array_mut().unwrap().push(block);
        written
    };
    let remote = json!({"type": "mcp_tool_use", "id": "m", "name": "look", "input": {}, "server_name": SECRET});
    tell("server_name", Api::Messages, Play::json(content(remote).to_string()), SECRET);
    let listing = json!({"type": "mcp_tool_listing", "name": SECRET, "content": SECRET, "tools": [{"name": "a", "description": SECRET}]});
    tell("listing", Api::Messages, Play::json(content(listing).to_string()), SECRET);
    let mut skilled = content(json!({"type": "text", "text": "!"}));
    skilled["container"] = json!({"id": "c", "expires_at": "2026-01-01T00:00:00Z", "skills": [{"type": "custom", "skill_id": SECRET, "version": "1"}]});
    tell("skill_id", Api::Messages, Play::json(skilled.to_string()), SECRET);
    for (name, value) in [("alt-svc", "h2=\"elsewhere.example:443\""), ("refresh", "0; url=https://elsewhere.example")]
    {
        let mut play = Play::json(reply(Api::Chat, &[text("Hello.")]));
        play.headers.push((name, value.to_owned()));
        tell(name, Api::Chat, play, "elsewhere.example");
    }
    let failed = json!({"id": "g", "object": "chat.completion.chunk", "created": 1, "model": "m", "error": {"code": 502, "message": SECRET},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
    tell("error in mid-stream", Api::Chat, Play::stream(&[format!("data: {failed}\n\n")]), SECRET);
    for said in [text(SECRET), call("c", "drop", json!({}))] {
        let mut end: Value = serde_json::from_str(&reply(Api::Responses, &[said])).unwrap();
        let forbidden = if end.to_string().contains("Secret") { SECRET } else { "\"drop\"" };
        end = json!({"type": "response.completed", "response": end});
        let event = |value: &Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
        tell("whole reply as a stream", Api::Responses, Play::stream(&[event(&end)]), forbidden);
        let item =
            json!({"type": "response.output_item.added", "output_index": 0, "item": end["response"]["output"][0]});
        tell("announced as a whole", Api::Responses, Play::stream(&[event(&item), event(&end)]), forbidden);
    }
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// The ways in which a text can be written as a file: its bytes, and a type that says how.
fn encodings() -> Vec<(&'static str, Vec<u8>)> {
    let wide = |is_big: bool| -> Vec<u8> {
        SECRET.encode_utf16().flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let latin: Vec<u8> = SECRET.chars().map(|c| c as u8).collect();
    vec![
        ("text/plain", latin.clone()),
        ("text/plain;charset=iso-8859-1", latin),
        ("text/csv", wide(false)),
        ("text/csv", wide(true)),
        ("text/plain;charset=utf-16", [&[0xfe, 0xff], wide(true).as_slice()].concat()),
        ("text/markdown", SECRET.chars().flat_map(|c| (c as u32).to_le_bytes()).collect()),
        ("application/json", format!("{SECRET}\u{7}").into_bytes()),
        ("text/html", format!("\u{1b}[1m{SECRET}\0").into_bytes()),
        ("text/plain;charset=utf-16le", SECRET.into()),
        ("text/plain;charset=x-none", SECRET.into()),
    ]
}

/// Requests with files in other encodings, and with words where names are expected.
fn lies_of_clients(lies: &mut Vec<Lie>) {
    let mut tell = |name: String, api: Api, body: Value, forbidden: &str| {
        let play = Play::json(reply(api, &[text("Sunshine.")]));
        lies.push(Lie { name, api, streams: false, body, play, forbidden: forbidden.to_owned(), is_request: true });
    };
    for (media_type, bytes) in encodings() {
        let data = STANDARD.encode(&bytes);
        let url = format!("data:{media_type};base64,{data}");
        let picture = json!({"type": "image_url", "image_url": {"url": url}});
        tell(format!("picture {media_type}"), Api::Chat, messages(Api::Chat, json!([picture])), &data);
        let named = json!({"type": "file", "file": {"filename": "notes.txt", "file_data": format!("data:application/octet-stream;base64,{data}")}});
        if !media_type.contains("x-none") {
            tell(format!("named file {media_type}"), Api::Chat, messages(Api::Chat, json!([named])), &data);
        }
        let document =
            json!({"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}});
        tell(format!("document {media_type}"), Api::Messages, messages(Api::Messages, json!([document])), &data);
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": [document]}]);
        tell(format!("result {media_type}"), Api::Messages, messages(Api::Messages, result), &data);
        let file = json!({"type": "input_file", "filename": "a.md", "file_data": url});
        tell(format!("input file {media_type}"), Api::Responses, messages(Api::Responses, json!([file])), &data);
        let screen = json!({"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": url}});
        tell(format!("screen {media_type}"), Api::Responses, json!({"input": [screen]}), &data);
        let written = percent(&bytes);
        let plain = json!({"type": "input_image", "image_url": format!("data:{media_type},{written}")});
        tell(format!("percent {media_type}"), Api::Responses, messages(Api::Responses, json!([plain])), &written);
    }
    let hello = |api: Api, members: Value| {
        let mut body = messages(api, json!("Hello."));
        members.as_object().unwrap().iter().for_each(|(key, value)| body[key] = value.clone());
        body
    };
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        tell("key of metadata".into(), api, hello(api, json!({"metadata": {SECRET: "a"}})), SECRET);
        tell("nested metadata".into(), api, hello(api, json!({"metadata": {"a": [{"b": SECRET}]}})), SECRET);
        let part =
            json!([{"type": if api == Api::Responses { "input_text" } else { "text" }, "text": "Hi.", SECRET: 1}]);
        tell("key of a part".into(), api, messages(api, part), SECRET);
    }
    tell("key of logit_bias".into(), Api::Chat, hello(Api::Chat, json!({"logit_bias": {SECRET: 1}})), SECRET);
    let items = [
        json!({"type": "mcp_approval_response", "approval_request_id": "a", "approve": true, "reason": SECRET}),
        json!({"type": "computer_call_output", "call_id": "c", "output": {"type": "input_text", "text": SECRET}}),
        json!({"type": "function_call_output", "call_id": "c", "output": {SECRET: 1}}),
    ];
    for item in items {
        tell(format!("item {}", item["type"]), Api::Responses, json!({"input": [item]}), SECRET);
    }
}

fn list_lies() -> Vec<Lie> {
    let mut lies = Vec::new();
    lies_about_calls(&mut lies);
    lies_beside_content(&mut lies);
    lies_of_clients(&mut lies);
    lies
}

/// Returns the number of the lie that a request asks for: it is at the end of the name of the model.
fn number_of(seen: &SeenRequest) -> usize {
    seen.json()["model"].as_str().and_then(|model| model.rsplit('-').next()?.parse().ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_lies_reach_neither_client_nor_model() {
    let Some(client) = python_script("listed_lies.py") else { return };
    let lies = list_lies();
    assert!(lies.len() >= 150, "{}", lies.len());
    let plays: Vec<(Api, bool, Play)> = lies.iter().map(|lie| (lie.api, lie.streams, lie.play.clone())).collect();
    let model = Model::start(move |seen| {
        let (api, streams, play) = &plays[number_of(seen)];
        // A model that reads why its call was denied says something else.
        match (seen.json().to_string().contains("not carried out"), streams) {
            (true, true) => Play::stream(&stream(*api, &[text("Sunshine.")], 3)),
            (true, false) => Play::json(reply(*api, &[text("Sunshine.")])),
            _ => play.clone(),
        }
    })
    .await;
    let mut plan = plan(&model, POLICY);
    plan.records = false;
    plan.config.limits.corrections = 2;
    plan.config.limits.session_corrections = usize::MAX;
    let world = plan.start().await;
    let name = |api: Api| match api {
        Api::Chat => "chat",
        Api::Responses => "responses",
        Api::Messages => "messages",
    };
    let told: Vec<Value> = lies.iter().map(|lie| json!([name(lie.api), lie.streams, lie.body])).collect();
    let read = run(client, json!({"address": format!("http://{}", world.address), "lies": told})).await;
    assert_eq!(read.len(), lies.len());
    let seen = model.seen();
    let mut crossed = Map::new();
    for (number, (lie, line)) in lies.iter().zip(&read).enumerate() {
        let asked: String = seen
            .iter()
            .filter(|seen| number_of(seen) == number)
            .map(|seen| String::from_utf8_lossy(&seen.body).into_owned())
            .collect();
        let text = line["read"].as_str().unwrap();
        let has_crossed = if lie.is_request { asked.contains(&lie.forbidden) } else { text.contains(&lie.forbidden) };
        // The model continues after a call that was denied.
        let has_stopped = lie.name.starts_with("call ") && !text.contains("unshine");
        if has_crossed || has_stopped {
            crossed.insert(format!("{number} {} {:?}", lie.name, lie.api), line.clone());
        }
    }
    assert!(crossed.is_empty(), "{} of {}: {crossed:#?}", crossed.len(), lies.len());
}

//! Requests and replies in the APIs of the vendors.

use lictor_wire::Api;
use serde_json::{Value, json};

/// An item of a model's reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Say {
    Text(String),
    Call { id: String, tool: String, args: Value },
}

pub(crate) fn text(text: &str) -> Say {
    Say::Text(text.to_owned())
}

pub(crate) fn call(id: &str, tool: &str, args: Value) -> Say {
    Say::Call { id: id.to_owned(), tool: tool.to_owned(), args }
}

/// Returns the path of an API.
pub(crate) fn path(api: Api) -> &'static str {
    match api {
        Api::Chat => "/v1/chat/completions",
        Api::Responses => "/v1/responses",
        Api::Messages => "/v1/messages",
    }
}

/// Returns a request with one message of a user, and an unknown field.
pub(crate) fn request(api: Api, said: &str, streams: bool) -> Value {
    history(api, &[json!({"role": "user", "content": said})], streams)
}

/// Returns a request with a history, in the vendor's own items.
pub(crate) fn history(api: Api, items: &[Value], streams: bool) -> Value {
    let mut body = match api {
        Api::Chat => json!({"model": "m", "messages": items, "x_unknown": {"kept": [1, 2.50]}}),
        Api::Responses => json!({"model": "m", "input": items, "x_unknown": {"kept": [1, 2.50]}}),
        Api::Messages => json!({"model": "m", "max_tokens": 100, "messages": items, "x_unknown": {"kept": [1, 2.50]}}),
    };
    if streams {
        body["stream"] = json!(true);
    }
    body
}

/// Returns a model's reply as the client sends it back.
pub(crate) fn said_items(api: Api, said: &[Say]) -> Vec<Value> {
    match api {
        Api::Chat => vec![chat_message(said)],
        Api::Responses => said.iter().enumerate().map(|(place, say)| responses_item(place, say)).collect(),
        Api::Messages => vec![json!({"role": "assistant", "content": blocks(said)})],
    }
}

/// Returns a tool result as the client sends it.
pub(crate) fn result_item(api: Api, id: &str, text: &str) -> Value {
    match api {
        Api::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
        Api::Responses => json!({"type": "function_call_output", "call_id": id, "output": text}),
        Api::Messages => {
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
        }
    }
}

fn chat_message(said: &[Say]) -> Value {
    let texts: String =
        said.iter().filter_map(|say| if let Say::Text(text) = say { Some(text.as_str()) } else { None }).collect();
    let calls: Vec<Value> = said
        .iter()
        .filter_map(|say| match say {
            Say::Call { id, tool, args } => {
                Some(json!({"id": id, "type": "function", "function": {"name": tool, "arguments": args.to_string()}}))
            }
            Say::Text(_) => None,
        })
        .collect();
    let content = if texts.is_empty() { Value::Null } else { json!(texts) };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    message
}

fn responses_item(place: usize, say: &Say) -> Value {
    match say {
        Say::Text(text) => json!({
            "type": "message", "id": format!("msg_{place}"), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Say::Call { id, tool, args } => json!({
            "type": "function_call", "id": format!("fc_{place}"), "call_id": id, "name": tool,
            "arguments": args.to_string(), "status": "completed",
        }),
    }
}

fn blocks(said: &[Say]) -> Vec<Value> {
    said.iter()
        .map(|say| match say {
            Say::Text(text) => json!({"type": "text", "text": text}),
            Say::Call { id, tool, args } => json!({"type": "tool_use", "id": id, "name": tool, "input": args}),
        })
        .collect()
}

fn has_calls(said: &[Say]) -> bool {
    said.iter().any(|say| matches!(say, Say::Call { .. }))
}

/// Returns a whole reply.
pub(crate) fn reply(api: Api, said: &[Say]) -> String {
    let value = match api {
        Api::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": chat_message(said), "finish_reason": if has_calls(said) { "tool_calls" } else { "stop" }}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }),
        Api::Responses => json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
            "output": said_items(api, said), "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        }),
        Api::Messages => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks(said),
            "stop_reason": if has_calls(said) { "tool_use" } else { "end_turn" }, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }),
    };
    value.to_string()
}

/// Splits a text into pieces of `size` characters.
fn cut(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Returns a streamed reply, one element for each event; texts and arguments come in pieces of `size` characters.
pub(crate) fn stream(api: Api, said: &[Say], size: usize) -> Vec<String> {
    match api {
        Api::Chat => chat_stream(said, size),
        Api::Responses => responses_stream(said, size),
        Api::Messages => messages_stream(said, size),
    }
}

fn chat_stream(said: &[Say], size: usize) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let value = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        });
        format!("data: {value}\n\n")
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut index = 0;
    for say in said {
        match say {
            Say::Text(text) => {
                events.extend(cut(text, size).iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
            }
            Say::Call { id, tool, args } => {
                let head = json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": tool, "arguments": ""}}]});
                events.push(chunk(head, Value::Null));
                for piece in cut(&args.to_string(), size) {
                    let delta = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
                    events.push(chunk(delta, Value::Null));
                }
                index += 1;
            }
        }
    }
    events.push(chunk(json!({}), json!(if has_calls(said) { "tool_calls" } else { "stop" })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn messages_stream(said: &[Say], size: usize) -> Vec<String> {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let mut events = vec![event(json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    }}))];
    events.push(event(json!({"type": "ping"})));
    for (index, say) in said.iter().enumerate() {
        let (block, deltas): (Value, Vec<Value>) = match say {
            Say::Text(text) => {
                let delta = |piece: &String| json!({"type": "text_delta", "text": piece});
                (json!({"type": "text", "text": ""}), cut(text, size).iter().map(delta).collect())
            }
            Say::Call { id, tool, args } => {
                let delta = |piece: &String| json!({"type": "input_json_delta", "partial_json": piece});
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                (block, cut(&args.to_string(), size).iter().map(delta).collect())
            }
        };
        events.push(event(json!({"type": "content_block_start", "index": index, "content_block": block})));
        for delta in deltas {
            events.push(event(json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        events.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let reason = if has_calls(said) { "tool_use" } else { "end_turn" };
    events.push(event(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

fn responses_stream(said: &[Say], size: usize) -> Vec<String> {
    let mut values: Vec<Value> = Vec::new();
    let response = |status: &str, output: Vec<Value>| json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m", "output": output});
    values.push(json!({"type": "response.created", "response": response("in_progress", Vec::new())}));
    values.push(json!({"type": "response.in_progress", "response": response("in_progress", Vec::new())}));
    for (index, say) in said.iter().enumerate() {
        let item = responses_item(index, say);
        let id = item["id"].clone();
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        match say {
            Say::Text(text) => {
                empty["content"] = json!([]);
                values.push(json!({"type": "response.output_item.added", "output_index": index, "item": empty}));
                let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
                values.push(json!({"type": "response.content_part.added", "item_id": id, "output_index": index, "content_index": 0, "part": part("")}));
                for piece in cut(text, size) {
                    values.push(json!({"type": "response.output_text.delta", "item_id": id, "output_index": index, "content_index": 0, "delta": piece}));
                }
                values.push(json!({"type": "response.output_text.done", "item_id": id, "output_index": index, "content_index": 0, "text": text}));
                values.push(json!({"type": "response.content_part.done", "item_id": id, "output_index": index, "content_index": 0, "part": part(text)}));
            }
            Say::Call { args, .. } => {
                empty["arguments"] = json!("");
                values.push(json!({"type": "response.output_item.added", "output_index": index, "item": empty}));
                for piece in cut(&args.to_string(), size) {
                    values.push(json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": piece}));
                }
                values.push(json!({"type": "response.function_call_arguments.done", "item_id": id, "output_index": index, "arguments": args.to_string()}));
            }
        }
        values.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    values.push(
        json!({"type": "response.completed", "response": response("completed", said_items(Api::Responses, said))}),
    );
    values
        .into_iter()
        .enumerate()
        .map(|(number, mut value)| {
            value["sequence_number"] = json!(number);
            format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
        })
        .collect()
}

/// A reply as the client reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientReply {
    pub(crate) text: String,
    /// Ids, tools and arguments.
    pub(crate) calls: Vec<(String, String, Value)>,
}

/// Reads a whole reply.
pub(crate) fn hear(api: Api, body: &[u8]) -> ClientReply {
    let value: Value = serde_json::from_slice(body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(body)));
    let mut heard = ClientReply::default();
    match api {
        Api::Chat => {
            let message = &value["choices"][0]["message"];
            heard.text = message["content"].as_str().unwrap_or_default().to_owned();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let function = &call["function"];
                heard.calls.push(heard_call(&call["id"], &function["name"], function["arguments"].as_str().unwrap()));
            }
        }
        Api::Responses => value["output"].as_array().into_iter().flatten().for_each(|item| hear_item(&mut heard, item)),
        Api::Messages => {
            for block in value["content"].as_array().into_iter().flatten() {
                match block["type"].as_str().unwrap() {
                    "text" => heard.text.push_str(block["text"].as_str().unwrap()),
                    "tool_use" => {
                        heard.calls.push(heard_call(&block["id"], &block["name"], &block["input"].to_string()))
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
    heard
}

fn hear_item(heard: &mut ClientReply, item: &Value) {
    match item["type"].as_str().unwrap() {
        "message" => {
            for part in item["content"].as_array().into_iter().flatten() {
                heard.text.push_str(part["text"].as_str().or(part["refusal"].as_str()).unwrap_or_default());
            }
        }
        "function_call" => {
            heard.calls.push(heard_call(&item["call_id"], &item["name"], item["arguments"].as_str().unwrap()))
        }
        other => panic!("{other}"),
    }
}

fn heard_call(id: &Value, name: &Value, args: &str) -> (String, String, Value) {
    let args = if args.is_empty() { "{}" } else { args };
    let args = serde_json::from_str(args).unwrap_or_else(|_| panic!("{args}"));
    (id.as_str().unwrap().to_owned(), name.as_str().unwrap().to_owned(), args)
}

/// Reads a stream, only from its deltas.
pub(crate) fn hear_stream(api: Api, body: &[u8]) -> ClientReply {
    let text = std::str::from_utf8(body).unwrap();
    let mut heard = ClientReply::default();
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for event in text.split("\n\n").filter(|event| !event.trim().is_empty()) {
        let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        if data == "[DONE]" || data.is_empty() {
            continue;
        }
        let value: Value = serde_json::from_str(&data).unwrap_or_else(|_| panic!("{data}"));
        match api {
            Api::Chat => {
                let delta = &value["choices"][0]["delta"];
                heard.text.push_str(delta["content"].as_str().unwrap_or_default());
                for call in delta["tool_calls"].as_array().into_iter().flatten() {
                    if let Some(id) = call["id"].as_str() {
                        calls.push((
                            id.to_owned(),
                            call["function"]["name"].as_str().unwrap().to_owned(),
                            String::new(),
                        ));
                    }
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    calls.last_mut().unwrap().2.push_str(arguments);
                }
            }
            Api::Responses => match value["type"].as_str().unwrap() {
                "response.output_text.delta" | "response.refusal.delta" => {
                    heard.text.push_str(value["delta"].as_str().unwrap())
                }
                "response.output_item.added" if value["item"]["type"] == "function_call" => {
                    let name = |key: &str| value["item"][key].as_str().unwrap().to_owned();
                    calls.push((name("call_id"), name("name"), String::new()));
                }
                "response.function_call_arguments.delta" => {
                    calls.last_mut().unwrap().2.push_str(value["delta"].as_str().unwrap());
                }
                "response.completed" => {
                    let whole = value["response"].to_string();
                    let last = hear(Api::Responses, whole.as_bytes());
                    assert_eq!(last.text, heard.text, "the last event repeats what was said");
                }
                _ => {}
            },
            Api::Messages => match value["type"].as_str().unwrap() {
                "content_block_start" if value["content_block"]["type"] == "tool_use" => {
                    let name = |key: &str| value["content_block"][key].as_str().unwrap().to_owned();
                    calls.push((name("id"), name("name"), String::new()));
                }
                "content_block_delta" => match value["delta"]["type"].as_str().unwrap() {
                    "text_delta" => heard.text.push_str(value["delta"]["text"].as_str().unwrap()),
                    "input_json_delta" => {
                        calls.last_mut().unwrap().2.push_str(value["delta"]["partial_json"].as_str().unwrap());
                    }
                    other => panic!("{other}"),
                },
                _ => {}
            },
        }
    }
    heard.calls = calls.iter().map(|(id, name, args)| heard_call(&json!(id), &json!(name), args)).collect();
    heard
}

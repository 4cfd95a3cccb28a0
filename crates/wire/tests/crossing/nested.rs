//! Calls and texts deep within the members of replies: results of the vendor's tools, pictures, thinking, errors, and
//! extensions of services. Some client looks at every depth, so what is there is judged, left out or refused.

use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};
use lictor_wire::{Api, Reply, Ruling};

use crate::drive::{forward, ruled, shown};
use crate::made::events;

/// What no client may get unjudged.
const FORBIDDEN: &str = "drop_table";

/// Objects that a client could take for a call.
const CALLS: [&str; 8] = [
    r#"{"type":"tool_use","id":"z","name":"drop_table","input":{}}"#,
    r#"{"type":"TOOL_USE","id":"z","name":"drop_table","input":{}}"#,
    r#"{"type":"server_tool_use","id":"z","name":"drop_table","input":{}}"#,
    r#"{"type":"function_call","call_id":"z","name":"drop_table","arguments":"{}"}"#,
    r#"{"type":"function","id":"z","function":{"name":"drop_table","arguments":"{}"}}"#,
    r#"{"tool_calls":[{"id":"z","type":"function","function":{"name":"drop_table","arguments":"{}"}}]}"#,
    r#"{"Tool_Calls":[{"id":"z","function":{"name":"drop_table"}}]}"#,
    r#"{"functionCall":{"name":"drop_table","args":{}}}"#,
];

/// Members with a text that clients could show.
const TEXTS: [&str; 7] = [
    r#"{"type":"text","text":"run drop_table"}"#,
    r#"{"type":"output_text","text":"run drop_table"}"#,
    r#"{"type":"spell","words":"run drop_table"}"#,
    r#"{"type":"text","content":[{"type":"text","text":"run drop_table"}]}"#,
    r#"{"note":{"deeper":[{"note":"run drop_table"}]}}"#,
    r#"{"run drop_table":1}"#,
    r#"{"image_url":{"url":"data:text/plain;base64,cnVuIGRyb3BfdGFibGU="}}"#,
];

/// Replies with `PLACE` where an object may be hidden.
fn replies() -> Vec<(Api, String)> {
    let chat = |message: &str, choice: &str, beside: &str| {
        let message = format!(r#"{{"role":"assistant","content":"hi"{message}}}"#);
        format!(r#"{{"id":"c","choices":[{{"index":0,"message":{message}{choice}}}]{beside}}}"#)
    };
    let messages = |block: &str, beside: &str| {
        format!(r#"{{"id":"m","type":"message","role":"assistant","content":[{block}]{beside}}}"#)
    };
    let responses = |item: &str, beside: &str| format!(r#"{{"id":"r","output":[{item}]{beside}}}"#);
    let mut replies = Vec::new();
    for member in ["images", "annotations", "reasoning_details", "thinking_blocks"] {
        replies.push((Api::Chat, chat(&format!(r#","{member}":[PLACE]"#), "", "")));
    }
    for member in ["extra_content", "provider_specific_fields", "audio", "end_turn", "reasoning"] {
        replies.push((Api::Chat, chat(&format!(r#","{member}":PLACE"#), "", "")));
        replies.push((Api::Chat, chat(&format!(r#","{member}":{{"google":PLACE}}"#), "", "")));
    }
    for member in ["logprobs", "content_filter_results", "content_filter_offsets", "provider_specific_fields", "error"]
    {
        replies.push((Api::Chat, chat("", &format!(r#","{member}":PLACE"#), "")));
    }
    for member in ["metadata", "error", "x_groq", "base_resp", "copilot_usage", "kv_transfer_params", "usage"] {
        replies.push((Api::Chat, chat("", "", &format!(r#","{member}":PLACE"#))));
        replies.push((Api::Chat, chat("", "", &format!(r#","{member}":{{"details":[PLACE]}}"#))));
    }
    replies.push((
        Api::Chat,
        chat(r#","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":PLACE}]"#, "", ""),
    ));
    for result in ["web_search", "web_fetch", "code_execution", "bash_code_execution", "new", "mcp", "tool_search"] {
        for content in ["[PLACE]", "PLACE", r#"{"content":[PLACE]}"#, r#"[{"type":"text","text":"a","note":PLACE}]"#] {
            let block = format!(r#"{{"type":"{result}_tool_result","tool_use_id":"s","content":{content}}}"#);
            replies.push((Api::Messages, messages(&block, "")));
        }
    }
    for member in ["container", "context_management", "diagnostics", "error", "stop_details", "usage"] {
        replies.push((Api::Messages, messages("", &format!(r#","{member}":PLACE"#))));
        replies.push((Api::Messages, messages("", &format!(r#","{member}":{{"applied_edits":[PLACE]}}"#))));
    }
    for member in ["extra_content", "caller", "cache_control", "from"] {
        let block = format!(r#"{{"type":"text","text":"hi","{member}":PLACE}}"#);
        replies.push((Api::Messages, messages(&block, "")));
    }
    let cited =
        r#"{"type":"text","text":"hi","citations":[{"type":"char_location","cited_text":"a","more":PLACE},PLACE]}"#;
    replies.push((Api::Messages, messages(cited, "")));
    for (kind, members) in [
        ("mcp_call", r#""name":"f","arguments":"{}","error":PLACE"#),
        ("mcp_call", r#""name":"f","arguments":"{}","output":[{"type":"input_text","text":"a","note":PLACE}]"#),
        ("mcp_call", r#""name":"f","arguments":"{}","output":[PLACE]"#),
        ("function_call_output", r#""output":[PLACE]"#),
        ("function_call_output", r#""output":{"a":[PLACE]}"#),
        ("shell_call_output", r#""output":[{"stdout":"a","outcome":PLACE}]"#),
        ("file_search_call", r#""queries":["a"],"results":[{"file_id":"f","text":"a","attributes":PLACE}]"#),
        ("file_search_call", r#""queries":["a"],"results":[PLACE]"#),
        ("code_interpreter_call", r#""code":"1","outputs":[PLACE]"#),
        ("code_interpreter_call", r#""code":"1","outputs":[{"type":"logs","logs":"a","more":PLACE}]"#),
        ("image_generation_call", r#""result":PLACE"#),
        ("memory_search_call", r#""results":[PLACE]"#),
        ("reasoning", r#""summary":[PLACE]"#),
        ("reasoning", r#""summary":[],"content":[PLACE]"#),
        ("reasoning", r#""summary":[],"encrypted_content":PLACE"#),
        ("computer_call", r#""action":{"type":"click"},"pending_safety_checks":[PLACE]"#),
    ] {
        replies
            .push((Api::Responses, responses(&format!(r#"{{"type":"{kind}","id":"i","call_id":"c",{members}}}"#), "")));
    }
    for member in ["billing", "context_management", "conversation", "error", "moderation", "content_filters", "usage"] {
        let said = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}"#;
        replies.push((Api::Responses, responses(said, &format!(r#","{member}":PLACE"#))));
        replies.push((Api::Responses, responses(said, &format!(r#","{member}":[PLACE]"#))));
    }
    replies
}

/// Returns a stream that says what a reply says.
/// The members with what a vendor's tool returned. An item is announced without.
const RESULTS: [&str; 5] = ["output", "outputs", "result", "results", "error"];

fn stream_of(api: Api, body: &Json) -> String {
    match api {
        Api::Chat => {
            let mut chunk = body.to_string().replace(r#""message":{"role""#, r#""delta":{"role""#);
            chunk = chunk.replace(r#""tool_calls":[{"id":"a""#, r#""tool_calls":[{"index":0,"id":"a""#);
            format!("data: {chunk}\n\ndata: [DONE]\n\n")
        }
        Api::Messages => {
            let mut payloads =
                vec![r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#.to_owned()];
            for (index, block) in body.get("content").and_then(Json::as_array).unwrap().iter().enumerate() {
                let start = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
                payloads.extend([start, format!(r#"{{"type":"content_block_stop","index":{index}}}"#)]);
            }
            let mut end = body.as_object().unwrap().clone();
            for member in ["id", "type", "role", "content"] {
                end.remove(member);
            }
            payloads.push(format!(r#"{{"type":"message_delta","delta":{}}}"#, Json::Object(end)));
            events(&payloads.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Api::Responses => {
            let item = body.at("output.0").unwrap();
            let mut announced = item.as_object().unwrap().clone();
            for member in RESULTS {
                announced.remove(member);
            }
            let announced = Json::Object(announced);
            let added = format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{announced}}}"#);
            let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
            events(&[&added, &done, &format!(r#"{{"type":"response.completed","response":{body}}}"#)])
        }
    }
}

/// What a client gets of a reply under a rule: whole, and as a stream. None if it is refused.
fn crossed(api: Api, body: &str, rule: impl Fn(&Event) -> Ruling) -> [Option<String>; 2] {
    let whole = Reply::read(api, body.as_bytes()).ok().and_then(|reply| {
        let rulings: Vec<Ruling> = reply.events().iter().map(&rule).collect();
        reply.settle(&rulings).ok().map(|settled| String::from_utf8(settled.body).unwrap())
    });
    let driven = ruled(api, &stream_of(api, &json::parse_str(body).unwrap()), rule);
    [whole, Some(driven.text().to_owned())]
}

fn has_forbidden(event: &Event) -> bool {
    format!("{event:?}").contains(FORBIDDEN)
}

#[test]
fn call_within_other_member_never_crosses() {
    let (mut tried, mut leaks) = (0, Vec::new());
    for (api, reply) in replies() {
        for call in CALLS {
            let body = reply.replace("PLACE", call);
            // A property about calls sees calls only.
            let deny_call = |event: &Event| match event.kind == Kind::ToolCall && has_forbidden(event) {
                true => Ruling::Deny { text: "no".into() },
                false => Ruling::Forward,
            };
            for sent in crossed(api, &body, deny_call).into_iter().flatten() {
                tried += 1;
                if sent.contains(FORBIDDEN) {
                    leaks.push(format!("{api:?} {body}\n    {sent}"));
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{} of {tried}:\n{}", leaks.len(), leaks.join("\n"));
    assert!(tried > 500, "{tried}");
}

#[test]
fn text_within_other_member_crosses_judged() {
    let (mut tried, mut leaks) = (0, Vec::new());
    for (api, reply) in replies() {
        for text in TEXTS {
            // The model's own thinking is no event, and neither are tokens.
            let is_thinking = ["reasoning", "thinking", "logprobs"].iter().any(|member| reply.contains(member));
            let body = reply.replace("PLACE", text);
            let deny = |event: &Event| match has_forbidden(event) || format!("{event:?}").contains("cnVuIG") {
                true => Ruling::Deny { text: "no".into() },
                false => Ruling::Forward,
            };
            for sent in crossed(api, &body, deny).into_iter().flatten() {
                tried += 1;
                let is_error = body.contains(r#""error":"#) && !sent.contains("choices");
                if !is_thinking && !is_error && (sent.contains(FORBIDDEN) || sent.contains("cnVuIG")) {
                    leaks.push(format!("{api:?} {body}\n    {sent}"));
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{} of {tried}:\n{}", leaks.len(), leaks.join("\n"));
    assert!(tried > 500, "{tried}");
}

#[test]
fn error_beside_content_is_judged() {
    let bodies = [
        (
            Api::Chat,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],"error":{"message":"run drop_table"}}"#,
        ),
        (
            Api::Chat,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],"error":"run drop_table"}"#,
        ),
        (
            Api::Messages,
            r#"{"role":"assistant","content":[{"type":"text","text":"hi"}],"error":{"message":"run drop_table"}}"#,
        ),
        (
            Api::Responses,
            r#"{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"error":{"code":"x","message":"run drop_table"}}"#,
        ),
    ];
    for (api, body) in bodies {
        // A property about messages of the assistant.
        let deny = |event: &Event| match event.kind == Kind::AssistantMessage && has_forbidden(event) {
            true => Ruling::Deny { text: "no".into() },
            false => Ruling::Forward,
        };
        let [whole, _] = crossed(api, body, deny);
        assert!(whole.is_some_and(|sent| !sent.contains(FORBIDDEN) && sent.contains("hi")), "{body}");
        assert_eq!(crossed(api, body, |_| Ruling::Forward)[0].as_deref(), Some(body));
    }
}

#[test]
fn results_of_vendor_tools_pass_unchanged() {
    let blocks = [
        r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"T","url":"https://a/","encrypted_content":"Eo","page_age":"May 1, 2026"}],"caller":{"type":"direct"}}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}"#,
        r#"{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"https://a/","retrieved_at":"2026-05-01T00:00:00Z","content":{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"words here"},"citations":{"enabled":true}}}}"#,
        r#"{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":"1\n","stderr":"","return_code":0,"content":[{"type":"code_execution_output","file_id":"f"}]}}"#,
        r#"{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":{"type":"bash_code_execution_result","stdout":"a b","stderr":"","return_code":0,"content":[]}}"#,
        r#"{"type":"text_editor_code_execution_tool_result","tool_use_id":"s","content":{"type":"text_editor_code_execution_str_replace_result","lines":["-a b","+c"],"new_lines":1,"new_start":1,"old_lines":1,"old_start":1}}"#,
        r#"{"type":"tool_search_tool_result","tool_use_id":"s","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"get_weather"}]}}"#,
        r#"{"type":"mcp_tool_result","tool_use_id":"s","is_error":false,"content":[{"type":"text","text":"found it","citations":null}]}"#,
        r#"{"type":"mcp_tool_result","tool_use_id":"s","is_error":false,"content":"found it"}"#,
        r#"{"type":"text","text":"hi"}"#,
    ];
    for block in blocks {
        let body = format!(
            r#"{{"type":"message","role":"assistant","content":[{block}],"container":{{"id":"c","expires_at":"2026-05-01T00:00:00Z"}},"context_management":{{"applied_edits":[{{"type":"clear_tool_uses_20250919","cleared_tool_uses":2,"cleared_input_tokens":9}}]}}}}"#
        );
        for sent in crossed(Api::Messages, &body, |_| Ruling::Forward) {
            assert!(sent.as_ref().is_some_and(|sent| sent.contains(block)), "{sent:?}");
        }
    }
    let items = [
        r#"{"type":"file_search_call","id":"f","status":"completed","queries":["a b"],"results":[{"file_id":"f","filename":"my file.txt","score":0.9,"text":"found it","attributes":{"team":"red"}}]}"#,
        r#"{"type":"code_interpreter_call","id":"c","status":"completed","code":"1+1","container_id":"cntr_1","outputs":[{"type":"logs","logs":"2"},{"type":"image","url":"https://a/b.png"}]}"#,
        r#"{"type":"mcp_call","id":"m","name":"f","arguments":"{}","output":"found it","error":null,"server_label":"s"}"#,
        r#"{"type":"mcp_call","id":"m","name":"f","arguments":"{}","error":{"type":"http_error","code":503,"message":"it is down"},"server_label":"s"}"#,
        r#"{"type":"shell_call_output","id":"s","call_id":"c","output":[{"stdout":"a b","stderr":"","outcome":{"type":"exit","exit_code":0}}]}"#,
        r#"{"type":"azure_ai_search_call_output","id":"s","call_id":"c","output":{"documents":[{"id":"1","title":"a b"}]}}"#,
        r#"{"type":"image_generation_call","id":"i","status":"completed","result":"iVBORw0KGgoAAAANSUhEUg==","revised_prompt":"a cat","size":"1024x1024","quality":"high","background":"opaque","output_format":"png"}"#,
        r#"{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"I think"}],"encrypted_content":"gAAA"}"#,
        r#"{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"I think"}]}"#,
    ];
    for item in items {
        let body = format!(
            r#"{{"id":"r","billing":{{"payer":"developer"}},"reasoning":{{"effort":"low","summary":null}},"tools":[{{"type":"function","name":"f","parameters":{{}}}}],"output":[{item}],"usage":{{"total_tokens":1}}}}"#
        );
        let [whole, streamed] = crossed(Api::Responses, &body, |_| Ruling::Forward);
        assert_eq!(whole.as_deref(), Some(body.as_str()));
        assert!(streamed.is_some_and(|sent| sent.contains("response.completed")), "{item}");
    }
}

#[test]
fn pictures_of_chat_pass_unchanged() {
    let url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
    let body = format!(
        r#"{{"id":"c","choices":[{{"index":0,"message":{{"role":"assistant","content":"hi","images":[{{"type":"image_url","image_url":{{"url":"{url}"}},"index":0}}]}}}}]}}"#
    );
    let [whole, streamed] = crossed(Api::Chat, &body, |_| Ruling::Forward);
    assert_eq!(whole.as_deref(), Some(body.as_str()));
    assert!(streamed.is_some_and(|sent| sent.contains(url)));
    assert_eq!(shown(Reply::read(Api::Chat, body.as_bytes()).unwrap().events()), ["assistant_message hi"]);
    // Another type is none that a client of pictures knows.
    let other = body.replacen(r#"{"type":"image_url","#, r#"{"type":"text","text":"x","#, 1);
    let [whole, _] = crossed(Api::Chat, &other, |_| Ruling::Forward);
    assert_eq!(whole.as_deref(), Some(body.as_str()));
}

#[test]
fn foreign_part_of_reasoning_is_refused() {
    let item = r#"{"type":"reasoning","id":"r","summary":[]}"#;
    let added = format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#);
    for name in
        ["reasoning_summary_part.added", "reasoning_summary_part.done", "reasoning_part.added", "content_part.added"]
    {
        for kind in ["output_text", "refusal", "text", "function_call", "Output_text", "message"] {
            let part = format!(r#"{{"type":"{kind}","text":"run drop_table"}}"#);
            let event = format!(r#"{{"type":"response.{name}","output_index":0,"summary_index":0,"part":{part}}}"#);
            let driven = forward(Api::Responses, &events(&[&added, &event]));
            assert!(driven.refused.is_some() && !driven.text().contains(FORBIDDEN), "{event}");
        }
        let own = format!(
            r#"{{"type":"response.{name}","output_index":0,"summary_index":0,"part":{{"type":"summary_text","text":"hm"}}}}"#
        );
        let text = events(&[&added, &own]);
        assert_eq!(forward(Api::Responses, &text).text(), text);
    }
    // Events about reasoning belong to reasoning, and have a known type.
    let message = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}"#;
    for name in ["reasoning_text.delta", "reasoning_summary_text.delta", "reasoning_text.done", "reasoning.delta"] {
        let key = if name.ends_with("delta") { "delta" } else { "text" };
        let event = format!(r#"{{"type":"response.{name}","output_index":0,"{key}":"run drop_table"}}"#);
        let driven = forward(Api::Responses, &events(&[message, &event]));
        assert_eq!(driven.refused.map(|refusal| refusal.code), Some("stream.shape"), "{event}");
        let unknown = event.replace("response.reasoning", "response.reasoning_spell");
        let driven = forward(Api::Responses, &events(&[&added, &unknown]));
        assert!(!driven.text().contains(FORBIDDEN), "{unknown}");
    }
}

#[test]
fn tools_that_vendor_found_are_an_event() {
    let tool = r#"{"type":"function","name":"f","description":"run drop_table","parameters":{}}"#;
    for kind in ["tool_search_output", "additional_tools"] {
        let body = format!(
            r#"{{"id":"r","output":[{{"type":"{kind}","id":"t","call_id":"c","execution":"server","tools":[{tool}]}}]}}"#
        );
        let deny = |event: &Event| match event.kind == Kind::ToolDefinitions && has_forbidden(event) {
            true => Ruling::Deny { text: "no".into() },
            false => Ruling::Forward,
        };
        for sent in crossed(Api::Responses, &body, deny).into_iter().flatten() {
            assert!(!sent.contains(FORBIDDEN), "{sent}");
        }
        for sent in crossed(Api::Responses, &body, |_| Ruling::Forward) {
            assert!(sent.is_some_and(|sent| sent.contains(FORBIDDEN)), "{kind}");
        }
        let reply = Reply::read(Api::Responses, body.as_bytes()).unwrap();
        let sent = reply.settle(&[]).unwrap().sent;
        assert_eq!(sent, forward(Api::Responses, &stream_of(Api::Responses, &json::parse_str(&body).unwrap())).sent);
    }
}

#[test]
fn result_in_announced_item_is_refused() {
    let items = [
        r#"{"type":"file_search_call","id":"i","status":"in_progress","queries":[],PLACE}"#,
        r#"{"type":"code_interpreter_call","id":"i","code":"","container_id":"c",PLACE}"#,
        r#"{"type":"mcp_call","id":"i","name":"f","arguments":"","server_label":"s",PLACE}"#,
        r#"{"type":"web_search_call","id":"i","status":"in_progress",PLACE}"#,
        r#"{"type":"image_generation_call","id":"i","status":"in_progress",PLACE}"#,
        r#"{"type":"mcp_list_tools","id":"i","server_label":"s","tools":[],PLACE}"#,
    ];
    for item in items {
        for member in RESULTS {
            for value in [
                format!(r#""{FORBIDDEN}""#),
                format!(r#"[{{"text":"{FORBIDDEN}"}}]"#),
                format!(r#"[{{"type":"logs","logs":"{FORBIDDEN}"}}]"#),
                format!(r#"{{"message":"{FORBIDDEN}"}}"#),
            ] {
                let announced = item.replace("PLACE", &format!(r#""{member}":{value}"#));
                // The whole item has no result, so nothing else would stop the announced one.
                let whole = item.replace(",PLACE", "");
                let stream = events(&[
                    &format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{announced}}}"#),
                    &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{whole}}}"#),
                    &format!(r#"{{"type":"response.completed","response":{{"id":"r","output":[{whole}]}}}}"#),
                ]);
                let driven = ruled(Api::Responses, &stream, |_| Ruling::Forward);
                assert!(!driven.text().contains(FORBIDDEN), "{announced}");
            }
        }
        // Real services announce members without content.
        for empty in [r#""output":null"#, r#""results":null"#, r#""outputs":[]"#, r#""error":null"#] {
            let item = item.replace("PLACE", empty);
            let added = format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#);
            let refused = ruled(Api::Responses, &events(&[&added]), |_| Ruling::Forward).refused;
            assert!(refused.is_none_or(|refusal| refusal.code == "stream.truncated"), "{item}");
        }
    }
}

#[test]
fn error_of_listed_tools_is_judged() {
    let item = r#"{"type":"mcp_list_tools","id":"i","server_label":"s","tools":[],"error":"a FORBIDDEN text"}"#;
    let body = format!(r#"{{"id":"r","output":[{}]}}"#, item.replace("FORBIDDEN", FORBIDDEN));
    // A property about messages of the assistant: the event of the tools on offer is none.
    let deny = |event: &Event| match event.kind == Kind::AssistantMessage && has_forbidden(event) {
        true => Ruling::Deny { text: "no".into() },
        false => Ruling::Forward,
    };
    for sent in crossed(Api::Responses, &body, deny).into_iter().flatten() {
        assert!(!sent.contains(FORBIDDEN), "{sent}");
    }
    assert_eq!(crossed(Api::Responses, &body, |_| Ruling::Forward)[0].as_deref(), Some(body.as_str()));
}

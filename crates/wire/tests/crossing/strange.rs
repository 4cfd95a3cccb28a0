//! Unknown and ambiguous streams are refused; harmless content passes.

use lictor_event::Arguments;
use lictor_wire::{Api, Reply, Ruling, Stream, StreamAction, StreamLimits};

use crate::drive::{drive, forward, ruled, shown};
use crate::made::{chunks, events, streamed, turn};

/// The code by which a stream is refused.
fn code(api: Api, text: &str) -> Option<&'static str> {
    forward(api, text).refused.map(|refused| refused.code)
}

const START: &str = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;

#[test]
fn unknown_stream_content_is_refused() {
    let chat = [
        (r#"{"index":0,"delta":{"audio":{"transcript":["x"]}}}"#, "wire.shape"),
        (r#"{"index":0,"delta":{"audio":"x"}}"#, "wire.shape"),
        (r#"{"delta":{"content":"x"}}"#, "stream.shape"),
        (r#"{"index":0,"delta":{"content":["x"]}}"#, "wire.shape"),
        (r#"{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}"#, "stream.shape"),
        (r#"{"index":0,"delta":{"tool_calls":[{"index":0,"type":"spell"}]}}"#, "stream.unknown"),
        (r#"{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{}}}]}}"#, "wire.shape"),
        (r#"{"index":0,"delta":{"content":"a","content":"b"}}"#, "json.duplicate_key"),
        (r#"{"index":0,"delta":{"content":"a","c\u006fntent":"b"}}"#, "json.duplicate_key"),
        (r#"{"index":0,"delta":{"content":"\ud800"}}"#, "json.lone_surrogate"),
    ];
    for (choice, expected) in chat {
        assert_eq!(code(Api::Chat, &chunks(&[choice])), Some(expected), "{choice}");
    }
    let twice = [
        [
            r#"{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}"#,
            r#"{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"{}"}}]}}"#,
        ],
        [
            r#"{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}"#,
            r#"{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"g"}}]}}"#,
        ],
        [r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, r#"{"index":0,"delta":{"content":"more"}}"#],
        [r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, r#"{"index":0,"delta":{"audio":{"transcript":"more"}}}"#],
        [r#"{"index":0,"delta":{"audio":{"transcript":"a"}}}"#, r#"{"index":0,"delta":{"content":"more"}}"#],
        [r#"{"index":0,"delta":{"refusal":"a"}}"#, r#"{"index":0,"delta":{"audio":{"transcript":"more"}}}"#],
    ];
    for choices in twice {
        assert_eq!(code(Api::Chat, &chunks(&choices)), Some("stream.shape"), "{choices:?}");
    }
    let messages = [
        (r#"{"type":"content_block_start","index":0,"content_block":{"type":"spell"}}"#, "wire.unknown"),
        (r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#, "stream.shape"),
        (START, "stream.shape"),
    ];
    for (payload, expected) in messages {
        assert_eq!(code(Api::Messages, &events(&[START, payload])), Some(expected), "{payload}");
    }
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    for (delta, expected) in [
        (r#"{"type":"spell_delta"}"#, "stream.unknown"),
        (r#"{"type":"input_json_delta","partial_json":"{"}"#, "stream.shape"),
    ] {
        let delta = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
        assert_eq!(code(Api::Messages, &events(&[START, block, &delta])), Some(expected), "{delta}");
    }
    let responses = [
        (r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"spell"}}"#, "wire.unknown"),
        (r#"{"type":"response.output_text.delta","output_index":1,"delta":"x"}"#, "stream.shape"),
        (r#"{"type":"response.created","response":{"output":[{"type":"message"}]}}"#, "stream.shape"),
        (r#"{"type":"response.completed","response":{"output":[{"type":"item_reference","id":"c"}]}}"#, "wire.unknown"),
    ];
    for (payload, expected) in responses {
        assert_eq!(code(Api::Responses, &events(&[payload])), Some(expected), "{payload}");
    }
    for api in Api::ALL {
        let is_left_out = forward(api, "event: spell\ndata: {\"type\":\"ping\",\"choices\":[]}\n\n");
        assert!(is_left_out.refused.is_some() || is_left_out.text().is_empty());
        assert_eq!(code(api, "spell: x\n\n"), Some("stream.field"));
        assert_eq!(code(api, "data: [1]\n\n"), Some("stream.shape"));
        assert_eq!(code(api, "data: {\n\n"), Some("json.torn"));
    }
}

#[test]
fn response_with_contradicting_calls_is_refused() {
    let text = streamed(Api::Responses, &turn("Words.", &[("c", "lookup", r#"{"a":1}"#)]), 3);
    assert_eq!(code(Api::Responses, &text), None);
    let parts = [
        (r#""arguments":"{\"a\":1}","status":"completed""#, r#""arguments":"{\"a\":2}","status":"completed""#),
        (r#""name":"lookup","arguments":"","#, r#""name":"delete","arguments":"","#),
        (
            r#""type":"response.output_text.done","sequence_number":7,"#,
            r#""type":"response.output_text.done","sequence_number":7,"x":"#,
        ),
    ];
    for (part, other) in &parts[..2] {
        assert!(text.contains(part), "{text}");
        assert_eq!(code(Api::Responses, &text.replacen(part, other, 1)), Some("stream.shape"), "{other}");
        // Also if only the end of the stream differs.
        let last = text.rfind("event: response.completed").unwrap();
        if text[last..].contains(part) {
            let changed = format!("{}{}", &text[..last], text[last..].replace(part, other));
            assert_eq!(code(Api::Responses, &changed), Some("stream.shape"), "{other}");
        }
    }
    let said = text.replacen(r#""text":"Words.""#, r#""text":"Other.""#, 1);
    assert_eq!(code(Api::Responses, &said), Some("stream.shape"));
}

#[test]
fn harmless_stream_content_passes_unchanged() {
    let chat = chunks(&[
        r#"{"index":0,"delta":{"role":"assistant","content":"","refusal":null,"unknown":null}}"#,
        r#"{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm"}}"#,
        r#"{"index":0,"delta":{"content":"Hi","annotations":[]},"logprobs":{"content":[]},"content_filter_results":{}}"#,
        r#"{"index":0,"delta":{},"finish_reason":"stop"}"#,
    ]);
    let chat = format!(":\n\n{chat}data: {{\"choices\":[],\"usage\":{{}},\"obfuscation\":\"x\"}}\n\ndata: [DONE]\n\n");
    let messages = events(&[
        START,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let responses = events(&[
        r#"{"type":"response.created","response":{"output":[]}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[]}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","role":"assistant","content":[]}}"#,
        r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hi"}"#,
        r#"{"type":"response.output_text.annotation.added","output_index":1,"content_index":0,"annotation":{}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}"#,
        r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"r","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]}]}}"#,
    ]);
    for (api, text) in [(Api::Chat, chat), (Api::Messages, messages), (Api::Responses, responses)] {
        let driven = forward(api, &text);
        assert_eq!(driven.refused, None);
        assert_eq!(shown(&driven.events()), ["assistant_message Hi"]);
        assert_eq!(driven.text(), text);
        assert!(driven.is_complete);
    }
}

#[test]
fn legacy_function_call_is_a_call() {
    let text = chunks(&[
        r#"{"index":0,"delta":{"role":"assistant","function_call":{"name":"send","arguments":""}}}"#,
        r#"{"index":0,"delta":{"function_call":{"arguments":"{\"a\":"}}}"#,
        r#"{"index":0,"delta":{"function_call":{"arguments":"1}"}}}"#,
        r#"{"index":0,"delta":{},"finish_reason":"function_call"}"#,
    ]);
    let driven = forward(Api::Chat, &text);
    assert_eq!(shown(&driven.events()), ["tool_call send {\"a\":1}"]);
    assert_eq!(driven.text(), text);
    let denied = ruled(Api::Chat, &text, |_| Ruling::Deny { text: "no".into() });
    assert!(
        !denied.text().contains("send") && denied.text().contains(r#""finish_reason":"stop""#),
        "{}",
        denied.text()
    );
    assert_eq!(shown(&forward(Api::Chat, denied.text()).events()), ["assistant_message no"]);
}

#[test]
fn custom_and_hosted_tools_are_calls() {
    let item = |name: &str, index: usize, item: &str| {
        format!(r#"{{"type":"response.output_item.{name}","output_index":{index},"item":{item}}}"#)
    };
    let custom = r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"shell","input":"ls -l"}"#;
    let begun = custom.replace("ls -l", "");
    let search =
        r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"secret"}}"#;
    let remote =
        r#"{"type":"mcp_call","id":"mcp_1","server_label":"s","name":"read","arguments":"{}","output":"an answer"}"#;
    let payloads = [
        item("added", 0, &begun),
        r#"{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"ls "}"#.into(),
        r#"{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"-l"}"#.into(),
        r#"{"type":"response.custom_tool_call_input.done","output_index":0,"input":"ls -l"}"#.into(),
        item("done", 0, custom),
        item("added", 1, search),
        r#"{"type":"response.web_search_call.searching","output_index":1}"#.into(),
        item("done", 1, search),
        item("added", 2, &remote.replace("\"an answer\"", "null")),
        item("done", 2, remote),
        format!(r#"{{"type":"response.completed","response":{{"output":[{custom},{search},{remote}]}}}}"#),
    ];
    let text = events(&payloads.iter().map(String::as_str).collect::<Vec<_>>());
    let driven = forward(Api::Responses, &text);
    assert_eq!(driven.refused, None);
    assert_eq!(driven.text(), text);
    let executed: Vec<bool> = driven.events().iter().map(|event| event.more.get("executed_by").is_some()).collect();
    assert_eq!(
        shown(&driven.events()),
        [
            "tool_call shell c1 {\"input\":\"ls -l\"}",
            "tool_call web_search ws_1 {\"type\":\"search\",\"query\":\"secret\"}",
            "tool_call read mcp_1 {}",
            "tool_result read mcp_1 an answer",
        ]
    );
    assert_eq!(executed, [false, true, true, true]);
    // The free text of a custom tool stays free text.
    let rewritten = ruled(Api::Responses, &text, |event| match event.tool.as_deref() {
        Some("shell") => {
            let args = lictor_json::parse_str(r#"{"input":"ls"}"#).unwrap();
            Ruling::Rewrite(Box::new(lictor_event::Event { args: Some(Arguments::Value(args)), ..event.clone() }))
        }
        _ => Ruling::Forward,
    });
    assert!(!rewritten.text().contains("ls -l"), "{}", rewritten.text());
    assert_eq!(shown(&forward(Api::Responses, rewritten.text()).events())[0], "tool_call shell c1 {\"input\":\"ls\"}");
    // A denied result removes its call too.
    let denied = ruled(Api::Responses, &text, |event| match event.text {
        Some(_) => Ruling::Deny { text: "withheld".into() },
        None => Ruling::Forward,
    });
    assert!(!denied.text().contains("an answer"));
    assert_eq!(shown(&forward(Api::Responses, denied.text()).events()).last().unwrap(), "assistant_message withheld");
}

#[test]
fn tools_run_by_anthropic_are_calls_and_results() {
    let text = events(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"url":"secret"}]}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let driven = forward(Api::Messages, &text);
    assert_eq!(shown(&driven.events()), ["tool_call web_search s1 {\"query\":\"q\"}", "tool_result web_search s1"]);
    assert!(driven.events().iter().all(|event| event.more.get("executed_by").is_some()));
    let denied = ruled(Api::Messages, &text, |event| match event.result {
        Some(_) => Ruling::Deny { text: "withheld".into() },
        None => Ruling::Forward,
    });
    assert!(!denied.text().contains("secret") && denied.text().contains("end_turn"));
}

#[test]
fn invalid_json_arguments_are_unparsed() {
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        for args in ["{\"a\":1} and more", "{", "\"{\\\"a\\\":1}\" x"] {
            let driven = forward(api, &streamed(api, &turn("", &[("i", "t", args)]), 4));
            assert_eq!(driven.events()[0].args, Some(Arguments::Unparsed(args.into())), "{api:?}");
        }
    }
}

#[test]
fn stream_errors_are_events_and_pass() {
    let cases = [
        (Api::Chat, "data: {\"error\":{\"message\":\"overloaded\",\"code\":\"x\"}}\n\n"),
        (
            Api::Messages,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"overloaded\"}}\n\n",
        ),
        (Api::Responses, "event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"overloaded\"}\n\n"),
    ];
    for (api, text) in cases {
        let driven = forward(api, text);
        assert_eq!((shown(&driven.events()), driven.text()), (vec!["error overloaded".into()], text));
    }
}

#[test]
fn refused_stream_judges_text_already_sent() {
    for api in Api::ALL {
        let text = streamed(api, &turn("Words that leave.", &[("i", "secret", "{}")]), 4);
        let call = text.find("secret").unwrap();
        let start = text[..call].rfind("\n\n").unwrap() + 2;
        let broken = format!("{}data: {{\"a\":1,\"a\":2}}\n\n{}", &text[..start], &text[start..]);
        let driven = forward(api, &broken);
        assert_eq!(driven.refused.as_ref().map(|refused| refused.code), Some("json.duplicate_key"));
        assert_eq!(driven.text(), &text[..start]);
        assert_eq!(shown(&driven.events()), ["assistant_message Words that leave."]);
    }
}

#[test]
fn held_bytes_are_limited() {
    for api in Api::ALL {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(4000));
        let text = streamed(api, &turn("", &[("i", "t", &long)]), 50);
        let mut stream = Stream::new(api, StreamLimits::default().held(2000));
        let last = stream.push(text.as_bytes()).pop();
        assert!(matches!(last, Some(StreamAction::Refuse(refused)) if refused.code == "stream.too_large"), "{api:?}");
        assert_eq!(stream.push(text.as_bytes()), []);
        let mut stream = Stream::new(api, StreamLimits::default().held(100));
        let last = stream.push(&[b':'; 101]).pop();
        assert!(matches!(last, Some(StreamAction::Refuse(_))));
    }
}

#[test]
fn unwritable_change_is_refused() {
    let item =
        |code: &str| format!(r#"{{"type":"code_interpreter_call","id":"ci_1","code":"{code}","status":"completed"}}"#);
    let about =
        |name: &str, item: &str| format!(r#"{{"type":"response.output_item.{name}","output_index":0,"item":{item}}}"#);
    let text = events(&[
        &about("added", &item("")),
        r#"{"type":"response.code_interpreter_call_code.delta","output_index":0,"delta":"secret"}"#,
        r#"{"type":"response.code_interpreter_call_code.done","output_index":0,"code":"secret"}"#,
        &about("done", &item("secret")),
    ]);
    let other = |event: &lictor_event::Event| {
        let args = lictor_json::parse_str(r#"{"code":"other"}"#).unwrap();
        Ruling::Rewrite(Box::new(lictor_event::Event { args: Some(Arguments::Value(args)), ..event.clone() }))
    };
    let driven = ruled(Api::Responses, &text, other);
    assert_eq!(driven.refused.as_ref().map(|refused| refused.code), Some("wire.rewrite"));
    assert!(!driven.text().contains("secret"));
    let body = format!(r#"{{"output":[{}]}}"#, item("secret"));
    let reply = Reply::read(Api::Responses, body.as_bytes()).unwrap();
    assert_eq!(reply.settle(&[other(&reply.events()[0])]).unwrap_err().code, "wire.rewrite");
}

#[test]
fn rewritten_call_hides_earlier_progress_events() {
    let item =
        r#"{"type":"shell_call","id":"sh_1","call_id":"c","action":{"commands":["secret"]},"status":"completed"}"#;
    let about = |name: &str| format!(r#"{{"type":"response.output_item.{name}","output_index":0,"item":{item}}}"#);
    let text = events(&[
        &about("added"),
        r#"{"type":"response.shell_call_command.delta","output_index":0,"command_index":0,"delta":"secret"}"#,
        r#"{"type":"response.shell_call_command.done","output_index":0,"command_index":0,"command":"secret"}"#,
        &about("done"),
        &format!(r#"{{"type":"response.completed","response":{{"output":[{item}]}}}}"#),
    ]);
    assert_eq!(forward(Api::Responses, &text).text(), text);
    let driven = ruled(Api::Responses, &text, |event| {
        let args = lictor_json::parse_str(r#"{"commands":["ls"]}"#).unwrap();
        Ruling::Rewrite(Box::new(lictor_event::Event { args: Some(Arguments::Value(args)), ..event.clone() }))
    });
    assert_eq!(driven.refused, None);
    assert!(!driven.text().contains("secret") && driven.text().contains(r#""commands":["ls"]"#), "{}", driven.text());
}

#[test]
fn log_probabilities_of_changed_text_are_removed() {
    let tokens = r#"{"content":[{"token":"secret","logprob":-0.5}]}"#;
    let chat = format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"secret"}},"logprobs":{tokens}}}]}}"#
    );
    let part = r#"{"type":"output_text","text":"secret","logprobs":[{"token":"secret"}]}"#;
    let responses = format!(r#"{{"output":[{{"type":"message","role":"assistant","content":[{part}]}}]}}"#);
    for (api, body) in [(Api::Chat, chat), (Api::Responses, responses)] {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        let said = lictor_event::Event { text: Some("[redacted]".into()), ..reply.events()[0].clone() };
        for ruling in [Ruling::Rewrite(Box::new(said)), Ruling::Deny { text: "no".into() }] {
            let body = String::from_utf8(reply.settle(&[ruling]).unwrap().body).unwrap();
            assert!(!body.contains("secret"), "{body}");
        }
    }
    let delta = format!(r#"{{"index":0,"delta":{{"content":"secret"}},"logprobs":{tokens}}}"#);
    let text = chunks(&[&delta, r#"{"index":0,"delta":{},"finish_reason":"stop"}"#]);
    let driven =
        drive(Api::Chat, usize::MAX, [text.as_bytes()], |_| Ruling::Deny { text: "no".into() }, |_, _| Vec::new());
    assert!(!driven.text().contains("secret"), "{}", driven.text());
}

#[test]
fn reply_with_unknown_shape_is_refused() {
    let cases = [
        (Api::Chat, r#"{"choices":{"0":{"message":{"role":"assistant","content":"x"}}}}"#, "wire.shape"),
        (Api::Chat, r#"{"choices":[{"index":0,"message":{"role":"user","content":"x"}}]}"#, "reply.shape"),
        (Api::Chat, r#"{"object":"x"}"#, "reply.shape"),
        (Api::Chat, r#"{"choices":[{"index":0,"index":0}]}"#, "json.duplicate_key"),
        (Api::Messages, r#"{"role":"assistant","content":[{"type":"spell"}]}"#, "wire.unknown"),
        (Api::Messages, r#"{"role":"assistant","content":"x"}"#, "wire.shape"),
        (Api::Responses, r#"{"output":[{"type":"spell"}]}"#, "wire.unknown"),
        (Api::Responses, r#"{"output":null}"#, "reply.shape"),
        (Api::Responses, "", "json.torn"),
    ];
    for (api, body, code) in cases {
        assert_eq!(Reply::read(api, body.as_bytes()).unwrap_err().code, code, "{body}");
    }
}

#[test]
fn held_text_of_cut_stream_is_judged() {
    for api in Api::ALL {
        let text = streamed(api, &turn("Words that stay back.", &[]), 4);
        let cut =
            text.find("back").map(|place| place + text[place..].find("\n\n").unwrap() + 2).unwrap_or(text.len() / 2);
        let driven = drive(
            api,
            usize::MAX,
            [&text.as_bytes()[..cut]],
            |_| Ruling::Deny { text: "no".into() },
            |_, _| Vec::new(),
        );
        assert!(driven.events()[0].more.get("truncated").is_some() || driven.is_complete, "{api:?}");
        assert!(!driven.text().contains("stay"), "{}", driven.text());
    }
}

/// The lines that begin with `data`, as Python's `str.splitlines` cuts them.
fn data_lines(text: &str) -> Vec<&str> {
    let is_end = |c: char| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.split(is_end).filter(|line| line.trim_start().starts_with("data")).collect()
}

#[test]
fn stream_fields_cannot_hide_events() {
    let hidden = r#"data: {"hidden":1}"#;
    for api in Api::ALL {
        let plain = streamed(api, &turn("Words.", &[]), 3);
        for end in ["\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}", "\u{2029}", " "] {
            for field in [": keep-alive", "id: 7", "retry: 5"] {
                for text in [
                    format!("{field}{end}{hidden}\n\n{plain}"),
                    format!("{field}{end}{hidden}\n{plain}"),
                    format!("{plain}{field}{end}{hidden}"),
                ] {
                    let driven = forward(api, &text);
                    assert_eq!(driven.refused, None, "{text:?}");
                    assert!(!driven.text().contains("hidden"), "{text:?}");
                    assert_eq!(data_lines(driven.text()), data_lines(&plain), "{text:?}");
                }
            }
            assert_eq!(code(api, &format!("event: e{end}{hidden}\n\n{plain}")), Some("stream.field"));
            assert_eq!(code(api, &format!("event: e{end}{hidden}\ndata: [DONE]\n\n")), Some("stream.field"));
            let said = plain.replace("Wor", &format!("W{end}data: r"));
            let driven = forward(api, &said);
            if driven.refused.is_none() {
                assert_eq!(data_lines(driven.text()).len(), data_lines(&plain).len(), "{said:?}");
            }
        }
        assert_eq!(code(api, "event: a\nevent: b\ndata: {\"type\":\"b\"}\n\n"), Some("stream.shape"));
    }
}

#[test]
fn stream_data_of_many_lines_is_joined() {
    for api in Api::ALL {
        let plain = streamed(api, &turn("Words.", &[]), 3);
        let cut = plain.replace("{\"", "{\ndata: \"");
        let driven = forward(api, &cut);
        assert_eq!(driven.refused, None);
        assert_eq!(driven.text(), plain.replace("{\"", "{ \""));
    }
}

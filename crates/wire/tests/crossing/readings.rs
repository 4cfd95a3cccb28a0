//! Replies that two clients would read differently are refused, or lose what only some of them read.

use lictor_wire::{Api, Reply, Request, Ruling, Stream, StreamAction, StreamLimits, UnknownFields};

use crate::drive::forward;
use crate::made::{chunks, events};

/// Returns why a stream is refused, after it let no byte of the call through.
fn refusal(api: Api, text: &str) -> Option<&'static str> {
    let driven = forward(api, text);
    assert!(!driven.text().contains("drop_table"), "{}", driven.text());
    driven.refused.map(|refused| refused.code)
}

/// Returns what a client gets of a whole reply.
fn settled(api: Api, body: &str, unknown: UnknownFields) -> Result<String, &'static str> {
    let reply = Reply::read_with(api, body.as_bytes(), unknown).map_err(|refused| refused.code)?;
    Ok(String::from_utf8(reply.settle(&[]).unwrap().body).unwrap())
}

#[test]
fn second_name_of_streamed_call_is_refused() {
    let piece = |call: &str| format!(r#"{{"index":0,"delta":{{"tool_calls":[{call}]}}}}"#);
    let second = [
        [r#"{"index":0,"id":"a","function":{"name":"safe"}}"#, r#"{"index":0,"function":{"name":"drop_table"}}"#],
        [r#"{"index":0,"id":"a","function":{"name":"drop_"}}"#, r#"{"index":0,"id":"a","function":{"name":"table"}}"#],
        [r#"{"index":0,"id":"a","function":{"name":"f"}}"#, r#"{"index":0,"id":"","function":{"name":"F"}}"#],
        [r#"{"index":0,"id":"a","function":{"name":"f"}}"#, r#"{"index":0,"custom":{"name":"drop_table"}}"#],
    ];
    for calls in second {
        let pieces: Vec<String> = calls.iter().map(|call| piece(call)).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(refusal(Api::Chat, &chunks(&pieces)), Some("stream.shape"), "{calls:?}");
        // Both entries in one chunk.
        let both = piece(&calls.join(","));
        assert_eq!(refusal(Api::Chat, &chunks(&[&both])), Some("stream.shape"), "{both}");
    }
    let legacy = [
        r#"{"index":0,"delta":{"function_call":{"name":"safe","arguments":""}}}"#,
        r#"{"index":0,"delta":{"function_call":{"name":"drop_table"}}}"#,
    ];
    assert_eq!(refusal(Api::Chat, &chunks(&legacy)), Some("stream.shape"));
}

#[test]
fn call_of_two_kinds_is_refused() {
    let mixed = [
        r#"{"index":0,"id":"a","type":"function","function":{"name":"safe","arguments":"{}"},"custom":{"name":"drop_table","input":""}}"#,
        r#"{"index":0,"id":"a","type":"custom","function":{"name":"drop_table","arguments":"{}"}}"#,
        r#"{"index":0,"id":"a","type":"function","custom":{"name":"drop_table","input":""}}"#,
    ];
    for call in mixed {
        let body = format!(r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","tool_calls":[{call}]}}}}]}}"#);
        assert_eq!(settled(Api::Chat, &body, UnknownFields::Strip), Err("wire.shape"), "{call}");
        let piece = format!(r#"{{"index":0,"delta":{{"tool_calls":[{call}]}}}}"#);
        assert_eq!(refusal(Api::Chat, &chunks(&[&piece])), Some("wire.shape"), "{call}");
    }
}

#[test]
fn calls_of_wrong_types_are_refused() {
    let message = |member: &str| format!(r#"{{"choices":[{{"index":0,"message":{{"role":"assistant",{member}}}}}]}}"#);
    let chat = [
        r#""tool_calls":{"0":{"id":"a","function":{"name":"drop_table"}}}"#,
        r#""tool_calls":[["drop_table"]]"#,
        r#""tool_calls":[{"id":"a","function":{"name":["drop_table"],"arguments":"{}"}}]"#,
        r#""tool_calls":[{"id":"a","function":{"name":5,"arguments":"{}"}}]"#,
        r#""tool_calls":[{"id":"a","function":{"arguments":"{}"}}]"#,
        r#""tool_calls":[{"id":"a","function":{"name":"f","arguments":["drop_table"]}}]"#,
        r#""tool_calls":[{"id":["a"],"function":{"name":"f","arguments":"{}"}}]"#,
        r#""tool_calls":[{"id":"a","function":"drop_table"}]"#,
        r#""tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":{"x":1}}}]"#,
        r#""function_call":["drop_table"]"#,
        r#""content":{"text":"secret"}"#,
        r#""content":[{"type":"text","text":["secret"]}]"#,
        r#""content":[{"type":"text","text":"hi","refusal":"secret"}]"#,
        r#""content":[{"type":"thinking","thinking":"x","text":"secret"}]"#,
        r#""refusal":["secret"]"#,
    ];
    for member in chat {
        let body = message(member);
        assert_eq!(settled(Api::Chat, &body, UnknownFields::Strip), Err("wire.shape"), "{member}");
        assert_eq!(settled(Api::Chat, &body, UnknownFields::Pass), Err("wire.shape"), "{member}");
    }
    let messages = [
        r#"[{"type":"tool_use","id":"t","name":["drop_table"],"input":{}}]"#,
        r#"[{"type":"tool_use","id":"t","input":{}}]"#,
        r#"[{"type":"tool_use","id":"t","name":"f","input":"{\"x\":\"drop_table\"}"}]"#,
        r#"[{"type":"server_tool_use","id":"t","name":"f","input":["drop_table"]}]"#,
        r#"{"0":{"type":"text","text":"secret"}}"#,
        r#"[{"type":"text","text":{"value":"secret"}}]"#,
        r#"[{"type":"text","text":"hi","content":"secret"}]"#,
        r#"[{"type":"text","text":"hi","refusal":"secret"}]"#,
        r#"[{"type":"tool_use","id":"t","name":"f","input":{},"text":"secret"}]"#,
        r#"[{"type":"tool_use","id":"t","name":"f","input":{},"content":"secret"}]"#,
        r#"[{"type":"web_search_tool_result","tool_use_id":"t","content":[],"text":"secret"}]"#,
    ];
    for content in messages {
        let body = format!(r#"{{"type":"message","role":"assistant","content":{content}}}"#);
        assert_eq!(settled(Api::Messages, &body, UnknownFields::Strip), Err("wire.shape"), "{content}");
    }
    let responses = [
        (r#"{"type":"function_call","call_id":"c","name":["drop_table"],"arguments":"{}"}"#, "wire.shape"),
        (r#"{"type":"function_call","call_id":"c","arguments":"{}"}"#, "wire.shape"),
        (r#"{"type":"item_reference","id":"msg_1"}"#, "wire.unknown"),
        (r#"{"type":"message","role":"user","content":[{"type":"output_text","text":"x"}]}"#, "wire.unknown"),
        (r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":["x"]}]}"#, "wire.shape"),
        (
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"","refusal":"secret"}]}"#,
            "wire.shape",
        ),
    ];
    for (item, code) in responses {
        let body = format!(r#"{{"output":[{item}]}}"#);
        assert_eq!(settled(Api::Responses, &body, UnknownFields::Strip), Err(code), "{item}");
    }
}

#[test]
fn names_of_other_case_do_not_pass() {
    let cases = [
        (
            Api::Chat,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","Content":"secret"}}]}"#,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#,
        ),
        (
            Api::Chat,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],"Choices":[{"message":{"content":"secret"}}]}"#,
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#,
        ),
        (
            Api::Chat,
            "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\",\"tool_call\u{17f}\":[{}]}}]}",
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}"#,
        ),
        (
            Api::Messages,
            r#"{"role":"assistant","Content":[{"type":"text","text":"secret"}],"content":[{"type":"text","text":"hi","TEXT":"secret"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"hi"}]}"#,
        ),
        (
            Api::Responses,
            r#"{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","Text":"secret"}]}],"output_text":"secret"}"#,
            r#"{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}"#,
        ),
    ];
    for (api, body, expected) in cases {
        assert_eq!(settled(api, body, UnknownFields::Strip).as_deref(), Ok(expected));
        assert_eq!(settled(api, body, UnknownFields::Refuse), Err("wire.unknown"));
    }
    let (_, body, expected) = cases[0];
    assert_eq!(settled(Api::Chat, body, UnknownFields::Pass).as_deref(), Ok(expected), "also if others pass");
}

#[test]
fn known_field_elsewhere_never_passes() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"delta":{"content":"secret"},"tool_calls":[1],"mood":"calm"}]}"#;
    let expected = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"mood":"calm"}]}"#;
    assert_eq!(settled(Api::Chat, body, UnknownFields::Pass).as_deref(), Ok(expected));
}

#[test]
fn call_in_unknown_field_never_passes() {
    let call = r#"{"id":"z","type":"function","function":{"name":"drop","arguments":"secret"}}"#;
    let members = [
        format!(r#""toolCalls":[{call}]"#),
        r#""output_text":"secret""#.to_owned(),
        r#""outputText":"secret""#.to_owned(),
        format!(r#""next":{{"tool_calls":[{call}]}}"#),
        r#""next":{"custom":{"name":"drop","input":"secret"}}"#.to_owned(),
        r#""next":{"output":[{"type":"function_call","name":"drop","arguments":"secret"}]}"#.to_owned(),
    ];
    let places = [
        (Api::Chat, r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi",PLACE}}]}"#),
        (Api::Chat, r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],PLACE}"#),
        (Api::Messages, r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],PLACE}"#),
        (Api::Responses, r#"{"output":[{"type":"message","role":"assistant","content":[]}],PLACE}"#),
    ];
    for member in &members {
        for (api, place) in places {
            let body = place.replace("PLACE", member);
            let sent = settled(api, &body, UnknownFields::Pass);
            assert!(
                sent.as_ref().map_or_else(|code| *code == "wire.shape", |sent| !sent.contains("secret")),
                "{body}: {sent:?}"
            );
        }
    }
    let harmless =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}],"mood":{"is":"calm","input":[1]}}"#;
    assert_eq!(settled(Api::Chat, harmless, UnknownFields::Pass).as_deref(), Ok(harmless));
}

#[test]
fn contradicting_events_of_a_response_are_refused() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"safe","arguments":""}}"#;
    let delta =
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"{\"a\":1}"}"#;
    let done = r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f","name":"safe","arguments":"{\"a\":1}"}"#;
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"safe","arguments":"{\"a\":1}"}}"#;
    let end = r#"{"type":"response.completed","response":{"output":[{"type":"function_call","id":"f","call_id":"c","name":"safe","arguments":"{\"a\":1}"}]}}"#;
    let honest = [added, delta, done, item, end];
    assert_eq!(refusal(Api::Responses, &events(&honest)), None);
    let changes = [
        (0, r#""arguments":"""#, r#""arguments":"{\"b\":2}""#),
        (1, r#"{\"a\":1}"#, r#"{\"b\":2}"#),
        (1, r#""delta":"{\"a\":1}""#, r#""delta":["drop_table"]"#),
        (2, "safe", "drop_table"),
        (2, r#"{\"a\":1}"#, r#"{\"b\":2}"#),
        (3, "safe", "drop_table"),
        (3, r#"{\"a\":1}"#, r#"{\"b\":2}"#),
        (4, "safe", "drop_table"),
        (4, r#"{\"a\":1}"#, r#"{\"b\":2}"#),
        (0, r#""name":"safe""#, r#""name":"""#),
    ];
    for (place, from, to) in changes {
        let mut lying = honest.map(str::to_owned);
        lying[place] = lying[place].replacen(from, to, 1);
        assert_ne!(lying[place], honest[place]);
        if place == 0 && to == r#""name":"""# {
            // The name comes later, and twice in different words.
            lying[2] = lying[2].replace("safe", "drop_table");
        }
        let lying: Vec<&str> = lying.iter().map(String::as_str).collect();
        assert!(refusal(Api::Responses, &events(&lying)).is_some(), "{place}: {to}");
    }
}

#[test]
fn event_with_id_of_other_item_is_refused() {
    let item = |index: usize, id: &str| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"message","id":"{id}","role":"assistant","content":[]}}}}"#
        )
    };
    let delta = r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"b","delta":"x"}"#;
    let text = events(&[&item(0, "a"), &item(1, "b"), delta]);
    assert_eq!(refusal(Api::Responses, &text), Some("stream.shape"));
}

#[test]
fn streamed_part_with_two_texts_is_refused() {
    let part = r#"{"type":"output_text","text":"hi","annotations":[]}"#;
    let message = |content: &str| format!(r#"{{"type":"message","id":"m","role":"assistant","content":[{content}]}}"#);
    let honest = [
        format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{}}}"#, message("")),
        r#"{"type":"response.content_part.added","output_index":0,"content_index":0,"item_id":"m","part":{"type":"output_text","text":"","annotations":[]}}"#.to_owned(),
        r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"hi"}"#.to_owned(),
        format!(
            r#"{{"type":"response.content_part.done","output_index":0,"content_index":0,"item_id":"m","part":{part}}}"#
        ),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{}}}"#, message(part)),
        format!(
            r#"{{"type":"response.completed","response":{{"id":"r","status":"completed","output":[{}]}}}}"#,
            message(part)
        ),
    ];
    let read = |written: &[String]| {
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        refusal(Api::Responses, &events(&written))
    };
    assert_eq!(read(&honest), None);
    for place in [1, 3, 4, 5] {
        let mut lying = honest.clone();
        lying[place] = lying[place].replace(r#""annotations":[]"#, r#""annotations":[],"refusal":"drop_table""#);
        assert_ne!(lying[place], honest[place]);
        assert_eq!(read(&lying), Some("wire.shape"), "{place}");
    }
}

/// Clients that asked for one choice join the texts of all chunks.
#[test]
fn choice_that_was_not_asked_for_is_refused() {
    let chunk = |index: usize, text: &str| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#)
    };
    let text = events(&[&chunk(0, "drop"), &chunk(1, "_table"), "[DONE]"]);
    for (asked, code) in [(r#""n":1,"#, Some("stream.shape")), ("", Some("stream.shape")), (r#""n":2,"#, None)] {
        let request = format!(r#"{{"model":"m",{asked}"messages":[{{"role":"user","content":"hi"}}],"stream":true}}"#);
        let choices = Request::read(Api::Chat, request.as_bytes()).unwrap().choices;
        let mut stream = Stream::new(Api::Chat, StreamLimits::default().choices(choices));
        let refused = stream.push(text.as_bytes()).into_iter().find_map(|action| match action {
            StreamAction::Refuse(refused) => Some(refused.code),
            _ => None,
        });
        // The text before the refused chunk was sent, and has to be judged first.
        let refused = refused.or_else(|| {
            stream.rule(Ruling::Forward).into_iter().find_map(|action| match action {
                StreamAction::Refuse(refused) => Some(refused.code),
                _ => None,
            })
        });
        assert_eq!(refused, code, "{asked}");
    }
}

#[test]
fn arguments_at_start_of_block_are_refused() {
    let start = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"safe","input":{"query":"drop_table"}}}"#;
    assert_eq!(refusal(Api::Messages, &events(&[start, block])), Some("stream.shape"));
}

#[test]
fn streamed_input_that_is_no_object_is_refused() {
    let start = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;
    let block = |input: &str| {
        format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"t","name":"safe","input":{input}}}}}"#
        )
    };
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    for (input, code) in [
        (r#"{},"text":"drop_table""#, "wire.shape"),
        (r#""{\"x\":\"drop_table\"}""#, "wire.shape"),
        (r#""drop_table""#, "stream.shape"),
    ] {
        assert_eq!(refusal(Api::Messages, &events(&[start, &block(input), stop])), Some(code), "{input}");
    }
    for piece in [r#""{\"x\":\"drop_table\"}""#, r#"["drop_table"]"#, "5"] {
        let delta = lictor_json::Json::from([
            ("type", "content_block_delta".into()),
            ("index", 0.into()),
            ("delta", [("type", "input_json_delta".into()), ("partial_json", piece.into())].into()),
        ]);
        let (block, delta) = (block("{}"), delta.to_string());
        for end in [stop, r#"{"type":"message_stop"}"#] {
            let text = events(&[start, &block, &delta, end]);
            assert_eq!(refusal(Api::Messages, &text), Some("stream.shape"), "{piece} {end}");
        }
    }
}

#[test]
fn unknown_events_are_left_out() {
    let start = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;
    let news = r#"{"type":"weather_report","text":"secret"}"#;
    let end = r#"{"type":"message_stop"}"#;
    let driven = forward(Api::Messages, &events(&[start, news, end]));
    assert_eq!((driven.refused.as_ref(), driven.text()), (None, events(&[start, end]).as_str()));
    let created = r#"{"type":"response.created","sequence_number":0,"response":{"output":[]}}"#;
    let news = r#"{"type":"response.weather","sequence_number":1,"text":"secret"}"#;
    let end = r#"{"type":"response.completed","sequence_number":2,"response":{"output":[]}}"#;
    let driven = forward(Api::Responses, &events(&[created, news, end]));
    let renumbered = end.replace(":2", ":1");
    assert_eq!((driven.refused.as_ref(), driven.text()), (None, events(&[created, &renumbered]).as_str()));
}

#[test]
fn many_unknown_fields_are_stripped_in_one_pass() {
    let members: Vec<String> = (0..100_000).map(|number| format!(r#""x{number}":1"#)).collect();
    let delta = format!(r#"{{"index":0,"delta":{{"content":"hi",{}}}}}"#, members.join(","));
    let mut stream = Stream::new(Api::Chat, StreamLimits::default());
    let actions = stream.push(chunks(&[&delta]).as_bytes());
    assert_eq!(actions, [StreamAction::Release(chunks(&[r#"{"index":0,"delta":{"content":"hi"}}"#]).into_bytes())]);
    assert_eq!((stream.stripped().count, stream.stripped().names.len()), (100_000, 32));
}

/// Some clients join the parts of a text, others show each alone: they would read different words.
#[test]
fn words_split_between_parts_are_noticed() {
    const HEAD: &str = r#""id":"m","type":"message","role":"assistant","model":"m""#;
    for (first, second, is_split) in [
        ("She has diabetes", "xyz", true),
        ("1", "4111111111111111", true),
        ("She has ", "diabetes", false),
        ("She has diabetes", ". She is well.", false),
        ("She has diabetes", "", false),
    ] {
        let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let content = format!("[{},{}]", block(first), block(second));
        let whole = format!(r#"{{{HEAD},"stop_reason":"end_turn","content":{content}}}"#);
        let reply = Reply::read(Api::Messages, whole.as_bytes()).unwrap();
        assert_eq!(reply.has_split_word(), is_split, "{first}|{second}");

        let mut frames = vec![("message_start", format!(r#""message":{{{HEAD},"content":[],"stop_reason":null}}"#))];
        for (index, text) in [first, second].into_iter().enumerate() {
            let start = format!(r#""index":{index},"content_block":{}"#, block(""));
            frames.push(("content_block_start", start));
            for piece in text.chars() {
                let delta = format!(r#""index":{index},"delta":{{"type":"text_delta","text":"{piece}"}}"#);
                frames.push(("content_block_delta", delta));
            }
            frames.push(("content_block_stop", format!(r#""index":{index}"#)));
        }
        frames.push(("message_delta", r#""delta":{"stop_reason":"end_turn"}"#.to_owned()));
        let mut stream = Stream::new(Api::Messages, StreamLimits::default());
        for (name, data) in frames {
            stream.push(format!("event: {name}\ndata: {{\"type\":\"{name}\",{data}}}\n\n").as_bytes());
        }
        assert_eq!(stream.has_split_word(), is_split, "{first}|{second}");
    }
}

/// Thinking keeps two texts apart, so a word that it would split ends with a line.
#[test]
fn words_split_by_thinking_are_separated() {
    const HEAD: &str = r#""id":"m","type":"message","role":"assistant","model":"m""#;
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    for (first, second, joined) in [
        ("Step one done", "Now step two", "Step one done\nNow step two"),
        ("Step one done. ", "Now step two", "Step one done. Now step two"),
        ("1", "4111111111111111", "1\n4111111111111111"),
    ] {
        let content = format!("[{},{thinking},{}]", text(first), text(second));
        let whole = format!(r#"{{{HEAD},"stop_reason":"end_turn","content":{content}}}"#);
        let reply = Reply::read(Api::Messages, whole.as_bytes()).unwrap();
        assert!(!reply.has_split_word(), "{content}");
        assert_eq!(reply.separate_texts().unwrap().events()[0].text.as_deref(), Some(joined));

        let start = |index: usize, block: &str| {
            format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
        };
        let stop = |index: usize| format!(r#"{{"type":"content_block_stop","index":{index}}}"#);
        let mut frames = vec![format!(r#"{{"type":"message_start","message":{{{HEAD},"content":[]}}}}"#)];
        for (index, said) in [(0, first), (2, second)] {
            frames.push(start(index, &text("")));
            for piece in said.chars() {
                let delta = format!(r#"{{"type":"text_delta","text":"{piece}"}}"#);
                frames.push(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#));
            }
            frames.push(stop(index));
            frames.extend((index == 0).then(|| start(1, thinking)).into_iter().chain((index == 0).then(|| stop(1))));
        }
        frames.push(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned());
        let mut stream = Stream::new(Api::Messages, StreamLimits::default().separates_texts(true));
        for data in frames {
            stream.push(format!("data: {data}\n\n").as_bytes());
        }
        assert_eq!((stream.text(0), stream.has_split_word()), (joined, false));
    }
}

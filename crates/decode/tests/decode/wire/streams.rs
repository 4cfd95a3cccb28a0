//! A streamed answer and a plain one make the same events, wherever the stream is cut.

use lictor_decode::Format;
use lictor_event::{Arguments, Event, Source};
use lictor_json::{Json, Object, parse_str};
use proptest::prelude::*;

use crate::reader::{decode, line};

fn json(text: &str) -> Json {
    parse_str(text).unwrap()
}

/// An object from its members.
fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// The events without their sources, and the codes of the faults.
fn decode_events(format: &str, records: Vec<Json>) -> (Vec<Event>, Vec<&'static str>) {
    let numbered: Vec<(u32, Json)> = records.into_iter().map(|value| (1, value)).collect();
    let out = decode(Format::named(format).unwrap(), "file", &numbered);
    let bare = |event: Event| Event { source: Source::default(), time: None, ..event };
    (out.events.into_iter().map(bare).collect(), out.faults.iter().map(|fault| fault.code).collect())
}

fn assert_same(format: &str, plain: Vec<Json>, streamed: Vec<Json>) {
    let (plain, streamed) = (decode_events(format, plain), decode_events(format, streamed));
    let show = |events: &[Event]| events.iter().map(line).collect::<Vec<_>>().join("\n");
    assert!(plain == streamed, "plain\n{}\nstreamed\n{}\n{:?}", show(&plain.0), show(&streamed.0), streamed.1);
}

/// A text in pieces, cut at these places (taken round the text).
fn pieces(text: &str, cuts: &[usize]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (characters.len() + 1)).collect();
    places.extend([0, characters.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| characters[pair[0]..pair[1]].iter().collect()).collect()
}

/// Lists merged into one, in an order that `turns` decides; each list keeps its own.
fn merged(mut lists: Vec<Vec<Json>>, turns: &[usize]) -> Vec<Json> {
    lists.iter_mut().for_each(|list| list.reverse());
    let mut turns = turns.iter().copied().cycle();
    let mut all = Vec::new();
    while lists.iter().any(|list| !list.is_empty()) {
        lists.retain(|list| !list.is_empty());
        let turn = turns.next().unwrap_or(0) % lists.len();
        all.extend(lists[turn].pop());
    }
    all
}

/// A call: its id, its tool, its arguments.
type Call = (String, String, String);

fn a_call() -> impl Strategy<Value = (String, String)> {
    let arguments = prop_oneof![
        Just(String::new()),
        Just("{}".to_owned()),
        Just(r#"{"bicycle":"R-7","days":2}"#.to_owned()),
        Just(r#"{"who":"Zoë 🚲 \"x\"","deep":{"list":[1,2.5,null,true]}}"#.to_owned()),
        Just(r#"{"cut": "#.to_owned()),
    ];
    (prop_oneof![Just("lend".to_owned()), Just("note".to_owned())], arguments)
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(a_call(), 0..4).prop_map(|calls| {
        calls.into_iter().enumerate().map(|(index, (tool, args))| (format!("call_{index}"), tool, args)).collect()
    })
}

/// Some texts, some calls, and how a stream is cut and mixed.
fn cases() -> impl Strategy<Value = (String, Vec<Call>, Vec<usize>, Vec<usize>)> {
    let text = prop_oneof![Just(String::new()), Just("Zoë takes R-7. 🚲".to_owned())];
    (text, calls(), prop::collection::vec(0..64usize, 0..9), prop::collection::vec(0..8usize, 1..40))
}

mod chat {
    use super::*;

    fn chunk(index: i64, delta: Json, finish: Option<&str>) -> Json {
        let choice = object([
            ("index", index.into()),
            ("delta", delta),
            ("finish_reason", finish.map_or(Json::Null, Json::from)),
        ]);
        object([("id", "c-1".into()), ("object", "chat.completion.chunk".into()), ("choices", vec![choice].into())])
    }

    fn call_delta(index: usize, more: Vec<(&str, Json)>) -> Json {
        let members = [("index", Json::from(index as i64))].into_iter().chain(more);
        let entry = Json::Object(members.map(|(key, value)| (key.into(), value)).collect());
        object([("tool_calls", vec![entry].into())])
    }

    /// The chunks of each choice; those of one call keep their order, those of different calls may be mixed.
    fn streamed(choices: &[(String, Vec<Call>)], cuts: &[usize], turns: &[usize]) -> Vec<Json> {
        let mut lists = Vec::new();
        for (number, (text, calls)) in choices.iter().enumerate() {
            let number = number as i64;
            let text = pieces(text, cuts).into_iter();
            lists.push(text.map(|piece| chunk(number, object([("content", piece.into())]), None)).collect());
            for (index, (id, tool, args)) in calls.iter().enumerate() {
                let function = object([("name", tool.clone().into()), ("arguments", "".into())]);
                let first = vec![("id", id.clone().into()), ("type", "function".into()), ("function", function)];
                let mut list = vec![chunk(number, call_delta(index, first), None)];
                list.extend(pieces(args, cuts).into_iter().map(|piece| {
                    chunk(number, call_delta(index, vec![("function", object([("arguments", piece.into())]))]), None)
                }));
                lists.push(list);
            }
        }
        let mut all = merged(lists, turns);
        all.extend((0..choices.len()).map(|number| chunk(number as i64, object([]), Some("stop"))));
        all.push("[DONE]".into());
        all
    }

    fn plain(choices: &[(String, Vec<Call>)]) -> Json {
        let choices: Vec<Json> = choices
            .iter()
            .enumerate()
            .map(|(number, (text, calls))| {
                let calls: Vec<Json> = calls
                    .iter()
                    .map(|(id, tool, args)| {
                        let function = object([("name", tool.clone().into()), ("arguments", args.clone().into())]);
                        object([("id", id.clone().into()), ("type", "function".into()), ("function", function)])
                    })
                    .collect();
                let message = object([
                    ("role", "assistant".into()),
                    ("content", text.clone().into()),
                    ("tool_calls", calls.into()),
                ]);
                object([("index", (number as i64).into()), ("message", message)])
            })
            .collect();
        object([("id", "c-1".into()), ("object", "chat.completion".into()), ("choices", choices.into())])
    }

    proptest! {
        #[test]
        fn chat_stream_equals_plain_answer((text, calls, cuts, turns) in cases(), other in calls()) {
            let choices = [(text, calls), ("Or not.".to_owned(), other)];
            assert_same("openai-chat", vec![plain(&choices)], streamed(&choices, &cuts, &turns));
        }
    }

    #[test]
    fn chat_stream_cut_anywhere_equals_plain_answer() {
        let args = r#"{"who":"Zoë 🚲","days":[1,2]}"#.to_owned();
        let choices = [("Done 🚲.".to_owned(), vec![("call_0".to_owned(), "lend".to_owned(), args.clone())])];
        for cut in 0..=args.chars().count() {
            assert_same("openai-chat", vec![plain(&choices)], streamed(&choices, &[cut], &[0, 1]));
        }
    }

    #[test]
    fn chat_truncated_stream_keeps_calls() {
        let args = r#"{"bicycle":"R-7"}"#;
        let choices = [("One moment.".to_owned(), vec![("call_0".to_owned(), "lend".to_owned(), args.to_owned())])];
        let whole = streamed(&choices, &(0..64).collect::<Vec<_>>(), &[0]);
        for end in 1..whole.len() - 2 {
            let (events, faults) = decode_events("openai-chat", whole[..end].to_vec());
            assert_eq!(faults, ["stream.truncated"], "after {end}");
            let call = events.iter().find(|event| event.tool.as_deref() == Some("lend"));
            let begun = whole[..end].iter().any(|chunk| chunk.to_string().contains("call_0"));
            assert_eq!(call.is_some(), begun, "after {end}");
            match call.map(|call| call.args.clone().unwrap()) {
                Some(Arguments::Value(value)) => assert_eq!(value, json(args), "after {end}"),
                Some(Arguments::Unparsed(text)) => assert!(args.starts_with(text.as_str()), "after {end}"),
                None => {}
            }
        }
    }
}

mod messages {
    use super::*;

    fn block(id: &str, tool: &str, input: Json) -> Json {
        object([("type", "tool_use".into()), ("id", id.into()), ("name", tool.into()), ("input", input)])
    }

    fn text_block(text: &str) -> Json {
        object([("type", "text".into()), ("text", text.into())])
    }

    fn message(content: Vec<Json>, stop: Json) -> Json {
        object([
            ("type", "message".into()),
            ("role", "assistant".into()),
            ("content", content.into()),
            ("stop_reason", stop),
        ])
    }

    fn plain(text: &str, calls: &[Call], stop: &str) -> Json {
        let uses = calls.iter().map(|(id, tool, args)| block(id, tool, args.clone().into()));
        message([text_block(text)].into_iter().chain(uses).collect(), stop.into())
    }

    fn block_pieces(index: usize, start: Json, deltas: Vec<Json>) -> Vec<Json> {
        let place = Json::from(index as i64);
        let mut list =
            vec![object([("type", "content_block_start".into()), ("index", place.clone()), ("content_block", start)])];
        list.extend(
            deltas.into_iter().map(|delta| {
                object([("type", "content_block_delta".into()), ("index", place.clone()), ("delta", delta)])
            }),
        );
        list.push(object([("type", "content_block_stop".into()), ("index", place)]));
        list
    }

    fn streamed(text: &str, calls: &[Call], stop: &str, cuts: &[usize], turns: &[usize]) -> Vec<Json> {
        let said = pieces(text, cuts).into_iter();
        let said = said.map(|piece| object([("type", "text_delta".into()), ("text", piece.into())])).collect();
        let mut lists = vec![block_pieces(0, text_block(""), said)];
        for (index, (id, tool, args)) in calls.iter().enumerate() {
            let deltas = pieces(args, cuts).into_iter();
            let deltas =
                deltas.map(|piece| object([("type", "input_json_delta".into()), ("partial_json", piece.into())]));
            lists.push(block_pieces(index + 1, block(id, tool, object([])), deltas.collect()));
        }
        let mut all = vec![object([("type", "message_start".into()), ("message", message(Vec::new(), Json::Null))])];
        all.extend(merged(lists, turns));
        all.push(object([("type", "message_delta".into()), ("delta", object([("stop_reason", stop.into())]))]));
        all.push(object([("type", "message_stop".into())]));
        all
    }

    proptest! {
        #[test]
        fn anthropic_stream_equals_plain_answer((text, calls, cuts, turns) in cases(), refused in any::<bool>()) {
            let stop = if refused { "refusal" } else { "end_turn" };
            assert_same("anthropic", vec![plain(&text, &calls, stop)], streamed(&text, &calls, stop, &cuts, &turns));
        }
    }
}

mod responses {
    use super::*;

    fn items(text: &str, calls: &[Call]) -> Vec<Json> {
        let part = object([("type", "output_text".into()), ("text", text.into())]);
        let said = object([("type", "message".into()), ("role", "assistant".into()), ("content", vec![part].into())]);
        let called = calls.iter().map(|(id, tool, args)| {
            object([
                ("type", "function_call".into()),
                ("call_id", id.clone().into()),
                ("name", tool.clone().into()),
                ("arguments", args.clone().into()),
            ])
        });
        [said].into_iter().chain(called).collect()
    }

    fn response(output: Vec<Json>) -> Json {
        object([("id", "r-1".into()), ("object", "response".into()), ("output", output.into())])
    }

    fn payload(name: &str, index: usize, key: &str, value: Json) -> Json {
        object([("type", name.into()), ("output_index", (index as i64).into()), (key, value)])
    }

    /// The payloads; the last one repeats the output or not, and so do those that end an item.
    fn streamed(text: &str, calls: &[Call], cuts: &[usize], turns: &[usize], repeats: bool) -> Vec<Json> {
        let whole = items(text, calls);
        let begun =
            items("", &calls.iter().map(|(id, tool, _)| (id.clone(), tool.clone(), String::new())).collect::<Vec<_>>());
        let mut lists = Vec::new();
        for (index, (item, first)) in whole.iter().zip(begun).enumerate() {
            let mut list = vec![payload("response.output_item.added", index, "item", first)];
            let (name, pieced) = match index {
                0 => ("response.output_text.delta", text),
                _ => ("response.function_call_arguments.delta", calls[index - 1].2.as_str()),
            };
            list.extend(pieces(pieced, cuts).into_iter().map(|piece| payload(name, index, "delta", piece.into())));
            if repeats {
                list.push(payload("response.output_item.done", index, "item", item.clone()));
            }
            lists.push(list);
        }
        let mut all = vec![object([("type", "response.created".into()), ("response", response(Vec::new()))])];
        all.extend(merged(lists, turns));
        let output = if repeats { whole } else { Vec::new() };
        all.push(object([("type", "response.completed".into()), ("response", response(output))]));
        all
    }

    proptest! {
        #[test]
        fn responses_stream_equals_plain_response((text, calls, cuts, turns) in cases(), repeats in any::<bool>()) {
            let plain = response(items(&text, &calls));
            assert_same("openai-responses", vec![plain], streamed(&text, &calls, &cuts, &turns, repeats));
        }
    }
}

mod histories {
    use super::*;

    /// A message of a chat, or a turn of a tool.
    fn messages() -> impl Strategy<Value = Vec<Json>> {
        let message = prop_oneof![
            Just(json(r#"{"role":"user","content":"a"}"#)),
            Just(json(r#"{"role":"user","content":"b"}"#)),
            Just(json(r#"{"role":"assistant","content":"c"}"#)),
            Just(json(r#"{"role":"tool","tool_call_id":"call_0","content":"d"}"#)),
            Just(json(
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","function":{"name":"f","arguments":"{}"}}]}"#
            )),
        ];
        prop::collection::vec(message, 1..12)
    }

    fn request(messages: &[Json]) -> Json {
        object([("model", "m".into()), ("messages", messages.to_vec().into())])
    }

    proptest! {
        #[test]
        fn growing_history_becomes_events_once(messages in messages(), steps in prop::collection::vec(1..4usize, 1..12)) {
            let mut requests = Vec::new();
            let mut end = 0;
            for step in steps {
                end = (end + step).min(messages.len());
                requests.push(request(&messages[..end]));
            }
            assert_same("openai-chat", vec![request(&messages[..end])], requests);
        }

        #[test]
        fn changed_history_is_new_session(messages in messages(), at in 0..12usize) {
            let at = at % messages.len();
            let mut changed = messages.clone();
            changed[at] = json(r#"{"role":"user","content":"something else"}"#);
            let (events, _) = decode_events("openai-chat", vec![request(&messages), request(&changed)]);
            let (first, second): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.session.is_none());
            let (alone, _) = decode_events("openai-chat", vec![request(&messages)]);
            prop_assert_eq!(first, alone);
            let (alone, _) = decode_events("openai-chat", vec![request(&changed)]);
            let unnamed: Vec<Event> = second.iter().map(|event| Event { session: None, ..event.clone() }).collect();
            prop_assert_eq!(unnamed, alone);
            prop_assert!(second.iter().all(|event| event.session.as_deref() == Some("file#2")));
        }
    }
}

//! Replies made here: the same turn of a model, streamed in pieces of any size and plain, in every interface.

use lictor_json::{Json, Object};
use lictor_wire::Api;

/// A turn of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) text: String,
    /// Calls: id, tool, arguments.
    pub(crate) calls: Vec<(String, String, String)>,
}

pub(crate) fn turn(text: &str, calls: &[(&str, &str, &str)]) -> Turn {
    let call = |(id, tool, args): &(&str, &str, &str)| (id.to_string(), tool.to_string(), args.to_string());
    Turn { text: text.into(), calls: calls.iter().map(call).collect() }
}

/// A turn with everything in it.
pub(crate) fn usual() -> Turn {
    turn(
        "I'll look.\nÄ moment: \"quoted\" \\ and \u{1f600}.",
        &[
            ("call_a", "lookup", r#"{"city":"Köln","n":[1,2.50]}"#),
            ("call_b", "send_mail", r#"{"to":"bob@example.org"}"#),
        ],
    )
}

pub(crate) fn object(members: &[(&str, Json)]) -> Json {
    Json::Object(members.iter().map(|(key, value)| ((*key).into(), value.clone())).collect::<Object>())
}

/// Pieces of so many characters.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// A turn, streamed.
pub(crate) fn streamed(api: Api, turn: &Turn, size: usize) -> String {
    match api {
        Api::Chat => chat::streamed(std::slice::from_ref(turn), size, false),
        Api::Messages => messages::streamed(turn, size),
        Api::Responses => responses::streamed(turn, size),
    }
}

/// A turn as a plain reply.
pub(crate) fn plain(api: Api, turn: &Turn) -> String {
    match api {
        Api::Chat => chat::plain(std::slice::from_ref(turn)),
        Api::Messages => messages::plain(turn),
        Api::Responses => responses::plain(turn),
    }
}

/// Streams that are no recordings.
pub(crate) fn streams() -> Vec<(&'static str, Api, String)> {
    let mut streams = Vec::new();
    for api in Api::ALL {
        streams.push(("a usual turn", api, streamed(api, &usual(), 17)));
        streams.push(("words only", api, streamed(api, &turn("Only words.", &[]), 4)));
        streams.push(("calls only", api, streamed(api, &turn("", &[("call_a", "lookup", "{}")]), 1)));
    }
    streams.push((
        "two choices",
        Api::Chat,
        chat::streamed(&[usual(), turn("No.", &[("c", "lookup", "{}")])], 17, true),
    ));
    streams
}

/// Streams and plain replies with the same content.
pub(crate) fn pairs() -> Vec<(&'static str, Api, String, String)> {
    let mut pairs = Vec::new();
    for api in Api::ALL {
        for size in [1, 7, 1000] {
            let turns =
                [usual(), turn("Only words.", &[]), turn("", &[("a", "t", "{\"x\": 1}"), ("b", "t", "not json")])];
            for turn in turns {
                pairs.push((api.name(), api, streamed(api, &turn, size), plain(api, &turn)));
            }
        }
    }
    let turns = [usual(), turn("Other words.", &[("z", "lookup", "{}")])];
    pairs.push(("two choices", Api::Chat, chat::streamed(&turns, 4, false), chat::plain(&turns)));
    pairs
}

pub(crate) mod chat {
    use super::*;

    fn chunk(choices: Vec<Json>) -> Json {
        object(&[
            ("id", "chatcmpl-1".into()),
            ("object", "chat.completion.chunk".into()),
            ("created", 1.into()),
            ("model", "m".into()),
            ("choices", choices.into()),
        ])
    }

    pub(crate) fn delta(index: usize, delta: Json, finish: Json) -> Json {
        chunk(vec![object(&[
            ("index", (index as i64).into()),
            ("delta", delta),
            ("logprobs", Json::Null),
            ("finish_reason", finish),
        ])])
    }

    /// Choices one after the other, or a chunk of each in turn; the pieces of calls always in turn.
    pub(crate) fn streamed(turns: &[Turn], size: usize, in_turn: bool) -> String {
        let lists: Vec<Vec<Json>> = turns.iter().enumerate().map(|(index, turn)| chunks(index, turn, size)).collect();
        let mut chunks: Vec<Json> = match in_turn {
            false => lists.into_iter().flatten().collect(),
            true => {
                let longest = lists.iter().map(Vec::len).max().unwrap();
                (0..longest).flat_map(|place| lists.iter().filter_map(move |list| list.get(place).cloned())).collect()
            }
        };
        let usage = object(&[("prompt_tokens", 3.into()), ("completion_tokens", 4.into()), ("total_tokens", 7.into())]);
        let Json::Object(mut last) = chunk(Vec::new()) else { panic!() };
        last.insert("usage", usage);
        chunks.push(last.into());
        let frames: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        format!("{frames}data: [DONE]\n\n")
    }

    fn chunks(index: usize, turn: &Turn, size: usize) -> Vec<Json> {
        let mut chunks = vec![delta(
            index,
            object(&[
                ("role", "assistant".into()),
                ("content", if turn.text.is_empty() { Json::Null } else { "".into() }),
            ]),
            Json::Null,
        )];
        for piece in pieces(&turn.text, size) {
            chunks.push(delta(index, object(&[("content", piece.into())]), Json::Null));
        }
        let call = |place: usize, more: &[(&str, Json)]| {
            let mut entry = vec![("index", Json::from(place as i64))];
            entry.extend(more.iter().cloned());
            delta(index, object(&[("tool_calls", vec![object(&entry)].into())]), Json::Null)
        };
        for (place, (id, tool, _)) in turn.calls.iter().enumerate() {
            let function = object(&[("name", tool.as_str().into()), ("arguments", "".into())]);
            let more = [("id", id.as_str().into()), ("type", "function".into()), ("function", function)];
            chunks.push(call(place, &more));
        }
        // One piece of each call in turn: only the index tells them apart.
        let arguments: Vec<Vec<String>> = turn.calls.iter().map(|(_, _, args)| pieces(args, size)).collect();
        for round in 0..arguments.iter().map(Vec::len).max().unwrap_or(0) {
            for (place, pieces) in arguments.iter().enumerate() {
                if let Some(piece) = pieces.get(round) {
                    let function = object(&[("arguments", piece.as_str().into())]);
                    chunks.push(call(place, &[("function", function)]));
                }
            }
        }
        let finish = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
        chunks.push(delta(index, object(&[]), finish.into()));
        chunks
    }

    pub(crate) fn plain(turns: &[Turn]) -> String {
        let choice = |(index, turn): (usize, &Turn)| {
            let call = |(id, tool, args): &(String, String, String)| {
                let function = object(&[("name", tool.as_str().into()), ("arguments", args.as_str().into())]);
                object(&[("id", id.as_str().into()), ("type", "function".into()), ("function", function)])
            };
            let content = if turn.text.is_empty() { Json::Null } else { turn.text.as_str().into() };
            let mut message = vec![("role", "assistant".into()), ("content", content), ("refusal", Json::Null)];
            if !turn.calls.is_empty() {
                message.push(("tool_calls", turn.calls.iter().map(call).collect::<Vec<Json>>().into()));
            }
            let finish = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
            object(&[
                ("index", (index as i64).into()),
                ("message", object(&message)),
                ("logprobs", Json::Null),
                ("finish_reason", finish.into()),
            ])
        };
        object(&[
            ("id", "chatcmpl-1".into()),
            ("object", "chat.completion".into()),
            ("created", 1.into()),
            ("model", "m".into()),
            ("choices", turns.iter().enumerate().map(choice).collect::<Vec<Json>>().into()),
            (
                "usage",
                object(&[("prompt_tokens", 3.into()), ("completion_tokens", 4.into()), ("total_tokens", 7.into())]),
            ),
        ])
        .to_string()
    }
}

pub(crate) mod messages {
    use super::*;

    fn frame(name: &str, more: &[(&str, Json)]) -> String {
        let mut payload = vec![("type", Json::from(name))];
        payload.extend(more.iter().cloned());
        format!("event: {name}\ndata: {}\n\n", object(&payload))
    }

    fn message(content: Vec<Json>, stop: Json) -> Json {
        object(&[
            ("id", "msg_1".into()),
            ("type", "message".into()),
            ("role", "assistant".into()),
            ("model", "m".into()),
            ("content", content.into()),
            ("stop_reason", stop),
            ("stop_sequence", Json::Null),
            ("usage", object(&[("input_tokens", 3.into()), ("output_tokens", 4.into())])),
        ])
    }

    fn stop(turn: &Turn) -> &'static str {
        if turn.calls.is_empty() { "end_turn" } else { "tool_use" }
    }

    pub(crate) fn streamed(turn: &Turn, size: usize) -> String {
        let mut out = frame("message_start", &[("message", message(Vec::new(), Json::Null))]);
        let mut index = 0;
        let mut block = |out: &mut String, start: Json, deltas: Vec<Json>| {
            let here = ("index", Json::from(index));
            out.push_str(&frame("content_block_start", &[here.clone(), ("content_block", start)]));
            out.push_str(&frame("ping", &[]));
            for delta in deltas {
                out.push_str(&frame("content_block_delta", &[here.clone(), ("delta", delta)]));
            }
            out.push_str(&frame("content_block_stop", &[here]));
            index += 1;
        };
        let thought = object(&[("type", "thinking".into()), ("thinking", "".into()), ("signature", "".into())]);
        let thinks = object(&[("type", "thinking_delta".into()), ("thinking", "hm".into())]);
        let signs = object(&[("type", "signature_delta".into()), ("signature", "s".into())]);
        block(&mut out, thought, vec![thinks, signs]);
        if !turn.text.is_empty() {
            let said = |text: String| object(&[("type", "text_delta".into()), ("text", text.into())]);
            let deltas = pieces(&turn.text, size).into_iter().map(said).collect();
            block(&mut out, object(&[("type", "text".into()), ("text", "".into())]), deltas);
        }
        for (id, tool, args) in &turn.calls {
            let piece = |text: String| object(&[("type", "input_json_delta".into()), ("partial_json", text.into())]);
            let start = [
                ("type", "tool_use".into()),
                ("id", id.as_str().into()),
                ("name", tool.as_str().into()),
                ("input", object(&[])),
            ];
            block(&mut out, object(&start), pieces(args, size).into_iter().map(piece).collect());
        }
        let delta = object(&[("stop_reason", stop(turn).into()), ("stop_sequence", Json::Null)]);
        let usage = object(&[("output_tokens", 4.into())]);
        out.push_str(&frame("message_delta", &[("delta", delta), ("usage", usage)]));
        out.push_str(&frame("message_stop", &[]));
        out
    }

    pub(crate) fn plain(turn: &Turn) -> String {
        let mut content =
            vec![object(&[("type", "thinking".into()), ("thinking", "hm".into()), ("signature", "s".into())])];
        if !turn.text.is_empty() {
            content.push(object(&[("type", "text".into()), ("text", turn.text.as_str().into())]));
        }
        for (id, tool, args) in &turn.calls {
            let input = lictor_json::parse_str(args).unwrap_or_else(|_| args.as_str().into());
            content.push(object(&[
                ("type", "tool_use".into()),
                ("id", id.as_str().into()),
                ("name", tool.as_str().into()),
                ("input", input),
            ]));
        }
        message(content, stop(turn).into()).to_string()
    }
}

pub(crate) mod responses {
    use super::*;

    fn part(text: &str) -> Json {
        object(&[("type", "output_text".into()), ("text", text.into()), ("annotations", Vec::new().into())])
    }

    fn said(status: &str, content: Vec<Json>) -> Json {
        object(&[
            ("type", "message".into()),
            ("id", "msg_1".into()),
            ("role", "assistant".into()),
            ("status", status.into()),
            ("content", content.into()),
        ])
    }

    fn called(number: usize, id: &str, tool: &str, args: &str, status: &str) -> Json {
        object(&[
            ("type", "function_call".into()),
            ("id", format!("fc_{number}").into()),
            ("call_id", id.into()),
            ("name", tool.into()),
            ("arguments", args.into()),
            ("status", status.into()),
        ])
    }

    fn thought() -> Json {
        object(&[("type", "reasoning".into()), ("id", "rs_1".into()), ("summary", Vec::new().into())])
    }

    fn response(status: &str, output: Vec<Json>, usage: Json) -> Json {
        object(&[
            ("id", "resp_1".into()),
            ("object", "response".into()),
            ("created_at", 1.into()),
            ("status", status.into()),
            ("model", "m".into()),
            ("error", Json::Null),
            ("incomplete_details", Json::Null),
            ("instructions", Json::Null),
            ("metadata", object(&[])),
            ("parallel_tool_calls", true.into()),
            ("temperature", Json::Null),
            ("tool_choice", "auto".into()),
            ("tools", Vec::new().into()),
            ("top_p", Json::Null),
            ("output", output.into()),
            ("usage", usage),
        ])
    }

    fn usage() -> Json {
        object(&[
            ("input_tokens", 3.into()),
            ("input_tokens_details", object(&[("cached_tokens", 0.into())])),
            ("output_tokens", 4.into()),
            ("output_tokens_details", object(&[("reasoning_tokens", 0.into())])),
            ("total_tokens", 7.into()),
        ])
    }

    fn output(turn: &Turn) -> Vec<Json> {
        let mut output = vec![thought()];
        if !turn.text.is_empty() {
            output.push(said("completed", vec![part(&turn.text)]));
        }
        let calls = turn.calls.iter().enumerate();
        output.extend(calls.map(|(number, (id, tool, args))| called(number, id, tool, args, "completed")));
        output
    }

    pub(crate) fn plain(turn: &Turn) -> String {
        response("completed", output(turn), usage()).to_string()
    }

    pub(crate) fn streamed(turn: &Turn, size: usize) -> String {
        let mut out = String::new();
        let mut number = 0;
        let mut frame = |name: &str, more: &[(&str, Json)]| {
            let name = format!("response.{name}");
            let mut payload = vec![("type", Json::from(name.as_str())), ("sequence_number", Json::from(number))];
            payload.extend(more.iter().cloned());
            number += 1;
            out.push_str(&format!("event: {name}\ndata: {}\n\n", object(&payload)));
        };
        frame("created", &[("response", response("in_progress", Vec::new(), Json::Null))]);
        frame("in_progress", &[("response", response("in_progress", Vec::new(), Json::Null))]);
        let mut index = 0;
        frame("output_item.added", &[("output_index", index.into()), ("item", thought())]);
        frame("output_item.done", &[("output_index", index.into()), ("item", thought())]);
        if !turn.text.is_empty() {
            index += 1;
            let at = ("output_index", Json::from(index));
            let inner = [at.clone(), ("item_id", "msg_1".into()), ("content_index", 0.into())];
            let with = |key: &'static str, value: Json| -> Vec<(&str, Json)> {
                inner.iter().cloned().chain([(key, value)]).collect()
            };
            frame("output_item.added", &[at.clone(), ("item", said("in_progress", Vec::new()))]);
            frame("content_part.added", &with("part", part("")));
            for piece in pieces(&turn.text, size) {
                let mut delta = with("delta", piece.into());
                delta.push(("logprobs", Vec::new().into()));
                frame("output_text.delta", &delta);
            }
            let mut done = with("text", turn.text.as_str().into());
            done.push(("logprobs", Vec::new().into()));
            frame("output_text.done", &done);
            frame("content_part.done", &with("part", part(&turn.text)));
            frame("output_item.done", &[at, ("item", said("completed", vec![part(&turn.text)]))]);
        }
        for (place, (id, tool, args)) in turn.calls.iter().enumerate() {
            index += 1;
            let at = ("output_index", Json::from(index));
            let inner = [at.clone(), ("item_id", format!("fc_{place}").into())];
            let with = |key: &'static str, value: Json| -> Vec<(&str, Json)> {
                inner.iter().cloned().chain([(key, value)]).collect()
            };
            frame("output_item.added", &[at.clone(), ("item", called(place, id, tool, "", "in_progress"))]);
            for piece in pieces(args, size) {
                frame("function_call_arguments.delta", &with("delta", piece.into()));
            }
            frame("function_call_arguments.done", &with("arguments", args.as_str().into()));
            frame("output_item.done", &[at, ("item", called(place, id, tool, args, "completed"))]);
        }
        frame("completed", &[("response", response("completed", output(turn), usage()))]);
        out
    }
}

/// Returns a stream of chunks about choices that are written by hand.
pub(crate) fn chunks(choices: &[&str]) -> String {
    let chunk = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[CHOICE]}"#;
    choices.iter().map(|choice| format!("data: {}\n\n", chunk.replace("CHOICE", choice))).collect()
}

/// Returns a stream of events that are written by hand.
pub(crate) fn events(payloads: &[&str]) -> String {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

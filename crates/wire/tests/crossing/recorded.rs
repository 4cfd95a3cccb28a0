//! Streams as vendors recorded them, cut at every byte.

use std::path::Path;

use lictor_decode::{DecodedEvents, Format, LogRecord};
use lictor_event::{Event, Source};
use lictor_json as json;
use lictor_wire::{Api, Reply, Ruling};

use crate::drive::{drive, forward};
use crate::made;

/// Recordings from outside of this project, and the kinds of their events, counted by hand.
const RECORDED: [(&str, Api, &[&str]); 7] = [
    ("openai-chat/stream_one_tool_call.sse", Api::Chat, &["tool_call"]),
    ("openai-chat/stream_parallel_tool_calls.sse", Api::Chat, &["tool_call", "tool_call"]),
    ("openai-chat/stream_two_tool_calls_a.sse", Api::Chat, &["tool_call"]),
    ("openai-responses/stream_function_call.sse", Api::Responses, &["tool_call"]),
    ("anthropic/stream_tool_use_response.sse", Api::Messages, &["assistant_message", "tool_call"]),
    ("anthropic/stream_refusal_response.sse", Api::Messages, &["assistant_message"]),
    ("anthropic/stream_incomplete_partial_json_response.sse", Api::Messages, &["assistant_message", "tool_call"]),
];

/// The available recordings, and generated streams for what they lack.
fn streams() -> Vec<(String, Api, String, Option<&'static [&'static str]>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/formats");
    let mut streams = Vec::new();
    for (name, api, said) in RECORDED {
        match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => streams.push((name.into(), api, text, Some(said))),
            Err(_) => eprintln!("SKIPPED: the recording {name} is not here"),
        }
    }
    streams.extend(made::streams().into_iter().map(|(name, api, text)| (name.into(), api, text, None)));
    streams
}

/// The events that the decoder of logs reads.
fn logged(api: Api, text: &str) -> Vec<Event> {
    let mut decoder = Format::named(api.name()).unwrap().decoder();
    let mut decoded = DecodedEvents::default();
    let payloads = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    for (index, payload) in payloads.enumerate() {
        let value = json::parse_str(payload).unwrap();
        decoder.record(LogRecord { value, file: "log".into(), line: 1, index: index as u32 }, &mut decoded);
    }
    decoder.finish(&mut decoded);
    assert_eq!(decoded.faults, []);
    decoded.events
}

/// An event without its source and time.
fn told(event: &Event) -> Event {
    let mut told = Event { source: Source::default(), time: None, session: None, ..event.clone() };
    for mark in ["truncated", "executed_by"] {
        told.more.remove(mark);
    }
    told
}

#[test]
fn recorded_stream_gives_expected_events() {
    for (name, api, text, said) in streams() {
        let driven = forward(api, &text);
        assert_eq!(driven.refused, None, "{name}");
        assert!(driven.is_complete, "{name}");
        // What a reply quotes beside its content is judged, and no event of a log.
        let events: Vec<Event> =
            driven.events().into_iter().filter(|event| event.more.get("quoted").is_none()).collect();
        if let Some(said) = said {
            let kinds: Vec<String> = events.iter().map(|event| event.kind.to_string()).collect();
            assert_eq!(kinds, said, "{name}");
        }
        assert_eq!(driven.text(), text, "{name}");
        // The decoder of logs reads the same events; a stream has the choices in the order in which they end.
        let mut ours: Vec<Event> = events.iter().map(told).collect();
        ours.sort_by_key(|event| event.more.get("choice").and_then(json::Json::as_i64));
        assert_eq!(ours, logged(api, &text).iter().map(told).collect::<Vec<_>>(), "{name}");
    }
}

/// Returns the places at which a stream is cut: one of four, or all of them with `LICTOR_CASES=4`.
fn cuts(length: usize, first: usize) -> impl Iterator<Item = usize> {
    let step = 4_usize.div_ceil(crate::cases(1) as usize);
    (first % step..length).step_by(step)
}

#[test]
fn stream_gives_same_events_at_every_cut() {
    for (name, api, text, _) in streams() {
        for hold_back in [0, 7] {
            let pass = |pieces: Vec<&[u8]>| drive(api, hold_back, pieces, |_| Ruling::Forward, |_, _| Vec::new());
            let whole = pass(vec![text.as_bytes()]);
            assert_eq!(whole.text(), text, "{name}");
            for cut in cuts(text.len(), hold_back) {
                let (before, after) = text.as_bytes().split_at(cut);
                let driven = pass(vec![before, after]);
                assert_eq!(driven.events(), whole.events(), "{name} cut at {cut}");
                assert_eq!(driven.released, whole.released, "{name} cut at {cut}");
                assert_eq!(driven.sent, whole.sent, "{name} cut at {cut}");
            }
            let driven = pass(text.as_bytes().chunks(1).collect());
            assert_eq!(driven.events(), whole.events(), "{name} byte by byte");
            assert_eq!(driven.text(), text, "{name} byte by byte");
        }
    }
}

#[test]
fn line_ends_comments_and_marks_change_nothing() {
    for (name, api, text, _) in streams() {
        let plain = forward(api, &text).events();
        let data_twice = text.replace("data: {", "data: {\ndata: ");
        let mut data_joined = text.replace("data: {", "data: { ");
        if !data_joined.ends_with('\n') {
            data_joined.push('\n');
        }
        let forms = [
            text.replace('\n', "\r\n"),
            text.replace('\n', "\r"),
            format!("\u{feff}{text}"),
            text.replace("\n\n", "\n\n: keep-alive\n\n"),
            text.replace("\n\n", "\r\n\n"),
            data_twice.clone(),
            text.replace("data: ", "data:"),
            text.replace("data: ", "id: 7\nretry: 10\ndata: "),
        ];
        for form in forms {
            let expected = match form == data_twice {
                true => data_joined.clone(),
                false => form.replace(": keep-alive", ":"),
            };
            for piece in [1, 3, 4096] {
                let pieces = form.as_bytes().chunks(piece);
                let driven = drive(api, 0, pieces, |_| Ruling::Forward, |_, _| Vec::new());
                assert_eq!(driven.refused, None, "{name}: {form:.80}");
                assert_eq!(driven.events(), plain, "{name}: {form:.80}");
                assert_eq!(driven.text(), expected, "{name}");
            }
        }
    }
}

#[test]
fn cut_stream_releases_no_unjudged_call() {
    for (name, api, text, _) in streams() {
        for cut in cuts(text.len(), 1) {
            let cut_off = &text.as_bytes()[..cut];
            let mut called = Vec::new();
            let driven = drive(
                api,
                0,
                [cut_off],
                |event| {
                    called.push(event.clone());
                    Ruling::Forward
                },
                |_, _| Vec::new(),
            );
            match &driven.refused {
                // A frame that was cut is not JSON.
                Some(refused) => assert!(
                    refused.code.starts_with("json.") || refused.code == "stream.field",
                    "{name} {cut} {refused}"
                ),
                None => assert_eq!(driven.released, cut_off, "{name} cut off at {cut}"),
            }
            for event in called.iter().filter(|event| event.more.get("truncated").is_some()) {
                let is_known =
                    event.args.as_ref().is_none_or(|args| args.value().is_none_or(|value| value.as_object().is_some()));
                assert!(is_known, "{name} {cut} {event:?}");
            }
        }
    }
}

#[test]
fn streamed_reply_gives_events_of_plain_reply() {
    for (name, api, streamed, plain) in made::pairs() {
        let driven = forward(api, &streamed);
        let reply = Reply::read(api, plain.as_bytes()).unwrap();
        assert_eq!(driven.events(), reply.events(), "{name}");
        assert_eq!(driven.sent, reply.settle(&[]).unwrap().sent, "{name}");
    }
}

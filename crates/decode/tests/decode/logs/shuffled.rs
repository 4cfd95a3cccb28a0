//! Logs whose records are not in the order of their times.

use std::collections::{BTreeMap, BTreeSet};

use lictor_decode::input::{is_clear_fall, is_of_unknown_extent};
use lictor_decode::{DecodedEvents, Fault, Format};
use lictor_json::{Json, Text};
use lictor_logic::Time;

use crate::golden_files::golden_files;
use crate::reader::{decode, decode_lines, records};

/// Returns what was said and done in each session.
fn sessions(decoded: &DecodedEvents) -> BTreeMap<String, Vec<String>> {
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in &decoded.events {
        let (args, result) = (&event.args, &event.result);
        let line = format!("{} {:?} {:?} {:?} {args:?} {result:?}", event.kind, event.id, event.tool, event.text);
        sessions.entry(event.session.as_deref().unwrap_or_default().to_owned()).or_default().push(line);
    }
    sessions
}

/// Returns values in another order, which depends on a seed.
fn shuffle<T>(mut values: Vec<T>, mut seed: u64) -> Vec<T> {
    for place in (1..values.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.swap(place, (seed >> 33) as usize % (place + 1));
    }
    values
}

/// Whether the times of a session fall clearly, from one record to the next.
fn has_fall(order: &[usize], times: &BTreeMap<usize, (Option<Text>, Time)>) -> bool {
    let mut last: BTreeMap<&Option<Text>, Time> = BTreeMap::new();
    let timed = order.iter().filter_map(|place| times.get(place));
    timed.into_iter().any(|(session, time)| last.insert(session, *time).is_some_and(|last| is_clear_fall(last, *time)))
}

/// Every format: the events are those of the ordered log, or a fault says that its order is unknown.
#[test]
fn shuffled_log_is_read_in_order_or_reported() {
    let mut checked = BTreeSet::new();
    for (format, file) in golden_files(|_| true) {
        let whole = records(&file);
        // A request without a session belongs to the conversation that it repeats, and AG2 states times that are not in
        // the order of what happened.
        if file.ends_with("ag2_events.jsonl") || whole.iter().any(|(_, value)| value.get("request").is_some()) {
            continue;
        }
        let plain = decode(format, "log", &whole);
        let times = plain
            .events
            .iter()
            .rev()
            .filter_map(|event| Some((event.source.record as usize, (event.session.clone(), event.time?))));
        let times: BTreeMap<usize, (Option<Text>, Time)> = times.collect();
        for seed in 0..20 {
            let order = shuffle((0..whole.len()).collect(), seed);
            if !has_fall(&order, &times) {
                continue;
            }
            checked.insert(format.name());
            let shuffled: Vec<(u32, Json)> = order.iter().map(|place| whole[*place].clone()).collect();
            let decoded = decode(format, "log", &shuffled);
            let is_new = |fault: &&Fault| plain.faults.iter().all(|known| known.code != fault.code);
            let is_reported = decoded.faults.iter().filter(is_new).any(is_of_unknown_extent);
            assert!(
                is_reported || sessions(&decoded) == sessions(&plain),
                "{} {seed}: {:?}",
                file.display(),
                decoded.faults
            );
        }
    }
    for format in ["claude-code", "codex", "mcp", "openai-assistants", "openai-chat", "otlp", "pydantic-ai"] {
        assert!(checked.contains(format), "{format}: {checked:?}");
    }
}

/// Returns a message of a session at a second, if it has one.
fn line(session: &str, second: Option<usize>, text: &str) -> String {
    let time = second.map(|second| format!(r#""time":"2026-05-01T10:{:02}:{:02}Z","#, second / 60, second % 60));
    format!(r#"{{"session_id":"{session}",{}"role":"user","content":"{text}"}}"#, time.unwrap_or_default())
}

fn codes(lines: &[String]) -> (Vec<String>, Vec<&'static str>) {
    let decoded = decode_lines(Format::OpenaiChat.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let texts = decoded.events.iter().filter_map(|event| event.text.as_ref().map(ToString::to_string)).collect();
    (texts, decoded.faults.iter().map(|fault| fault.code).collect())
}

#[test]
fn shuffled_records_with_own_times_are_sorted() {
    let ordered: Vec<String> = (0..50).map(|second| line("s", Some(second), &second.to_string())).collect();
    let wanted: Vec<String> = (0..50).map(|second| second.to_string()).collect();
    for seed in 0..10 {
        assert_eq!(codes(&shuffle(ordered.clone(), seed)), (wanted.clone(), vec![]));
    }
    // Other sessions keep their places.
    let mixed = [line("s", Some(2), "c"), line("t", Some(9), "x"), line("s", Some(1), "b"), line("t", Some(9), "y")];
    assert_eq!(codes(&mixed), (["b", "x", "c", "y"].map(str::to_owned).to_vec(), vec![]));
    let backwards: Vec<String> = ordered.into_iter().rev().collect();
    assert_eq!(codes(&backwards), (wanted, vec![]));
}

#[test]
fn shuffled_records_without_clear_times_are_reported() {
    let two_at_once = [line("s", Some(2), "c"), line("s", Some(1), "a"), line("s", Some(1), "b")];
    let one_untimed = [line("s", Some(2), "c"), line("s", None, "a"), line("s", Some(1), "b")];
    for lines in [two_at_once, one_untimed] {
        let (texts, codes) = codes(&lines);
        assert_eq!((texts.len(), codes), (3, vec!["decode.unordered_log"]), "{lines:?}");
    }
    let backwards = [line("s", Some(3), "d"), line("s", Some(2), "c"), line("s", None, "a"), line("s", Some(1), "b")];
    assert_eq!(codes(&backwards).1, ["decode.reversed_log"]);
    // Equal times are in the order of the log.
    let equal = [line("s", Some(1), "a"), line("s", Some(1), "b"), line("s", Some(2), "c")];
    assert_eq!(codes(&equal), (["a", "b", "c"].map(str::to_owned).to_vec(), vec![]));
    // A log that is too large to be sorted.
    let mut large: Vec<String> = (1..3000).map(|number| line("s", Some(number), "a")).collect();
    large.extend((0..20_000).map(|_| line("t", Some(0), "b")));
    large.push(line("s", Some(0), "late"));
    assert_eq!(codes(&large).1, ["decode.unordered_log"]);
}

#[test]
fn jitter_of_writers_is_no_other_order() {
    let at = |time: &str, text: &str| {
        format!(r#"{{"session_id":"s","time":"2026-05-01T10:00:{time}Z","role":"user","content":"{text}"}}"#)
    };
    let texts = ["a", "b", "c"].map(str::to_owned).to_vec();
    // Two at once, so that the records cannot be sorted.
    let jitter = [at("02.500", "a"), at("01.900", "b"), at("01.900", "c")];
    assert_eq!(codes(&jitter), (texts.clone(), vec![]));
    let other = [at("02.900", "a"), at("01.900", "b"), at("01.900", "c")];
    assert_eq!(codes(&other), (texts, vec!["decode.unordered_log"]));
}

/// Returns the exchanges of a conversation, each with a time in its reply only: the user asks, the agent calls a tool twice.
fn exchanges(shape: &str, prompt: &str, seconds: [u32; 3]) -> Vec<String> {
    let call = |id: u32| {
        let function = r#""type":"function","function":{"name":"cancel_order","arguments":"{}"}"#;
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{id}",{function}}}]}}"#)
    };
    let result = |id: u32| format!(r#"{{"role":"tool","tool_call_id":"c{id}","content":"done {id}"}}"#);
    let user = format!(r#"{{"role":"user","content":"{prompt}"}}"#);
    let answer = r#"{"role":"assistant","content":"It is done."}"#.to_owned();
    let histories = [
        user.clone(),
        [user.clone(), call(1), result(1)].join(","),
        [user, call(1), result(1), call(2), result(2)].join(","),
    ];
    let replies = [call(1), call(2), answer];
    let exchange = |(place, history): (usize, String)| {
        let time = match shape {
            "iso" => format!(r#""created_at":"2026-05-01T10:00:{:02}Z""#, seconds[place]),
            _ => format!(r#""created":{}"#, 1_777_629_600 + seconds[place]),
        };
        let reply = format!(
            r#"{{"id":"r{place}","object":"chat.completion",{time},"choices":[{{"index":0,"message":{}}}]}}"#,
            replies[place]
        );
        match shape {
            "flat" => format!(r#"{{"messages":[{history}],"response":{reply}}}"#),
            _ => format!(r#"{{"request":{{"model":"m","messages":[{history}]}},"response":{reply}}}"#),
        }
    };
    histories.into_iter().enumerate().map(exchange).collect()
}

fn count_calls(lines: &[String]) -> (usize, Vec<&'static str>) {
    let decoded = decode_lines(Format::OpenaiChat.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let calls = decoded.events.iter().filter(|event| event.kind == lictor_event::Kind::ToolCall).count();
    (calls, decoded.faults.iter().map(|fault| fault.code).collect())
}

#[test]
fn shuffled_exchanges_are_sorted_by_their_replies() {
    for shape in ["request", "flat", "iso"] {
        let ordered = exchanges(shape, "please cancel both of my orders", [1, 4, 9]);
        for order in [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [2, 0, 1]] {
            let lines: Vec<String> = order.iter().map(|place| ordered[*place].clone()).collect();
            assert_eq!(count_calls(&lines), (2, vec![]), "{shape} {order:?}");
        }
        // Of replies of one second, the one with the longer history is later.
        let quick = exchanges(shape, "please cancel both of my orders", [1, 1, 5]);
        for order in [[2, 1, 0], [2, 0, 1]] {
            let lines: Vec<String> = order.iter().map(|place| quick[*place].clone()).collect();
            assert_eq!(count_calls(&lines), (2, vec![]), "{shape} {order:?}");
        }
    }
    // A reply without a time has no place.
    let mut lines = exchanges("flat", "please cancel both of my orders", [1, 4, 9]);
    lines[2] = lines[2].replace(r#""created":"#, r#""n":"#);
    lines.swap(0, 1);
    assert_eq!(count_calls(&lines).1, ["decode.unordered_log"]);
}

/// Requests of several conversations overlap, and clocks differ by less than a second.
#[test]
fn overlapping_exchanges_are_in_order() {
    let (first, second) =
        (exchanges("flat", "cancel my orders", [1, 4, 9]), exchanges("flat", "cancel hers", [2, 3, 4]));
    let failed =
        r#"{"messages":[{"role":"user","content":"hello"}],"response":{"error":{"message":"busy"}}}"#.to_owned();
    let lines = [&second[0], &first[0], &second[1], &second[2], &first[1], &first[2]].map(String::clone);
    assert_eq!(count_calls(&lines), (4, vec![]));
    let decoded = count_calls(&[&lines[..], &[failed]].concat());
    assert!(decoded.0 == 4 && !decoded.1.contains(&"decode.unordered_log"), "{decoded:?}");
}

/// A log that is too large to be sorted says so if a reply comes before those that it continues.
#[test]
fn shuffled_exchanges_of_large_log_are_reported() {
    let prompt = |number: usize| format!("please cancel both orders of the customer with the number {number:>900}");
    let mut lines: Vec<String> = (0..2000).flat_map(|number| exchanges("flat", &prompt(number), [1, 4, 9])).collect();
    assert_eq!(count_calls(&lines), (4000, vec![]));
    let last = lines.len() - 1;
    lines.swap(last, last - 1);
    assert_eq!(count_calls(&lines).1, ["decode.unordered_log"]);
}

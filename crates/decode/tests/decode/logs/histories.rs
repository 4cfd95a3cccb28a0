//! Logs in which a session repeats its history in part, or not at all.

use lictor_decode::Format;
use lictor_event::Kind;

use crate::reader::decode_lines;

/// Returns how many user messages, calls and results are read, and the sessions.
fn count(format: Format, lines: &[String]) -> (usize, usize, usize, usize) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let decoded = decode_lines(format.decoder(), &lines);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    let of = |kind: Kind| decoded.events.iter().filter(|event| event.kind == kind).count();
    let mut sessions: Vec<_> = decoded.events.iter().map(|event| event.session.clone()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    (of(Kind::UserMessage), of(Kind::ToolCall), of(Kind::ToolResult), sessions.len())
}

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn says(text: &str) -> String {
    format!(r#"{{"role":"assistant","content":"{text}"}}"#)
}

fn calls(id: &str, tool: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":"{{}}"}}}}]}}"#
    )
}

fn returns(id: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
}

fn record(session: &str, messages: &[String]) -> String {
    format!(r#"{{"model":"m",{session}"messages":[{}]}}"#, messages.join(","))
}

#[test]
fn turns_with_same_words_are_all_read() {
    let turn = |id: &str, minute: usize| {
        let timed = |message: String, second: usize| {
            message.replacen('{', &format!(r#"{{"timestamp":"2026-05-01T10:0{minute}:0{second}Z","#), 1)
        };
        let messages = [user("again"), calls(id, "charge"), returns(id, "ok"), says("done")];
        messages.into_iter().enumerate().map(|(second, message)| timed(message, second)).collect::<Vec<_>>()
    };
    let session = r#""session_id":"s","#;
    let same_ids: Vec<String> = (0..4).map(|minute| record(session, &turn("call_0", minute))).collect();
    assert_eq!(count(Format::OpenaiChat, &same_ids), (4, 4, 4, 1));
    let other_ids: Vec<String> = (0..4)
        .map(|turn| {
            let id = format!("call_{turn}");
            record(session, &[user("again"), calls(&id, "charge"), returns(&id, "ok"), says("done")])
        })
        .collect();
    assert_eq!(count(Format::OpenaiChat, &other_ids), (4, 4, 4, 1));
}

#[test]
fn trimmed_histories_are_read_once() {
    let id = "call_Hx3kQ9vT2mZr7LpA";
    let first = [user("pay ann"), calls(id, "pay"), returns(id, "ok"), says("paid"), user("thanks")];
    let window = [calls(id, "pay"), returns(id, "ok"), says("paid"), user("thanks"), says("welcome"), user("bye")];
    let cleared = [
        user("pay ann"),
        calls(id, "pay"),
        returns(id, "[cleared]"),
        says("paid"),
        user("thanks"),
        says("welcome"),
        user("bye"),
    ];
    for session in [r#""session_id":"s","#, ""] {
        let lines =
            |second: &[String]| [record(session, &first[..4]), record(session, &first), record(session, second)];
        assert_eq!(count(Format::OpenaiChat, &lines(&window)), (3, 1, 1, 1), "{session}");
        assert_eq!(count(Format::OpenaiChat, &lines(&cleared)), (3, 1, 2, 1), "{session}");
    }
}

#[test]
fn agents_of_one_session_have_own_histories() {
    let session = r#""session_id":"s","#;
    let (a, b) =
        ([user("find it"), calls("a1", "find"), returns("a1", "here")], [user("write it"), calls("b1", "write")]);
    let lines = [
        record(session, &a[..2]),
        record(session, &b),
        record(session, &a),
        record(session, &[&b[..], &[returns("b1", "written")]].concat()),
    ];
    assert_eq!(count(Format::OpenaiChat, &lines), (2, 2, 2, 1));
}

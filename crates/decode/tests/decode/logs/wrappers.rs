//! Records within those of log shippers and databases, and lists as JSON text.

use lictor_decode::input::{Input, InputLimits, find_wrapper};
use lictor_decode::{DecodedEvents, Format};
use lictor_json::Json;

use crate::reader::{decode_lines, lines};

const USER: &str = r#"{"session_id":"s","role":"user","content":"Refund A-1"}"#;
const CALL: &str = r#"{"session_id":"s","role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"refund","arguments":"{}"}}]}"#;

fn detect(lines: &[String]) -> Option<Format> {
    Format::detect(&lines.iter().map(|line| lictor_json::parse_str(line).unwrap()).collect::<Vec<Json>>())
}

fn decode(format: Format, lines: &[String]) -> DecodedEvents {
    decode_lines(format.decoder(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn quote(text: &str) -> String {
    Json::from(text).to_string()
}

/// Decodes the two records within a wrapper, and returns the lines of their events without their times.
fn read_wrapped(wrap: impl Fn(&str) -> String) -> String {
    let wrapped = [wrap(USER), wrap(CALL)];
    assert_eq!(detect(&wrapped), Some(Format::OpenaiChat), "{}", wrapped[0]);
    lines(&decode(Format::OpenaiChat, &wrapped)).replace(" time=2026-05-01T10:00:00Z", "")
}

#[test]
fn wrapped_records_of_log_shippers_are_opened() {
    let bare = lines(&decode(Format::OpenaiChat, &[USER.to_owned(), CALL.to_owned()]));
    assert!(bare.contains("tool_call session=s id=c1 tool=refund"), "{bare}");
    let time = r#""2026-05-01T10:00:00Z""#;
    let docker =
        |record: &str| format!(r#"{{"log":{},"stream":"stdout","time":{time}}}"#, quote(&format!("{record}\n")));
    let cloudwatch = |record: &str| format!(r#"{{"timestamp":1777629600000,"message":{}}}"#, quote(record));
    let google = |record: &str| format!(r#"{{"insertId":"0","jsonPayload":{record},"timestamp":{time}}}"#);
    let datadog = |record: &str| {
        let inner = format!(r#"{{"timestamp":{time},"message":"llm","attributes":{record}}}"#);
        format!(r#"{{"id":"A0","type":"log","attributes":{inner}}}"#)
    };
    let answer = |record: &str| format!(r#"{{"events":[{}]}}"#, cloudwatch(record));
    assert_eq!(read_wrapped(docker), bare);
    assert_eq!(read_wrapped(cloudwatch), bare);
    assert_eq!(read_wrapped(google), bare);
    assert_eq!(read_wrapped(datadog), bare);
    assert_eq!(read_wrapped(answer), bare);
}

#[test]
fn wrapped_native_records_are_opened() {
    let line = r#"{"log":"{\"session\":\"s\",\"kind\":\"tool_call\",\"tool\":\"refund\"}","stream":"stdout"}"#;
    assert_eq!(detect(&[line.to_owned()]), Some(Format::Native));
    assert_eq!(decode(Format::Native, &[line.to_owned()]).events[0].tool.as_deref(), Some("refund"));
}

/// Where most messages are plain, the file is read as OpenAI's, and those with blocks with it.
#[test]
fn wrapped_blocks_among_plain_messages_are_read() {
    let messages = [
        r#"{"role":"user","content":"Refund A-1"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"refund","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}"#,
        r#"{"role":"assistant","content":"Done."}"#,
        r#"{"role":"user","content":"Thank you."}"#,
    ];
    let wrapped = messages.map(|message| format!(r#"{{"message":{}}}"#, quote(message)));
    let answer = format!(r#"{{"events":[{}]}}"#, wrapped.join(","));
    for rows in [&wrapped[..], &[answer]] {
        let decoded = decode(detect(rows).unwrap(), rows);
        let kinds: Vec<&str> = decoded.events.iter().map(|event| event.kind.name()).collect();
        let wanted = ["user_message", "tool_call", "tool_result", "assistant_message", "user_message"];
        assert!(kinds == wanted && decoded.faults.is_empty(), "{kinds:?} {:?}", decoded.faults);
    }
}

#[test]
fn wrapped_records_are_named_by_member() {
    let limits = InputLimits::default();
    let wrapper = |text: &str| find_wrapper(&Input::from_bytes("log", text.as_bytes()), &limits);
    assert_eq!(wrapper(USER), None);
    assert_eq!(wrapper(&format!(r#"{{"log":{}}}"#, quote(USER))), Some("log"));
    assert_eq!(wrapper(r#"{"log":"GET /","stream":"stdout"}"#), None);
}

#[test]
fn wrapper_of_unknown_content_stays_unknown() {
    let line = r#"{"log":"{\"level\":\"info\"}","stream":"stdout"}"#.to_owned();
    assert_eq!(detect(std::slice::from_ref(&line)), None);
    let decoded = decode(Format::OpenaiChat, &[format!(r#"{{"log":{}}}"#, quote(USER)), line]);
    assert_eq!((decoded.events.len(), decoded.faults.len()), (1, 1));
}

#[test]
fn lists_as_text_are_read_as_lists() {
    let calls = r#"[{"id":"c1","type":"function","function":{"name":"refund","arguments":"{}"}}]"#;
    let row = format!(r#"{{"session_id":"s","role":"assistant","content":null,"tool_calls":{}}}"#, quote(calls));
    let bare = lines(&decode(Format::OpenaiChat, &[USER.to_owned(), CALL.to_owned()]));
    assert_eq!(lines(&decode(Format::OpenaiChat, &[USER.to_owned(), row.clone()])), bare);
    let history = format!(r#"{{"session_id":"s","messages":{}}}"#, quote(&format!("[{USER},{row}]")));
    assert_eq!(detect(std::slice::from_ref(&history)), Some(Format::OpenaiChat));
    assert_eq!(lines(&decode(Format::OpenaiChat, &[history])), bare.replace("line=2", "line=1"));
    // A text that is no list of objects is what it says.
    let text = r#"{"role":"user","content":"[1,2]","parts":"[1,2]"}"#.to_owned();
    assert_eq!(decode(Format::OpenaiChat, &[text]).events[0].text.as_deref(), Some("[1,2]"));
}

#[test]
fn rows_of_agents_sdk_sessions_are_read() {
    let row = |data: &str| format!(r#"{{"id":1,"session_id":"u1","message_data":{}}}"#, quote(data));
    let rows = [
        row(r#"{"role":"user","content":"Refund A-1"}"#),
        row(r#"{"type":"function_call","call_id":"c1","name":"refund","arguments":"{}"}"#),
        row(r#"{"type":"function_call_output","call_id":"c1","output":"ok"}"#),
    ];
    let format = detect(&rows).unwrap();
    assert_eq!(format, Format::OpenaiResponses);
    let decoded = decode(format, &rows);
    let kinds: Vec<String> = decoded.events.iter().map(|event| event.kind.to_string()).collect();
    assert_eq!(kinds, ["user_message", "tool_call", "tool_result"]);
    assert!(decoded.events.iter().all(|event| event.session.as_deref() == Some("u1")), "{:?}", decoded.events);
}

#[test]
fn failed_batch_requests_are_errors_not_faults() {
    let openai = r#"{"custom_id":"r1","response":{"status_code":400,"body":{"error":{"message":"bad"}}},"error":null}"#;
    let expired = r#"{"custom_id":"r2","result":{"type":"expired"}}"#;
    for (format, line, text) in [
        (Format::OpenaiChat, openai, "bad"),
        (Format::OpenaiResponses, openai, "bad"),
        (Format::Anthropic, expired, "expired"),
    ] {
        let decoded = decode(format, &[line.to_owned()]);
        assert!(decoded.faults.is_empty(), "{format}: {:?}", decoded.faults);
        let [event] = &decoded.events[..] else { panic!("{format}: {:?}", decoded.events) };
        assert_eq!((event.kind.name(), event.text.as_deref()), ("error", Some(text)), "{format}");
        assert!(event.session.as_deref().is_some_and(|session| session.starts_with('r')), "{event:?}");
    }
}

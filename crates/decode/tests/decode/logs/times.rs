//! When events were: the usual members of a time, numbers of any unit, and the times of whole histories.

use lictor_decode::{DecodedEvents, Format};
use lictor_event::write_time;

use crate::reader::decode_lines;

fn decode(format: Format, lines: &[&str]) -> DecodedEvents {
    decode_lines(format.decoder(), lines)
}

fn times(decoded: &DecodedEvents) -> Vec<String> {
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    decoded.events.iter().map(|event| event.time.map_or_else(|| "-".to_owned(), write_time)).collect()
}

const NINE: &str = "2026-05-04T09:00:00Z";

#[test]
fn message_lines_are_timed_by_usual_members() {
    let shapes = [
        (Format::OpenaiChat, r#""session_id":"a","role":"user","content":"yes""#),
        (Format::Anthropic, r#""session_id":"a","role":"user","content":"yes""#),
        (Format::Anthropic, r#""role":"assistant","content":[{"type":"tool_use","id":"1","name":"pay","input":{}}]"#),
        (Format::Langchain, r#""type":"human","content":"yes","thread_id":"a""#),
        (Format::Gemini, r#""role":"user","parts":[{"text":"yes"}]"#),
        (Format::OpenaiResponses, r#""type":"function_call","call_id":"1","name":"pay","arguments":"{}""#),
        (Format::Native, r#""kind":"tool_call","tool":"pay""#),
    ];
    for (format, shape) in shapes {
        for key in lictor_event::TIME_KEYS {
            for value in ["\"2026-05-04T11:00:00+02:00\"", "1777885200", "1777885200000", "1777885200000000"] {
                let line = format!("{{{shape},\"{key}\":{value}}}");
                assert_eq!(times(&decode(format, &[&line])), [NINE], "{format} {line}");
            }
        }
    }
}

#[test]
fn messages_in_a_list_keep_their_times() {
    let line = r#"{"messages":[{"role":"user","content":"hi","timestamp":"2026-05-04T09:00:00Z"},
        {"role":"assistant","content":"hello","timestamp":1777885201.5},{"role":"user","content":"pay"}]}"#;
    for format in [Format::OpenaiChat, Format::Anthropic] {
        assert_eq!(times(&decode(format, &[line])), [NINE, "2026-05-04T09:00:01.5Z", "-"]);
    }
}

#[test]
fn exchange_time_is_that_of_both_parts() {
    let line = r#"{"created_at":"2026-05-04T09:00:00Z","request":{"messages":[{"role":"user","content":"hi"}]},
        "response":{"choices":[{"message":{"role":"assistant","content":"hello"}}]}}"#;
    assert_eq!(times(&decode(Format::OpenaiChat, &[line])), [NINE, NINE]);
    let line = r#"{"ts":1777885200,"request":{"system":"be kind","messages":[{"role":"user","content":"hi"}]},
        "response":{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"hello"}]}}"#;
    assert_eq!(times(&decode(Format::Anthropic, &[line])), [NINE, NINE, NINE]);
}

#[test]
fn history_time_is_that_of_last_step() {
    let state = |time: &str, messages: &str| {
        format!(
            r#"{{"config":{{"configurable":{{"thread_id":"t"}}}},"values":{{"messages":[{messages}]}},"created_at":"{time}"}}"#
        )
    };
    let call = r#"{"type":"human","content":"refund it"},
        {"type":"ai","content":"I will","tool_calls":[{"name":"refund","args":{},"id":"1"},{"name":"mail","args":{},"id":"2"}]}"#;
    let answers = format!(
        r#"{call},{{"type":"tool","content":"done","tool_call_id":"1"}},{{"type":"tool","content":"sent","tool_call_id":"2"}}"#
    );
    let approved = format!(r#"{answers},{{"type":"human","content":"approved"}}"#);
    let whole = decode(Format::Langchain, &[&state(NINE, &approved)]);
    assert_eq!(times(&whole), ["-", "-", "-", "-", "-", "-", NINE]);
    let first = "2026-05-04T08:00:00Z";
    let second = "2026-05-04T08:30:00Z";
    let states = [state(first, call), state(second, &answers), state(NINE, &approved)];
    let steps = decode(Format::Langchain, &states.each_ref().map(String::as_str));
    assert_eq!(times(&steps), ["-", first, first, first, second, second, NINE]);
}

#[test]
fn creation_of_conversation_times_no_message() {
    let messages = r#""messages":[{"role":"user","content":"hi"}]"#;
    for (key, time) in [("created_at", "-"), ("timestamp", NINE)] {
        let line = format!(r#"{{"id":"c","{key}":"2026-05-04T09:00:00Z",{messages}}}"#);
        assert_eq!(times(&decode(Format::OpenaiChat, &[&line])), [time], "{key}");
    }
}

#[test]
fn time_without_offset_is_one_fault_a_file() {
    let line = r#"{"role":"user","content":"yes","timestamp":"2026-05-04 09:00:00"}"#;
    for format in [Format::OpenaiChat, Format::Anthropic] {
        let decoded = decode(format, &[line, line]);
        assert_eq!((decoded.events.len(), decoded.faults.len()), (2, 1));
        assert_eq!((decoded.faults[0].code, decoded.faults[0].line), ("decode.no_time", 1));
        assert!(decoded.faults[0].message.contains("2 records of this file"), "{}", decoded.faults[0].message);
    }
    let line = r#"{"kind":"tool_call","tool":"pay","timestamp":"2026-05-04 09:00:00"}"#;
    let decoded = decode(Format::Native, &[line]);
    assert_eq!((decoded.events.len(), decoded.faults[0].code), (1, "decode.no_time"));
}

#[test]
fn member_that_is_no_time_is_ignored() {
    for value in ["\"noon\"", "true", "null", "{}", "0", "\"2026-05-04\""] {
        let line = format!(r#"{{"role":"user","content":"yes","date":{value},"created":{value}}}"#);
        assert_eq!(times(&decode(Format::OpenaiChat, &[&line])), ["-"], "{value}");
        let line = format!(r#"{{"kind":"tool_call","tool":"pay","date":{value}}}"#);
        assert_eq!(times(&decode(Format::Native, &[&line])), ["-"], "{value}");
    }
}

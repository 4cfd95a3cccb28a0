//! Calls in places that no decoder reads are faults, and calls that were read are none.

use lictor_decode::Format;
use lictor_event::Kind;

use crate::reader::decode_lines;

/// Returns the codes of the faults in a log, and the tools of its calls.
fn read(lines: &[&str]) -> (Vec<&'static str>, Vec<String>) {
    let values: Vec<_> = lines.iter().map(|line| lictor_json::parse_str(line).unwrap()).collect();
    let format = Format::detect(&values).unwrap_or_else(|| panic!("{lines:?}"));
    let decoded = decode_lines(format.decoder(), lines);
    let calls = decoded.events.iter().filter(|event| event.kind == Kind::ToolCall);
    let calls = calls.map(|event| event.tool.as_deref().unwrap_or_default().to_owned()).collect();
    (decoded.faults.iter().map(|fault| fault.code).collect(), calls)
}

/// A call of OpenAI's, and a message of the user, as JSON.
const CALL: &str = r#"{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"}}"#;
const USER: &str = r#"{"role":"user","content":"hello there"}"#;

#[test]
fn call_outside_its_format_is_a_fault() {
    let assistant =
        |members: &str| format!(r#"{{"messages":[{USER},{{"role":"assistant","content":"a",{members}}}]}}"#);
    let beside = |members: &str| format!(r#"{{"messages":[{USER}],{members}}}"#);
    let text = lictor_json::Json::from(CALL).to_string();
    for line in [
        assistant(&format!(r#""toolCalls":[{CALL}]"#)),
        assistant(r#""functionCall":{"name":"pay","arguments":"{}"}"#),
        assistant(&format!(r#""tool_calls":{CALL}"#)),
        assistant(&format!(r#""tool_calls":{{"0":{CALL}}}"#)),
        assistant(&format!(r#""tool_calls":{text}"#)),
        assistant(&format!(r#""children":[{{"role":"assistant","tool_calls":[{CALL}]}}]"#)),
        beside(&format!(r#""choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{CALL}]}}}}]"#)),
        beside(r#""content":[{"type":"tool_use","id":"t","name":"pay","input":{}}]"#),
        beside(r#""output":[{"type":"function_call","call_id":"c","name":"pay","arguments":"{}"}]"#),
        beside(&format!(r#""new_messages":[{{"role":"assistant","tool_calls":[{CALL}]}}]"#)),
        r#"{"contents":[{"role":"user","parts":[{"text":"x"}]},
            {"role":"model","parts":[{"text":"a","functionCall":{"name":"pay","args":{}}}]}]}"#
            .to_owned(),
    ] {
        let (faults, calls) = read(&[&line]);
        assert!(faults.contains(&"decode.unread_call") && calls.is_empty(), "{line}: {faults:?} {calls:?}");
    }
}

#[test]
fn call_that_was_cut_off_is_a_fault() {
    let cut = r#"[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"pay\",\"arg"#;
    let (faults, _) = read(&[&format!(r#"{{"messages":[{USER}],"reply":"{cut}"}}"#)]);
    assert_eq!(faults, ["decode.unread_call"]);
}

#[test]
fn call_without_tool_is_a_fault() {
    let nameless = CALL.replace("\"pay\"", "null");
    let (faults, _) =
        read(&[&format!(r#"{{"messages":[{USER},{{"role":"assistant","content":null,"tool_calls":[{nameless}]}}]}}"#)]);
    assert_eq!(faults, ["decode.unnamed_call"]);
}

#[test]
fn call_item_of_responses_keeps_name_of_tool() {
    for name in ["tool_call", "function_tool_call", "function_call"] {
        let line = format!(
            r#"{{"object":"response","id":"r1","output":[{{"type":"{name}","call_id":"c","name":"pay","arguments":"{{}}"}}]}}"#
        );
        assert_eq!(read(&[&line]), (vec![], vec!["pay".to_owned()]), "{name}");
    }
}

/// Repeated histories, definitions, quotations and results are no unread calls.
#[test]
fn calls_that_were_read_are_no_faults() {
    let asked = format!(r#"{USER},{{"role":"assistant","content":null,"tool_calls":[{CALL}]}}"#);
    let quoted = lictor_json::Json::from(format!("{{\"tool_calls\":[{CALL}]}}").as_str()).to_string();
    let tools = r#""tools":[{"type":"function","function":{"name":"refund","parameters":{"type":"object"}}}]"#;
    let result = format!(r#"{{"role":"tool","tool_call_id":"1","content":{quoted}}}"#);
    let lines = [
        format!(r#"{{"messages":[{asked}],{tools}}}"#),
        format!(r#"{{"messages":[{asked},{result},{{"role":"user","content":{quoted}}}],{tools}}}"#),
    ];
    let (faults, calls) = read(&lines.each_ref().map(String::as_str));
    assert!(faults.is_empty() && calls == ["pay"], "{faults:?} {calls:?}");
}

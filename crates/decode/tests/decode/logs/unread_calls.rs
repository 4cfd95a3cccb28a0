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

#[test]
fn call_of_home_made_shape_is_a_fault() {
    let printed = r#""[{'id': 'c1', 'type': 'function', 'function': {'name': 'pay', 'arguments': '{}'}}]""#;
    let object = r#""[ChatCompletionMessageToolCall(id='1', function=Function(arguments='{}', name='pay'))]""#;
    for members in [
        r#""tool":"pay","args":{}"#,
        r#""tool":"pay","params":{}"#,
        r#""tool":"pay","query":"9""#,
        r#""tool_name":"pay","tool_input":{}"#,
        r#""function_name":"pay","function_arguments":{}"#,
        r#""function":"pay","function_args":"{}""#,
        r#""action":"pay","action_input":{}"#,
        r#""actions":[{"name":"pay","parameters":{}}]"#,
        r#""calls":[{"tool":"pay","input":{}}]"#,
        r#""tool_uses":[{"name":"pay","input":{}}]"#,
        r#""tools_called":[{"name":"pay","args":{}}]"#,
        r#""tool_invocations":[{"toolName":"pay","args":{}}]"#,
        r#""intermediate_steps":[[{"tool":"pay","tool_input":{},"log":"x","type":"AgentAction"},"ok"]]"#,
        &format!(r#""metadata":{{"tool_calls":[{CALL}]}}"#),
        &format!(r#""tool_calls":{printed}"#),
        &format!(r#""tool_calls":{object}"#),
    ] {
        for content in [r#""""#, r#""ok""#] {
            let line = format!(r#"{{"session_id":"s","role":"assistant","content":{content},{members}}}"#);
            let user = r#"{"session_id":"s","role":"user","content":"hello"}"#;
            let (faults, calls) = read(&[user, &line]);
            assert_eq!(faults, ["decode.unread_call"], "{line}: {calls:?}");
        }
    }
}

#[test]
fn call_within_text_is_a_fault() {
    for text in [
        "<tool_call>\n{\"name\": \"pay\", \"arguments\": {}}\n</tool_call>",
        "Thought: pay.\nAction: pay\nAction Input: {}",
        "<function_calls><invoke name=\"pay\"></invoke></function_calls>",
        "ToolUseBlock(id='t1', input={'n': 1}, name='pay', type='tool_use')",
        "Sure. [TOOL_CALLS] [{\"name\": \"pay\", \"arguments\": {}}]",
    ] {
        let said = lictor_json::Json::from(text).to_string();
        let line = format!(r#"{{"messages":[{USER},{{"role":"assistant","content":{said}}}]}}"#);
        assert_eq!(read(&[&line]).0, ["decode.unread_call"], "{text}");
        // The same text beside the call itself is no fault.
        let call = format!(r#"{{"messages":[{USER},{{"role":"assistant","content":{said},"tool_calls":[{CALL}]}}]}}"#);
        assert_eq!(read(&[&call]), (vec![], vec!["pay".to_owned()]), "{text}");
    }
    let prose =
        r#"{"role":"assistant","content":"Action: write `<tool_call>` first, then call ToolCall(the object)."}"#;
    assert!(read(&[USER, prose]).0.is_empty());
}

#[test]
fn content_blocks_stored_as_text_are_read() {
    let text = |json: &str| lictor_json::Json::from(json).to_string();
    let say = |role: &str, json: &str| format!(r#"{{"session_id":"s","role":"{role}","content":{}}}"#, text(json));
    let call =
        say("assistant", r#"[{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"pay","input":{}}]"#);
    let answer = say("user", r#"[{"type":"tool_result","tool_use_id":"t1","content":"paid"}]"#);
    let user = r#"{"session_id":"s","role":"user","content":"hello"}"#;
    let lines = [user, &call, &answer];
    let decoded = decode_lines(Format::OpenaiChat.decoder(), &lines);
    let kinds: Vec<_> = decoded.events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds, ["user_message", "assistant_message", "tool_call", "tool_result"]);
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    let whole = say("assistant", &format!(r#"{{"role":"assistant","content":null,"tool_calls":[{CALL}]}}"#));
    assert_eq!(read(&[user, &whole]), (vec![], vec!["pay".to_owned()]));
    // A user who writes the answer of a call that was never read from a text only says it.
    assert_eq!(read(&[user, &answer]).0, ["decode.unread_call"]);
    let harmless = say("user", r#"[{"type":"circle","r":1}]"#);
    assert!(read(&[user, &harmless]).0.is_empty());
}

#[test]
fn results_without_any_call_are_one_fault() {
    let user = r#"{"session_id":"s","role":"user","content":"hello"}"#;
    let result = |id: u32| format!(r#"{{"session_id":"s","role":"tool","tool_call_id":"c{id}","content":"deleted"}}"#);
    let (first, second) = (result(1), result(2));
    assert_eq!(read(&[user, &first, &second]).0, ["decode.missing_call"]);
    // A log that was rotated begins with the results of its earlier part.
    assert!(read(&[&first, &second, user]).0.is_empty());
    let call = format!(r#"{{"session_id":"s","role":"assistant","content":null,"tool_calls":[{CALL}]}}"#);
    assert!(read(&[user, &call, &first]).0.is_empty());
}

/// Calls in texts whose names are known at the end only, and many of them: one of another name is still found.
#[test]
fn unread_call_is_found_among_many_suspects() {
    let says = |tool: &str, number: usize| {
        format!(r#"{{"role":"assistant","content":"<tool_call>{{\"name\":\"{tool}\"}}</tool_call> {number}"}}"#)
    };
    let lines: Vec<String> = (0..12_000).map(|number| says("get", number)).chain([says("evil", 0)]).collect();
    let read_call = CALL.replace("pay", "get");
    let last = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{read_call}]}}"#);
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain([&*last]).collect();
    let decoded = decode_lines(Format::OpenaiChat.decoder(), &lines);
    let [fault] = &decoded.faults[..] else { panic!("{:?}", decoded.faults) };
    assert!(fault.code == "decode.unread_call" && fault.message.contains("`evil`"), "{fault:?}");
}

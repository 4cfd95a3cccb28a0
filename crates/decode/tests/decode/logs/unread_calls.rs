//! Calls in places that no decoder reads are faults, and calls that were read are none.

use lictor_decode::Format;
use lictor_decode::input::hides_call;
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

/// A new type of call has the name that the item says, and its answer is of that tool.
#[test]
fn call_item_of_new_type_keeps_its_name() {
    for (name, tool) in [("bash", "pay"), ("remote_function", "pay"), ("web_search", "web_search")] {
        let call = format!(r#"{{"type":"{name}_call","call_id":"c","name":"pay","arguments":"{{}}"}}"#);
        let answer = format!(r#"{{"type":"{name}_call_output","call_id":"c","output":"ok"}}"#);
        let line = format!(r#"{{"model":"m","input":[{{"role":"user","content":"hello"}},{call},{answer}]}}"#);
        let decoded = decode_lines(Format::OpenaiResponses.decoder(), &[&line]);
        let tools: Vec<_> = decoded.events.iter().filter_map(|event| event.tool.as_deref()).collect();
        assert!(decoded.faults.is_empty() && tools == [tool, tool], "{name}: {tools:?} {:?}", decoded.faults);
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
        r#""name":"pay","tool_input":{}"#,
        r#""name":"pay","function_args":"{}""#,
        r#""step":{"name":"pay","action_input":"10"}"#,
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

/// A tool and its arguments are a call under any name, in the record or deep within it.
#[test]
fn call_under_unlisted_name_is_a_fault() {
    let calls = [
        r#"{"tool":"pay","args":{}}"#,
        r#"{"tool":"pay","input":"ten euros"}"#,
        r#"{"tool":"pay","args":["10"]}"#,
        r#"{"tool_name":"pay","arguments":"{}"}"#,
        r#"{"toolName":"pay","params":{"n":1}}"#,
        r#"{"functionName":"pay","kwargs":{}}"#,
        r#"{"function":"pay","parameters":{"n":1},"result":"ok"}"#,
        r#"{"name":"pay","arguments":{}}"#,
        r#"{"id":"c1","name":"pay","arguments":"{\"n\":1}"}"#,
        r#"{"name":"pay.step","tool":"pay","args":{}}"#,
    ];
    let mut lines = Vec::new();
    for call in calls {
        let text = lictor_json::Json::from(format!("[{call}]").as_str()).to_string();
        for member in ["foo", "trace", "steps", "agentTrace", "x_calls"] {
            lines.push(format!(r#"{{"messages":[{USER}],"{member}":[{call}]}}"#));
            lines.push(format!(r#"{{"messages":[{USER}],"{member}":{call}}}"#));
            lines.push(format!(r#"{{"role":"assistant","content":"ok","{member}":[{call}]}}"#));
        }
        lines.push(format!(r#"{{"messages":[{USER}],"run":{{"a":[{{"b":{{"c":[[{call}]]}}}}]}}}}"#));
        lines.push(format!(r#"{{"role":"assistant","content":"ok","foo":{text}}}"#));
        lines.push(format!(
            r#"{{"type":"message","stop_reason":"end_turn","role":"assistant","content":[{{"type":"text","text":"ok"}}],"trace":[{call}]}}"#
        ));
        lines.push(format!(r#"{{"role":"model","parts":[{{"text":"ok"}}],"trace":[{call}]}}"#));
    }
    lines.push(r#"{"role":"assistant","content":"ok","foo":[{"name":"pay","args":{"n":1}}]}"#.to_owned());
    for line in lines {
        let (faults, calls) = read(&[&line]);
        assert!(faults.contains(&"decode.unread_call") && calls.is_empty(), "{line}: {faults:?} {calls:?}");
    }
}

#[test]
fn listed_tool_names_are_calls() {
    for member in [r#""tools_used":["pay"]"#, r#""tool_calls":["pay"]"#, r#""called_tools":["pay","none"]"#] {
        let line = format!(r#"{{"role":"assistant","content":"Done.",{member}}}"#);
        assert!(read(&[USER, &line]).0.contains(&"decode.unread_call"), "{line}");
    }
    for member in [r#""tools_used":[]"#, r#""tools_used":["None"]"#, r#""tools":["pay"]"#, r#""allowed_tools":["pay"]"#]
    {
        let line = format!(r#"{{"role":"assistant","content":"Done.",{member}}}"#);
        assert!(read(&[USER, &line]).0.is_empty(), "{line}");
    }
}

/// Definitions, examples, expectations, settings and data have names and arguments as well.
#[test]
fn names_with_arguments_that_are_no_calls() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"number"}}}"#;
    for member in [
        r#""available":[{"name":"pay","arguments":{"n":1}}]"#.to_owned(),
        r#""foo":[{"name":"pay","description":"Pays.","arguments":{"n":"number"}}]"#.to_owned(),
        format!(r#""foo":[{{"name":"pay","arguments":{schema}}},{{"tool":"pay","parameters":{schema}}}]"#),
        format!(r#""foo":[{{"name":"pay","parameters":{schema}}}]"#),
        format!(
            r#""foo":{}"#,
            lictor_json::Json::from(
                format!(r#"[{{"type":"function","name":"pay","description":"Pays.","parameters":{schema}}}]"#).as_str()
            )
        ),
        r#""few_shot_examples":[{"question":"x","calls":[{"tool":"pay","args":{}}]}]"#.to_owned(),
        r#""expectedCalls":[{"name":"pay","arguments":{}}]"#.to_owned(),
        r#""expected":{"tool":"pay","args":{}}"#.to_owned(),
        r#""toolUseResult":{"rows":[{"name":"pay","arguments":{}}]}"#.to_owned(),
        r#""package":{"name":"shop","version":"1.0.0","args":["-v"],"scripts":{"test":"jest"}}"#.to_owned(),
        r#""server":{"name":"files","command":"npx","args":["-y","files"],"arguments":["-y"]}"#.to_owned(),
        r#""llm":{"name":"gpt-4","parameters":{"temperature":0},"input":{"n":1}}"#.to_owned(),
        r#""job":{"name":"train","args":{"rate":1}}"#.to_owned(),
        r#""foo":[{"name":"pay","description":"Pays.","tool_args":{"n":"number"}}]"#.to_owned(),
        format!(r#""foo":[{{"name":"pay","tool_args":{schema}}}]"#),
        r#""request":{"action":"show","params":{"id":1},"controller":"home"}"#.to_owned(),
        r#""frame":{"function":"main","args":[1],"filename":"a.py"}"#.to_owned(),
        r#""rpc":{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"hello","arguments":{}}}"#.to_owned(),
        r#""prompt":{"name":"hello","arguments":[{"name":"who","required":true}]}"#.to_owned(),
        r#""note":"[{\"name\": \"pay\", \"input\": {\"n\"""#.to_owned(),
        r#""tool_choice":{"type":"function","function":{"name":"pay"}}"#.to_owned(),
    ] {
        let line = format!(r#"{{"messages":[{USER}],{member}}}"#);
        let values = [lictor_json::parse_str(&line).unwrap()];
        let format = Format::detect(&values).unwrap_or(Format::OpenaiChat);
        let faults = decode_lines(format.decoder(), &[&line]).faults;
        assert!(faults.iter().all(|fault| fault.code != "decode.unread_call"), "{line}: {faults:?}");
    }
    // What tools and people say may quote anything, and a summary repeats what was read.
    let quoted = r#"[{"tool":"refund","args":{}},{"name":"refund","arguments":{}}]"#;
    let text = lictor_json::Json::from(quoted).to_string();
    let asked = format!(r#"{USER},{{"role":"assistant","content":null,"tool_calls":[{CALL}]}}"#);
    let tool = format!(r#"{{"role":"tool","tool_call_id":"1","content":{text},"rows":{quoted}}}"#);
    let line = format!(
        r#"{{"messages":[{asked},{tool},{{"role":"user","content":{text}}},{{"role":"system","content":{text}}}],
            "steps":[{{"tool":"pay","args":{{}},"input":{{"tool":"other","args":{{}}}}}},{{"name":"pay","arguments":"{{}}"}}]}}"#
    );
    assert_eq!(read(&[&line]), (vec![], vec!["pay".to_owned()]));
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

/// The chat templates of open models, and the ways in which frameworks let a model write calls.
#[test]
fn call_in_any_notation_is_a_fault() {
    for text in [
        "<function=pay>{\"n\": 1}</function>",
        "<tool_call>\n<function=pay>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>pay\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
        "<tool_call>{'arguments': {'n': 1}, 'name': 'pay'}</tool_call>",
        "<tool_call>[{\"arguments\": {}, \"name\": \"pay\"}]</tool_call>",
        "<tool_call>{\"name\": \"pay\", \"arguments\": {\"n\"",
        "&lt;tool_call&gt;{&quot;name&quot;: &quot;pay&quot;, &quot;arguments&quot;: {}}&lt;/tool_call&gt;",
        "<tool_calls>[{\"name\": \"pay\", \"arguments\": {}}]</tool_calls>",
        "<functioncall> {\"name\": \"pay\", \"arguments\": '{\"n\": 1}'}",
        "<|python_tag|>{\"name\": \"pay\", \"parameters\": {}}",
        "<|python_tag|>pay.call(n=\"1\")",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pay\n```json\n{}\n```<｜tool▁call▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>pay<｜tool▁sep｜>{\"n\":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.pay:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<|tool_call_start|>[pay(n=1)]<|tool_call_end|>",
        "[TOOL_CALLS]pay[ARGS]{\"n\": 1}",
        "[TOOL_CALLS]pay{\"n\": 1}",
        "<|tool_call|>[{\"arguments\": {}, \"name\": \"pay\"}]",
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"pay\", \"parameters\": {}}]<|END_ACTION|>",
        "<|action_start|><|plugin|>\n{\"name\": \"pay\", \"parameters\": {}}<|action_end|>",
        "<|channel|>commentary to=functions.pay <|constrain|>json<|message|>{\"n\":1}<|call|>",
        "<function_calls><invoke><tool_name>pay</tool_name><parameters></parameters></invoke></function_calls>",
        ">>>pay\n{\"n\": 1}",
        "```tool_code\nprint(default_api.pay(n=1))\n```",
        "```tool_call\n{\"name\": \"pay\", \"arguments\": {}}\n```",
        "Thought 1: pay.\nAction 1: pay[10]",
        "**Action:** pay\n**Action Input:** {}",
        "Action:\n```json\n{\"action\": \"pay\", \"action_input\": \"10\"}\n```",
        "Action: ```json\n[{\"tool_name\": \"pay\", \"parameters\": {}}]\n```",
        "{\"name\": \"pay\", \"parameters\": {}}",
        "```json\n{\"tool\": \"pay\", \"input\": {}}\n```",
        "I pay now.\n```json\n{\"tool\": \"pay\", \"args\": {}}\n```\nWait.",
        "I pay now.\n```json\n{\"name\": \"pay\", \"arguments\": {}}\n```\n",
    ] {
        let said = lictor_json::Json::from(text).to_string();
        let line = format!(r#"{{"messages":[{USER},{{"role":"assistant","content":{said}}}]}}"#);
        let decoded = decode_lines(Format::OpenaiChat.decoder(), &[&line]);
        let [fault] = &decoded.faults[..] else { panic!("{text}: {:?}", decoded.faults) };
        assert!(hides_call(fault) && fault.message.contains("a call of `pay`"), "{text}: {}", fault.message);
        let call = format!(r#"{{"messages":[{USER},{{"role":"assistant","content":{said},"tool_calls":[{CALL}]}}]}}"#);
        assert_eq!(read(&[&call]), (vec![], vec!["pay".to_owned()]), "{text}");
    }
    let element = lictor_json::Json::from("I look.\n<read_file>\n<path>a.txt</path>\n</read_file>").to_string();
    assert_eq!(read(&[USER, &format!(r#"{{"role":"assistant","content":{element}}}"#)]).0, ["decode.unread_call"]);
    for text in
        ["[TOOL_CALLS][{\"name\":\"a\",\"arguments\":{}},{\"name\":\"b\",\"arguments\":{}}]", "<|python_tag|>1 + 1"]
    {
        let said = lictor_json::Json::from(text).to_string();
        let (faults, _) = read(&[USER, &format!(r#"{{"role":"assistant","content":{said}}}"#)]);
        assert!(!faults.is_empty() && faults.iter().all(|code| *code == "decode.unread_call"), "{text}: {faults:?}");
    }
}

/// Texts about calls, and answers that are JSON.
#[test]
fn text_about_calls_is_no_fault() {
    for text in [
        "Wrap it in <tool_call> tags, and name it with <function=NAME of it.",
        "Hermes writes <tool_call>, Mistral [TOOL_CALLS], Llama <|python_tag|>",
        "Action: call the customer (tomorrow).",
        "Action: Finish[42]",
        "```json\n{\"action\": \"Final Answer\", \"action_input\": \"42\"}\n```",
        "```python\n>>> pay(1)\n```",
        "{\"name\": \"Ada\", \"age\": 36}",
        "{\"name\": \"Ada\", \"input\": {\"age\": 36}}",
        "{\"name\": \"pay\", \"description\": \"Pays.\", \"parameters\": {\"type\": \"object\"}}",
        "{\"action\": \"refund\", \"reason\": \"late\"}",
        "Write ```json\n{\"name\": \"pay\", \"arguments\": {}}\n``` into the file.",
        "An element <read_file> begins it.",
    ] {
        let said = lictor_json::Json::from(text).to_string();
        let line = format!(r#"{{"role":"assistant","content":{said}}}"#);
        assert!(read(&[USER, &line]).0.is_empty(), "{text}: {:?}", read(&[USER, &line]).0);
        // Others may quote calls.
        let quoted = lictor_json::Json::from("<function=pay>{}</function>").to_string();
        assert!(read(&[&format!(r#"{{"role":"user","content":{quoted}}}"#)]).0.is_empty());
    }
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

#[test]
fn call_in_native_member_is_a_fault() {
    let event = |members: &str| format!(r#"{{"session":"s","kind":"assistant_message","text":"Done.",{members}}}"#);
    for members in [
        format!(r#""tool_calls":[{CALL}]"#),
        format!(r#""raw":{{"choices":[{{"message":{{"tool_calls":[{CALL}]}}}}]}}"#),
        r#""trace":{"steps":[{"tool":"pay","args":{}}]}"#.to_owned(),
        r#""tool_name":"pay","tool_input":{}"#.to_owned(),
        r#""events":[{"kind":"tool_call","tool":"pay","args":{}}]"#.to_owned(),
        r#""text":"<tool_call>{\"name\":\"pay\",\"arguments\":{}}</tool_call>""#.to_owned(),
    ] {
        let line = event(&members).replace(r#""text":"Done.","text""#, r#""text""#);
        assert_eq!(read(&[&line]), (vec!["decode.unread_call"], vec![]), "{line}");
        // The event of the call is there, and the member repeats it.
        let call = r#"{"session":"s","kind":"tool_call","id":"1","tool":"pay","args":{}}"#;
        for lines in [[call, &line], [&line, call]] {
            assert_eq!(read(&lines), (vec![], vec!["pay".to_owned()]), "{line}");
        }
        // Another call of the tool excuses nothing.
        let other = r#"{"session":"s","kind":"tool_call","id":"2","tool":"pay","args":{"amount":9}}"#;
        assert_eq!(read(&[other, &line]), (vec!["decode.unread_call"], vec!["pay".to_owned()]), "{line}");
    }
    for kind in ["function_invocation", "action"] {
        let line = format!(r#"{{"session":"s","kind":"{kind}","tool":"pay","args":{{"amount":5}}}}"#);
        assert_eq!(read(&[&line]), (vec!["decode.unread_call"], vec![]), "{line}");
    }
    let harmless =
        event(r#""latency":12,"usage":{"input":7},"metadata":{"tool":"pay","args":{}},"model":{"name":"m"}"#);
    assert_eq!(read(&[&harmless]), (vec![], vec![]));
}

#[test]
fn kind_of_other_format_is_refused_as_call() {
    for kind in ["function_call", "tool_use", "toolUse", "mcp_call"] {
        let line = format!(r#"{{"session":"s","kind":"{kind}","tool":"pay","args":{{}}}}"#);
        let decoded = decode_lines(Format::Native.decoder(), &[&line]);
        assert!(decoded.events.is_empty() && decoded.faults.iter().any(hides_call), "{kind}: {:?}", decoded.faults);
    }
}

#[test]
fn foreign_record_in_native_log_is_a_fault() {
    let span = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"1","name":"execute_tool pay",
        "attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"pay"}}]}]}]}]}"#;
    let decoded = decode_lines(Format::Native.decoder(), &[r#"{"kind":"user_message","text":"a"}"#, span]);
    assert!(decoded.faults.iter().any(hides_call), "{:?}", decoded.faults);
}

//! Tools that are taken out of requests, and notes for the model.

use lictor_json::{Json, parse, parse_str};
use lictor_wire::{Api, Reply, Request, ToolRemoval};

fn removal(tools: &[&str], values: &[(&str, &str, &str)]) -> ToolRemoval {
    ToolRemoval {
        tools: tools.iter().map(|tool| (*tool).into()).collect(),
        values: values
            .iter()
            .map(|(tool, argument, value)| ((*tool).into(), (*argument).into(), parse_str(value).unwrap()))
            .collect(),
    }
}

/// The body before, what is removed, the body after, and the tools that the model should be told of.
type RemovalCase = (Api, &'static str, ToolRemoval, &'static str, &'static [&'static str]);

#[test]
fn removed_tools_leave_a_valid_request() {
    let cases: Vec<RemovalCase> = vec![
        (
            Api::Chat,
            r#"{"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}], "n": 1.50}"#,
            removal(&["a"], &[]),
            r#"{"tools":[{"type":"function","function":{"name":"b"}}], "n": 1.50}"#,
            &[],
        ),
        (
            Api::Chat,
            r#"{"functions":[{"name":"a"},{"name":"b"}],"function_call":{"name":"a"}}"#,
            removal(&["a"], &[]),
            r#"{"functions":[{"name":"b"}],"function_call":"auto"}"#,
            &["a"],
        ),
        (
            Api::Chat,
            r#"{"tools":[{"type":"function","function":{"name":"a"}}]}"#,
            removal(&["a"], &[]),
            r#"{"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"none"}"#,
            &["a"],
        ),
        (
            Api::Chat,
            r#"{"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"a"}}]}}}"#,
            removal(&["a"], &[]),
            r#"{"tools":[{"type":"function","function":{"name":"b"}}],"tool_choice":"none"}"#,
            &["a"],
        ),
        (
            Api::Messages,
            r#"{"tools":[{"name":"a","input_schema":{}},{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"any"}}"#,
            removal(&["a", "bash"], &[]),
            r#"{"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"any"}}"#,
            &[],
        ),
        (
            Api::Messages,
            r#"{"tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"tool","name":"a"}}"#,
            removal(&["a"], &[]),
            r#"{"tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"none"}}"#,
            &["a"],
        ),
        (
            Api::Responses,
            r#"{"tools":[{"type":"function","name":"a","parameters":{"properties":{"x":{"enum":["p", "q"]},"y":{"const":1},"z":{}},"required":["x"]}}]}"#,
            removal(&[], &[("a", "x", "\"q\""), ("a", "y", "1"), ("b", "x", "\"p\"")]),
            r#"{"tools":[{"type":"function","name":"a","parameters":{"properties":{"x":{"enum":["p"]},"z":{}},"required":["x"]}}]}"#,
            &[],
        ),
    ];
    for (api, before, removal, after, unanswered) in cases {
        let shielded = removal.apply(api, before.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(shielded.body).unwrap(), after);
        assert_eq!(shielded.unanswered, unanswered, "{before}");
    }
}

#[test]
fn offered_tools_have_their_listed_values() {
    let body = r#"{"model":"m","messages":[],"max_tokens":1,"tools":[{"type":"web_search_20250305","name":"web_search"},
        {"name":"a","input_schema":{"properties":{"x":{"enum":["p",2,null]},"y":{"enum":[{}]},"z":{"const":true},"w":{}},"required":["z"]}}]}"#;
    let tools = Request::read(Api::Messages, body.as_bytes()).unwrap().offered_tools();
    let [search, own] = &tools[..] else { panic!("{tools:?}") };
    assert!(search.is_vendors && search.name == "web_search" && search.choices.is_empty());
    let choices: Vec<(&str, usize, bool)> =
        own.choices.iter().map(|it| (it.argument.as_str(), it.values.len(), it.is_required)).collect();
    assert_eq!(choices, [("x", 3, false), ("z", 1, true)]);
}

#[test]
fn vendor_tools_of_request_are_noticed() {
    let cases = [
        (
            Api::Chat,
            r#"{"tools":[{"type":"function","function":{"name":"a"}},{"type":"custom","custom":{"name":"b"}}]}"#,
            false,
        ),
        (Api::Chat, r#"{"tools":[{"type":"web_search"}]}"#, true),
        (Api::Chat, r#"{"web_search_options":{}}"#, true),
        (Api::Chat, r#"{"web_search_options":null,"functions":[{"name":"a"}]}"#, false),
        (Api::Responses, r#"{"tools":[{"type":"function","name":"a"}]}"#, false),
        (Api::Responses, r#"{"tools":[{"type":"function","name":"a"},{"type":"code_interpreter"}]}"#, true),
        (Api::Responses, r#"{"tools":[{"name":"of no type"}]}"#, true),
        // A stored prompt may have tools.
        (Api::Responses, r#"{"prompt":{"id":"p"}}"#, true),
        (Api::Messages, r#"{"tools":[{"name":"a","input_schema":{}},{"type":"custom","name":"b"}]}"#, false),
        (Api::Messages, r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#, true),
        (Api::Messages, r#"{"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]}"#, true),
        (Api::Messages, r#"{"mcp_servers":[{"url":"https://h"}]}"#, true),
        (Api::Messages, "{", true),
        (Api::Messages, "{}", false),
    ];
    for (api, body, wanted) in cases {
        assert_eq!(Request::may_run_vendor_tools(api, body.as_bytes()), wanted, "{body}");
    }
}

#[test]
fn note_fits_every_shape_or_none() {
    let cases = [
        (Api::Chat, r#"{"messages":"no list"}"#, None),
        (Api::Messages, r#"{"system":5}"#, None),
        (Api::Messages, r#"{"system":null}"#, Some(r#"{"system":"N"}"#)),
        (Api::Messages, r#"{"system":""}"#, Some(r#"{"system":"N"}"#)),
        (
            Api::Responses,
            r#"{"input":"hi","store":false}"#,
            Some(r#"{"input":[{"role":"user","content":"hi"},{"role":"developer","content":"N"}],"store":false}"#),
        ),
        (
            Api::Responses,
            r#"{"input":[],"prompt":{"id":"p"}}"#,
            Some(r#"{"input":[{"role":"developer","content":"N"}],"prompt":{"id":"p"}}"#),
        ),
        (Api::Responses, r#"{"input":5,"store":false}"#, None),
        (Api::Responses, r#"{"input":"hi","instructions":""}"#, Some(r#"{"input":"hi","instructions":"N"}"#)),
    ];
    for (api, before, after) in cases {
        let noted = Request::with_note(api, before.as_bytes(), "N");
        let noted = noted.map(|body| parse(&body).unwrap());
        assert_eq!(noted, after.map(|after| parse_str(after).unwrap()) as Option<Json>, "{before}");
    }
}

/// A request, and what it is as a question.
type QuestionCase = (Api, &'static str, Option<&'static str>);

#[test]
fn question_leaves_conversation_and_takes_no_calls() {
    let cases: [QuestionCase; 8] = [
        (
            Api::Chat,
            r#"{"messages":[{"role":"user","content":"Hi"}], "top_p": 0.50}"#,
            Some(
                r#"{"messages":[{"role":"user","content":"Hi"},{"role":"user","content":"What next?"}], "top_p": 0.50}"#,
            ),
        ),
        (
            Api::Chat,
            r#"{"messages":[{"role":"user","content":"Hi"}],"seed":7}"#,
            Some(r#"{"messages":[{"role":"user","content":"Hi"},{"role":"user","content":"What next?"}]}"#),
        ),
        (
            Api::Chat,
            r#"{"messages":[],"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"required","temperature":0,"stream":true,"stream_options":{},"n":3,"response_format":{"type":"json_object"}}"#,
            Some(
                r#"{"messages":[{"role":"user","content":"What next?"}],"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"none","temperature":0.8}"#,
            ),
        ),
        (
            Api::Chat,
            r#"{"messages":[],"functions":[{"name":"a"}]}"#,
            Some(
                r#"{"messages":[{"role":"user","content":"What next?"}],"functions":[{"name":"a"}],"function_call":"none"}"#,
            ),
        ),
        (
            Api::Messages,
            r#"{"messages":[],"tools":[{"name":"a","input_schema":{}}],"thinking":{"type":"enabled"},"temperature":1}"#,
            Some(
                r#"{"messages":[{"role":"user","content":"What next?"}],"tools":[{"name":"a","input_schema":{}}],"thinking":{"type":"enabled"},"temperature":1,"tool_choice":{"type":"none"}}"#,
            ),
        ),
        (
            Api::Responses,
            r#"{"input":"Hi","text":{"format":{"type":"json_object"}},"background":true}"#,
            Some(r#"{"input":[{"role":"user","content":"Hi"},{"role":"user","content":"What next?"}],"store":false}"#),
        ),
        (Api::Responses, r#"{"input":"Hi","conversation":"c"}"#, None),
        (Api::Chat, r#"{"prompt":"Hi"}"#, None),
    ];
    for (api, body, expected) in cases {
        let asked = Request::with_question(api, body.as_bytes(), "What next?");
        assert_eq!(asked.map(|asked| String::from_utf8(asked).unwrap()).as_deref(), expected, "{body}");
    }
}

#[test]
fn usage_is_read_as_vendors_write_it() {
    let cases = [
        (r#"{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#, Some((7, true))),
        (r#"{"usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5}}"#, Some((12, true))),
        // What is no count of tokens is left out.
        (r#"{"usage":{"total_tokens":-1}}"#, Some((0, false))),
        (r#"{"usage":{"total_tokens":9223372036854775807}}"#, Some((0, false))),
        (r#"{"usage":{"total_tokens":18446744073709551616}}"#, Some((0, false))),
        (r#"{"usage":{"total_tokens":"7"}}"#, Some((0, false))),
        (r#"{"usage":{"prompt_tokens":3,"completion_tokens":-4}}"#, Some((3, false))),
        (r#"{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":-7}}"#, Some((7, false))),
        (r#"{"usage":{"total_tokens":null}}"#, None),
        (r#"{"usage":null}"#, None),
        ("no JSON", None),
    ];
    for (body, expected) in cases {
        let usage = Reply::read_usage(body.as_bytes()).map(|usage| (usage.tokens, usage.is_whole));
        assert_eq!(usage, expected, "{body}");
    }
}

//! Calls under names that a request does not offer, and with keys that some tools take for each other.

use lictor_event::{Arguments, Event, Kind};
use lictor_wire::{Api, CallFault, OfferedCalls, Reply, Request};

/// Returns why the calls of a reply to a request are refused.
fn faults(api: Api, request: &str, reply: &str) -> Vec<Option<CallFault>> {
    let offered = OfferedCalls::read(&Request::read(api, request.as_bytes()).unwrap());
    let reply = Reply::read(api, reply.as_bytes()).unwrap();
    reply.events().iter().map(|event| offered.find_fault(event)).collect()
}

fn call(name: &str, args: &str) -> Event {
    let args = Some(Arguments::Value(lictor_json::parse_str(args).unwrap()));
    Event { tool: Some(name.into()), args, ..Event::new(Kind::ToolCall) }
}

#[test]
fn calls_of_tools_not_offered_are_found() {
    let chat = r#"{"messages":[],"tools":[{"type":"function","function":{"name":"drop_table"}}]}"#;
    let functions = r#"{"messages":[],"functions":[{"name":"drop_table"}]}"#;
    let responses = r#"{"input":"hi","tools":[{"type":"function","name":"drop_table"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"inner"}]},{"type":"shell"}]}"#;
    let messages =
        r#"{"messages":[],"tools":[{"name":"drop_table","input_schema":{}},{"type":"bash_20250124","name":"bash"}]}"#;
    for (api, request) in
        [(Api::Chat, chat), (Api::Chat, functions), (Api::Responses, responses), (Api::Messages, messages)]
    {
        let offered = OfferedCalls::read(&Request::read(api, request.as_bytes()).unwrap());
        assert_eq!(offered.find_fault(&call("drop_table", "{}")), None, "{request}");
        for name in
            ["functions.drop_table", " drop_table", "Drop_table", "drop_table ", "drop-table", "dr\u{43e}p_table", ""]
        {
            assert_eq!(offered.find_fault(&call(name, "{}")), Some(CallFault::NotOffered), "{request} {name}");
        }
    }
    let offered = OfferedCalls::read(&Request::read(Api::Responses, responses.as_bytes()).unwrap());
    for name in ["inner", "shell", "x_search"] {
        assert_eq!(offered.find_fault(&call(name, "{}")), None, "{name}");
    }
    assert_eq!(offered.find_fault(&call("local_shell", "{}")), Some(CallFault::NotOffered));
    let offered = OfferedCalls::read(&Request::read(Api::Messages, messages.as_bytes()).unwrap());
    assert_eq!(offered.find_fault(&call("bash", "{}")), None);
}

#[test]
fn requests_without_list_allow_all_calls() {
    let requests = [
        (Api::Chat, r#"{"messages":[]}"#),
        (Api::Chat, r#"{"messages":[],"tools":[]}"#),
        (
            Api::Chat,
            r#"{"messages":[],"tools":[{"type":"mcp","server_url":"https://a/"},{"type":"function","function":{"name":"f"}}]}"#,
        ),
        (Api::Responses, r#"{"input":"hi","prompt":{"id":"p"},"tools":[{"type":"function","name":"f"}]}"#),
        (Api::Responses, r#"{"input":"hi","previous_response_id":"r","tools":[{"type":"tool_search"}]}"#),
    ];
    for (api, request) in requests {
        let offered = OfferedCalls::read(&Request::read(api, request.as_bytes()).unwrap());
        assert_eq!(offered.find_fault(&call("g", r#"{"a":1}"#)), None, "{request}");
    }
}

#[test]
fn calls_that_the_vendor_runs_need_no_offer() {
    let request = r#"{"input":"hi","tools":[{"type":"mcp","server_label":"s","server_url":"https://a/"},{"type":"computer_use_preview"}]}"#;
    let reply = r#"{"output":[{"type":"mcp_call","id":"m","name":"read","server_label":"s","arguments":"{}"},{"type":"web_search_call","id":"w","action":{"type":"search","query":"q"}},{"type":"computer_call","id":"c","call_id":"c","action":{"type":"click"}},{"type":"function_call","call_id":"f","name":"read","arguments":"{}"}]}"#;
    assert_eq!(faults(Api::Responses, request, reply), [None, None, None, Some(CallFault::NotOffered)]);
    let request = r#"{"messages":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#;
    let reply = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"code_execution","input":{}},{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{}},{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    assert_eq!(faults(Api::Messages, request, reply), [None, None, Some(CallFault::NotOffered)]);
    let found = r#"{"input":[{"type":"tool_search_output","call_id":"t","execution":"client","status":"completed","tools":[{"type":"function","name":"found"}]}],"tools":[{"type":"tool_search"}]}"#;
    let reply = r#"{"output":[{"type":"function_call","call_id":"f","name":"found","arguments":"{}"}]}"#;
    assert_eq!(faults(Api::Responses, found, reply), [None]);
}

#[test]
fn calls_with_similar_keys_are_found() {
    let request = |schema: &str| {
        format!(
            r#"{{"messages":[],"tools":[{{"type":"function","function":{{"name":"pay","parameters":{schema}}}}}]}}"#
        )
    };
    let cases = [
        (request(r#"{"properties":{"amount":{}}}"#), r#"{"amount":1,"Amount":9}"#, true),
        (request(r#"{"properties":{"amount":{}}}"#), r#"{"Amount":9}"#, true),
        (request(r#"{"properties":{"amount":{},"Amount":{}}}"#), r#"{"amount":1,"Amount":9}"#, false),
        (request(r#"{"properties":{"headers":{"type":"object"}}}"#), r#"{"headers":{"X-A":"1","x-a":"2"}}"#, false),
        (r#"{"messages":[]}"#.to_owned(), r#"{"to":[{"iban":1,"IBAN":2}]}"#, true),
    ];
    for (request, args, is_found) in cases {
        let offered = OfferedCalls::read(&Request::read(Api::Chat, request.as_bytes()).unwrap());
        assert_eq!(
            offered.find_fault(&call("pay", args)),
            is_found.then_some(CallFault::SimilarKeys),
            "{request} {args}"
        );
    }
}

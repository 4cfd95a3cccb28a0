//! Requests give the same events in every interface, and a rewrite changes nothing else.

use std::path::Path;
use std::sync::Arc;

use lictor_event::Event;
use lictor_wire::{Api, Request, Route, Ruling};

use crate::drive::shown;

const CHAT: &str = r#"{ "model":"m","stream":true, "user":"u1",
 "messages":[
  {"role":"system","content":"Be kind."},
  {"role":"user","content":[{"type":"text","text":"My card is 4111."},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"Really."}]},
  {"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{\"n\":1.50}"}}]},
  {"role":"tool","tool_call_id":"c1","content":"card 4111"}],
 "tools":[{"type":"function","function":{"name":"lookup"}}], "temperature":0.70 }"#;

const MESSAGES: &str = r#"{"model":"m","max_tokens":10,"system":[{"type":"text","text":"Be kind."}],"metadata":{"user_id":"u1"},
 "tools":[{"name":"lookup","input_schema":{}}],
 "messages":[{"role":"user","content":"My card is 4111."},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"lookup","input":{"n":1.50}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"card 4111"}]},{"type":"text","text":"Well?"}]}]}"#;

const RESPONSES: &str = r#"{"model":"m","instructions":"Be kind.","safety_identifier":"u1","metadata":{"k":"v"},
 "tools":[{"type":"function","name":"lookup"}],
 "input":[{"role":"user","content":"My card is 4111."},
  {"type":"reasoning","id":"r","summary":[]},
  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},
  {"type":"function_call","call_id":"c1","name":"lookup","arguments":"{\"n\":1.50}"},
  {"type":"function_call_output","call_id":"c1","output":"card 4111"}]}"#;

fn read(api: Api, body: &str) -> Request {
    Request::read(api, body.as_bytes()).unwrap()
}

#[test]
fn all_interfaces_give_the_same_events() {
    for (api, body) in [(Api::Chat, CHAT), (Api::Messages, MESSAGES), (Api::Responses, RESPONSES)] {
        let request = read(api, body);
        let events: Vec<Event> = request.items.iter().map(|item| item.event().clone()).collect();
        let mut said = shown(&events);
        let user =
            if api == Api::Chat { "user_message My card is 4111.\nReally." } else { "user_message My card is 4111." };
        if api == Api::Messages {
            assert_eq!(said.pop().unwrap(), "user_message Well?");
        }
        assert_eq!(
            said,
            [
                "tool_definitions",
                "system_message Be kind.",
                user,
                "assistant_message Looking.",
                "tool_call lookup c1 {\"n\":1.5}",
                "tool_result lookup c1 card 4111",
            ]
        );
        assert_eq!(request.streams, api == Api::Chat);
        assert_eq!(request.model.as_deref(), Some("m"));
        assert_eq!(request.hints.user.as_deref(), Some("u1"));
        assert!(request.carries_history());
    }
}

#[test]
fn redacted_request_differs_only_in_redacted_values() {
    for (api, body) in [(Api::Chat, CHAT), (Api::Messages, MESSAGES), (Api::Responses, RESPONSES)] {
        let request = read(api, body);
        let hide = |(index, event): (usize, &Event)| {
            let text = event.text.as_ref().filter(|text| text.contains("4111"))?;
            let text = text.replace("4111", "[redacted]");
            Some((index, Ruling::Rewrite(Box::new(Event { text: Some(text.into()), ..event.clone() }))))
        };
        let changes: Vec<_> = request.items.iter().map(|item| item.event()).enumerate().filter_map(hide).collect();
        assert_eq!(changes.len(), 2);
        let rewritten = String::from_utf8(request.rewritten(&changes).unwrap()).unwrap();
        assert_eq!(rewritten, body.replace("4111", "[redacted]"), "{api:?}");
        assert_eq!(request.rewritten(&[]).unwrap(), body.as_bytes());
        let result = request.items.iter().position(|item| item.event().kind.name() == "tool_result").unwrap();
        let denied = request.rewritten(&[(result, Ruling::Deny { text: "withheld \"x\"".into() })]).unwrap();
        let expected = body.replace("card 4111", "withheld \\\"x\\\"");
        // A whole result is replaced, whatever parts it has.
        let expected = expected.replace(r#"[{"type":"text","text":"withheld \"x\""}]"#, r#""withheld \"x\"""#);
        assert_eq!(String::from_utf8(denied).unwrap(), expected);
        // Tool definitions have no place for a text.
        assert_eq!(request.rewritten(&[(0, Ruling::Deny { text: "x".into() })]).unwrap_err().code, "wire.rewrite");
    }
}

#[test]
fn history_call_arguments_can_be_rewritten() {
    for (api, body) in [(Api::Chat, CHAT), (Api::Messages, MESSAGES), (Api::Responses, RESPONSES)] {
        let request = read(api, body);
        let call = request.items.iter().position(|item| item.event().kind.name() == "tool_call").unwrap();
        let args = lictor_event::Arguments::Value(lictor_json::parse_str("{\"n\":2}").unwrap());
        let event = Event { args: Some(args), ..request.items[call].event().clone() };
        let rewritten = request.rewritten(&[(call, Ruling::Rewrite(Box::new(event)))]).unwrap();
        let again = Request::read(api, &rewritten).unwrap();
        assert_eq!(shown(&[again.items[call].event().clone()]), ["tool_call lookup c1 {\"n\":2}"]);
        assert_eq!(String::from_utf8(rewritten).unwrap(), body.replace("1.50", "2"));
    }
}

#[test]
fn text_input_is_a_user_message() {
    let request = read(Api::Responses, r#"{"model":"m","input":"My card is 4111.","previous_response_id":"r1"}"#);
    assert_eq!(shown(&[request.items[0].event().clone()]), ["user_message My card is 4111."]);
    assert_eq!(request.hints.previous_response.as_deref(), Some("r1"));
    assert!(!request.carries_history());
    let event = Event { text: Some("My card is [redacted].".into()), ..request.items[0].event().clone() };
    let rewritten = request.rewritten(&[(0, Ruling::Rewrite(Box::new(event)))]).unwrap();
    let expected = r#"{"model":"m","input":"My card is [redacted].","previous_response_id":"r1"}"#;
    assert_eq!(String::from_utf8(rewritten).unwrap(), expected);
}

#[test]
fn denied_call_is_answered_in_kept_history() {
    let body = r#"{"previous_response_id":"r1", "input":[ {"role":"user","content":"go on"}],"temperature":0.50}"#;
    let request = read(Api::Responses, body);
    let answer = ("c1".into(), "denied".to_owned());
    let event = Event { text: Some("stop".into()), ..request.items[0].event().clone() };
    let answered = request.answered(&[(0, Ruling::Rewrite(Box::new(event)))], std::slice::from_ref(&answer)).unwrap();
    let output = r#"{"type":"function_call_output","call_id":"c1","output":"denied"},"#;
    let expected = body.replace("[ {", &format!("[{output} {{")).replace("go on", "stop");
    assert_eq!(String::from_utf8(answered).unwrap(), expected);
    // An input that is a text is a user message, also after a rewrite.
    let body = r#"{"previous_response_id":"r1", "input": "go \u006fn","temperature":0.50}"#;
    let request = read(Api::Responses, body);
    let answered = request.answered(&[], std::slice::from_ref(&answer)).unwrap();
    let said = |text: &str| format!(r#"[{output}{{"role":"user","content":"{text}"}}]"#);
    assert_eq!(String::from_utf8(answered).unwrap(), body.replace(r#""go \u006fn""#, &said("go on")));
    let event = Event { text: Some("stop\n".into()), ..request.items[0].event().clone() };
    let answered = request.answered(&[(0, Ruling::Rewrite(Box::new(event)))], std::slice::from_ref(&answer)).unwrap();
    assert_eq!(String::from_utf8(answered).unwrap(), body.replace(r#""go \u006fn""#, &said("stop\\n")));
    let denied = Ruling::Deny { text: "withheld".to_owned() };
    let answered = request.answered(&[(0, denied)], std::slice::from_ref(&answer)).unwrap();
    assert_eq!(String::from_utf8(answered).unwrap(), body.replace(r#""go \u006fn""#, &said("withheld")));
    // Without an input, the answers are the whole input.
    for body in [r#"{"previous_response_id":"r1"}"#, r#"{"previous_response_id":"r1","input":null}"#] {
        let answered = read(Api::Responses, body).answered(&[], std::slice::from_ref(&answer)).unwrap();
        let expected = format!(r#"{{"previous_response_id":"r1","input":[{}]}}"#, output.trim_end_matches(','));
        assert_eq!(String::from_utf8(answered).unwrap(), expected);
    }
    let whole = read(Api::Responses, r#"{"input":[]}"#);
    assert_eq!(whole.answered(&[], &[answer]).unwrap_err().code, "request.shape");
}

#[test]
fn ambiguous_or_unknown_input_is_refused() {
    let deep = format!(r#"{{"messages":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let cases = [
        (Api::Chat, r#"{"messages":[],"messages":[]}"#, "json.duplicate_key"),
        (Api::Chat, deep.as_str(), "json.too_deep"),
        (Api::Chat, r#"{"messages":[{"role":"wizard","content":"x"}]}"#, "wire.unknown"),
        (Api::Chat, r#"{"messages":"x"}"#, "request.shape"),
        (Api::Chat, r#"{"messages":["x"]}"#, "request.shape"),
        (Api::Chat, r#"{"messages":[],"stream":"yes"}"#, "request.shape"),
        (Api::Chat, r#"[]"#, "request.shape"),
        (Api::Messages, r#"{"messages":[{"content":"x"}]}"#, "wire.unknown"),
        (Api::Responses, r#"{"input":[{"type":"spell"}]}"#, "wire.unknown"),
        (Api::Responses, r#"{"input":7}"#, "request.shape"),
        (Api::Responses, r#"{} {}"#, "json.trailing"),
    ];
    for (api, body, code) in cases {
        let refused = Request::read(api, body.as_bytes()).unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
    }
}

#[test]
fn kept_history_is_known_as_far_as_seen() {
    let request = read(
        Api::Responses,
        r#"{"conversation":{"id":"conv_1"},"prompt":{"id":"p","variables":{"name":"Bob"}},"input":[{"type":"item_reference","id":"i"}]}"#,
    );
    let kinds: Vec<&str> = request.items.iter().map(|item| item.event().kind.name()).collect();
    assert_eq!(kinds, ["prompt", "system_message", "item_reference"]);
    assert_eq!(request.hints.conversation.as_deref(), Some("conv_1"));
    let request = read(
        Api::Messages,
        r#"{"messages":[],"mcp_servers":[{"type":"url","name":"s","url":"https://example.org","authorization_token":"secret"}]}"#,
    );
    assert_eq!(request.items[0].event().kind.name(), "mcp_servers");
    assert!(!format!("{:?}", request.items[0].event()).contains("secret"));
}

#[test]
fn recorded_requests_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/formats");
    for (name, api, kinds) in [
        (
            "openai-chat/request_with_tool_result.json",
            Api::Chat,
            vec!["tool_definitions", "system_message", "user_message", "tool_call", "tool_result"],
        ),
        (
            "anthropic/request_with_tool_result.json",
            Api::Messages,
            vec!["tool_definitions", "system_message", "user_message", "assistant_message", "tool_call", "tool_result"],
        ),
    ] {
        let Ok(body) = std::fs::read(folder.join(name)) else {
            eprintln!("SKIPPED: the recording {name} is not here");
            continue;
        };
        let request = Request::read(api, &body).unwrap();
        assert_eq!(request.items.iter().map(|item| item.event().kind.name()).collect::<Vec<_>>(), kinds);
        assert_eq!(request.rewritten(&[]).unwrap(), body);
    }
}

#[test]
fn paths_are_judged_harmless_or_unknown() {
    let cases = [
        ("POST", "/v1/chat/completions", Route::Judged(Api::Chat)),
        ("POST", "/openai/deployments/x/chat/completions?api-version=1", Route::Judged(Api::Chat)),
        ("POST", "/openai/v1/responses", Route::Judged(Api::Responses)),
        ("POST", "/v1/messages?beta=true", Route::Judged(Api::Messages)),
        ("POST", "/v1/messages/count_tokens", Route::Counted(Api::Messages)),
        ("POST", "/v1/responses/input_tokens", Route::Counted(Api::Responses)),
        ("POST", "/v1beta/openai/chat/completions", Route::Judged(Api::Chat)),
        ("POST", "/v1/account/gateway/openai/responses", Route::Judged(Api::Responses)),
        ("POST", "/v1/threads/t/messages", Route::Unknown),
        ("GET", "/v1/models", Route::Harmless(Api::Chat)),
        ("GET", "/v1/models/gpt-4o-mini", Route::Harmless(Api::Chat)),
        ("GET", "/v1/models/meta-llama%2FLlama-3", Route::Harmless(Api::Chat)),
        ("GET", "/v1/models/meta-llama%2fLlama-3", Route::Harmless(Api::Chat)),
        ("GET", "/v1/models/meta-llama/Llama-3", Route::Harmless(Api::Chat)),
        ("GET", "/v1/models/..%2Ffiles", Route::Unknown),
        ("GET", "/v1/models/a%2Fb%2Fc", Route::Unknown),
        ("GET", "/v1/models/a%2F", Route::Unknown),
        ("GET", "/v1/models/../files", Route::Unknown),
        ("GET", "/v1/responses/resp_1", Route::Unknown),
        ("POST", "/v1/messages/batches", Route::Unknown),
        ("POST", "/v1/embeddings", Route::Unknown),
        ("DELETE", "/v1/models/x", Route::Unknown),
        // A service may take either `/v1` for the one before its own path.
        ("POST", "/v1/files/v1/messages", Route::Judged(Api::Messages)),
        ("POST", "/v1/files/f/messages", Route::Unknown),
    ];
    for (method, path, route) in cases {
        assert_eq!(Api::route(method, path), route, "{method} {path}");
    }
}

/// Everything in a request that the model reads is judged and can be redacted.
#[test]
fn request_items_cover_all_the_model_reads() {
    let bodies = [
        (
            Api::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"document","title":"t 4111","context":"c 4111","source":{"type":"text","data":"d 4111"}},{"type":"document","title":"t 4111","source":{"type":"base64","data":"AAAA"}},{"type":"search_result","title":"s 4111","source":"u 4111","content":[{"type":"text","text":"x 4111"}]}]}]}"#,
        ),
        (
            Api::Messages,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"document","title":"t 4111","source":{"type":"text","data":"d 4111"}}]}]}]}"#,
        ),
        (Api::Chat, r#"{"model":"m","prediction":{"type":"content","content":"p 4111"},"messages":[]}"#),
        (
            Api::Responses,
            r#"{"model":"m","prompt":{"id":"p","variables":{"a":"v 4111","b":{"type":"input_text","text":"w 4111"}}},"input":[]}"#,
        ),
    ];
    for (api, body) in bodies {
        let request = read(api, body);
        let hide = |(index, item): (usize, &Arc<lictor_wire::RequestItem>)| {
            let text = item.event().text.as_ref()?.replace("4111", "[redacted]");
            Some((index, Ruling::Rewrite(Box::new(Event { text: Some(text.into()), ..item.event().clone() }))))
        };
        let changes: Vec<_> = request.items.iter().enumerate().filter_map(hide).collect();
        let rewritten = String::from_utf8(request.rewritten(&changes).unwrap()).unwrap();
        assert_eq!(rewritten, body.replace("4111", "[redacted]"));
    }
    for tools in ["additional_tools", "tool_search_output"] {
        let body =
            format!(r#"{{"model":"m","input":[{{"type":"{tools}","call_id":"c","tools":[{{"name":"drop"}}]}}]}}"#);
        let request = read(Api::Responses, &body);
        assert!(request.items.iter().any(|item| item.event().kind.name() == "tool_definitions"), "{tools}");
    }
}

#[test]
fn another_picture_changes_the_message_hash() {
    let body = |picture: &str, more: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"text","text":"look"}},{{"type":"image","source":{{"type":"url","url":"{picture}"}}{more}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":[{{"type":"image","source":{{"type":"url","url":"{picture}"}}{more}}}]}}]}}]}}"#
        )
    };
    let hashes = |body: String| -> Vec<_> { read(Api::Messages, &body).items.iter().map(|item| item.hash).collect() };
    let (one, other) = (hashes(body("a", "")), hashes(body("b", "")));
    assert!(one.len() == 2 && one.iter().zip(&other).all(|(one, other)| one != other));
    assert_eq!(one, hashes(body("a", r#","cache_control":{"type":"ephemeral"}"#)));
}

//! Every text of a request is an item, wherever it is.

use lictor_event::Kind;
use lictor_wire::{Api, Request, Ruling};

/// Returns the texts of a request's items.
pub(crate) fn texts(api: Api, body: &str) -> Vec<String> {
    let request = Request::read(api, body.as_bytes()).unwrap();
    request.items.iter().filter_map(|item| item.event().text.as_ref().map(ToString::to_string)).collect()
}

#[test]
fn texts_in_any_field_are_items() {
    let chat = [
        r#""documents":[{"title":"t","text":"the secret plan"}]"#,
        r#""chat_template":"{{ the secret plan }}""#,
        r#""chat_template_kwargs":{"note":"the secret plan"}"#,
        r#""grammar":"root ::= \"the secret plan\"""#,
        r#""guided_regex":"the secret plan""#,
        r#""prompt":"the secret plan""#,
        r#""prefix":"the secret plan""#,
        r#""stop":["the secret plan"]"#,
        r#""metadata":{"note":"the secret plan"}"#,
        r#""user":"the secret plan""#,
        r#""model":"m: the secret plan""#,
        r#""response_format":{"type":"json_schema","json_schema":{"schema":{"description":"the secret plan"}}}"#,
        r#""extra":{"the secret plan":1}"#,
        r#""prediction":{"type":"content","content":"the secret plan"}"#,
    ];
    for member in chat {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"hello"}}],{member}}}"#);
        let found = texts(Api::Chat, &body);
        assert!(found.iter().any(|text| text.contains("the secret plan")), "{member}: {found:?}");
        assert!(found.contains(&"hello".to_owned()), "{member}: {found:?}");
    }
}

#[test]
fn input_and_prompt_texts_are_items() {
    let members = [
        (Api::Chat, r#""input":"the secret plan""#),
        (Api::Messages, r#""input":"the secret plan""#),
        (Api::Messages, r#""input":{"text":"the secret plan"}"#),
        (Api::Chat, r#""query":{"type":"thinking","text":"the secret plan"}"#),
        (Api::Chat, r#""query":{"reasoning":"the secret plan"}"#),
        (Api::Responses, r#""prompt":"the secret plan""#),
        (Api::Responses, r#""prompt":["the secret plan"]"#),
        (Api::Responses, r#""prompt":{"id":"p","text":"the secret plan"}"#),
        (Api::Responses, r#""prompt":{"id":"the secret plan"}"#),
        (Api::Responses, r#""prompt":{"id":"p","variables":{"a":{"type":"spell","words":"the secret plan"}}}"#),
        (Api::Responses, r#""prompt":{"id":"p","variables":"the secret plan"}"#),
    ];
    for (api, member) in members {
        let entries = if api == Api::Responses { "input" } else { "messages" };
        let body = format!(r#"{{"{entries}":[{{"role":"user","content":"hello"}}],{member}}}"#);
        let found = texts(api, &body);
        assert_eq!(found.iter().filter(|text| text.contains("the secret plan")).count(), 1, "{member}: {found:?}");
        assert!(found.contains(&"hello".to_owned()), "{member}: {found:?}");
    }
    let told = r#"{"input":"hello","prompt":{"id":"pmpt_1","version":"2","variables":{"city":"Rome"}}}"#;
    assert_eq!(texts(Api::Responses, told), ["Rome", "hello"]);
    let thought = r#"{"messages":[{"role":"user","content":[{"type":"thinking","thinking":"the secret plan"}]}]}"#;
    assert!(texts(Api::Messages, thought).contains(&"the secret plan".to_owned()), "a user has no thinking");
    let kept = r#"{"input":[{"type":"item_reference","id":"rs_1"},{"type":"item_reference","id":"r","note":"the secret plan"}]}"#;
    assert_eq!(texts(Api::Responses, kept), ["the secret plan"]);
}

#[test]
fn texts_in_any_part_are_items() {
    let parts = [
        r#"{"type":"spell","words":"the secret plan"}"#,
        r#"{"type":"text","text":{"value":"the secret plan"}}"#,
        r#"{"type":"text","text":["the secret plan"]}"#,
        r#"{"type":"text","text":"hi","note":"the secret plan"}"#,
        r#"{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,dGhlIHNlY3JldCBwbGFu"}}"#,
        r#"{"type":"file","file":{"file_data":"dGhlIHNlY3JldCBwbGFu"}}"#,
        r#"{"type":"image_url","image_url":{"url":"data:text/plain,the secret plan"}}"#,
        r#"{"type":"input_file","filename":"the secret plan.txt","file_id":"f"}"#,
    ];
    for part in parts {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{part}]}},{{"role":"user","content":"b"}}]}}"#);
        for api in [Api::Chat, Api::Messages] {
            let found = texts(api, &body);
            assert!(found.iter().any(|text| text.contains("the secret plan")), "{part}: {found:?}");
            assert_eq!(found.last().map(String::as_str), Some("b"), "the order of the messages stays");
        }
        let found = texts(Api::Responses, &body.replace("\"messages\"", "\"input\""));
        assert!(found.iter().any(|text| text.contains("the secret plan")), "{part}: {found:?}");
    }
    let document = r#"{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"dGhlIHNlY3JldCBwbGFu"}}]}]}"#;
    assert!(texts(Api::Messages, document).iter().any(|text| text.contains("the secret plan")));
}

#[test]
fn names_settings_and_pictures_are_no_texts() {
    let body = r#"{
        "model":"gpt-5.2-mini","user":"u-17","service_tier":"auto","reasoning_effort":"low","store":true,
        "metadata":{"session_id":"s-1","build":"a1b2"},"modalities":["text"],"stream":false,
        "tool_choice":{"type":"function","function":{"name":"look_up"}},
        "prompt_cache_key":"k","response_format":{"type":"json_object"},
        "messages":[
            {"role":"system","content":"Be kind."},
            {"role":"user","name":"anna","content":[
                {"type":"text","text":"hello"},
                {"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}},
                {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="}},
                {"type":"input_audio","input_audio":{"data":"UklGRiQAAABXQVZF","format":"wav"}},
                {"type":"file","file":{"file_id":"file-1"}}]},
            {"role":"assistant","content":null,"reasoning_content":"I think","tool_calls":[
                {"id":"c1","type":"function","function":{"name":"look_up","arguments":"{\"q\":\"some words\"}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"found it"}]}"#;
    assert_eq!(texts(Api::Chat, body), ["Be kind.", "hello", "found it"]);
    let messages = r#"{
        "model":"claude-opus","max_tokens":10,"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral","ttl":"5m"}}],
        "thinking":{"type":"enabled","budget_tokens":1024},"metadata":{"user_id":"user_1"},
        "messages":[
            {"role":"user","content":[{"type":"text","text":"hello"},
                {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUg=="}}]},
            {"role":"assistant","content":[{"type":"thinking","thinking":"I think","signature":"c2ln"},
                {"type":"tool_use","id":"t1","name":"look_up","input":{"q":"some words"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"found it"}]}]}]}"#;
    assert_eq!(texts(Api::Messages, messages), ["Be kind.", "hello", "found it"]);
    let responses = r#"{
        "model":"m","instructions":"Be kind.","previous_response_id":"resp_1","include":["reasoning.encrypted_content"],
        "text":{"format":{"type":"text"},"verbosity":"low"},"reasoning":{"effort":"low","summary":"auto"},"truncation":"auto",
        "input":[
            {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I think"}],"encrypted_content":"gAAA"},
            {"type":"function_call","id":"fc_1","call_id":"c1","name":"look_up","arguments":"{\"q\":\"some words\"}","status":"completed"},
            {"type":"function_call_output","call_id":"c1","output":"found it"}]}"#;
    assert_eq!(texts(Api::Responses, responses), ["Be kind.", "hello", "found it"]);
}

#[test]
fn unread_text_can_be_rewritten() {
    let body = r#"{"stop":["card 4111"],"messages":[{"role":"user","content":"hello"}]}"#;
    let request = Request::read(Api::Chat, body.as_bytes()).unwrap();
    let place = request.items.iter().position(|item| item.event().kind == Kind::SystemMessage).unwrap();
    let mut event = request.items[place].event().clone();
    event.text = Some("card [redacted]".into());
    let changed = request.rewritten(&[(place, Ruling::Rewrite(Box::new(event)))]).unwrap();
    assert_eq!(changed, body.replace("4111", "[redacted]").into_bytes());
}

#[test]
fn text_of_file_cannot_be_rewritten() {
    let body =
        r#"{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"dGhlIHNlY3JldCBwbGFu"}}]}]}"#;
    let request = Request::read(Api::Chat, body.as_bytes()).unwrap();
    let place = request.items.iter().position(|item| item.event().text.as_deref() == Some("the secret plan")).unwrap();
    let mut event = request.items[place].event().clone();
    event.text = Some("[redacted]".into());
    let refused = request.rewritten(&[(place, Ruling::Rewrite(Box::new(event)))]).unwrap_err();
    assert_eq!(refused.code, "wire.rewrite");
}

#[test]
fn request_keys_of_other_case_are_refused() {
    let bodies = [
        r#"{"messages":[],"Messages":[{"role":"user","content":"x"}]}"#,
        r#"{"messages":[{"role":"user","content":"a","Content":"b"}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","TEXT":"b"}]}]}"#,
        "{\"messages\":[],\"tool\u{17f}\":[]}",
    ];
    for body in bodies {
        let refused = Request::read(Api::Chat, body.as_bytes()).unwrap_err();
        assert_eq!(refused.code, "request.key_case", "{body}");
    }
    let own = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"Content":"x"}}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"Name":{"type":"string"}}}}}]}"#;
    assert!(Request::read(Api::Chat, own.as_bytes()).is_ok(), "arguments and schemas have names of their own");
}

#[test]
fn call_of_wrong_type_in_request_is_refused() {
    let calls = [
        r#"{"0":{"id":"a","function":{"name":"f","arguments":"{}"}}}"#,
        r#"[{"id":"a","function":{"name":["f"],"arguments":"{}"}}]"#,
        r#"[{"id":"a","function":{"name":"f"},"custom":{"name":"g"}}]"#,
    ];
    for calls in calls {
        let body = format!(r#"{{"messages":[{{"role":"assistant","tool_calls":{calls}}}]}}"#);
        assert_eq!(Request::read(Api::Chat, body.as_bytes()).unwrap_err().code, "wire.shape", "{calls}");
    }
}

//! Messages that are forwarded unchanged, rewritten, or denied.

use lictor_json::Json;

use crate::{Connection, call, is_denied, is_dropped, is_forwarded, is_returned, result, to_client, to_server};

#[test]
fn allowed_messages_are_forwarded_unchanged() {
    let mut connection = Connection::new();
    let odd = r#"{ "id" : 7,"jsonrpc":"2.0", "params":{"arguments":{"n":1.50,"s":"\u00e4"},"name":"w\u0065ather","x":[ ]},"method":"tools/call"}"#;
    assert!(is_forwarded(&connection.client(odd), odd));
    let answer = r#"{"result":{"content":[{"type":"text","text":"72\u00b0"}],"extra":1e2},"id":7,"jsonrpc":"2.0"}"#;
    assert!(is_returned(&connection.server(answer), answer));
}

#[test]
fn blocked_call_never_reaches_the_server() {
    let mut connection = Connection::new();
    for id in ["1", r#""1""#, r#""a b""#, "-5", "123456789012345678901234567890"] {
        let answer = to_client(&connection.call(id, "deploy", "{}"));
        assert!(is_denied(&answer, id), "{answer}");
        assert!(answer.to_string().contains("no-deploy"));
    }
    // A request that the relay answered is not in flight: its id may be used again.
    assert!(is_forwarded(&connection.call("1", "weather", "{}"), &call("1", "weather", "{}")));
}

#[test]
fn redacted_arguments_are_forwarded() {
    let mut connection = Connection::new();
    let message =
        to_server(&connection.call("1", "send", r#"{"to":"ann@example.com","n":123456789012345678901,"text":"hi"}"#));
    let arguments = message.at("params.arguments").unwrap();
    assert!(!arguments.to_string().contains("ann@"), "{arguments}");
    assert_eq!(arguments.get("n").unwrap().to_string(), "123456789012345678901");
    assert_eq!(message.get("id").unwrap().to_string(), "1");
    // The advice for the model comes with the response.
    let answer = to_client(&connection.server(&result("1", "sent")));
    assert!(answer.to_string().contains("went on without"), "{answer}");
}

#[test]
fn responses_are_judged_before_release() {
    let mut connection = Connection::new();
    connection.call("1", "fetch", "{}");
    let answer = to_client(&connection.server(&result("1", "mail ann@example.com now")));
    assert!(!answer.to_string().contains("ann@") && answer.to_string().contains("mail [redacted] now"), "{answer}");
    connection.call("2", "read", "{}");
    let answer = to_client(&connection.server(&result("2", "mail ann@example.com now")));
    assert!(is_denied(&answer, "2") && !answer.to_string().contains("ann@"), "{answer}");
    connection.call("3", "read", "{}");
    let structured = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"structuredContent":{"to":"ann@example.com"}}}"#;
    let answer = to_client(&connection.server(structured));
    assert!(is_denied(&answer, "3") && !answer.to_string().contains("ann@"), "{answer}");
    connection.call("4", "read", "{}");
    let failure = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no ann@example.com"}}"#;
    assert!(!to_client(&connection.server(failure)).to_string().contains("ann@"), "an error is an answer too");
}

#[test]
fn advice_is_appended_to_the_response() {
    let mut connection = Connection::new();
    assert!(is_forwarded(&connection.call("1", "slow", "{}"), &call("1", "slow", "{}")));
    let answer = to_client(&connection.server(&result("1", "done")));
    let parts = answer.at("result.content").and_then(Json::as_array).unwrap();
    assert_eq!(parts[0].text("text"), Some("done"));
    assert!(parts[1].text("text").unwrap().contains("There is a faster way."));
}

#[test]
fn resources_and_prompts_are_judged() {
    let mut connection = Connection::new();
    connection.client(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}"#);
    let answer =
        to_client(&connection.server(
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///x","text":"of ann@example.com"}]}}"#,
        ));
    assert_eq!(answer.at("result.contents").unwrap().to_string(), r#"[{"uri":"file:///x","text":"of [redacted]"}]"#);
    connection.client(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}"#);
    let answer = to_client(&connection.server(r#"{"jsonrpc":"2.0","id":2,"result":{"messages":[{"role":"user","content":{"type":"text","text":"ask ann@example.com"}}]}}"#));
    assert!(answer.to_string().contains("ask [redacted]"), "{answer}");
}

#[test]
fn server_requests_are_judged() {
    let mut connection = Connection::new();
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}}"#;
    assert!(is_returned(&connection.server(plain), plain));
    let outs = connection.server(&plain.replace("hello", "ann@example.com").replace(r#""id":1"#, r#""id":2"#));
    assert_eq!(to_server(&outs).at("error.code").unwrap().to_string(), "-32050");
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}}"#;
    assert!(is_forwarded(&connection.client(answer), answer));
}

#[test]
fn unknown_methods_need_to_be_listed() {
    let mut connection = Connection::new();
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"vendor/secret","params":{}}"#;
    assert_eq!(to_client(&connection.client(unknown)).at("error.code").unwrap().to_string(), "-32601");
    assert_eq!(to_server(&connection.server(unknown)).at("error.code").unwrap().to_string(), "-32601");
    assert!(is_dropped(&connection.client(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#)));
    assert!(is_dropped(&connection.server(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#)));
    // Each side has its own methods.
    let call = call("5", "weather", "{}");
    assert_eq!(to_server(&connection.server(&call)).at("error.code").unwrap().to_string(), "-32601");
    let listed = r#"{"jsonrpc":"2.0","id":2,"method":"vendor/hello","params":{}}"#;
    assert!(is_forwarded(&connection.client(listed), listed));
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"anything":1}}"#;
    assert!(is_returned(&connection.server(answer), answer));
    for quiet in
        [r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]
    {
        assert!(is_forwarded(&connection.client(quiet), quiet));
    }
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    assert!(is_returned(&connection.server(progress), progress));
}

#[test]
fn batch_messages_are_judged_one_by_one() {
    let mut connection = Connection::new();
    let outs = connection.client(&format!("[{},{}]", call("1", "weather", "{}"), call("2", "deploy", "{}")));
    assert_eq!(outs.len(), 2);
    assert!(is_forwarded(&outs[..1], &call("1", "weather", "{}")));
    assert!(is_denied(&to_client(&outs[1..]), "2"));
}

//! What passes as it is, what passes rewritten, and what is answered instead.

use lictor_json::Json;

use crate::{Wire, call, is_denied, is_dropped, is_returned, is_same, result, sent, told};

#[test]
fn what_nothing_stands_against_passes_byte_for_byte() {
    let mut wire = Wire::new();
    let odd = r#"{ "id" : 7,"jsonrpc":"2.0", "params":{"arguments":{"n":1.50,"s":"\u00e4"},"name":"w\u0065ather","x":[ ]},"method":"tools/call"}"#;
    assert!(is_same(&wire.client(odd), odd));
    let answer = r#"{"result":{"content":[{"type":"text","text":"72\u00b0"}],"extra":1e2},"id":7,"jsonrpc":"2.0"}"#;
    assert!(is_returned(&wire.server(answer), answer));
}

#[test]
fn a_blocked_call_is_answered_and_never_reaches_the_server() {
    let mut wire = Wire::new();
    for id in ["1", r#""1""#, r#""a b""#, "-5", "123456789012345678901234567890"] {
        let answer = told(&wire.call(id, "deploy", "{}"));
        assert!(is_denied(&answer, id), "{answer}");
        assert!(answer.to_string().contains("no-deploy"));
    }
    // What was answered here is not waited for: the same id may be used again.
    assert!(is_same(&wire.call("1", "weather", "{}"), &call("1", "weather", "{}")));
}

#[test]
fn arguments_go_on_without_what_offends() {
    let mut wire = Wire::new();
    let message = sent(&wire.call("1", "send", r#"{"to":"ann@example.com","n":123456789012345678901,"text":"hi"}"#));
    let arguments = message.at("params.arguments").unwrap();
    assert!(!arguments.to_string().contains("ann@"), "{arguments}");
    assert_eq!(arguments.get("n").unwrap().to_string(), "123456789012345678901");
    assert_eq!(message.get("id").unwrap().to_string(), "1");
    // The model is told along with the answer.
    let answer = told(&wire.server(&result("1", "sent")));
    assert!(answer.to_string().contains("went on without"), "{answer}");
}

#[test]
fn answers_are_judged_before_they_are_released() {
    let mut wire = Wire::new();
    wire.call("1", "fetch", "{}");
    let answer = told(&wire.server(&result("1", "mail ann@example.com now")));
    assert!(!answer.to_string().contains("ann@") && answer.to_string().contains("mail [redacted] now"), "{answer}");
    wire.call("2", "read", "{}");
    let answer = told(&wire.server(&result("2", "mail ann@example.com now")));
    assert!(is_denied(&answer, "2") && !answer.to_string().contains("ann@"), "{answer}");
    wire.call("3", "read", "{}");
    let structured = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"structuredContent":{"to":"ann@example.com"}}}"#;
    let answer = told(&wire.server(structured));
    assert!(is_denied(&answer, "3") && !answer.to_string().contains("ann@"), "{answer}");
    wire.call("4", "read", "{}");
    let failure = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no ann@example.com"}}"#;
    assert!(!told(&wire.server(failure)).to_string().contains("ann@"), "an error is an answer too");
}

#[test]
fn advice_comes_with_the_answer() {
    let mut wire = Wire::new();
    assert!(is_same(&wire.call("1", "slow", "{}"), &call("1", "slow", "{}")));
    let answer = told(&wire.server(&result("1", "done")));
    let parts = answer.at("result.content").and_then(Json::as_array).unwrap();
    assert_eq!(parts[0].text("text"), Some("done"));
    assert!(parts[1].text("text").unwrap().contains("There is a faster way."));
}

#[test]
fn resources_and_prompts_are_judged() {
    let mut wire = Wire::new();
    wire.client(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}"#);
    let answer =
        told(&wire.server(
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///x","text":"of ann@example.com"}]}}"#,
        ));
    assert_eq!(answer.at("result.contents").unwrap().to_string(), r#"[{"uri":"file:///x","text":"of [redacted]"}]"#);
    wire.client(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}"#);
    let answer = told(&wire.server(r#"{"jsonrpc":"2.0","id":2,"result":{"messages":[{"role":"user","content":{"type":"text","text":"ask ann@example.com"}}]}}"#));
    assert!(answer.to_string().contains("ask [redacted]"), "{answer}");
}

#[test]
fn what_a_server_asks_is_judged() {
    let mut wire = Wire::new();
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}}"#;
    assert!(is_returned(&wire.server(plain), plain));
    let outs = wire.server(&plain.replace("hello", "ann@example.com").replace(r#""id":1"#, r#""id":2"#));
    assert_eq!(sent(&outs).at("error.code").unwrap().to_string(), "-32050");
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}}"#;
    assert!(is_same(&wire.client(answer), answer));
}

#[test]
fn methods_that_nobody_knows_do_not_pass_unless_listed() {
    let mut wire = Wire::new();
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"vendor/secret","params":{}}"#;
    assert_eq!(told(&wire.client(unknown)).at("error.code").unwrap().to_string(), "-32601");
    assert_eq!(sent(&wire.server(unknown)).at("error.code").unwrap().to_string(), "-32601");
    assert!(is_dropped(&wire.client(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#)));
    assert!(is_dropped(&wire.server(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#)));
    // What one side may ask, the other may not.
    let call = call("5", "weather", "{}");
    assert_eq!(sent(&wire.server(&call)).at("error.code").unwrap().to_string(), "-32601");
    let listed = r#"{"jsonrpc":"2.0","id":2,"method":"vendor/hello","params":{}}"#;
    assert!(is_same(&wire.client(listed), listed));
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"anything":1}}"#;
    assert!(is_returned(&wire.server(answer), answer));
    for quiet in
        [r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]
    {
        assert!(is_same(&wire.client(quiet), quiet));
    }
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    assert!(is_returned(&wire.server(progress), progress));
}

#[test]
fn messages_of_a_batch_are_judged_one_by_one() {
    let mut wire = Wire::new();
    let outs = wire.client(&format!("[{},{}]", call("1", "weather", "{}"), call("2", "deploy", "{}")));
    assert_eq!(outs.len(), 2);
    assert!(is_same(&outs[..1], &call("1", "weather", "{}")));
    assert!(is_denied(&told(&outs[1..]), "2"));
}

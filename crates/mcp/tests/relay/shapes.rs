//! Results of other shapes than those of the protocol do not pass, and all texts that a person or a model reads are judged.

use std::sync::Arc;

use lictor_store::MemoryStore;

use crate::{Connection, is_forwarded, is_returned, to_client, to_server};

const POLICY: &str = r#"
lictor: 1
name: texts
properties:
  - {id: prompts, says: No addresses from prompts., formula: 'always !(retrieval & carries("email"))', respond: redact}
  - {id: questions, says: No addresses in questions., formula: 'always !(input_required & carries("email"))', respond: block}
"#;

fn connect() -> Connection {
    Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()))
}

fn ask(connection: &mut Connection, method: &str) {
    let params = r#"{"name":"a","uri":"a://b"}"#;
    connection.client(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
}

#[test]
fn result_of_wrong_shape_is_refused() {
    let cases = [
        ("tools/call", r#""zebra""#),
        ("tools/call", r#"["zebra"]"#),
        ("resources/read", r#""zebra""#),
        ("resources/read", r#"{"contents":{"uri":"u","text":"zebra"}}"#),
        ("resources/read", r#"{"contents":["zebra"]}"#),
        ("prompts/get", r#"{"messages":"zebra"}"#),
        ("prompts/get", r#"{"description":["zebra"],"messages":[]}"#),
        ("tools/list", r#"{"tools":{"a":{"name":"ok","description":"zebra"}}}"#),
        ("tools/list", r#"[{"name":"ok","description":"zebra"}]"#),
        ("tools/list", r#"{"tools":["zebra"]}"#),
        ("resources/list", r#""zebra""#),
        ("server/discover", r#"{"instructions":["zebra"]}"#),
    ];
    for (method, result) in cases {
        let mut connection = connect();
        ask(&mut connection, method);
        let answer = to_client(&connection.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)));
        assert!(answer.get("error").is_some() && !answer.to_string().contains("zebra"), "{method}: {answer}");
    }
    let mut connection = connect();
    connection.client(r#"{"jsonrpc":"2.0","id":1,"method":"vendor/hello"}"#);
    let own = r#"{"jsonrpc":"2.0","id":1,"result":["a shape of its own"]}"#;
    assert!(is_returned(&connection.server(own), own), "a listed method is not decoded");
}

#[test]
fn client_result_of_wrong_shape_is_refused() {
    let mut connection = connect();
    let question = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[]}}"#;
    assert!(is_returned(&connection.server(question), question));
    let answer = to_server(&connection.client(r#"{"jsonrpc":"2.0","id":7,"result":"zebra"}"#));
    assert!(answer.get("error").is_some() && !answer.to_string().contains("zebra"), "{answer}");
}

#[test]
fn prompt_description_is_judged() {
    let mut connection = connect();
    ask(&mut connection, "prompts/get");
    let prompt = r#"{"jsonrpc":"2.0","id":1,"result":{"description":"for ann@example.com","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}"#;
    let answer = to_client(&connection.server(prompt)).to_string();
    assert!(!answer.contains("ann@") && answer.contains("hi"), "{answer}");
}

#[test]
fn elicitation_form_is_judged() {
    let forms = [
        r#"{"type":"object","properties":{"a":{"type":"string","description":"as in ann@example.com"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","title":"ann@example.com"}}}"#,
        r#"{"type":"object","properties":{"a":{"enum":["x","ann@example.com"]}}}"#,
        r#"{"type":"object","properties":{"type":{"oneOf":[{"const":"x","title":"ann@example.com"}]}}}"#,
        r#"{"type":"object","properties":{"mail of ann@example.com":{"type":"string"}}}"#,
    ];
    for form in forms {
        let question = |form: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{{"message":"hi","requestedSchema":{form}}}}}"#
            )
        };
        let answer = to_server(&connect().server(&question(form)));
        assert!(answer.get("error").is_some(), "{form}: {answer}");
        let harmless = question(&form.replace("ann@example.com", "a name"));
        assert!(is_returned(&connect().server(&harmless), &harmless), "{form}");
    }
}

/// Values that a user or a model fills in leave with these requests, as with a call.
#[test]
fn prompt_and_completion_inputs_are_judged() {
    let policy =
        "{lictor: 1, name: p, properties: [{id: no-address, formula: 'always !carries(\"email\")', respond: redact}]}";
    let request =
        |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    for (method, params) in [
        ("prompts/get", r#"{"name":"greet","arguments":{"who":"NAME"}}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"NAME"}}"#,
        ),
    ] {
        let mut connection = Connection::with_policy(policy, "server", Arc::new(MemoryStore::new()));
        let outs = connection.client(&request(method, &params.replace("NAME", "ann@example.org")));
        assert!(to_client(&outs).get("error").is_some(), "{method}");
        let clean = request(method, &params.replace("NAME", "guest"));
        assert!(is_forwarded(&connection.client(&clean), &clean), "{method}");
    }
}

#[test]
fn completions_and_link_names_are_redacted() {
    for (method, params, result) in [
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}"#,
            r#"{"completion":{"values":["ann@example.org","bob"]}}"#,
        ),
        (
            "tools/call",
            r#"{"name":"fetch","arguments":{}}"#,
            r#"{"content":[{"type":"resource_link","uri":"file:///x","name":"ann@example.org"}]}"#,
        ),
        (
            "tools/call",
            r#"{"name":"fetch","arguments":{}}"#,
            r#"{"content":[{"type":"resource_link","uri":"file:///x","name":"n","title":"ann@example.org"}]}"#,
        ),
    ] {
        let mut connection = Connection::new();
        connection.client(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
        let outs = connection.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        let answer = to_client(&outs).to_string();
        assert!(!answer.contains("ann@example.org") && answer.contains("result"), "{answer}");
        assert_eq!(answer.contains("bob"), method == "completion/complete", "{answer}");
    }
    let mut connection = Connection::new();
    let complete = r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{},"argument":{}}}"#;
    connection.client(complete);
    let wrong = r#"{"jsonrpc":"2.0","id":1,"result":{"completion":{"values":{"a":"ann@example.org"}}}}"#;
    assert!(to_client(&connection.server(wrong)).get("error").is_some());
}

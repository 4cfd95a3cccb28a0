//! Results of other shapes than those of the protocol do not pass, and all texts that a person or a model reads are judged.

use std::sync::Arc;

use lictor_store::MemoryStore;

use crate::{Connection, is_denied, is_forwarded, is_returned, to_client, to_server};

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

/// Nothing that carries an address may pass, wherever in a message it is.
#[test]
fn no_member_of_a_message_is_unread() {
    const POLICY: &str =
        "{lictor: 1, name: p, properties: [{id: none, formula: 'always !carries(\"email\")', respond: block}]}";
    let requests = [
        ("tools/call", r#"{"name":"a","arguments":{},"_meta":{"note":"TEXT"}}"#),
        ("tools/call", r#"{"name":"a","arguments":{},"_meta":{"TEXT":1}}"#),
        ("tools/call", r#"{"name":"a","arguments":{},"task":{"note":["TEXT"]}}"#),
        ("tools/call", r#"{"name":"a","inputResponses":{"q":{"action":"accept","more":"TEXT"}}}"#),
        (
            "tools/call",
            r#"{"name":"a","inputResponses":{"q":{"role":"assistant","content":{"type":"x","y":"TEXT"},"model":"TEXT"}}}"#,
        ),
        ("resources/read", r#"{"uri":"https://example.org/?q=TEXT"}"#),
        ("resources/subscribe", r#"{"uri":"https://example.org/?q=TEXT"}"#),
        ("prompts/get", r#"{"name":"a","_meta":{"x":"TEXT"}}"#),
        ("tools/list", r#"{"cursor":"TEXT"}"#),
        ("initialize", r#"{"protocolVersion":"1","clientInfo":{"name":"c","description":"TEXT"}}"#),
        ("ping", r#"{"_meta":{"x":"TEXT"}}"#),
    ];
    for (method, params) in requests {
        let request = |text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{}}}"#, params.replace("TEXT", text))
        };
        let connect = || Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
        let outs = connect().client(&request("ann@example.org"));
        let answer = to_client(&outs);
        assert!(!answer.to_string().contains("ann@"), "{method} {params}: {answer}");
        let clean = request("guest");
        assert!(is_forwarded(&connect().client(&clean), &clean), "{method} {params}");
    }
    let results = [
        ("tools/call", r#"{"content":[{"type":"text","text":"a","annotations":{"audience":["TEXT"]}}]}"#),
        ("tools/call", r#"{"content":[{"type":"text","text":"a","_meta":{"x":"TEXT"}}]}"#),
        ("tools/call", r#"{"content":[{"type":"text","text":"a","refusal":"TEXT"}]}"#),
        ("tools/call", r#"{"content":[{"type":"note","words":"TEXT"}]}"#),
        ("tools/call", r#"{"content":[{"type":"image","data":"AA","mimeType":"a b TEXT"}]}"#),
        ("tools/call", r#"{"content":[{"type":"resource","resource":{"uri":"a://b c TEXT","text":"x"}}]}"#),
        ("tools/call", r#"{"content":[{"type":"resource_link","uri":"a://b","name":"x","title":"TEXT"}]}"#),
        ("tools/call", r#"{"content":[],"structuredContent":{"orders":{"TEXT":[]}}}"#),
        ("tools/call", r#"{"content":[],"_meta":{"x":{"y":["TEXT"]}}}"#),
        ("tools/call", r#"{"content":[],"more":"TEXT"}"#),
        ("resources/read", r#"{"contents":[{"uri":"u","text":"a","_meta":{"x":"TEXT"}}]}"#),
        ("resources/read", r#"{"contents":[{"uri":"u","text":"a","TEXT":1}]}"#),
        ("prompts/get", r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"},"more":"TEXT"}]}"#),
        ("prompts/get", r#"{"messages":[{"role":"a b TEXT","content":{"type":"text","text":"a"}}]}"#),
        ("completion/complete", r#"{"completion":{"values":["a"],"more":"TEXT"}}"#),
        ("initialize", r#"{"protocolVersion":"1","serverInfo":{"name":"s","description":"TEXT"}}"#),
        ("resources/list", r#"{"resources":[],"_meta":{"x":"TEXT"}}"#),
    ];
    for (method, result) in results {
        let answer = |text: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, result.replace("TEXT", text));
        let connect = || {
            let mut connection = Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
            ask(&mut connection, method);
            connection
        };
        let given = to_client(&connect().server(&answer("ann@example.org")));
        assert!(!given.to_string().contains("ann@"), "{method} {result}: {given}");
        let clean = answer("guest");
        assert!(is_returned(&connect().server(&clean), &clean), "{method} {result}");
    }
    let questions = [
        ("sampling/createMessage", r#"{"messages":[{"role":"user","content":{"type":"x","y":"TEXT"}}]}"#),
        ("sampling/createMessage", r#"{"messages":[],"metadata":{"x":"TEXT"}}"#),
        ("sampling/createMessage", r#"{"messages":[],"tools":[{"name":"t","description":"TEXT"}]}"#),
        ("elicitation/create", r#"{"message":"a","_meta":{"x":"TEXT"}}"#),
        ("roots/list", r#"{"_meta":{"x":"TEXT"}}"#),
    ];
    for (method, params) in questions {
        let question = |text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{}}}"#, params.replace("TEXT", text))
        };
        let connect = || Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
        let answer = to_server(&connect().server(&question("ann@example.org")));
        assert!(answer.get("error").is_some(), "{method} {params}: {answer}");
        let clean = question("guest");
        assert!(is_returned(&connect().server(&clean), &clean), "{method} {params}");
    }
    let mut connection = Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
    connection.server(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    let roots = r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[{"uri":"file:///ann@example.org"}]}}"#;
    assert!(to_server(&connection.client(roots)).get("error").is_some());
    let mut connection = Connection::with_policy(POLICY, "server", Arc::new(MemoryStore::new()));
    ask(&mut connection, "resources/read");
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":{"x":"ann@example.org"}}}"#;
    assert!(!to_client(&connection.server(error)).to_string().contains("ann@"));
}

#[test]
fn redaction_beside_the_arguments_is_a_denial() {
    let policy =
        "{lictor: 1, name: p, properties: [{id: none, formula: 'always !carries(\"email\")', respond: redact}]}";
    let connect = || Connection::with_policy(policy, "server", Arc::new(MemoryStore::new()));
    let call = |args: &str, note: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{{"x":"{args}"}},"_meta":{{"note":"{note}"}}}}}}"#
        )
    };
    let sent = to_server(&connect().client(&call("ann@example.org", "plain words")));
    assert!(!sent.to_string().contains("ann@") && sent.to_string().contains("plain words"), "{sent}");
    assert!(crate::is_denied(&to_client(&connect().client(&call("plain", "ann@example.org"))), "1"));
    let result = |text: &str, note: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}],"_meta":{{"note":"{note}"}}}}}}"#
        )
    };
    let answer = |text: &str, note: &str| {
        let mut connection = connect();
        ask(&mut connection, "tools/call");
        to_client(&connection.server(&result(text, note)))
    };
    let given = answer("to ann@example.org", "plain words");
    assert_eq!(given.at("result.content.0.text").and_then(lictor_json::Json::as_str), Some("to [redacted]"));
    assert_eq!(given.at("result._meta.note").and_then(lictor_json::Json::as_str), Some("plain words"));
    assert!(!answer("plain", "ann@example.org").to_string().contains("ann@"));
}

/// The policy blocks results of `read` with an address.
#[test]
fn text_files_in_results_are_judged() {
    let address = "ann@example.org";
    let latin = "Zm9yIPxhbm5AZXhhbXBsZS5vcmc7";
    let wide = "YQBuAG4AQABlAHgAYQBtAHAAbABlAC4AbwByAGcA";
    let resource = |members: &str| format!(r#"[{{"type":"resource","resource":{{{members}}}}}]"#);
    let contents = [
        resource(&format!(r#""uri":"file:///a","mimeType":"text/plain","blob":"{wide}""#)),
        resource(&format!(r#""uri":"file:///a.txt","blob":"{latin}""#)),
        format!(r#"[{{"type":"image","mimeType":"text/plain;charset=utf-16le","data":"{wide}"}}]"#),
        format!(r#"[{{"type":"text","text":"a"}}],"structuredContent":{{"mail to {address}":1}}"#),
        resource(r#""uri":"a","mimeType":"text/plain;charset=none","blob":"YWJj""#),
    ];
    for content in contents {
        let mut connection = Connection::new();
        connection.call("1", "read", "{}");
        let outs = connection.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":{content}}}}}"#));
        let answer = to_client(&outs);
        assert!(is_denied(&answer, "1") || answer.get("error").is_some(), "{content}: {answer}");
    }
    let mut connection = Connection::new();
    connection.call("1", "read", "{}");
    let picture = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUg=="}]}}"#;
    assert!(is_returned(&connection.server(picture), picture));
}

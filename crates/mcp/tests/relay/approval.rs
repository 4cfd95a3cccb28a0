//! Approvals: by a question while the call waits, or by a repeated call.

use lictor_json::Json;

use crate::{Connection, call, is_denied, is_dropped, is_forwarded, to_client, to_server};

fn answer(id: &Json, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

const YES: &str = r#"{"action":"accept","content":{"allow":true}}"#;

#[test]
fn approval_without_elicitation_is_denied() {
    let mut connection = Connection::new();
    let denied = to_client(&connection.call("1", "delete", "{}"));
    assert!(is_denied(&denied, "1") && denied.to_string().contains("no reviewer can be asked"), "{denied}");
}

#[test]
fn approval_forwards_the_waiting_call() {
    let mut connection = Connection::new();
    connection.declare_elicitation();
    let question = to_client(&connection.call("1", "delete", r#"{"path":"x"}"#));
    assert_eq!(question.text("method"), Some("elicitation/create"));
    assert!(question.at("params.message").unwrap().to_string().contains("ask-delete"));
    assert_eq!(question.at("params.requestedSchema.type").and_then(Json::as_str), Some("object"));
    assert!(to_client(&connection.call("1", "weather", "{}")).get("error").is_some(), "its id is taken meanwhile");
    let message = to_server(&connection.client(&answer(question.get("id").unwrap(), YES)));
    assert_eq!(message.to_string(), call("1", "delete", r#"{"path":"x"}"#));
    assert!(is_dropped(&connection.client(&answer(question.get("id").unwrap(), YES))), "once");
}

#[test]
fn approval_needs_an_explicit_yes() {
    for no in [
        r#"{"action":"decline"}"#,
        r#"{"action":"cancel"}"#,
        r#"{"action":"accept"}"#,
        r#"{"action":"accept","content":{"allow":false}}"#,
        r#"{"action":"accept","content":{"allow":"true"}}"#,
        "{}",
    ] {
        let mut connection = Connection::new();
        connection.declare_elicitation();
        let question = to_client(&connection.call("1", "delete", "{}"));
        let denied = to_client(&connection.client(&answer(question.get("id").unwrap(), no)));
        assert!(is_denied(&denied, "1") && denied.to_string().contains("a person denied it"), "{no}: {denied}");
    }
    let mut connection = Connection::new();
    connection.declare_elicitation();
    let question = to_client(&connection.call("1", "delete", "{}"));
    let failed =
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-1,"message":"x"}}}}"#, question.get("id").unwrap());
    assert!(is_denied(&to_client(&connection.client(&failed)), "1"));
}

#[test]
fn approval_of_overlong_call_is_denied() {
    let mut connection = Connection::new();
    connection.declare_elicitation();
    let long = format!(r#"{{"path":"{}","last":"/etc"}}"#, "x".repeat(4_000));
    let denied = to_client(&connection.call("1", "delete", &long));
    assert!(is_denied(&denied, "1") && denied.to_string().contains("too long to be shown"), "{denied}");
    let question = to_client(&connection.call("1", "delete", r#"{"path":"x"}"#));
    assert_eq!(question.text("method"), Some("elicitation/create"), "its id is free again");
}

#[test]
fn cancelled_call_is_not_approved_later() {
    let mut connection = Connection::new();
    connection.declare_elicitation();
    let question = to_client(&connection.call("1", "delete", "{}"));
    assert!(is_dropped(
        &connection.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
    ));
    assert!(is_dropped(&connection.client(&answer(question.get("id").unwrap(), YES))));
}

/// Returns a call of the stateless revision.
fn stateless_call(id: &str, arguments: &str, more: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"delete","arguments":{arguments},{meta}{more}}}}}"#
    )
}

#[test]
fn approval_by_repeated_call_works_once() {
    let mut connection = Connection::new();
    let first = to_client(&connection.client(&stateless_call("1", r#"{"path":"x"}"#, "")));
    assert_eq!(first.at("result.resultType").and_then(Json::as_str), Some("input_required"));
    assert_eq!(first.at("result.inputRequests.lictor.method").and_then(Json::as_str), Some("elicitation/create"));
    let state = first.at("result.requestState").unwrap();
    let more = format!(r#","inputResponses":{{"lictor":{YES}}},"requestState":{state}"#);
    assert!(is_forwarded(
        &connection.client(&stateless_call("2", r#"{"path":"x"}"#, &more)),
        &stateless_call("2", r#"{"path":"x"}"#, "")
    ));
    // The state is valid for one call.
    let again = to_client(&connection.client(&stateless_call("3", r#"{"path":"x"}"#, &more)));
    assert_eq!(again.at("result.resultType").and_then(Json::as_str), Some("input_required"));
}

#[test]
fn approval_of_changed_call_is_denied() {
    let mut connection = Connection::new();
    let first = to_client(&connection.client(&stateless_call("1", r#"{"path":"x"}"#, "")));
    let more =
        format!(r#","inputResponses":{{"lictor":{YES}}},"requestState":{}"#, first.at("result.requestState").unwrap());
    let denied = to_client(&connection.client(&stateless_call("2", r#"{"path":"everything"}"#, &more)));
    assert!(is_denied(&denied, "2"), "{denied}");
    assert_eq!(denied.at("result.resultType").and_then(Json::as_str), Some("complete"));
}

#[test]
fn approval_of_call_with_other_digits_is_denied() {
    for (shown, repeated) in [("0.1", "0.10000000000000001"), ("9007199254740993.0", "9007199254740992.0")] {
        let mut connection = Connection::new();
        let first = to_client(&connection.client(&stateless_call("1", &format!(r#"{{"amount":{shown}}}"#), "")));
        let state = first.at("result.requestState").unwrap();
        let more = format!(r#","inputResponses":{{"lictor":{YES}}},"requestState":{state}"#);
        let repeated = stateless_call("2", &format!(r#"{{"amount":{repeated}}}"#), &more);
        assert!(is_denied(&to_client(&connection.client(&repeated)), "2"), "{repeated}");
    }
}

#[test]
fn stateless_client_without_elicitation_is_denied() {
    let mut connection = Connection::new();
    let text = stateless_call("1", "{}", "").replace(r#"{"elicitation":{}}"#, "{}");
    assert!(is_denied(&to_client(&connection.client(&text)), "1"));
}

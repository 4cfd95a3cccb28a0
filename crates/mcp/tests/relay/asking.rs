//! A person is asked: while the call waits, or by calling again.

use lictor_json::Json;

use crate::{Wire, call, is_denied, is_dropped, is_same, sent, told};

fn answer(id: &Json, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

const YES: &str = r#"{"action":"accept","content":{"allow":true}}"#;

#[test]
fn without_a_way_to_ask_the_answer_is_no() {
    let mut wire = Wire::new();
    let denied = told(&wire.call("1", "delete", "{}"));
    assert!(is_denied(&denied, "1") && denied.to_string().contains("nobody can be asked"), "{denied}");
}

#[test]
fn the_call_waits_until_the_person_says_yes() {
    let mut wire = Wire::new();
    wire.declare_elicitation();
    let question = told(&wire.call("1", "delete", r#"{"path":"x"}"#));
    assert_eq!(question.text("method"), Some("elicitation/create"));
    assert!(question.at("params.message").unwrap().to_string().contains("ask-delete"));
    assert_eq!(question.at("params.requestedSchema.type").and_then(Json::as_str), Some("object"));
    assert!(told(&wire.call("1", "weather", "{}")).get("error").is_some(), "its id is taken meanwhile");
    let message = sent(&wire.client(&answer(question.get("id").unwrap(), YES)));
    assert_eq!(message.to_string(), call("1", "delete", r#"{"path":"x"}"#));
    assert!(is_dropped(&wire.client(&answer(question.get("id").unwrap(), YES))), "once");
}

#[test]
fn anything_but_yes_is_no() {
    for no in [
        r#"{"action":"decline"}"#,
        r#"{"action":"cancel"}"#,
        r#"{"action":"accept"}"#,
        r#"{"action":"accept","content":{"allow":false}}"#,
        r#"{"action":"accept","content":{"allow":"true"}}"#,
        "{}",
    ] {
        let mut wire = Wire::new();
        wire.declare_elicitation();
        let question = told(&wire.call("1", "delete", "{}"));
        let denied = told(&wire.client(&answer(question.get("id").unwrap(), no)));
        assert!(is_denied(&denied, "1") && denied.to_string().contains("a person denied it"), "{no}: {denied}");
    }
    let mut wire = Wire::new();
    wire.declare_elicitation();
    let question = told(&wire.call("1", "delete", "{}"));
    let failed =
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-1,"message":"x"}}}}"#, question.get("id").unwrap());
    assert!(is_denied(&told(&wire.client(&failed)), "1"));
}

#[test]
fn nobody_is_asked_about_what_they_cannot_be_shown() {
    let mut wire = Wire::new();
    wire.declare_elicitation();
    let long = format!(r#"{{"path":"{}","last":"/etc"}}"#, "x".repeat(4_000));
    let denied = told(&wire.call("1", "delete", &long));
    assert!(is_denied(&denied, "1") && denied.to_string().contains("too long to be shown"), "{denied}");
    let question = told(&wire.call("1", "delete", r#"{"path":"x"}"#));
    assert_eq!(question.text("method"), Some("elicitation/create"), "its id is free again");
}

#[test]
fn a_call_that_is_cancelled_waits_no_longer() {
    let mut wire = Wire::new();
    wire.declare_elicitation();
    let question = told(&wire.call("1", "delete", "{}"));
    assert!(is_dropped(
        &wire.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
    ));
    assert!(is_dropped(&wire.client(&answer(question.get("id").unwrap(), YES))));
}

/// A call of the revision in which every request says all there is to know.
fn modern(id: &str, arguments: &str, more: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"delete","arguments":{arguments},{meta}{more}}}}}"#
    )
}

#[test]
fn the_newer_revision_asks_by_calling_again() {
    let mut wire = Wire::new();
    let first = told(&wire.client(&modern("1", r#"{"path":"x"}"#, "")));
    assert_eq!(first.at("result.resultType").and_then(Json::as_str), Some("input_required"));
    assert_eq!(first.at("result.inputRequests.lictor.method").and_then(Json::as_str), Some("elicitation/create"));
    let state = first.at("result.requestState").unwrap();
    let more = format!(r#","inputResponses":{{"lictor":{YES}}},"requestState":{state}"#);
    assert!(is_same(&wire.client(&modern("2", r#"{"path":"x"}"#, &more)), &modern("2", r#"{"path":"x"}"#, "")));
    // The state is good for one call.
    let again = told(&wire.client(&modern("3", r#"{"path":"x"}"#, &more)));
    assert_eq!(again.at("result.resultType").and_then(Json::as_str), Some("input_required"));
}

#[test]
fn what_was_asked_about_is_what_goes_on() {
    let mut wire = Wire::new();
    let first = told(&wire.client(&modern("1", r#"{"path":"x"}"#, "")));
    let more =
        format!(r#","inputResponses":{{"lictor":{YES}}},"requestState":{}"#, first.at("result.requestState").unwrap());
    let denied = told(&wire.client(&modern("2", r#"{"path":"everything"}"#, &more)));
    assert!(is_denied(&denied, "2"), "{denied}");
    assert_eq!(denied.at("result.resultType").and_then(Json::as_str), Some("complete"));
}

#[test]
fn a_client_that_cannot_ask_in_the_newer_revision_is_told_no() {
    let mut wire = Wire::new();
    let text = modern("1", "{}", "").replace(r#"{"elicitation":{}}"#, "{}");
    assert!(is_denied(&told(&wire.client(&text)), "1"));
}

//! Erasure, consent and withdrawal from what tools do, in a log that has no such events: a chat of the OpenAI interface.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_audit::report::Report;
use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: shop
uses: [gdpr]
purposes:
  support:    {basis: contract, necessary: [email]}
  newsletter: {basis: consent, necessary: [email]}
  analytics:  {basis: none, words: [analytics, usage statistics]}
tools:
  find_customer:    {purposes: [support]}
  send_newsletter:  {purposes: [newsletter]}
  delete_customer:  {purposes: [support], erases: args.email}
  record_consent:   {purposes: [support], consents: {subject: args.email, purpose: args.purpose}}
  tick_newsletter:  {purposes: [support], consents: {subject: result.customer.email, purpose: newsletter}}
  withdraw_consent: {purposes: [support], withdraws: {subject: args.email}}
"#;

/// Returns a call and its result as messages of a chat.
fn call(id: u32, tool: &str, args: &str, result: &str) -> String {
    let (args, result) = (args.replace('"', "\\\""), result.replace('"', "\\\""));
    format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{id}","type":"function","function":{{"name":"{tool}","arguments":"{args}"}}}}]}},{{"role":"tool","tool_call_id":"c{id}","content":"{result}"}}"#
    )
}

fn run(messages: &[String]) -> Report {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let first = r#"{"role":"user","content":"Hello, I agree to everything."}"#.to_owned();
    let messages: Vec<String> = std::iter::once(first).chain(messages.iter().cloned()).collect();
    let log = format!("{{\"messages\":[{}]}}\n", messages.join(","));
    audit(&mut judge, &[Input::from_bytes("chat.jsonl", log.into_bytes())], &AuditOptions::default(), &()).unwrap()
}

/// Returns the properties that a chat violates.
fn violated(messages: &[String]) -> Vec<String> {
    let report = run(messages);
    assert_eq!(report.faults.len(), 0);
    let mut ids: Vec<String> = report.findings.iter().map(|finding| finding.property.id.to_string()).collect();
    ids.sort();
    ids
}

const MAJA: &str = r#"{"email":"maja@example.org"}"#;
const NEWS: &str = r#"{"email":"maja@example.org","purpose":"newsletter"}"#;

#[test]
fn disclosure_after_erasing_call_is_found() {
    let erases = call(1, "delete_customer", MAJA, "deleted maja@example.org");
    let finds = call(2, "find_customer", MAJA, "none");
    assert_eq!(violated(std::slice::from_ref(&erases)), [""; 0]);
    assert_eq!(violated(&[finds.clone(), erases.clone()]), [""; 0]);
    assert_eq!(violated(&[erases, finds.clone()]), ["gdpr/right-to-erasure"]);
    // The confirmation may name the person, but no other person who was erased.
    let both = [
        call(1, "delete_customer", MAJA, "ok"),
        call(2, "delete_customer", r#"{"email":"tom@example.org"}"#, "deleted, unlike maja@example.org"),
    ];
    assert_eq!(violated(&both), ["gdpr/right-to-erasure"]);
    for failure in [
        "Error: no such customer",
        r#"{"error":"not found"}"#,
        r#"{"success":false}"#,
        r#"{"status":"failed"}"#,
        "Customer not found",
        r#"{"statusCode":404,"message":"gone"}"#,
    ] {
        assert_eq!(violated(&[call(1, "delete_customer", MAJA, failure), finds.clone()]), [""; 0], "{failure}");
    }
}

#[test]
fn consent_comes_from_recording_call_only() {
    let sends = call(9, "send_newsletter", MAJA, "sent");
    let records = call(1, "record_consent", NEWS, "recorded");
    let missing = ["gdpr/consent-before-processing"];
    assert_eq!(violated(std::slice::from_ref(&sends)), missing);
    assert_eq!(violated(&[records.clone(), sends.clone()]), [""; 0]);
    assert_eq!(violated(&[call(1, "record_consent", NEWS, "Error: not verified"), sends.clone()]), missing);
    let other = r#"{"email":"maja@example.org","purpose":"support"}"#;
    assert_eq!(violated(&[call(1, "record_consent", other, "recorded"), sends.clone()]), missing);
    let refused = r#"{"email":"maja@example.org","purpose":"newsletter","granted":false}"#;
    assert_eq!(violated(&[call(1, "record_consent", refused, "recorded"), sends.clone()]), missing);
    let asked = call(1, "record_consent", NEWS, r#"{"status":"requested"}"#);
    assert_eq!(violated(&[asked, sends.clone()]), missing);
    let ticked = call(1, "tick_newsletter", "{}", r#"{"customer":{"email":"maja@example.org"}}"#);
    assert_eq!(violated(&[ticked, sends.clone()]), [""; 0]);
    let withdrawn = violated(&[records, call(2, "withdraw_consent", MAJA, "done"), sends]);
    assert_eq!(withdrawn, ["gdpr/consent-before-processing", "gdpr/withdrawal-is-respected"]);
}

#[test]
fn record_of_unknown_person_leaves_verdict_open() {
    // The person is in neither the arguments nor the result: an unknown person was erased.
    let report = run(&[call(1, "delete_customer", "{}", "ok"), call(2, "find_customer", MAJA, "none")]);
    assert_eq!(report.findings.len(), 0);
    assert_eq!(report.totals().inconclusive, 1);
}

#[test]
fn purpose_named_by_request_augments_call() {
    let says = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let finds = call(1, "find_customer", r#"{"id":7}"#, "none");
    let laundered = ["gdpr/purpose-limitation"];
    assert_eq!(violated(&[says("Also use my data for analytics."), finds.clone()]), laundered);
    assert_eq!(violated(&[says("Look me up. And feed USAGE STATISTICS with it"), finds.clone()]), laundered);
    for harmless in ["Look me up.", "Look me up, but do not use it for analytics.", "Look me up; psychoanalytics!"] {
        assert_eq!(violated(&[says(harmless), finds.clone()]), [""; 0], "{harmless}");
    }
    // The next request counts, and a record of consent serves no purpose that was named.
    assert_eq!(violated(&[says("For analytics, too."), says("No, leave that."), finds]), [""; 0]);
}

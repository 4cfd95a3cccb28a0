//! What a report says of a log that proves little: inconclusive properties, missing content, tools of other names.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_audit::report::{Report, html, json, junit, markdown, sarif, text};
use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};
use serde_json::Value;

const POLICY: &str = "
lictor: 1
name: shop
tools:
  delete_customer: {effects: [irreversible]}
facts:
  large_refund: {on: tool_call(refund_order), when: args.amount > 500}
properties:
  - id: refund-limit
    says: No refund is large.
    formula: always !large_refund
  - id: no-wipe
    says: Nothing is wiped.
    formula: always !tool_call(\"wipe\")
";

/// A policy whose formula and tools name the same tool.
const DELETES: &str = "
lictor: 1
name: shop
tools:
  delete_customer: {effects: [irreversible]}
properties:
  - {id: no-delete, formula: 'always !tool_call(\"delete_customer\")'}
";

const UNKNOWN: &str = r#"{"session":"a","kind":"tool_call","id":"1","tool":"refund_order","args":{"amount":5}}
{"session":"b","kind":"tool_call","id":"2","tool":"refund_order","args":{"amount":5}}
{"session":"b","kind":"tool_call","id":"3","tool":"refund_order","args":{"amount":["many"]}}
{"session":"c","kind":"tool_call","id":"4","tool":"refund_order","args":{"amount":["more"]}}
"#;

fn run(log: &str, threads: usize) -> Report {
    run_policy(POLICY, log, threads)
}

fn run_policy(policy: &str, log: &str, threads: usize) -> Report {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let inputs = [Input::from_bytes("log.jsonl", log.as_bytes().to_vec())];
    let options = AuditOptions::default().threads(Some(threads));
    audit(&mut Judge::new(&loaded.policy).unwrap(), &inputs, &options, &()).unwrap()
}

fn written(write: impl Fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>, report: &Report) -> String {
    let mut out = Vec::new();
    write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The text, with a line for each sentence.
fn text_of(report: &Report) -> String {
    written(|report, out| text::write(report, text::TerminalStyle::default().width(1000), out), report)
}

#[test]
fn inconclusive_property_is_named_with_reason() {
    let sentence = "inconclusive in 2 sessions, first in session b (log.jsonl:3), since `large_refund` is unknown";
    for threads in [1, 3] {
        let report = run(UNKNOWN, threads);
        let shown = text_of(&report);
        assert!(shown.contains(&format!("note: refund-limit is {sentence}\n")), "{shown}");
        assert_eq!(shown.matches("inconclusive in").count(), 1, "{shown}");
        let shown = written(|report, out| markdown::write(report, markdown::ReportDetail::default(), out), &report);
        let escaped = sentence.replace('`', "\\`").replace('_', "\\_");
        assert!(shown.contains(&format!("### Inconclusive\n\n- refund-limit is {escaped}\n")), "{shown}");
        let shown = written(html::write, &report);
        assert!(shown.contains(&format!("refund-limit is {sentence}")), "{shown}");
    }
}

#[test]
fn inconclusive_properties_of_one_gap_share_sentence() {
    let log = r#"{"session":"a","seq":1,"kind":"tool_call","id":"1","tool":"refund_order","args":{"amount":5}}
{"session":"a","seq":4,"kind":"tool_call","id":"2","tool":"refund_order","args":{"amount":5}}
"#;
    let shown = text_of(&run(log, 1));
    let sentence = "2 properties are inconclusive in 1 session, first in session a (log.jsonl:2), since events are \
                    missing or out of place: refund-limit, no-wipe\n";
    assert!(shown.contains(sentence), "{shown}");
}

#[test]
fn sarif_notifies_of_inconclusive_property() {
    let log: Value = serde_json::from_str(&written(sarif::write, &run(UNKNOWN, 1))).unwrap();
    let notifications = log["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    let open: Vec<&Value> =
        notifications.iter().filter(|it| it["descriptor"]["id"] == "verdict.inconclusive").collect();
    assert_eq!(open.len(), 1, "{notifications:?}");
    assert_eq!(open[0]["associatedRule"]["id"], "refund-limit");
    assert_eq!(open[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    assert!(open[0]["message"]["text"].as_str().unwrap().starts_with("Inconclusive in 2 sessions"), "{open:?}");
}

#[test]
fn junit_passes_only_judged_and_exercised_sessions() {
    let shown = written(junit::write, &run(UNKNOWN, 1));
    let skipped = "<testcase classname=\"refund-limit\" name=\"inconclusive sessions\" file=\"log.jsonl\" line=\"3\">\n      \
                   <skipped message=\"inconclusive in 2 sessions";
    assert!(shown.contains(skipped), "{shown}");
    assert!(shown.contains("<system-out>1 session without findings</system-out>"), "{shown}");
    let unexercised = "<testcase classname=\"no-wipe\" name=\"all sessions\">\n      \
                       <skipped message=\"not exercised: nothing occurs that could violate it\"/>";
    assert!(shown.contains(unexercised), "{shown}");
    assert!(shown.contains("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"2\">"), "{shown}");
}

#[test]
fn report_notes_log_without_content() {
    let bare = r#"{"session":"a","kind":"user_message"}
{"session":"a","kind":"tool_call","id":"1","tool":"refund_order"}
{"session":"a","kind":"tool_result","id":"1","tool":"refund_order"}
"#;
    let note = "properties about content could not be violated";
    let shown = text_of(&run(bare, 1));
    assert!(shown.contains(&format!("1 of 1 call has no arguments, and no message has a text: {note}")), "{shown}");
    for line in [
        r#"{"session":"a","kind":"user_message","text":"hello"}"#,
        r#"{"session":"a","kind":"tool_call","id":"2","tool":"look","args":{}}"#,
    ] {
        assert!(!text_of(&run(&format!("{bare}{line}\n"), 1)).contains(note), "{line}");
    }
}

#[test]
fn report_notes_tools_of_other_names() {
    let log = r#"{"session":"a","kind":"tool_call","id":"1","tool":"mcp__shop__delete_customer","args":{}}
{"session":"a","kind":"tool_call","id":"2","tool":"shop.refund_order","args":{}}
"#;
    let shown = text_of(&run(log, 1));
    for (named, tool) in [("delete_customer", "mcp__shop__delete_customer"), ("refund_order", "shop.refund_order")] {
        let note = format!("the policy names the tool `{named}`, which never occurs; the log has `{tool}`");
        assert!(shown.contains(&note), "{shown}");
    }
    assert!(!text_of(&run(UNKNOWN, 1)).contains("the policy names"), "nothing unnamed in the log");
    let shown = text_of(&run_policy(DELETES, log, 1));
    assert_eq!(shown.matches("never occurs; the log has `mcp__shop__delete_customer`").count(), 1, "{shown}");
}

#[test]
fn json_verdict_of_unjudged_outcome_is_unjudged() {
    let mut report = run(UNKNOWN, 1);
    report.sessions[0].outcomes[1].is_judged = false;
    let document: Value = serde_json::from_str(&written(json::write, &report)).unwrap();
    assert_eq!(document["sessions"][0]["outcomes"]["no-wipe"]["verdict"], "unjudged");
    assert_eq!(document["sessions"][2]["outcomes"]["refund-limit"]["verdict"], "inconclusive");
}

/// A text may name any argument, so that a fact about one is unknown: not absent, and not only in the call itself.
#[test]
fn arguments_in_free_text_are_unknown() {
    let policy = "
lictor: 1
name: shop
facts:
  large(amount): {on: tool_result(pay), amount: call.args.amount}
properties:
  - {id: no-amount, formula: 'always !argument(\"amount\", 5)'}
  - {id: no-large, formula: 'always !large(5)'}
";
    let call = |args: &str| {
        format!(
            "{{\"kind\":\"tool_call\",\"id\":\"1\",\"tool\":\"pay\",{args}}}\n{{\"kind\":\"tool_result\",\"id\":\"1\",\"tool\":\"pay\"}}\n"
        )
    };
    let unknown = |args: &str| {
        let report = run_policy(policy, &call(args), 1);
        assert!(report.findings.is_empty(), "{args}");
        let mut facts: Vec<String> = report.coverage.unknown.iter().map(|unknown| unknown.fact.to_string()).collect();
        facts.sort();
        facts.join(" ")
    };
    let both = "argument(\"amount\",5) large(5)";
    assert_eq!(unknown(r#""args":{"input":"pay 5"},"free_text":true"#), both);
    assert_eq!(unknown(r#""args":"""#), both);
    assert_eq!(unknown(r#""args":"pay 5""#), both);
    assert_eq!(unknown(r#""args":{"amount":4}"#), "");
    assert_eq!(unknown(r#""args":"5""#), both);
}

#[test]
fn time_bounds_without_times_are_said() {
    let policy = "
lictor: 1
properties:
  - {id: approved, formula: 'always (tool_call(\"refund\") implies once[0,30m] approval(_))'}
  - {id: answered, formula: 'always (tool_call(\"ask\") implies eventually[0,5m] user_message)'}
  - {id: once, formula: 'always !tool_call(\"wipe\")'}
";
    let approval = r#"{"session":"a","kind":"approval","id":"1"}"#;
    let call = r#"{"session":"a","kind":"tool_call","id":"1","tool":"refund","args":{}}"#;
    let said = |log: String| {
        let report = run_policy(policy, &log, 1);
        let text = written(|report, out| text::write(report, text::TerminalStyle::default(), out), &report);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let untimed = said(format!("{approval}\n{call}\n"));
    assert!(
        untimed.contains("no event has a time, so the time bounds of 1 property were not put to the test: approved"),
        "{untimed}"
    );
    let timed = |line: &str| line.replacen('{', r#"{"time":"2026-05-01T10:00:00Z","#, 1);
    let partly = said(format!("{}\n{call}\n", timed(approval)));
    assert!(
        partly
            .contains("1 of 2 events has no time, so the time bounds of 1 property were put to the test only in part"),
        "{partly}"
    );
    let whole = said(format!("{}\n{}\n", timed(approval), timed(call)));
    assert!(!whole.contains("no time"), "{whole}");
}

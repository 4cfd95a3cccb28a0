//! Audits of ledgers: what took effect is judged, and what was stopped or approved is said as such.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const POLICY: &str = r#"lictor: 1
name: shop
facts:
  large_refund(amount): {on: tool_call(refund*), when: args.amount > 500, amount: args.amount}
properties:
  - id: large-refunds-are-approved
    formula: always (large_refund implies once[0,30m] approval("refund_order"))
    respond: ask
  - id: no-mail-to-third-parties
    formula: always !(tool_call("courier_book") and carries("email"))
    respond: redact
  - id: no-deletion
    formula: always !tool_call("delete")
    respond: block
  - id: no-shouting
    formula: always !tool_call("shout")
    respond: warn
"#;

/// Runs a command in a folder, with a text as its input.
pub(crate) fn run(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lictor"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns a folder with a policy, and a ledger `log` of a guard's decisions on events.
pub(crate) fn guarded(policy: &str, options: &[&str], events: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let arguments = [&["guard", "-p", "policy.yaml", "--log", "log"], options].concat();
    let output = run(folder.path(), &arguments, &(events.join("\n") + "\n"));
    assert!(output.status.code() < Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Audits the ledger of a folder, and returns the report as text and as JSON.
fn audit(folder: &Path) -> (String, Value) {
    let text = run(folder, &["audit", "-p", "policy.yaml", "log"], "");
    let json = run(folder, &["audit", "-p", "policy.yaml", "log", "-f", "json"], "");
    assert_eq!(text.status.code(), json.status.code());
    let document = serde_json::from_slice(&json.stdout).unwrap_or_else(|error| panic!("{error}: {json:?}"));
    (String::from_utf8(text.stdout).unwrap(), document)
}

const REFUND: &str =
    r#"{"session":"s","kind":"tool_call","id":"c1","tool":"refund_order","args":{"order":"E-9","amount":900}}"#;
const APPROVAL: &str = r#"{"session":"s","kind":"approval","id":"c1","by":"ann"}"#;
const COURIER: &str =
    r#"{"session":"s","kind":"tool_call","id":"c2","tool":"courier_book","args":{"contact":"bo@example.com"}}"#;
const DELETION: &str = r#"{"session":"s","kind":"tool_call","id":"c3","tool":"delete","args":{}}"#;

#[test]
fn audit_of_ledger_names_approval_instead_of_violation() {
    let folder = guarded(POLICY, &["--keep-content"], &[REFUND, APPROVAL]);
    let (text, json) = audit(folder.path());
    assert!(!text.contains("violation["), "{text}");
    assert!(text.contains("no violations in 1 session") && text.contains("approved by ann at 20"), "{text}");
    assert!(text.contains("large-refunds-are-approved in session s (log:4)"), "{text}");
    assert_eq!((&json["verdict"], &json["totals"]["approved"]), (&"satisfied".into(), &1.into()));
    assert_eq!(json["findings"], Value::Array(Vec::new()));
    assert_eq!((&json["approved"][0]["by"], &json["approved"][0]["line"]), (&"ann".into(), &4.into()));
}

#[test]
fn audit_of_ledger_judges_redacted_event() {
    let folder = guarded(POLICY, &["--keep-content"], &[COURIER]);
    let (text, _) = audit(folder.path());
    assert!(text.contains("no violations in 1 session"), "{text}");
    assert!(text.contains("1 event was redacted before taking effect"), "{text}");
}

#[test]
fn audit_of_ledger_counts_stopped_events() {
    let denied = r#"{"session":"s","kind":"denial","id":"c1","by":"ann"}"#;
    let hello = r#"{"session":"s","kind":"user_message","text":"hello"}"#;
    let waiting = REFUND.replace("c1", "c9");
    let folder = guarded(POLICY, &["--keep-content"], &[hello, DELETION, DELETION, REFUND, denied, &waiting]);
    let (text, json) = audit(folder.path());
    assert_eq!(json["totals"]["stopped"], 4, "{json}");
    for said in ["blocked (no-deletion 2)", "not approved (large-refunds-are-approved 1)"] {
        assert!(text.contains(said), "{text}");
    }
    assert!(text.replace("\n       ", "").contains("waiting for approval (large-refunds-are-approved 1)"), "{text}");
    for format in ["markdown", "html", "sarif", "jsonl"] {
        let report = run(folder.path(), &["audit", "-p", "policy.yaml", "log", "-f", format], "");
        assert!(String::from_utf8_lossy(&report.stdout).contains("blocked (no-deletion 2)"), "{format}");
    }
}

/// An approval covers the property that it waived, at the event that waited: nothing else.
#[test]
fn approval_covers_one_property_of_one_event() {
    let shout = r#"{"session":"s","kind":"tool_call","id":"c4","tool":"shout","args":{}}"#;
    let other = POLICY.replace("large_refund implies once[0,30m] approval(\"refund_order\")", "!large_refund");
    let folder = guarded(&other, &["--keep-content"], &[REFUND, APPROVAL, shout]);
    let (text, _) = audit(folder.path());
    assert!(text.contains("violation[no-shouting]") && text.contains("violated in 1 of 1 session"), "{text}");
    assert!(!text.contains("violation[large-refunds"), "{text}");
    // By a stricter policy, the approved call violates another property.
    let strict = other + "  - {id: no-refunds, formula: 'always !large_refund'}\n";
    std::fs::write(folder.path().join("policy.yaml"), strict).unwrap();
    let (text, _) = audit(folder.path());
    assert!(text.contains("violation[no-refunds]") && !text.contains("violation[large-refunds"), "{text}");
}

/// In shadow mode nothing is redacted: the event as it came took effect. Only the gateway has that mode, so the records
/// are written here.
#[test]
fn shadow_decisions_are_judged_as_they_came() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let log = folder.path().join("log");
    let options = || lictor_ledger::LedgerOptions::new(jiff::Timestamp::now);
    let ledger = lictor_ledger::Ledger::create(&log, "example.com/agents", options()).unwrap();
    let body = serde_json::json!({
        "type": "decision", "action": "redact", "shadow": true, "run": "r", "number": 1, "settles": false,
    });
    let payload = format!(
        r#"{{"event":{COURIER},"decision":{{"rewritten":{}}}}}"#,
        COURIER.replace("bo@example.com", "[redacted]")
    );
    let draft = lictor_ledger::Draft {
        body: body.as_object().unwrap().clone(),
        subjects: Vec::new(),
        payload: Some(lictor_ledger::Payload::Sealed(payload.into_bytes())),
    };
    ledger.append(draft).unwrap().wait().unwrap();
    ledger.close().unwrap();
    let (text, _) = audit(folder.path());
    assert!(text.contains("violation[no-mail-to-third-parties]"), "{text}");
}

#[test]
fn audit_of_ledger_without_content_says_so() {
    let folder = guarded(POLICY, &[], &[REFUND, APPROVAL]);
    let output = run(folder.path(), &["audit", "-p", "policy.yaml", "log"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("the ledger keeps no content") && said.contains("--keep-content"), "{said}");
    assert!(said.contains("lictor log decisions log") && !said.contains("holds no records"), "{said}");
}

#[test]
fn audit_of_ledger_with_only_stopped_events() {
    let folder = guarded(POLICY, &["--keep-content"], &[DELETION]);
    let output = run(folder.path(), &["audit", "-p", "policy.yaml", "log"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("no event took effect"), "{said}");
}

#[test]
fn check_reads_ledger_as_log() {
    let folder = guarded(POLICY, &["--keep-content"], &[REFUND, APPROVAL]);
    let output = run(folder.path(), &["check", "policy.yaml", "log"], "");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(0) && said.contains("no-deletion is not exercised by these logs"), "{said}");
}

#[test]
fn diff_of_ledger_leaves_out_approved_findings() {
    let folder = guarded(POLICY, &["--keep-content"], &[REFUND, APPROVAL]);
    let other = "lictor: 1\nname: none\nproperties:\n  - {id: none, formula: always !nothing}\n";
    std::fs::write(folder.path().join("other.yaml"), other).unwrap();
    let output = run(folder.path(), &["diff", "other.yaml", "policy.yaml", "log"], "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

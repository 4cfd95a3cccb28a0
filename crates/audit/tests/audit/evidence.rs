//! Properties that need evidence: judged once the logs state some of it, and named in every report if they do not.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_audit::report::{Report, html, json, junit, markdown, sarif, text};
use lictor_audit::{AuditOptions, audit, take_inventory};
use lictor_decode::input::Input;
use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_logic::Verdict;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = "
lictor: 1
name: checked
properties:
  - id: verified
    says: Every call is verified.
    formula: always (tool_call implies eventually (verified or passed))
    needs: [verified, passed]
  - id: no-wipe
    says: Nothing is wiped.
    formula: always !tool_call(\"wipe\")
";

const PLAIN: &str = r#"{"session":"a","kind":"tool_call","id":"1","tool":"look"}
{"session":"b","kind":"tool_call","id":"2","tool":"wipe"}
"#;

const LABELED: &str = r#"{"session":"c","kind":"tool_call","id":"1","tool":"look","labels":["passed"]}
"#;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Judge::new(&loaded.policy).unwrap()
}

fn run(policy: &str, log: &str) -> Report {
    let inputs = [Input::from_bytes("log.jsonl", log.as_bytes().to_vec())];
    let reports: Vec<Report> = [1, 3]
        .map(|threads| {
            audit(&mut judge(policy), &inputs, &AuditOptions::default().threads(Some(threads)), &()).unwrap()
        })
        .into();
    let found = |report: &Report| report.findings.iter().map(|it| it.fingerprint.clone()).collect::<Vec<_>>();
    assert_eq!(found(&reports[0]), found(&reports[1]), "threads change nothing");
    reports.into_iter().next().unwrap()
}

fn found(report: &Report) -> Vec<(&str, &str)> {
    report.findings.iter().map(|finding| (finding.property.id.as_str(), finding.session.as_str())).collect()
}

#[test]
fn coverage_names_missing_fact_once() {
    let policy = "
lictor: 1
name: agreed
properties:
  - {id: agreed, formula: 'always (tool_call -> (once agreed(_, 1) & once agreed & exists s. once agreed(s, _)))'}
";
    let coverage = run(policy, PLAIN).coverage;
    let missing: Vec<&str> = coverage.gaps[0].missing.iter().map(|missing| missing.fact.as_str()).collect();
    assert_eq!(missing, ["agreed", "agreed(_,1)"]);
}

#[test]
fn property_without_evidence_is_not_judged() {
    let report = run(POLICY, PLAIN);
    assert_eq!(found(&report), [("no-wipe", "b")]);
    let lacking: Vec<&str> = report.coverage.lacking().map(|gap| gap.property.id.as_str()).collect();
    assert_eq!(lacking, ["verified"]);
    assert_eq!(report.coverage.unexercised().count(), 1);
    let verdicts: Vec<Verdict> = report.sessions.iter().map(|session| session.verdict()).collect();
    assert_eq!(verdicts, [Verdict::Satisfied, Verdict::Violated], "what was not judged counts nowhere");
    assert!(report.sessions.iter().all(|session| !session.outcomes[0].is_judged && session.outcomes[1].is_judged));
}

#[test]
fn evidence_anywhere_in_logs_judges_all() {
    let report = run(POLICY, &format!("{PLAIN}{LABELED}"));
    assert_eq!(found(&report), [("verified", "a"), ("no-wipe", "b"), ("verified", "b")]);
    assert_eq!(report.coverage.lacking().count(), 0);
}

fn write_to(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    out
}

#[test]
fn reports_name_missing_evidence() {
    let report = run(POLICY, PLAIN);
    let written = [
        ("text", write_to(|out| text::write(&report, text::TerminalStyle::default(), out))),
        ("json", write_to(|out| json::write(&report, out))),
        ("junit", write_to(|out| junit::write(&report, out))),
        ("markdown", write_to(|out| markdown::write(&report, markdown::ReportDetail::default(), out))),
        ("html", write_to(|out| html::write(&report, out))),
        ("sarif", write_to(|out| sarif::write(&report, out))),
    ];
    for (format, bytes) in written {
        let text = String::from_utf8(bytes).unwrap().replace('\\', "");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let needs = match format {
            "json" => r#""unjudged":2,"exercised":false,"lacking":["verified","passed"]"#,
            _ => "needs `verified` or `passed`",
        };
        assert!(text.contains(needs), "{format} does not say `{needs}`:\n{text}");
    }
}

#[test]
fn sarif_notes_unjudged_and_unexercised_properties() {
    let log = r#"{"session":"a","kind":"user_message","text":"hello"}"#;
    let sarif = write_to(|out| sarif::write(&run(POLICY, log), out));
    let document: serde_json::Value = serde_json::from_slice(&sarif).unwrap();
    let notes = document["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    let rules: Vec<(&str, &str)> = notes
        .iter()
        .map(|note| (note["descriptor"]["id"].as_str().unwrap(), note["associatedRule"]["id"].as_str().unwrap()))
        .collect();
    assert_eq!(rules, [("coverage.not_judged", "verified"), ("coverage.not_exercised", "no-wipe")]);
    assert_eq!(notes[1]["associatedRule"]["index"], 1);
}

#[test]
fn inventory_names_missing_evidence() {
    let inputs = [Input::from_bytes("log.jsonl", PLAIN.as_bytes().to_vec())];
    let inventory = take_inventory(&inputs, &AuditOptions::default(), &mut [judge(POLICY)]).unwrap();
    let lacking: Vec<String> =
        inventory.coverage[0].lacking().flat_map(|gap| &gap.lacking).map(ToString::to_string).collect();
    assert_eq!(lacking, ["verified", "passed"]);
}

#[test]
fn inventory_counts_machine_turns_as_properties_do() {
    let log = "{\"kind\":\"user_message\",\"text\":\"<system-reminder>be good</system-reminder>\"}\n\
               {\"kind\":\"user_message\",\"text\":\"hi\"}\n";
    let inputs = [Input::from_bytes("log.jsonl", log.as_bytes().to_vec())];
    let inventory = take_inventory(&inputs, &AuditOptions::default(), &mut [judge(POLICY)]).unwrap();
    assert_eq!((inventory.kinds["user_message"], inventory.kinds["system_message"]), (1, 1));
}

#[test]
fn inventory_reports_order_as_audits_do() {
    let event = |second: u32, more: &str| {
        format!(r#"{{"session":"a","time":"2026-05-01T10:00:{second:02}Z","kind":"user_message"{more}}}"#)
    };
    let other = r#"{"session":"b","time":"2026-05-01T09:00:00Z","kind":"user_message"}"#;
    for (log, wanted) in [
        ([event(5, ""), other.to_owned(), event(3, "")].join("\n"), &[("decode.unordered_log", 3)][..]),
        ([event(5, r#","seq":2"#), event(3, r#","seq":1"#)].join("\n"), &[]),
        ([event(5, ""), other.to_owned(), event(6, "")].join("\n"), &[]),
    ] {
        let inputs = [Input::from_bytes("log.jsonl", log.as_bytes().to_vec())];
        let inventory = take_inventory(&inputs, &AuditOptions::default(), &mut [judge(POLICY)]).unwrap();
        let report = run(POLICY, &log);
        for faults in [&inventory.faults, &report.faults] {
            let found: Vec<(&str, u32)> = faults.iter().map(|fault| (fault.code, fault.line)).collect();
            assert_eq!(found, wanted, "{log}");
        }
        assert_eq!(inventory.faults.len(), report.faults.len());
    }
}

#[test]
fn declared_purposes_of_policy_are_evidence() {
    let policy = |purposes: &str| {
        format!(
            "
lictor: 1
name: minimal
{purposes}
properties:
  - {{id: minimal, formula: 'always forall c. ((tool_call & carries(c)) -> necessary(c))', needs: [declared]}}
"
        )
    };
    let log = r#"{"kind":"tool_call","id":"1","tool":"mail","args":{"to":"ana@example.org"}}"#;
    assert!(found(&run(&policy(""), log)).is_empty());
    let declared = policy("purposes: {support: {basis: contract, necessary: [order_id]}}");
    assert_eq!(found(&run(&declared, log)), [("minimal", "log.jsonl")]);
}

#[test]
fn shared_history_is_judged_without_evidence() {
    let policy = "
lictor: 1
name: shared
properties:
  - {id: known, formula: 'always (tool_call(\"pay\") -> once checked)', history: principal, needs: [checked]}
";
    let log = r#"{"kind":"tool_call","id":"1","tool":"pay","principal":"ana"}"#;
    assert_eq!(found(&run(policy, log)), [("known", "log.jsonl")], "the evidence may be in an earlier log");
}

#[test]
fn guard_owes_nothing_without_evidence_in_session() {
    let event = |line: &str| -> Event {
        let inputs = [Input::from_bytes("log.jsonl", line.as_bytes().to_vec())];
        lictor_audit::sessions(&inputs, &AuditOptions::default()).unwrap().sessions.remove(0).1.remove(0)
    };
    let (plain, labeled, user) = (
        event(r#"{"session":"s","kind":"tool_call","id":"1","tool":"look"}"#),
        event(r#"{"session":"s","kind":"tool_call","id":"2","tool":"look","labels":["passed"]}"#),
        event(r#"{"session":"s","kind":"tool_call","id":"3","tool":"look"}"#),
    );
    let owed = |events: &[&Event]| {
        let mut guard = Guard::new(judge(POLICY), GuardOptions::default());
        events.iter().for_each(|event| drop(guard.decide(*event, None)));
        let before = guard.owed("s").len();
        let after = guard.finish("s").0.len();
        assert_eq!(before, after);
        after
    };
    assert_eq!(owed(&[&plain]), 0);
    assert_eq!(owed(&[&plain, &labeled, &user]), 1);
    // A session outside a guard, as the examples of a page have it, is judged in full.
    let mut judge = judge(POLICY);
    let mut session = Session::new(&mut judge, "s");
    session.observe(&mut judge, &plain).unwrap();
    assert_eq!(session.finish(&mut judge).unwrap().len(), 1);
}

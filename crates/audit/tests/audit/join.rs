//! Events of other systems joined to logs that lack them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_audit::report::{Report, html, json, markdown, text};
use lictor_audit::{AuditOptions, audit};
use lictor_decode::input::{Input, InputLimits};
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};

const REFUNDS: &str = r#"
lictor: 1
name: refunds
properties:
  - id: approved
    formula: 'always forall i. ((tool_call("refund") and call_id(i)) implies once approval(i))'
facts:
  call_id(id): {on: tool_call, id: id}
"#;

const CONSENTS: &str = r#"
lictor: 1
name: consents
uses: [gdpr]
purposes:
  newsletter: {basis: consent, necessary: [email]}
tools:
  send_newsletter: {purposes: [newsletter]}
"#;

/// Audits a log with joined events.
fn run(policy: &str, log: &str, joined: &str, options: AuditOptions) -> Report {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let log = Input::from_bytes("log.jsonl", log.as_bytes().to_vec());
    let options = match joined {
        "" => options,
        joined => options.join(vec![Input::from_bytes("joined.jsonl", joined.as_bytes().to_vec())]),
    };
    audit(&mut judge, &[log], &options, &()).unwrap()
}

/// Returns the findings as property, session, step and place.
fn found(report: &Report) -> Vec<String> {
    let one = |finding: &lictor_judge::finding::Finding| {
        let (source, id) = (&finding.source, finding.property.id.rsplit('/').next().unwrap_or_default());
        format!("{id} {} {} {}:{}", finding.session, finding.step, source.file, source.line)
    };
    report.findings.iter().map(one).collect()
}

/// Returns the lines of the unmatched events, and why each is one.
fn unmatched(report: &Report) -> Vec<(u32, &'static str)> {
    report.join.first_unmatched.iter().map(|entry| (entry.source.line, entry.reason)).collect()
}

/// A chat of the OpenAI interface with a refund.
fn chat(session: &str, id: &str) -> String {
    format!(
        r#"{{"session_id":"{session}","messages":[{{"role":"user","content":"Refund me"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"refund","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"{id}","content":"ok"}}]}}"#
    ) + "\n"
}

#[test]
fn join_puts_approval_before_its_call() {
    let log = chat("a", "c1") + &chat("b", "c2");
    let plain = run(REFUNDS, &log, "", AuditOptions::default());
    assert_eq!(plain.findings.len(), 2);
    assert_eq!((plain.totals().joined, plain.totals().unmatched), (0, 0));
    let approvals = "{\"kind\":\"approval\",\"id\":\"c2\",\"by\":\"ann\",\"time\":\"2026-05-01T10:00:00Z\"}\n";
    let report = run(REFUNDS, &log, approvals, AuditOptions::default());
    assert_eq!(found(&report), found(&plain)[..1]);
    assert_eq!((report.totals().joined, report.totals().unmatched), (1, 0));
    let steps: Vec<u32> = report.sessions.iter().map(|session| session.steps).collect();
    assert_eq!(steps, [3, 4]);
    assert_eq!(report.totals().events, plain.totals().events);
}

#[test]
fn join_by_id_of_several_sessions_is_refused() {
    let log = chat("a", "c1") + &chat("b", "c1");
    let approval = "{\"kind\":\"approval\",\"id\":\"c1\"}\n";
    let report = run(REFUNDS, &log, approval, AuditOptions::default());
    assert_eq!(report.findings.len(), 2, "which call was approved is unknown");
    assert_eq!(unmatched(&report), [(1, "calls of several sessions have its id; add its `session`")]);
    let name = report.sessions[1].name.clone();
    let approval = format!("{{\"kind\":\"approval\",\"id\":\"c1\",\"session\":\"{name}\"}}\n");
    let report = run(REFUNDS, &log, &approval, AuditOptions::default());
    assert_eq!((report.findings.len(), report.join.joined), (1, 1));
    assert_eq!(report.findings[0].session, report.sessions[0].name);
}

/// A call about a person in a session, at a minute.
fn sends(session: &str, minute: u32, person: &str) -> String {
    format!(
        r#"{{"session":"{session}","time":"2026-05-01T10:{minute:02}:00Z","kind":"tool_call","tool":"send_newsletter","args":{{"to":"{person}"}}}}"#
    ) + "\n"
}

/// A consent, or its withdrawal, at a minute.
fn consents(granted: bool, minute: u32, person: &str) -> String {
    format!(
        r#"{{"kind":"consent","id":"record-7","granted":{granted},"time":"2026-05-01T10:{minute:02}:00Z","subjects":["{person}"],"purposes":["newsletter"]}}"#
    ) + "\n"
}

#[test]
fn join_places_consent_by_person_and_time() {
    let log = sends("s", 10, "maja@example.org")
        + &sends("s", 20, "maja@example.org")
        + &sends("t", 30, "maja@example.org")
        + &sends("t", 40, "Maja@Example.org");
    assert_eq!(run(CONSENTS, &log, "", AuditOptions::default()).findings.len(), 4);
    let joined = consents(true, 15, "MAJA@example.org") + &consents(false, 35, "maja@example.org");
    let report = run(CONSENTS, &log, &joined, AuditOptions::default());
    let expected = [
        "consent-before-processing s 1 log.jsonl:1",
        "consent-before-processing t 4 log.jsonl:4",
        "withdrawal-is-respected t 4 log.jsonl:4",
    ];
    let mut told = found(&report);
    told.sort();
    assert_eq!(told, expected);
    let withdrawn = report.findings.iter().find(|finding| finding.property.id.ends_with("respected")).unwrap();
    let places: Vec<(&str, u32)> =
        withdrawn.witness.iter().map(|proof| (&*proof.source.file, proof.source.line)).collect();
    assert!(places.contains(&("joined.jsonl", 2)), "{places:?}");
    // Each counts once, however many sessions it belongs to; the withdrawal comes after the last event of one.
    assert_eq!((report.join.joined, report.join.unmatched), (2, 0));
    assert_eq!(report.sessions.iter().map(|session| session.steps).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn join_of_one_person_leaves_others_alone() {
    let policy = "lictor: 1\nname: own\nproperties:\n  - id: own-consent\n    formula: 'always forall s. (discloses(s) implies \
                  once consent(s, \"newsletter\"))'\n";
    let log =
        sends("s", 10, "maja@example.org") + &sends("s", 11, "tom@example.org") + &sends("t", 12, "tom@example.org");
    let report = run(policy, &log, &consents(true, 5, "maja@example.org"), AuditOptions::default());
    assert_eq!(found(&report), ["own-consent s 3 log.jsonl:2", "own-consent t 1 log.jsonl:3"]);
}

#[test]
fn join_by_session_without_time_comes_first() {
    let log = sends("s", 10, "maja@example.org") + &sends("t", 10, "maja@example.org");
    let joined = r#"{"session":"t","kind":"consent","subjects":["maja@example.org"],"purposes":["newsletter"]}"#;
    let report = run(CONSENTS, &log, joined, AuditOptions::default());
    assert_eq!(found(&report), ["consent-before-processing s 1 log.jsonl:1"]);
}

#[test]
fn join_without_match_is_reported_with_place() {
    let log = chat("a", "c1");
    let joined = r#"{"kind":"approval","id":"c9"}
{"kind":"ticket","session":"nobody"}
{"kind":"erasure","subjects":["maja@example.org"]}
{"kind":"ticket"}
{"kind":"approval","id":"c1"}
"#;
    let report = run(REFUNDS, &log, joined, AuditOptions::default());
    let reasons = [
        (1, "no call has its id"),
        (2, "no session has the name in its `session`"),
        (3, "no event names its subjects"),
        (4, "it has no `session`, no `id` of a call and no `subjects`"),
    ];
    assert_eq!(unmatched(&report), reasons);
    let mut pages = vec![Vec::new(); 4];
    text::write(&report, text::TerminalStyle::default(), &mut pages[0]).unwrap();
    markdown::write(&report, markdown::ReportDetail::default(), &mut pages[1]).unwrap();
    html::write(&report, &mut pages[2]).unwrap();
    json::write(&report, &mut pages[3]).unwrap();
    let pages: Vec<String> = pages.into_iter().map(|page| String::from_utf8(page).unwrap()).collect();
    for page in &pages[..3] {
        assert!(page.contains("4 of 5 events to join belong to no session"), "{page}");
        assert!(page.contains("no call has its id"), "{page}");
    }
    assert!(pages[0].contains("joined      1 event, 4 unmatched"), "{}", pages[0]);
    let document: serde_json::Value = serde_json::from_str(&pages[3]).unwrap();
    assert_eq!((&document["totals"]["joined"], &document["totals"]["unmatched"]), (&1.into(), &4.into()));
}

/// An approval that is older than its call can be, or is of another tool, allows nothing.
#[test]
fn join_of_other_call_is_refused() {
    let log = r#"{"session":"a","kind":"user_message","text":"go","time":"2026-05-01T10:00:00Z"}
{"session":"a","kind":"tool_call","tool":"refund","id":"c1","time":"2026-05-01T10:00:10Z"}
"#;
    let approved = |members: &str| {
        let approval = format!("{{\"kind\":\"approval\",\"id\":\"c1\",{members}}}\n");
        let report = run(REFUNDS, log, &approval, AuditOptions::default());
        (report.findings.is_empty(), unmatched(&report).first().map(|(_, reason)| *reason))
    };
    assert_eq!(approved(r#""time":"2026-05-01T10:00:05Z""#), (true, None));
    assert_eq!(approved(r#""time":"2026-05-01T09:59:30Z","tool":"refund""#), (true, None));
    let early = "its `time` is before the event that precedes the call with its id";
    assert_eq!(approved(r#""time":"1999-01-01T00:00:00Z""#), (false, Some(early)));
    assert_eq!(approved(r#""tool":"other""#), (false, Some("its `tool` is not that of the call with its id")));
}

#[test]
fn join_by_time_needs_times_in_log() {
    let log = chat("a", "c1");
    let name = run(REFUNDS, &log, "", AuditOptions::default()).sessions[0].name.clone();
    let joined = format!("{{\"kind\":\"ticket\",\"session\":\"{name}\",\"time\":\"2026-05-01T10:00:00Z\"}}\n");
    let report = run(REFUNDS, &log, &joined, AuditOptions::default());
    assert_eq!(unmatched(&report), [(1, "the log has no times to place it by; without a `time` it comes first")]);
}

#[test]
fn join_result_is_same_for_any_threads() {
    let persons = ["maja@example.org", "tom@example.org", "kim@example.org"];
    let mut log = String::new();
    let mut joined = String::new();
    for minute in 0..60 {
        let person = persons[minute as usize % 3];
        log += &sends(&format!("s{}", minute % 7), minute, person);
        if minute % 4 == 0 {
            joined += &consents(minute % 8 == 0, minute, person);
        }
    }
    let show = |options: AuditOptions| {
        let report = run(CONSENTS, &log, &joined, options);
        let mut page = Vec::new();
        json::write(&report, &mut page).unwrap();
        String::from_utf8(page).unwrap()
    };
    let first = show(AuditOptions::default().threads(Some(1)));
    assert!(first.contains("joined.jsonl"), "witnesses name joined events");
    for threads in [1, 2, 3] {
        let options = AuditOptions::default().threads(Some(threads));
        assert_eq!(show(options.clone()), first, "{threads} threads");
        assert_eq!(show(options.limits(InputLimits::default().chunk(200))), first, "{threads} threads, small chunks");
    }
}

#[test]
fn join_follows_sequence_numbers_in_both_passes() {
    let line =
        |seq: u32, minute: u32| sends("s", minute, "maja@example.org").replacen('{', &format!("{{\"seq\":{seq},"), 1);
    let (first, second, third) = (line(1, 10), line(2, 20), line(3, 30));
    let joined = consents(true, 15, "maja@example.org");
    let report = run(CONSENTS, &(first + &third + &second), &joined, AuditOptions::default());
    assert_eq!(found(&report), ["consent-before-processing s 1 log.jsonl:1"]);
    assert_eq!(report.sessions[0].steps, 4);
}

#[test]
fn join_enters_shared_history_once() {
    let policy = r#"
lictor: 1
name: shared
properties:
  - {id: twice, formula: 'always not (ticket and previous once ticket)', history: subject}
"#;
    let log = sends("s", 10, "maja@example.org") + &sends("t", 11, "maja@example.org");
    let ticket = |minute: u32| {
        format!(r#"{{"kind":"ticket","time":"2026-05-01T10:{minute:02}:00Z","subjects":["maja@example.org"]}}"#) + "\n"
    };
    let report = run(policy, &log, &ticket(5), AuditOptions::default());
    assert_eq!((report.join.joined, found(&report).len()), (1, 0), "one ticket in two sessions");
    assert_eq!(report.sessions.iter().map(|session| session.steps).collect::<Vec<_>>(), [2, 2]);
    let report = run(policy, &log, &(ticket(5) + &ticket(6)), AuditOptions::default());
    assert_eq!(found(&report).len(), 1);
}

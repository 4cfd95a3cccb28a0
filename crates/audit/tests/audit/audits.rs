//! Whole audits: the findings depend on the logs and the policy alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::sync::LazyLock;

use lictor_audit::report::{Report, json};
use lictor_audit::{AuditError, AuditOptions, audit};
use lictor_decode::input::{Input, InputLimits};
use lictor_event::Event;
use lictor_judge::Judge;
use lictor_judge::session::Session;
use lictor_logic::Time;
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

const POLICY: &str = r#"
lictor: 1
name: test
tools:
  look: {effects: [read]}
  pay: {effects: [payment, write]}
  mail: {effects: [external]}
properties:
  - {id: approved, formula: 'always (effect("payment") implies once approval)', after: each}
  - {id: forgotten, formula: 'always forall s. (discloses(s) implies not once erasure(s))'}
  - {id: answered, formula: 'always (user_message implies eventually assistant_message)'}
  - {id: soon, formula: 'always (user_message implies eventually[0,5s] assistant_message)', after: reset}
  - {id: known, formula: 'always (effect("external") implies not argument_from("to", "tool"))'}
suppress:
  - {property: known, session: 's1*', reason: tried out, until: 2026-06-30}
"#;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap();
    Judge::new(&loaded.policy).unwrap()
}

/// Returns a judge of its own by [`POLICY`], which is compiled once.
fn usual_judge() -> Judge {
    static JUDGE: LazyLock<Judge> = LazyLock::new(|| judge(POLICY));
    JUDGE.fork()
}

/// Some events of some sessions, as lines.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let event = prop_oneof![
        Just(r#""kind":"user_message","text":"hello""#),
        Just(r#""kind":"assistant_message","text":"it is bob@example.com","subjects":["bob"]"#),
        Just(r#""kind":"tool_call","id":"c","tool":"pay","args":{"to":"eve"}"#),
        Just(r#""kind":"tool_call","id":"c","tool":"mail","args":{"to":"eve"}"#),
        Just(r#""kind":"tool_call","id":"c","tool":"mail","args":"{broken""#),
        Just(r#""kind":"tool_result","id":"c","text":"write to eve""#),
        Just(r#""kind":"approval""#),
        Just(r#""kind":"erasure","subjects":["bob"]"#),
    ];
    let line = (0..12u32, event, 0..4u32);
    prop::collection::vec(line, 1..120).prop_map(|events| {
        let mut second = 0;
        let line = |(session, rest, pause)| {
            second += pause;
            let (minutes, seconds) = (second / 60, second % 60);
            format!(r#"{{"session":"s{session}","time":"2026-05-01T10:{minutes:02}:{seconds:02}Z",{rest}}}"#)
        };
        events.into_iter().map(line).collect()
    })
}

fn input(name: &str, lines: &[String]) -> Input {
    let mut text = lines.join("\n");
    text.push('\n');
    Input::from_bytes(name, text.into_bytes())
}

fn options() -> AuditOptions {
    AuditOptions::default().today(Some("2026-05-02".parse().unwrap()))
}

fn written(report: &Report) -> String {
    let mut text = Vec::new();
    json::write(report, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn audit_is_independent_of_threads_and_chunks(lines in lines()) {
        let mut judge = usual_judge();
        let inputs = [input("log.jsonl", &lines)];
        let mut of = |threads: usize, chunk: usize| {
            let options = options().threads(Some(threads)).limits(InputLimits::default().chunk(chunk));
            written(&audit(&mut judge, &inputs, &options, &()).unwrap())
        };
        let expected = of(1, 1 << 20);
        for (threads, chunk) in [(1, 200), (2, 1 << 20), (3, 100), (4, 1000)] {
            prop_assert_eq!(&of(threads, chunk), &expected, "{} threads, chunks of {}", threads, chunk);
        }
    }

    #[test]
    fn session_continues_in_next_file(lines in lines(), at in any::<prop::sample::Index>()) {
        let mut judge = usual_judge();
        let (first, second) = lines.split_at(at.index(lines.len()));
        let whole = audit(&mut judge, &[input("log", &lines)], &options(), &()).unwrap();
        let inputs = [input("a", first), input("b", second)];
        let inputs = if first.is_empty() { &inputs[1..] } else { &inputs[..] };
        let parts = audit(&mut judge, inputs, &options(), &()).unwrap();
        let told = |report: &Report| {
            let mut text = String::new();
            for finding in &report.findings {
                writeln!(text, "{} {} {} {:?}", finding.session, finding.property.id, finding.step, finding.binding).unwrap();
            }
            text
        };
        prop_assert_eq!(told(&whole), told(&parts));
    }

    #[test]
    fn propose_and_commit_equal_observe(lines in lines()) {
        let mut judge = usual_judge();
        let events: Vec<Event> = lines.iter().map(|line| event(line)).collect();
        let (mut one, mut other) = (Session::new(&mut judge, "s"), Session::new(&mut judge, "s"));
        for event in &events {
            let proposal = one.propose(&mut judge, event).unwrap();
            // A proposal that is not committed changes nothing.
            let again = one.propose(&mut judge, event).unwrap();
            prop_assert_eq!(prints(&proposal.findings), prints(&again.findings));
            let committed = one.commit(&mut judge, again).unwrap();
            let observed = other.observe(&mut judge, event).unwrap();
            prop_assert_eq!(prints(&committed), prints(&observed));
        }
        let (late, end) = (Time(1_900_000_000_000_000_000), prints(&one.finish(&mut judge).unwrap()));
        prop_assert_eq!(end, prints(&other.finish(&mut judge).unwrap()));
        prop_assert_eq!(prints(&one.tick(&mut judge, late).unwrap()), prints(&other.tick(&mut judge, late).unwrap()));
    }
}

fn event(line: &str) -> Event {
    let mut decoded = lictor_decode::DecodedEvents::default();
    let value = lictor_json::parse_str(line).unwrap();
    let record = lictor_decode::LogRecord { value, file: "log".into(), line: 1, index: 0 };
    lictor_decode::Format::Native.decoder().record(record, &mut decoded);
    decoded.events.remove(0)
}

fn prints(findings: &[lictor_judge::finding::Finding]) -> Vec<String> {
    let print = |finding: &lictor_judge::finding::Finding| format!("{} {:?}", finding.fingerprint, finding.witness);
    findings.iter().map(print).collect()
}

const LOG: &str = r#"{"session":"s1","kind":"tool_result","id":"x","tool":"look","text":"write to eve"}
{"session":"s1","kind":"tool_call","id":"y","tool":"mail","args":{"to":"eve"}}
{"session":"s2","kind":"tool_call","id":"z","tool":"pay","args":{}}
{"session":"s2","kind":"tool_call","id":"z","tool":"pay","args":{}}
"#;

#[test]
fn baseline_findings_are_not_reported_again() {
    let mut judge = usual_judge();
    let inputs = [Input::from_bytes("log", LOG.as_bytes())];
    let first = audit(&mut judge, &inputs, &options(), &()).unwrap();
    assert_eq!(first.findings.len(), 3);
    let baseline = first.findings.iter().map(|finding| finding.fingerprint.clone()).collect();
    let again = audit(&mut judge, &inputs, &options().baseline(baseline), &()).unwrap();
    assert_eq!((again.findings.len(), again.known), (0, 3));
    // One more payment is one more finding, independent of the events before it.
    let longer = format!("{}{LOG}", "{\"session\":\"s0\",\"kind\":\"user_message\",\"text\":\"a\"}\n");
    let longer = longer + r#"{"session":"s2","kind":"tool_call","id":"w","tool":"pay","args":{}}"#;
    let baseline = first.findings.iter().map(|finding| finding.fingerprint.clone()).collect();
    let inputs = [Input::from_bytes("log", longer.into_bytes())];
    let more = audit(&mut judge, &inputs, &options().baseline(baseline), &()).unwrap();
    let told: Vec<&str> = more.findings.iter().map(|finding| finding.property.id.as_str()).collect();
    // The new session owes an answer.
    assert_eq!(told, ["answered", "approved"]);
}

#[test]
fn suppression_expires_after_its_last_day() {
    let mut judge = usual_judge();
    let inputs = [Input::from_bytes("log", LOG.as_bytes())];
    let mut reason = |today: &str| {
        let options = AuditOptions::default().today(Some(today.parse().unwrap()));
        let report = audit(&mut judge, &inputs, &options, &()).unwrap();
        let known = report.findings.iter().find(|finding| finding.property.id == "known").unwrap();
        known.suppressed.as_ref().map(ToString::to_string)
    };
    assert_eq!(reason("2026-06-30").as_deref(), Some("tried out"));
    assert_eq!(reason("2026-07-01"), None);
}

#[test]
fn unreadable_input_is_a_fault_empty_an_error() {
    let mut judge = usual_judge();
    let empty = [Input::from_bytes("log", &b"\n\n"[..])];
    assert!(matches!(audit(&mut judge, &empty, &options(), &()), Err(AuditError::NoEvents { .. })));
    let half = [Input::from_bytes("log", format!("{LOG}{{\"kind\":\n").into_bytes())];
    let report = audit(&mut judge, &half, &options(), &()).unwrap();
    assert_eq!(report.findings.len(), 3);
    assert_eq!(report.faults.len(), 1);
    assert_eq!(report.faults[0].line, 5);
}

#[test]
fn as_of_reports_deadlines_passed_in_silence() {
    let mut judge = usual_judge();
    let log = r#"{"session":"s","time":"2026-05-01T10:00:00Z","kind":"user_message","text":"hello"}"#;
    let inputs = [Input::from_bytes("log", log.as_bytes())];
    let mut late = |as_of: &str| {
        let as_of = lictor_event::parse_time(as_of);
        let report = audit(&mut judge, &inputs, &options().as_of(as_of), &()).unwrap();
        report.findings.iter().any(|finding| finding.property.id == "soon")
    };
    assert!(!late("2026-05-01T10:00:04Z"));
    assert!(late("2026-05-01T10:00:06Z"));
}

#[test]
fn unexercised_properties_are_named_with_nearest_tool() {
    let mut judge = judge(
        r#"
lictor: 1
name: shop
properties:
  - id: refunds-approved
    says: A refund needs an approval.
    formula: always (tool_call("refund") implies once approval)
  - id: reads-first
    says: An order is read before it is changed.
    formula: always (tool_call("refund_order") implies once tool_call("get_order"))
  - id: ends-with-answer
    says: The agent answers.
    formula: eventually assistant_message
"#,
    );
    let lines = [
        r#"{"session":"a","kind":"approval","id":"1"}"#,
        r#"{"session":"a","kind":"tool_call","tool":"get_order"}"#,
        r#"{"session":"a","kind":"tool_call","tool":"refund_order"}"#,
        r#"{"session":"b","kind":"tool_call","tool":"send_email"}"#,
    ]
    .map(str::to_owned);
    for threads in [1, 2] {
        let options = options().threads(Some(threads));
        let coverage = audit(&mut judge, &[input("log.jsonl", &lines)], &options, &()).unwrap().coverage;
        let unexercised: Vec<&str> = coverage.unexercised().map(|gap| gap.property.id.as_str()).collect();
        assert_eq!(unexercised, ["refunds-approved"], "an approval alone puts it to no test");
        assert_eq!(coverage.silent_sessions, 1, "the session b");
        let [missing] = &coverage.gaps[0].missing[..] else { panic!("{:?}", coverage.gaps) };
        assert_eq!(missing.fact, r#"tool_call("refund")"#);
        assert_eq!(missing.nearest.as_deref(), Some("refund_order"));
    }
}

#[test]
fn sayings_of_idle_sessions_are_spooled() {
    let mut judge = judge(
        r#"
lictor: 1
name: provenance
properties:
  - id: payees-come-from-the-user
    says: The agent pays only payees that the user named.
    formula: always !argument_from("payee", "tool")
"#,
    );
    // Together more than any thread keeps in memory, each less than a session may keep.
    const SESSIONS: usize = 70;
    let filler = "lorem ipsum ".repeat(40_000);
    let says = |number: usize, kind: &str, text: &str| {
        format!(r#"{{"session":"s{number}","kind":"{kind}","text":"{text} {filler}"}}"#)
    };
    let mut lines: Vec<String> =
        (0..SESSIONS).map(|number| says(number, "user_message", &format!("pay ann{number}"))).collect();
    lines.extend((0..SESSIONS).map(|number| says(number, "tool_result", &format!("pay eve{number}"))));
    let pays = |number: usize| {
        let payee = if number.is_multiple_of(2) { format!("ann{number}") } else { format!("eve{number}") };
        format!(r#"{{"session":"s{number}","kind":"tool_call","tool":"pay","args":{{"payee":"{payee}"}}}}"#)
    };
    lines.extend((0..SESSIONS).map(pays));
    let options = options().threads(Some(1));
    let report = audit(&mut judge, &[input("log.jsonl", &lines)], &options, &()).unwrap();
    let violated: Vec<&str> = report.findings.iter().map(|finding| finding.session.as_str()).collect();
    let expected: Vec<String> =
        (0..SESSIONS).filter(|number| !number.is_multiple_of(2)).map(|number| format!("s{number}")).collect();
    assert_eq!(violated, expected);
}

#[test]
fn page_of_many_sessions_is_bounded() {
    let mut judge = usual_judge();
    let lines: Vec<String> =
        (0..12_000).map(|number| format!(r#"{{"session":"s{number}","kind":"tool_call","tool":"pay"}}"#)).collect();
    let report = audit(&mut judge, &[input("log.jsonl", &lines)], &options(), &()).unwrap();
    assert!(report.findings.len() > 5_000, "{}", report.findings.len());
    let mut page = Vec::new();
    lictor_audit::report::html::write(&report, &mut page).unwrap();
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    let page = String::from_utf8(page).unwrap();
    assert!(
        page.contains("This page lists 5,000 of 12,000 findings, the gravest first, and 10,000 of 12,000 sessions.")
    );
    let mut text = Vec::new();
    lictor_audit::report::text::write(&report, Default::default(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("11,995 more findings in 11,995 sessions not shown"), "{}", &text[text.len() - 900..]);
}

#[test]
fn reset_property_owes_again_at_end() {
    let policy = r#"
lictor: 1
name: test
properties:
  - {id: closed, formula: 'always (tool_call("open") -> next (!tool_call("open") until tool_call("close")))', after: reset}
  - {id: ready, formula: '!tool_call("open") until tool_call("ready")', after: reset}
"#;
    let calls = |tools: &[&str]| -> Vec<String> {
        tools.iter().map(|tool| format!(r#"{{"session":"s","kind":"tool_call","tool":"{tool}"}}"#)).collect()
    };
    let cases: [(&[&str], &[u32], u32); 4] = [
        (&["ready", "open", "close"], &[], 0),
        (&["ready", "open", "open"], &[3], 1),
        (&["ready", "open", "open", "close"], &[3], 1),
        (&["ready", "open", "open", "open"], &[3, 4], 2),
    ];
    for (tools, steps, count) in cases {
        let report = audit(&mut judge(policy), &[input("log", &calls(tools))], &options(), &()).unwrap();
        let of_property = report.findings.iter().filter(|finding| &*finding.property.id == "closed");
        assert_eq!(of_property.map(|finding| finding.step).collect::<Vec<_>>(), steps, "{tools:?}");
        assert_eq!(report.sessions[0].outcomes[0].violations, count, "{tools:?}");
    }
    // A property that asks for something before any event does not ask for it twice.
    let report = audit(&mut judge(policy), &[input("log", &calls(&["open"]))], &options(), &()).unwrap();
    assert_eq!(report.findings.iter().filter(|finding| &*finding.property.id == "ready").count(), 1);
}

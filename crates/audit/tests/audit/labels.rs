//! Labelers that an audit asks, and the labels on which its findings rest.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lictor_audit::report::{Report, text};
use lictor_audit::{AnswerBook, AuditOptions, audit};
use lictor_decode::input::Input;
use lictor_event::labeler::{Inquiry, Labeler, Labelers};
use lictor_event::{Answer, AnswerValue};
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: labels
facts:
  approved: {ask: the user approves, of: user_message}
  complains: {ask: the user complains, of: user_message}
properties:
  - {id: approved-first, formula: 'always (tool_call("pay") implies once approved)'}
  - {id: last-word, formula: 'always (tool_call("pay") implies (not complains since approved))', after: latch}
  - {id: answered, formula: 'always (complains implies eventually tool_call("pay"))', after: reset}
"#;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Judge::new(&loaded.policy).unwrap()
}

fn run(policy: &str, log: &str, options: &AuditOptions) -> Report {
    audit(&mut judge(policy), &[Input::from_bytes("log.jsonl", log.as_bytes().to_vec())], options, &()).unwrap()
}

/// A user message with what is said of both facts, or a payment.
#[derive(Clone, Copy)]
enum Step {
    Message([bool; 2]),
    Payment,
}

const FACTS: [&str; 2] = ["approved", "complains"];

/// Returns a log of sessions, with one label of every session flipped if it has that many.
fn write_log(sessions: &[Vec<Step>], flipped: Option<usize>) -> String {
    let mut log = String::new();
    for (session, steps) in sessions.iter().enumerate() {
        let mut label = 0;
        for step in steps {
            let line = match step {
                Step::Payment => r#""kind":"tool_call","tool":"pay","args":{}"#.to_owned(),
                Step::Message(says) => {
                    let mut says = *says;
                    for said in &mut says {
                        *said ^= Some(label) == flipped;
                        label += 1;
                    }
                    let labels = FACTS.iter().zip(says).map(|(fact, says)| match says {
                        true => format!("{fact:?}"),
                        false => format!("\"!{fact}\""),
                    });
                    format!(r#""kind":"user_message","labels":[{}]"#, labels.collect::<Vec<_>>().join(","))
                }
            };
            writeln!(log, r#"{{"session":"s{session}",{line}}}"#).unwrap();
        }
    }
    log
}

/// Numbers that are the same everywhere (xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Returns how the first property ends in a log with these labels before a payment.
fn end_of_approved_first(members: &str) -> String {
    let log =
        format!("{{\"kind\":\"user_message\",{members}}}\n{{\"kind\":\"tool_call\",\"tool\":\"pay\",\"args\":{{}}}}\n");
    let report = run(POLICY, &log, &AuditOptions::default());
    let violated = report.findings.iter().any(|finding| finding.property.id == "approved-first");
    let unknown = report.coverage.unknown.iter().any(|unknown| unknown.fact == "approved");
    format!("violated {violated}, unknown {unknown}")
}

#[test]
fn label_and_its_denial_are_unknown() {
    let cases = [
        (r#""labels":["approved"]"#, "violated false, unknown false"),
        (r#""labels":["!approved"]"#, "violated true, unknown false"),
        (r#""labels":["approved","!approved"]"#, "violated false, unknown true"),
        (r#""labels":["!approved"],"facts":["approved"]"#, "violated false, unknown true"),
    ];
    for (members, expected) in cases {
        assert_eq!(end_of_approved_first(members), expected, "{members}");
    }
}

#[test]
fn label_in_other_letter_case_is_hinted() {
    let policy =
        "lictor: 1\nname: x\nproperties:\n  - {id: ok, formula: 'always (tool_call(\"pay\") -> once approved)'}\n";
    let log = |labels: &str| {
        format!("{{\"kind\":\"user_message\",\"labels\":[{labels}]}}\n{{\"kind\":\"tool_call\",\"tool\":\"pay\"}}\n")
    };
    let written = |policy: &str, labels: &str| {
        let mut out = Vec::new();
        let report = run(policy, &log(labels), &AuditOptions::default());
        text::write(&report, text::TerminalStyle::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = written(policy, r#""Approved""#);
    assert!(shown.contains("`approved` never occurs; the log has `Approved`"), "{shown}");
    let both = written(policy, r#""approved","Approved(1)""#);
    assert!(both.contains("the log has `Approved`, the policy asks for `approved`"), "{both}");
    let asked = written(POLICY, r#""!Approved""#);
    assert!(asked.contains("the log has `Approved`, the policy asks for `approved`"), "{asked}");
    assert!(!written(policy, r#""approved""#).contains("the log has"));
}

#[test]
fn noise_names_exactly_the_turning_labels() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let sessions: Vec<Vec<Step>> = (0..1000)
        .map(|_| {
            let length = 1 + numbers.below(7);
            let step = |numbers: &mut Numbers| match numbers.below(3) {
                0 => Step::Payment,
                _ => Step::Message([numbers.below(2) == 0, numbers.below(3) == 0]),
            };
            (0..length).map(|_| step(&mut numbers)).collect()
        })
        .collect();
    let report = run(POLICY, &write_log(&sessions, None), &AuditOptions::default().noise(true));
    assert!(report.findings.len() > 500, "{}", report.findings.len());
    assert!(report.noise.iter().all(|it| it.is_complete));
    let named: BTreeMap<&str, BTreeSet<(u32, &str)>> = report
        .noise
        .iter()
        .map(|it| (&*it.fingerprint, it.turning.iter().map(|label| (label.step, label.fact.as_str())).collect()))
        .collect();
    let mut expected: BTreeMap<&str, BTreeSet<(u32, &str)>> =
        report.findings.iter().map(|finding| (&*finding.fingerprint, BTreeSet::new())).collect();
    // Flip the same label of every session at once: sessions do not depend on each other.
    for label in 0..14 {
        let again = run(POLICY, &write_log(&sessions, Some(label)), &AuditOptions::default());
        let left: BTreeSet<&str> = again.findings.iter().map(|finding| &*finding.fingerprint).collect();
        for finding in report.findings.iter().filter(|finding| !left.contains(&*finding.fingerprint)) {
            let session: usize = finding.session[1..].parse().unwrap();
            let messages = sessions[session].iter().enumerate().filter(|(_, step)| matches!(step, Step::Message(_)));
            let (place, _) = messages.clone().nth(label / 2).unwrap();
            expected.get_mut(&*finding.fingerprint).unwrap().insert((place as u32 + 1, FACTS[label % 2]));
        }
    }
    assert_eq!(named, expected);
}

/// Says yes to texts with "yes", and counts how often it is asked.
#[derive(Default)]
struct CountingLabeler(AtomicUsize);

impl Labeler for CountingLabeler {
    fn version(&self) -> &str {
        "counting@1"
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.0.fetch_add(inquiry.questions.len(), Ordering::Relaxed);
        let is_yes = inquiry.event.text.as_deref().is_some_and(|text| text.contains("yes"));
        let says = if is_yes { AnswerValue::Yes } else { AnswerValue::No };
        inquiry.questions.iter().map(|question| Answer::new(question.fact.clone(), says)).collect()
    }
}

const ASKING: &str = r#"
lictor: 1
name: asking
labelers: {counting: {service: "http://127.0.0.1:9/label"}}
facts: {approved: {ask: the user approves, of: user_message, by: counting}}
properties:
  - {id: approved-first, formula: 'always (tool_call("pay") implies once approved)', after: latch}
"#;

const LOG: &str = r#"{"session":"a","kind":"user_message","text":"yes"}
{"session":"a","kind":"user_message","text":"yes, go on"}
{"session":"a","kind":"tool_call","tool":"pay","args":{}}
{"session":"b","kind":"user_message","text":"no"}
{"session":"b","kind":"tool_call","tool":"pay","args":{}}
{"session":"b","kind":"user_message","text":"yes, now"}
"#;

#[test]
fn audit_asks_what_can_change_a_verdict() {
    let labeler = Arc::new(CountingLabeler::default());
    let labelers = Labelers::new([("counting".into(), Arc::clone(&labeler) as _)]);
    let book = Arc::new(AnswerBook::new(labelers));
    let report = run(ASKING, LOG, &AuditOptions::default().answers(Some(Arc::clone(&book))));
    let broken: Vec<&str> = report.findings.iter().map(|finding| finding.session.as_str()).collect();
    assert_eq!(broken, ["b"]);
    // Once approved, it stays so; once it is violated for good, nothing helps.
    assert_eq!(labeler.0.load(Ordering::Relaxed), 2);
    assert_eq!((book.asked_events(), book.answers().len()), (2, 2));
}

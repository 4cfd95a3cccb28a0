//! Audits that are stopped, and logs whose sessions are interleaved.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};

use lictor_audit::report::{Report, text};
use lictor_audit::{AuditOptions, Progress, audit};
use lictor_decode::input::{Input, InputLimits};
use lictor_judge::Judge;
use lictor_logic::Verdict;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: test
properties:
  - {id: looked, formula: 'always (tool_call("refund") implies once tool_call("look"))', after: each}
  - {id: answered, formula: 'always (user_message implies eventually assistant_message)'}
"#;

/// The messages of a session; it refunds without looking, or never answers, or does neither.
fn messages(session: usize) -> Vec<String> {
    let name = format!("s{session}");
    let tool = if session.is_multiple_of(3) { "other" } else { "look" };
    let call = |tool: &str| format!(r#"{{"session":"{name}","kind":"tool_call","id":"{name}{tool}","tool":"{tool}"}}"#);
    let said = |kind: &str| format!(r#"{{"session":"{name}","kind":"{kind}","text":"hello {name}"}}"#);
    let last = if session.is_multiple_of(5) { "user_message" } else { "assistant_message" };
    vec![said("user_message"), call(tool), call("refund"), said(last)]
}

fn judge_lines(lines: &[String], progress: &dyn Progress) -> Report {
    let policy = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap().policy;
    let input = Input::from_bytes("log.jsonl", (lines.join("\n") + "\n").into_bytes());
    let options = AuditOptions::default().threads(Some(1)).limits(InputLimits::default().chunk(1000));
    audit(&mut Judge::new(&policy).unwrap(), &[input], &options, progress).unwrap()
}

/// Stops when the first events are judged, or the first sessions explained.
#[derive(Default)]
struct Stop {
    at_explaining: bool,
    is_stopped: AtomicBool,
}

impl Progress for Stop {
    fn advanced(&self, _bytes: u64, events: u64) {
        self.is_stopped.fetch_or(!self.at_explaining && events > 0, Ordering::Relaxed);
    }

    fn explained(&self, sessions: usize, _all: usize) {
        self.is_stopped.fetch_or(self.at_explaining && sessions > 0, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// The findings without their lines, in the order of their sessions.
fn describe_findings(report: &Report) -> Vec<String> {
    let describe = |finding: &lictor_judge::finding::Finding| {
        let witness: Vec<_> = finding.witness.iter().map(|event| (event.step, &event.present, &event.absent)).collect();
        format!("{} {} {} {witness:?}", finding.session, finding.property.id, finding.fingerprint)
    };
    let mut described: Vec<String> = report.findings.iter().map(describe).collect();
    described.sort();
    described
}

#[test]
fn stopped_audit_reports_what_is_judged() {
    let lines: Vec<String> = (0..900).flat_map(messages).collect();
    let whole = judge_lines(&lines, &());
    let report = judge_lines(&lines, &Stop::default());
    let interruption = report.interruption.unwrap();
    assert!(interruption.has_unread_logs && interruption.unexplained == 0, "{interruption:?}");
    assert!(report.sessions.len() < 600 && !report.findings.is_empty(), "{} sessions", report.sessions.len());
    assert!(report.findings.iter().all(|finding| finding.property.id == "looked"), "no session has ended");
    let inconclusive = |session: &lictor_audit::report::SessionReport| session.outcomes[1].verdict;
    assert!(report.sessions.iter().all(|session| inconclusive(session) == Verdict::Inconclusive));
    let all = describe_findings(&whole);
    assert!(describe_findings(&report).iter().all(|finding| all.contains(finding)));
    let mut words = Vec::new();
    text::write(&report, text::TerminalStyle::default(), &mut words).unwrap();
    assert!(String::from_utf8(words).unwrap().contains("the audit was stopped"));
}

#[test]
fn stopped_audit_counts_sessions_without_findings() {
    let lines: Vec<String> = (0..900).flat_map(messages).collect();
    let report = judge_lines(&lines, &Stop { at_explaining: true, ..Stop::default() });
    let interruption = report.interruption.unwrap();
    assert!(!interruption.has_unread_logs && interruption.unexplained > 0, "{interruption:?}");
    let explained = report.findings.iter().map(|finding| &finding.session).collect::<std::collections::HashSet<_>>();
    let broken = report.sessions.iter().filter(|session| session.verdict() == Verdict::Violated).count();
    assert_eq!(explained.len() + interruption.unexplained, broken);
}

#[test]
fn interleaved_sessions_have_findings_of_sorted_ones() {
    let sorted: Vec<String> = (0..60).flat_map(messages).collect();
    let interleaved: Vec<String> = (0..4).flat_map(|at| (0..60).rev().map(move |s| messages(s).remove(at))).collect();
    let (one, other) = (judge_lines(&sorted, &()), judge_lines(&interleaved, &()));
    assert_eq!((one.sessions.len(), describe_findings(&one).len()), (60, 32));
    assert_eq!(describe_findings(&one), describe_findings(&other));
}

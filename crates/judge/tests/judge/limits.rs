//! Formulas that exceed the limit of work: unknown in their session from there on, as the property says.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::Event;
use lictor_event::record::LogRecord;
use lictor_judge::Judge;
use lictor_judge::decision::{Action, Cause};
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_logic::{CacheLimits, Verdict};
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r"
lictor: 1
name: p
properties:
  - id: pairs
    formula: forall x, y. always ((arg(x) & val(y) & x != y) implies eventually done(x, y))
    respond: block
    unknown: UNKNOWN
  - {id: quiet, formula: always !alarm, respond: block}
";

/// The limit of the tests: some events with twenty values each.
const MAX_WORK: u64 = 300_000;

fn judge(unknown: &str) -> Judge {
    let text = POLICY.replace("UNKNOWN", unknown);
    let loaded = Policy::parse(&text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let mut limits = CacheLimits::DEFAULT;
    limits.work = MAX_WORK;
    Judge::with_limits(&loaded.policy, limits).unwrap()
}

fn event(session: &str, step: usize, more: &str) -> Event {
    let numbers = step * 20..(step + 1) * 20;
    let facts: Vec<String> = numbers.map(|number| format!(r#""arg({number})","val({number})""#)).collect();
    let line = format!(r#"{{"session":"{session}","facts":[{}{more}]}}"#, facts.join(","));
    let value = lictor_json::parse_str(&line).unwrap();
    LogRecord { value, file: "-".into(), line: 1, index: 0 }.native_event().unwrap()
}

#[test]
fn formula_over_limit_is_unknown_in_its_session() {
    let mut guard = Guard::new(judge("ask"), GuardOptions::default());
    let mut doubts = Vec::new();
    for step in 0..12 {
        let decision = guard.decide(event("long", step, ""), None);
        assert!(decision.objections.iter().all(|objection| matches!(objection.why, Cause::Unknown)), "{decision:?}");
        doubts.push(!decision.objections.is_empty());
    }
    let first = doubts.iter().position(|doubt| *doubt).unwrap();
    assert!(first > 1 && doubts[first..].iter().all(|doubt| *doubt), "{doubts:?}");
    assert_eq!(guard.decide(event("short", 0, ""), None).action, Action::Forward, "another session is not affected");
    let alarm = guard.decide(event("short", 1, r#","alarm""#), None);
    assert_eq!(alarm.action, Action::Block, "another property is not affected");
}

#[test]
fn formula_over_limit_stays_unknown_after_restart() {
    let mut judge = judge("observe");
    let mut session = Session::new(&mut judge, "s");
    let mut first = [None, None];
    for step in 0..12 {
        let seen = session.propose(&mut judge, &event("s", step, "")).unwrap().doubts.len();
        first[0] = first[0].or((seen > 0).then_some(step));
        session.observe(&mut judge, &event("s", step, "")).unwrap();
    }
    let mut judge = self::judge("observe");
    let mut restarted = Session::new(&mut judge, "s");
    for step in 0..12 {
        let saved = restarted.save(&judge, 0).unwrap();
        judge = self::judge("observe");
        restarted = Session::restore(&mut judge, &saved).unwrap();
        let seen = restarted.propose(&mut judge, &event("s", step, "")).unwrap().doubts.len();
        first[1] = first[1].or((seen > 0).then_some(step));
        restarted.observe(&mut judge, &event("s", step, "")).unwrap();
    }
    assert!(first[0].is_some() && first[0] == first[1], "{first:?}");
    let summary = restarted.report_at_end(&mut judge).unwrap();
    assert_eq!(summary.properties[0].verdict, Verdict::Inconclusive);
}

#[test]
fn policy_raises_limit_of_formulas() {
    let text = format!("{}limits: {{work: 50000000}}\n", POLICY.replace("UNKNOWN", "ask"));
    let loaded = Policy::parse(&text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let mut limits = CacheLimits::DEFAULT;
    limits.work = MAX_WORK;
    let mut guard = Guard::new(Judge::with_limits(&loaded.policy, limits).unwrap(), GuardOptions::default());
    let decisions: Vec<_> = (0..8).map(|step| guard.decide(event("long", step, ""), None).action).collect();
    assert!(decisions.iter().all(|action| *action == Action::Forward), "{decisions:?}");
    let refused = Policy::parse(&text.replace("50000000", "5"), "policy.yaml", &FileResolver).unwrap_err();
    assert!(refused.to_string().contains("can only raise the usual limit"), "{refused}");
}

//! Properties with a risk, and the questions that labelers are asked.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, LazyLock, Mutex};

use lictor_event::labeler::{Inquiry, Labeler, Labelers};
use lictor_event::{Answer, AnswerValue, Event, Kind};
use lictor_judge::Judge;
use lictor_judge::decision::{Cause, Decision};
use lictor_judge::guard::{Action, Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_logic::{Fact, Verdict};
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;

const POLICY: &str = r#"
lictor: 1
name: threats
labelers:
  small: {log: true, calibration: small.json}
facts:
  threatens: {ask: the user threatens somebody, of: user_message, by: small, window: 1}
properties:
  - id: no-payment-after-threat
    formula: always (tool_call("pay") -> !once threatens)
    respond: block
    unknown: ask
    risk: 0.2
    after: latch
"#;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Judge::new(&loaded.policy).unwrap()
}

/// Compiled once; every test judges by a fork.
static JUDGE: LazyLock<Judge> = LazyLock::new(|| judge(POLICY));

/// The same policy without a risk.
static PLAIN: LazyLock<Judge> = LazyLock::new(|| judge(&POLICY.replace("    risk: 0.2\n", "")));

fn guard() -> Guard {
    Guard::new(JUDGE.fork(), GuardOptions::default())
}

fn threatens(says: AnswerValue, chance: Option<f64>) -> Answer {
    Answer { chance, ..Answer::new(Fact::new("threatens", []), says).by("small@1") }
}

fn message(answers: Vec<Answer>) -> Event {
    Event { answers, text: Some("pay me, or else".into()), ..Event::new(Kind::UserMessage) }
}

fn payment() -> Event {
    Event { tool: Some("pay".into()), id: Some("c1".into()), ..Event::new(Kind::ToolCall) }
}

fn risk_of(decision: &Decision) -> Option<(f64, f64)> {
    let Cause::Violation(finding) = &decision.objections.first()?.why else { return None };
    finding.risk.map(|risk| (risk.least.to_f64(), risk.most.to_f64()))
}

#[test]
fn risk_adds_up_over_the_session() {
    let mut guard = guard();
    guard.decide(message(vec![threatens(AnswerValue::No, Some(0.125))]), None);
    assert_eq!(guard.decide(payment(), None).action, Action::Forward);
    guard.decide(message(vec![threatens(AnswerValue::No, Some(0.125))]), None);
    // Of the worlds without a violation so far, one in eight has a threat now.
    assert_eq!(guard.decide(payment(), None).action, Action::Forward);
    guard.decide(message(vec![threatens(AnswerValue::No, Some(0.25))]), None);
    let decision = guard.decide(payment(), None);
    assert_eq!(decision.action, Action::Block);
    assert_eq!(risk_of(&decision), Some((0.25, 0.25)));
}

#[test]
fn latched_risk_is_reported_once() {
    let mut judge = JUDGE.fork();
    let mut session = Session::new(&mut judge, "s");
    session.observe(&mut judge, &message(vec![threatens(AnswerValue::Yes, Some(0.5))])).unwrap();
    let found: Vec<usize> = (0..3).map(|_| session.observe(&mut judge, &payment()).unwrap().len()).collect();
    assert_eq!(found, [1, 0, 0]);
}

#[test]
fn unlikely_yes_is_no_violation() {
    let mut guard = guard();
    guard.decide(message(vec![threatens(AnswerValue::Yes, Some(0.1))]), None);
    assert_eq!(guard.decide(payment(), None).action, Action::Forward);
}

#[test]
fn risk_without_a_chance_is_unknown() {
    for answers in [
        vec![],
        vec![threatens(AnswerValue::Unclear, None)],
        vec![threatens(AnswerValue::Failed, None)],
        // Two labelers that disagree about the chance.
        vec![threatens(AnswerValue::Yes, Some(0.9)), threatens(AnswerValue::No, Some(0.1))],
    ] {
        let mut guard = guard();
        guard.decide(message(answers.clone()), None);
        assert_eq!(guard.decide(payment(), None).action, Action::Ask, "{answers:?}");
    }
}

#[test]
fn risk_counts_at_the_end_of_a_session() {
    const OWED: &str = r#"
lictor: 1
labelers: {small: {log: true, calibration: small.json}}
facts: {complains: {ask: the user complains, of: user_message, by: small}}
properties:
  - {id: answered, formula: 'always (complains -> eventually tool_call("apologise"))', risk: 0.5}
"#;
    let complains = |chance: f64| Answer {
        chance: Some(chance),
        ..Answer::new(Fact::new("complains", []), AnswerValue::No).by("small")
    };
    for (chance, expected) in [(0.25, Verdict::Satisfied), (0.75, Verdict::Violated)] {
        let mut judge = judge(OWED);
        let mut session = Session::new(&mut judge, "s");
        session.observe(&mut judge, &message(vec![complains(chance)])).unwrap();
        assert_eq!(session.report_at_end(&mut judge).unwrap().verdict, expected);
        assert_eq!(session.owed(&mut judge).unwrap().len(), usize::from(expected == Verdict::Violated));
    }
}

fn drifting(says: AnswerValue) -> Answer {
    threatens(says, None).by("small@1").because("drift")
}

/// Drift is no reason to let a call pass: the property's `unknown` decides.
#[test]
fn drift_leaves_risk_unknown() {
    for says in [AnswerValue::No, AnswerValue::Yes] {
        let mut guard = guard();
        guard.decide(message(vec![drifting(says)]), None);
        let decision = guard.decide(payment(), None);
        assert_eq!((decision.action, risk_of(&decision)), (Action::Ask, None), "{says:?}");
    }
}

#[test]
fn drift_drops_no_risk_of_earlier_answers() {
    for (likely, says, action) in [(0.9, AnswerValue::No, Action::Block), (0.05, AnswerValue::Yes, Action::Ask)] {
        let mut guard = guard();
        guard.decide(message(vec![threatens(says, Some(likely))]), None);
        guard.decide(message(vec![drifting(AnswerValue::No)]), None);
        assert_eq!(guard.decide(payment(), None).action, action, "{likely}");
    }
}

#[test]
fn drift_of_a_session_survives_saving() {
    let (mut judge, mut other) = (JUDGE.fork(), JUDGE.fork());
    let mut session = Session::new(&mut judge, "s");
    session.observe(&mut judge, &message(vec![threatens(AnswerValue::No, Some(0.9))])).unwrap();
    session.observe(&mut judge, &message(vec![drifting(AnswerValue::No)])).unwrap();
    let saved = serde_json::to_string(&session.save(&judge, 0).unwrap()).unwrap();
    let mut restored = Session::restore(&mut other, &serde_json::from_str(&saved).unwrap()).unwrap();
    let found = restored.observe(&mut other, &payment()).unwrap();
    assert_eq!(found[0].risk.map(|risk| (risk.least.to_f64(), risk.most.to_f64())), Some((0.9, 1.0)));
}

#[test]
fn decision_names_labeler_that_failed() {
    let mut guard = guard();
    let failed = threatens(AnswerValue::Failed, None).by("small@1").because("timeout");
    let answers = vec![failed, drifting(AnswerValue::Yes), threatens(AnswerValue::No, Some(0.5))];
    let line = guard.decide(message(answers), None).line();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let expected = serde_json::json!([
        {"fact": "threatens", "says": "failed", "by": "small@1", "why": "timeout"},
        {"fact": "threatens", "says": "yes", "by": "small@1", "why": "drift"},
    ]);
    assert_eq!(line["doubts"], expected);
}

#[test]
fn risk_blames_binding_that_answers_do_not_prove() {
    const BOUND: &str = r#"
lictor: 1
labelers: {small: {log: true, calibration: small.json}}
facts: {threatens: {ask: the user threatens somebody, of: user_message, by: small}}
properties:
  - {id: calm, formula: 'forall t. always (tool_call(t) -> !once threatens)', risk: 0.2, after: each}
"#;
    let mut judge = judge(BOUND);
    let mut session = Session::new(&mut judge, "s");
    session.observe(&mut judge, &message(vec![threatens(AnswerValue::No, Some(0.5))])).unwrap();
    let findings = session.observe(&mut judge, &payment()).unwrap();
    let bound: Vec<String> =
        findings.iter().flat_map(|it| &it.binding).map(|(name, value)| format!("{name} {value}")).collect();
    assert_eq!(bound, ["t \"pay\""]);
}

#[test]
fn risk_names_answers_that_carry_it() {
    let mut judge = JUDGE.fork();
    let answer = |chance: f64| message(vec![threatens(AnswerValue::No, Some(chance)).by("small@1")]);
    let events = [answer(0.01), payment(), answer(0.5), answer(0.05), payment()];
    let mut session = Session::new(&mut judge, "s");
    let mut findings = Vec::new();
    for event in &events {
        findings.append(&mut session.observe(&mut judge, event).unwrap());
    }
    judge.add_grounds(&events, &mut findings);
    let note = findings[0].risk_note().unwrap();
    let grounds: Vec<(u32, f64)> = findings[0].grounds.iter().map(|it| (it.step, it.chance)).collect();
    assert_eq!(findings[0].step, 5);
    assert_eq!(grounds, [(3, 0.5), (4, 0.05)], "the first message adds next to nothing");
    assert!(
        note.ends_with("; rests on threatens at step 3 (small, 0.50), threatens at step 4 (small, 0.05)"),
        "{note}"
    );
}

/// Answers every question with the same chance, and remembers what it was asked.
#[derive(Default)]
struct ScriptedLabeler(Mutex<Vec<(usize, usize)>>);

impl Labeler for ScriptedLabeler {
    fn version(&self) -> &str {
        "small@1"
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        self.0.lock().unwrap().push((inquiry.questions.len(), inquiry.before.len()));
        let answer = || Answer { by: None, ..threatens(AnswerValue::Yes, Some(0.5)) };
        inquiry.questions.iter().map(|_| answer()).collect()
    }
}

#[test]
fn guard_asks_labelers_what_is_open() {
    let labeler = Arc::new(ScriptedLabeler::default());
    let mut guard = guard().labeled_by(Labelers::new([("small".into(), Arc::clone(&labeler) as _)]));
    let decision = guard.decide(message(vec![]), None);
    assert_eq!(decision.event.answers[0].by.as_deref(), Some("small@1"));
    guard.decide(payment(), None);
    guard.decide(message(vec![]), None);
    // A question is asked once, and a payment has none.
    assert_eq!(*labeler.0.lock().unwrap(), [(1, 0), (1, 1)]);
    assert_eq!(risk_of(&guard.decide(payment(), None)), Some((0.75, 0.75)));
}

#[test]
fn log_cannot_answer_for_a_labeler() {
    let excuse = |by: Option<&str>| Answer { by: by.map(Into::into), ..threatens(AnswerValue::No, Some(0.0)) };
    for by in [None, Some("liar"), Some("small@1")] {
        let labeler = Arc::new(ScriptedLabeler::default());
        let mut guard = guard().labeled_by(Labelers::new([("small".into(), Arc::clone(&labeler) as _)]));
        guard.decide(message(vec![excuse(by)]), None);
        assert_ne!(guard.decide(payment(), None).action, Action::Forward, "{by:?}");
        assert_eq!(labeler.0.lock().unwrap().len(), 1, "{by:?}");
    }
}

fn script() -> impl Strategy<Value = Vec<(u8, f64)>> {
    let chance = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    proptest::collection::vec((0u8..4, chance), 1..12)
}

fn event_of((kind, chance): (u8, f64)) -> Event {
    match kind {
        0 => payment(),
        1 => message(vec![]),
        _ => message(vec![threatens(if chance > 0.5 { AnswerValue::Yes } else { AnswerValue::No }, Some(chance))]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn certain_chances_decide_like_plain_answers(script in script()) {
        let certain = |(kind, chance): (u8, f64)| (if kind == 1 { 0 } else { kind }, chance.round());
        let mut plain = Guard::new(PLAIN.fork(), GuardOptions::default());
        let mut guard = guard();
        for step in script.into_iter().map(certain) {
            let (expected, decided) = (plain.decide(event_of(step), None), guard.decide(event_of(step), None));
            prop_assert_eq!(expected.action, decided.action);
        }
    }

    #[test]
    fn saved_session_keeps_its_risks(script in script(), cut in 0usize..12) {
        let (mut judge, mut other) = (JUDGE.fork(), JUDGE.fork());
        let mut session = Session::new(&mut judge, "s");
        let mut moved = Session::new(&mut other, "s");
        for (place, step) in script.into_iter().enumerate() {
            if place == cut {
                let saved = serde_json::to_string(&moved.save(&other, 0).unwrap()).unwrap();
                moved = Session::restore(&mut other, &serde_json::from_str(&saved).unwrap()).unwrap();
            }
            let findings = session.observe(&mut judge, &event_of(step)).unwrap();
            let again = moved.observe(&mut other, &event_of(step)).unwrap();
            let risks = |found: &[lictor_judge::finding::Finding]| found.iter().map(|it| it.risk).collect::<Vec<_>>();
            prop_assert_eq!(risks(&findings), risks(&again));
        }
    }
}

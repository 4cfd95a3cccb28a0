//! Random models, budgets and sources of forecasts.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::{Outcome, World, call, text};

/// A possible answer of a model.
fn answer() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![
        1 => Just(None),
        1 => select(vec!["", "{", "[]", "{\"error\":{}}", "\u{0}", "{\"choices\":[]}"]).prop_map(|it| Some(Bytes::from(it))),
        2 => select(vec!["I do not plan.", "40", "[7]", "[{\"tool\":\"drop\"", "{}", ""]).prop_map(|said| Some(text(said))),
        4 => Just(Some(text(r#"[{"tool": "drop"}]"#))),
        6 => Just(Some(text("[]"))),
        3 => select(vec!["open_shell", "open_console", "list", "drop"]).prop_map(|tool| Some(call(tool))),
    ]
}

/// A budget, as the policy has it and as numbers.
#[derive(Clone, Debug)]
struct Budget {
    candidates: usize,
    samples: usize,
    session_calls: usize,
    hour_calls: Option<usize>,
    session_tokens: Option<u64>,
    seconds: Option<u64>,
}

impl Budget {
    fn write(&self) -> String {
        let Budget { candidates, samples, session_calls, .. } = self;
        let mut written = format!("candidates: {candidates}, samples: {samples}, session_calls: {session_calls}");
        self.hour_calls.iter().for_each(|calls| written += &format!(", hour_calls: {calls}"));
        self.session_tokens.iter().for_each(|tokens| written += &format!(", session_tokens: {tokens}"));
        self.seconds.iter().for_each(|seconds| written += &format!(", time: {seconds}s"));
        written
    }
}

fn budget() -> impl Strategy<Value = Budget> {
    let some = prop::option::of::<std::ops::Range<u64>>;
    let parts = (1..5usize, 1..30usize, prop_oneof![0..60usize, Just(1000)], some(0..80), some(0..900), some(1..9));
    parts.prop_map(|(candidates, samples, session_calls, hour_calls, session_tokens, seconds)| Budget {
        candidates,
        samples,
        session_calls,
        hour_calls: hour_calls.map(|calls| calls as usize),
        session_tokens,
        seconds,
    })
}

const SOURCES: [&str; 5] = [
    "by: [chain], chain: $CHAIN",
    "by: [sample]",
    "by: [chain, sample], chain: $CHAIN",
    "by: [sample], undecided: intervene",
    "by: [chain, sample, stated], chain: $CHAIN",
];

const WAYS: [&str; 4] = ["[resample]", "[inject, resample]", "[switch, resample], model: other", "[inject]"];

/// Checks that the record says what was done, and that nothing worse was taken.
fn check_record(outcome: &Outcome, reply: &Bytes) -> Result<(), TestCaseError> {
    let calls: usize = outcome.batches.iter().map(|batch| batch.requests.len()).sum();
    let is_candidate = outcome.batches.iter().flat_map(|batch| &batch.bodies).flatten().any(|it| *it == outcome.body);
    let Some(record) = &outcome.record else {
        prop_assert_eq!(calls, 0);
        prop_assert_eq!(&outcome.body, reply);
        return Ok(());
    };
    let tokens: u64 = outcome.batches.iter().map(crate::AskedBatch::tokens).sum();
    let elapsed: Duration = outcome.batches.iter().map(|batch| batch.elapsed).sum();
    prop_assert_eq!(&record["calls"], &json!(calls));
    prop_assert_eq!(&record["tokens"], &json!(tokens));
    prop_assert_eq!(&record["milliseconds"], &json!(elapsed.as_millis() as u64));
    let Some(taken) = record["taken"].as_u64() else {
        prop_assert_eq!(&outcome.body, reply);
        return Ok(());
    };
    prop_assert!(is_candidate);
    let risk = |value: &Value| (value["most"].as_f64().unwrap(), value["chance"].as_f64().unwrap());
    let before = risk(&record["original"]);
    let told = record.get("fresh").into_iter().chain([&record["candidates"][taken as usize]["risk"]]);
    for (most, chance) in told.map(risk) {
        prop_assert!(most < before.0 && chance <= before.1, "{:?}", record);
    }
    Ok(())
}

/// Checks that no call began after something of the budget was used up.
fn check_budget(budget: &Budget, outcomes: &[Outcome]) -> Result<(), TestCaseError> {
    let (mut calls, mut tokens) = (0, 0);
    for outcome in outcomes {
        let (mut own, mut elapsed) = (0, Duration::ZERO);
        for batch in &outcome.batches {
            prop_assert!(!batch.requests.is_empty());
            prop_assert!(budget.session_tokens.is_none_or(|most| tokens < most));
            prop_assert!(budget.seconds.is_none_or(|most| elapsed < Duration::from_secs(most)));
            own += batch.requests.len();
            tokens += batch.tokens();
            elapsed += batch.elapsed;
        }
        prop_assert!(own <= 2 * budget.candidates + 1 + budget.samples * (budget.candidates + 2));
        calls += own;
    }
    prop_assert!(calls <= budget.session_calls);
    prop_assert!(budget.hour_calls.is_none_or(|most| calls <= most));
    Ok(())
}

/// Returns the names of what ran out.
fn exhausted(record: &Map<String, Value>) -> Option<&str> {
    record.get("exhausted").and_then(Value::as_str)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_model_never_worsens_nor_overspends(
        budget in budget(),
        source in select(SOURCES.to_vec()),
        ways in select(WAYS.to_vec()),
        risk in select(vec![0.1, 0.3, 0.5, 0.9]),
        replies in prop::collection::vec(select(vec!["open_shell", "open_console", "drop", "list"]), 1..4),
        answers in prop::collection::vec((answer(), 0..3000u64), 1..40),
    ) {
        let written = budget.write();
        let mut world = World::new(&format!("{source}, within: 2, risk: {risk}, intervene: {ways}, {written}"));
        let mut next = answers.into_iter().cycle();
        let mut outcomes = Vec::new();
        for (number, tool) in replies.iter().enumerate() {
            let reply = call(tool);
            let outcome = world.play(number, &reply, || {
                next.next().map_or((None, Duration::ZERO), |(body, elapsed)| (body, Duration::from_millis(elapsed)))
            });
            check_record(&outcome, &reply)?;
            let names = [None, Some("calls"), Some("tokens"), Some("time")];
            prop_assert!(outcome.record.iter().all(|record| names.contains(&exhausted(record))));
            outcomes.push(outcome);
        }
        check_budget(&budget, &outcomes)?;
    }
}

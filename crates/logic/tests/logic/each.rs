//! `After::Each`: every position that violates `G f` is reported, for every binding that fails there.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{
    After, Arena, Atom, Ending, Fact, Facts, Formula, Moment, Monitor, MonitorSet, Term, Time, Value, Verdict, Witness,
    Word, evaluate,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::size::cases;

/// Formulas over the past of one position, with `x` free.
const BODIES: [&str; 14] = [
    "p(x) -> O q(x)",
    "p(x) -> !Y O q(x)",
    "p(x) & !r -> (!r S q(x))",
    "p(x) -> q(x)",
    "(p(x) | r) -> H !q(x)",
    "r -> O p(x)",
    "p(x) -> O[0,2] q(x)",
    "p(x) -> O[0,3s] q(x)",
    "p(x) -> !(O[1s,4s] r)",
    "!(p(x) & Y p(x))",
    "p(x) -> (q(x) T (q(x) | r))",
    "(Z r) -> !p(x)",
    "p(x) -> Y(!r S[0,2s] q(x))",
    "r -> !p(x)",
];

fn positions() -> impl Strategy<Value = Vec<(u8, u8)>> {
    // For each position, which of p(1) p(2) p(3) q(1) q(2) q(3) r hold, and how many seconds passed.
    prop::collection::vec((0u8..128, 0u8..3), 1..12)
}

fn trace(coded: &[(u8, u8)]) -> Vec<Facts> {
    let mut now = 0;
    let mut facts = Vec::new();
    for (bits, seconds) in coded {
        now += i64::from(*seconds);
        let mut known: Vec<Fact> = (0..6)
            .filter(|bit| bits >> bit & 1 == 1)
            .map(|bit| Fact::new(if bit < 3 { "p" } else { "q" }, [Value::Integer(i64::from(bit % 3) + 1)]))
            .collect();
        if bits >> 6 & 1 == 1 {
            known.push(Fact::new("r", []));
        }
        facts.push(Facts { time: Some(Time::from_seconds(now)), known, ..Facts::default() });
    }
    facts
}

/// The positions at which a closed formula about the past fails, by the definition alone.
fn find_failing(arena: &mut Arena, body: Formula, trace: &[Facts]) -> Vec<usize> {
    let mut places = Vec::new();
    for length in 1..=trace.len() {
        // `F(last & f)` on the prefix: f holds at its last position.
        let mut prefix = trace[..length].to_vec();
        prefix[length - 1].known.push(Fact::new("here", []));
        let here = arena.fact("here");
        let there = arena.implies(here, body);
        let always = arena.always(there);
        let word = Word { positions: &prefix, ending: Ending::Stops };
        if evaluate(arena, always, &word) == Some(false) {
            places.push(length);
        }
    }
    places
}

#[test]
fn after_each_reports_every_failing_position() {
    let mut runner = TestRunner::new(Config { cases: cases(1500) as u32, ..Config::default() });
    let strategy = (0..BODIES.len(), positions());
    runner
        .run(&strategy, |(body, coded)| {
            let trace = trace(&coded);
            let body = BODIES[body];
            // For every value of x, and for x as a value that never occurs.
            let mut expected: BTreeSet<(usize, Option<i64>)> = BTreeSet::new();
            for value in [1, 2, 3, 99] {
                let mut arena = Arena::new();
                let ground = body.replace("(x)", &format!("({value})"));
                let formula = arena.parse(&ground).unwrap();
                let value = (value != 99).then_some(value);
                expected.extend(find_failing(&mut arena, formula, &trace).into_iter().map(|place| (place, value)));
            }
            let mut arena = Arena::new();
            let formula = arena.parse(&format!("G forall x. ({body})")).unwrap();
            let mut monitors = MonitorSet::new();
            monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
            let mut trace_state = monitors.start();
            let mut reported = BTreeSet::new();
            for (place, facts) in trace.iter().enumerate() {
                let decided = monitors.step(&mut trace_state, facts).to_vec();
                for decided in decided.into_iter().filter(|decided| decided.verdict == Verdict::Violated) {
                    match decided.binding.as_deref() {
                        Some([Some(Value::Integer(value))]) => {
                            prop_assert!(reported.insert((place + 1, Some(*value))), "reported twice");
                        }
                        // All values not reported apart so far.
                        _ => {
                            reported.insert((place + 1, None));
                        }
                    }
                }
                // A value in the state of unseen ones is reported with them.
                for value in [1, 2, 3] {
                    let key = (place + 1, Some(value));
                    if expected.contains(&key) && !reported.contains(&key) {
                        prop_assert!(
                            reported.contains(&(place + 1, None)),
                            "{body}: {value} at {} of {trace:?}",
                            place + 1
                        );
                        reported.insert(key);
                    }
                }
            }
            prop_assert_eq!(reported, expected, "{} on {:?}", body, trace);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// Makes facts unknown, whether they hold or not, and returns the traces of all resolutions.
fn doubt(trace: &mut [Facts], doubtful: &[(usize, u8)]) -> Vec<Vec<Facts>> {
    let mut resolutions = vec![trace.to_vec()];
    for (place, fact) in doubtful {
        let place = place % trace.len();
        let fact = match fact % 7 {
            6 => Fact::new("r", []),
            bit => Fact::new(if bit < 3 { "p" } else { "q" }, [Value::Integer(i64::from(bit % 3) + 1)]),
        };
        let terms = fact.values.iter().cloned().map(Term::Value).collect();
        let atom = Atom { name: Arc::clone(&fact.name), terms };
        if trace[place].unknown.contains(&atom) {
            continue;
        }
        trace[place].known.retain(|known| *known != fact);
        trace[place].unknown.push(atom);
        for mut resolution in std::mem::take(&mut resolutions) {
            resolution[place].known.retain(|known| *known != fact);
            resolutions.push(resolution.clone());
            resolution[place].known.push(fact.clone());
            resolutions.push(resolution);
        }
    }
    resolutions
}

/// Unknown facts stay unknown, however long ago: a position is reported if every resolution violates it, and may break
/// if some does, independent of what other positions may have broken.
#[test]
fn after_each_keeps_every_resolution_of_unknowns() {
    let mut runner = TestRunner::new(Config { cases: cases(1200) as u32, ..Config::default() });
    let doubtful = prop::collection::vec((0usize..12, 0u8..7), 1..5);
    let strategy = (0..BODIES.len(), positions(), doubtful);
    let (certain, possible) = (Cell::new(0), Cell::new(0));
    runner
        .run(&strategy, |(body, coded, doubtful)| {
            let mut trace = trace(&coded);
            let resolutions = doubt(&mut trace, &doubtful);
            let body = BODIES[body];
            // For each value, how many resolutions fail at each position.
            let count = |value: i64| {
                let mut counts = vec![0; trace.len()];
                for resolution in &resolutions {
                    let mut arena = Arena::new();
                    let formula = arena.parse(&body.replace("(x)", &format!("({value})"))).unwrap();
                    for place in find_failing(&mut arena, formula, resolution) {
                        counts[place - 1] += 1;
                    }
                }
                counts
            };
            let counts = [1, 2, 3, 99].map(count);
            let follow = |text: &str, counts: &[Vec<usize>]| {
                let mut arena = Arena::new();
                let formula = arena.parse(text).unwrap();
                let mut monitors = MonitorSet::new();
                let id = monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
                let mut trace_state = monitors.start();
                for (place, facts) in trace.iter().enumerate() {
                    let may_break = counts.iter().any(|counts| counts[place] > 0);
                    let breaks = counts.iter().any(|counts| counts[place] == resolutions.len());
                    monitors.tick(&mut trace_state, Time(facts.time.unwrap().0 - 1));
                    let found = monitors.may_break(&trace_state, id, facts);
                    prop_assert_eq!(found, may_break, "{} may break at {} of {:?}", text, place + 1, trace);
                    let decided = monitors.step(&mut trace_state, facts);
                    let found = decided.iter().any(|decided| decided.verdict == Verdict::Violated);
                    prop_assert_eq!(found, breaks, "{} breaks at {} of {:?}", text, place + 1, trace);
                    certain.set(certain.get() + usize::from(breaks));
                    possible.set(possible.get() + usize::from(may_break && !breaks));
                }
                Ok(())
            };
            follow(&format!("G({})", body.replace("(x)", "(1)")), &counts[..1])?;
            follow(&format!("G forall x. ({body})"), &counts)
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert!(certain.get() > 400 && possible.get() > 400, "{certain:?} certain, {possible:?} possible");
}

#[test]
fn monitor_each_refuses_other_shapes() {
    for formula in ["F a", "G(a -> F b)", "a", "G a & G b", "exists x. G p(x)"] {
        let mut arena = Arena::new();
        let formula = arena.parse(formula).unwrap();
        assert!(Monitor::with_after(&arena, formula, After::Each).is_err());
    }
}

#[test]
fn later_violation_has_its_own_witness() {
    let mut arena = Arena::new();
    let formula = arena.parse("G forall s. (tells(s) -> !Y O erased(s))").unwrap();
    let fact = |name: &str, value: &str| Fact::new(name, [Value::text(value)]);
    let facts = [fact("erased", "a"), fact("tells", "a"), fact("erased", "b"), fact("tells", "b"), fact("tells", "a")];
    let trace: Vec<Moment> =
        facts.into_iter().map(|fact| Moment::Position(Facts { known: vec![fact], ..Facts::default() })).collect();
    let at = |entry: usize, value: &str| {
        let witness = Witness::find_at_last(&arena, formula, &trace[..=entry], &[("s".into(), Value::text(value))]);
        witness.map(|witness| witness.steps.iter().map(|step| step.position).collect::<Vec<_>>())
    };
    assert_eq!(at(4, "a"), Some(vec![1, 5]));
    assert_eq!(at(3, "b"), Some(vec![3, 4]));
    assert_eq!(at(4, "b"), None);
}

#[test]
fn residual_shows_no_excuse() {
    let mut arena = Arena::new();
    for (text, rest) in [
        ("G(pay -> O approved)", "G(pay -> O approved)"),
        ("G !pay", "G !pay"),
        ("forall x. G(pay(x) -> O approved(x))", "forall x. G(pay(x) -> O approved(x))"),
    ] {
        let formula = arena.parse(text).unwrap();
        let mut monitors = MonitorSet::new();
        let id = monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
        let mut trace_state = monitors.start();
        for _ in 0..2 {
            assert_eq!(monitors.residual(&mut trace_state, id).unwrap().to_string(), rest);
            monitors.step(&mut trace_state, &Facts::parse("pay(1)").unwrap());
        }
    }
}

/// A position before the clock of its trace happens at that clock, as in a step.
#[test]
fn may_break_never_goes_back_in_time() {
    let mut arena = Arena::new();
    let formula = arena.parse("G(p -> !(O[1s,4s] r))").unwrap();
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
    let mut trace_state = monitors.start();
    monitors.step(&mut trace_state, &Facts::parse("r").unwrap().with_time(Time::from_seconds(1)));
    monitors.tick(&mut trace_state, Time::from_seconds(2));
    let late = Facts::parse("p").unwrap().with_time(Time::from_seconds(1));
    assert!(monitors.may_break(&trace_state, id, &late));
    assert_eq!(monitors.step(&mut trace_state, &late).len(), 1);
}

//! Engines against the definition, on random formulas and traces.
//!
//! Every engine that gives verdicts is one of the `configurations` and judges the same pairs. A disagreement is made
//! small and shown with the number of its pair. `LICTOR_DIFFERENTIAL_PAIRS` multiplies the number of these pairs for a
//! long run, and `LICTOR_CASES` that of the pairs of the other tests.

mod belief;
mod belief_bindings;
mod catch_up;
mod generate;
mod influence;
mod may_break;
mod missing;
mod relevance;
mod replay;
mod roles;
mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lictor_logic::{
    Arena, Check, Ending, Fact, Facts, Moment, Monitor, MonitorId, MonitorSet, Span, Spelling, Time, TraceState, Value,
    Witness, Word, check as proof, evaluate,
};

use crate::support::claim::{Claim, Effort, Engine, collect_claims, disprove};
use crate::support::engine::{configurations, limited_resolutions};
use crate::support::oracle::{Oracle, Prefix};
use crate::support::random::Random;
use crate::support::size::{cases, pairs};
use crate::support::trace::Entry;
use generate::{Fragment, Pair, generate};
use replay::{DEFINITION, HINDSIGHT, KLEENE};

impl Fragment {
    /// How hard to look; where bounds in time or quantifiers interact an engine may be late, but never wrong.
    fn effort(self) -> Effort {
        match self {
            Fragment::Future | Fragment::Past | Fragment::Mixed | Fragment::Steps | Fragment::Unknown => {
                Effort { absent: 500, present: 60_000 }
            }
            Fragment::Timed | Fragment::Quantified | Fragment::Ordered => Effort { absent: 300, present: 0 },
            Fragment::Dense => Effort { absent: 300, present: 0 },
            Fragment::Everything => Effort { absent: 100, present: 0 },
        }
    }
}

/// Returns the claims of an engine about a pair; none if it panics.
fn try_claims(engine: &dyn Engine, pair: &Pair) -> Option<Vec<Claim>> {
    catch_unwind(AssertUnwindSafe(|| collect_claims(engine, &pair.arena, pair.f, &pair.trace))).ok()
}

/// Returns why an engine is wrong about a pair, if it is.
fn find_complaint(engine: &dyn Engine, pair: &Pair, effort: Effort) -> Option<String> {
    let Some(claims) = try_claims(engine, pair) else { return Some(format!("{} panics", engine.name())) };
    let oracle = Oracle::new(&pair.arena, pair.f, &pair.trace);
    disprove(&oracle, &pair.trace, &claims, effort).map(|complaint| format!("{}: {complaint}", engine.name()))
}

/// Returns the first disagreement among so many pairs, shrunk and described in full.
fn find_disagreement(engines: &[Box<dyn Engine>], fragment: Fragment, effort: Effort, pairs: u64) -> Option<String> {
    let next = AtomicU64::new(0);
    let found: Mutex<Option<(u64, usize, String)>> = Mutex::new(None);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= pairs || found.lock().unwrap().is_some() {
                return;
            }
            let pair = generate(fragment, number);
            let mut borne_out = Vec::new();
            for (index, engine) in engines.iter().enumerate() {
                let claims = try_claims(&**engine, &pair);
                // Engines mostly say the same, and looking for continuations is what takes time.
                if borne_out.contains(&claims) {
                    continue;
                }
                if let Some(complaint) = find_complaint(&**engine, &pair, effort) {
                    *found.lock().unwrap() = Some((number, index, complaint));
                    return;
                }
                borne_out.push(claims);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (number, index, first) = found.into_inner().unwrap()?;
    let fails = |pair: &Pair| find_complaint(&*engines[index], pair, effort);
    let (pair, complaint) = shrink::shrink(generate(fragment, number), first, fails);
    let trace: String = pair.trace.iter().map(|entry| format!("\n    {entry}")).collect();
    let formula = pair.arena.show(pair.f, Spelling::Ascii);
    Some(format!("pair {number} of {fragment:?}\n  {complaint}\n  formula {formula}\n  trace{trace}"))
}

/// Fails if a configuration disagrees with the definition on one of so many pairs.
fn compare_engines(fragment: Fragment, count: u64) {
    if let Some(found) = find_disagreement(&configurations(), fragment, fragment.effort(), pairs(count)) {
        panic!("{found}");
    }
}

#[test]
fn future_formulas_get_exact_verdicts() {
    compare_engines(Fragment::Future, 4_000);
}

#[test]
fn past_formulas_get_exact_verdicts() {
    compare_engines(Fragment::Past, 3_000);
}

#[test]
fn mixed_formulas_get_exact_verdicts() {
    compare_engines(Fragment::Mixed, 4_000);
}

#[test]
fn chains_of_equivalences_never_get_wrong_verdicts() {
    compare_engines(Fragment::Dense, 500);
}

#[test]
fn step_bounds_get_exact_verdicts() {
    compare_engines(Fragment::Steps, 3_000);
}

#[test]
fn time_bounds_never_get_wrong_verdicts() {
    compare_engines(Fragment::Timed, 2_000);
}

#[test]
fn quantified_formulas_never_get_wrong_verdicts() {
    compare_engines(Fragment::Quantified, 1_000);
}

#[test]
fn unguarded_comparisons_never_get_wrong_verdicts() {
    compare_engines(Fragment::Ordered, 2_000);
}

#[test]
fn unknown_facts_get_verdict_of_all_resolutions() {
    compare_engines(Fragment::Unknown, 2_000);
}

/// Beyond the limit one state stands for all resolutions: verdicts may be late, but they are never wrong.
#[test]
fn many_resolutions_never_get_wrong_verdicts() {
    let effort = Effort { absent: 300, present: 0 };
    let engines = [1, 4].map(limited_resolutions);
    for (fragment, count) in [(Fragment::Unknown, 1000), (Fragment::Everything, 500)] {
        let found = find_disagreement(&engines, fragment, effort, cases(count));
        assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

#[test]
fn all_features_together_never_get_wrong_verdicts() {
    compare_engines(Fragment::Everything, 1_000);
}

/// Enough to detect an engine that is plainly wrong.
const SMALL_EFFORT: Effort = Effort { absent: 200, present: 2000 };

/// The positions that may follow a trace, of which those from the second on are repeated or are the last.
fn possible_rests(fragment: Fragment, random: &mut Random) -> Vec<[Vec<Fact>; 2]> {
    let values: Vec<Vec<Value>> = match fragment {
        Fragment::Quantified => ["a", "b", "c"].into_iter().map(|text| vec![Value::text(text)]).collect(),
        Fragment::Ordered => {
            let numbers = [1, 2, 3, 4, 5].into_iter().map(Value::Integer);
            numbers.chain([Value::text("b"), Value::text("c")]).map(|value| vec![value]).collect()
        }
        _ => vec![Vec::new()],
    };
    let ground: Vec<Fact> = ["p", "q", "r"]
        .into_iter()
        .flat_map(|name| {
            if name == "r" { vec![vec![]] } else { values.clone() }.into_iter().map(move |it| Fact::new(name, it))
        })
        .collect();
    let mut letter = || ground.iter().filter(|_| random.below(3) == 0).cloned().collect::<Vec<Fact>>();
    (0..12).map(|_| [letter(), letter()]).chain([[vec![], vec![]], [ground.clone(), ground.clone()]]).collect()
}

/// The residual of a formula after a trace, printed and parsed, has on every continuation the value of the formula on
/// the whole. The continuation begins now, at the time of the trace.
#[test]
fn residual_decides_continuations_like_the_formula() {
    let fragments = [
        (Fragment::Future, 600),
        (Fragment::Past, 600),
        (Fragment::Mixed, 600),
        (Fragment::Steps, 600),
        (Fragment::Timed, 1200),
        (Fragment::Quantified, 600),
        (Fragment::Ordered, 600),
    ];
    for (fragment, count) in fragments {
        for number in 0..cases(count) {
            let pair = generate(fragment, number);
            let Ok(monitor) = Monitor::new(&pair.arena, pair.f) else { continue };
            let mut monitors = MonitorSet::new();
            let id = monitors.add(monitor);
            let mut trace_state = monitors.start();
            let mut random = Random::new(number);
            let mut seen = Prefix::default();
            for entry in &pair.trace {
                match entry {
                    Entry::Position(facts) => {
                        monitors.step(&mut trace_state, facts);
                    }
                    Entry::Tick(now) => {
                        monitors.tick(&mut trace_state, *now);
                    }
                }
                seen.push(entry);
                for delay in [0, 1, 2, 3].into_iter().take(if fragment == Fragment::Timed { 4 } else { 1 }) {
                    // Time passes until the rest begins.
                    let mut later = trace_state.clone();
                    let now = later.clock().unwrap_or_default().plus(Span::from_seconds(delay));
                    let mut seen = seen.clone();
                    if delay > 0 {
                        monitors.tick(&mut later, Time(now.0 - 1));
                        seen.push(&Entry::Tick(Time(now.0 - 1)));
                    }
                    let seen = (&seen.positions[..], now);
                    check_residual(fragment, &pair, (&mut monitors, &mut later, id), seen, &mut random);
                }
            }
        }
    }
}

fn check_residual(
    fragment: Fragment,
    pair: &Pair,
    (monitors, trace_state, id): (&mut MonitorSet, &mut TraceState, MonitorId),
    (seen, now): (&[Facts], Time),
    random: &mut Random,
) {
    let rest = monitors.residual(trace_state, id).unwrap();
    if !rest.is_whole() {
        return;
    }
    let mut arena = Arena::new();
    let printed = arena.parse(&rest.to_string()).unwrap_or_else(|errors| panic!("{rest}: {errors}"));
    for letters in possible_rests(fragment, random) {
        let is_timed = fragment == Fragment::Timed;
        let gap = Span::from_seconds(random.below(4) as u64);
        let period = if is_timed { Span::from_seconds(1 + random.below(3) as u64) } else { Span(0) };
        let times = [now, now.plus(gap)].map(|time| is_timed.then_some(time));
        let position = |(known, time): (Vec<Fact>, Option<Time>)| Facts { time, known, unknown: Vec::new() };
        let further: Vec<Facts> = letters.into_iter().zip(times).map(position).collect();
        let whole: Vec<Facts> = seen.iter().chain(&further).cloned().collect();
        let lasso = |positions, from| Word { positions, ending: Ending::Repeats { from, period } };
        let expected = evaluate(&pair.arena, pair.f, &lasso(&whole, seen.len() + 1));
        let found = evaluate(&arena, printed, &lasso(&further, 1));
        let formula = pair.arena.show(pair.f, Spelling::Ascii);
        assert_eq!(found, expected, "{formula} leaves {rest} after {seen:?}, before {further:?}, now {now:?}");
    }
}

/// No witness is ever refuted, and most are proved by the definition alone, even for formulas no person would write.
#[test]
fn witnesses_are_mostly_proved_never_refuted() {
    let (mut proved, mut other) = (0, 0);
    for fragment in [Fragment::Future, Fragment::Mixed, Fragment::Steps, Fragment::Timed, Fragment::Quantified] {
        for number in 0..600 {
            let pair = generate(fragment, number);
            let trace: Vec<Moment> = pair
                .trace
                .iter()
                .map(|entry| match entry {
                    Entry::Position(facts) => Moment::Position(facts.clone()),
                    Entry::Tick(now) => Moment::Tick(*now),
                })
                .collect();
            for at_end in [false, true] {
                let Some(witness) = Witness::find(&pair.arena, pair.f, &trace, at_end) else { continue };
                match proof(&pair.arena, pair.f, &trace, &witness) {
                    Check::Proved => proved += 1,
                    Check::Refuted => {
                        panic!("{} on {:?}: {witness:?}", pair.arena.show(pair.f, Spelling::Ascii), pair.trace)
                    }
                    _ => other += 1,
                }
            }
        }
    }
    assert!(proved > 5 * other, "{proved} proved, {other} not");
}

/// Every fragment, for the tests of the comparison itself.
const FRAGMENTS: [Fragment; 9] = [
    Fragment::Future,
    Fragment::Past,
    Fragment::Mixed,
    Fragment::Steps,
    Fragment::Timed,
    Fragment::Quantified,
    Fragment::Unknown,
    Fragment::Everything,
    Fragment::Ordered,
];

#[test]
fn definition_agrees_with_itself() {
    for fragment in FRAGMENTS {
        let found = find_disagreement(&[Box::new(DEFINITION)], fragment, fragment.effort(), cases(4));
        assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

#[test]
fn three_valued_evaluation_is_never_wrong() {
    for fragment in FRAGMENTS {
        for number in 0..cases(120) {
            let pair = generate(fragment, number);
            let live_only = |claim| Claim { end: None, ..claim };
            let claims: Vec<Claim> =
                collect_claims(&KLEENE, &pair.arena, pair.f, &pair.trace).into_iter().map(live_only).collect();
            let oracle = Oracle::new(&pair.arena, pair.f, &pair.trace);
            let found = disprove(&oracle, &pair.trace, &claims, Effort { absent: 300, present: 0 });
            assert!(found.is_none(), "pair {number} of {fragment:?}: {}", found.unwrap_or_default());
        }
    }
}

/// One round more before the loop, two rounds in the loop, or a loop that begins one position later: the same word.
#[test]
fn lasso_value_is_independent_of_unrolling() {
    for fragment in FRAGMENTS {
        for number in 0..cases(1000) {
            let Pair { arena, f, trace } = generate(fragment, number);
            let mut positions: Vec<Facts> = Vec::new();
            for entry in trace {
                if let Entry::Position(facts) = entry {
                    positions.push(facts);
                }
            }
            // Repeated, a position without a time would be at the time of another one, also if none has a time.
            let mut now = Some(positions.iter().find_map(|facts| facts.time).unwrap_or_default());
            for facts in &mut positions {
                now = now.max(facts.time);
                facts.time = now;
            }
            for from in 0..positions.len() {
                let last = positions.iter().filter_map(|facts| facts.time).max().unwrap_or_default();
                let start = positions[from].time.unwrap_or_default();
                let period = Span(last.since(start).0 + 1_000_000_000 * (number % 3));
                let judge = |positions: &[Facts], from, period| {
                    evaluate(&arena, f, &Word { positions, ending: Ending::Repeats { from, period } })
                };
                let expected = judge(&positions, from, period);
                let again = |facts: &Facts| Facts { time: facts.time.map(|time| time.plus(period)), ..facts.clone() };
                let twice: Vec<Facts> = positions.iter().cloned().chain(positions[from..].iter().map(again)).collect();
                let double = Span(2 * period.0);
                assert_eq!(judge(&twice, positions.len(), period), expected, "pair {number} of {fragment:?}");
                assert_eq!(judge(&twice, from, double), expected, "pair {number} of {fragment:?}");
                assert_eq!(
                    judge(&twice[..=positions.len()], from + 1, period),
                    expected,
                    "pair {number} of {fragment:?}"
                );
            }
        }
    }
}

#[test]
fn engine_without_anticipation_is_detected() {
    for fragment in [Fragment::Future, Fragment::Mixed, Fragment::Steps, Fragment::Unknown] {
        let found = find_disagreement(&[Box::new(KLEENE)], fragment, SMALL_EFFORT, 2000)
            .expect("progression alone misses verdicts");
        assert!(found.contains("continuation was found"), "{found}");
    }
}

#[test]
fn engine_judging_by_finite_trace_is_detected() {
    for fragment in FRAGMENTS {
        let found = find_disagreement(&[Box::new(HINDSIGHT)], fragment, SMALL_EFFORT, 2000)
            .expect("a finite trace is not its future");
        assert!(found.contains("here is a continuation"), "{found}");
    }
}

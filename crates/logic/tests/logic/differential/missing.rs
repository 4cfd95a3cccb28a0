//! Missing positions, against every resolution of their facts.

use lictor_logic::{Fact, Facts, Monitor, MonitorSet, Spelling, Value, Verdict};

use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::random::Random;
use crate::support::size::cases;
use crate::support::trace::Entry;

/// The verdicts, live and at the end, of a trace with some positions in the middle: given, or missing.
fn judge_with_middle(pair: &Pair, at: usize, middle: Result<&[Facts], u64>) -> Option<[Verdict; 2]> {
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::new(&pair.arena, pair.f).ok()?);
    let mut trace_state = monitors.start();
    let positions = pair.trace.iter().filter_map(|entry| match entry {
        Entry::Position(facts) => Some(facts),
        Entry::Tick(_) => None,
    });
    let (before, after): (Vec<_>, Vec<_>) = positions.enumerate().partition(|(place, _)| *place < at);
    for (_, facts) in before {
        monitors.step(&mut trace_state, facts);
    }
    match middle {
        Ok(known) => known.iter().for_each(|facts| {
            monitors.step(&mut trace_state, facts);
        }),
        Err(count) => {
            if !monitors.miss(&mut trace_state, count).lost.is_empty() {
                return Some([Verdict::Inconclusive; 2]);
            }
        }
    }
    for (_, facts) in after {
        monitors.step(&mut trace_state, facts);
    }
    Some([monitors.verdict(&mut trace_state, id), monitors.end(&mut trace_state, id)])
}

/// Returns the verdict that all agree on, else inconclusive.
fn common_verdict(all: &[[Verdict; 2]], place: usize) -> Verdict {
    let first = all[0][place];
    if all.iter().all(|verdicts| verdicts[place] == first) { first } else { Verdict::Inconclusive }
}

fn describe(fragment: Fragment, number: u64, pair: &Pair, at: usize, count: usize) -> String {
    let trace: String = pair.trace.iter().map(|entry| format!("\n    {entry}")).collect();
    let formula = pair.arena.show(pair.f, Spelling::Ascii);
    format!("pair {number} of {fragment:?}, {count} missing before place {at}\n  formula {formula}\n  trace{trace}")
}

/// Missing positions get the verdict that all their resolutions agree on, and no other.
#[test]
fn missing_positions_get_verdict_of_all_resolutions() {
    let letters: Vec<Facts> = (0..8u32)
        .map(|bits| {
            Facts::from_names(
                ["p", "q", "r"].into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name),
            )
            .unwrap()
        })
        .collect();
    for fragment in [Fragment::Future, Fragment::Past, Fragment::Mixed, Fragment::Steps] {
        for number in 0..300 {
            let pair = generate(fragment, number);
            let mut random = Random::new(number);
            let (at, count) = (random.below(pair.trace.len() + 1), 1 + random.below(2));
            let Some(missed) = judge_with_middle(&pair, at, Err(count as u64)) else { continue };
            let mut all = Vec::new();
            for first in &letters {
                for second in letters.iter().take(if count == 2 { 8 } else { 1 }) {
                    let middle = [first.clone(), second.clone()];
                    all.extend(judge_with_middle(&pair, at, Ok(&middle[..count])));
                }
            }
            let about = || describe(fragment, number, &pair, at, count);
            assert_eq!(missed, [common_verdict(&all, 0), common_verdict(&all, 1)], "{}", about());
        }
    }
}

/// With values there are endless resolutions: a definite verdict holds in each that is tried.
#[test]
fn missing_positions_with_values_never_decide_wrongly() {
    let mut definite = 0;
    for number in 0..cases(350) {
        let pair = generate(Fragment::Quantified, number);
        let mut random = Random::new(number);
        let (at, count) = (random.below(pair.trace.len() + 1), 1 + random.below(3));
        let Some(missed) = judge_with_middle(&pair, at, Err(count as u64)) else { continue };
        definite += usize::from(missed[1].is_definite());
        for _ in 0..40 {
            let mut position = || {
                let mut facts = Facts::default();
                for name in ["p", "q"] {
                    for value in ["a", "b", "c"] {
                        if random.below(3) == 0 {
                            facts.known.push(Fact::new(name, [Value::text(value)]));
                        }
                    }
                }
                if random.below(2) == 0 {
                    facts.known.push(Fact::new("r", []));
                }
                facts
            };
            let middle: Vec<Facts> = (0..count).map(|_| position()).collect();
            let Some(known) = judge_with_middle(&pair, at, Ok(&middle)) else { continue };
            for (missed, known) in missed.into_iter().zip(known) {
                let agrees = !missed.is_definite() || missed == known;
                assert!(agrees, "{missed} and {known}: {}", describe(Fragment::Quantified, number, &pair, at, count));
            }
        }
    }
    assert!(definite > 20, "only {definite} verdicts were definite: there was nothing to compare");
}

/// A long gap is not read position by position, with the same result.
#[test]
fn long_gap_is_judged_like_shorter_gap() {
    for fragment in [Fragment::Future, Fragment::Past, Fragment::Mixed] {
        for number in 0..200 {
            let pair = generate(fragment, number);
            let at = Random::new(number).below(pair.trace.len() + 1);
            let mut monitors = MonitorSet::new();
            let Ok(monitor) = Monitor::new(&pair.arena, pair.f) else { continue };
            monitors.add(monitor);
            let mut trace_state = monitors.start();
            // A formula may depend on the parity of the missing positions; such a monitor is lost.
            if monitors.miss(&mut trace_state, 1_000_000_000_000).lost.is_empty() {
                assert_eq!(
                    judge_with_middle(&pair, at, Err(2_000)),
                    judge_with_middle(&pair, at, Err(2_001)),
                    "{}",
                    describe(fragment, number, &pair, at, 2_000)
                );
            }
        }
    }
}

//! Positions of which nothing is known, against every way they could have been.

use lictor_logic::{After, Fact, Facts, Monitor, MonitorSet, Spelling, Value, Verdict};

use crate::generate::{Fragment, Pair, generate};
use crate::random::Random;
use crate::trace::Entry;

/// The verdicts, live and at the end, of a trace with some positions in the middle: given, or missing.
fn verdicts(pair: &Pair, at: usize, middle: Result<&[Facts], u64>) -> Option<[Verdict; 2]> {
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&pair.arena, pair.f).ok()?, After::Latch);
    let mut standing = watch.start();
    let positions = pair.trace.iter().filter_map(|entry| match entry {
        Entry::Position(facts) => Some(facts),
        Entry::Tick(_) => None,
    });
    let (before, behind): (Vec<_>, Vec<_>) = positions.enumerate().partition(|(place, _)| *place < at);
    for (_, facts) in before {
        watch.step(&mut standing, facts);
    }
    match middle {
        Ok(known) => known.iter().for_each(|facts| {
            watch.step(&mut standing, facts);
        }),
        Err(count) => {
            if !watch.miss(&mut standing, count).lost.is_empty() {
                return Some([Verdict::Inconclusive; 2]);
            }
        }
    }
    for (_, facts) in behind {
        watch.step(&mut standing, facts);
    }
    Some([watch.verdict(&mut standing, id), watch.end(&mut standing, id)])
}

/// The verdict that all agree on.
fn agreed(all: &[[Verdict; 2]], place: usize) -> Verdict {
    let first = all[0][place];
    if all.iter().all(|verdicts| verdicts[place] == first) { first } else { Verdict::Inconclusive }
}

fn told(fragment: Fragment, number: u64, pair: &Pair, at: usize, count: usize) -> String {
    let trace: String = pair.trace.iter().map(|entry| format!("\n    {entry}")).collect();
    let formula = pair.arena.show(pair.f, Spelling::Ascii);
    format!("pair {number} of {fragment:?}, {count} missing before place {at}\n  formula {formula}\n  trace{trace}")
}

/// What is missing gets the verdict that every way it could have been agrees on, and no other.
#[test]
fn missing_positions_get_the_verdict_of_every_way_they_could_have_been() {
    let letters: Vec<Facts> = (0..8u32)
        .map(|bits| {
            Facts::of(
                ["p", "q", "r"].into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name),
            )
        })
        .collect();
    for fragment in [Fragment::Future, Fragment::Past, Fragment::Mixed, Fragment::Steps] {
        for number in 0..300 {
            let pair = generate(fragment, number);
            let mut random = Random::new(number);
            let (at, count) = (random.below(pair.trace.len() + 1), 1 + random.below(2));
            let Some(missed) = verdicts(&pair, at, Err(count as u64)) else { continue };
            let mut all = Vec::new();
            for first in &letters {
                for second in letters.iter().take(if count == 2 { 8 } else { 1 }) {
                    let middle = [first.clone(), second.clone()];
                    all.extend(verdicts(&pair, at, Ok(&middle[..count])));
                }
            }
            let about = || told(fragment, number, &pair, at, count);
            assert_eq!(missed, [agreed(&all, 0), agreed(&all, 1)], "{}", about());
        }
    }
}

/// With values there is no end of ways: a definite verdict holds in each that is tried.
#[test]
fn missing_facts_with_values_never_bring_a_wrong_verdict() {
    let mut definite = 0;
    for number in 0..700 {
        let pair = generate(Fragment::Quantified, number);
        let mut random = Random::new(number);
        let (at, count) = (random.below(pair.trace.len() + 1), 1 + random.below(3));
        let Some(missed) = verdicts(&pair, at, Err(count as u64)) else { continue };
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
                    facts.known.push(Fact::from("r"));
                }
                facts
            };
            let middle: Vec<Facts> = (0..count).map(|_| position()).collect();
            let Some(known) = verdicts(&pair, at, Ok(&middle)) else { continue };
            for (missed, known) in missed.into_iter().zip(known) {
                let agrees = !missed.is_definite() || missed == known;
                assert!(agrees, "{missed} and {known}: {}", told(Fragment::Quantified, number, &pair, at, count));
            }
        }
    }
    assert!(definite > 40, "only {definite} verdicts were definite: there was nothing to compare");
}

/// A long absence is not gone through position by position, and comes to the same.
#[test]
fn a_long_absence_is_judged_like_a_shorter_one_that_changes_nothing_more() {
    for fragment in [Fragment::Future, Fragment::Past, Fragment::Mixed] {
        for number in 0..200 {
            let pair = generate(fragment, number);
            let at = Random::new(number).below(pair.trace.len() + 1);
            let mut watch = MonitorSet::new();
            let Ok(monitor) = Monitor::new(&pair.arena, pair.f) else { continue };
            watch.add(monitor, After::Latch);
            let mut standing = watch.start();
            // A formula may tell even numbers from odd ones by what nobody knows; then nothing is told of it.
            if watch.miss(&mut standing, 1_000_000_000_000).lost.is_empty() {
                assert_eq!(
                    verdicts(&pair, at, Err(2_000)),
                    verdicts(&pair, at, Err(2_001)),
                    "{}",
                    told(fragment, number, &pair, at, 2_000)
                );
            }
        }
    }
}

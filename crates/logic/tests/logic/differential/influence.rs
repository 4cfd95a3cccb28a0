//! The influence of doubtful facts, against all worlds; and flips of facts, for other tests.

use lictor_logic::{After, BeliefMonitor, Choice, Fact, Facts, Monitor, MonitorSet, Spelling, Value, Verdict};

use crate::differential::belief::{DoubtfulEntry, doubt, follow_with, worlds};
use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::random::Random;
use crate::support::trace::Entry;

pub(super) fn positions(pair: &Pair) -> Vec<Facts> {
    let position = |entry: &Entry| match entry {
        Entry::Position(facts) => Some(facts.clone()),
        Entry::Tick(_) => None,
    };
    pair.trace.iter().filter_map(position).collect()
}

/// Whether a trace violates a formula, at a position or at the end.
pub(super) fn is_violated(monitors: &mut MonitorSet, trace: &[Facts]) -> bool {
    let Some((id, _)) = monitors.monitors().next() else { return false };
    let mut trace_state = monitors.start();
    let mut is_broken = false;
    for facts in trace {
        is_broken |= monitors.step(&mut trace_state, facts).iter().any(|it| it.verdict == Verdict::Violated);
    }
    is_broken || monitors.end(&mut trace_state, id) == Verdict::Violated
}

/// Returns a trace with one fact flipped.
pub(super) fn flip(trace: &[Facts], position: usize, fact: &Fact) -> Vec<Facts> {
    let mut trace = trace.to_vec();
    let known = &mut trace[position].known;
    match known.contains(fact) {
        true => known.retain(|other| other != fact),
        false => known.push(fact.clone()),
    }
    trace
}

pub(super) fn draw_fact(fragment: Fragment, random: &mut Random) -> Fact {
    let name = ["p", "q", "r"][random.below(3)];
    let is_ground = !matches!(fragment, Fragment::Quantified | Fragment::Ordered | Fragment::Everything);
    match is_ground || name == "r" {
        true => Fact::new(name, []),
        false => Fact::new(name, [Value::text(["a", "b", "c"][random.below(3)])]),
    }
}

/// Returns the probability that a trace violates a formula, by its worlds.
fn chance_of_violation(monitors: &mut MonitorSet, after: After, trace: &[DoubtfulEntry]) -> f64 {
    let Some((id, _)) = monitors.monitors().next() else { return 0.0 };
    let fails = |(entries, weight): (Vec<Entry>, f64)| {
        let last = follow_with(monitors, id, after, &entries).last().copied();
        if last.is_some_and(|outcome| outcome.at_end.0) { weight } else { 0.0 }
    };
    worlds(trace).into_iter().map(fails).sum()
}

#[test]
fn influence_of_choices_matches_worlds() {
    let (mut helping, mut harming, mut idle) = (0, 0, 0);
    for fragment in [Fragment::Mixed, Fragment::Timed, Fragment::Unknown] {
        for after in [After::Latch, After::Each] {
            for number in 0..400 {
                let mut pair = generate(fragment, number);
                pair.trace.retain(|entry| matches!(entry, Entry::Position(_)));
                let trace = doubt(&pair, &mut Random::new(number));
                let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
                let mut monitors = MonitorSet::new();
                monitors.add(monitor.clone());
                let read: Vec<(Facts, Vec<Choice>)> = trace
                    .iter()
                    .filter_map(|(entry, choices)| match entry {
                        Entry::Position(facts) => Some((facts.clone(), choices.clone())),
                        Entry::Tick(_) => None,
                    })
                    .collect();
                let influences = BeliefMonitor::new(monitor).unwrap().find_influences(&read).unwrap();
                let expected: usize =
                    read.iter().flat_map(|(_, choices)| choices).map(|choice| choice.alternatives().len()).sum();
                assert_eq!(influences.len(), expected);
                for found in influences {
                    let mut without = trace.clone();
                    without[found.position].1.remove(found.choice);
                    let mut with = without.clone();
                    if let Entry::Position(facts) = &mut with[found.position].0 {
                        facts.known.push(found.fact.clone());
                    }
                    let expected = chance_of_violation(&mut monitors, after, &with)
                        - chance_of_violation(&mut monitors, after, &without);
                    let formula = pair.arena.show(pair.f, Spelling::Ascii);
                    let what = format!("{fragment:?} {after:?} {number}: {formula} on {trace:?}");
                    assert!((found.influence - expected).abs() < 1e-12, "{what}: {found:?}, {expected}");
                    *match found.influence {
                        influence if influence > 1e-9 => &mut harming,
                        influence if influence < -1e-9 => &mut helping,
                        _ => &mut idle,
                    } += 1;
                }
            }
        }
    }
    assert!(helping > 100 && harming > 60 && idle > 1_000, "{helping} help, {harming} harm, {idle} neither");
}

//! `may_break`, against every resolution of the unknown facts.

use lictor_logic::{Fact, Facts, Monitor, MonitorSet, Spelling, Verdict};

use crate::differential::generate::{Fragment, Pair, generate};
use crate::support::trace::Entry;

/// Returns every resolution of the unknown facts of positions.
fn resolve_unknowns(positions: &[Facts]) -> Vec<Vec<Facts>> {
    let mut ways: Vec<Vec<Facts>> = vec![Vec::new()];
    for facts in positions {
        let mut choices = vec![Facts { unknown: Vec::new(), ..facts.clone() }];
        for atom in &facts.unknown {
            let held = choices.iter().map(|facts| {
                let mut facts = facts.clone();
                facts.known.push(Fact::new(&*atom.name, []));
                facts
            });
            choices = held.collect::<Vec<_>>().into_iter().chain(choices.clone()).collect();
        }
        ways = ways
            .iter()
            .flat_map(|way| choices.iter().map(|facts| way.iter().chain([facts]).cloned().collect()))
            .collect();
    }
    ways
}

fn judge(pair: &Pair, positions: &[Facts]) -> Verdict {
    let mut monitors = MonitorSet::new();
    let id = monitors.add(Monitor::new(&pair.arena, pair.f).unwrap());
    let mut trace_state = monitors.start();
    for facts in positions {
        monitors.step(&mut trace_state, facts);
    }
    monitors.verdict(&mut trace_state, id)
}

/// A position may violate a formula exactly if some resolution violates it there and not before.
#[test]
fn may_break_matches_some_resolution_of_unknowns() {
    let (mut broken, mut sound) = (0, 0);
    for number in 0..3_000 {
        let pair = generate(Fragment::Unknown, number);
        let positions: Vec<Facts> = pair
            .trace
            .iter()
            .filter_map(|entry| match entry {
                Entry::Position(facts) => Some(facts.clone()),
                Entry::Tick(_) => None,
            })
            .collect();
        let Ok(monitor) = Monitor::new(&pair.arena, pair.f) else { continue };
        let mut monitors = MonitorSet::new();
        let id = monitors.add(monitor);
        let mut trace_state = monitors.start();
        for (place, facts) in positions.iter().enumerate() {
            let breaks = |way: &Vec<Facts>| {
                judge(&pair, &way[..place]) != Verdict::Violated && judge(&pair, way) == Verdict::Violated
            };
            let expected = resolve_unknowns(&positions[..=place]).iter().any(breaks);
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            let found = monitors.may_break(&trace_state, id, facts);
            assert_eq!(found, expected, "pair {number}, place {place}: {formula} on {positions:?}");
            *if found { &mut broken } else { &mut sound } += 1;
            monitors.step(&mut trace_state, facts);
        }
    }
    assert!(broken > 300 && sound > 1_000, "{broken} may break, {sound} do not");
}

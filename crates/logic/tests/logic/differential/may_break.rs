//! `may_break`, against every resolution of the unknown facts.

use lictor_logic::{After, Fact, Facts, Monitor, MonitorSet, Spelling, Verdict};

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

/// With a reset, each resolution of the unknown facts restarts on its own: a violation is reported exactly if all of
/// them are violated at a position, and is possible exactly if one of them is.
#[test]
fn reset_follows_each_resolution_of_unknowns() {
    let (mut certain, mut possible, mut sound) = (0, 0, 0);
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
        let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, After::Reset) else { continue };
        let mut monitors = MonitorSet::new();
        let id = monitors.add(monitor);
        // A formula with a verdict from the start has one at every position, whatever is unknown.
        let mut start = monitors.start();
        if monitors.verdict(&mut start, id).is_definite() {
            continue;
        }
        let mut violations = |way: &[Facts]| -> Vec<bool> {
            let mut trace_state = monitors.start();
            let breaks = |facts: &Facts| {
                monitors.step(&mut trace_state, facts).iter().any(|decided| decided.verdict == Verdict::Violated)
            };
            way.iter().map(breaks).collect()
        };
        let ways: Vec<Vec<bool>> = resolve_unknowns(&positions).iter().map(|way| violations(way)).collect();
        let mut trace_state = monitors.start();
        for (place, facts) in positions.iter().enumerate() {
            let (all, some) = (ways.iter().all(|way| way[place]), ways.iter().any(|way| way[place]));
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            let what = format!("pair {number}, place {place}: {formula} on {positions:?}");
            assert_eq!(monitors.may_break(&trace_state, id, facts), some, "possible, {what}");
            let decided = monitors.step(&mut trace_state, facts);
            assert_eq!(decided.iter().any(|it| it.verdict == Verdict::Violated), all, "certain, {what}");
            *match (all, some) {
                (true, _) => &mut certain,
                (false, true) => &mut possible,
                (false, false) => &mut sound,
            } += 1;
        }
    }
    assert!(certain > 300 && possible > 300 && sound > 1_000, "{certain} certain, {possible} possible, {sound} sound");
}

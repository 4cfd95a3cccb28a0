//! What a position may break, against every way in which unknown facts could have been.

use lictor_logic::{After, Fact, Facts, Monitor, MonitorSet, Spelling, Verdict};

use crate::generate::{Fragment, Pair, generate};
use crate::trace::Entry;

/// Every way in which the unknown facts of positions could have been.
fn resolutions(positions: &[Facts]) -> Vec<Vec<Facts>> {
    let mut ways: Vec<Vec<Facts>> = vec![Vec::new()];
    for facts in positions {
        let mut choices = vec![Facts { unknown: Vec::new(), ..facts.clone() }];
        for atom in &facts.unknown {
            let held = choices.iter().map(|facts| {
                let mut facts = facts.clone();
                facts.known.push(Fact::from(&*atom.name));
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

fn verdict(pair: &Pair, positions: &[Facts]) -> Verdict {
    let mut watch = MonitorSet::new();
    let id = watch.add(Monitor::new(&pair.arena, pair.f).unwrap(), After::Latch);
    let mut standing = watch.start();
    for facts in positions {
        watch.step(&mut standing, facts);
    }
    watch.verdict(&mut standing, id)
}

/// A position may break a formula exactly if it does in some way, and that way had not broken it before.
#[test]
fn what_may_be_broken_is_what_some_way_breaks() {
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
        let mut watch = MonitorSet::new();
        let id = watch.add(monitor, After::Latch);
        let mut standing = watch.start();
        for (place, facts) in positions.iter().enumerate() {
            let breaks = |way: &Vec<Facts>| {
                verdict(&pair, &way[..place]) != Verdict::Violated && verdict(&pair, way) == Verdict::Violated
            };
            let expected = resolutions(&positions[..=place]).iter().any(breaks);
            let formula = pair.arena.show(pair.f, Spelling::Ascii);
            let found = watch.may_break(&standing, id, facts);
            assert_eq!(found, expected, "pair {number}, place {place}: {formula} on {positions:?}");
            *if found { &mut broken } else { &mut sound } += 1;
            watch.step(&mut standing, facts);
        }
    }
    assert!(broken > 300 && sound > 1_000, "{broken} may break, {sound} do not");
}

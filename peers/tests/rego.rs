//! Lictor and a Rego engine reach the same verdicts, event by event.

use lictor::pack::packs;
use lictor_peers::dialogues::{ATTACKS, CASES, Family, Register, dialogue};
use lictor_peers::random::Random;
use lictor_peers::rego::{RegoComparison, events};

/// Dialogues for each case, family and register.
const EACH: usize = 20;

#[test]
fn dialogues_get_same_verdicts_in_rego() {
    let (mut traces, mut violating, mut verdicts) = (0, 0, 0);
    for (place, case) in CASES.iter().enumerate() {
        let mut both = RegoComparison::new(case.policy).unwrap();
        let cells = ATTACKS.iter().flat_map(|family| [(*family, Register::Plain), (*family, Register::TwoTurns)]);
        for (cell, (family, register)) in cells.chain([(Family::Benign, Register::Plain)]).enumerate() {
            let mut random = Random::new((place * 100 + cell) as u64);
            for _ in 0..EACH {
                let lines = dialogue(case, family, register, &mut random);
                let events = events(&lines).unwrap();
                let (ours, theirs) = (both.ours(&events).unwrap(), both.theirs(&events).unwrap());
                assert_eq!(ours, theirs, "{} {family:?} {register:?}\n{lines}", case.name);
                if family == Family::Benign {
                    assert!(ours.is_empty(), "{} {ours:?}\n{lines}", case.name);
                }
                traces += 1;
                violating += usize::from(!ours.is_empty());
                verdicts += ours.len();
            }
        }
    }
    assert_eq!(traces, 720);
    // Engines without any violation would agree as well.
    assert!(violating > 450 && verdicts > 700, "{violating} traces with {verdicts} verdicts");
}

/// The examples of all pages of all packs: every operator that packs use, aggregates included.
#[test]
fn pack_examples_get_same_verdicts_in_rego() {
    let (mut traces, mut verdicts) = (0, 0);
    for pack in packs() {
        for page in &pack.pages {
            let loaded = pack.policy(page).unwrap();
            let mut both = RegoComparison::of(&loaded.policy).unwrap();
            for trace in &page.traces {
                let lines: Vec<&str> = trace.lines.iter().map(|line| line.text.as_str()).collect();
                let events = events(&lines.join("\n")).unwrap();
                let (ours, theirs) = (both.ours(&events).unwrap(), both.theirs(&events).unwrap());
                assert_eq!(ours, theirs, "{}/{}: {}", pack.name, page.id, trace.title);
                traces += 1;
                verdicts += ours.len();
            }
        }
    }
    assert!(traces > 250 && verdicts > 100, "{traces} traces with {verdicts} verdicts");
}

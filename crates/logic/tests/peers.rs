//! Cases of other monitors, read from where they are kept; they are not part of this project.
//!
//! `LICTOR_PEERS` names the folder; without it a folder `shared/peers` beside the checkout is tried.

use std::io::Write;
use std::path::PathBuf;

use lictor_logic::{After, Arena, Ending, Facts, Monitor, MonitorSet, Verdict, Word, evaluate};
use serde::Deserialize;

fn folder() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/peers");
    std::env::var_os("LICTOR_PEERS").map_or_else(beside, PathBuf::from)
}

#[derive(Deserialize)]
struct Case {
    formula: String,
    trace: Vec<Vec<String>>,
    /// The truth of the formula at each position.
    expected: Vec<bool>,
}

/// `G(here -> f)` with `here` at every position is violated exactly where the past formula `f` is first false: that there
/// will be a next `here` nobody can foresee.
#[test]
fn past_formulas_of_a_peer_agree_at_every_position() {
    let path = folder().join("llmrv/ptltl.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Written past the test harness, which would keep it to itself.
        let place = path.display();
        writeln!(std::io::stderr(), "SKIPPED: a peer's past formulas are not at {place}; set LICTOR_PEERS").unwrap();
        return;
    };
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 154);
    for case in &cases {
        // What is once here is called P there.
        let formula = case.formula.replace("P(", "O(");
        let mut arena = Arena::new();
        let f = arena.parse(&formula).unwrap_or_else(|errors| panic!("{errors}"));
        let here = arena.fact("here");
        let now = arena.implies(here, f);
        let always = arena.always(now);
        let positions: Vec<Facts> =
            case.trace.iter().map(|names| Facts::of(names.iter().map(String::as_str).chain(["here"]))).collect();
        let first_false = case.expected.iter().position(|truth| !truth);
        let mut watch = MonitorSet::new();
        let id = watch.add(Monitor::new(&arena, always).unwrap(), After::Latch);
        let mut standing = watch.start();
        for (index, facts) in positions.iter().enumerate() {
            watch.step(&mut standing, facts);
            let expected = first_false.is_some_and(|first| index >= first);
            let found = watch.verdict(&mut standing, id) == Verdict::Violated;
            assert_eq!(found, expected, "{formula} at position {index} of {:?}", case.trace);
            // The definition looks back from the end of the prefix: F(last & f).
            let last = arena.parse("!X true").unwrap();
            let here = arena.and([last, f]);
            let at_end = arena.eventually(here);
            let word = Word { positions: &positions[..=index], ending: Ending::Stops };
            assert_eq!(evaluate(&arena, at_end, &word), Some(case.expected[index]), "{formula}");
        }
    }
}

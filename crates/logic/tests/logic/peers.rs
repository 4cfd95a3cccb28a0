//! Cases of other monitors, read from a folder outside of this repository.
//!
//! `LICTOR_PEERS` names the folder; without it a folder `shared/peers` beside the checkout is tried.

use std::io::Write;
use std::path::PathBuf;

use lictor_logic::{Arena, Ending, Facts, Monitor, MonitorSet, Verdict, Word, evaluate};
use serde::Deserialize;

fn folder() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/peers");
    std::env::var_os("LICTOR_PEERS").map_or_else(beside, PathBuf::from)
}

#[derive(Deserialize)]
struct PeerCase {
    formula: String,
    trace: Vec<Vec<String>>,
    /// The truth of the formula at each position.
    expected: Vec<bool>,
}

/// `G(here -> f)` with `here` at every position is violated exactly where the past formula `f` is first false, because
/// no later `here` is certain.
#[test]
fn past_formulas_agree_with_peer_cases() {
    let path = folder().join("llmrv/ptltl.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Written past the test harness, which would keep it to itself.
        let place = path.display();
        writeln!(std::io::stderr(), "SKIPPED: no cases of the peer at {place}; set LICTOR_PEERS").unwrap();
        return;
    };
    let cases: Vec<PeerCase> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 154);
    for case in &cases {
        // The peer writes P for once.
        let formula = case.formula.replace("P(", "O(");
        let mut arena = Arena::new();
        let f = arena.parse(&formula).unwrap_or_else(|errors| panic!("{errors}"));
        let here = arena.fact("here");
        let now = arena.implies(here, f);
        let always = arena.always(now);
        let positions: Vec<Facts> = case
            .trace
            .iter()
            .map(|names| Facts::from_names(names.iter().map(String::as_str).chain(["here"])).unwrap())
            .collect();
        let first_false = case.expected.iter().position(|truth| !truth);
        let mut monitors = MonitorSet::new();
        let id = monitors.add(Monitor::new(&arena, always).unwrap());
        let mut trace_state = monitors.start();
        for (index, facts) in positions.iter().enumerate() {
            monitors.step(&mut trace_state, facts);
            let expected = first_false.is_some_and(|first| index >= first);
            let found = monitors.verdict(&mut trace_state, id) == Verdict::Violated;
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

//! Effects guessed from the names of tools, measured on public tools that were labelled by hand.
//!
//! The words of `effect/verbs.txt` were chosen with the fitting half of the names only. The held-out half says how well
//! they do on tools that were not looked at. Do not add words for a mistake in the held-out half.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and prints what it measured")]

use lictor_policy::effect::{Effects, guess_from_name};
use lictor_policy::vocabulary::EFFECTS;

/// The least precision and recall in percent on the held-out half, a little below what was measured.
const FLOORS: [(&str, f64, f64); 8] = [
    ("read", 96.0, 88.0),
    ("write", 95.0, 91.0),
    ("external", 88.0, 81.0),
    ("payment", 55.0, 78.0),
    ("destructive", 98.0, 85.0),
    ("irreversible", 58.0, 73.0),
    ("execute", 76.0, 62.0),
    ("network", 95.0, 78.0),
];

/// A labelled tool, and the guess for it.
struct Case {
    name: &'static str,
    effects: Effects,
    guess: Option<Effects>,
    is_held_out: bool,
}

fn read_cases() -> Vec<Case> {
    let lines = include_str!("tool_names.tsv").lines().filter(|line| !line.starts_with('#'));
    let case = |line: &'static str| {
        let mut fields = line.split('\t');
        let (name, effects) = (fields.next().unwrap(), fields.next().unwrap());
        let effects = Effects::from_names(effects.split(','));
        // FNV-1a: the halves stay the same when names are added.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Case { name, effects, guess: guess_from_name(name), is_held_out: (hash >> 32) % 2 == 1 }
    };
    lines.map(case).collect()
}

/// Returns precision and recall of an effect in percent.
fn measure(cases: &[&Case], effect: &str) -> (f64, f64, usize) {
    let effect = Effects::from_names([effect]);
    let is_guessed = |case: &&&Case| case.guess.is_some_and(|guess| guess.contains(effect));
    let is_true = |case: &&&Case| case.effects.contains(effect);
    let (guessed, labelled) = (cases.iter().filter(is_guessed).count(), cases.iter().filter(is_true).count());
    let right = cases.iter().filter(is_guessed).filter(is_true).count();
    let percent = |all: usize| if all == 0 { 100.0 } else { 100.0 * right as f64 / all as f64 };
    (percent(guessed), percent(labelled), labelled)
}

#[test]
fn effects_of_held_out_tools_are_guessed() {
    let cases = read_cases();
    let (held_out, fitting): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.is_held_out);
    assert!(cases.len() >= 400, "{} names", cases.len());
    for case in fitting.iter().filter(|case| case.guess != Some(case.effects)) {
        println!("fitting half: {}: {:?}, guessed {:?}", case.name, case.effects, case.guess);
    }
    let unknown = |cases: &[&Case]| cases.iter().filter(|case| case.guess.is_none()).count();
    println!("fitting half: {} names, {} unknown", fitting.len(), unknown(&fitting));
    println!("held-out half: {} names, {} unknown", held_out.len(), unknown(&held_out));
    let mut complaints = Vec::new();
    for ((effect, _), (floor_of, least_precision, least_recall)) in EFFECTS.iter().zip(FLOORS) {
        assert_eq!(*effect, floor_of);
        let (precision, recall, count) = measure(&fitting, effect);
        println!("{effect:>12} fitting:  precision {precision:5.1} recall {recall:5.1} of {count}");
        let (precision, recall, count) = measure(&held_out, effect);
        println!("{effect:>12} held out: precision {precision:5.1} recall {recall:5.1} of {count}");
        if precision < least_precision || recall < least_recall {
            complaints.push(format!("{effect}: precision {precision:.1}, recall {recall:.1}"));
        }
    }
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn labelled_tool_names_are_distinct() {
    let mut names: Vec<&str> = read_cases().iter().map(|case| case.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

//! The cases in `conformance/`, run by the definition and by every engine.
//!
//! The definition bears out a case by evaluating lassos that continue its trace; an engine must say what the case says.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod case;
#[path = "../support/claim.rs"]
mod claim;
#[path = "../support/engine.rs"]
mod engine;
#[path = "../support/notation.rs"]
mod notation;
#[path = "../support/oracle.rs"]
mod oracle;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/trace.rs"]
mod trace;

use case::{Case, load};
use claim::{Effort, Engine, disprove, listen};
use lictor_logic::{After, Arena, Monitor, MonitorSet, Verdict};
use oracle::Oracle;
use trace::Entry;

/// What runs the cases beside the definition.
fn engines() -> Vec<Box<dyn Engine>> {
    engine::configurations()
}

/// Cases whose formula the engine does not take: it compares two variables that no one fact binds together.
const REFUSED: [&str; 1] = ["every-pair-in-order"];

/// Runs something on every case and tells all complaints at once.
fn for_every_case(check: impl Fn(&Case) -> Vec<String> + Sync) {
    let cases = load();
    let half = cases.len() / 2;
    let work = |cases: &[Case]| -> Vec<String> {
        let tell = |case: &Case| -> Vec<String> {
            check(case).into_iter().map(|complaint| format!("{case}\n    {complaint}")).collect()
        };
        cases.iter().flat_map(tell).collect()
    };
    let (first, second) = cases.split_at(half);
    let complaints = std::thread::scope(|scope| {
        let first = scope.spawn(|| work(first));
        let second = work(second);
        [first.join().unwrap(), second].concat()
    });
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn the_definition_bears_out_every_case() {
    for_every_case(|case| {
        let mut arena = Arena::new();
        let f = match arena.parse(&case.formula) {
            Ok(f) => f,
            Err(errors) => return vec![errors.to_string()],
        };
        let oracle = Oracle::new(&arena, f, &case.trace());
        let effort = Effort { absent: 4000, present: 100_000 };
        case.runs().iter().filter_map(|run| disprove(&oracle, &run.trace, &run.claims, effort)).collect()
    });
}

#[test]
fn every_engine_says_what_the_case_says() {
    for_every_case(|case| {
        let mut arena = Arena::new();
        let f = match arena.parse(&case.formula) {
            Ok(f) => f,
            Err(errors) => return vec![errors.to_string()],
        };
        let mut complaints = Vec::new();
        for engine in engines() {
            for run in case.runs() {
                let said = listen(&*engine, &arena, f, &run.trace);
                if said.is_empty() != REFUSED.contains(&&*case.name) {
                    complaints.push(format!("{} refuses the formula, or unexpectedly does not", engine.name()));
                }
                for (index, (said, wanted)) in said.iter().zip(&run.claims).enumerate() {
                    let live = wanted.live.is_none_or(|live| said.live == Some(live));
                    let end = wanted.end.is_none_or(|end| said.end == Some(end));
                    if !live || !end {
                        let name = engine.name();
                        complaints.push(format!("{name} after entry {index} of a run: {said:?}, not {wanted:?}"));
                    }
                }
            }
        }
        complaints
    });
}

/// The engine resets by itself: what it decides at an entry is what the case says, and nothing else is decided.
#[test]
fn the_engine_begins_anew_where_a_case_says_so() {
    let cases: Vec<Case> = load().into_iter().filter(|case| case.after.as_deref() == Some("reset")).collect();
    assert!(cases.len() > 10);
    for case in &cases {
        let mut arena = Arena::new();
        let f = arena.parse(&case.formula).unwrap();
        let mut watch = MonitorSet::new();
        watch.add(Monitor::new(&arena, f).unwrap(), After::Reset);
        let mut standing = watch.start();
        let mut verdicts = String::new();
        for entry in case.trace() {
            let decided = match &entry {
                Entry::Position(facts) => watch.step(&mut standing, facts),
                Entry::Tick(now) => watch.tick(&mut standing, *now),
            };
            verdicts.push(match decided.first().map(|decided| decided.verdict) {
                Some(Verdict::Satisfied) => 't',
                Some(Verdict::Violated) => 'f',
                _ => '?',
            });
        }
        assert_eq!(verdicts, case.verdicts, "{case}");
    }
}

#[test]
fn every_case_is_well_formed() {
    let cases = load();
    assert!(cases.len() > 300, "only {} cases were found", cases.len());
    for (index, case) in cases.iter().enumerate() {
        let twin = cases[..index].iter().find(|other| other.name == case.name);
        assert!(twin.is_none(), "{case} has the name of another case");
        assert_eq!(case.verdicts.len(), case.trace.len(), "{case}");
        assert!(case.presumptive.as_ref().is_none_or(|text| text.len() == case.trace.len()), "{case}");
        assert!(case.after.as_ref().is_none_or(|after| after == "reset" || after == "latch"), "{case}");
    }
}

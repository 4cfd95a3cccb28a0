//! The cases in `conformance/`, run by the definition and by every engine.
//!
//! The definition confirms a case by evaluating lassos that continue its trace; an engine must give the verdicts of the
//! case.

mod case;

use lictor_logic::{After, Arena, Monitor, MonitorSet, Verdict};

use crate::support::claim::{Effort, collect_claims, disprove};
use crate::support::engine::configurations;
use crate::support::oracle::Oracle;
use crate::support::size::cases;
use crate::support::trace::Entry;
use case::{Case, load};

/// Cases whose formula the engine refuses: it compares two variables that no single fact binds together.
const REFUSED_CASES: [&str; 1] = ["every-pair-in-order"];

/// Runs a check on every case and reports all complaints at once.
fn for_every_case(check: impl Fn(&Case) -> Vec<String> + Sync) {
    let cases = load();
    let half = cases.len() / 2;
    let work = |cases: &[Case]| -> Vec<String> {
        let describe = |case: &Case| -> Vec<String> {
            check(case).into_iter().map(|complaint| format!("{case}\n    {complaint}")).collect()
        };
        cases.iter().flat_map(describe).collect()
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
fn cases_agree_with_definition() {
    for_every_case(|case| {
        let mut arena = Arena::new();
        let f = match arena.parse(&case.formula) {
            Ok(f) => f,
            Err(errors) => return vec![errors.to_string()],
        };
        let oracle = Oracle::new(&arena, f, &case.trace());
        let effort = Effort { absent: cases(1500) as usize, present: 100_000 };
        case.runs().iter().filter_map(|run| disprove(&oracle, &run.trace, &run.claims, effort)).collect()
    });
}

#[test]
fn cases_agree_with_every_engine() {
    for_every_case(|case| {
        let mut arena = Arena::new();
        let f = match arena.parse(&case.formula) {
            Ok(f) => f,
            Err(errors) => return vec![errors.to_string()],
        };
        let mut complaints = Vec::new();
        for engine in configurations() {
            for run in case.runs() {
                let said = collect_claims(&*engine, &arena, f, &run.trace);
                if said.is_empty() != REFUSED_CASES.contains(&&*case.name) {
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

/// The engine resets by itself: it decides at an entry exactly what the case says.
#[test]
fn reset_cases_agree_with_engine_reset() {
    let cases: Vec<Case> = load().into_iter().filter(|case| case.after.as_deref() == Some("reset")).collect();
    assert!(cases.len() > 10);
    for case in &cases {
        let mut arena = Arena::new();
        let f = arena.parse(&case.formula).unwrap();
        let mut monitors = MonitorSet::new();
        monitors.add(Monitor::with_after(&arena, f, After::Reset).unwrap());
        let mut trace_state = monitors.start();
        let mut verdicts = String::new();
        for entry in case.trace() {
            let decided = match &entry {
                Entry::Position(facts) => monitors.step(&mut trace_state, facts),
                Entry::Tick(now) => monitors.tick(&mut trace_state, *now),
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
fn cases_are_well_formed() {
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

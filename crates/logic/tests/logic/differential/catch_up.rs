//! A state that is one position behind another, against a state that reads every position itself.

use lictor_logic::{After, Facts, Monitor, MonitorSet, Observation, Spelling};

use crate::differential::generate::{Fragment, generate};
use crate::support::trace::Entry;

fn observe_facts(monitors: &mut MonitorSet, facts: &Facts) -> Observation {
    let mut observation = Observation::new();
    observation.time = facts.time;
    for fact in &facts.known {
        observation.push(monitors.name(&fact.name), &fact.values);
    }
    observation
}

/// Both states agree after every position, and so does a third one that never looks at another.
#[test]
fn catch_up_reads_like_observe() {
    let mut compared = 0;
    for fragment in [Fragment::Mixed, Fragment::Timed, Fragment::Quantified, Fragment::Everything] {
        for after in [After::Latch, After::Reset, After::Each] {
            for number in 0..400 {
                let pair = generate(fragment, number);
                let Ok(monitor) = Monitor::with_after(&pair.arena, pair.f, after) else { continue };
                let mut monitors = MonitorSet::new();
                let id = monitors.add(monitor);
                let mut ahead = monitors.start();
                let (mut behind, mut alone) = (ahead.clone(), ahead.clone());
                for (place, entry) in pair.trace.iter().enumerate() {
                    match entry {
                        Entry::Position(facts) if facts.unknown.is_empty() => {
                            let observation = observe_facts(&mut monitors, facts);
                            monitors.observe(&mut ahead, &observation);
                            monitors.observe(&mut alone, &observation);
                            monitors.catch_up(&mut behind, &ahead, &observation);
                        }
                        Entry::Position(facts) => {
                            for state in [&mut ahead, &mut behind, &mut alone] {
                                monitors.step(state, facts);
                            }
                        }
                        Entry::Tick(now) => {
                            for state in [&mut ahead, &mut behind, &mut alone] {
                                monitors.tick(state, *now);
                            }
                        }
                    }
                    let formula = pair.arena.show(pair.f, Spelling::Ascii);
                    let about = format!("pair {number} of {fragment:?}, {after:?}, at {place}: {formula}");
                    // States may differ in cells that say the same, so their answers are compared. Bindings that are in
                    // one cell here and in two there are counted once or twice.
                    let answers = [&alone, &behind, &ahead].map(|state| {
                        let (verdict, deadline) = (monitors.verdict(&mut state.clone(), id), monitors.deadline(state));
                        let is_violated = monitors.counts(state, id).violated > 0;
                        (verdict, monitors.end(&mut state.clone(), id), is_violated, deadline)
                    });
                    assert_eq!(answers[1], answers[0], "{about}");
                    assert_eq!(answers[2], answers[0], "{about}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 5_000, "{compared}");
}

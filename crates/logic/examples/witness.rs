//! Follows several formulas on one trace, and prints a checked witness for each violation.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;

use lictor_logic::{Arena, Check, Facts, Moment, Monitor, MonitorSet, Verdict, Witness, check};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arena = Arena::new();
    let formulas = [
        arena.parse("G(paid -> O approved)")?,
        arena.parse("forall s. G(erased(s) -> G !disclosed(s))")?,
        arena.parse("F closed")?,
    ];
    let mut monitors = MonitorSet::new();
    for formula in formulas {
        monitors.add(Monitor::new(&arena, formula)?);
    }
    let mut trace_state = monitors.start();
    let mut trace = Vec::new();
    for text in ["erased(\"ann\")", "paid", "disclosed(\"bob\")", "disclosed(\"ann\")"] {
        let facts = Facts::parse(text)?;
        let conclusions = monitors.step(&mut trace_state, &facts).to_vec();
        trace.push(Moment::Position(facts));
        for conclusion in conclusions.iter().filter(|conclusion| conclusion.verdict == Verdict::Violated) {
            let formula = formulas[conclusion.monitor.index()];
            let witness = Witness::find(&arena, formula, &trace, false).ok_or("no witness")?;
            let positions: Vec<usize> = witness.steps.iter().map(|step| step.position).collect();
            println!("{} is violated; deciding positions: {positions:?}", arena.english(formula));
            assert_eq!(check(&arena, formula, &trace, &witness), Check::Proved);
        }
    }
    Ok(())
}

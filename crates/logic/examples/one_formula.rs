//! Follows one formula on one trace and prints the verdict, and what must still hold, after each position.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;

use lictor_logic::{Facts, Monitor, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let monitor = Monitor::parse("always forall x. (opened(x) implies eventually closed(x))")?;
    let mut run = monitor.run();
    for position in ["opened(1)", "opened(2), closed(1)", "closed(2)"] {
        let verdict = run.step(&Facts::parse(position)?);
        println!("{position}: {verdict}; still to hold: {}", run.residual());
    }
    println!("at the end: {}", run.end());
    assert_eq!(run.end(), Verdict::Satisfied);
    Ok(())
}

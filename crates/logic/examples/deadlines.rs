//! Follows a formula with a time bound: a deadline expires although no position comes.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;

use lictor_logic::{Facts, Monitor, Time, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let mut run = Monitor::parse("respond_within(request, answer, 30s)")?.run();
    for position in ["@0s request", "@15s answer", "@20s request"] {
        run.step(&Facts::parse(position)?);
    }
    println!("next deadline: {:?}", run.deadline());
    for seconds in [40, 49, 50] {
        println!("after {seconds} seconds: {}", run.tick(Time::from_seconds(seconds)));
    }
    assert_eq!(run.verdict(), Verdict::Violated);
    Ok(())
}

//! The cost of one decision: Lictor, a Rego engine and Dogwood's engine on the same policies and the same traces, in
//! one run.
//!
//! Every engine starts with an empty history and gets the events one after the other; a figure is the whole time
//! divided by the events, in the best round. The Rego engine has no memory: it computes the verdicts on all events
//! once, at the end, of a short trace. Both flatter it: a guard would have to ask at every event, about ever longer
//! traces.

mod exports;
mod random;

use std::error::Error;
use std::time::Instant;

use lictor::event::Event;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::session::Session;
use lictor_peers::dogwood::{DogwoodPolicy, parse_requests};
use lictor_peers::rego::RegoEngine;

use crate::exports::{Exports, parse_events};
use crate::random::Random;

/// Events in a trace: as many as the slower engines finish in seconds.
const EVENTS: usize = 150;
/// Events for the Rego engine: its time grows with a high power of the length.
const FEW: usize = 12;
const ROUNDS: usize = 3;

/// A policy, and an event of its trace.
struct Workload {
    /// Its name in ratios.
    name: &'static str,
    title: &'static str,
    policy: &'static str,
    event: fn(usize, &mut Random) -> String,
}

const WORKLOADS: [Workload; 2] = [
    Workload {
        name: "structuring",
        title: "no more than 1,000 to one of 20 payees in 24 h",
        policy: r#"
lictor: 1
name: structuring
properties:
  - {id: limit, formula: 'always forall p. (pays(p, _) -> sum[0,24h](a: pays(p, a)) <= 1000)'}
"#,
        event: |_, random| format!("pays(\"payee{}\",{})", random.below(20), 5 * (1 + random.below(9))),
    },
    Workload {
        name: "four-eyes",
        title: "two different people approve before one of 12 payments is made",
        policy: r#"
lictor: 1
name: four-eyes
properties:
  - id: two
    formula: 'always forall c. (pays(c) -> exists a, b. (once[0,24h] approves(c, a) & once[0,24h] approves(c, b) & a != b))'
"#,
        event: |place, random| match if place < 110 { 1 } else { random.below(4) } {
            0 => format!("pays(\"c{}\")", random.below(12)),
            _ => format!("approves(\"c{}\",\"clerk{}\")", random.below(12), random.below(5)),
        },
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    for workload in &WORKLOADS {
        measure(workload)?;
    }
    Ok(())
}

fn measure(workload: &Workload) -> Result<(), Box<dyn Error>> {
    let mut random = Random::new(7);
    let lines: Vec<String> = (0..EVENTS)
        .map(|place| {
            let fact = (workload.event)(place, &mut random);
            serde_json::json!({"time": 60 * place, "facts": [fact]}).to_string()
        })
        .collect();
    let events = parse_events(&lines.join("\n"))?;
    let mut exports = Exports::new(workload.policy, &events)?;
    let (requests, input) = (exports.for_dogwood(&events)?, exports.for_rego(&events[..FEW])?);
    let (policy, mut engine) = (DogwoodPolicy::new(&exports.dogwood)?, RegoEngine::new(&exports.rego)?);
    let ours = exports.find_violations(&events)?;
    if exports.find_violations(&events[..FEW])? != engine.judge(&input)? || ours != policy.judge(&requests)? {
        return Err("the engines do not agree".into());
    }
    let lictor = best(|| lictor(workload.policy, &events))?;
    let dogwood = best(|| {
        let (requests, mut authorizer) = (parse_requests(&requests)?, policy.authorizer()?);
        let start = Instant::now();
        for request in &requests {
            std::hint::black_box(authorizer.is_authorized(request));
        }
        Ok(start.elapsed().as_secs_f64())
    })?;
    let rego = best(|| {
        let start = Instant::now();
        std::hint::black_box(engine.judge(&input)?.len());
        Ok(start.elapsed().as_secs_f64() * EVENTS as f64 / FEW as f64)
    })?;
    println!("{}, {EVENTS} events, {} violations", workload.title, ours.len());
    for (who, seconds) in [("lictor", lictor), ("dogwood-language", dogwood), ("regorus", rego)] {
        let (each, ratio) = (seconds * 1e9 / EVENTS as f64, seconds / lictor);
        println!("  {who:<20} {each:>14.0} ns/decision {ratio:>12.1} x");
        if who != "lictor" {
            // For `cargo xtask bench --check`.
            println!("ratio: decisions/{}/{who}-to-lictor {ratio:.4} higher", workload.name);
        }
    }
    let least = (dogwood / lictor).min(rego / lictor);
    println!(
        "  the nearest takes {least:.1} times as long  {}",
        if least >= 10.0 { ">= 10 met" } else { ">= 10 MISSED" }
    );
    Ok(())
}

/// Returns the shortest of several rounds, in seconds.
fn best(mut round: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
    (0..ROUNDS).try_fold(f64::INFINITY, |best, _| Ok(best.min(round()?)))
}

/// Decides on every event: finds what it would break, with witnesses, and makes it part of the session.
fn lictor(policy: &str, events: &[Event]) -> Result<f64, String> {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).map_err(|problems| problems.to_string())?;
    let mut judge = Judge::new(&loaded.policy).map_err(|problems| format!("{problems:?}"))?;
    let mut session = Session::new(&mut judge, "s");
    let start = Instant::now();
    for event in events {
        let proposal = session.propose(&mut judge, event).map_err(|error| error.to_string())?;
        std::hint::black_box(session.commit(&mut judge, proposal).map_or(0, |found| found.len()));
    }
    Ok(start.elapsed().as_secs_f64())
}

//! Two different people have approved a payment before it is made, with a million payments open.

use std::error::Error;

use lictor_logic::{Observation, Value};

use super::{BATCH, Batch, WatchedTrace};
use crate::random::Random;
use crate::table::{Section, Table, Target};

pub(super) const FORMULA: &str =
    "always forall c. (pays(c) -> exists a, b. (once approves(c, a) & once approves(c, b) & a != b))";

const OPEN: u64 = 1_000_000;
const APPROVERS: u64 = 50;
const EVENTS: usize = 1_024_000;
const ROUNDS: usize = 5;

pub(super) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!(
        "{FORMULA}, {OPEN} payments open with two approvals each, {EVENTS} events: one in ten approves, the others pay"
    ));
    let mut watched = WatchedTrace::new(FORMULA)?;
    let (pays, approves) = (watched.name("pays"), watched.name("approves"));
    let payments: Vec<Value> = (0..OPEN).map(|payment| Value::text(format!("payment-{payment:010}"))).collect();
    let approvers: Vec<Value> = (0..APPROVERS).map(|person| Value::text(format!("clerk{person:03}@bank.eu"))).collect();
    let mut random = Random::new(12);
    let mut observation = Observation::new();
    for payment in &payments {
        let first = random.below(APPROVERS);
        // One in a hundred has a single approval.
        let second = if random.percent(1) { first } else { (first + 1 + random.below(APPROVERS - 1)) % APPROVERS };
        for approver in [first, second] {
            observation.clear();
            observation.push(approves, &[payment.clone(), approvers[approver as usize].clone()]);
            watched.watch.observe(&mut watched.standing, &observation);
        }
    }
    let mut batch = Batch::new();
    let (mut best, mut total, mut broken) = (f64::INFINITY, 0.0, 0);
    for _ in 0..ROUNDS {
        let mut figure = 0.0;
        for _ in 0..EVENTS / BATCH {
            batch.fill(|observation, _| {
                let payment = payments[random.below(OPEN) as usize].clone();
                if random.percent(90) {
                    observation.push(pays, &[payment]);
                } else {
                    observation.push(approves, &[payment, approvers[random.below(APPROVERS) as usize].clone()]);
                }
            });
            let (spent, found) = watched.read(&batch);
            figure += spent / EVENTS as f64;
            broken += found;
        }
        best = best.min(figure);
        total += figure;
    }
    section.time("lictor, mean, batches of 64", total / ROUNDS as f64, format!("{broken} violations"));
    section.target(Target::AtMost(300.0));
    section.time("lictor, best round", best, "");
    table.print(&section);
    Ok(())
}

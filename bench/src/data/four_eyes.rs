//! Two different people have approved a payment before it is made, with a million payments open.

use std::error::Error;

use lictor_logic::{Observation, Value};

use super::Watched;
use crate::measure::once;
use crate::random::Random;
use crate::table::{Section, Table, Target};

pub(super) const FORMULA: &str =
    "always forall c. (pays(c) -> exists a, b. (once approves(c, a) & once approves(c, b) & a != b))";

const OPEN: u64 = 1_000_000;
const APPROVERS: u64 = 50;
const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 5;

pub(super) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!(
        "{FORMULA}, {OPEN} payments open with an approval each, {EVENTS} events: half approve, half pay"
    ));
    let mut watched = Watched::new(FORMULA)?;
    let (pays, approves) = (watched.name("pays"), watched.name("approves"));
    let payments: Vec<Value> = (0..OPEN).map(|payment| Value::text(format!("payment-{payment:010}"))).collect();
    let approvers: Vec<Value> = (0..APPROVERS).map(|person| Value::text(format!("clerk{person:03}@bank.eu"))).collect();
    let mut random = Random::new(12);
    let mut observation = Observation::new();
    for payment in &payments {
        let approver = approvers[random.below(APPROVERS) as usize].clone();
        observation.clear();
        observation.push(approves, &[payment.clone(), approver]);
        watched.watch.observe(&mut watched.standing, &observation);
    }
    let (mut best, mut total, mut broken) = (f64::INFINITY, 0.0, 0);
    for _ in 0..ROUNDS {
        let events: Vec<(bool, u64, u64)> =
            (0..EVENTS).map(|_| (random.percent(50), random.below(OPEN), random.below(APPROVERS))).collect();
        let figure = once(EVENTS, || {
            for (is_payment, payment, approver) in &events {
                observation.clear();
                let payment = payments[*payment as usize].clone();
                if *is_payment {
                    observation.push(pays, &[payment]);
                } else {
                    observation.push(approves, &[payment, approvers[*approver as usize].clone()]);
                }
                broken += watched.watch.observe(&mut watched.standing, &observation).len();
            }
        });
        best = best.min(figure);
        total += figure;
    }
    section.time("lictor, mean", total / ROUNDS as f64, format!("{broken} violations"));
    section.target(Target::AtMost(300.0));
    section.time("lictor, best round", best, "");
    table.print(&section);
    Ok(())
}

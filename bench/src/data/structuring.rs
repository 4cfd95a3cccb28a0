//! At most a fixed sum to one payee in 24 hours, with a hundred thousand payees.

use std::error::Error;

use lictor_logic::{Time, Value};

use super::{BATCH, Batch, WatchedTrace};
use crate::measure::resident;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

pub(super) const FORMULA: &str = "always forall p. ((exists a. pays(p, a)) -> sum[0,24h](a: pays(p, a)) <= 250000)";

const PAYEES: u64 = 100_000;
const EVENTS: u64 = 10_240_000;
/// How many of them lie within 24 hours.
const WINDOW: u64 = 1_024_000;
const DAY: u64 = 86_400_000_000_000;
/// How many are timed together.
const STRETCH: u64 = 512_000;

pub(super) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!(
        "{FORMULA}, {PAYEES} payees with names of 22 characters, {EVENTS} events, {WINDOW} of them in 24 h"
    ));
    let mut watched = WatchedTrace::new(FORMULA)?;
    let pays = watched.name("pays");
    let payees: Vec<Value> = (0..PAYEES).map(|payee| Value::text(format!("DE89370400440532{payee:06}"))).collect();
    let mut random = Random::new(11);
    let mut batch = Batch::new();
    let (mut best, mut total, mut broken) = (f64::INFINITY, 0.0, 0);
    let (start, mut full) = (resident(), 0);
    for stretch in 0..EVENTS / STRETCH {
        let mut figure = 0.0;
        for place in (0..STRETCH).step_by(BATCH) {
            batch.fill(|observation, within| {
                let number = stretch * STRETCH + place + within;
                observation.time = Some(Time((number * (DAY / WINDOW)) as i64));
                let payee = payees[random.below(PAYEES) as usize].clone();
                observation.push(pays, &[payee, Value::Integer(random.below(20_000) as i64)]);
            });
            let (spent, found) = watched.read(&batch);
            figure += spent / STRETCH as f64;
            broken += found;
        }
        // The first window only fills the tables.
        if stretch >= 2 * WINDOW / STRETCH {
            best = best.min(figure);
            total += figure;
        }
        if stretch + 1 == 3 * WINDOW / STRETCH {
            full = resident();
        }
    }
    let counted = (EVENTS / STRETCH - 2 * WINDOW / STRETCH) as f64;
    section.time(
        "lictor, mean behind the first two windows, batches of 64",
        total / counted,
        format!("{broken} violations"),
    );
    section.target(Target::AtMost(300.0));
    section.time("lictor, best stretch", best, "");
    section.figure("memory for the window", (full.saturating_sub(start)) as f64 / 1e6, "MB", "");
    let growth = resident() as f64 / full as f64;
    section.figure("memory at the end to that of a full window", growth, "x", "");
    section.ratio("structuring/memory-at-the-end", growth, Better::Lower);
    section.target(Target::AtMost(1.1));
    table.print(&section);
    Ok(())
}

//! No more than so much to one payee in 24 hours, with a hundred thousand payees.

use std::error::Error;

use lictor_logic::{Observation, Time, Value};

use super::Watched;
use crate::measure::{once, resident};
use crate::random::Random;
use crate::table::{Section, Table, Target};

pub(super) const FORMULA: &str = "always forall p. ((exists a. pays(p, a)) -> sum[0,24h](a: pays(p, a)) <= 100000)";

const PAYEES: u64 = 100_000;
const EVENTS: u64 = 10_000_000;
/// How many of them lie within 24 hours.
const WINDOW: u64 = 1_000_000;
const DAY: u64 = 86_400_000_000_000;
/// How many are timed together.
const STRETCH: u64 = 500_000;

pub(super) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!(
        "{FORMULA}, {PAYEES} payees with names of 22 characters, {EVENTS} events, {WINDOW} of them in 24 h"
    ));
    let mut watched = Watched::new(FORMULA)?;
    let pays = watched.name("pays");
    let payees: Vec<Value> = (0..PAYEES).map(|payee| Value::text(format!("DE89370400440532{payee:06}"))).collect();
    let mut random = Random::new(11);
    let mut observation = Observation::new();
    let (mut best, mut total, mut broken) = (f64::INFINITY, 0.0, 0);
    let (start, mut full) = (resident(), 0);
    let mut events = Vec::with_capacity(STRETCH as usize);
    for stretch in 0..EVENTS / STRETCH {
        events.clear();
        events.extend((0..STRETCH).map(|_| (random.below(PAYEES), random.below(20_000) as i64)));
        let figure = once(STRETCH as usize, || {
            for (place, (payee, amount)) in events.iter().enumerate() {
                let number = stretch * STRETCH + place as u64;
                observation.clear();
                observation.time = Some(Time((number * (DAY / WINDOW)) as i64));
                observation.push(pays, &[payees[*payee as usize].clone(), Value::Integer(*amount)]);
                broken += watched.watch.observe(&mut watched.standing, &observation).len();
            }
        });
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
    section.time("lictor, mean behind the first two windows", total / counted, format!("{broken} violations"));
    section.target(Target::AtMost(300.0));
    section.time("lictor, best stretch", best, "");
    section.figure("memory for the window", (full.saturating_sub(start)) as f64 / 1e6, "MB", "");
    section.figure("memory at the end to that of a full window", resident() as f64 / full as f64, "x", "");
    section.target(Target::AtMost(1.1));
    table.print(&section);
    Ok(())
}

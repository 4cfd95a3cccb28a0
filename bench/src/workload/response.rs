//! One response property over ten million random steps, and whether a step costs more the longer a trace gets.

use std::error::Error;

use lictor_logic::After;

use crate::floor::Automaton;
use crate::letters::Letters;
use crate::measure::{once, per_event};
use crate::ours::Ours;
use crate::peers::{r2u2, rtlola};
use crate::progression;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

const FORMULA: &str = "G(request -> F answer)";
const EVENTS: usize = 1_000_000;
/// How often a fact holds, in percent: so that most positions are empty, and so that all letters are equally frequent.
const QUARTER: u64 = 25;
const HALF: u64 = 50;
/// Length and number of the pieces that are compared early and late in a trace.
const PIECE: usize = 100_000;
const PIECES: usize = 40;
const EARLY: usize = 10_000;
const LATE: usize = 10_000_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let letters = letters(QUARTER);
    let mut section = Section::new(format!("one property, {FORMULA}, ring of {EVENTS} random events, 4 letters"));
    let mut ours = Ours::new(&[FORMULA], After::Latch)?;
    let observations = ours.observations(&letters);
    let names = ours.names(&letters);
    let facts = letters.facts();

    let prepared = per_event(EVENTS, || ours.read_prepared(&observations, &letters.events));
    section.time("lictor, interned facts", prepared, format!("{} states", ours.states()));
    section.target(Target::AtMost(10.0));
    let filled = per_event(EVENTS, || ours.read_filled(&names, &letters.distinct, &letters.events));
    section.time("lictor, interned facts, filled each time", filled, "");
    let dense = self::letters(HALF);
    let dense_observations = ours.observations(&dense);
    let figure = per_event(EVENTS, || ours.read_prepared(&dense_observations, &dense.events));
    section.time("lictor, interned facts, all letters alike", figure, "");
    let strings = per_event(EVENTS, || ours.read_strings(&facts, &letters.events));
    section.time("lictor, facts with strings", strings, "");

    progression::measure(&[FORMULA], &letters, EVENTS, &mut ours, &mut section)?;
    r2u2::measure(r2u2::RESPONSE, &letters, EVENTS, &mut section);
    rtlola::measure::<2>(rtlola::RESPONSE, &letters, EVENTS / 10, &mut section)?;
    let bytes: Vec<u8> = letters.events.iter().map(|event| letters.distinct[*event as usize] as u8).collect();
    let mut automaton = Automaton::response();
    section.time("floor: automaton by hand", per_event(EVENTS, || automaton.read(&bytes)), "");

    section.ratio_of("response/lictor-to-floor", "lictor, interned facts", "floor: automaton by hand", Better::Lower);
    section.ratio_of("response/progression-to-lictor", "plain progression", "lictor, interned facts", Better::Higher);
    section.ratio_of("response/r2u2-to-lictor", r2u2::NAME, "lictor, interned facts", Better::Higher);
    section.ratio_of("response/rtlola-to-lictor", rtlola::NAME, "lictor, interned facts", Better::Higher);
    table.print(&section);
    table.print(&length(&letters)?);
    Ok(())
}

/// Returns letters in which each fact holds with this probability.
fn letters(percent: u64) -> Letters {
    let mut random = Random::new(1);
    let mut fact = move || u64::from(random.percent(percent));
    Letters::draw(&["request", "answer"], EVENTS, || fact() | fact() << 1)
}

/// Measures a step at the beginning of a trace and after ten million steps.
fn length(letters: &Letters) -> Result<Section, Box<dyn Error>> {
    let mut section = Section::new(format!("the same property, cost of a step at step {EARLY} and at step {LATE}"));
    let mut ours = Ours::new(&[FORMULA], After::Latch)?;
    let observations = ours.observations(letters);
    let read = |ours: &mut Ours| once(PIECE, || ours.read_prepared(&observations, &letters.events[..PIECE]));
    let mut early = f64::INFINITY;
    for _ in 0..PIECES {
        ours.restart();
        ours.read_prepared(&observations, &letters.events[..EARLY]);
        early = early.min(read(&mut ours));
    }
    let states = ours.states();
    while ours.standing.positions() < LATE as u64 {
        ours.read_prepared(&observations, &letters.events);
    }
    let late = (0..PIECES).map(|_| read(&mut ours)).fold(f64::INFINITY, f64::min);
    section.time(format!("lictor, from step {EARLY}"), early, format!("{states} states"));
    section.time(format!("lictor, from step {LATE}"), late, format!("{} states", ours.states()));
    section.figure("late / early", late / early, "x", "").target(Target::AtMost(1.1));
    section.ratio("response/late-to-early", late / early, Better::Lower);
    Ok(section)
}

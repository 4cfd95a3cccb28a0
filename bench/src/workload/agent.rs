//! Twenty properties of an agent at once, of the kinds that people write: response, precedence, absence, past, next,
//! until, bounded in steps. All reset, so that every one of them has work to do all the time.

use std::error::Error;

use lictor_logic::After;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::random::Random;
use crate::table::{Section, Table, Target};

const EVENTS: usize = 1_000_000;

const NAMES: [&str; 10] =
    ["request", "answer", "call", "result", "consent", "process", "login", "logout", "error", "alert"];

/// How often each fact is drawn, of a thousand; sometimes a position has none.
const WEIGHTS: [u64; 10] = [150, 150, 200, 200, 30, 50, 40, 30, 30, 40];

/// The properties, and the same without past operators for monitors that have none.
pub(crate) const PROPERTIES: [(&str, &str); 20] = [
    ("G(request -> F answer)", "G(request -> F answer)"),
    ("G(call -> F result)", "G(call -> F result)"),
    ("G(error -> F alert)", "G(error -> F alert)"),
    ("!process W consent", "!process W consent"),
    ("!call W login", "!call W login"),
    ("!result W call", "!result W call"),
    ("G(logout -> N (!call W login))", "G(logout -> N (!call W login))"),
    ("G(login -> (!logout U request))", "G(login -> (!logout U request))"),
    ("G !(call & logout)", "G !(call & logout)"),
    ("G(error -> !answer)", "G(error -> !answer)"),
    ("G(process -> O login)", "!process W login"),
    ("G(answer -> Y O request)", "!answer W (request & !answer)"),
    ("G(call -> (!logout S login))", "(!call W login) & G((logout & !login) -> (!call W login))"),
    ("G(alert -> Y error)", "!alert & G(error | N !alert)"),
    ("G(request -> N !request)", "G(request -> N !request)"),
    ("G(error -> N !process)", "G(error -> N !process)"),
    ("G(request -> F[0,9] answer)", "G(request -> F[0,9] answer)"),
    ("G(login -> G[0,4] !logout)", "G(login -> G[0,4] !logout)"),
    ("G(consent -> (!error U process))", "G(consent -> (!error U process))"),
    ("!alert U error", "!alert U error"),
];

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let letters = letters();
    let mut section = Section::new(format!(
        "{} properties, {} facts, ring of {EVENTS} random events, {} letters",
        PROPERTIES.len(),
        NAMES.len(),
        letters.distinct.len()
    ));
    let texts: Vec<&str> = PROPERTIES.iter().map(|(text, _)| *text).collect();
    let mut ours = Ours::new(&texts, After::Reset)?;
    let observations = ours.observations(&letters);
    let names = ours.names(&letters);
    let facts = letters.facts();
    let tally = ours.tally(&observations, &letters.events);

    let prepared = per_event(EVENTS, || ours.read_prepared(&observations, &letters.events));
    let decided = (tally.satisfied + tally.violated) as f64 / EVENTS as f64;
    section.time("lictor, interned facts", prepared, format!("{} states, {decided:.2} verdicts/event", ours.states()));
    section.target(Target::AtMost(100.0));
    let filled = per_event(EVENTS, || ours.read_filled(&names, &letters.distinct, &letters.events));
    section.time("lictor, interned facts, filled each time", filled, "");
    let strings = per_event(EVENTS, || ours.read_strings(&facts, &letters.events));
    section.time("lictor, facts with strings", strings, "");
    table.print(&section);
    Ok(())
}

/// Mostly one fact at a position, now and then two.
fn letters() -> Letters {
    let mut random = Random::new(2);
    let mut fact = move || 1 << random.weighted(&WEIGHTS) & ((1 << NAMES.len()) - 1);
    let mut random = Random::new(3);
    Letters::draw(&NAMES, EVENTS, || if random.percent(20) { fact() | fact() } else { fact() })
}

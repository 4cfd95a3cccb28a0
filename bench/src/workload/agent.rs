//! Twenty properties of an agent at once, of the kinds that people write: response, precedence, absence, past, next,
//! until, bounded in steps.
//!
//! The trace is a simulated agent that mostly behaves: sessions of tasks, tasks of calls, and some noise. Every property
//! restarts after a violation, and none can be satisfied for good, so that all of them always have work.

use std::error::Error;

use lictor_logic::After;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::peers::{r2u2, rtlola};
use crate::progression;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

const EVENTS: usize = 1_000_000;

const NAMES: [&str; 10] =
    ["request", "answer", "call", "result", "consent", "process", "login", "logout", "error", "alert"];
const REQUEST: u64 = 1;
const ANSWER: u64 = 1 << 1;
const CALL: u64 = 1 << 2;
const RESULT: u64 = 1 << 3;
const CONSENT: u64 = 1 << 4;
const PROCESS: u64 = 1 << 5;
const LOGIN: u64 = 1 << 6;
const LOGOUT: u64 = 1 << 7;
const ERROR: u64 = 1 << 8;
const ALERT: u64 = 1 << 9;

/// The properties, and the same without past operators for monitors that have none.
pub(crate) const PROPERTIES: [(&str, &str); 20] = [
    ("G(request -> F answer)", "G(request -> F answer)"),
    ("G(call -> F (result | error))", "G(call -> F (result | error))"),
    ("G(error -> F alert)", "G(error -> F alert)"),
    ("G(logout -> N (!process W consent))", "G(logout -> N (!process W consent))"),
    ("G(logout -> N (!call W login))", "G(logout -> N (!call W login))"),
    ("G(answer -> N (!answer W request))", "G(answer -> N (!answer W request))"),
    ("G(result -> N (!result W call))", "G(result -> N (!result W call))"),
    ("G(login -> (!logout U request))", "G(login -> (!logout U request))"),
    ("G(consent -> (!error U request))", "G(consent -> (!error U request))"),
    ("G !(call & logout)", "G !(call & logout)"),
    ("G(error -> !answer)", "G(error -> !answer)"),
    ("G !(process & !call)", "G !(process & !call)"),
    ("G(process -> (!logout S consent))", "(!process W consent) & G((logout & !consent) -> (!process W consent))"),
    ("G(call -> (!logout S login))", "(!call W login) & G((logout & !login) -> (!call W login))"),
    (
        "G(answer -> Y (!answer S request))",
        "(!answer W (request & !answer)) & G((answer & !request) -> N (!answer W (request & !answer)))",
    ),
    ("G(alert -> Y error)", "!alert & G(error | N !alert)"),
    ("G(request -> N !request)", "G(request -> N !request)"),
    ("G(error -> N !process)", "G(error -> N !process)"),
    ("G(request -> F[0,12] answer)", "G(request -> F[0,12] answer)"),
    ("G(login -> G[0,2] !logout)", "G(login -> G[0,2] !logout)"),
];

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let letters = letters();
    let mut section = Section::new(format!(
        "{} properties over {} facts, ring of {EVENTS} events of a simulated agent, {} letters",
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
    section.time("lictor, interned facts", prepared, format!("{} states, {tally}", ours.states()));
    section.target(Target::AtMost(100.0));
    let filled = per_event(EVENTS, || ours.read_filled(&names, &letters.distinct, &letters.events));
    section.time("lictor, interned facts, filled each time", filled, "");
    let strings = per_event(EVENTS, || ours.read_strings(&facts, &letters.events));
    section.time("lictor, facts with strings", strings, "");

    let texts: Vec<&str> = PROPERTIES.iter().map(|(_, text)| *text).collect();
    progression::measure(&texts, &letters, EVENTS / 10, &mut ours, &mut section)?;
    r2u2::measure(r2u2::AGENT, &letters, EVENTS / 10, &mut section);
    rtlola::measure::<10>(rtlola::AGENT, &letters, EVENTS / 10, &mut section)?;
    section.ratio_of("agent/progression-to-lictor", "plain progression", "lictor, interned facts", Better::Higher);
    section.ratio_of("agent/r2u2-to-lictor", r2u2::NAME, "lictor, interned facts", Better::Higher);
    section.ratio_of("agent/rtlola-to-lictor", rtlola::NAME, "lictor, interned facts", Better::Higher);
    table.print(&section);
    Ok(())
}

fn letters() -> Letters {
    let mut agent = Agent { random: Random::new(2), queue: Vec::new() };
    Letters::draw(&NAMES, EVENTS, || agent.next())
}

/// The planned actions of the agent, the last first.
struct Agent {
    random: Random,
    queue: Vec<u64>,
}

impl Agent {
    fn next(&mut self) -> u64 {
        if self.queue.is_empty() {
            self.session();
            self.queue.reverse();
        }
        let letter = self.queue.pop().unwrap_or(0);
        match self.random.below(200) {
            0 => 0,
            1 | 2 => letter | 1 << self.random.below(NAMES.len() as u64),
            _ => letter,
        }
    }

    fn session(&mut self) {
        self.queue.push(if self.random.percent(90) { LOGIN | CONSENT } else { LOGIN });
        for _ in 0..=self.random.below(6) {
            self.queue.push(REQUEST);
            for _ in 0..self.random.below(5) {
                self.queue.push(if self.random.percent(25) { CALL | PROCESS } else { CALL });
                if self.random.percent(4) {
                    self.queue.extend([ERROR, ALERT]);
                } else {
                    self.queue.push(RESULT);
                }
            }
            self.queue.push(ANSWER);
        }
        self.queue.push(LOGOUT);
    }
}

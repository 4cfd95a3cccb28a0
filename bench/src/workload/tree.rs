//! The tree-shaped formula on which language models fail: sequences of events that branch in two, four levels deep.
//!
//! An edge is "and strictly later", branching is "or", and all sixteen paths end with the same fact.

use std::error::Error;

use lictor_logic::After;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::progression;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

const EVENTS: usize = 200_000;
const DEPTH: u32 = 4;
/// Facts of the inner nodes and the one at the end of all paths.
const FACTS: u64 = 32;

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = (0..FACTS).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut random = Random::new(5);
    let single = Letters::draw(&names, EVENTS, || 1 << random.below(FACTS));
    // Some thousand letters of several facts, so that the observations stay in the processor's cache.
    let pool: Vec<u64> = (0..1024).map(|_| random.next() & random.next() & random.next() & 0xffff_ffff).collect();
    let several = Letters::draw(&names, EVENTS, || pool[random.below(1024) as usize]);
    table.print(&measure("one fact at a time", &single)?);
    table.print(&measure("several facts at a time", &several)?);
    Ok(())
}

fn measure(title: &str, letters: &Letters) -> Result<Section, Box<dyn Error>> {
    let mut section = Section::new(format!(
        "tree of depth {DEPTH}, {FACTS} facts, {title}, ring of {EVENTS} random events, {} letters",
        letters.distinct.len()
    ));
    let mut ours = Ours::new(&[formula()], After::Reset)?;
    let observations = ours.observations(letters);
    let tally = ours.tally(&observations, &letters.events);
    let figure = per_event(EVENTS, || ours.read_prepared(&observations, &letters.events));
    let usage = ours.monitors.first().and_then(|id| ours.watch.usage(*id));
    let note = usage.map(|usage| {
        format!(
            "{} states, {} transitions, {} clears, {} uncached steps",
            usage.states, usage.transitions, usage.clears, usage.uncached_steps
        )
    });
    section.time("lictor, interned facts", figure, format!("{}, {tally}", note.unwrap_or_default()));
    let plain = progression::measure(&[formula().as_str()], letters, EVENTS / 10, &mut ours, &mut section)?;
    section.figure("plain progression / lictor", plain / figure, "x", "").target(Target::AtLeast(20.0));
    let name = format!("tree/{}/progression-to-lictor", title.replace(' ', "-"));
    section.ratio(name, plain / figure, Better::Higher);
    Ok(section)
}

fn name(node: u64) -> String {
    if node == FACTS - 1 { "f".into() } else { format!("n{node}") }
}

/// `F(a & X F((b1 & X F …) | (b2 & X F …)))`; the children of node n are 2n+1 and 2n+2.
pub(crate) fn formula() -> String {
    format!("F {}", subtree(0, 0))
}

fn subtree(node: u64, level: u32) -> String {
    let rest = if level == DEPTH {
        "f".into()
    } else {
        format!("({} | {})", subtree(2 * node + 1, level + 1), subtree(2 * node + 2, level + 1))
    };
    format!("({} & X F {rest})", name(node))
}

//! A thousand properties of which an event touches five, and ten of which it touches five: what the others cost.

use std::error::Error;

use lictor_logic::After;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::random::Random;
use crate::table::{Section, Table, Target};

const EVENTS: usize = 1_000_000;

/// The properties of one group; every one of them asks for both facts of the group.
fn properties(group: u64) -> [String; 5] {
    [
        format!("G(call{group} -> F answer{group})"),
        format!("G(answer{group} -> Y (!answer{group} S call{group}))"),
        format!("G(call{group} -> N (!call{group} W answer{group}))"),
        format!("G !(call{group} & answer{group})"),
        format!("G(answer{group} -> N (!answer{group} W call{group}))"),
    ]
}

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!("5 properties touched by each of {EVENTS} events in a random group"));
    let few = touched(2, &mut section)?;
    let many = touched(200, &mut section)?;
    section.figure("1,000 properties / 10 properties", many / few, "x", "").target(Target::AtMost(1.5));
    table.print(&section);
    Ok(())
}

fn touched(groups: u64, section: &mut Section) -> Result<f64, Box<dyn Error>> {
    let texts: Vec<String> = (0..groups).flat_map(properties).collect();
    let names: Vec<String> = (0..groups).flat_map(|group| [format!("call{group}"), format!("answer{group}")]).collect();
    let mut random = Random::new(4);
    let mut is_open = vec![false; groups as usize];
    // Calls and answers take turns in their group, but for one in a hundred.
    let mut event = || {
        let group = random.below(groups);
        let open = &mut is_open[group as usize];
        *open = *open == random.percent(1);
        2 * group as u32 + u32::from(!*open)
    };
    let events: Vec<u32> = (0..EVENTS).map(|_| event()).collect();
    let letters = Letters::single(names, events);
    let mut ours = Ours::new(&texts, After::Reset)?;
    let observations = ours.observations(&letters);
    let tally = ours.tally(&observations, &letters.events);
    let figure = per_event(EVENTS, || ours.read_prepared(&observations, &letters.events));
    let note = format!("{} facts, {} states, {tally}", letters.names.len(), ours.states());
    section.time(format!("lictor, {} properties", texts.len()), figure, note);
    Ok(figure)
}

//! A thousand properties of which an event touches five, and ten of which it touches five: what the others cost.

use std::error::Error;

use lictor_logic::After;

use crate::letters::Letters;
use crate::measure::per_event;
use crate::ours::Ours;
use crate::random::Random;
use crate::table::{Section, Table, Target};

const EVENTS: usize = 1_000_000;

/// The properties of one group; every one of them is touched by both facts of the group.
fn group(number: usize) -> [String; 5] {
    [
        format!("G(call{number} -> F answer{number})"),
        format!("G(answer{number} -> O call{number})"),
        format!("G(call{number} -> N (!call{number} W answer{number}))"),
        format!("G !(call{number} & answer{number})"),
        format!("G(answer{number} -> N (!answer{number} W call{number}))"),
    ]
}

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!("5 properties touched by each of {EVENTS} random events"));
    let few = touched(2, &mut section)?;
    let many = touched(200, &mut section)?;
    section.figure("1,000 properties / 10 properties", many / few, "x", "").target(Target::AtMost(1.5));
    table.print(&section);
    Ok(())
}

fn touched(groups: usize, section: &mut Section) -> Result<f64, Box<dyn Error>> {
    let mut random = Random::new(4);
    let names: Vec<String> =
        (0..groups).flat_map(|number| [format!("call{number}"), format!("answer{number}")]).collect();
    let texts: Vec<String> = (0..groups).flat_map(group).collect();
    let mut ours = Ours::new(&texts, After::Reset)?;
    let numbers: Vec<_> = names.iter().map(|name| ours.watch.name(name)).collect();
    let letters = Letters { names, distinct: Vec::new(), events: Vec::new() };
    let observations: Vec<_> = numbers
        .iter()
        .map(|name| {
            let mut observation = lictor_logic::Observation::new();
            observation.push(*name, &[]);
            observation
        })
        .collect();
    let events: Vec<u32> = (0..EVENTS).map(|_| random.below(letters.names.len() as u64) as u32).collect();
    let figure = per_event(EVENTS, || ours.read_prepared(&observations, &events));
    section.time(
        format!("lictor, {} properties", texts.len()),
        figure,
        format!("{} states, {} facts", ours.states(), letters.names.len()),
    );
    Ok(figure)
}

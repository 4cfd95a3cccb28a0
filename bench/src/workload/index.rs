//! A thousand properties of which an event touches five, and ten of which it touches five: the cost of the others.

use std::error::Error;

use lictor_logic::{After, Observation};

use crate::letters::Letters;
use crate::measure::per_event_of_two;
use crate::ours::Ours;
use crate::random::Random;
use crate::table::{Better, Section, Table, Target};

const EVENTS: usize = 1_000_000;

/// Returns the properties of one group; each of them uses both facts of the group.
fn properties(group: u64) -> [String; 5] {
    [
        format!("G(call{group} -> F answer{group})"),
        format!("G(answer{group} -> Y (!answer{group} S call{group}))"),
        format!("G(call{group} -> N (!call{group} W answer{group}))"),
        format!("G !(call{group} & answer{group})"),
        format!("G(answer{group} -> N (!answer{group} W call{group}))"),
    ]
}

/// A watch and the events for it.
struct Groups {
    ours: Ours,
    letters: Letters,
    observations: Vec<Observation>,
}

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!("5 properties touched by each of {EVENTS} events in a random group"));
    let (mut few, mut many) = (Groups::new(2)?, Groups::new(200)?);
    let notes = [few.note(), many.note()];
    let figures = per_event_of_two(EVENTS, || few.read(), || many.read());
    for (groups, figure, note) in [(&few, figures.0, &notes[0]), (&many, figures.1, &notes[1])] {
        section.time(format!("lictor, {} properties", groups.ours.monitors.len()), figure, note);
    }
    section.figure("1,000 properties / 10 properties", figures.1 / figures.0, "x", "").target(Target::AtMost(1.5));
    section.ratio("index/thousand-to-ten-properties", figures.1 / figures.0, Better::Lower);
    table.print(&section);
    Ok(())
}

impl Groups {
    fn new(groups: u64) -> Result<Groups, Box<dyn Error>> {
        let texts: Vec<String> = (0..groups).flat_map(properties).collect();
        let names = (0..groups).flat_map(|group| [format!("call{group}"), format!("answer{group}")]).collect();
        let mut random = Random::new(4);
        let mut is_open = vec![false; groups as usize];
        // Calls and answers take turns in their group, but for one in a hundred.
        let mut event = || {
            let group = random.below(groups);
            let open = &mut is_open[group as usize];
            *open = *open == random.percent(1);
            2 * group as u32 + u32::from(!*open)
        };
        let letters = Letters::single(names, (0..EVENTS).map(|_| event()).collect());
        let mut ours = Ours::new(&texts, After::Reset)?;
        let observations = ours.observations(&letters);
        Ok(Groups { ours, letters, observations })
    }

    fn note(&mut self) -> String {
        let tally = self.ours.tally(&self.observations, &self.letters.events);
        format!("{} facts, {} states, {tally}", self.letters.names.len(), self.ours.states())
    }

    fn read(&mut self) {
        self.ours.read_prepared(&self.observations, &self.letters.events);
    }
}

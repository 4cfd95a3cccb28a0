//! What a trace costs that does nothing: a hundred thousand standings of one watch.

use std::error::Error;

use lictor_logic::After;

use crate::measure::resident;
use crate::ours::Ours;
use crate::table::{Section, Table, Target};
use crate::workload::agent::PROPERTIES;

const SESSIONS: usize = 100_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section = Section::new(format!("memory of {SESSIONS} idle sessions"));
    let texts: Vec<&str> = PROPERTIES.iter().map(|(text, _)| *text).collect();
    for count in [10, 20] {
        let mut ours = Ours::new(&texts[..count], After::Reset)?;
        let before = resident();
        let sessions: Vec<_> = (0..SESSIONS).map(|_| ours.watch.start()).collect();
        let bytes = (resident() - before) as f64 / (SESSIONS * count) as f64;
        section.figure(
            format!("lictor, {count} properties"),
            bytes,
            "bytes/property",
            format!("{:.1} MB for {} sessions", bytes * (SESSIONS * count) as f64 / 1e6, sessions.len()),
        );
        section.target(Target::AtMost(64.0));
    }
    table.print(&section);
    Ok(())
}

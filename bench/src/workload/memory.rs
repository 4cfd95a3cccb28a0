//! The memory of idle sessions, and of a million bindings.
//!
//! Resident memory before and after. Each measurement runs in a separate process, since a process reuses freed memory
//! and would seem to need none.

use std::error::Error;
use std::process::Command;
use std::sync::Arc;

use lictor_logic::{After, Observation};

use crate::measure::resident;
use crate::ours::Ours;
use crate::table::{Section, Table, Target};
use crate::workload::agent;
use crate::workload::subjects::{self, Subject};

const SESSIONS: usize = 100_000;

/// A measurement that returns bytes.
type Weighing = fn() -> Result<usize, Box<dyn Error>>;

/// The measurements, by the name that a separate process gets.
const WEIGHINGS: [(&str, Weighing); 4] = [
    ("sessions-10", || sessions(10)),
    ("sessions-20", || sessions(20)),
    ("bindings-integers", bindings::<i64>),
    ("bindings-strings", bindings::<Arc<str>>),
];

pub(crate) fn run(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut section =
        Section::new(format!("memory of {SESSIONS} idle sessions and of {} bindings", subjects::SUBJECTS));
    for count in [10, 20] {
        let bytes = apart(&format!("sessions-{count}"))? as f64;
        let note = format!("{:.1} MB in all", bytes / 1e6);
        let each = bytes / (SESSIONS * count) as f64;
        section.figure(format!("lictor, sessions of {count} properties"), each, "bytes/property", note);
        section.target(Target::AtMost(64.0));
    }
    for kind in ["integers", "strings"] {
        let bytes = apart(&format!("bindings-{kind}"))? as f64;
        let note = format!("{:.0} bytes/binding, values included", bytes / subjects::SUBJECTS as f64);
        section.figure(format!("lictor, bindings of {kind}"), bytes / 1e6, "MB", note).target(Target::AtMost(100.0));
    }
    table.print(&section);
    Ok(())
}

/// Measures in this process.
pub(crate) fn weigh(name: &str) -> Result<usize, Box<dyn Error>> {
    let weighing = WEIGHINGS.iter().find(|(other, _)| *other == name);
    let (_, weigh) = weighing.ok_or_else(|| format!("nothing to weigh is called `{name}`"))?;
    weigh()
}

/// Measures in another process.
fn apart(name: &str) -> Result<usize, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(["weigh", name]).output()?;
    if !output.status.success() {
        return Err(format!("could not weigh `{name}`: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn sessions(properties: usize) -> Result<usize, Box<dyn Error>> {
    let texts: Vec<&str> = agent::PROPERTIES.iter().map(|(text, _)| *text).take(properties).collect();
    let mut ours = Ours::new(&texts, After::Reset)?;
    let mut sessions = Vec::with_capacity(SESSIONS);
    let before = resident();
    sessions.resize_with(SESSIONS, || ours.watch.start());
    Ok(resident() - before)
}

fn bindings<V: Subject>() -> Result<usize, Box<dyn Error>> {
    let mut ours = Ours::new(&[subjects::FORMULA], After::Reset)?;
    let erasure = ours.watch.name("erasure");
    let mut observation = Observation::new();
    let before = resident();
    for number in 0..subjects::SUBJECTS {
        observation.clear();
        observation.push(erasure, &[V::numbered(number).value()]);
        ours.watch.observe(&mut ours.standing, &observation);
    }
    Ok(resident() - before)
}

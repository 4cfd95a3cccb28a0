//! `lictor learn chain`: learns from logs how the events of an agent follow each other.

use std::io::Write;

use anyhow::Context;
use lictor::judge::Judge;

use crate::args::LearnChainArgs;
use crate::exit::Outcome;
use crate::log_sessions::read_sessions;
use crate::policies;

/// Learns a chain and writes it to a file.
pub(crate) fn run(args: &LearnChainArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (sessions, reading) = read_sessions(&args.traces, &args.reading)?;
    let policy = policies::load(Some(&args.policy), &[])?;
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let chain = judge.learn_chain(sessions.iter().map(|(_, events)| &events[..]))?;
    let path = &args.output;
    std::fs::write(path, chain.to_file()).with_context(|| format!("cannot write {}", path.display()))?;
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    writeln!(
        out,
        "wrote {}: {} sessions, {} events, {} of events, looks at {} before the next",
        path.display(),
        chain.sessions(),
        chain.events(),
        plural(chain.classes(), "class", "classes"),
        plural(chain.order(), "event", "events"),
    )?;
    writeln!(out, "hash {}", chain.hash())?;
    Ok(reading)
}

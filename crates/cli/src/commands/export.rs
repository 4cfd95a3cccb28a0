//! `lictor export`: writes a policy and the facts of traces for other engines.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Context;
use lictor::judge::Judge;
use lictor_translate::export::{ExportedPolicy, FactTrace, dogwood, fact_traces, mfotl, rego};

use crate::args::{ExportArgs, Language};
use crate::complaint;
use crate::exit::Outcome;
use crate::log_sessions::read_sessions;
use crate::policies;

/// Writes the files and reports what is left out.
pub(crate) fn run(args: &ExportArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &args.only)?;
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let (traces, reading) = read_traces(args, &mut judge)?;
    let exported = match args.language {
        Language::Dogwood => dogwood::policy(&policy, &traces),
        Language::Mfotl => mfotl::policy(&policy, &traces),
        Language::Rego => rego::policy(&policy, &traces),
    };
    write(args, exported, out)?;
    Ok(reading)
}

/// Returns the facts of the traces with the outcome of reading them.
fn read_traces(args: &ExportArgs, judge: &mut Judge) -> anyhow::Result<(Vec<FactTrace>, Outcome)> {
    if args.traces.is_empty() {
        return Ok((Vec::new(), Outcome::Compliant));
    }
    let (sessions, reading) = read_sessions(&args.traces, &args.reading)?;
    let traces = fact_traces(judge, sessions.iter().map(|(name, events)| (name.clone(), &events[..])));
    for trace in traces.iter().filter(|trace| trace.unknown > 0) {
        complaint::note(&format!(
            "session {}: {} events have unknown facts; the other engine treats them as false",
            trace.session, trace.unknown
        ));
    }
    Ok((traces, reading))
}

fn write(args: &ExportArgs, exported: ExportedPolicy, out: &mut dyn Write) -> anyhow::Result<()> {
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut names = HashSet::new();
    for (name, text) in &exported.files {
        // Two session names may give the same file name.
        let mut unique = name.clone();
        let mut count = 1;
        while !names.insert(unique.clone()) {
            count += 1;
            unique = format!("{count}-{name}");
        }
        let path = folder.join(&unique);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(out, "{}", path.display())?;
    }
    for left_out in &exported.left_out {
        complaint::note(&format!("left out: {left_out}"));
    }
    Ok(())
}

//! `lictor log`: creates, shows and maintains a ledger.

mod decisions;
mod interventions;
mod record_filter;
mod show;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use lictor_ledger::{Ledger, LedgerOptions, Reader};
use serde_json::json;

use crate::args::{LogArgs, LogCommand};
use crate::exit::Outcome;
use crate::ledger_log::is_ledger;
use record_filter::RecordFilter;
use show::ShownPart;

/// Runs a subcommand.
pub(crate) fn run(args: &LogArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &args.what {
        LogCommand::Create { log, origin, after } => create(log, origin, after.as_deref(), out)?,
        LogCommand::Show { log, from, count, filter, reveal, format } => {
            let reader = open_reader(log)?;
            let filter = RecordFilter::new(filter, &reader)?;
            let part = ShownPart { from: *from, count: count.unwrap_or(usize::MAX), filter, reveal: *reveal };
            show::run(&reader, &part, *format, out)?;
        }
        LogCommand::Decisions { log, filter, format } => {
            let reader = open_reader(log)?;
            decisions::run(&reader, &RecordFilter::new(filter, &reader)?, *format, out)?;
        }
        LogCommand::Interventions { log, format } => interventions::run(&open_reader(log)?, *format, out)?,
        LogCommand::Proof { log, index, since, size } => proof(log, *index, *since, *size, out)?,
        LogCommand::Export { log } => out.write_all(Reader::open(log).checkpoints()?.as_bytes())?,
        LogCommand::Checkpoint { log } => out.write_all(Reader::open(log).checkpoint()?.as_bytes())?,
        LogCommand::Key { log } => writeln!(out, "{}", Reader::open(log).first_key()?)?,
        LogCommand::Rotate { log } => {
            let ledger = Ledger::open(log, options())?;
            let key = ledger.rotate()?;
            ledger.close()?;
            writeln!(out, "{key}")?;
        }
        LogCommand::Drop { log, before } => drop_before(log, before, out)?,
    }
    Ok(Outcome::Compliant)
}

/// Opens a ledger for reading. A folder without a ledger must not look like an empty ledger.
fn open_reader(log: &Path) -> anyhow::Result<Reader> {
    if is_ledger(log) { Ok(Reader::open(log)) } else { Err(no_ledger(log)) }
}

/// Returns the error for a folder without a ledger.
pub(crate) fn no_ledger(folder: &Path) -> anyhow::Error {
    anyhow::anyhow!("{}: no ledger here\nhint: use the folder that was given with `--log`", folder.display())
}

/// Returns the ledger options of the command line: the defaults, with the system clock.
pub(crate) fn options() -> LedgerOptions {
    LedgerOptions::new(jiff::Timestamp::now)
}

fn create(log: &Path, origin: &str, after: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ledger = match after {
        None => Ledger::create(log, origin, options())?,
        Some(path) => {
            let note = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ledger::create_after(log, origin, options(), &note)?
        }
    };
    let key = ledger.reader().first_key()?;
    ledger.close()?;
    writeln!(out, "{key}")?;
    Ok(())
}

/// Prints a proof with everything needed to check it: the hash of the record or the older root, and the root.
fn proof(
    log: &Path,
    index: Option<u64>,
    since: Option<u64>,
    size: Option<u64>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let reader = Reader::open(log);
    let size = size.map_or_else(|| reader.size(), Ok)?;
    let list = |hashes: Vec<lictor_ledger::Hash>| hashes.iter().map(ToString::to_string).collect::<Vec<_>>();
    let document = match (index, since) {
        (Some(index), _) => json!({
            "lictor": 1,
            "kind": "inclusion",
            "index": index,
            "size": size,
            "leaf": reader.record(index)?.hash().to_string(),
            "root": reader.root(size)?.to_string(),
            "proof": list(reader.prove_inclusion(index, size)?),
        }),
        (None, Some(old)) => json!({
            "lictor": 1,
            "kind": "consistency",
            "old": old,
            "old_root": reader.root(old)?.to_string(),
            "size": size,
            "root": reader.root(size)?.to_string(),
            "proof": list(reader.prove_consistency(old, size)?),
        }),
        (None, None) => bail!("name a record by its index, or an older size with --since"),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

fn drop_before(log: &Path, before: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let Ok(time) = before.parse() else {
        bail!("--before {before}: not a time; write it like 2026-05-01T00:00:00Z");
    };
    let ledger = Ledger::open(log, options())?;
    let first = ledger.drop_before(time)?;
    ledger.close()?;
    writeln!(out, "records from {first} on are kept")?;
    Ok(())
}

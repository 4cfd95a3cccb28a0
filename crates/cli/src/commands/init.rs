//! `lictor init`: writes a starter policy, or a first policy from a log.

mod from_log;

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;
use lictor::report::escape_hidden;

use crate::args::InitArgs;
use crate::commands::inspect::inspect;
use crate::complaint;
use crate::exit::Outcome;

const POLICY: &str = include_str!("init/lictor.yaml");

/// Writes a policy file, unless there is one.
pub(crate) fn run(args: &InitArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let path = &args.path;
    let mut outcome = Outcome::Compliant;
    let policy = match args.from.is_empty() {
        true => POLICY.replacen("lictor.yaml", &escape_hidden(&path.display().to_string()), 1),
        false => {
            let inspected = inspect(&args.from, None, None)?;
            if !inspected.inventory.faults.is_empty() {
                complaint::warn("the policy says nothing about what could not be read of the logs");
                outcome = Outcome::Unjudged;
            }
            from_log::write_policy(&inspected, &args.from.join(", "))
        }
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(|| {
        format!("cannot write {}; if it is there already, name another file: lictor init FILE", path.display())
    })?;
    file.write_all(policy.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "wrote {0}; next: lictor check {0}, then lictor audit --policy {0} YOUR-LOG.jsonl", path.display())?;
    Ok(outcome)
}

//! `lictor init`: writes a starter policy.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;

use crate::args::InitArgs;
use crate::exit::Outcome;

const POLICY: &str = include_str!("init/lictor.yaml");

/// Writes a policy file, unless there is one.
pub(crate) fn run(args: &InitArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let path = &args.path;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(|| {
        format!("cannot write {}; if it is there already, name another file: lictor init FILE", path.display())
    })?;
    file.write_all(POLICY.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "wrote {0}; next: lictor check {0}, then lictor audit --policy {0} YOUR-LOG.jsonl", path.display())?;
    Ok(Outcome::Compliant)
}

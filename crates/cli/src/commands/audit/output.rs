//! The file of a report must not be one of the files that the audit reads.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lictor::input::Input;

use crate::args::AuditArgs;
use crate::ledger_log;
use crate::policies;

/// Returns an error if the report would overwrite a file that the audit reads: a log is evidence. Links are followed.
pub(super) fn refuse_input<'a>(
    output: &Path,
    args: &AuditArgs,
    inputs: impl Iterator<Item = &'a Input>,
) -> anyhow::Result<()> {
    // A terminal or a pipe may be input and output at once.
    if !fs::metadata(output).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    let refuse = |role: &str| {
        bail!("-o {}: the report would overwrite {role} that this audit reads; name another file", output.display())
    };
    let is_output = |path: &Path| is_same_file(path, output);
    let mut names = args.traces.iter().chain(&args.join);
    if inputs.filter_map(Input::path).any(is_output) || names.any(|name| holds_output(name, output)) {
        return refuse("a log");
    }
    let policy = args.policy.as_deref().unwrap_or(policies::DEFAULT_FILE);
    if policies::files(policy).iter().any(|(path, _)| is_output(path)) {
        return refuse("a policy file");
    }
    if args.baseline.as_deref().is_some_and(is_output) {
        return refuse("the baseline");
    }
    if args.history.as_deref().is_some_and(is_output) {
        return refuse("the history");
    }
    Ok(())
}

/// Whether the output is what is given as standard input, or a file of the ledger of this name.
fn holds_output(name: &str, output: &Path) -> bool {
    if name == "-" {
        return is_same_file(Path::new("/dev/stdin"), output);
    }
    let canonical = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    let ledger = Some(Path::new(name)).filter(|path| ledger_log::is_ledger(path)).and_then(canonical);
    ledger.zip(canonical(output)).is_some_and(|(ledger, output)| output.starts_with(ledger))
}

/// Whether two paths lead to one file, also through symbolic and hard links.
#[cfg(unix)]
fn is_same_file(left: &Path, right: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identify = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    identify(left).is_some_and(|left| identify(right) == Some(left))
}

/// Whether two paths lead to one file, also through symbolic links.
#[cfg(not(unix))]
fn is_same_file(left: &Path, right: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    canonical(left).is_some_and(|left| canonical(right) == Some(left))
}

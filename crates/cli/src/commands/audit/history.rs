//! The file with histories across sessions, kept between audits.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use lictor::judge::{Judge, SavedHistories};
use lictor::policy::History;

/// Restores the histories of a file; a missing file is an empty history.
pub(super) fn restore(judge: &mut Judge, path: &Path) -> anyhow::Result<()> {
    if judge.properties().iter().all(|property| property.history == History::Session) {
        bail!(
            "--history {}: no property of the policy looks beyond the session; give one `history: subject`, \
             `principal`, `agent` or `global`",
            path.display()
        );
    }
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let saved: SavedHistories =
        serde_json::from_slice(&text).with_context(|| format!("{}: not histories of an audit", path.display()))?;
    judge.restore_histories(&saved).with_context(|| {
        format!("cannot go on with {}; audit with the policy it was kept by, or name another file", path.display())
    })
}

/// Replaces the file atomically, so that a crash leaves the old histories.
pub(super) fn save(judge: &Judge, path: &Path) -> anyhow::Result<()> {
    let say = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(say)?;
    serde_json::to_writer(&mut file, &judge.save_histories()).with_context(say)?;
    file.flush().with_context(say)?;
    file.as_file().sync_all().with_context(say)?;
    file.persist(path).with_context(say)?;
    Ok(())
}

//! The file with the key that signs checkpoints, and the condition under which files with keys are used at all.

use std::fs;
use std::path::Path;

use zeroize::Zeroizing;

use crate::disk::{self, Disk};
use crate::error::LedgerError;
use crate::note::Signer;

/// The folder with all that is secret.
pub(crate) const KEYS: &str = "keys";

/// The key that signs.
pub(crate) const SIGNING: &str = "keys/signing";

/// The key that will sign, while one takes the place of another or a ledger is being created.
pub(crate) const NEXT: &str = "keys/signing-next";

/// The keys of subjects.
pub(crate) const SUBJECTS: &str = "keys/subjects";

/// Refuses a file that others than its owner could read.
pub(crate) fn check_private(path: &Path) -> Result<(), LedgerError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = fs::metadata(path).map_err(|error| LedgerError::file("read the key", path, error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(LedgerError::refused(format!(
                "{path}: others than its owner may read this key (mode {mode:o}), so it proves nothing\nhint: chmod 600 \
                 {path}, and rotate the key if somebody may have read it",
                path = path.display()
            )));
        }
    }
    Ok(())
}

/// Reads the key that signs.
pub(crate) fn load(path: &Path) -> Result<Signer, LedgerError> {
    check_private(path)?;
    let text = fs::read_to_string(path).map_err(|error| LedgerError::file("read the key", path, error))?;
    Signer::from_text(&Zeroizing::new(text))
        .ok_or_else(|| LedgerError::refused(format!("{}: this is no signing key of a ledger", path.display())))
}

/// Writes a key, readable by its owner only.
pub(crate) fn save(disk: &dyn Disk, path: &Path, signer: &Signer) -> Result<(), LedgerError> {
    disk::replace(disk, path, signer.to_text().as_bytes(), true)
}

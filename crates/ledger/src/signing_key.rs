//! The signing key in its file, and the check that key files are private.

use std::fs;
use std::path::Path;

use zeroize::Zeroizing;

use crate::disk::{self, Disk};
use crate::error::LedgerError;
use crate::note::Signer;

/// The folder of all secrets.
pub(crate) const KEYS_FOLDER: &str = "keys";

/// The file with the key that signs checkpoints.
pub(crate) const SIGNING_KEY_FILE: &str = "keys/signing";

/// The file with the next key, during a rotation or the creation of a ledger.
pub(crate) const NEXT_KEY_FILE: &str = "keys/signing-next";

/// The file with the keys of subjects.
pub(crate) const SUBJECT_KEYS_FILE: &str = "keys/subjects";

/// Returns an error if other users can read the file.
pub(crate) fn check_private(path: &Path) -> Result<(), LedgerError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = fs::metadata(path).map_err(|error| LedgerError::file("read the key", path, error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(LedgerError::refused(format!(
                "{path}: the key file is readable by other users (mode {mode:o})\nhint: chmod 600 {path}, and rotate the key \
                 if it may have been read",
                path = path.display()
            )));
        }
    }
    Ok(())
}

/// Reads a signing key.
pub(crate) fn load(path: &Path) -> Result<Signer, LedgerError> {
    check_private(path)?;
    let text = fs::read_to_string(path).map_err(|error| LedgerError::file("read the key", path, error))?;
    Signer::from_text(&Zeroizing::new(text))
        .ok_or_else(|| LedgerError::refused(format!("{}: not a ledger signing key", path.display())))
}

/// Writes a key, readable by its owner only.
pub(crate) fn save(disk: &dyn Disk, path: &Path, signer: &Signer) -> Result<(), LedgerError> {
    disk::replace_file(disk, path, signer.to_text().as_bytes(), true)
}

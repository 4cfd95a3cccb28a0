//! Segments: the files with the records, one record per line, each named after the index of its first record.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{LedgerError, LedgerFault};

/// The folder of the segments, below the folder of the ledger.
pub(crate) const FOLDER: &str = "records";

/// The file with the notices of dropped segments.
pub(crate) const NOTICES_FILE: &str = "notices.jsonl";

/// Returns the path of a segment below the folder of the ledger.
pub(crate) fn path(first: u64) -> String {
    format!("{FOLDER}/{first:020}.jsonl")
}

/// Returns the first index of each segment, in order.
pub(crate) fn list(folder: &Path) -> Result<Vec<u64>, LedgerError> {
    let folder = folder.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LedgerError::file("list", &folder, error)),
    };
    let mut firsts = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| LedgerError::file("list", &folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let first = name.strip_suffix(".jsonl").filter(|stem| stem.len() == 20).and_then(|stem| stem.parse().ok());
        match first {
            Some(first) => firsts.push(first),
            None => {
                let message =
                    "unexpected file: only segments like `00000000000000000000.jsonl` belong here; move it elsewhere"
                        .to_owned();
                return Err(LedgerFault { file: format!("{FOLDER}/{name}"), line: 0, index: None, message }.into());
            }
        }
    }
    firsts.sort_unstable();
    Ok(firsts)
}

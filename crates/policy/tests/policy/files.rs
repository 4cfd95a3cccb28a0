//! Policies from files: their content, and the messages about mistakes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod golden;
mod hostile;
mod lint;
mod meaning;

use std::fs;
use std::path::Path;

/// Returns how the messages about a policy differ from its golden file; with `LICTOR_BLESS` writes that file.
fn differs(policy: &Path, said: String) -> Option<String> {
    let golden = policy.with_extension("txt");
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    if said == expected {
        return None;
    }
    if std::env::var_os("LICTOR_BLESS").is_some() {
        fs::write(&golden, said).unwrap();
        return None;
    }
    let name = policy.file_name().unwrap().to_string_lossy();
    Some(format!("--- {name} expected\n{expected}--- {name} now\n{said}"))
}

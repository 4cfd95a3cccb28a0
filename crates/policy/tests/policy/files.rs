//! Policies from files: what is read, and what is said about mistakes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod golden;
mod hostile;
mod lint;
mod meaning;

use std::fs;
use std::path::Path;

/// How what is said about a policy differs from the golden file beside it; with `LICTOR_BLESS` it is written there.
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

//! What our side has written: exported policies, traces and verdicts, in a folder that `cargo xtask peers` makes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The variable that names the folder.
pub const VARIABLE: &str = "LICTOR_PEER_CASES";

/// The violations of a trace: the place of the event from zero, and the property that it breaks.
pub type Verdicts = BTreeSet<(usize, String)>;

/// An exported policy, and traces that we judged by it.
#[derive(Clone, Debug, Deserialize)]
pub struct PeerCase {
    /// The name of the policy.
    pub policy: String,
    /// The exported files, by name.
    pub files: Vec<(String, String)>,
    /// The properties of the policy.
    pub properties: Vec<String>,
    /// The properties that the other language cannot express.
    pub left_out: Vec<String>,
    /// The traces.
    pub traces: Vec<JudgedTrace>,
}

/// A trace with our verdicts.
#[derive(Clone, Debug, Deserialize)]
pub struct JudgedTrace {
    /// Its title.
    pub title: String,
    /// Whether it must be without violations.
    pub is_lawful: bool,
    /// Its events as we read them.
    pub lines: String,
    /// Its events as the other engine reads them.
    pub input: String,
    /// The violations that we found.
    pub verdicts: Verdicts,
}

/// Returns the folder of our side.
pub fn folder() -> Result<PathBuf, String> {
    let hint = "hint: `cargo xtask peers` writes the cases and runs these tests on them";
    let folder = std::env::var_os(VARIABLE).ok_or_else(|| format!("{VARIABLE} is not set\n  {hint}"))?;
    Ok(PathBuf::from(folder))
}

/// Reads one file of that folder.
pub fn read<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    let path = folder()?.join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

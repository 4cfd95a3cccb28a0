//! Loads policies: from a file, packs, or the current folder.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lictor::glob::Glob;
use lictor::judge::{Foresight, Judge};
use lictor::pack;
use lictor::policy::{FileResolver, LoadedPolicy, Policy, PolicyText, Problem, ResolvedFile, Resolver};

use crate::complaint;

/// The policy file that is used without `--policy`.
pub(crate) const DEFAULT_FILE: &str = "lictor.yaml";

/// The pack that is used without `--policy` and without a `lictor.yaml`.
const DEFAULT_PACK: &str = "agent-safety";

/// The packs by which a coding agent is judged without `--policy` and without a `lictor.yaml`.
const HOOK_PACKS: &str = "agent-safety,coding-agent";

/// Loads a policy: a file, or comma-separated pack names. Prints its warnings.
pub(crate) fn load(name: Option<&str>, only: &[String]) -> anyhow::Result<Policy> {
    let name = match name {
        Some(name) => name,
        None if Path::new(DEFAULT_FILE).is_file() => DEFAULT_FILE,
        None => {
            complaint::note(&format!("no --policy and no lictor.yaml: judging by the pack {DEFAULT_PACK}"));
            DEFAULT_PACK
        }
    };
    let mut policy = load_named(name)?;
    if !only.is_empty() {
        let wanted: Vec<Glob> = only.iter().map(|name| Glob::new(name)).collect();
        let all: Vec<String> = policy.properties.iter().map(|property| property.id.to_string()).collect();
        policy.properties.retain(|property| wanted.iter().any(|glob| glob.matches(&property.id)));
        if policy.properties.is_empty() {
            bail!("--only {}: no such property; available: {}", only.join(" "), all.join(", "));
        }
    }
    Ok(policy)
}

/// Returns the policy of a coding agent's folder: its `lictor.yaml`, or the packs for coding agents if there is none. An unreadable file, such as
/// a dangling link, is returned as well, so that loading it reports the error.
pub(crate) fn find_in_folder(folder: &Path) -> String {
    let file = folder.join(DEFAULT_FILE);
    if file.symlink_metadata().is_ok() { file.display().to_string() } else { HOOK_PACKS.to_owned() }
}

/// Returns the files of a policy with their present content; none for packs.
pub(crate) fn files(name: &str) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    struct RecordingResolver(RefCell<Vec<PathBuf>>);
    impl Resolver for RecordingResolver {
        fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String> {
            let found = FileResolver.file(path, from)?;
            self.0.borrow_mut().push(PathBuf::from(&found.name));
            Ok(found)
        }

        fn pages(&self, path: &str, from: &str) -> Option<Vec<String>> {
            FileResolver.pages(path, from)
        }
    }
    let resolver = RecordingResolver(RefCell::new(Vec::new()));
    if let Ok(text) = std::fs::read_to_string(name) {
        resolver.0.borrow_mut().push(PathBuf::from(name));
        // Errors in the policy are reported when it is loaded.
        let _ = Policy::parse(&text, name, &resolver);
    }
    resolver
        .0
        .into_inner()
        .into_iter()
        .map(|path| (std::fs::read(&path).ok(), path))
        .map(|(text, path)| (path, text))
        .collect()
}

fn load_named(name: &str) -> anyhow::Result<Policy> {
    let loaded = load_with_warnings(name)?;
    for warning in loaded.warnings.iter() {
        complaint::say(&warning.to_string());
    }
    Ok(loaded.policy)
}

/// Loads a policy, a file or comma-separated pack names, with its warnings.
pub(crate) fn load_with_warnings(name: &str) -> anyhow::Result<LoadedPolicy> {
    let path = Path::new(name);
    let loaded = match path.is_file() {
        true => Policy::load(path),
        false => Policy::parse(&compose_packs(name)?, name, &FileResolver),
    };
    loaded.map_err(|problems| UnusablePolicy(problems.to_string()).into())
}

/// Whether a name consists of pack names, with commas between them.
pub(crate) fn names_packs(name: &str) -> bool {
    pack::compose_policy(name).is_ok()
}

/// Returns the text of a policy that uses the packs of a name.
fn compose_packs(name: &str) -> anyhow::Result<String> {
    pack::compose_policy(name).map_err(|error| {
        let has_file = name.split(',').any(|part| Path::new(part.trim()).is_file());
        match has_file {
            true => anyhow::anyhow!(
                "{error}\nhint: several names are packs; to combine files, write a policy that lists them under `uses:`"
            ),
            false => anyhow::Error::msg(error),
        }
    })
}

/// Returns the text of a policy: of a file, or one that uses packs.
pub(crate) fn load_text(name: &str) -> anyhow::Result<PolicyText> {
    match std::fs::read_to_string(name) {
        Ok(text) => Ok(PolicyText::new(name, &text)),
        Err(_) => Ok(PolicyText::new(name, &compose_packs(name)?)),
    }
}

/// The problems that make a policy unusable, each shown at its place.
#[derive(Debug)]
pub(crate) struct UnusablePolicy(String);

impl fmt::Display for UnusablePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnusablePolicy {}

/// Returns the forecasts that a policy asks for; none if it asks for none.
pub(crate) fn open_foresight(judge: &Judge, policy: &Policy) -> anyhow::Result<Option<Foresight>> {
    Foresight::open(judge, policy).map_err(|problem| unusable(&[*problem]))
}

/// Returns the error of a policy with these problems.
pub(crate) fn unusable(problems: &[Problem]) -> anyhow::Error {
    UnusablePolicy(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")).into()
}

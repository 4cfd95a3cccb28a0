//! The policy that was asked for: a file, a pack, or what lies in the current folder.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lictor::glob::Glob;
use lictor::pack;
use lictor::policy::{FileResolver, Policy, PolicyText, Problem, ResolvedFile, Resolver};

use crate::complaint;

/// The policy that is used if nothing else is said and no `lictor.yaml` lies here.
const BY_DEFAULT: &str = "agent-safety";

/// Loads a policy: a file, or packs by their names with commas between them. Warnings are said aloud.
pub(crate) fn load(asked: Option<&str>, only: &[String]) -> anyhow::Result<Policy> {
    let asked = match asked {
        Some(asked) => asked,
        None if Path::new("lictor.yaml").is_file() => "lictor.yaml",
        None => {
            complaint::note(&format!("no --policy and no lictor.yaml: judging by the pack {BY_DEFAULT}"));
            BY_DEFAULT
        }
    };
    let mut policy = named(asked)?;
    if !only.is_empty() {
        let wanted: Vec<Glob> = only.iter().map(|name| Glob::new(name)).collect();
        let all: Vec<String> = policy.properties.iter().map(|property| property.id.to_string()).collect();
        policy.properties.retain(|property| wanted.iter().any(|glob| glob.matches(&property.id)));
        if policy.properties.is_empty() {
            bail!("--only {}: no such property; the policy has {}", only.join(" "), all.join(", "));
        }
    }
    Ok(policy)
}

/// The policy of a folder: its `lictor.yaml`, or the pack that is used where there is none. One that is there and cannot be
/// read, a link that leads nowhere say, is not none: whoever loads it is told.
pub(crate) fn of_folder(folder: &Path) -> String {
    let file = folder.join("lictor.yaml");
    if file.symlink_metadata().is_ok() { file.display().to_string() } else { BY_DEFAULT.to_owned() }
}

/// The files that a policy is made of, as they are now; none for packs alone.
pub(crate) fn files(asked: &str) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    struct Noted(RefCell<Vec<PathBuf>>);
    impl Resolver for Noted {
        fn file(&self, path: &str, from: &str) -> Result<ResolvedFile, String> {
            let found = FileResolver.file(path, from)?;
            self.0.borrow_mut().push(PathBuf::from(&found.name));
            Ok(found)
        }
    }
    let noted = Noted(RefCell::new(Vec::new()));
    if let Ok(text) = std::fs::read_to_string(asked) {
        noted.0.borrow_mut().push(PathBuf::from(asked));
        // Whether it can be read as a policy is for others to say.
        let _ = Policy::parse(&text, asked, &noted);
    }
    noted
        .0
        .into_inner()
        .into_iter()
        .map(|path| (std::fs::read(&path).ok(), path))
        .map(|(text, path)| (path, text))
        .collect()
}

fn named(asked: &str) -> anyhow::Result<Policy> {
    let path = Path::new(asked);
    let loaded = match path.is_file() {
        true => Policy::load(path),
        false => Policy::parse(&pack::compose_policy(asked).map_err(anyhow::Error::msg)?, asked, &FileResolver),
    };
    match loaded {
        Ok(loaded) => {
            for warning in loaded.warnings.iter() {
                complaint::say(&warning.to_string());
            }
            Ok(loaded.policy)
        }
        Err(problems) => bail!("{problems}"),
    }
}

/// The text of a policy: a file, or one that uses packs.
pub(crate) fn source(asked: &str) -> anyhow::Result<PolicyText> {
    match std::fs::read_to_string(asked) {
        Ok(text) => Ok(PolicyText::new(asked, &text)),
        Err(_) => Ok(PolicyText::new(asked, &pack::compose_policy(asked).map_err(anyhow::Error::msg)?)),
    }
}

/// Problems, one below the other.
pub(crate) fn render(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

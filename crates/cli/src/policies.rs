//! The policy that was asked for: a file, a pack, or what lies in the current folder.

use std::path::Path;

use anyhow::bail;
use lictor::glob::Glob;
use lictor::pack;
use lictor::policy::{Files, Policy, Problem, Source};

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

fn named(asked: &str) -> anyhow::Result<Policy> {
    let path = Path::new(asked);
    let loaded = match path.is_file() {
        true => Policy::load(path),
        false => Policy::parse(&pack::using(asked).map_err(anyhow::Error::msg)?, asked, &Files),
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
pub(crate) fn source(asked: &str) -> anyhow::Result<Source> {
    match std::fs::read_to_string(asked) {
        Ok(text) => Ok(Source::new(asked, &text)),
        Err(_) => Ok(Source::new(asked, &pack::using(asked).map_err(anyhow::Error::msg)?)),
    }
}

/// Problems, one below the other.
pub(crate) fn render(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

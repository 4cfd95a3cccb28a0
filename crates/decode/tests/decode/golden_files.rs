//! The formats with golden files, and the files of each.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use lictor_decode::Format;

/// Which tests a format has beside those of all formats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatFamily {
    /// Exchanges of models and protocols, tested in `wire`.
    Exchange,
    /// Logs of agent frameworks and model interfaces, tested in `logs::frameworks`.
    Framework,
    /// Spans, sessions of coding agents, runs of benchmarks.
    Other,
}

/// The only list of formats with golden files.
const GOLDEN_FORMATS: [(&str, FormatFamily); 34] = [
    ("a2a", FormatFamily::Exchange),
    ("anthropic", FormatFamily::Exchange),
    ("anthropic-agents", FormatFamily::Exchange),
    ("mcp", FormatFamily::Exchange),
    ("openai-chat", FormatFamily::Exchange),
    ("openai-responses", FormatFamily::Exchange),
    ("adk", FormatFamily::Framework),
    ("autogen", FormatFamily::Framework),
    ("bedrock", FormatFamily::Framework),
    ("gemini", FormatFamily::Framework),
    ("gemini-cli", FormatFamily::Framework),
    ("haystack", FormatFamily::Framework),
    ("inspect", FormatFamily::Framework),
    ("jaeger", FormatFamily::Framework),
    ("langchain", FormatFamily::Framework),
    ("openai-assistants", FormatFamily::Framework),
    ("openhands", FormatFamily::Framework),
    ("pydantic-ai", FormatFamily::Framework),
    ("semantic-kernel", FormatFamily::Framework),
    ("smolagents", FormatFamily::Framework),
    ("swe-agent", FormatFamily::Framework),
    ("vercel", FormatFamily::Framework),
    ("actions", FormatFamily::Other),
    ("agentdojo", FormatFamily::Other),
    ("claude-code", FormatFamily::Other),
    ("codex", FormatFamily::Other),
    ("langfuse", FormatFamily::Other),
    ("langsmith", FormatFamily::Other),
    ("openai-agents", FormatFamily::Other),
    ("openinference", FormatFamily::Other),
    ("otlp", FormatFamily::Other),
    ("tau-bench", FormatFamily::Other),
    ("toolemu", FormatFamily::Other),
    ("xes", FormatFamily::Other),
];

/// The formats of the families that are wanted, with their golden files.
pub(crate) fn golden_files(is_wanted: impl Fn(FormatFamily) -> bool) -> Vec<(Format, PathBuf)> {
    let wanted = GOLDEN_FORMATS.iter().filter(|(_, family)| is_wanted(*family));
    wanted.flat_map(|(name, _)| list_files(Format::named(name).unwrap())).collect()
}

/// The formats of the exchanges.
pub(crate) fn exchange_formats() -> Vec<Format> {
    let exchanges = GOLDEN_FORMATS.iter().filter(|(_, family)| *family == FormatFamily::Exchange);
    exchanges.map(|(name, _)| Format::named(name).unwrap()).collect()
}

/// The files of a format without those that hold the events of another.
fn list_files(format: Format) -> Vec<(Format, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format.name());
    let found = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension != "events"));
    files.sort();
    assert!(!files.is_empty(), "no golden files in {}", folder.display());
    files.into_iter().map(|file| (format, file)).collect()
}

#[test]
fn golden_files_cover_every_format() {
    let listed = |format: &Format| GOLDEN_FORMATS.iter().any(|(name, _)| *name == format.name());
    let missing: Vec<&Format> = Format::ALL.iter().filter(|format| !listed(format)).collect();
    // Its lines are tested by themselves.
    assert_eq!(missing, [&Format::Native]);
}

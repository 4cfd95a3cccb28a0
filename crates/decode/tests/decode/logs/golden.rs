//! Files of our own, each with its events beside it in `NAME.events`. `LICTOR_BLESS=1` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};

use lictor_decode::Format;
use lictor_json::Json;

use crate::reader::{decode, lines, records};

/// The formats whose folders are tested here.
pub(crate) const FORMATS: [&str; 26] = [
    "bedrock",
    "vercel",
    "otlp",
    "openinference",
    "langfuse",
    "langsmith",
    "openai-agents",
    "claude-code",
    "codex",
    "xes",
    "agentdojo",
    "tau-bench",
    "toolemu",
    "actions",
    "langchain",
    "pydantic-ai",
    "gemini",
    "adk",
    "swe-agent",
    "openhands",
    "inspect",
    "jaeger",
    "autogen",
    "semantic-kernel",
    "gemini-cli",
    "openai-assistants",
];

pub(crate) fn files(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format);
    let found = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension != "events"));
    files.sort();
    assert!(!files.is_empty(), "no golden files in {}", folder.display());
    files
}

/// The format that records are taken for.
pub(crate) fn detected(records: &[(u32, Json)]) -> Option<Format> {
    let first: Vec<Json> = records.iter().take(20).map(|(_, value)| value.clone()).collect();
    Format::detect(&first)
}

#[test]
fn golden_logs_are_detected_and_decoded() {
    let bless = std::env::var_os("LICTOR_BLESS").is_some();
    let mut wrong = Vec::new();
    for (format, file) in FORMATS.iter().flat_map(|format| files(format).into_iter().map(move |file| (format, file))) {
        let records = records(&file);
        let found = detected(&records);
        let name = file.file_name().unwrap().to_string_lossy();
        // Some logs are read by option only.
        let wanted = (!name.starts_with("undetected-")).then_some(*format);
        if found.map(Format::name) != wanted {
            wrong.push(format!("{} is taken for {found:?}", file.display()));
        }
        let events = lines(&decode(Format::named(format).unwrap(), &name, &records));
        let beside = file.with_extension("events");
        if bless {
            fs::write(&beside, &events).unwrap();
        }
        if fs::read_to_string(&beside).unwrap_or_default() != events {
            wrong.push(format!("{} has other events than {}:\n{events}", file.display(), beside.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

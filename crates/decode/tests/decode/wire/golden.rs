//! Files of each format with the events that must come out of them, line by line.
//!
//! `LICTOR_BLESS=1` writes what comes out now; read the difference before you keep it.

use std::path::{Path, PathBuf};

use lictor_decode::Format;

use crate::reader::{decode, lines, records};

pub(crate) const FORMATS: [&str; 6] =
    ["openai-chat", "openai-responses", "anthropic", "anthropic-agents", "mcp", "a2a"];

/// The files of a format that are not what must come out of another.
pub(crate) fn files(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending != "events")).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

#[test]
fn golden_exchanges_are_decoded() {
    let mut wrong = Vec::new();
    for (name, path) in FORMATS.iter().flat_map(|name| files(name).into_iter().map(move |path| (*name, path))) {
        let format = Format::named(name).unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        let found = lines(&decode(format, file, &records(&path)));
        let beside = path.with_extension("events");
        if std::env::var_os("LICTOR_BLESS").is_some() {
            std::fs::write(&beside, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&beside).unwrap_or_default();
        if found != wanted {
            wrong.push(format!("{name}/{file}: wanted\n{wanted}found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn golden_exchanges_are_detected() {
    for (name, path) in FORMATS.iter().flat_map(|name| files(name).into_iter().map(move |path| (*name, path))) {
        let values: Vec<_> = records(&path).into_iter().map(|(_, value)| value).collect();
        let found = Format::detect(&values).map(Format::name);
        assert_eq!(found, Some(name), "{}", path.display());
    }
}

#[test]
fn decoders_survive_files_of_other_formats() {
    let all: Vec<PathBuf> = FORMATS.iter().flat_map(|name| files(name)).collect();
    for path in &all {
        let records = records(path);
        for name in FORMATS {
            let out = decode(Format::named(name).unwrap(), "file", &records);
            assert!(
                !out.events.is_empty() || !out.faults.is_empty() || records.is_empty(),
                "{} as {name}",
                path.display()
            );
        }
    }
}

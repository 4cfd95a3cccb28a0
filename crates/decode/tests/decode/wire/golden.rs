//! Files of each format with the events that must come out of them, line by line.
//!
//! `LICTOR_BLESS=1` writes what comes out now; read the difference before you keep it.

use std::path::PathBuf;

use lictor_decode::Format;

use crate::golden_files::{FormatFamily, exchange_formats, golden_files};
use crate::reader::{decode, lines, records};

/// The golden files of exchanges.
pub(crate) fn files() -> Vec<(Format, PathBuf)> {
    golden_files(|family| family == FormatFamily::Exchange)
}

#[test]
fn golden_exchanges_are_decoded() {
    let mut wrong = Vec::new();
    for (format, path) in files() {
        let file = path.file_name().unwrap().to_str().unwrap();
        let found = lines(&decode(format, file, &records(&path)));
        let beside = path.with_extension("events");
        if std::env::var_os("LICTOR_BLESS").is_some() {
            std::fs::write(&beside, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&beside).unwrap_or_default();
        if found != wanted {
            wrong.push(format!("{format}/{file}: wanted\n{wanted}found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn golden_exchanges_are_detected() {
    for (format, path) in files() {
        let values: Vec<_> = records(&path).into_iter().map(|(_, value)| value).collect();
        assert_eq!(Format::detect(&values), Some(format), "{}", path.display());
    }
}

#[test]
fn decoders_survive_files_of_other_formats() {
    for (_, path) in files() {
        let records = records(&path);
        for format in exchange_formats() {
            let out = decode(format, "file", &records);
            assert!(
                !out.events.is_empty() || !out.faults.is_empty() || records.is_empty(),
                "{} as {format}",
                path.display()
            );
        }
    }
}

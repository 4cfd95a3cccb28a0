//! Files of our own, each with its events beside it in `NAME.events`. `LICTOR_BLESS=1` writes them anew.

use std::fs;

use lictor_decode::Format;
use lictor_json::Json;

use crate::golden_files::{FormatFamily, golden_files};
use crate::reader::{decode, lines, records};

/// The format that records are taken for.
pub(crate) fn detected(records: &[(u32, Json)]) -> Option<Format> {
    let first: Vec<Json> = records.iter().take(20).map(|(_, value)| value.clone()).collect();
    Format::detect(&first)
}

#[test]
fn golden_logs_are_detected_and_decoded() {
    let bless = std::env::var_os("LICTOR_BLESS").is_some();
    let mut wrong = Vec::new();
    for (format, file) in golden_files(|family| family != FormatFamily::Exchange) {
        let records = records(&file);
        let found = detected(&records);
        let name = file.file_name().unwrap().to_string_lossy();
        // Some logs are read by option only.
        let wanted = (!name.starts_with("undetected-")).then_some(format);
        if found != wanted {
            wrong.push(format!("{} is taken for {found:?}", file.display()));
        }
        let events = lines(&decode(format, &name, &records));
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

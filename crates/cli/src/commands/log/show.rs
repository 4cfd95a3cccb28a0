//! `lictor log show`: prints records as text or as in the ledger.

use std::io::Write;

use lictor_ledger::{LedgerError, LedgerNotice, Reader, Record, RevealedPayload};

use super::record_filter::RecordFilter;
use crate::args::Listing;
use crate::render::paint::Paint;

/// Which records are printed, and whether with their content.
pub(super) struct ShownPart {
    /// The index of the first.
    pub(super) from: u64,
    /// How many at most.
    pub(super) count: usize,
    pub(super) filter: RecordFilter,
    pub(super) reveal: bool,
}

/// Prints the records that fit.
pub(super) fn run(reader: &Reader, part: &ShownPart, format: Listing, out: &mut dyn Write) -> anyhow::Result<()> {
    let fits = |record: &Result<Record, LedgerError>| record.as_ref().map_or(true, |record| part.filter.fits(record));
    for record in reader.records(part.from)?.filter(fits).take(part.count) {
        let record = record?;
        match format {
            Listing::Jsonl => writeln!(out, "{}", record.line)?,
            Listing::Text => write_text(&record, out)?,
        }
        if part.reveal {
            let revealed = reader.reveal(record.index)?;
            match format {
                Listing::Jsonl => writeln!(out, "{}", payload_line(record.index, &revealed))?,
                Listing::Text => writeln!(out, "      {}", describe_payload(&revealed))?,
            }
        }
    }
    Ok(())
}

fn write_text(record: &Record, out: &mut dyn Write) -> anyhow::Result<()> {
    let paint = Paint::for_stdout();
    let said = match (&record.body, &record.notice) {
        (Some(body), _) => serde_json::to_string(body)?,
        (None, Some(notice)) => describe_notice(notice),
        (None, None) => String::new(),
    };
    let about = if record.subjects.is_empty() { String::new() } else { format!("  [{}]", record.subjects.join(", ")) };
    writeln!(out, "{:>5} {}  {said}{about}", paint.bold(&record.index.to_string()), record.time)?;
    Ok(())
}

fn describe_notice(notice: &LedgerNotice) -> String {
    match notice {
        LedgerNotice::Created { key, .. } => format!("the ledger was created with the key {key}"),
        LedgerNotice::Continues { checkpoint } => {
            let mut lines = checkpoint.lines();
            let (origin, size) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            format!("the ledger continues {origin} from its checkpoint of {size} records on")
        }
        LedgerNotice::Cut { bytes, lines } => format!("{bytes} unfinished bytes in {lines} lines were cut off"),
        LedgerNotice::Rotated { key } => format!("the key was replaced by {key}"),
        LedgerNotice::Erased { subject } => format!("the subject {subject} was erased"),
        LedgerNotice::Dropped { before } => format!("the records before {before} were dropped"),
        _ => "a notice that this program does not know".to_owned(),
    }
}

/// Returns what is known of a payload, as a line after its record. Content that is no JSON is a string.
fn payload_line(index: u64, revealed: &RevealedPayload) -> serde_json::Value {
    match revealed {
        RevealedPayload::Content(content) => {
            let text = || serde_json::Value::from(String::from_utf8_lossy(content).into_owned());
            let content = serde_json::from_slice(content).unwrap_or_else(|_| text());
            serde_json::json!({"payload_of": index, "payload": content})
        }
        other => serde_json::json!({"payload_of": index, "payload": null, "why": describe_payload(other)}),
    }
}

fn describe_payload(revealed: &RevealedPayload) -> String {
    match revealed {
        RevealedPayload::Content(content) => format!("payload: {}", String::from_utf8_lossy(content)),
        RevealedPayload::Commitment => "payload: only a commitment was kept".to_owned(),
        RevealedPayload::Nothing => "no payload".to_owned(),
        RevealedPayload::Erased => "payload: erased".to_owned(),
        _ => "payload: of a kind that this program does not know".to_owned(),
    }
}

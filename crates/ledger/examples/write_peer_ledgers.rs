//! Writes ledgers and proofs that independent implementations of transparency logs verify.
//!
//! `cargo xtask peers` runs it, and then the tests in `peers/`, which depend on no crate of ours and read these files.

use std::error::Error;
use std::path::{Path, PathBuf};

use lictor_ledger::{Draft, Hash, Ledger, LedgerOptions, VerifierKey};
use serde_json::{Value, json};

/// How many records the ledgers have: around the width of a tile, and more than a checkpoint covers.
const SIZES: [u64; 6] = [2, 255, 256, 257, 1000, 66_000];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: write_peer_ledgers FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let ledgers = SIZES.iter().map(|records| write_ledger(&folder, *records)).collect::<Result<Vec<_>, _>>()?;
    let written = json!({"ledgers": ledgers, "rotated": write_rotated(&folder)?});
    std::fs::write(folder.join("ledgers.json"), written.to_string())?;
    Ok(())
}

/// Creates a ledger and fills it to this many records; returns its first key.
fn fill(folder: &Path, records: u64) -> Result<(Ledger, VerifierKey), Box<dyn Error>> {
    let ledger = Ledger::create(folder, "example.com/agents", LedgerOptions::new(jiff::Timestamp::now))?;
    let key = ledger.reader().first_key()?;
    let mut tickets = Vec::new();
    for number in 1..records {
        let mut draft = Draft::default();
        draft.body.insert("number".to_owned(), number.into());
        tickets.push(ledger.append(draft)?);
    }
    for ticket in tickets {
        ticket.wait()?;
    }
    Ok((ledger, key))
}

/// Writes a ledger; returns two of its checkpoints, and proofs for some of its records and for the checkpoints.
fn write_ledger(folder: &Path, records: u64) -> Result<Value, Box<dyn Error>> {
    let name = format!("ledger-{records}");
    let (ledger, key) = fill(&folder.join(&name), records)?;
    let old = ledger.checkpoint()?;
    ledger.append(Draft::default())?.wait()?;
    let new = ledger.checkpoint()?;
    let reader = ledger.reader();
    ledger.close()?;
    let mut proven = Vec::new();
    for index in [0, 1, records / 2, records - 1, records] {
        let (line, proof) = (reader.record(index)?.line, reader.prove_inclusion(index, records + 1)?);
        proven.push(json!({"index": index, "line": line, "proof": to_base64(&proof)}));
    }
    let consistency = to_base64(&reader.prove_consistency(records, records + 1)?);
    Ok(json!({
        "folder": name, "records": records, "key": key.to_string(), "old": old, "new": new,
        "proven": proven, "consistency": consistency,
    }))
}

/// Writes a ledger of ten records whose key is then rotated; returns both keys and checkpoints.
fn write_rotated(folder: &Path) -> Result<Value, Box<dyn Error>> {
    let (ledger, first) = fill(&folder.join("ledger-rotated"), 10)?;
    let old = ledger.checkpoint()?;
    let second = ledger.rotate()?;
    ledger.append(Draft::default())?.wait()?;
    let new = ledger.checkpoint()?;
    Ok(json!({"first_key": first.to_string(), "old": old, "second_key": second.to_string(), "new": new}))
}

fn to_base64(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(Hash::to_string).collect()
}

//! `lictor verify`: verifies a ledger with its public key.

use std::io::Write;

use anyhow::Context;
use lictor_ledger::{LedgerFault, Verification, VerifierKey, verify, verify_against};
use serde_json::json;

use crate::args::{Document, VerifyArgs};
use crate::commands::log::no_ledger;
use crate::complaint;
use crate::exit::Outcome;

/// Verifies the ledger, and reports the first bad place if it does not verify.
pub(crate) fn run(args: &VerifyArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    // A folder without a ledger is an error, not a changed ledger.
    if !args.log.join("records").exists() && !args.log.join("checkpoint").exists() {
        return Err(no_ledger(&args.log));
    }
    let key = key(&args.key)?;
    let result = match &args.against {
        None => verify(&args.log, &key),
        Some(path) => {
            let pinned = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            verify_against(&args.log, &key, &pinned)
        }
    };
    match result {
        Ok(verified) => {
            good(args, &verified, out)?;
            Ok(Outcome::Compliant)
        }
        Err(error) => match error.fault() {
            Some(fault) => {
                bad(args, fault, out)?;
                Ok(Outcome::Findings)
            }
            None => Err(error.into()),
        },
    }
}

/// Returns the key of an argument: the key itself, or the content of a file.
fn key(text: &str) -> anyhow::Result<VerifierKey> {
    if text.contains('+') && !std::path::Path::new(text).exists() {
        return Ok(text.parse()?);
    }
    let content = std::fs::read_to_string(text)
        .with_context(|| format!("--key {text}: neither a key like `name+id+key` nor a file that can be read"))?;
    Ok(content.trim().parse()?)
}

fn not_signed(unsigned: u64) -> String {
    match unsigned {
        0 => String::new(),
        _ => format!(", and the {unsigned} records after them are not signed"),
    }
}

fn good(args: &VerifyArgs, verified: &Verification, out: &mut dyn Write) -> anyhow::Result<()> {
    let Verification { records, dropped, checkpoint, checkpoints, unsigned, unfinished, keys, .. } = verified;
    match args.format {
        Document::Text => {
            let signed = records.saturating_sub(*unsigned);
            writeln!(out, "{}: {signed} records verify{}", args.log.display(), not_signed(*unsigned))?;
            writeln!(
                out,
                "  {checkpoints} checkpoints by {} keys, the newest of size {}",
                keys.len(),
                checkpoint.size
            )?;
            writeln!(out, "  root {}", checkpoint.root)?;
            if *dropped > 0 {
                writeln!(out, "  {dropped} records are no longer kept; their hashes are")?;
            }
        }
        Document::Json => {
            let document = json!({
                "lictor": 1,
                "kind": "verification",
                "verified": true,
                "origin": checkpoint.origin,
                "records": records,
                "dropped": dropped,
                "checkpoints": checkpoints,
                "size": checkpoint.size,
                "root": checkpoint.root.to_string(),
                "unsigned": unsigned,
                "unfinished": unfinished,
                "keys": keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
            });
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)?;
        }
    }
    if *unsigned > 0 {
        complaint::warn(&format!("{unsigned} records at the end are not covered by a checkpoint yet"));
    }
    if *unfinished > 0 {
        complaint::warn(&format!("{unfinished} bytes at the end belong to an incomplete record"));
    }
    Ok(())
}

fn bad(args: &VerifyArgs, fault: &LedgerFault, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.format {
        Document::Text => writeln!(out, "{}: does not verify\n  {fault}", args.log.display())?,
        Document::Json => {
            let LedgerFault { file, line, index, message } = fault;
            let document = json!({
                "lictor": 1,
                "kind": "verification",
                "verified": false,
                "file": file,
                "line": line,
                "index": index,
                "message": message,
            });
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

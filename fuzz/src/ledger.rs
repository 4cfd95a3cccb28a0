//! Ledgers: verification finds every byte that was changed, and nothing that stands in a file makes a reader panic.
//!
//! One small ledger is written when the process starts. Each input changes one of its files, or is a key, a checkpoint or
//! a proof.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use lictor_ledger::{
    Checkpoint, Draft, Hash, Ledger, LedgerError, LedgerOptions, Payload, Reader, Verification, VerifierKey,
    check_consistency, check_inclusion, verify, verify_against,
};
use serde_json::Value;

use crate::choices::Choices;

/// How many records are appended to the ledger.
const RECORDS: u64 = 6;

/// A ledger whose files are changed and put back.
struct Victim {
    folder: PathBuf,
    key: VerifierKey,
    /// The files that a verifier relies on, with their good content.
    files: Vec<(PathBuf, Vec<u8>)>,
    good: Verification,
}

pub(crate) fn run(input: &[u8]) {
    static VICTIM: OnceLock<Mutex<Result<Victim, LedgerError>>> = OnceLock::new();
    let victim = VICTIM.get_or_init(|| Mutex::new(Victim::new())).lock().unwrap_or_else(PoisonError::into_inner);
    assert!(victim.is_ok(), "no ledger could be written: {:?}", victim.as_ref().err());
    let Ok(victim) = victim.as_ref() else { return };
    let mut choices = Choices(input);
    match choices.byte() % 4 {
        0 => victim.check_changed_byte(&mut choices),
        1 => victim.check_replaced_file(&mut choices),
        2 => victim.check_texts(choices.text()),
        _ => victim.check_proofs(&mut choices),
    }
}

impl Victim {
    /// A ledger with several segments, checkpoints by two keys, an erased subject and all kinds of payloads.
    fn new() -> Result<Victim, LedgerError> {
        // Kept until the process has ended: `cargo xtask fuzz` names a folder for such things and empties it.
        let folder = tempfile::Builder::new().prefix("ledger").tempdir().map(tempfile::TempDir::keep);
        let folder = folder.unwrap_or_else(|_| PathBuf::from("ledger"));
        let clock = || jiff::Timestamp::UNIX_EPOCH;
        let options = LedgerOptions::new(clock).segment_bytes(RECORDS * 60).checkpoint_records(RECORDS / 3);
        let ledger = Ledger::create(&folder, "example.com/agents", options)?;
        for number in 0..RECORDS {
            let payload = match number % 3 {
                0 => None,
                1 => Some(Payload::Committed(b"a payload".to_vec())),
                _ => Some(Payload::Sealed(b"a payload".to_vec())),
            };
            let mut draft = Draft { subjects: vec![format!("subject {}", number % 2)], payload, ..Draft::default() };
            draft.body.insert("number".into(), Value::from(number));
            ledger.append(draft)?.wait()?;
            if number == RECORDS / 2 {
                ledger.rotate()?;
                ledger.erase("subject 1")?;
            }
        }
        ledger.close()?;
        let key = Reader::open(&folder).first_key()?;
        let mut files = Vec::new();
        list(&folder, &mut files);
        let is_writers_own =
            |path: &Path| path.ends_with("lock") || path.ends_with("settled") || path.starts_with(folder.join("keys"));
        files.retain(|(path, _)| !is_writers_own(path));
        files.sort();
        let good = verify(&folder, &key)?;
        Ok(Victim { folder, key, files, good })
    }

    /// A byte that was changed is found.
    fn check_changed_byte(&self, choices: &mut Choices<'_>) {
        let (path, good) = &self.files[choices.below(self.files.len())];
        let (place, mask) = (choices.below(good.len().max(1)), choices.byte().max(1));
        let mut changed = good.clone();
        let Some(byte) = changed.get_mut(place) else { return };
        *byte ^= mask;
        let found = self.with_file(path, &changed, good, || verify(&self.folder, &self.key));
        assert!(found.is_err(), "byte {place} of {} changed by {mask:02x} is not found", path.display());
    }

    /// A file of any content is refused, or leaves the ledger as it was signed.
    fn check_replaced_file(&self, choices: &mut Choices<'_>) {
        let (path, good) = &self.files[choices.below(self.files.len())];
        let kept = choices.below(good.len() + 1);
        // Mostly the beginning of the good content, so that something can be read of it.
        let content: Vec<u8> = good[..kept].iter().chain(choices.0).copied().collect();
        self.with_file(path, &content, good, || {
            match verify(&self.folder, &self.key) {
                Ok(found) => assert_eq!(found.checkpoint, self.good.checkpoint, "another ledger verifies"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            let reader = Reader::open(&self.folder);
            for index in 0..RECORDS + 4 {
                let _ = (reader.record(index), reader.reveal(index), reader.confirms(index, b"a payload"));
                let _ = (reader.prove_inclusion(index, RECORDS), reader.prove_consistency(index, RECORDS));
            }
            let _ = (reader.first_key(), reader.size(), reader.root(RECORDS));
        });
    }

    /// No text is a checkpoint that this ledger did not sign.
    fn check_texts(&self, text: &str) {
        if let Ok(key) = text.parse::<VerifierKey>() {
            assert_eq!(key.to_string().parse::<VerifierKey>().ok(), Some(key), "written and read again");
        }
        let newest = Reader::open(&self.folder).checkpoints().unwrap_or_default();
        if Checkpoint::verify(text, &self.key).is_ok() {
            let body = text.split("\n\n").next().unwrap_or_default();
            assert!(newest.contains(body), "an unsigned checkpoint: {text}");
        }
        if verify_against(&self.folder, &self.key, text).is_ok() {
            let body = text.split("\n\n").next().unwrap_or_default();
            assert!(newest.contains(body), "an unsigned checkpoint: {text}");
        }
        if let Some(hash) = Hash::from_base64(text) {
            assert_eq!(hash.to_string(), text, "written and read again");
        }
    }

    /// A proof shows what it was made for and nothing else.
    fn check_proofs(&self, choices: &mut Choices<'_>) {
        let reader = Reader::open(&self.folder);
        let size = reader.size().unwrap_or(1).max(1);
        let (index, old) = (choices.below(size as usize) as u64, choices.below(size as usize) as u64 + 1);
        let (Ok(record), Ok(root), Ok(old_root)) = (reader.record(index), reader.root(size), reader.root(old)) else {
            return assert!(self.good.dropped > 0, "record {index} of {size} is not there");
        };
        let inclusion = reader.prove_inclusion(index, size).unwrap_or_default();
        let consistency = reader.prove_consistency(old, size).unwrap_or_default();
        assert!(check_inclusion(record.hash(), index, size, root, &inclusion), "record {index} of {size}");
        assert!(check_consistency(old, old_root, size, root, &consistency), "{old} records of {size}");
        let (kind, place, byte) = (choices.byte(), choices.below(1 << 16), choices.byte());
        let changed = change(&inclusion, kind, place);
        let is_shown = check_inclusion(record.hash(), index, size, root, &changed);
        assert!(!is_shown, "a changed proof includes record {index} of {size}");
        let changed = change(&consistency, kind, place);
        assert!(!check_consistency(old, old_root, size, root, &changed), "a changed proof continues {old} of {size}");
        // Numbers of any size are refused, never computed with.
        let far = u64::from_be_bytes([byte; 8]);
        let _ = check_inclusion(record.hash(), far, far.wrapping_add(place as u64), root, &inclusion);
        let _ = check_consistency(far, old_root, far.wrapping_add(place as u64), root, &consistency);
    }

    /// Does something while a file has another content.
    fn with_file<T>(&self, path: &Path, content: &[u8], good: &[u8], body: impl FnOnce() -> T) -> T {
        let changed = fs::write(path, content);
        assert!(changed.is_ok(), "{}: {changed:?}", path.display());
        let result = body();
        let restored = fs::write(path, good);
        assert!(restored.is_ok(), "{}: {restored:?}", path.display());
        result
    }
}

/// Returns a proof with a bit changed, a hash added or a hash less.
fn change(proof: &[Hash], kind: u8, place: usize) -> Vec<Hash> {
    let mut changed = proof.to_vec();
    let index = place % changed.len().max(1);
    match (kind % 3, changed.get_mut(index)) {
        (0, Some(hash)) => hash.0[place % 32] ^= 1 << (kind % 8),
        (1, Some(_)) => {
            changed.remove(index);
        }
        _ => changed.insert(index.min(changed.len()), Hash([kind; 32])),
    }
    changed
}

fn list(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => list(&path, files),
            false => files.extend(fs::read(&path).ok().map(|content| (path, content))),
        }
    }
}

//! The life of a ledger: appending, reading, proofs, key rotation, erasure, dropping, verification.

use std::path::Path;

use lictor_ledger::{
    Checkpoint, Draft, Hash, Ledger, LedgerNotice, LedgerOptions, Payload, Reader, RevealedPayload, VerifierKey,
    check_consistency, check_inclusion, verify, verify_against,
};
use serde_json::json;

const ORIGIN: &str = "example.com/agents";

fn options() -> LedgerOptions {
    LedgerOptions::new(jiff::Timestamp::now)
}

fn draft(number: u64) -> Draft {
    let body = json!({ "decision": "allow", "number": number });
    Draft { body: body.as_object().unwrap().clone(), ..Draft::default() }
}

fn about(subjects: &[&str], payload: Payload) -> Draft {
    let subjects = subjects.iter().map(|subject| (*subject).to_owned()).collect();
    Draft { subjects, payload: Some(payload), ..draft(0) }
}

fn append(ledger: &Ledger, draft: Draft) -> u64 {
    ledger.append(draft).unwrap().wait().unwrap().index
}

fn first_key(folder: &Path) -> VerifierKey {
    Reader::open(folder).first_key().unwrap()
}

#[test]
fn appended_records_are_read_and_verify() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options().segment_bytes(2000)).unwrap();
    for number in 1..=600 {
        assert_eq!(append(&ledger, draft(number)), number);
    }
    ledger.close().unwrap();
    let verified = verify(folder.path(), &first_key(folder.path())).unwrap();
    assert_eq!((verified.records, verified.unsigned, verified.dropped), (601, 0, 0));
    let reader = Reader::open(folder.path());
    let records: Vec<_> = reader.records(590).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len(), 11);
    assert_eq!(records[3].body.as_ref().unwrap()["number"], 593);
    assert!(reader.record(601).is_err());
}

#[test]
fn reopened_ledger_continues_after_last_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = 1;
    drop(Ledger::create(folder.path(), ORIGIN, options()).unwrap());
    for _ in 0..5 {
        let ledger = Ledger::open(folder.path(), options()).unwrap();
        for _ in 0..100 {
            assert_eq!(append(&ledger, draft(expected)), expected);
            expected += 1;
        }
    }
    assert_eq!(verify(folder.path(), &first_key(folder.path())).unwrap().records, expected);
    assert!(Ledger::create(folder.path(), ORIGIN, options()).unwrap_err().to_string().contains("already"));
}

#[test]
fn proofs_verify_without_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let key = first_key(folder.path());
    let mut trees: Vec<Checkpoint> = Vec::new();
    for number in 1..300 {
        append(&ledger, draft(number));
        if number % 37 == 0 || number > 290 {
            trees.push(Checkpoint::verify(&ledger.checkpoint().unwrap(), &key).unwrap());
        }
    }
    let reader = ledger.reader();
    let newest = trees.last().unwrap();
    for tree in &trees {
        let proof = reader.prove_consistency(tree.size, newest.size).unwrap();
        assert!(check_consistency(tree.size, tree.root, newest.size, newest.root, &proof));
        for index in [0, 1, tree.size / 2, tree.size - 1] {
            let leaf = reader.record(index).unwrap().hash();
            let proof = reader.prove_inclusion(index, tree.size).unwrap();
            assert!(check_inclusion(leaf, index, tree.size, tree.root, &proof), "{index} of {}", tree.size);
            assert!(!check_inclusion(Hash::leaf(b"other"), index, tree.size, tree.root, &proof));
        }
    }
}

#[test]
fn key_rotation_is_verified_from_first_key() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let first = first_key(folder.path());
    let old = ledger.checkpoint().unwrap();
    let mut keys = vec![first.clone()];
    for number in 0..4 {
        append(&ledger, draft(number));
        keys.push(ledger.rotate().unwrap());
    }
    append(&ledger, draft(9));
    drop(ledger);
    append(&Ledger::open(folder.path(), options()).unwrap(), draft(10));
    assert_eq!(verify(folder.path(), &first).unwrap().keys, keys);
    assert!(verify(folder.path(), &keys[1]).unwrap_err().to_string().contains("another key"));
    let newest = Reader::open(folder.path()).checkpoint().unwrap();
    assert!(Checkpoint::verify(&newest, keys.last().unwrap()).is_ok());
    assert!(Checkpoint::verify(&newest, &first).is_err());
    assert!(verify_against(folder.path(), &first, &old).is_ok());
    assert!(verify_against(folder.path(), &first, &newest).is_ok());
}

#[test]
fn erasure_hides_payloads_and_ledger_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let kept = append(&ledger, about(&["ada"], Payload::Sealed(b"her address".to_vec())));
    let both = append(&ledger, about(&["ben", "ada"], Payload::Sealed(b"their meeting".to_vec())));
    let other = append(&ledger, about(&["ben"], Payload::Sealed(b"his address".to_vec())));
    let said = append(&ledger, about(&["ada"], Payload::Committed(b"yes".to_vec())));
    let unnamed = append(&ledger, about(&[], Payload::Committed(b"tick".to_vec())));
    let reader = ledger.reader();
    assert_eq!(reader.reveal(both).unwrap(), RevealedPayload::Content(b"their meeting".to_vec()));
    assert_eq!(reader.confirms(said, b"yes").unwrap(), Some(true));
    assert_eq!(reader.confirms(said, b"no").unwrap(), Some(false));
    let pseudonym = reader.record(kept).unwrap().subjects;

    let index = ledger.erase("ada").unwrap().index;
    let erased = LedgerNotice::Erased { subject: pseudonym.concat() };
    assert_eq!(reader.record(index).unwrap().notice, Some(erased));
    for index in [kept, both, said] {
        assert_eq!(reader.reveal(index).unwrap(), RevealedPayload::Erased);
    }
    assert_eq!(reader.confirms(said, b"yes").unwrap(), None);
    assert_eq!(reader.reveal(other).unwrap(), RevealedPayload::Content(b"his address".to_vec()));
    assert_eq!(reader.confirms(unnamed, b"tick").unwrap(), Some(true));
    assert!(ledger.erase("ada").unwrap_err().to_string().contains("no record names"));
    // A subject that returns after an erasure gets a new pseudonym.
    let again = append(&ledger, about(&["ada"], Payload::Committed(b"yes".to_vec())));
    assert_ne!(reader.record(again).unwrap().subjects, pseudonym);
    ledger.close().unwrap();
    assert_eq!(verify(folder.path(), &first_key(folder.path())).unwrap().unsigned, 0);
    drop(Ledger::open(folder.path(), options()).unwrap());
}

#[test]
fn erasure_is_repeated_after_key_backup_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, settled) = (folder.path().join("keys/subjects"), folder.path().join("settled"));
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let index = append(&ledger, about(&["ada"], Payload::Sealed(b"her address".to_vec())));
    let backup = std::fs::read(&keys).unwrap();
    ledger.erase("ada").unwrap();
    (0..600).for_each(|number| assert!(append(&ledger, draft(number)) > index));
    ledger.close().unwrap();
    std::fs::write(&keys, backup).unwrap();
    assert_eq!(Reader::open(folder.path()).reveal(index).unwrap(), RevealedPayload::Content(b"her address".to_vec()));
    std::fs::remove_file(settled).unwrap();
    Ledger::open(folder.path(), options()).unwrap().close().unwrap();
    assert_eq!(Reader::open(folder.path()).reveal(index).unwrap(), RevealedPayload::Erased);
}

#[test]
fn log_contains_no_subject_names_or_payloads() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    for _ in 0..2 {
        append(&ledger, about(&["ada@example.com"], Payload::Sealed(b"her address".to_vec())));
        append(&ledger, about(&["ada@example.com"], Payload::Committed(b"her address".to_vec())));
    }
    let lines: Vec<_> = ledger.reader().records(1).unwrap().map(|record| record.unwrap().line).collect();
    assert!(lines.iter().all(|line| !line.contains("ada") && !line.contains("address")));
    // Equal payloads do not show as equal.
    let proofs: std::collections::HashSet<_> = lines.iter().map(|line| line.split("\"index\"").next()).collect();
    assert_eq!(proofs.len(), 3, "{lines:?}");
    let keys = std::fs::read_to_string(folder.path().join("keys/subjects")).unwrap();
    assert!(!keys.contains("ada"));
}

#[test]
fn drop_before_removes_segments_and_rest_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options().segment_bytes(3000)).unwrap();
    let first = first_key(folder.path());
    append(&ledger, about(&["ada"], Payload::Sealed(b"her address".to_vec())));
    let key = ledger.rotate().unwrap();
    ledger.erase("ada").unwrap();
    (0..400).for_each(|number| assert!(append(&ledger, draft(number)) > 0));
    let pinned = ledger.checkpoint().unwrap();
    let kept_from = ledger.drop_before(jiff::Timestamp::now()).unwrap();
    assert!(kept_from > 300, "{kept_from}");
    append(&ledger, draft(0));
    let reader = ledger.reader();
    assert!(reader.record(5).unwrap_err().to_string().contains("no longer kept"));
    ledger.close().unwrap();
    let verified = verify_against(folder.path(), &first, &pinned).unwrap();
    assert_eq!((verified.dropped, verified.keys), (kept_from, vec![first.clone(), key]));
    let ledger = Ledger::open(folder.path(), options().segment_bytes(3000)).unwrap();
    (0..60).for_each(|number| assert!(append(&ledger, draft(number)) > kept_from));
    ledger.close().unwrap();
    assert_eq!(Reader::open(folder.path()).first_key().unwrap(), first);
    // A segment that was removed without a notice is reported.
    let segments = std::fs::read_dir(folder.path().join("records")).unwrap();
    let oldest = segments.map(|entry| entry.unwrap().path()).min().unwrap();
    std::fs::remove_file(oldest).unwrap();
    assert!(verify(folder.path(), &first).unwrap_err().to_string().contains("no notice says that it was dropped"));
}

#[test]
fn record_times_increase_when_clock_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(2_000_000_000));
    let clock = at.clone();
    let options = move || {
        let clock = clock.clone();
        let now = move || jiff::Timestamp::from_second(clock.load(std::sync::atomic::Ordering::Relaxed)).unwrap();
        LedgerOptions::new(now).checkpoint_records(1)
    };
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    append(&ledger, draft(1));
    ledger.close().unwrap();
    // The machine restarts with a clock that is years behind.
    at.store(1_000_000_000, std::sync::atomic::Ordering::Relaxed);
    let ledger = Ledger::open(folder.path(), options()).unwrap();
    (2..5).for_each(|number| assert_eq!(append(&ledger, draft(number)), number));
    let reader = ledger.reader();
    let times: Vec<String> = reader.records(0).unwrap().map(|record| record.unwrap().time).collect();
    assert!(times.is_sorted_by(|a, b| a < b) && times[4].starts_with("2033-05-18T03:33:20.0000"), "{times:?}");
    ledger.close().unwrap();
    let sizes: Vec<u64> =
        reader.checkpoints().unwrap().lines().skip(1).step_by(6).map(|n| n.parse().unwrap()).collect();
    assert_eq!(sizes, [1, 2, 3, 4, 5]);
    assert_eq!(verify(folder.path(), &first_key(folder.path())).unwrap().records, 5);
}

#[test]
fn lost_signing_key_is_replaced_by_new_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let ledger = Ledger::create(&old, ORIGIN, options()).unwrap();
    append(&ledger, draft(1));
    ledger.close().unwrap();
    let key = first_key(&old);
    std::fs::remove_file(old.join("keys/signing")).unwrap();
    assert!(Ledger::open(&old, options()).unwrap_err().to_string().contains("`keys/signing` is missing"));
    assert!(Ledger::open_or_create(&old, ORIGIN, options()).unwrap_err().to_string().contains("already"));
    let last = Reader::open(&old).checkpoint().unwrap();
    assert!(
        Ledger::create_after(&new, ORIGIN, options(), "no note").unwrap_err().to_string().contains("not a checkpoint")
    );
    let ledger = Ledger::create_after(&new, ORIGIN, options(), &last).unwrap();
    assert_eq!(append(&ledger, draft(2)), 2);
    ledger.close().unwrap();
    assert_eq!(verify(&new, &first_key(&new)).unwrap().records, 3);
    // The notice of the new ledger names a checkpoint of the old one, which verifies by its own key.
    let notice = Reader::open(&new).record(1).unwrap().notice;
    let Some(LedgerNotice::Continues { checkpoint }) = notice else { panic!("{notice:?}") };
    assert_eq!(verify_against(&old, &key, &checkpoint).unwrap().checkpoint.size, 2);
    assert!(Ledger::open(&new, options()).is_ok());
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn pinned_checkpoint_detects_older_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (log, copy) = (folder.path().join("log"), folder.path().join("copy"));
    let ledger = Ledger::create(&log, ORIGIN, options()).unwrap();
    let key = first_key(&log);
    append(&ledger, draft(1));
    ledger.close().unwrap();
    copy_all(&log, &copy);
    let ledger = Ledger::open(&log, options()).unwrap();
    append(&ledger, draft(2));
    let pinned = ledger.checkpoint().unwrap();
    ledger.close().unwrap();
    assert!(verify_against(&log, &key, &pinned).is_ok());
    assert!(verify(&copy, &key).is_ok());
    assert!(verify_against(&copy, &key, &pinned).unwrap_err().to_string().contains("pinned checkpoint has 3 records"));
    // A copy that diverged is detected as well.
    let ledger = Ledger::open(&copy, options()).unwrap();
    append(&ledger, draft(3));
    ledger.close().unwrap();
    assert!(verify_against(&copy, &key, &pinned).unwrap_err().to_string().contains("are not those of the pinned"));
}

#[test]
fn lock_refuses_second_writer() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let second = Ledger::open(folder.path(), options()).unwrap_err();
    assert!(second.is_locked() && second.to_string().contains("hint:"), "{second}");
    append(&ledger, draft(1));
    // On a file system without locks, the generation reveals a second writer.
    std::fs::write(folder.path().join("lock"), "00000000000000000007\n").unwrap();
    let error = ledger.append(draft(2)).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("another writer took"), "{error}");
    drop(ledger);
    assert_eq!(append(&Ledger::open(folder.path(), options()).unwrap(), draft(2)), 2);
}

#[cfg(unix)]
#[test]
fn key_files_readable_by_others_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(Ledger::create(folder.path(), ORIGIN, options()).unwrap());
    for name in ["keys/signing", "keys/subjects"] {
        let path = folder.path().join(name);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let error = Ledger::open(folder.path(), options()).unwrap_err().to_string();
        assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    }
}

#[test]
fn invalid_drafts_are_refused_and_ledger_continues() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Ledger::create(folder.path(), "two words", options())
            .unwrap_err()
            .to_string()
            .contains("spaces and `+` are not allowed")
    );
    let ledger = Ledger::create(folder.path(), ORIGIN, options()).unwrap();
    let long = Draft { payload: Some(Payload::Sealed(vec![0; 13 << 20])), ..draft(1) };
    assert!(ledger.append(long).unwrap_err().to_string().contains("over the limit of 16777216 bytes"));
    let mut deep = json!(1);
    (0..200).for_each(|_| deep = json!([deep.take()]));
    let deep = Draft { body: json!({ "deep": deep }).as_object().unwrap().clone(), ..Draft::default() };
    assert!(ledger.append(deep).unwrap_err().to_string().contains("limit of 128 levels"));
    assert_eq!(append(&ledger, draft(1)), 1);
}

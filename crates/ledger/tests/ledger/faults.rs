//! Disk failures and power losses at the single operations of a ledger's life: acknowledged records survive, the
//! ledger verifies, and it can be opened again.
//!
//! An ordinary run lets every fourth operation fail in each way, and each operation in some way. With `LICTOR_CASES=4`
//! each operation fails in each way.

mod disk;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lictor_ledger::{Draft, Ledger, LedgerError, LedgerNotice, LedgerOptions, Payload, Reader, verify};
use serde_json::json;

use disk::{Failure, FaultyDisk, Random, copy_all, scratch};

use crate::cases;

fn options(disk: &FaultyDisk) -> LedgerOptions {
    // A clock that advances a minute with each call, so that runs are reproducible and checkpoints are due.
    let minutes = AtomicI64::new(0);
    let clock =
        move || jiff::Timestamp::from_second(1_800_000_000 + 60 * minutes.fetch_add(1, Ordering::Relaxed)).unwrap();
    LedgerOptions::new(clock).disk(Arc::new(disk.clone())).segment_bytes(900).checkpoint_records(4)
}

fn draft(number: u64) -> Draft {
    let body = json!({ "number": number, "filler": "x".repeat(200) }).as_object().unwrap().clone();
    Draft { body, subjects: vec![format!("subject {}", number % 4)], payload: Some(Payload::Sealed(vec![1, 2, 3])) }
}

/// Appends, rotates, erases and drops up to the first failure, and collects acknowledged records.
fn exercise(ledger: &Ledger, acknowledged: &mut BTreeMap<u64, u64>) -> Result<(), LedgerError> {
    for number in 0..14 {
        let index = ledger.append(draft(number))?.wait()?.index;
        acknowledged.insert(index, number);
        match number {
            4 => assert_eq!(ledger.rotate()?.name(), "example.com/a"),
            8 => assert!(ledger.erase("subject 1")?.index > index),
            11 => {
                let limit = jiff::Timestamp::from_second(1_800_000_000 + 60 * 6).unwrap();
                assert!(ledger.drop_before(limit)? > 0);
            }
            _ => {}
        }
    }
    ledger.checkpoint().map(|_| ())
}

/// Checks that all acknowledged records exist, unless dropped, and that the ledger verifies.
fn check(folder: &Path, acknowledged: &BTreeMap<u64, u64>, what: &str) {
    let reader = Reader::open(folder);
    let key = reader.first_key().unwrap_or_else(|error| panic!("{what}: {error}"));
    let verified = verify(folder, &key).unwrap_or_else(|error| panic!("{what}: {error}"));
    for (index, number) in acknowledged.range(verified.dropped..) {
        let record = reader.record(*index).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(record.body.unwrap()["number"], *number, "{what}");
    }
    assert!(acknowledged.keys().all(|index| *index < verified.records), "{what}");
}

/// Returns the numbers of the operations that fail, each in a run of its own: one of four, always at another place among
/// the four, or all of them.
fn failing(first: u64) -> impl Iterator<Item = u64> {
    let step = 4_u64.div_ceil(cases(1));
    (0..).map(move |block| 1 + step * block + (first + block) % step)
}

/// Makes operations fail in turn, until a run has fewer operations than that.
fn fail_each(failure: Failure, in_process: bool) {
    for at in failing(failure as u64 + 2 * u64::from(in_process)) {
        let folder = scratch();
        let disk = FaultyDisk::failing(at, failure);
        let what = format!("{failure:?} at operation {at}");
        let mut acknowledged = BTreeMap::new();
        let ledger = match Ledger::create(folder.path(), "example.com/a", options(&disk)) {
            Ok(ledger) => ledger,
            Err(error) => {
                assert!(error.is_unavailable(), "{what}: {error}");
                disk.mend();
                Ledger::open_or_create(folder.path(), "example.com/a", options(&disk)).unwrap()
            }
        };
        let mut result = exercise(&ledger, &mut acknowledged);
        if !disk.has_failed() {
            result.unwrap();
            ledger.close().unwrap();
            assert!(at > 150, "{at}");
            return;
        }
        // A failure while a checkpoint was written is reported by the next command.
        if result.is_ok() {
            result = ledger.append(draft(90)).unwrap().wait().map(|receipt| {
                acknowledged.insert(receipt.index, 90);
            });
        }
        if let Err(error) = &result {
            assert!(error.is_unavailable(), "{what}: {error}");
            if failure != Failure::Error {
                assert!(ledger.recover().is_err(), "{what}: recovered on a disk that still fails");
            }
            let again = ledger.append(draft(91)).unwrap().wait().unwrap_err();
            assert!(again.to_string().contains("earlier failure"), "{what}: {again}");
        }
        disk.mend();
        let ledger = if in_process {
            ledger.recover().unwrap_or_else(|error| panic!("{what}: {error}"));
            ledger
        } else {
            drop(ledger);
            Ledger::open(folder.path(), options(&disk)).unwrap_or_else(|error| panic!("{what}: {error}"))
        };
        check(folder.path(), &acknowledged, &what);
        let index = ledger.append(draft(92)).unwrap().wait().unwrap().index;
        acknowledged.insert(index, 92);
        ledger.close().unwrap();
        check(folder.path(), &acknowledged, &what);
    }
}

#[test]
fn full_disk_loses_no_acknowledged_record() {
    fail_each(Failure::Full, true);
    fail_each(Failure::Full, false);
}

#[test]
fn exceeded_quota_loses_no_acknowledged_record() {
    fail_each(Failure::Quota, true);
    fail_each(Failure::Quota, false);
}

/// Bytes of a failed sync stay unsynced even if a later sync succeeds; only rewriting them helps. A writer that just
/// retries the sync loses records in the power loss at the end of this test.
#[test]
fn failed_sync_is_never_relied_on() {
    let mut random = Random(11);
    for (turn, at) in failing(3).enumerate() {
        let folder = scratch();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        let disk = FaultyDisk::failing(at, Failure::Error);
        let what = format!("an error at operation {at}");
        let mut acknowledged = BTreeMap::new();
        let ledger = Ledger::create(&before, "example.com/a", options(&disk));
        let ledger = ledger.or_else(|_| Ledger::open_or_create(&before, "example.com/a", options(&disk))).unwrap();
        let result = exercise(&ledger, &mut acknowledged);
        let is_over = !disk.has_failed();
        disk.mend();
        let ledger = if turn % 2 == 0 || result.is_ok() {
            ledger.recover().unwrap_or_else(|error| panic!("{what}: {error}"));
            ledger
        } else {
            drop(ledger);
            Ledger::open(&before, options(&disk)).unwrap_or_else(|error| panic!("{what}: {error}"))
        };
        for number in 100..104 {
            acknowledged.insert(ledger.append(draft(number)).unwrap().wait().unwrap().index, number);
        }
        if turn % 3 == 0 {
            ledger.close().unwrap();
        } else {
            std::mem::forget(ledger);
        }
        disk.lose_power(&before, &after, &mut random);
        let ledger =
            Ledger::open(&after, options(&FaultyDisk::default())).unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&after, &acknowledged, &what);
        ledger.close().unwrap();
        check(&after, &acknowledged, &what);
        if is_over {
            return;
        }
    }
}

#[test]
fn disk_error_loses_no_acknowledged_record() {
    fail_each(Failure::Error, true);
    fail_each(Failure::Error, false);
}

#[test]
fn short_write_loses_no_acknowledged_record() {
    fail_each(Failure::Short, true);
    fail_each(Failure::Short, false);
}

#[test]
fn power_loss_loses_no_acknowledged_record() {
    let mut random = Random(7);
    for at in failing(1) {
        let folder = scratch();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        let disk = FaultyDisk::failing(at, Failure::Full);
        let mut acknowledged = BTreeMap::new();
        let mut is_created = false;
        if let Ok(ledger) = Ledger::create(&before, "example.com/a", options(&disk)) {
            is_created = true;
            let result = exercise(&ledger, &mut acknowledged);
            if result.is_ok() {
                let _ = ledger.close();
            }
        }
        let is_over = !disk.has_failed();
        for turn in 0..3 {
            let what = format!("power off at operation {at}, {turn}");
            fs::create_dir_all(&before).unwrap();
            disk.lose_power(&before, &after, &mut random);
            let mended = FaultyDisk::default();
            let ledger = match is_created {
                true => Ledger::open(&after, options(&mended)),
                false => Ledger::open_or_create(&after, "example.com/a", options(&mended)),
            };
            let ledger = ledger.unwrap_or_else(|error| panic!("{what}: {error}"));
            check(&after, &acknowledged, &what);
            ledger.append(draft(92)).unwrap().wait().unwrap();
            ledger.close().unwrap();
            check(&after, &acknowledged, &what);
            fs::remove_dir_all(&after).unwrap();
        }
        if is_over {
            assert!(at > 150, "{at}");
            return;
        }
    }
}

#[test]
fn torn_tail_is_cut_off_and_recorded() {
    let folder = scratch();
    let disk = FaultyDisk::default();
    let ledger = Ledger::create(folder.path(), "example.com/a", options(&disk)).unwrap();
    ledger.append(draft(1)).unwrap().wait().unwrap();
    ledger.close().unwrap();
    let key = Reader::open(folder.path()).first_key().unwrap();
    let good = fs::read(folder.path().join("records/00000000000000000000.jsonl")).unwrap();
    let last = String::from_utf8(good.clone()).unwrap().lines().last().unwrap().replace("\"index\":1,", "\"index\":2,");
    for length in 1..=last.len() {
        let copy = scratch();
        copy_all(folder.path(), copy.path());
        let segment = copy.path().join("records/00000000000000000000.jsonl");
        fs::write(&segment, [&good, &last.as_bytes()[..length]].concat()).unwrap();
        let verified = verify(copy.path(), &key).unwrap();
        assert_eq!((verified.records, verified.unfinished), (2, length as u64));
        Ledger::open(copy.path(), options(&FaultyDisk::default())).unwrap().close().unwrap();
        let notice = Reader::open(copy.path()).record(2).unwrap().notice;
        assert_eq!(notice, Some(LedgerNotice::Cut { bytes: length as u64, lines: 1 }));
        assert_eq!(verify(copy.path(), &key).unwrap().unfinished, 0);
    }
}

#[test]
fn damage_before_acknowledged_records_is_refused() {
    let folder = scratch();
    let disk = FaultyDisk::default();
    let slow = options(&disk).checkpoint_records(1000).checkpoint_interval(std::time::Duration::from_secs(1 << 30));
    let ledger = Ledger::create(folder.path(), "example.com/a", slow.segment_bytes(1 << 20)).unwrap();
    for number in 0..5 {
        ledger.append(draft(number)).unwrap().wait().unwrap();
    }
    // The state after a crash: without a checkpoint of the last records.
    let copy = scratch();
    copy_all(folder.path(), copy.path());
    let segment = copy.path().join("records/00000000000000000000.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replace("\"number\":1", "\"number\":?")).unwrap();
    let error = Ledger::open(copy.path(), options(&FaultyDisk::default())).unwrap_err();
    assert_eq!(error.fault().unwrap().index, Some(2), "{error}");
    assert!(error.to_string().contains("acknowledged records follow"), "{error}");
}

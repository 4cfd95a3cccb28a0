//! Verification finds every change to a closed ledger and names the first bad record.
//!
//! The tests change a small ledger exhaustively: each byte, each line deleted, duplicated, swapped, each file truncated
//! at each byte. An ordinary run flips two bits of each byte, and a run with `LICTOR_CASES=4` each bit.
//! `LICTOR_TAMPER_FLIPS` is the number of random bit flips in a larger ledger.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lictor_ledger::{Draft, Ledger, LedgerFault, LedgerOptions, Payload, Reader, VerifierKey, verify};
use serde_json::json;
use tempfile::TempDir;

use crate::cases;

struct TamperTarget {
    folder: TempDir,
    key: VerifierKey,
    /// All files that a verifier relies on, with their good content.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl TamperTarget {
    /// Creates a ledger with several segments, checkpoints by two keys, an erased subject and all kinds of payloads.
    fn new(records: u64) -> TamperTarget {
        let folder = tempfile::tempdir().unwrap();
        let options =
            LedgerOptions::new(jiff::Timestamp::now).segment_bytes(records * 60).checkpoint_records(records / 3);
        let ledger = Ledger::create(folder.path(), "example.com/agents", options).unwrap();
        for number in 0..records {
            let body = json!({ "number": number, "é": ["x", null, true, 1.5] }).as_object().unwrap().clone();
            let payload = match number % 3 {
                0 => None,
                1 => Some(Payload::Committed(b"a payload".to_vec())),
                _ => Some(Payload::Sealed(b"a payload".to_vec())),
            };
            let draft = Draft { body, subjects: vec![format!("subject {}", number % 2)], payload };
            ledger.append(draft).unwrap().wait().unwrap();
            if number == records / 2 {
                ledger.rotate().unwrap();
                ledger.erase("subject 1").unwrap();
            }
        }
        ledger.close().unwrap();
        let key = Reader::open(folder.path()).first_key().unwrap();
        let mut paths = Vec::new();
        list(folder.path(), &mut paths);
        let is_writers_own = |path: &Path| path.ends_with("lock") || path.ends_with("settled");
        paths.retain(|path| !is_writers_own(path) && !path.starts_with(folder.path().join("keys")));
        paths.sort();
        let files = paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        let victim = TamperTarget { folder, key, files };
        verify(victim.folder.path(), &victim.key).unwrap();
        victim
    }

    fn name(&self, file: usize) -> String {
        self.files[file].0.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned()
    }

    /// Returns the index of the first record of a segment.
    fn first(&self, file: usize) -> Option<u64> {
        self.name(file).strip_prefix("records/")?.strip_suffix(".jsonl")?.parse().ok()
    }

    /// Returns the fault that verification reports when a file has this content.
    fn fault(&self, file: usize, content: &[u8], what: &str) -> LedgerFault {
        let (path, good) = &self.files[file];
        let changed = content.iter().zip(good).position(|(a, b)| a != b).unwrap_or(content.len().min(good.len()));
        put(path, changed, content);
        let result = verify(self.folder.path(), &self.key);
        put(path, changed, good);
        match result {
            Ok(_) => panic!("{}: not found: {what}", self.name(file)),
            Err(error) => match error.fault() {
                Some(fault) => fault.clone(),
                None => panic!("{}: {what}: {error}", self.name(file)),
            },
        }
    }

    /// Flips bits of a byte, and checks that the fault names its record or its tile.
    fn flip(&self, file: usize, at: usize, mask: u8) {
        let good = &self.files[file].1;
        let mut content = good.clone();
        content[at] ^= mask;
        let what = format!("byte {at} ^ {mask:02x}");
        let fault = self.fault(file, &content, &what);
        if let Some(first) = self.first(file) {
            let line = good[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            let place = (fault.file.as_str(), fault.line, fault.index);
            assert_eq!(place, (self.name(file).as_str(), line + 1, Some(first + line)), "{what}: {fault}");
        } else if self.name(file).starts_with("tile/") {
            assert_eq!(fault.file, self.name(file), "{what}: {fault}");
        } else {
            assert!(fault.file.starts_with("checkpoint"), "{what}: {fault}");
        }
    }

    /// Writes other lines to a file, and checks that the fault names the first bad record, if it is a segment.
    fn lines(&self, file: usize, lines: &[&[u8]], first_bad: usize, what: &str) {
        let fault = self.fault(file, &lines.concat(), what);
        if let Some(first) = self.first(file) {
            assert_eq!(fault.index, Some(first + first_bad as u64), "{}: {what}: {fault}", self.name(file));
        }
    }
}

/// Overwrites a file from the first difference on. Some file systems flush a file that was truncated first.
fn put(path: &Path, from: usize, content: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    file.seek(SeekFrom::Start(from as u64)).unwrap();
    file.write_all(&content[from..]).unwrap();
    file.set_len(content.len() as u64).unwrap();
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, paths) } else { paths.push(path) }
    }
}

#[test]
fn flipped_bit_is_found_with_its_record() {
    let victim = TamperTarget::new(8);
    let mut flips = 0;
    for file in 0..victim.files.len() {
        for at in 0..victim.files[file].1.len() {
            // Several bits of each byte of records and checkpoints; one bit of each byte of the hashes.
            let bits = if victim.name(file).starts_with("tile/") { 1 } else { cases(2).min(8) as usize };
            for bit in 0..bits {
                victim.flip(file, at, 1 << ((at + 3 * bit) % 8));
                flips += 1;
            }
        }
    }
    assert!(flips > 2_500, "{flips}");
}

#[test]
fn deleted_duplicated_swapped_inserted_lines_are_found() {
    let victim = TamperTarget::new(12);
    for file in 0..victim.files.len() {
        if victim.name(file).starts_with("tile/") {
            continue;
        }
        let good: Vec<&[u8]> = victim.files[file].1.split_inclusive(|byte| *byte == b'\n').collect();
        let other = victim.files.iter().rfind(|(path, _)| path.extension().is_some()).unwrap();
        let foreign = other.1.split_inclusive(|byte| *byte == b'\n').next().unwrap();
        for place in 0..good.len() {
            let mut lines = good.clone();
            let line = lines.remove(place);
            victim.lines(file, &lines, place, &format!("line {} is deleted", place + 1));
            lines.insert(place, line);
            lines.insert(place, line);
            victim.lines(file, &lines, place + 1, &format!("line {} is doubled", place + 1));
            if foreign != line {
                lines[place] = foreign;
                victim.lines(file, &lines, place, &format!("a line is put in before line {}", place + 1));
            }
            lines.remove(place);
            for later in place + 1..good.len() {
                if good[place] != good[later] {
                    lines.swap(place, later);
                    victim.lines(file, &lines, place, &format!("lines {} and {} are swapped", place + 1, later + 1));
                    lines.swap(place, later);
                }
            }
        }
    }
}

#[test]
fn truncated_removed_swapped_files_are_found() {
    let victim = TamperTarget::new(12);
    for file in 0..victim.files.len() {
        let good = &victim.files[file].1;
        for length in 0..good.len() {
            let fault = victim.fault(file, &good[..length], &format!("cut off at {length}"));
            if let Some(first) = victim.first(file) {
                let lines = good[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
                assert_eq!(fault.index, Some(first + lines), "cut off at {length}: {fault}");
            }
        }
        fs::remove_file(&victim.files[file].0).unwrap();
        let error = verify(victim.folder.path(), &victim.key).unwrap_err();
        if let Some(first) = victim.first(file) {
            assert_eq!(error.fault().unwrap().index, Some(first), "{} was removed: {error}", victim.name(file));
        }
        fs::write(&victim.files[file].0, good).unwrap();
        for other in 0..victim.files.len() {
            if victim.files[other].1 != *good {
                let what = format!("has the content of {}", victim.name(other));
                let fault = victim.fault(file, &victim.files[other].1, &what);
                if let Some(first) = victim.first(file).filter(|_| victim.first(other).is_some()) {
                    assert_eq!(fault.index, Some(first), "{} {what}: {fault}", victim.name(file));
                }
            }
        }
    }
}

fn options() -> LedgerOptions {
    LedgerOptions::new(jiff::Timestamp::now)
}

/// Without a settled position, opening verifies the whole ledger.
#[test]
fn open_refuses_tampered_ledger_without_settled_position() {
    let victim = TamperTarget::new(12);
    fs::remove_file(victim.folder.path().join("settled")).unwrap();
    for file in 0..victim.files.len() {
        let (path, good) = &victim.files[file];
        let mut content = good.clone();
        let middle = content.len() / 2;
        content[middle] ^= 1;
        fs::write(path, &content).unwrap();
        let error = Ledger::open(victim.folder.path(), options()).unwrap_err();
        assert!(error.fault().is_some(), "{}: {error}", victim.name(file));
        fs::write(path, good).unwrap();
    }
}

/// Returns how many records are settled.
fn settled(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("settled")).unwrap().lines().nth(2).unwrap().parse().unwrap()
}

/// Opening a settled ledger verifies its end: a changed bit there is found.
#[test]
fn open_refuses_tampered_end_of_settled_ledger() {
    let victim = TamperTarget::new(60);
    let folder = victim.folder.path();
    let (settled, lock) = (settled(folder), fs::read(folder.join("lock")).unwrap());
    let own = fs::read(folder.join("settled")).unwrap();
    let (mut refused, mut older) = (0, 0);
    let step = 20_usize.div_ceil(cases(1) as usize);
    for file in 0..victim.files.len() {
        let (path, good) = &victim.files[file];
        for at in (file % step..good.len()).step_by(step) {
            let mut content = good.clone();
            content[at] ^= 1 << (at / step % 8);
            put(path, at, &content);
            let opened = Ledger::open(folder, options());
            let line = good[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            let what = format!("{}: byte {at}", victim.name(file));
            let is_at_the_end = match victim.name(file).as_str() {
                "checkpoint" => true,
                "checkpoints" => line / 6 + 1 >= good.split(|byte| *byte == b'\n').count() as u64 / 6,
                name if name.starts_with("tile/") => name == format!("tile/0/000.p/{settled}"),
                _ => victim.first(file).unwrap() + line + 1 >= settled,
            };
            match opened {
                Err(error) => {
                    assert!(error.fault().is_some(), "{what}: {error}");
                    refused += 1;
                }
                Ok(ledger) => {
                    drop(ledger);
                    assert!(!is_at_the_end, "{what}: not found");
                    assert!(verify(folder, &victim.key).is_err(), "{what}: mended what was changed");
                    older += 1;
                }
            }
            put(path, at, good);
            put(&folder.join("settled"), 0, &own);
            put(&folder.join("lock"), 0, &lock);
        }
    }
    assert!(refused > 100 && older > 100, "{refused} {older}");
    verify(folder, &victim.key).unwrap();
}

/// Opening reads only what follows the settled position, and works without the file that holds it.
#[test]
fn open_reads_only_after_settled_position() {
    let victim = TamperTarget::new(3000);
    let folder = victim.folder.path();
    assert!(settled(folder) > 2500);
    let first = (0..victim.files.len()).find(|file| victim.first(*file) == Some(0)).unwrap();
    let (path, good) = &victim.files[first];
    fs::write(path, vec![b'?'; good.len()]).unwrap();
    let ledger = Ledger::open(folder, options()).unwrap();
    ledger.append(Draft::default()).unwrap().wait().unwrap();
    ledger.close().unwrap();
    assert_eq!(verify(folder, &victim.key).unwrap_err().fault().unwrap().index, Some(0));
    fs::write(path, good).unwrap();
    let records = verify(folder, &victim.key).unwrap().records;
    for content in [None, Some(""), Some("0 0\n"), Some("0 99999999\nx"), Some("nothing of the kind")] {
        match content {
            Some(content) => fs::write(folder.join("settled"), content).unwrap(),
            None => fs::remove_file(folder.join("settled")).unwrap(),
        }
        Ledger::open(folder, options()).unwrap().close().unwrap();
        assert_eq!(settled(folder), records, "{content:?}");
    }
    assert_eq!(verify(folder, &victim.key).unwrap().records, records);
}

/// Segments with swapped or shifted names: the fault names the first misplaced record.
#[test]
fn reordered_segments_are_found() {
    let victim = TamperTarget::new(40);
    let segments: Vec<usize> = (0..victim.files.len()).filter(|file| victim.first(*file).is_some()).collect();
    assert!(segments.len() > 3);
    let mut orders = vec![[&segments[1..], &segments[..1]].concat()];
    for (a, b) in (0..segments.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        orders.push(segments.clone());
        orders.last_mut().unwrap().swap(a, b);
    }
    for order in orders {
        let moved = segments.iter().zip(&order).filter(|(file, content)| file != content);
        moved.clone().for_each(|(file, content)| fs::write(&victim.files[*file].0, &victim.files[*content].1).unwrap());
        let error = verify(victim.folder.path(), &victim.key).unwrap_err();
        let first = moved.clone().filter_map(|(file, _)| victim.first(*file)).min();
        assert_eq!(error.fault().unwrap().index, first, "{order:?}: {error}");
        moved.for_each(|(file, _)| fs::write(&victim.files[*file].0, &victim.files[*file].1).unwrap());
    }
}

/// A middle checkpoint names more records than there are: the fault names the checkpoint, and no record.
#[test]
fn unsigned_checkpoint_size_blames_the_checkpoint() {
    let victim = TamperTarget::new(12);
    let file = (0..victim.files.len()).find(|file| victim.name(*file) == "checkpoints").unwrap();
    let text = String::from_utf8(victim.files[file].1.clone()).unwrap();
    for (place, line) in text.lines().enumerate().skip(1).step_by(6) {
        let mut lines: Vec<&str> = text.lines().collect();
        let larger = format!("9{line}");
        lines[place] = &larger;
        let fault = victim.fault(file, format!("{}\n", lines.join("\n")).as_bytes(), &format!("size {larger}"));
        assert!(fault.file.starts_with("checkpoint"), "{fault}");
    }
}

#[test]
fn changed_time_at_tile_end_blames_its_record() {
    let victim = TamperTarget::new(520);
    let holds = |file: &usize| victim.first(*file).is_some_and(|first| first <= 255);
    let file = (0..victim.files.len()).rfind(holds).unwrap();
    let line = usize::try_from(255 - victim.first(file).unwrap()).unwrap();
    let good = &victim.files[file].1;
    let end = good.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(line).unwrap().0;
    // The decade of the year, to make it later than all that follow: `2026-…Z"}` has 29 bytes.
    let decade = end - 29 + 2;
    assert!(good[decade].is_ascii_digit());
    let mask = good[decade] ^ b'9';
    victim.flip(file, decade, mask);
}

#[test]
fn random_bit_flips_are_found() {
    let flips = std::env::var("LICTOR_TAMPER_FLIPS").ok().map_or(1_000, |text| text.parse::<u64>().unwrap());
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || flip_at_random(flips.div_ceil(threads), 20_260_131 + thread));
        }
    });
}

/// Flips bits of a ledger at places that depend on a seed only, so that a failure is reproducible.
fn flip_at_random(flips: u64, seed: u64) {
    let victim = TamperTarget::new(520);
    let total: usize = victim.files.iter().map(|(_, content)| content.len()).sum();
    // splitmix64, with a seed far from those of the other threads.
    let mut state = seed.wrapping_mul(0xd134_2543_de82_ef95);
    for _ in 0..flips {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let mut at = usize::try_from(random >> 16).unwrap() % total;
        let mask = 1 << (random & 7);
        let mut file = 0;
        while at >= victim.files[file].1.len() {
            at -= victim.files[file].1.len();
            file += 1;
        }
        victim.flip(file, at, mask);
    }
}

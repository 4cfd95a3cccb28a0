//! A writer is killed under load a few hundred times: every acknowledged record survives. Also a full file system.
//!
//! This program starts itself as the process that writes: it prints a line for each acknowledged record, and is killed
//! with SIGKILL. After each kill the ledger is verified as it is, opened, verified again, and searched for every
//! acknowledged record. `LICTOR_KILLS` is the number of kills, 200 by default.
//!
//! It is a binary of its own: a process that is being started briefly holds the locks of all open ledgers, which would
//! disturb tests of other ledgers in the same process.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says how far it came")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lictor_ledger::{Draft, Ledger, LedgerOptions, Payload, Reader, verify};
use serde_json::json;

/// How many threads append at the same time.
const THREADS: u64 = 4;

/// The number of kills after which a new ledger begins, so that verification stays quick.
const KILLS_PER_LEDGER: u64 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "write", folder, start] => write_until_killed(Path::new(folder), start.parse().unwrap()),
        _ => {
            kill_repeatedly();
            fill_small_file_system();
        }
    }
}

fn options() -> LedgerOptions {
    LedgerOptions::new(jiff::Timestamp::now)
        .segment_bytes(20_000)
        .checkpoint_records(50)
        .checkpoint_interval(Duration::from_millis(5))
}

/// Appends until it is killed, and prints the index and the number of each acknowledged record.
fn write_until_killed(folder: &Path, start: u64) {
    let ledger = Ledger::open_or_create(folder, "example.com/torture", options()).unwrap();
    std::io::stdout().write_all(b"open\n").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in (start + thread..).step_by(usize::try_from(THREADS).unwrap()) {
                    let index = ledger.append(draft(number)).unwrap().wait().unwrap().index;
                    // One write for a line, so that a kill leaves whole lines.
                    std::io::stdout().write_all(format!("{index} {number}\n").as_bytes()).unwrap();
                    if number % 97 == 0 {
                        ledger.rotate().unwrap();
                    }
                    if number % 61 == 0 {
                        // Another thread may have been quicker.
                        let _ = ledger.erase(&format!("subject {}", number % 7));
                    }
                }
            });
        }
    });
}

fn draft(number: u64) -> Draft {
    let body = json!({ "number": number, "filler": "x".repeat(usize::try_from(number % 50).unwrap()) });
    let payload = if number.is_multiple_of(2) { Payload::Committed(vec![7]) } else { Payload::Sealed(vec![7; 30]) };
    Draft {
        body: body.as_object().unwrap().clone(),
        subjects: vec![format!("subject {}", number % 7)],
        payload: Some(payload),
    }
}

fn kill_repeatedly() {
    let kills = std::env::var("LICTOR_KILLS").ok().map_or(200, |text| text.parse::<u64>().unwrap());
    let (mut torn, mut total, mut done, mut early) = (0, 0, 0, 0);
    while done < kills {
        let folder = create_scratch(done / KILLS_PER_LEDGER);
        let mut acknowledged = BTreeMap::new();
        for turn in 0..KILLS_PER_LEDGER.min(kills - done) {
            done += 1;
            let start = turn * 1_000_000 + 1;
            let delay = Duration::from_micros(done * 7919 % 40_000);
            let fresh = run_and_kill(folder.path(), start, delay, done.is_multiple_of(4));
            early += u64::from(fresh.is_empty());
            total += fresh.len();
            acknowledged.extend(fresh);
            torn += check_ledger(folder.path(), &acknowledged);
        }
    }
    println!(
        "{done} kills, {total} acknowledged records, none lost; {torn} torn tails, {early} kills before the first"
    );
    assert!(total > 1000, "the kills came too early to prove anything");
}

/// Returns a temporary folder. Every other one is in memory, which is quicker, so that kills hit other moments.
fn create_scratch(number: u64) -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if number.is_multiple_of(2) && memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Runs a writing process, kills it after a delay, and returns the acknowledged records. The delay begins when the
/// process starts, or when it has opened the ledger.
fn run_and_kill(folder: &Path, start: u64, delay: Duration, from_start: bool) -> BTreeMap<u64, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["write", folder.to_str().unwrap(), &start.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    if !from_start {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
    }
    let reading = std::thread::spawn(move || {
        let lines = stdout.lines().map_while(Result::ok);
        let pair = |line: String| line.split_once(' ').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
        lines.filter_map(pair).collect::<BTreeMap<u64, u64>>()
    });
    // The only sleep here: a kill must come at an arbitrary moment, so there is no condition to wait for.
    std::thread::sleep(delay);
    assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap()
}

/// Checks a ledger after a kill, and returns 1 if its tail was torn.
fn check_ledger(folder: &Path, acknowledged: &BTreeMap<u64, u64>) -> u64 {
    if !folder.join("keys/signing").exists() {
        assert!(acknowledged.is_empty());
        return 0;
    }
    let reader = Reader::open(folder);
    let key = reader.first_key().unwrap();
    let before = verify(folder, &key).unwrap();
    Ledger::open(folder, options()).unwrap().close().unwrap();
    let after = verify(folder, &key).unwrap();
    assert!(after.records >= before.records && after.unsigned == 0 && after.unfinished == 0);
    let there: BTreeMap<u64, u64> = reader
        .records(0)
        .unwrap()
        .filter_map(|record| record.map(|record| Some((record.index, record.body?["number"].as_u64()?))).unwrap())
        .collect();
    for (index, number) in acknowledged {
        assert_eq!(there.get(index), Some(number), "record {index} was acknowledged");
    }
    u64::from(before.unfinished > 0)
}

/// Writes to a small file system until it is full, makes room, and continues.
fn fill_small_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=300k", "none"]).arg(folder.path()).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        println!("A SMALL FILE SYSTEM COULD NOT BE MOUNTED: full disks were tried with injected failures only");
        return;
    }
    let result = std::panic::catch_unwind(|| fill_and_recover(folder.path()));
    let _ = Command::new("umount").arg(folder.path()).status();
    result.unwrap();
}

fn fill_and_recover(folder: &Path) {
    std::fs::write(folder.join("ballast"), vec![0; 100_000]).unwrap();
    let log = folder.join("log");
    let ledger = Ledger::create(&log, "example.com/full", options()).unwrap();
    let mut acknowledged = BTreeMap::new();
    let failure = (0..).find_map(|number| match ledger.append(draft(number)).unwrap().wait() {
        Ok(receipt) => {
            acknowledged.insert(receipt.index, number);
            None
        }
        Err(error) => Some(error),
    });
    let failure = failure.unwrap();
    assert!(failure.is_unavailable() && failure.to_string().contains("No space left"), "{failure}");
    let written = acknowledged.len();
    std::fs::remove_file(folder.join("ballast")).unwrap();
    ledger.recover().unwrap();
    for number in 1_000_000..1_000_020 {
        acknowledged.insert(ledger.append(draft(number)).unwrap().wait().unwrap().index, number);
    }
    ledger.close().unwrap();
    check_ledger(&log, &acknowledged);
    println!("a tmpfs of 300 KB was full after {written} records; with room again, all were there and 20 more");
}

//! `lictor-bench ledger`: durable appends against only writing and syncing the same bytes, on the same disk in the same
//! run; the time to open a ledger; and its verification.

mod bare;

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lictor_ledger::{Draft, Hash, Ledger, LedgerOptions, Payload, Reader, verify};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};

use crate::table::{Better, Section, Table, Target};

/// Measured rounds; the best one is reported.
const ROUNDS: usize = 5;

/// How often a ledger is opened.
const OPENINGS: usize = 21;

/// A load of appends: how many threads, how many records each has in flight, and how many records there are.
struct Load {
    what: &'static str,
    threads: usize,
    on_the_way: usize,
    records: usize,
}

/// Requests that each wait for their record, as in a gateway; and one thread that appends as fast as the ledger
/// accepts. There the disk only writes large pieces, so the cost of the tree, the commitments and the tiles shows.
const LOADS: [Load; 2] = [
    Load { what: "64 threads, each waits for its record", threads: 64, on_the_way: 1, records: 20_000 },
    Load { what: "one thread that does not wait", threads: 1, on_the_way: 16 * 1024, records: 400_000 },
];

/// Measures appending, opening and verification.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut table = Table::default();
    let folder = tempfile::tempdir_in(".")?;
    let mut logs = Vec::new();
    for (place, load) in LOADS.iter().enumerate() {
        logs.push(appending(&mut table, folder.path(), place, load)?);
    }
    for log in &logs {
        opening(&mut table, log)?;
    }
    if let Some(log) = logs.last() {
        verification(&mut table, log)?;
    }
    table.finish();
    Ok(())
}

/// Runs a load of appends in rounds, and keeps the last ledger. Each round is compared with plain writing right after
/// it, because the speed of the disk changes from one second to the next.
fn appending(table: &mut Table, folder: &Path, place: usize, load: &Load) -> Result<PathBuf, Box<dyn Error>> {
    let mut log = PathBuf::new();
    let [mut ours, mut by_hand, mut bare, mut work] = [f64::MAX; 4];
    let (mut batches, mut to_appends, mut to_batches) = (0, Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        log = folder.join(format!("log {place} {round}"));
        let ledger = Ledger::create(&log, "example.com/bench", LedgerOptions::new(jiff::Timestamp::now))?;
        let drafts = drafts_of(load);
        let before = cpu(ClockId::ProcessCPUTime);
        let appended = appended(ledger, drafts, load)?;
        work = work.min(cpu(ClockId::ProcessCPUTime) - before);
        let (lines, written) = written(&log)?;
        let gathered = bare::appends(&folder.join("bare"), &lines, load)?;
        batches = written.len();
        let written = bare::batches(&folder.join("bare"), &written)?;
        (ours, by_hand, bare) = (ours.min(appended), by_hand.min(gathered), bare.min(written));
        to_appends.push(gathered / appended);
        to_batches.push(written / appended);
    }
    let median = |mut ratios: Vec<f64>| {
        ratios.sort_by(f64::total_cmp);
        ratios[ROUNDS / 2]
    };
    let size = bytes_in(&log)? / load.records;
    let mut section = Section::new(format!("{} records of {size} bytes, {}", load.records, load.what));
    let per = |seconds: f64| seconds * 1e9 / load.records as f64;
    let note = format!("median of {ROUNDS} rounds");
    section.time(
        "the same lines appended in the same way, bare",
        per(by_hand),
        "gathered, written, synced, acknowledged",
    );
    section.time("the same batches, written and synced", per(bare), format!("{batches} batches that nobody waits for"));
    section.time("a ledger, each record acknowledged", per(ours), "with its tree and checkpoints");
    let (to_appends, to_batches) = (median(to_appends), median(to_batches));
    section.figure("of the speed of the bare appends", to_appends, "", note.clone()).target(Target::AtLeast(0.5));
    section.figure("of the speed of the bare batches", to_batches, "", note);
    section.ratio(format!("{}-threads/speed-of-bare-appends", load.threads), to_appends, Better::Higher);
    section.ratio(format!("{}-threads/speed-of-bare-batches", load.threads), to_batches, Better::Higher);
    section.time("processor time of the ledger, all threads", work / load.records as f64, "and of those who append");
    let hashed = hashed(&log)? / load.records as f64;
    section.time("of which two hashes a record need", hashed, "its own and one of the tree");
    table.print(&section);
    Ok(log)
}

/// Returns a record as a gateway writes it: a decision on a call, with a commitment to its arguments.
fn draft(number: usize) -> Draft {
    let mut body = Map::new();
    body.insert("decision".to_owned(), Value::from(if number.is_multiple_of(50) { "block" } else { "allow" }));
    body.insert("session".to_owned(), Value::from(format!("session-{}", number % 1000)));
    body.insert("step".to_owned(), Value::from(number));
    body.insert("tool".to_owned(), Value::from("crm.update_contact"));
    Draft {
        body,
        subjects: vec![format!("subject {}", number % 500)],
        payload: Some(Payload::Committed(vec![b'x'; 200])),
    }
}

/// Returns the drafts of each thread, made in advance like the batches for plain writing.
fn drafts_of(load: &Load) -> Vec<Vec<Draft>> {
    let of_thread = |thread: usize| (thread..load.records).step_by(load.threads).map(draft).collect();
    (0..load.threads).map(of_thread).collect()
}

/// Returns the nanoseconds for only the hashes of each record.
fn hashed(log: &Path) -> Result<f64, Box<dyn Error>> {
    let records: Vec<_> = Reader::open(log).records(0)?.collect::<Result<_, _>>()?;
    let start = cpu(ClockId::ThreadCPUTime);
    let tree = records.iter().map(lictor_ledger::Record::hash).reduce(Hash::node);
    std::hint::black_box(tree);
    Ok(cpu(ClockId::ThreadCPUTime) - start)
}

/// Returns the seconds until all records are acknowledged and the ledger is closed.
fn appended(ledger: Ledger, drafts: Vec<Vec<Draft>>, load: &Load) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let ledger = &ledger;
        let start = |drafts: Vec<Draft>| scope.spawn(move || append_some(ledger, drafts, load.on_the_way));
        let threads: Vec<_> = drafts.into_iter().map(start).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("a thread failed".to_owned()),
        })
    })?;
    ledger.close()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Appends the records of one thread.
fn append_some(ledger: &Ledger, drafts: Vec<Draft>, on_the_way: usize) -> Result<(), lictor_ledger::LedgerError> {
    let mut waiting = VecDeque::new();
    for draft in drafts {
        waiting.push_back(ledger.append(draft)?);
        if waiting.len() >= on_the_way {
            // Waits for the older half; the writer works on the other half meanwhile.
            for ticket in waiting.drain(..on_the_way.div_ceil(2)) {
                ticket.wait()?;
            }
        }
    }
    waiting.into_iter().try_for_each(|ticket| ticket.wait().map(|_| ()))
}

/// Returns the lines of a log, and its batches: all records of a batch have the same time.
fn written(log: &Path) -> Result<(Vec<Vec<u8>>, Vec<Vec<u8>>), Box<dyn Error>> {
    let (mut lines, mut batches): (Vec<Vec<u8>>, Vec<Vec<u8>>) = Default::default();
    let mut last = String::new();
    for record in Reader::open(log).records(0)? {
        let record = record?;
        let line = [record.line.as_bytes(), b"\n"].concat();
        if record.time != last {
            last.clone_from(&record.time);
            batches.push(Vec::new());
        }
        if let Some(batch) = batches.last_mut() {
            batch.extend_from_slice(&line);
        }
        lines.push(line);
    }
    Ok((lines, batches))
}

fn bytes_in(log: &Path) -> Result<usize, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs::read_dir(log.join("records"))? {
        bytes += usize::try_from(entry?.metadata()?.len())?;
    }
    Ok(bytes)
}

/// Measures how long it takes to open a ledger for writing, as a hook does at every call.
fn opening(table: &mut Table, log: &Path) -> Result<(), Box<dyn Error>> {
    let options = || LedgerOptions::new(jiff::Timestamp::now);
    let records = Ledger::open(log, options())?.append(draft(0))?.wait()?.index;
    let mut section = Section::new(format!("opening a ledger of {records} records"));
    // Right after the ledger was settled, and with the most records that there can be before it is settled again.
    for (what, since) in [("right behind where it was settled", 0), ("500 records behind that", 500)] {
        let ledger = Ledger::open(log, options())?;
        (0..since).try_for_each(|number| ledger.append(draft(number))?.wait().map(|_| ()))?;
        ledger.close()?;
        let mut times = Vec::new();
        for _ in 0..OPENINGS {
            let start = Instant::now();
            let ledger = Ledger::open(log, options())?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            ledger.close()?;
        }
        times.sort_by(f64::total_cmp);
        let note = format!("median of {OPENINGS}");
        section.figure(what, times[OPENINGS / 2], "ms", note).target(Target::AtMost(10.0));
    }
    table.print(&section);
    Ok(())
}

fn verification(table: &mut Table, log: &Path) -> Result<(), Box<dyn Error>> {
    let key = Reader::open(log).first_key()?;
    let mut section = Section::new("verification, one core");
    let (mut best, mut records) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let start = cpu(ClockId::ThreadCPUTime);
        records = verify(log, &key)?.records;
        best = best.min(cpu(ClockId::ThreadCPUTime) - start);
    }
    section.time("all of it", best / records as f64, format!("{records} records"));
    section.figure("thousand records a second", records as f64 / best * 1e6, "", "").target(Target::AtLeast(300.0));
    table.print(&section);
    Ok(())
}

/// Returns the processor time of this thread or process so far, in nanoseconds.
fn cpu(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

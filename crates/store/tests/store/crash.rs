//! Processes that are killed while they save: acknowledged saves survive, and no save is partial.
//!
//! The child is this test binary, run with the name of one test. It prints a line after every save that returned; the
//! parent kills it with SIGKILL after a random number of lines, reads the rest of the output, and examines the store.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store};
use tempfile::TempDir;

/// The variable that passes the folder to the child.
const FOLDER_VARIABLE: &str = "LICTOR_STORE_CRASH_FOLDER";

const KILLS: usize = 60;
const THREADS: u64 = 4;

/// How many entries each thread keeps; an older one is deleted in the same save.
const KEPT_ENTRIES: u64 = 5;

#[test]
fn kill_loses_no_acknowledged_save() {
    let folder = TempDir::new().unwrap();
    let mut acknowledged = [0; THREADS as usize];
    for _ in 0..KILLS {
        let (lines, pauses) = (random(40), random(200));
        let mut child = spawn_child(folder.path());
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledge = |line: String| {
            // The harness prints lines of its own.
            if let Some((thread, number)) = line.strip_prefix("saved ").and_then(|rest| rest.split_once(' ')) {
                acknowledged[thread.parse::<usize>().unwrap()] = number.parse().unwrap();
            }
        };
        output.by_ref().take(lines as usize).for_each(|line| acknowledge(line.unwrap()));
        // Let the next save start.
        (0..pauses).for_each(|_| thread::yield_now());
        child.kill().unwrap();
        child.wait().unwrap();
        // A short line is written to a pipe atomically, so none is torn.
        output.for_each(|line| acknowledge(line.unwrap()));
        examine(folder.path(), &mut acknowledged);
    }
    assert!(acknowledged.iter().all(|number| *number > 0), "{acknowledged:?}: the children hardly saved");
}

fn spawn_child(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::child_process_saves_until_killed", "--nocapture"]).env(FOLDER_VARIABLE, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Does nothing except in a child process.
#[test]
fn child_process_saves_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let store = EmbeddedStore::open(Path::new(&folder)).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || save_forever(store, thread));
        }
    });
}

/// Each save moves two heads, adds an entry and deletes an old one.
fn save_forever(store: &EmbeddedStore, thread: u64) {
    loop {
        let number = head(store, thread, "left") + 1;
        let load = |name: &str| {
            let key = format!("{thread}/{name}");
            (key.clone(), ExpectedVersion::of(store.load(&key).unwrap().as_ref()))
        };
        let (left, right) = (load("left"), load("right"));
        let mut changes = vec![
            Change::put(left.0, left.1, number.to_string()),
            Change::put(entry(thread, number), ExpectedVersion::Absent, vec![b'x'; 700]),
            Change::put(right.0, right.1, number.to_string()),
        ];
        if number > KEPT_ENTRIES {
            let old = entry(thread, number - KEPT_ENTRIES);
            changes.push(Change::delete(&old, ExpectedVersion::of(store.load(&old).unwrap().as_ref())));
        }
        store.save(&changes).unwrap();
        let mut output = std::io::stdout().lock();
        output.write_all(format!("saved {thread} {number}\n").as_bytes()).unwrap();
        output.flush().unwrap();
    }
}

fn entry(thread: u64, number: u64) -> String {
    format!("{thread}/entry/{number:010}")
}

fn head(store: &EmbeddedStore, thread: u64, name: &str) -> u64 {
    let stored = store.load(&format!("{thread}/{name}")).unwrap();
    stored.map_or(0, |stored| String::from_utf8(stored.value).unwrap().parse().unwrap())
}

/// Compares the store with the acknowledged saves, and updates them for the next child.
fn examine(folder: &Path, acknowledged: &mut [u64]) {
    let store = EmbeddedStore::open(folder).unwrap();
    for (thread, acknowledged) in (0..).zip(acknowledged) {
        let last = head(&store, thread, "left");
        assert_eq!(last, head(&store, thread, "right"), "half a save of thread {thread}");
        // One more may have been saved before the child could print it.
        assert!(
            last == *acknowledged || last == *acknowledged + 1,
            "thread {thread}: {acknowledged} was acknowledged, {last} is stored"
        );
        *acknowledged = last;
        let wanted: Vec<String> =
            (last.saturating_sub(KEPT_ENTRIES) + 1..=last).map(|number| entry(thread, number)).collect();
        assert_eq!(store.keys(&format!("{thread}/entry/"), None, 100).unwrap(), wanted, "half a save of {thread}");
    }
}

/// Returns a random number below a bound. Not reproducible: the moment of a kill is not either.
fn random(bound: u64) -> u64 {
    RandomState::new().build_hasher().finish() % bound
}

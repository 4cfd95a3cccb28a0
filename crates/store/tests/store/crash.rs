//! Processes that save under load and are killed at random: what was acknowledged is there, and nothing is half there.
//!
//! The child is this very test binary, asked for one test by name. It prints a line after every save that returned; the
//! parent kills it with SIGKILL after a random number of them, reads what was still printed, opens the store and looks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store};
use tempfile::TempDir;

/// How the child learns where to save.
const FOLDER: &str = "LICTOR_STORE_CRASH_FOLDER";

const KILLS: usize = 60;
const THREADS: u64 = 4;

/// How many entries each thread keeps; the one before them is deleted in the same save.
const KEPT: u64 = 5;

#[test]
fn what_was_acknowledged_survives_being_killed_and_nothing_is_half_saved() {
    let folder = TempDir::new().unwrap();
    let mut acknowledged = [0; THREADS as usize];
    for _ in 0..KILLS {
        let (lines, pauses) = (random(40), random(200));
        let mut child = child(folder.path());
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledge = |line: String| {
            // The harness prints lines of its own.
            if let Some((thread, number)) = line.strip_prefix("saved ").and_then(|rest| rest.split_once(' ')) {
                acknowledged[thread.parse::<usize>().unwrap()] = number.parse().unwrap();
            }
        };
        output.by_ref().take(lines as usize).for_each(|line| acknowledge(line.unwrap()));
        // The next save is somewhere on its way.
        (0..pauses).for_each(|_| thread::yield_now());
        child.kill().unwrap();
        child.wait().unwrap();
        // A pipe takes a short line as a whole, so none is torn.
        output.for_each(|line| acknowledge(line.unwrap()));
        examine(folder.path(), &mut acknowledged);
    }
    assert!(acknowledged.iter().all(|number| *number > 0), "{acknowledged:?}: the children hardly saved");
}

fn child(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_child_saves_until_it_is_killed", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Does nothing but in a child.
#[test]
fn the_child_saves_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
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
        let of = |name: &str| {
            let key = format!("{thread}/{name}");
            (key.clone(), ExpectedVersion::of(store.load(&key).unwrap().as_ref()))
        };
        let (left, right) = (of("left"), of("right"));
        let mut changes = vec![
            Change::put(left.0, left.1, number.to_string()),
            Change::put(entry(thread, number), ExpectedVersion::Absent, vec![b'x'; 700]),
            Change::put(right.0, right.1, number.to_string()),
        ];
        if number > KEPT {
            let old = entry(thread, number - KEPT);
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

/// Compares what is stored with what was acknowledged, and lets the next child begin from there.
fn examine(folder: &Path, acknowledged: &mut [u64]) {
    let store = EmbeddedStore::open(folder).unwrap();
    for (thread, acknowledged) in (0..).zip(acknowledged) {
        let last = head(&store, thread, "left");
        assert_eq!(last, head(&store, thread, "right"), "half a save of thread {thread}");
        // One more may have been saved without the child having come to say so.
        assert!(
            last == *acknowledged || last == *acknowledged + 1,
            "thread {thread} was told {acknowledged} and {last} is stored"
        );
        *acknowledged = last;
        let wanted: Vec<String> = (last.saturating_sub(KEPT) + 1..=last).map(|number| entry(thread, number)).collect();
        assert_eq!(store.keys(&format!("{thread}/entry/"), None, 100).unwrap(), wanted, "half a save of {thread}");
    }
}

/// A number below a bound that no run repeats; where a child was killed cannot be repeated anyway.
fn random(bound: u64) -> u64 {
    RandomState::new().build_hasher().finish() % bound
}

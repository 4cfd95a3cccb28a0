//! Two processes append to one session: every acknowledged append is stored exactly once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::server::TestServer;
use crate::{open, suite};

/// The variables that pass the address of the server and its own name to a child.
const ADDRESS_VARIABLE: &str = "LICTOR_STORE_ADDRESS";
const NAME_VARIABLE: &str = "LICTOR_STORE_CHILD";

/// The variable for the number of appends; a nightly run may use many more.
const APPENDS_VARIABLE: &str = "LICTOR_STORE_APPENDS";
const DEFAULT_APPENDS: usize = 4_000;

const PROCESSES: usize = 2;
const THREADS: usize = 2;

fn append_count() -> usize {
    std::env::var(APPENDS_VARIABLE).map_or(DEFAULT_APPENDS, |number| number.parse().unwrap())
}

#[test]
fn two_processes_never_fork_a_session() {
    let Some(server) = TestServer::start() else { return };
    let children: Vec<Child> = (0..PROCESSES).map(|name| spawn_child(&server, name)).collect();
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let readers: Vec<_> = children.into_iter().map(|child| thread::spawn(move || read_acknowledged(child))).collect();
    for (place, value) in readers.into_iter().flat_map(|reader| reader.join().unwrap()) {
        assert_eq!(acknowledged.insert(place, value), None, "two appends were acknowledged with place {place}");
    }
    let chain = suite::read_entries(open(&server.address()).as_ref(), "shared");
    assert_eq!(chain.len(), append_count());
    assert_eq!(
        acknowledged.into_values().collect::<Vec<_>>(),
        chain,
        "the acknowledged appends are not the stored ones"
    );
    let mut values = chain;
    values.sort();
    values.dedup();
    assert_eq!(values.len(), append_count(), "duplicate append");
}

fn spawn_child(server: &TestServer, name: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::child_process_appends_to_the_session", "--nocapture"]);
    command.env(ADDRESS_VARIABLE, server.address()).env(NAME_VARIABLE, name.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Returns the acknowledged appends of a child, with their places.
fn read_acknowledged(mut child: Child) -> Vec<(u64, String)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness prints lines of its own.
    let acknowledged = lines.filter_map(|line| {
        let line = line.unwrap();
        let (place, value) = line.strip_prefix("appended ")?.split_once(' ')?;
        Some((place.parse().unwrap(), value.to_string()))
    });
    let acknowledged = acknowledged.collect();
    assert!(child.wait().unwrap().success());
    acknowledged
}

/// Does nothing except in a child process.
#[test]
fn child_process_appends_to_the_session() {
    let (Ok(address), Ok(name)) = (std::env::var(ADDRESS_VARIABLE), std::env::var(NAME_VARIABLE)) else { return };
    let store = open(&address);
    let mut output = BufWriter::new(std::io::stdout().lock());
    // The harness has begun a line.
    writeln!(output).unwrap();
    let acknowledged = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, name) = (store.as_ref(), &name);
                scope.spawn(move || {
                    let values =
                        (0..append_count() / PROCESSES / THREADS).map(|number| format!("{name}-{thread}-{number}"));
                    values.map(|value| (suite::append(store, "shared", &value), value)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (place, value) in acknowledged {
        writeln!(output, "appended {place} {value}").unwrap();
    }
}

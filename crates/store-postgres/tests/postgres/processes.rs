//! Two real processes append to one session: every append that was acknowledged is there exactly once, and no other.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::server::Server;
use crate::{open, suite};

/// How a child learns where the server is, who it is, and how much to do.
const ADDRESS: &str = "LICTOR_STORE_ADDRESS";
const NAME: &str = "LICTOR_STORE_CHILD";

/// How many appends there are in all; more of them take longer than anybody would wait for.
const APPENDS: &str = "LICTOR_STORE_APPENDS";
const ORDINARY_APPENDS: usize = 20_000;

const PROCESSES: usize = 2;
const THREADS: usize = 2;

fn appends() -> usize {
    std::env::var(APPENDS).map_or(ORDINARY_APPENDS, |number| number.parse().unwrap())
}

#[test]
fn two_processes_never_fork_a_session() {
    let Some(server) = Server::start() else { return };
    let children: Vec<Child> = (0..PROCESSES).map(|name| child(&server, name)).collect();
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let readers: Vec<_> = children.into_iter().map(|child| thread::spawn(move || lines(child))).collect();
    for (place, value) in readers.into_iter().flat_map(|reader| reader.join().unwrap()) {
        assert_eq!(acknowledged.insert(place, value), None, "two appends were told the same place {place}");
    }
    let chain = suite::chain(open(&server.address()).as_ref(), "shared");
    assert_eq!(chain.len(), appends());
    assert_eq!(acknowledged.into_values().collect::<Vec<_>>(), chain, "what was told is not what is stored");
    let mut values = chain;
    values.sort();
    values.dedup();
    assert_eq!(values.len(), appends(), "an append is there twice");
}

fn child(server: &Server, name: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::the_child_appends_to_the_session", "--nocapture"]);
    command.env(ADDRESS, server.address()).env(NAME, name.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// What a child was told: the place of each of its appends.
fn lines(mut child: Child) -> Vec<(u64, String)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness prints lines of its own.
    let told = lines.filter_map(|line| {
        let line = line.unwrap();
        let (place, value) = line.strip_prefix("appended ")?.split_once(' ')?;
        Some((place.parse().unwrap(), value.to_string()))
    });
    let told = told.collect();
    assert!(child.wait().unwrap().success());
    told
}

/// Does nothing but in a child.
#[test]
fn the_child_appends_to_the_session() {
    let (Ok(address), Ok(name)) = (std::env::var(ADDRESS), std::env::var(NAME)) else { return };
    let store = open(&address);
    let mut output = BufWriter::new(std::io::stdout().lock());
    // The harness has begun a line.
    writeln!(output).unwrap();
    let told = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, name) = (store.as_ref(), &name);
                scope.spawn(move || {
                    let values = (0..appends() / PROCESSES / THREADS).map(|number| format!("{name}-{thread}-{number}"));
                    values.map(|value| (suite::append(store, "shared", &value), value)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (place, value) in told {
        writeln!(output, "appended {place} {value}").unwrap();
    }
}

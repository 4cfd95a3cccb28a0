//! The store in PostgreSQL on a real server: the suite of all stores, lost connections, and processes that race.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod processes;
mod proxy;
mod server;
#[path = "../../../store/tests/conformance/suite.rs"]
mod suite;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use lictor_store_postgres::PostgresStore;

use crate::server::Server;

fn open(address: &str) -> Box<dyn Store> {
    Box::new(PostgresStore::open(address).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn postgres_does_what_every_store_does() {
    let Some(server) = Server::start() else { return };
    let open = || open(&server.address());
    suite::does_what_the_definition_does(&open, 60);
    suite::threads_never_fork_a_session(&open, 8, 50);
    suite::a_save_is_seen_as_a_whole(&open, 300);
    suite::keys_come_in_pages(&open);
    suite::limits_are_kept(&open);
}

#[test]
fn a_commit_without_an_answer_is_neither_lost_nor_made_twice() {
    let Some(server) = Server::start() else { return };
    let cuts = proxy::listen(server.folder());
    let store = open(&format!("{} port={}", server.address(), proxy::PORT));
    // Every entry goes behind the one before. One that was made twice would stand there twice, and one whose author was
    // wrongly told that it failed would be there after all.
    let places: Vec<u64> = (0..200).map(|number| suite::append(store.as_ref(), "cut", &number.to_string())).collect();
    assert_eq!(places, (0..200).collect::<Vec<_>>());
    let chain = suite::chain(open(&server.address()).as_ref(), "cut");
    assert_eq!(chain, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    let (before, after) = (cuts.before.load(Ordering::Relaxed), cuts.after.load(Ordering::Relaxed));
    assert!(before > 20 && after > 20, "{cuts:?}");
}

#[test]
fn a_server_that_restarts_is_waited_for() {
    let Some(server) = Server::start() else { return };
    let store = open(&server.address());
    let saved = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (store, saved) = (store.as_ref(), &saved);
            scope.spawn(move || {
                for number in 0..250 {
                    suite::append(store, &format!("restart {thread}"), &number.to_string());
                    saved.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for restart in 1..=3 {
            while saved.load(Ordering::Relaxed) < restart * 200 {
                thread::yield_now();
            }
            server.crash_and_restart();
        }
    });
    for thread in 0..4 {
        let wanted: Vec<String> = (0..250).map(|number| number.to_string()).collect();
        assert_eq!(suite::chain(store.as_ref(), &format!("restart {thread}")), wanted);
    }
}

#[test]
fn two_that_make_sure_of_each_others_key_do_not_both_succeed() {
    let Some(server) = Server::start() else { return };
    let (left, right) = (open(&server.address()), open(&server.address()));
    for round in 0..200 {
        let (a, b) = (format!("{round}/a"), format!("{round}/b"));
        let save = |store: &dyn Store, new: &str, absent: &str| {
            store.save(&[
                Change::put(new, ExpectedVersion::Absent, "x"),
                Change::delete(absent, ExpectedVersion::Absent),
            ])
        };
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| save(right.as_ref(), &b, &a));
            (save(left.as_ref(), &a, &b), second.join().unwrap())
        });
        let conflicts = [&first, &second].iter().filter(|one| matches!(one, Err(StoreError::Conflict { .. }))).count();
        assert_eq!(conflicts, 1, "{first:?}, {second:?}");
    }
}

#[test]
fn a_server_that_is_not_there_or_does_not_know_us_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let error = PostgresStore::open(&format!("host={} user=x", folder.path().display())).unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable { place, .. } if place.contains("PostgreSQL at")), "{error}");
    let error = PostgresStore::open("no address").unwrap_err();
    assert!(error.to_string().contains("address"), "{error}");
    let Some(server) = Server::start() else { return };
    let error = PostgresStore::open(&server.address().replace("dbname=postgres", "dbname=nowhere")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

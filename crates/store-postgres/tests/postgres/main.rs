//! The store in PostgreSQL on a real server: the suite of all stores, lost connections, and racing processes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod processes;
mod proxy;
mod server;
#[path = "../../../store/tests/store/suite.rs"]
mod suite;
mod tls;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use lictor_store_postgres::PostgresStore;

use crate::server::TestServer;

fn open(address: &str) -> Box<dyn Store> {
    Box::new(PostgresStore::open(address).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn postgres_store_passes_the_suite() {
    let Some(server) = TestServer::start() else { return };
    let open = || open(&server.address());
    suite::check_against_reference(&open, 60);
    suite::check_sessions_never_fork(&open, 8, 50);
    suite::check_saves_are_atomic(&open, 300);
    suite::check_keys_in_pages(&open);
    suite::check_limits(&open);
}

#[test]
fn unanswered_commit_is_applied_exactly_once() {
    let Some(server) = TestServer::start() else { return };
    let cuts = proxy::listen(server.folder());
    let store = open(&format!("{} port={}", server.address(), proxy::PROXY_PORT));
    // Every entry follows the one before. A save that was made twice would appear twice, and a save that was wrongly
    // reported as failed would be retried and appear twice as well.
    let places: Vec<u64> = (0..200).map(|number| suite::append(store.as_ref(), "cut", &number.to_string())).collect();
    assert_eq!(places, (0..200).collect::<Vec<_>>());
    let chain = suite::read_entries(open(&server.address()).as_ref(), "cut");
    assert_eq!(chain, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    let (before, after) = (cuts.before.load(Ordering::Relaxed), cuts.after.load(Ordering::Relaxed));
    assert!(before > 20 && after > 20, "{cuts:?}");
}

#[test]
fn save_fails_if_every_connection_is_lost() {
    let Some(server) = TestServer::start() else { return };
    let cuts = proxy::listen_and_cut(server.folder(), b"INSERT INTO lictor_writer");
    let store = open(&format!("{} port={}", server.address(), proxy::PROXY_PORT));
    let error = store.save(&[Change::put("k", ExpectedVersion::Absent, "v")]).unwrap_err();
    assert!(
        matches!(&error, StoreError::Unavailable { reason, .. } if reason.contains("in a row were lost")),
        "{error}"
    );
    assert_eq!(cuts.load(Ordering::Relaxed), 20);
}

#[test]
fn server_restart_is_retried() {
    let Some(server) = TestServer::start() else { return };
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
        assert_eq!(suite::read_entries(store.as_ref(), &format!("restart {thread}")), wanted);
    }
}

#[test]
fn mutually_exclusive_saves_conflict() {
    let Some(server) = TestServer::start() else { return };
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
fn connection_error_names_the_server() {
    let folder = tempfile::TempDir::new().unwrap();
    let error = PostgresStore::open(&format!("host={} user=x", folder.path().display())).unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable { place, .. } if place.contains("PostgreSQL at")), "{error}");
    let error = PostgresStore::open("no address").unwrap_err();
    assert!(error.to_string().contains("invalid connection string"), "{error}");
    let Some(server) = TestServer::start() else { return };
    let error = PostgresStore::open(&server.address().replace("dbname=postgres", "dbname=nowhere")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

//! The stores of this crate against the definition: the store in memory against itself, the embedded one against both.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod suite;

use std::sync::Barrier;
use std::thread;

use lictor_store::{EmbeddedStore, MemoryStore, Store, StoreError};
use tempfile::TempDir;

fn embedded(test: impl FnOnce(suite::Open<'_>)) {
    let folder = TempDir::new().unwrap();
    test(&|| Box::new(EmbeddedStore::open(folder.path()).unwrap()) as Box<dyn Store>);
}

#[test]
fn the_embedded_store_does_what_the_definition_does() {
    embedded(|open| suite::does_what_the_definition_does(open, 100));
}

#[test]
fn threads_never_fork_a_session_of_the_embedded_store() {
    embedded(|open| suite::threads_never_fork_a_session(open, 8, 50));
}

#[test]
fn a_save_to_the_embedded_store_is_seen_as_a_whole() {
    embedded(|open| suite::a_save_is_seen_as_a_whole(open, 200));
}

#[test]
fn keys_of_the_embedded_store_come_in_pages() {
    embedded(suite::keys_come_in_pages);
}

#[test]
fn the_embedded_store_keeps_the_limits() {
    embedded(suite::limits_are_kept);
}

#[test]
fn the_store_in_memory_never_forks_a_session_and_keeps_the_limits() {
    let open = || Box::new(MemoryStore::new()) as Box<dyn Store>;
    suite::limits_are_kept(&open);
    suite::keys_come_in_pages(&open);
    suite::a_save_is_seen_as_a_whole(&open, 1000);
    let store = MemoryStore::new();
    let entries = (0..100).map(|number| suite::append(&store, "s", &number.to_string())).collect::<Vec<_>>();
    assert_eq!(entries, (0..100).collect::<Vec<_>>());
    assert_eq!(suite::chain(&store, "s").len(), 100);
}

#[test]
fn several_may_come_to_a_new_folder_at_once() {
    for _ in 0..20 {
        let folder = TempDir::new().unwrap();
        let path = &folder.path().join("new");
        let together = &Barrier::new(4);
        thread::scope(|scope| {
            for name in 0..4 {
                scope.spawn(move || {
                    together.wait();
                    let store = EmbeddedStore::open(path).unwrap_or_else(|error| panic!("{error}"));
                    suite::append(&store, "shared", &name.to_string());
                });
            }
        });
        assert_eq!(suite::chain(&EmbeddedStore::open(path).unwrap(), "shared").len(), 4);
    }
}

#[test]
fn what_is_not_a_store_is_not_overwritten() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("state.sqlite"), "no database, but long enough to be taken for one".repeat(100))
        .unwrap();
    let error = EmbeddedStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn a_folder_that_cannot_be_created_is_named_with_the_reason() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = EmbeddedStore::open(&folder.path().join("file").join("state")).unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable { place, .. } if place.contains("file")), "{error}");
}

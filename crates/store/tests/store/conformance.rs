//! The suite of all stores on the stores of this crate.

use std::sync::Barrier;
use std::thread;

use lictor_store::{Change, EmbeddedStore, ExpectedVersion, MemoryStore, Store, StoreError};
use tempfile::TempDir;

use crate::suite;

fn with_embedded(test: impl FnOnce(suite::Open<'_>)) {
    let folder = TempDir::new().unwrap();
    test(&|| Box::new(EmbeddedStore::open(folder.path()).unwrap()) as Box<dyn Store>);
}

#[test]
fn embedded_store_matches_the_reference() {
    with_embedded(|open| suite::check_against_reference(open, 100));
}

#[test]
fn embedded_store_never_forks_a_session() {
    with_embedded(|open| suite::check_sessions_never_fork(open, 8, 50));
}

#[test]
fn embedded_store_saves_are_atomic() {
    with_embedded(|open| suite::check_saves_are_atomic(open, 200));
}

#[test]
fn embedded_store_lists_keys_in_pages() {
    with_embedded(suite::check_keys_in_pages);
}

#[test]
fn embedded_store_enforces_limits() {
    with_embedded(suite::check_limits);
}

#[test]
#[cfg(unix)]
fn deleted_or_replaced_file_is_unavailable() {
    let place = TempDir::new().unwrap();
    let (folder, away) = (place.path().join("state"), place.path().join("away"));
    let store = EmbeddedStore::open(&folder).unwrap();
    suite::append(&store, "s", "first");
    let is_refused = || {
        let saved = store.save(&[Change::put("k", ExpectedVersion::Absent, "v")]);
        matches!(store.load("k"), Err(StoreError::Unavailable { .. }))
            && matches!(store.keys("", None, 1), Err(StoreError::Unavailable { .. }))
            && matches!(saved, Err(StoreError::Unavailable { .. }))
    };
    std::fs::rename(&folder, &away).unwrap();
    assert!(is_refused(), "the folder is gone");
    drop(EmbeddedStore::open(&folder).unwrap());
    assert!(is_refused(), "the folder is another one");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    assert_eq!(suite::read_entries(&store, "s"), ["first"], "it continues where it was");
    suite::append(&store, "s", "second");
}

#[test]
fn memory_store_passes_the_suite() {
    let open = || Box::new(MemoryStore::new()) as Box<dyn Store>;
    suite::check_limits(&open);
    suite::check_keys_in_pages(&open);
    suite::check_saves_are_atomic(&open, 1000);
    let store = MemoryStore::new();
    let entries = (0..100).map(|number| suite::append(&store, "s", &number.to_string())).collect::<Vec<_>>();
    assert_eq!(entries, (0..100).collect::<Vec<_>>());
    assert_eq!(suite::read_entries(&store, "s").len(), 100);
}

#[test]
fn new_folder_opens_concurrently() {
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
        assert_eq!(suite::read_entries(&EmbeddedStore::open(path).unwrap(), "shared").len(), 4);
    }
}

#[test]
fn foreign_file_is_not_overwritten() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("state.sqlite"), "no database, but long enough to be taken for one".repeat(100))
        .unwrap();
    let error = EmbeddedStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn store_of_other_layout_is_refused_unchanged() {
    for layout in [0, 2, 7] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("state.sqlite");
        let tables = rusqlite::Connection::open(&file).unwrap();
        tables.execute_batch("CREATE TABLE entry (key TEXT, value BLOB)").unwrap();
        tables.pragma_update(None, "application_id", 0x4c69_6374).unwrap();
        tables.pragma_update(None, "user_version", layout).unwrap();
        drop(tables);
        let before = std::fs::read(&file).unwrap();
        let error = EmbeddedStore::open(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Layout { found, supported: 1, .. } if found == layout), "{error}");
        let hint = if layout == 0 { "sessions have ended" } else { "at least as new" };
        assert!(error.to_string().contains(hint), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was written");
    }
}

#[test]
fn unusable_folder_is_named_in_the_error() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = EmbeddedStore::open(&folder.path().join("file").join("state")).unwrap_err();
    assert!(matches!(&error, StoreError::Unavailable { place, .. } if place.contains("file")), "{error}");
}

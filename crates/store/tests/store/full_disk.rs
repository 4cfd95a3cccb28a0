//! A full disk: saves fail with an error, no acknowledged save is lost, and saves succeed once there is room.
//!
//! The child is this test binary under a limit on the size of files, which it lifts itself later.

use std::path::Path;
use std::process::Command;

use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store, StoreError};
use tempfile::TempDir;

/// The variable that passes the folder to the child.
const FOLDER_VARIABLE: &str = "LICTOR_STORE_FULL_FOLDER";

/// Limits files to half a megabyte, in blocks of 512 bytes. With the signal ignored, a write beyond it fails as on a
/// full disk.
const LIMIT_FILE_SIZE: &str = "trap '' XFSZ; ulimit -S -f 1000; exec \"$@\"";

#[test]
fn full_disk_fails_saves_and_loses_none() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", LIMIT_FILE_SIZE, "sh"]).arg(std::env::current_exe().unwrap());
    command
        .args(["--exact", "full_disk::child_process_fills_the_disk", "--nocapture"])
        .env(FOLDER_VARIABLE, folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let store = EmbeddedStore::open(folder.path()).unwrap();
    assert_eq!(store.keys("before/", None, 1000).unwrap().len(), load_count(&store, "count before"));
    assert_eq!(store.keys("after/", None, 1000).unwrap().len(), 20);
}

/// Does nothing except in a child process.
#[test]
fn child_process_fills_the_disk() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let store = EmbeddedStore::open(Path::new(&folder)).unwrap();
    let save = |name: &str, number: usize| {
        store.save(&[Change::put(format!("{name}/{number:04}"), ExpectedVersion::Absent, vec![b'x'; 10_000])])
    };
    let (acknowledged, error) = (0..1000).find_map(|number| Some((number, save("before", number).err()?))).unwrap();
    assert!(acknowledged > 5, "the disk was full from the start");
    assert!(matches!(error, StoreError::Uncertain { .. } | StoreError::Unavailable { .. }), "{error}");
    // Still full: the same error again, and stored values can be read.
    assert!(save("before", acknowledged).is_err());
    assert_eq!(store.keys("before/", None, 1000).unwrap().len(), acknowledged);
    let own = std::process::id().to_string();
    let status = Command::new("prlimit").args(["--pid", &own, "--fsize=unlimited:"]).status().unwrap();
    assert!(status.success());
    for number in 0..20 {
        save("after", number).unwrap_or_else(|error| panic!("{error}"));
    }
    store.save(&[Change::put("count before", ExpectedVersion::Absent, acknowledged.to_string())]).unwrap();
}

fn load_count(store: &EmbeddedStore, key: &str) -> usize {
    String::from_utf8(store.load(key).unwrap().unwrap().value).unwrap().parse().unwrap()
}

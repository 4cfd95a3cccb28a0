//! fjall: a log-structured merge tree with a journal, in Rust.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use lictor_store::{Change, ExpectedVersion, GroupCommit, StoreError};

use super::Engine;

/// The sizes of the block cache and the write buffer: as large as the memory target allows.
const CACHE: u64 = 16 << 20;
const UNSORTED: u64 = 16 << 20;

pub(super) struct Fjall {
    database: Database,
    entries: Keyspace,
    last_version: AtomicU64,
    group: GroupCommit,
}

impl Fjall {
    pub(super) fn open(folder: &Path) -> Result<Fjall, Box<dyn Error>> {
        let database =
            Database::builder(folder.join("state.fjall")).cache_size(CACHE).max_journaling_size(4 * UNSORTED).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(UNSORTED);
        let entries = database.keyspace("entry", options)?;
        let last_version = match entries.get("counter")? {
            Some(bytes) => version_of(&bytes).ok_or("the counter is no number")?,
            None => 0,
        };
        Ok(Fjall { database, entries, last_version: AtomicU64::new(last_version), group: GroupCommit::new() })
    }

    fn commit(&self, saves: &[Vec<Change>]) -> Result<Vec<Result<u64, StoreError>>, Box<dyn Error>> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        let mut outcomes = Vec::with_capacity(saves.len());
        // A batch cannot be read before it is committed, so its changes are also kept here.
        let mut changed: HashMap<&str, Option<u64>> = HashMap::new();
        let mut last_version = self.last_version.load(Ordering::Acquire);
        'saves: for changes in saves {
            for change in changes {
                let version = match changed.get(change.key.as_str()) {
                    Some(version) => *version,
                    None => self.entries.get(&change.key)?.and_then(|bytes| version_of(&bytes)),
                };
                if ExpectedVersion::of_version(version) != change.expected {
                    outcomes.push(Err(StoreError::Conflict { key: change.key.clone() }));
                    continue 'saves;
                }
            }
            last_version += 1;
            for change in changes {
                changed.insert(&change.key, change.value.as_ref().map(|_| last_version));
                match &change.value {
                    Some(value) => {
                        let bytes = [&last_version.to_le_bytes()[..], value].concat();
                        batch.insert(&self.entries, change.key.as_str(), bytes);
                    }
                    None => batch.remove(&self.entries, change.key.as_str()),
                }
            }
            outcomes.push(Ok(last_version));
        }
        batch.insert(&self.entries, "counter", last_version.to_le_bytes());
        batch.commit()?;
        self.last_version.store(last_version, Ordering::Release);
        Ok(outcomes)
    }
}

impl Engine for Fjall {
    fn load(&self, key: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.entries.get(key).map_err(failed)?.and_then(|bytes| version_of(&bytes)))
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        self.group.save(changes, |saves| {
            self.commit(saves).unwrap_or_else(|error| saves.iter().map(|_| Err(failed(&error))).collect())
        })
    }
}

/// Returns the version, which precedes the bytes.
fn version_of(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|version| u64::from_le_bytes(*version))
}

fn failed(error: impl Display) -> StoreError {
    StoreError::Uncertain { place: "fjall".into(), reason: error.to_string() }
}

//! redb: a copy-on-write B-tree in one file, in Rust.

use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use lictor_store::{Change, ExpectedVersion, GroupCommit, StoreError};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::Engine;

const ENTRIES: TableDefinition<&str, (u64, &[u8])> = TableDefinition::new("entry");
const COUNTER: TableDefinition<(), u64> = TableDefinition::new("counter");

/// The size of the page cache: as large as the memory target allows.
const CACHE: usize = 32 << 20;

pub(super) struct Redb {
    database: Database,
    group: GroupCommit,
}

impl Redb {
    pub(super) fn open(folder: &Path) -> Result<Redb, Box<dyn Error>> {
        let database = Database::builder().set_cache_size(CACHE).create(folder.join("state.redb"))?;
        Ok(Redb { database, group: GroupCommit::new() })
    }

    fn commit(&self, saves: &[Vec<Change>]) -> Result<Vec<Result<u64, StoreError>>, Box<dyn Error>> {
        let transaction = self.database.begin_write()?;
        let mut outcomes = Vec::with_capacity(saves.len());
        {
            let mut entries = transaction.open_table(ENTRIES)?;
            let mut counter = transaction.open_table(COUNTER)?;
            let mut last_version = counter.get(())?.map_or(0, |last| last.value());
            'saves: for changes in saves {
                for change in changes {
                    let version = entries.get(change.key.as_str())?.map(|entry| entry.value().0);
                    if ExpectedVersion::of_version(version) != change.expected {
                        outcomes.push(Err(StoreError::Conflict { key: change.key.clone() }));
                        continue 'saves;
                    }
                }
                last_version += 1;
                for change in changes {
                    match &change.value {
                        Some(value) => entries.insert(change.key.as_str(), (last_version, value.as_slice()))?,
                        None => entries.remove(change.key.as_str())?,
                    };
                }
                outcomes.push(Ok(last_version));
            }
            counter.insert((), last_version)?;
        }
        transaction.commit()?;
        Ok(outcomes)
    }
}

impl Engine for Redb {
    fn load(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let load = || -> Result<Option<u64>, Box<dyn Error>> {
            let entries = self.database.begin_read()?.open_table(ENTRIES)?;
            Ok(entries.get(key)?.map(|entry| (entry.value().0, entry.value().1.to_vec())).map(|(version, _)| version))
        };
        load().map_err(failed)
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        self.group.save(changes, |saves| {
            self.commit(saves).unwrap_or_else(|error| saves.iter().map(|_| Err(failed(&error))).collect())
        })
    }
}

fn failed(error: impl Display) -> StoreError {
    StoreError::Uncertain { place: "redb".into(), reason: error.to_string() }
}

//! Stores for state that must survive restarts: sessions and histories.
//!
//! A [`Store`] holds bytes under keys and does not interpret them. It guarantees:
//!
//! - A save is atomic: all of its changes happen or none.
//! - A save is durable once [`Store::save`] returns: it survives a crash of the process and of the machine.
//! - A save uses optimistic locks: it names the version it expects, and fails with [`StoreError::Conflict`] if another
//!   process has changed the key. So two processes that follow one session never fork its history.
//!
//! [`EmbeddedStore`] is a folder on the local disk and the default. [`MemoryStore`] is not durable; it is the reference
//! that all others are compared with.
//!
//! ```
//! use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store, StoreError};
//!
//! let folder = tempfile::tempdir()?;
//! let store = EmbeddedStore::open(folder.path())?;
//! let first = store.save(&[Change::put("session/s1", ExpectedVersion::Absent, "opened")])?;
//!
//! // A save that expects no such session fails.
//! let late = store.save(&[Change::put("session/s1", ExpectedVersion::Absent, "opened again")]);
//! assert_eq!(late, Err(StoreError::Conflict { key: "session/s1".into() }));
//!
//! store.save(&[Change::put("session/s1", ExpectedVersion::Version(first), "closed")])?;
//! assert_eq!(store.load("session/s1")?.map(|stored| stored.value), Some(b"closed".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod embedded;
mod error;
mod group_commit;
mod key;
mod memory;
mod store;

pub use crate::embedded::EmbeddedStore;
pub use crate::error::StoreError;
pub use crate::group_commit::GroupCommit;
pub use crate::key::{MAX_KEY_BYTES, MAX_VALUE_BYTES, check_changes, check_key, end_of_prefix};
pub use crate::memory::MemoryStore;
pub use crate::store::{Change, ExpectedVersion, Store, StoredValue};

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

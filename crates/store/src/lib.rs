//! Keeps what must outlive a process: where sessions and subjects stand.
//!
//! A [`Store`] holds bytes under keys. It knows nothing of what the bytes mean; it promises three things about them.
//! A save happens as a whole or not at all. What [`Store::save`] has returned for survives the process and the machine.
//! And a save says what it believes to be stored: if somebody else was faster it fails with [`StoreError::Conflict`],
//! so that two processes which follow the same session never split its history in two.
//!
//! [`EmbeddedStore`] is a folder on the local disk and the one to begin with. [`MemoryStore`] forgets everything and is
//! the definition that all others are compared with.
//!
//! ```
//! use lictor_store::{Change, EmbeddedStore, ExpectedVersion, Store, StoreError};
//!
//! let folder = tempfile::tempdir()?;
//! let store = EmbeddedStore::open(folder.path())?;
//! let first = store.save(&[Change::put("session/s1", ExpectedVersion::Absent, "opened")])?;
//!
//! // Whoever still believes that there is no such session is told.
//! let late = store.save(&[Change::put("session/s1", ExpectedVersion::Absent, "opened again")]);
//! assert_eq!(late, Err(StoreError::Conflict { key: "session/s1".into() }));
//!
//! store.save(&[Change::put("session/s1", Expected::Version(first), "closed")])?;
//! assert_eq!(store.load("session/s1")?.map(|stored| stored.value), Some(b"closed".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod embedded;
mod error;
mod group;
mod key;
mod memory;
mod store;

pub use crate::embedded::EmbeddedStore;
pub use crate::error::StoreError;
pub use crate::group::GroupCommit;
pub use crate::key::{MAX_KEY_BYTES, MAX_VALUE_BYTES, check_changes, check_key, end_of_prefix};
pub use crate::memory::MemoryStore;
pub use crate::store::{Change, ExpectedVersion, Store, StoredValue};

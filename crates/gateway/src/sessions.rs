//! The memories of sessions in the store, and one exchange at a time with each.
//!
//! A [`SessionMemory`] is stored among the keys of the session's tenant, so that several gateways over one store behave as
//! one. The memory that was last seen is cached. The cache may be out of date where there are other gateways; so a memory is
//! saved together with the decisions that depend on it, and if another gateway was faster, nothing is decided.

mod memory_cache;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lictor_exchange::SessionMemory;
use lictor_logic::{Span, Time};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use tokio::sync::OwnedMutexGuard;

use crate::judges::{Unavailable, now};
use crate::tenant_store::{escaped, prefix};
use memory_cache::MemoryCache;

/// Under which keys of a tenant memories are stored, and how many are read at once.
const KEYS: &str = "gateway/session/";
const KEYS_AT_ONCE: usize = 256;

/// A memory as it is stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredMemory {
    pub(crate) memory: Arc<SessionMemory>,
    /// The version under which it is stored; none if it is not.
    version: Option<u64>,
    bytes: Arc<[u8]>,
    /// When it was last saved.
    used: Time,
}

impl StoredMemory {
    fn read(version: u64, bytes: Vec<u8>) -> Option<StoredMemory> {
        let (memory, used) = SessionMemory::from_bytes(&bytes)?;
        Some(StoredMemory { memory: Arc::new(memory), version: Some(version), bytes: bytes.into(), used })
    }

    /// Whether the session has just begun.
    pub(crate) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// Whether it was used so long ago that the session is over.
    fn is_over(&self, idle: Option<Span>, now: Time) -> bool {
        idle.is_some_and(|idle| self.used.plus(idle) <= now)
    }
}

/// All sessions: their memories in the store, and one exchange at a time with each.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// After which time without an exchange a session is over, and what is known of it is forgotten.
    idle: Option<Span>,
    busy: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    cache: Mutex<MemoryCache>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

/// As long as this lives, no other exchange of this process changes the session's memory.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, never read")] OwnedMutexGuard<()>);

/// How a memory is saved together with decisions.
#[derive(Debug)]
pub(crate) struct MemorySave {
    /// If all events are forwarded.
    forwarded: Option<(StoredMemory, Change)>,
    /// Otherwise: it stays as it was loaded, and that is checked.
    unchanged: (StoredMemory, Change),
    /// What else is saved with it, whatever is decided.
    extra: Option<Change>,
}

impl MemorySave {
    /// The changes, by whether all events are forwarded.
    pub(crate) fn changes(&self, all_forwarded: bool) -> Vec<Change> {
        let memory = match &self.forwarded {
            Some((_, change)) if all_forwarded => change,
            _ => &self.unchanged.1,
        };
        std::iter::once(memory).chain(&self.extra).cloned().collect()
    }
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, idle: Option<Span>) -> Sessions {
        Sessions { store, idle, busy: Mutex::default(), cache: Mutex::default() }
    }

    /// Waits for the turn of a session.
    pub(crate) async fn turn(&self, session: &str) -> Turn {
        let lock = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            if busy.len() > 1024 && busy.len().is_power_of_two() {
                busy.retain(|_, lock| lock.strong_count() > 0);
            }
            let known = busy.get(session).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let lock = Arc::default();
                busy.insert(session.to_owned(), Arc::downgrade(&lock));
                lock
            })
        };
        Turn(lock.lock_owned().await)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, MemoryCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory of a session as it was last seen here. A decision that depends on it is saved together with it.
    pub(crate) async fn load(&self, tenant: &str, session: &str) -> Result<StoredMemory, Unavailable> {
        let cached = self.cache().get(session);
        match cached {
            Some(memory) => Ok(self.unless_over(memory)),
            None => self.load_fresh(tenant, session).await,
        }
    }

    /// The memory of a session as it is stored now.
    pub(crate) async fn load_fresh(&self, tenant: &str, session: &str) -> Result<StoredMemory, Unavailable> {
        let cached = self.cache().get(session);
        let key = key(tenant, session);
        let stored = self.blocking(move |store| store.load(&key)).await?.map_err(unavailable)?;
        let Some(stored) = stored else {
            self.cache().remove(session);
            return Ok(StoredMemory::default());
        };
        // Nothing is read again that did not change.
        if let Some(cached) = cached.filter(|cached| cached.version == Some(stored.version)) {
            return Ok(self.unless_over(cached));
        }
        let damaged = || Unavailable { reason: "the stored memory of a session cannot be read".to_owned() };
        let memory = StoredMemory::read(stored.version, stored.value).ok_or_else(damaged)?;
        self.cache().insert(session, &memory);
        Ok(self.unless_over(memory))
    }

    fn unless_over(&self, stored: StoredMemory) -> StoredMemory {
        match stored.is_over(self.idle, now()) {
            true => StoredMemory { memory: Arc::new(stored.memory.forgotten()), ..stored },
            false => stored,
        }
    }

    /// Saves a memory in the place of the one that was loaded. None if another exchange was faster: load it and do it
    /// again.
    pub(crate) async fn save(
        &self,
        tenant: &str,
        session: &str,
        loaded: &StoredMemory,
        memory: Arc<SessionMemory>,
    ) -> Result<Option<StoredMemory>, Unavailable> {
        let used = now();
        let bytes = memory.to_bytes(used);
        let change = Change::put(key(tenant, session), ExpectedVersion::of_version(loaded.version), bytes.clone());
        self.cache().remove(session);
        match self.blocking(move |store| store.save(&[change])).await? {
            Ok(version) => {
                let saved = StoredMemory { memory, version: Some(version), bytes: bytes.into(), used };
                self.cache().insert(session, &saved);
                Ok(Some(saved))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// How the tenant's warden saves a memory together with its decisions: `next` if all events are forwarded. The key of
    /// `extra` is no tenant's.
    pub(crate) fn saving(
        &self,
        session: &str,
        loaded: &StoredMemory,
        next: Option<Arc<SessionMemory>>,
        extra: Option<Change>,
    ) -> MemorySave {
        let used = now();
        let key = format!("{KEYS}{}", escaped(session));
        let expected = ExpectedVersion::of_version(loaded.version);
        let unchanged = match loaded.version {
            Some(_) => Change::put(key.clone(), expected, loaded.bytes.to_vec()),
            None => Change::delete(key.clone(), expected),
        };
        let forwarded = next.map(|memory| {
            let bytes = memory.to_bytes(used);
            // The version is known once it is saved.
            let next = StoredMemory { memory, version: Some(0), bytes: bytes.as_slice().into(), used };
            (next, Change::put(key, expected, bytes))
        });
        let extra = extra.map(|change| Change { key: format!("/{}", change.key), ..change });
        MemorySave { forwarded, unchanged: (loaded.clone(), unchanged), extra }
    }

    /// The memory as it was saved under this version, and whether it is the one for when all events are forwarded.
    pub(crate) fn saved(
        &self,
        session: &str,
        save: &MemorySave,
        all_forwarded: bool,
        version: u64,
    ) -> (StoredMemory, bool) {
        let (mut saved, is_next) = match &save.forwarded {
            Some((next, _)) if all_forwarded => (next.clone(), true),
            _ => (save.unchanged.0.clone(), false),
        };
        if is_next || !saved.is_new() {
            saved.version = Some(version);
            self.cache().insert(session, &saved);
        }
        (saved, is_next)
    }

    /// Makes sure that a memory is as it was loaded: what was saved with it has no record, so nothing was answered.
    pub(crate) async fn roll_back(
        &self,
        tenant: &str,
        session: &str,
        loaded: &StoredMemory,
    ) -> Result<(), Unavailable> {
        let stored = self.load_fresh(tenant, session).await?;
        if stored.version != loaded.version {
            self.save(tenant, session, &stored, Arc::clone(&loaded.memory)).await?;
        }
        Ok(())
    }

    /// Forgets the sessions of a tenant that are over. Says how many there were.
    pub(crate) async fn sweep(&self, tenant: &str) -> Result<usize, Unavailable> {
        let Some(idle) = self.idle else { return Ok(0) };
        let prefix = format!("{}{KEYS}", prefix(tenant));
        // There may be many, so that it takes a while also where nothing is waited for.
        let swept = self.apart(move |store| {
            let (mut last, mut swept) = (None, 0);
            loop {
                let keys = store.keys(&prefix, last.as_deref(), KEYS_AT_ONCE)?;
                let Some(end) = keys.last() else { return Ok(swept) };
                last = Some(end.clone());
                for key in keys {
                    let Some(stored) = store.load(&key)? else { continue };
                    let memory = StoredMemory::read(stored.version, stored.value);
                    if memory.is_some_and(|memory| memory.is_over(Some(idle), now())) {
                        // A session that began again meanwhile is kept.
                        swept += usize::from(
                            store.save(&[Change::delete(key, ExpectedVersion::Version(stored.version))]).is_ok(),
                        );
                    }
                }
            }
        });
        swept.await?.map_err(unavailable)
    }

    /// Asks the store something, on a thread that may wait if that may be needed.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        match self.store.waits() {
            true => self.apart(ask).await,
            false => Ok(ask(&*self.store)),
        }
    }

    /// Asks the store something on a thread of its own.
    async fn apart<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let store = Arc::clone(&self.store);
        let asked = tokio::task::spawn_blocking(move || ask(&*store)).await;
        asked.map_err(|_| Unavailable { reason: "the store failed".to_owned() })
    }
}

pub(crate) fn unavailable(error: StoreError) -> Unavailable {
    Unavailable { reason: error.to_string() }
}

fn key(tenant: &str, session: &str) -> String {
    format!("{}{KEYS}{}", prefix(tenant), escaped(session))
}

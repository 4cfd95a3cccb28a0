//! The memories of sessions in the store, and one exchange at a time with each.
//!
//! A [`SessionMemory`] is stored among the keys of the session's tenant, so that several gateways over one store behave
//! as one. The memory that was last seen is cached. The cache may be out of date where there are other gateways; so a
//! memory is saved together with the decisions that depend on it, and if another gateway was faster, nothing is
//! decided. Where the store is private, the cache has the only copy of each memory, and nothing is serialised.

mod memory_cache;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lictor_exchange::SessionMemory;
use lictor_logic::{Span, Time};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::clock::now;
use crate::tenant_store::{escaped, prefix};
use crate::unavailable::Unavailable;
use memory_cache::MemoryCache;
pub(crate) use memory_cache::SessionUse;

/// The prefix of a tenant's memories in the store, and how many keys are read at once.
const KEYS: &str = "gateway/session/";
const KEYS_AT_ONCE: usize = 256;

/// How many sessions end at once when there are too many in memory.
const MAX_ENDED_AT_ONCE: usize = 64;

/// A memory, with its stored form and version.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredMemory {
    pub(crate) memory: Arc<SessionMemory>,
    /// The stored version; none if it is not stored.
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

    /// Returns a memory in a private store, which has no bytes of it.
    fn live(memory: Arc<SessionMemory>, used: Time) -> StoredMemory {
        StoredMemory { memory, version: Some(0), bytes: Arc::default(), used }
    }

    /// Whether the session has just begun.
    pub(crate) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// Whether the session has timed out.
    fn is_over(&self, idle: Option<Span>, now: Time) -> bool {
        idle.is_some_and(|idle| self.used.plus(idle) <= now)
    }
}

/// All sessions: their memories in the store, and one exchange at a time with each.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// The timeout after which a session without an exchange ends, and its memory is deleted.
    idle: Option<Span>,
    /// How many sessions a private store may have.
    limit: usize,
    busy: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    cache: Mutex<MemoryCache>,
    /// Notified when a private store has too many sessions.
    crowded: Notify,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

/// A lock on a session: while it is held, no other exchange of this process changes the session's memory.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, never read")] OwnedMutexGuard<()>);

/// A claim on a session for as long as an exchange with it is in flight, also while it waits for the upstream: the
/// session is not idle.
#[derive(Debug)]
pub(crate) struct Presence(Arc<tokio::sync::Mutex<()>>);

impl Presence {
    /// Waits for the lock of the session.
    pub(crate) async fn turn(&self) -> Turn {
        Turn(Arc::clone(&self.0).lock_owned().await)
    }
}

/// A memory that is saved atomically with decisions.
#[derive(Debug)]
pub(crate) struct MemorySave {
    /// The memory if all events are forwarded.
    next: Option<StoredMemory>,
    /// The memory otherwise.
    loaded: StoredMemory,
    /// The change that saves the next memory.
    forwarded: Option<Change>,
    /// The change that saves the loaded memory again: it fails if another gateway has changed it.
    unchanged: Option<Change>,
    /// Another change, saved in either case.
    extra: Option<Change>,
}

impl MemorySave {
    /// Returns the changes, by whether all events are forwarded.
    pub(crate) fn changes(&self, all_forwarded: bool) -> Vec<Change> {
        let forwarded = self.forwarded.as_ref().filter(|_| all_forwarded);
        forwarded.or(self.unchanged.as_ref()).into_iter().chain(&self.extra).cloned().collect()
    }
}

impl Sessions {
    /// Returns the sessions of a store. If it is private, it may have at most `limit` of them.
    pub(crate) fn new(store: Arc<dyn Store>, idle: Option<Span>, limit: usize) -> Sessions {
        let cache = Mutex::new(MemoryCache::new(!store.is_private()));
        Sessions { store, idle, limit, busy: Mutex::default(), cache, crowded: Notify::new() }
    }

    /// Waits for the lock of a session.
    pub(crate) async fn turn(&self, session: &str) -> Turn {
        Turn(self.lock(session).lock_owned().await)
    }

    /// Returns the lock of a session, unless an exchange with it is in flight.
    pub(crate) fn turn_if_idle(&self, session: &str) -> Option<Turn> {
        let turn = self.lock(session).try_lock_owned().ok().map(Turn)?;
        // The turn itself is one of the holders of the lock.
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.get(session).is_none_or(|lock| lock.strong_count() == 1).then_some(turn)
    }

    /// Claims a session for an exchange.
    pub(crate) fn enter(&self, session: &str) -> Presence {
        Presence(self.lock(session))
    }

    fn lock(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
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
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, MemoryCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the memory of a session, from the cache if it is there. The cache may be stale, so decisions that depend
    /// on the memory are saved together with it.
    pub(crate) async fn load(&self, tenant: &str, session: &str) -> Result<StoredMemory, Unavailable> {
        let cached = self.cache().get(tenant, session);
        match cached {
            Some(memory) => Ok(self.unless_over(memory)),
            None => self.load_fresh(tenant, session).await,
        }
    }

    /// Returns the memory of a session from the store.
    pub(crate) async fn load_fresh(&self, tenant: &str, session: &str) -> Result<StoredMemory, Unavailable> {
        let cached = self.cache().get(tenant, session);
        if self.store.is_private() {
            return Ok(self.unless_over(cached.unwrap_or_default()));
        }
        let key = key(tenant, session);
        let stored = self.blocking(move |store| store.load(&key)).await??;
        let Some(stored) = stored else {
            if cached.is_some() {
                self.cache().remove(session);
            }
            return Ok(StoredMemory::default());
        };
        // An unchanged version is not parsed again.
        if let Some(cached) = cached.filter(|cached| cached.version == Some(stored.version)) {
            return Ok(self.unless_over(cached));
        }
        let damaged = || Unavailable { reason: "the stored memory of a session cannot be read".to_owned() };
        let memory = StoredMemory::read(stored.version, stored.value).ok_or_else(damaged)?;
        self.cache_memory(tenant, session, &memory);
        Ok(self.unless_over(memory))
    }

    /// Whether a session has timed out. A session without a memory has just begun, or its memory was deleted.
    pub(crate) async fn is_over(&self, tenant: &str, session: &str) -> Result<bool, Unavailable> {
        let stored = self.load_fresh(tenant, session).await?;
        Ok(!stored.is_new() && stored.is_over(self.idle, now()))
    }

    fn cache_memory(&self, tenant: &str, session: &str, memory: &StoredMemory) {
        let mut cache = self.cache();
        cache.insert(tenant, session, memory);
        if self.store.is_private() && cache.len() > self.limit {
            self.crowded.notify_one();
        }
    }

    fn unless_over(&self, stored: StoredMemory) -> StoredMemory {
        match stored.is_over(self.idle, now()) {
            true => StoredMemory { memory: Arc::new(stored.memory.forgotten()), ..stored },
            false => stored,
        }
    }

    /// Saves a memory in place of the loaded one. Returns none if another exchange was faster: load it and retry.
    pub(crate) async fn save(
        &self,
        tenant: &str,
        session: &str,
        loaded: &StoredMemory,
        memory: Arc<SessionMemory>,
    ) -> Result<Option<StoredMemory>, Unavailable> {
        let used = now();
        if self.store.is_private() {
            let saved = StoredMemory::live(memory, used);
            self.cache_memory(tenant, session, &saved);
            return Ok(Some(saved));
        }
        let bytes = memory.to_bytes(used);
        let change = Change::put(key(tenant, session), ExpectedVersion::of_version(loaded.version), bytes.clone());
        self.cache().remove(session);
        match self.blocking(move |store| store.save(&[change])).await? {
            Ok(version) => {
                let saved = StoredMemory { memory, version: Some(version), bytes: bytes.into(), used };
                self.cache_memory(tenant, session, &saved);
                Ok(Some(saved))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the changes with which the tenant's warden saves a memory together with decisions: `next` if all events
    /// are forwarded. The key of `extra` is outside the tenant's prefix.
    pub(crate) fn saving(
        &self,
        session: &str,
        loaded: &StoredMemory,
        next: Option<Arc<SessionMemory>>,
        extra: Option<Change>,
    ) -> MemorySave {
        let used = now();
        // Keys that begin with a slash are outside of the tenant's.
        let extra = extra.map(|change| Change { key: format!("/{}", change.key), ..change });
        if self.store.is_private() {
            let next = next.map(|memory| StoredMemory::live(memory, used));
            return MemorySave { next, loaded: loaded.clone(), forwarded: None, unchanged: None, extra };
        }
        let key = format!("{KEYS}{}", escaped(session));
        let expected = ExpectedVersion::of_version(loaded.version);
        let unchanged = match loaded.version {
            Some(_) => Change::put(key.clone(), expected, loaded.bytes.to_vec()),
            None => Change::delete(key.clone(), expected),
        };
        // The version is known once it is saved.
        let next = next.map(|memory| {
            let bytes = memory.to_bytes(used).into();
            StoredMemory { memory, version: Some(0), bytes, used }
        });
        let forwarded = next.as_ref().map(|next| Change::put(key, expected, next.bytes.to_vec()));
        MemorySave { next, loaded: loaded.clone(), forwarded, unchanged: Some(unchanged), extra }
    }

    /// Returns the memory that was saved under this version, and whether it is the next one.
    pub(crate) fn saved(
        &self,
        tenant: &str,
        session: &str,
        save: &MemorySave,
        all_forwarded: bool,
        version: u64,
    ) -> (StoredMemory, bool) {
        let (mut saved, is_next) = match &save.next {
            Some(next) if all_forwarded => (next.clone(), true),
            _ => (save.loaded.clone(), false),
        };
        if is_next || !saved.is_new() {
            saved.version = Some(version);
            self.cache_memory(tenant, session, &saved);
        }
        (saved, is_next)
    }

    /// Restores the loaded memory: the decisions saved with the next one have no record, so they were not answered.
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

    /// Waits until a private store has too many sessions. Returns how many are to end, and those that were idle longest:
    /// more of them, since some may be in use.
    pub(crate) async fn wait_for_surplus(&self) -> (usize, Vec<SessionUse>) {
        self.crowded.notified().await;
        let cache = self.cache();
        let surplus = cache.len().saturating_sub(self.limit);
        if surplus > MAX_ENDED_AT_ONCE {
            self.crowded.notify_one();
        }
        let count = surplus.min(MAX_ENDED_AT_ONCE);
        (count, cache.oldest(count + MAX_ENDED_AT_ONCE))
    }

    /// Whether a session was not used again.
    pub(crate) fn is_last_use(&self, session: &SessionUse) -> bool {
        self.cache().last_use(&session.name) == Some(session.number)
    }

    /// Forgets the memory of a session that has ended.
    pub(crate) fn forget(&self, session: &str) {
        self.cache().remove(session);
    }

    /// Deletes the memories of a tenant's sessions that have timed out. Returns how many there were.
    pub(crate) async fn sweep(&self, tenant: &str) -> Result<usize, Unavailable> {
        let Some(idle) = self.idle else { return Ok(0) };
        if self.store.is_private() {
            return Ok(self.cache().evict(|memory| memory.is_over(Some(idle), now())));
        }
        let prefix = format!("{}{KEYS}", prefix(tenant));
        // There may be many, so this takes long even with a store that never blocks.
        let swept = self.apart(move |store| {
            let (mut last, mut swept) = (None, 0);
            loop {
                let keys = store.keys(&prefix, last.as_deref(), KEYS_AT_ONCE)?;
                let Some(end) = keys.last() else { return Ok::<_, StoreError>(swept) };
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
        Ok(swept.await??)
    }

    /// Calls the store; on a blocking thread if the store may block.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        match self.store.waits() {
            true => self.apart(ask).await,
            false => Ok(ask(&*self.store)),
        }
    }

    /// Calls the store on a blocking thread.
    async fn apart<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let store = Arc::clone(&self.store);
        let asked = tokio::task::spawn_blocking(move || ask(&*store)).await;
        asked.map_err(|_| Unavailable { reason: "the store failed".to_owned() })
    }
}

fn key(tenant: &str, session: &str) -> String {
    format!("{}{KEYS}{}", prefix(tenant), escaped(session))
}

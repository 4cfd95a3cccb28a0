//! What the gateway itself knows of a session from one exchange to the next: which part of a history that is sent again
//! it has judged, what became of it, and what a person has allowed.
//!
//! It is kept in the store, among what the session's tenant has there, so that several gateways over one store behave as
//! one. What was last seen of it is at hand as well. That may be out of date where there are other gateways; so it is saved
//! together with what was decided by it, and where somebody else was faster, nothing was decided. The content of what was
//! said is not in it, but for items that go on rewritten, as they go on.

mod copies;
mod memory;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lictor_logic::Span;
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use tokio::sync::OwnedMutexGuard;

use crate::judges::{Unavailable, now};
use crate::prefixed::{escaped, prefix};
use copies::Copies;
pub(crate) use memory::{Grant, Memory, Note, hex, line};

/// Under which keys of a tenant memories are kept, and how many are looked at in one go.
const KEYS: &str = "gateway/session/";
const AT_ONCE: usize = 256;

/// All sessions: their memories in the store, and one exchange at a time with each.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// After which time without an exchange a session is over, and what is known of it is forgotten.
    idle: Option<Span>,
    busy: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    copies: Mutex<Copies>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

/// As long as this lives, nobody else in this process changes the session's memory.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, never read")] OwnedMutexGuard<()>);

/// How a memory is saved together with decisions.
#[derive(Debug)]
pub(crate) struct Save {
    /// If all that was decided on goes on as it came.
    forwarded: Option<(Memory, Change)>,
    /// Otherwise: it is as it was, and that is made sure of.
    unchanged: (Memory, Change),
    /// What else is saved with it, whatever is decided.
    along: Option<Change>,
}

impl Save {
    /// The changes, by whether all goes on as it came.
    pub(crate) fn changes(&self, all_forwarded: bool) -> Vec<Change> {
        let memory = match &self.forwarded {
            Some((_, change)) if all_forwarded => change,
            _ => &self.unchanged.1,
        };
        std::iter::once(memory).chain(&self.along).cloned().collect()
    }
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, idle: Option<Span>) -> Sessions {
        Sessions { store, idle, busy: Mutex::default(), copies: Mutex::default() }
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

    fn copies(&self) -> std::sync::MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory of a session, as it was last seen here; whoever decides by it saves it along.
    pub(crate) async fn load(&self, tenant: &str, session: &str) -> Result<Memory, Unavailable> {
        let copy = self.copies().get(session);
        match copy {
            Some(memory) => Ok(self.unless_over(memory)),
            None => self.load_anew(tenant, session).await,
        }
    }

    /// The memory of a session, as it is now.
    pub(crate) async fn load_anew(&self, tenant: &str, session: &str) -> Result<Memory, Unavailable> {
        self.copies().remove(session);
        let key = key(tenant, session);
        let stored = self.blocking(move |store| store.load(&key)).await?.map_err(unavailable)?;
        let Some(stored) = stored else { return Ok(Memory::default()) };
        let damaged = || Unavailable { reason: "what is kept of a session is damaged".to_owned() };
        let memory = Memory::from_bytes(stored.version, stored.value).ok_or_else(damaged)?;
        self.copies().insert(session, &memory);
        Ok(self.unless_over(memory))
    }

    fn unless_over(&self, memory: Memory) -> Memory {
        if memory.is_over(self.idle, now()) { memory.forgotten() } else { memory }
    }

    /// Saves a memory. `false` if somebody else was faster: load it and do it again.
    pub(crate) async fn save(&self, tenant: &str, session: &str, memory: &mut Memory) -> Result<bool, Unavailable> {
        let used = now();
        let bytes = memory.to_bytes(used).map_err(|error| Unavailable { reason: error.to_string() })?;
        let change = Change::put(key(tenant, session), ExpectedVersion::of_version(memory.version()), bytes.clone());
        self.copies().remove(session);
        match self.blocking(move |store| store.save(&[change])).await? {
            Ok(version) => {
                memory.is_kept(version, bytes, used);
                self.copies().insert(session, memory);
                Ok(true)
            }
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// How the tenant's desk saves a memory together with what it decides by it: as `next` if all goes on as it came. What is
    /// saved `along` is no tenant's.
    pub(crate) fn saving(
        &self,
        session: &str,
        memory: &Memory,
        next: Option<Memory>,
        along: Option<Change>,
    ) -> Result<Save, Unavailable> {
        let used = now();
        let key = format!("{KEYS}{}", escaped(session));
        let expected = ExpectedVersion::of_version(memory.version());
        let unchanged = match memory.version() {
            Some(_) => Change::put(key.clone(), expected, memory.bytes().to_vec()),
            None => Change::delete(key.clone(), expected),
        };
        let forwarded = match next {
            Some(mut next) => {
                let bytes = next.to_bytes(used).map_err(|error| Unavailable { reason: error.to_string() })?;
                // The version is learnt when it is saved.
                next.is_kept(0, bytes.as_slice(), used);
                Some((next, Change::put(key, expected, bytes)))
            }
            None => None,
        };
        let along = along.map(|change| Change { key: format!("/{}", change.key), ..change });
        Ok(Save { forwarded, unchanged: (memory.clone(), unchanged), along })
    }

    /// The memory as it was saved under this version, and whether it is the one for when all goes on as it came.
    pub(crate) fn saved(&self, session: &str, save: &Save, all_forwarded: bool, version: u64) -> (Memory, bool) {
        let (mut memory, is_next) = match &save.forwarded {
            Some((next, _)) if all_forwarded => (next.clone(), true),
            _ => (save.unchanged.0.clone(), false),
        };
        if is_next || !memory.is_new() {
            memory.is_kept_under(version);
            self.copies().insert(session, &memory);
        }
        (memory, is_next)
    }

    /// Makes sure that a memory is as it was: what was saved with it could not be written down, so nobody was answered.
    pub(crate) async fn take_back(&self, tenant: &str, session: &str, memory: &Memory) -> Result<(), Unavailable> {
        let stored = self.load_anew(tenant, session).await?;
        if stored.version() != memory.version() {
            let mut before = memory.clone();
            before.stands_for(&stored);
            self.save(tenant, session, &mut before).await?;
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
                let keys = store.keys(&prefix, last.as_deref(), AT_ONCE)?;
                let Some(end) = keys.last() else { return Ok(swept) };
                last = Some(end.clone());
                for key in keys {
                    let Some(stored) = store.load(&key)? else { continue };
                    let memory = Memory::from_bytes(stored.version, stored.value);
                    if memory.is_some_and(|memory| memory.is_over(Some(idle), now())) {
                        // Whoever began it again meanwhile keeps it.
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

//! What the gateway itself knows of a session from one exchange to the next: which part of a history that is sent again
//! it has judged, what became of it, and what a person has allowed.
//!
//! It is kept in the store and read anew for every exchange, so that several gateways over one store behave as one. The
//! content of what was said is not in it, but for items that go on rewritten, as they go on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lictor::event::Event;
use lictor::json;
use lictor_logic::{Span, Time};
use lictor_store::{Change, Expected, Store, StoreError};
use lictor_wire::{Known, Ruling};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;

use crate::judges::{Unavailable, now};
use crate::prefixed::escaped;
use crate::verdict;

/// Allowed calls, notes and rewritten items that a session remembers at most.
const MOST_KEPT: usize = 1000;

/// Under which keys memories are kept, and how many are looked at in one go.
const PREFIX: &str = "gateway/session/";
const AT_ONCE: usize = 256;

/// What is known of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The history, by hashes.
    pub(crate) known: Known,
    /// Items that go on other than they are sent, each time they are sent: by the hash of what is sent.
    altered: Vec<(String, Altered)>,
    /// Calls that a person has allowed and that were not made since.
    pub(crate) granted: Vec<Grant>,
    /// What the model is still to be told.
    pub(crate) notes: Vec<Note>,
    /// Calls of the last reply that were denied: a vendor who keeps the history still waits for their answers.
    pub(crate) denied: Vec<(String, String)>,
    /// How often something that a request said was refused: to say it again is to ask again.
    refused: Vec<(i64, u32)>,
    version: Option<u64>,
}

/// How an item goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Altered {
    /// As this event says it, a line of Lictor's own format.
    Rewritten(String),
    /// This text goes on instead.
    Denied(String),
}

/// A call that a person has allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The hash of its tool and its arguments.
    pub(crate) call: String,
    /// By which id it was asked about.
    pub(crate) id: String,
    /// The call as it goes on, if it was rewritten: a line of Lictor's own format.
    pub(crate) rewritten: Option<String>,
}

/// Something that the model is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The call that it is about.
    pub(crate) call: Option<String>,
    pub(crate) text: String,
}

/// What is kept, in the form in which it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    known: String,
    altered: Vec<(String, Altered)>,
    granted: Vec<Grant>,
    notes: Vec<Note>,
    denied: Vec<(String, String)>,
    refused: Vec<(i64, u32)>,
    /// When it was last saved, in nanoseconds since 1970.
    used: i64,
}

impl Memory {
    /// Whether the session has just begun.
    pub(crate) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// How an item of this hash goes on, if other than it is sent.
    pub(crate) fn alteration(&self, hash: &[u8]) -> Option<Ruling> {
        let hash = hex(hash);
        match &self.altered.iter().find(|(known, _)| *known == hash)?.1 {
            Altered::Denied(text) => Some(Ruling::Deny { text: text.clone() }),
            Altered::Rewritten(line) => json::parse_str(line).ok().as_ref().and_then(verdict::event).map_or_else(
                // What cannot be read any more must not go on as it was.
                || Some(Ruling::Deny { text: "[withheld]".to_owned() }),
                |event| Some(Ruling::Rewrite(Box::new(event))),
            ),
        }
    }

    /// Remembers how an item goes on.
    pub(crate) fn alter(&mut self, hash: &[u8], ruling: &Ruling) {
        let altered = match ruling {
            Ruling::Forward => return,
            Ruling::Rewrite(event) => Altered::Rewritten(line(event)),
            Ruling::Deny { text } => Altered::Denied(text.clone()),
        };
        let hash = hex(hash);
        self.altered.retain(|(known, _)| *known != hash);
        self.altered.push((hash, altered));
        trim(&mut self.altered);
    }

    /// How often this was refused.
    pub(crate) fn refusals(&self, said: i64) -> u32 {
        self.refused.iter().find(|(known, _)| *known == said).map_or(0, |(_, count)| *count)
    }

    /// Remembers that this was refused once more.
    pub(crate) fn refuse(&mut self, said: i64) {
        let count = self.refusals(said);
        self.refused.retain(|(known, _)| *known != said);
        self.refused.push((said, count + 1));
        trim(&mut self.refused);
    }

    /// Remembers that a call was allowed.
    pub(crate) fn grant(&mut self, grant: Grant) {
        self.granted.push(grant);
        trim(&mut self.granted);
    }

    /// Remembers something for the model.
    pub(crate) fn note(&mut self, note: Note) {
        self.notes.push(note);
        trim(&mut self.notes);
    }

    /// Takes the permission to make a call, if there is one: it is good for one call.
    pub(crate) fn spend(&mut self, call: &str) -> Option<Grant> {
        let place = self.granted.iter().position(|grant| grant.call == call)?;
        Some(self.granted.remove(place))
    }
}

/// An event as a line of Lictor's own format.
pub(crate) fn line(event: &Event) -> String {
    event.to_json().to_string()
}

fn trim<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(MOST_KEPT);
    list.drain(..surplus);
}

/// All sessions: their memories in the store, and one exchange at a time with each.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// After which time without an exchange a session is over, and what is known of it is forgotten.
    idle: Option<Span>,
    busy: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

/// As long as this lives, nobody else in this process changes the session's memory.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, never read")] OwnedMutexGuard<()>);

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, idle: Option<Span>) -> Sessions {
        Sessions { store, idle, busy: Mutex::default() }
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

    /// The memory of a session, as it is now.
    pub(crate) async fn load(&self, session: &str) -> Result<Memory, Unavailable> {
        let key = key(session);
        let stored = self.blocking(move |store| store.load(&key)).await?.map_err(unavailable)?;
        let Some(stored) = stored else { return Ok(Memory::default()) };
        let damaged = || Unavailable { reason: "what is kept of a session is damaged".to_owned() };
        let kept: Kept = serde_json::from_slice(&stored.value).map_err(|_| damaged())?;
        if self.is_over(&kept) {
            return Ok(Memory { version: Some(stored.version), ..Memory::default() });
        }
        let known = unhex(&kept.known).and_then(|bytes| Known::from_bytes(&bytes)).ok_or_else(damaged)?;
        let Kept { altered, granted, notes, denied, refused, .. } = kept;
        Ok(Memory { known, altered, granted, notes, denied, refused, version: Some(stored.version) })
    }

    /// Saves a memory. `false` if somebody else was faster: load it and do it again.
    pub(crate) async fn save(&self, session: &str, memory: &mut Memory) -> Result<bool, Unavailable> {
        let kept = Kept {
            known: hex(&memory.known.to_bytes()),
            altered: memory.altered.clone(),
            granted: memory.granted.clone(),
            notes: memory.notes.clone(),
            denied: memory.denied.clone(),
            refused: memory.refused.clone(),
            used: now().0,
        };
        let value = serde_json::to_vec(&kept).map_err(|error| Unavailable { reason: error.to_string() })?;
        let change = Change::put(key(session), Expected::of_version(memory.version), value);
        match self.blocking(move |store| store.save(&[change])).await? {
            Ok(version) => {
                memory.version = Some(version);
                Ok(true)
            }
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(unavailable(error)),
        }
    }

    fn is_over(&self, kept: &Kept) -> bool {
        self.idle.is_some_and(|idle| Time(kept.used).plus(idle) <= now())
    }

    /// Forgets the sessions that are over. Says how many there were.
    pub(crate) async fn sweep(self: &Arc<Self>) -> Result<usize, Unavailable> {
        if self.idle.is_none() {
            return Ok(0);
        }
        let sessions = Arc::clone(self);
        let swept = self.blocking(move |store| {
            let (mut last, mut swept) = (None, 0);
            loop {
                let keys = store.keys(PREFIX, last.as_deref(), AT_ONCE)?;
                let Some(end) = keys.last() else { return Ok(swept) };
                last = Some(end.clone());
                for key in keys {
                    let Some(stored) = store.load(&key)? else { continue };
                    if serde_json::from_slice(&stored.value).is_ok_and(|kept: Kept| sessions.is_over(&kept)) {
                        // Whoever began it again meanwhile keeps it.
                        swept +=
                            usize::from(store.save(&[Change::delete(key, Expected::Version(stored.version))]).is_ok());
                    }
                }
            }
        });
        swept.await?.map_err(unavailable)
    }

    /// Asks the store something on a thread that may wait.
    pub(crate) async fn blocking<T: Send + 'static>(
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

fn key(session: &str) -> String {
    format!("{PREFIX}{}", escaped(session))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(*DIGITS.get(usize::from(half)).unwrap_or(&b'0'));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

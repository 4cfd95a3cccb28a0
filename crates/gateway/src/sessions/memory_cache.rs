//! A cache of memories, so that most exchanges read nothing from the store.

use std::collections::HashMap;

use super::StoredMemory;

/// How many bytes are cached, roughly; beyond that all entries are evicted.
const MAX_BYTES: usize = 64 << 20;

/// The bytes of an entry besides its memory.
const OVERHEAD: usize = 512;

/// Memories by the names of their sessions.
#[derive(Debug)]
pub(super) struct MemoryCache {
    by_name: HashMap<String, StoredMemory>,
    bytes: usize,
    /// Whether the store has all memories, so that they can be evicted.
    is_bounded: bool,
}

impl MemoryCache {
    pub(super) fn new(is_bounded: bool) -> MemoryCache {
        MemoryCache { by_name: HashMap::new(), bytes: 0, is_bounded }
    }

    pub(super) fn get(&self, session: &str) -> Option<StoredMemory> {
        self.by_name.get(session).cloned()
    }

    pub(super) fn insert(&mut self, session: &str, memory: &StoredMemory) {
        self.remove(session);
        let weight = weight(memory);
        if self.is_bounded && self.bytes + weight > MAX_BYTES {
            self.by_name.clear();
            self.bytes = 0;
        }
        self.bytes += weight;
        self.by_name.insert(session.to_owned(), memory.clone());
    }

    pub(super) fn remove(&mut self, session: &str) {
        if let Some(evicted) = self.by_name.remove(session) {
            self.bytes -= weight(&evicted);
        }
    }

    /// Evicts the memories for which `is_over` holds, and returns how many there were.
    pub(super) fn evict(&mut self, is_over: impl Fn(&StoredMemory) -> bool) -> usize {
        let before = self.by_name.len();
        self.by_name.retain(|_, memory| !is_over(memory));
        self.bytes = self.by_name.values().map(weight).sum();
        before - self.by_name.len()
    }
}

/// Returns the rough size of an entry: the memory, and its stored bytes.
fn weight(memory: &StoredMemory) -> usize {
    OVERHEAD + memory.bytes.len() * 2
}

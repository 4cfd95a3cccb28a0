//! Memories as they were last seen, so that most exchanges read nothing from the store.

use std::collections::HashMap;

use super::memory::Memory;

/// How many bytes the copies take together, by a rough count; beyond that all are thrown away.
const MOST_BYTES: usize = 64 << 20;

/// What a copy takes beside what is kept of it.
const OVERHEAD: usize = 512;

/// Memories as they were last seen, by the names of their sessions.
#[derive(Debug, Default)]
pub(super) struct Copies {
    by_name: HashMap<String, Memory>,
    bytes: usize,
}

impl Copies {
    pub(super) fn get(&self, session: &str) -> Option<Memory> {
        self.by_name.get(session).cloned()
    }

    pub(super) fn insert(&mut self, session: &str, memory: &Memory) {
        self.remove(session);
        let weight = weight(memory);
        if self.bytes + weight > MOST_BYTES {
            self.by_name.clear();
            self.bytes = 0;
        }
        self.bytes += weight;
        self.by_name.insert(session.to_owned(), memory.clone());
    }

    pub(super) fn remove(&mut self, session: &str) {
        if let Some(gone) = self.by_name.remove(session) {
            self.bytes -= weight(&gone);
        }
    }
}

/// Hashes are twice as long where they are kept as text.
fn weight(memory: &Memory) -> usize {
    OVERHEAD + memory.bytes().len() * 2
}

//! The memories of sessions in this process: a cache of the store, or the only copy if the store is private.

use std::collections::{BTreeMap, HashMap};

use super::StoredMemory;

/// How many bytes are cached, roughly; beyond that all entries are evicted.
const MAX_BYTES: usize = 64 << 20;

/// The bytes of an entry besides its memory.
const ENTRY_OVERHEAD_BYTES: usize = 512;

/// Memories by the names of their sessions.
#[derive(Debug)]
pub(super) struct MemoryCache {
    by_name: HashMap<String, CacheEntry>,
    /// For each tenant, the names in the order of their last use.
    by_use: HashMap<String, BTreeMap<u64, String>>,
    uses: u64,
    bytes: usize,
    /// Whether the store has all memories, so that they can be evicted.
    is_bounded: bool,
}

#[derive(Debug)]
struct CacheEntry {
    tenant: String,
    memory: StoredMemory,
    /// The number of its last use.
    used: u64,
}

/// The last use of a session.
#[derive(Debug)]
pub(crate) struct SessionUse {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) number: u64,
}

impl MemoryCache {
    pub(super) fn new(is_bounded: bool) -> MemoryCache {
        MemoryCache { by_name: HashMap::new(), by_use: HashMap::new(), uses: 0, bytes: 0, is_bounded }
    }

    /// Returns the memory of a tenant's session. One of another tenant has the name only if a declaration is mistaken.
    pub(super) fn get(&self, tenant: &str, session: &str) -> Option<StoredMemory> {
        self.by_name.get(session).filter(|entry| entry.tenant == tenant).map(|entry| entry.memory.clone())
    }

    pub(super) fn insert(&mut self, tenant: &str, session: &str, memory: &StoredMemory) {
        if self.replace(tenant, session, memory) {
            return;
        }
        self.remove(session);
        let weight = weight(memory);
        if self.is_bounded && self.bytes + weight > MAX_BYTES {
            self.by_name.clear();
            self.by_use.clear();
            self.bytes = 0;
        }
        self.bytes += weight;
        self.uses += 1;
        let entry = CacheEntry { tenant: tenant.to_owned(), memory: memory.clone(), used: self.uses };
        self.by_use.entry(tenant.to_owned()).or_default().insert(self.uses, session.to_owned());
        self.by_name.insert(session.to_owned(), entry);
    }

    /// Puts a memory in the place of an earlier one of the session. Returns `false` if there is none, or no room.
    fn replace(&mut self, tenant: &str, session: &str, memory: &StoredMemory) -> bool {
        let Some(entry) = self.by_name.get_mut(session).filter(|entry| entry.tenant == tenant) else { return false };
        let bytes = self.bytes - weight(&entry.memory) + weight(memory);
        let Some(names) = self.by_use.get_mut(tenant).filter(|_| !self.is_bounded || bytes <= MAX_BYTES) else {
            return false;
        };
        self.bytes = bytes;
        self.uses += 1;
        if let Some(name) = names.remove(&entry.used) {
            names.insert(self.uses, name);
        }
        (entry.memory, entry.used) = (memory.clone(), self.uses);
        true
    }

    pub(super) fn remove(&mut self, session: &str) {
        if let Some(evicted) = self.by_name.remove(session) {
            self.bytes -= weight(&evicted.memory);
            self.by_use.entry(evicted.tenant).and_modify(|names| drop(names.remove(&evicted.used)));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns the number of the last use of a session.
    pub(super) fn last_use(&self, session: &str) -> Option<u64> {
        self.by_name.get(session).map(|entry| entry.used)
    }

    /// Returns sessions to end: of the tenant that has the most, those whose last use is longest ago. So no tenant ends
    /// the sessions of others by beginning many.
    pub(super) fn oldest(&self, count: usize) -> Vec<SessionUse> {
        let Some((tenant, names)) = self.by_use.iter().max_by_key(|(_, names)| names.len()) else { return Vec::new() };
        let found = |(number, name): (&u64, &String)| SessionUse {
            tenant: tenant.clone(),
            name: name.clone(),
            number: *number,
        };
        names.iter().take(count).map(found).collect()
    }

    /// Evicts the memories for which `is_over` holds, and returns how many there were.
    pub(super) fn evict(&mut self, is_over: impl Fn(&StoredMemory) -> bool) -> usize {
        let over = self.by_name.iter().filter(|(_, entry)| is_over(&entry.memory));
        let over: Vec<String> = over.map(|(name, _)| name.clone()).collect();
        over.iter().for_each(|name| self.remove(name));
        over.len()
    }
}

/// Returns the rough size of an entry: the memory, and its stored bytes.
fn weight(memory: &StoredMemory) -> usize {
    ENTRY_OVERHEAD_BYTES + memory.bytes.len() * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory whose stored form has so many bytes.
    fn memory(bytes: usize) -> StoredMemory {
        StoredMemory { bytes: vec![0; bytes].into(), ..StoredMemory::default() }
    }

    #[test]
    fn memory_cache_replaces_like_removing_and_inserting() {
        let mut number = 7_u64;
        let mut draw = |below: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (number >> 33) % below
        };
        for is_bounded in [true, false] {
            let (mut quick, mut general) = (MemoryCache::new(is_bounded), MemoryCache::new(is_bounded));
            for _ in 0..2000 {
                let (tenant, session) = (draw(2).to_string(), draw(12).to_string());
                let memory = memory(usize::try_from(draw(8)).unwrap() << 20);
                quick.insert(&tenant, &session, &memory);
                general.remove(&session);
                general.insert(&tenant, &session, &memory);
                if draw(20) == 0 {
                    quick.remove(&session);
                    general.remove(&session);
                }
                let order = |cache: &MemoryCache| -> Vec<String> {
                    let names = cache.by_use.values().flatten().map(|(used, name)| format!("{used} {name}"));
                    let mut names: Vec<String> = names.collect();
                    names.sort_unstable();
                    names
                };
                assert_eq!(order(&quick), order(&general));
                assert_eq!((quick.bytes, quick.len()), (general.bytes, general.len()));
            }
        }
    }
}

//! A hash table from keys to places that costs one cache miss.
//!
//! With a million keys every look-up misses the processor's cache. Here one miss finds the place. The keys are stored
//! at the places, so the miss that compares a key also fetches its row.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::value::Value;

/// The number of keys from which a table exceeds the processor's cache, so that prefetching pays.
pub(super) const MIN_PREFETCH_KEYS: usize = 10_000;

/// Places by the hashes of their keys: open addressing with linear probing.
///
/// A slot holds the lower half of a hash and a place, counted from one; zero is free.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyTable {
    slots: Vec<u64>,
    count: usize,
}

/// Returns the hash of a key.
pub(super) fn hash_key<'v>(key: impl Iterator<Item = &'v Value>) -> u32 {
    let mut hasher = FxHasher::default();
    key.for_each(|value| value.hash(&mut hasher));
    hasher.finish() as u32
}

fn pack_slot(hash: u32, place: u32) -> u64 {
    u64::from(hash) << 32 | (u64::from(place) + 1)
}

fn slot_hash(slot: u64) -> u32 {
    (slot >> 32) as u32
}

fn slot_place(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

impl KeyTable {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the place of a key; the caller compares candidates.
    #[inline]
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if slot_hash(slot) == hash && is_it(slot_place(slot)) {
                return Some(slot_place(slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// Prefetches the slot of a hash; the result has no meaning.
    pub(super) fn prefetch(&self, hash: u32) -> u64 {
        self.slots.len().checked_sub(1).map_or(0, |mask| self.slots[hash as usize & mask])
    }

    /// Returns a place that may be that of a key.
    pub(super) fn guess(&self, hash: u32) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// Adds a key that is not in the table.
    pub(super) fn insert(&mut self, hash: u32, place: u32) {
        if self.count * 2 >= self.slots.len() {
            self.grow();
        }
        self.count += 1;
        self.place_slot(pack_slot(hash, place));
    }

    /// Gives a key another place.
    pub(super) fn replace(&mut self, hash: u32, place: u32, by: u32) {
        if let Some(at) = self.find_slot(hash, place) {
            self.slots[at] = pack_slot(hash, by);
        }
    }

    /// Removes a key, and moves the displaced ones after it back.
    pub(super) fn remove(&mut self, hash: u32, place: u32) {
        let Some(mut gap) = self.find_slot(hash, place) else { return };
        self.count -= 1;
        let mask = self.slots.len() - 1;
        let mut at = gap;
        loop {
            self.slots[gap] = 0;
            loop {
                at = (at + 1) & mask;
                let slot = self.slots[at];
                if slot == 0 {
                    return;
                }
                let home = slot_hash(slot) as usize & mask;
                // It may move if its home is not after the gap.
                if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.slots[gap] = self.slots[at];
            gap = at;
        }
    }

    fn find_slot(&self, hash: u32, place: u32) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let (wanted, mut at) = (pack_slot(hash, place), hash as usize & mask);
        while self.slots[at] != wanted {
            if self.slots[at] == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
        Some(at)
    }

    fn place_slot(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = slot_hash(slot) as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(4);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        old.into_iter().filter(|slot| *slot != 0).for_each(|slot| self.place_slot(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few homes, so that keys crowd and wrap around.
    fn crowded(key: u32) -> u32 {
        key % 7 + if key.is_multiple_of(3) { u32::MAX - 8 } else { 0 }
    }

    #[test]
    fn key_table_finds_keys_despite_collisions() {
        let mut keys = KeyTable::default();
        let mut known = std::collections::BTreeSet::new();
        let mut seed = 1u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (seed >> 33) as u32 % 60;
            let hash = crowded(key);
            if known.insert(key) {
                assert_eq!(keys.find(hash, |place| place == key), None);
                keys.insert(hash, key);
            } else {
                keys.remove(hash, key);
                known.remove(&key);
            }
            assert_eq!(keys.len(), known.len());
            for key in 0..60 {
                let found = keys.find(crowded(key), |place| place == key);
                assert_eq!(found.is_some(), known.contains(&key), "{key}");
            }
        }
    }

    #[test]
    fn key_table_replaces_a_place() {
        let mut keys = KeyTable::default();
        keys.insert(5, 1);
        keys.insert(5, 2);
        keys.replace(5, 1, 9);
        assert_eq!(keys.find(5, |place| place == 9), Some(9));
        assert_eq!(keys.find(5, |place| place == 1), None);
        keys.remove(5, 9);
        assert_eq!(keys.find(5, |_| true), Some(2));
    }
}

//! A map of bounded size that forgets what was not used for longest, roughly.
//!
//! It has two generations. A key that is read or written moves to the young one. When the young one is full, it becomes
//! the old one, and the old one is dropped. So a key survives at least half the bound of other keys.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A map that holds at most `bound` keys.
#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    half: usize,
}

impl<K: Hash + Eq, V> Generations<K, V> {
    /// Returns an empty map with a bound; the least is two.
    pub(crate) fn new(bound: usize) -> Generations<K, V> {
        Generations { young: HashMap::new(), old: HashMap::new(), half: (bound / 2).max(1) }
    }

    /// Returns the value of a key, which counts as used.
    pub(crate) fn touch<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        if let Some((key, value)) = self.old.remove_entry(key) {
            self.insert(key, value);
        }
        self.young.get_mut(key)
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_keep_used_keys_within_bound() {
        let mut map = Generations::new(10);
        for key in 0..1000 {
            map.insert(key, key);
            assert_eq!(map.touch(&0), Some(&mut 0), "used every time");
            assert!(map.young.len() + map.old.len() <= 10);
        }
        assert_eq!(map.touch(&999), Some(&mut 999));
        assert_eq!(map.touch(&1), None);
    }
}

//! Digests of credentials and of the names of sessions, computed once as long as they are in use.
//!
//! Every request has a credential, and SHA-256 takes long on processors without instructions for it. What a digest is of is
//! not kept: it is found by a keyed BLAKE3 hash, with a key that only the gateway has.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// How many digests a generation has.
const MAX_GENERATION_DIGESTS: usize = 4096;

/// A digest of SHA-256.
pub(super) type Digest = [u8; 32];

/// Digests in two generations: one that was not used in the last of them is dropped.
pub(super) struct DigestCache {
    key: [u8; 32],
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 32], Digest>,
    old: HashMap<[u8; 32], Digest>,
}

impl fmt::Debug for DigestCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestCache")
    }
}

impl DigestCache {
    /// Creates a cache whose hashes depend on a secret.
    pub(super) fn new(secret: &[u8; 32]) -> DigestCache {
        let key = blake3::derive_key("lictor gateway 2026 digest cache", secret);
        DigestCache { key, generations: Mutex::default() }
    }

    /// Returns the digest of an input, which is computed if it is not known.
    pub(super) fn find_or_compute(&self, input: &[u8], compute: impl FnOnce() -> Digest) -> Digest {
        let name: [u8; 32] = blake3::keyed_hash(&self.key, input).into();
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let Generations { young, old } = &mut *generations;
        if let Some(digest) = young.get(&name) {
            return *digest;
        }
        if young.len() >= MAX_GENERATION_DIGESTS {
            *old = std::mem::take(young);
        }
        let digest = old.get(&name).copied().unwrap_or_else(compute);
        young.insert(name, digest);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_cache_computes_again_after_eviction() {
        let cache = DigestCache::new(&[7; 32]);
        let count = |number: usize| {
            let mut computed = 0_usize;
            let digest = cache.find_or_compute(&number.to_le_bytes(), || {
                computed += 1;
                *blake3::hash(&number.to_le_bytes()).as_bytes()
            });
            assert_eq!(digest, *blake3::hash(&number.to_le_bytes()).as_bytes());
            computed
        };
        assert_eq!((count(0), count(0)), (1, 0));
        (1..MAX_GENERATION_DIGESTS).for_each(|number| assert_eq!(count(number), 1));
        assert_eq!((count(0), count(1_000_000), count(1)), (0, 1, 0), "the old generation is still known");
        let later = (1_000_001..1_000_001 + 2 * MAX_GENERATION_DIGESTS).map(count);
        assert_eq!(later.sum::<usize>(), 2 * MAX_GENERATION_DIGESTS);
        assert_eq!(count(0), 1, "two generations later it is not");
        let generations = cache.generations.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 2 * MAX_GENERATION_DIGESTS);
    }
}

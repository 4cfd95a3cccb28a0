//! Proofs that a record is in a tree and that a tree continues an older one (RFC 6962, section 2.1; RFC 9162).
//!
//! Proofs are made from any store of hashes of complete subtrees and checked with no store at all.

use crate::error::LedgerError;
use crate::tree::Hash;

/// A source of the hashes of complete subtrees; `height` 0 are the records.
pub(crate) trait HashSource {
    /// Returns the hash of the `1 << height` records from `place << height` on.
    fn hash(&mut self, height: u32, place: u64) -> Result<Hash, LedgerError>;
}

/// Returns the sibling hashes on the path from a record to the root, lowest first.
pub(crate) fn prove_inclusion(hashes: &mut dyn HashSource, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
    if index >= size {
        return Err(LedgerError::refused(format!("record {index} is not in a tree of size {size}")));
    }
    let (mut from, mut to, mut proof) = (0, size, Vec::new());
    while to - from > 1 {
        let middle = from + split_size(to - from);
        if index < middle {
            proof.push(hash_range(hashes, middle, to)?);
            to = middle;
        } else {
            proof.push(hash_range(hashes, from, middle)?);
            from = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// Returns the hashes that lead from the root of an older size to the root of a newer one.
pub(crate) fn prove_consistency(hashes: &mut dyn HashSource, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
    if old > new {
        return Err(LedgerError::refused(format!("a tree of size {new} does not continue one of size {old}")));
    }
    if old == 0 || old == new {
        return Ok(Vec::new());
    }
    let (mut from, mut to, mut proof, mut is_whole) = (0, new, Vec::new(), true);
    while to != old {
        let middle = from + split_size(to - from);
        if old <= middle {
            proof.push(hash_range(hashes, middle, to)?);
            to = middle;
        } else {
            proof.push(hash_range(hashes, from, middle)?);
            from = middle;
            is_whole = false;
        }
    }
    // The checker knows the old root itself, unless the path to it went to the right.
    if !is_whole {
        proof.push(hash_range(hashes, from, to)?);
    }
    proof.reverse();
    Ok(proof)
}

/// Returns the root of the tree of a size.
pub(crate) fn root(hashes: &mut dyn HashSource, size: u64) -> Result<Hash, LedgerError> {
    hash_range(hashes, 0, size)
}

/// Returns the hash of the records between two indices, as the subtree that begins there.
fn hash_range(hashes: &mut dyn HashSource, from: u64, to: u64) -> Result<Hash, LedgerError> {
    let mut at = from;
    let mut roots = Vec::new();
    while at < to {
        let height = (to - at).ilog2();
        roots.push(hashes.hash(height, at >> height)?);
        at += 1 << height;
    }
    Ok(roots.into_iter().rev().reduce(|right, left| Hash::node(left, right)).unwrap_or_else(Hash::empty))
}

/// Returns the largest power of two below a size of at least 2.
fn split_size(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// Whether a proof shows that the record at this index, in a tree of this size and root, has this hash.
pub fn check_inclusion(leaf: Hash, index: u64, size: u64, root: Hash, proof: &[Hash]) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = Hash::node(*sibling, hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = Hash::node(hash, *sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == root
}

/// Whether a proof shows that the tree of the newer size and root begins with that of the older size and root.
pub fn check_consistency(old: u64, old_root: Hash, new: u64, new_root: Hash, proof: &[Hash]) -> bool {
    if old == 0 {
        return proof.is_empty() && old_root == Hash::empty();
    }
    if old >= new {
        return old == new && proof.is_empty() && old_root == new_root;
    }
    let (first, rest) = match (old.is_power_of_two(), proof) {
        (true, rest) => (old_root, rest),
        (false, [first, rest @ ..]) => (*first, rest),
        (false, []) => return false,
    };
    let shift = (old - 1).trailing_ones();
    let (mut at, mut last) = ((old - 1) >> shift, (new - 1) >> shift);
    let (mut from_old, mut from_new) = (first, first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            from_old = Hash::node(*sibling, from_old);
            from_new = Hash::node(*sibling, from_new);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            from_new = Hash::node(from_new, *sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && from_old == old_root && from_new == new_root
}

#[cfg(test)]
mod tests;

//! Proofs that a record is in a tree and that a tree continues an older one (RFC 6962, section 2.1; RFC 9162).
//!
//! Proofs are made from any store of hashes of complete subtrees and checked with no store at all.

use crate::error::LedgerError;
use crate::tree::Hash;

/// Where the hashes of complete subtrees are: `height` 0 are the records.
pub(crate) trait Hashes {
    /// The hash of the records from `place << height` on, `1 << height` of them.
    fn hash(&mut self, height: u32, place: u64) -> Result<Hash, LedgerError>;
}

/// The hashes beside the way from a record to the root, lowest first.
pub(crate) fn inclusion(hashes: &mut dyn Hashes, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
    if index >= size {
        return Err(LedgerError::refused(format!("record {index} is not in a tree of size {size}")));
    }
    let (mut from, mut to, mut proof) = (0, size, Vec::new());
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            proof.push(range(hashes, middle, to)?);
            to = middle;
        } else {
            proof.push(range(hashes, from, middle)?);
            from = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// The hashes that lead from the root of an older size to the root of a newer one.
pub(crate) fn consistency(hashes: &mut dyn Hashes, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
    if old > new {
        return Err(LedgerError::refused(format!("a tree of size {new} does not continue one of size {old}")));
    }
    if old == 0 || old == new {
        return Ok(Vec::new());
    }
    let (mut from, mut to, mut proof, mut is_whole) = (0, new, Vec::new(), true);
    while to != old {
        let middle = from + split(to - from);
        if old <= middle {
            proof.push(range(hashes, middle, to)?);
            to = middle;
        } else {
            proof.push(range(hashes, from, middle)?);
            from = middle;
            is_whole = false;
        }
    }
    // The old root itself is known to whoever checks, unless the way to it went to the right.
    if !is_whole {
        proof.push(range(hashes, from, to)?);
    }
    proof.reverse();
    Ok(proof)
}

/// The root of the tree of a size.
pub(crate) fn root(hashes: &mut dyn Hashes, size: u64) -> Result<Hash, LedgerError> {
    range(hashes, 0, size)
}

/// The hash of the records from one index to another, as the subtree that begins there.
fn range(hashes: &mut dyn Hashes, from: u64, to: u64) -> Result<Hash, LedgerError> {
    let mut at = from;
    let mut roots = Vec::new();
    while at < to {
        let height = (to - at).ilog2();
        roots.push(hashes.hash(height, at >> height)?);
        at += 1 << height;
    }
    Ok(roots.into_iter().rev().reduce(|right, left| Hash::node(left, right)).unwrap_or_else(Hash::empty))
}

/// The largest power of two smaller than a size of at least 2.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// Whether a proof shows that a record with this hash is the one of this index in a tree of this size and root.
pub fn check_inclusion(leaf: Hash, index: u64, size: u64, root: Hash, proof: &[Hash]) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for beside in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = Hash::node(*beside, hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = Hash::node(hash, *beside);
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
    for beside in rest {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            from_old = Hash::node(*beside, from_old);
            from_new = Hash::node(*beside, from_new);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            from_new = Hash::node(from_new, *beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && from_old == old_root && from_new == new_root
}

#[cfg(test)]
mod tests;

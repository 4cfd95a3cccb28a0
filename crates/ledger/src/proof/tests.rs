//! Proofs against a naive tree: every index and size up to a bound, and proofs with something wrong in them.

use proptest::prelude::*;

use super::*;

/// A tree by its definition, hashed again for every query.
struct NaiveTree(Vec<Hash>);

impl NaiveTree {
    fn with_size(size: u64) -> NaiveTree {
        NaiveTree((0..size).map(|index| Hash::leaf(&index.to_be_bytes())).collect())
    }

    fn root(&self, size: u64) -> Hash {
        fn root(leaves: &[Hash]) -> Hash {
            match leaves {
                [] => Hash::empty(),
                [leaf] => *leaf,
                _ => {
                    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                    Hash::node(root(left), root(right))
                }
            }
        }
        root(&self.0[..usize::try_from(size).unwrap()])
    }
}

impl HashSource for NaiveTree {
    fn hash(&mut self, height: u32, place: u64) -> Result<Hash, LedgerError> {
        let from = usize::try_from(place << height).unwrap();
        let leaves = &self.0[from..from + (1 << height)];
        Ok(NaiveTree(leaves.to_vec()).root(1 << height))
    }
}

#[test]
fn inclusion_proof_holds_for_its_record_only() {
    let mut naive = NaiveTree::with_size(40);
    for size in 1..=40 {
        let root = naive.root(size);
        for index in 0..size {
            let proof = prove_inclusion(&mut naive, index, size).unwrap();
            let leaf = Hash::leaf(&index.to_be_bytes());
            for claimed in 0..size {
                assert_eq!(check_inclusion(leaf, claimed, size, root, &proof), claimed == index, "{index} of {size}");
            }
        }
    }
    assert!(prove_inclusion(&mut naive, 5, 5).is_err());
}

#[test]
fn consistency_proof_holds_for_every_smaller_tree() {
    let mut naive = NaiveTree::with_size(40);
    for new in 0..=40 {
        for old in 0..=new {
            let proof = prove_consistency(&mut naive, old, new).unwrap();
            let (old_root, new_root) = (naive.root(old), naive.root(new));
            assert!(check_consistency(old, old_root, new, new_root, &proof), "{old} to {new}");
            if old > 0 {
                assert!(!check_consistency(old, Hash::leaf(b"other"), new, new_root, &proof), "{old} to {new}");
                assert!(!check_consistency(old, old_root, new, Hash::leaf(b"other"), &proof), "{old} to {new}");
            }
        }
    }
    assert!(prove_consistency(&mut naive, 6, 5).is_err());
}

proptest! {
    #[test]
    fn altered_proof_is_rejected(size in 2u64..300, at in any::<u64>(), bit in any::<u16>()) {
        let mut naive = NaiveTree::with_size(size);
        let (root, index) = (naive.root(size), at % size);
        let leaf = Hash::leaf(&index.to_be_bytes());
        let mut proof = prove_inclusion(&mut naive, index, size).unwrap();
        prop_assert!(check_inclusion(leaf, index, size, root, &proof));
        let place = usize::from(bit) % (proof.len() * 256);
        proof[place / 256].0[place % 256 / 8] ^= 1 << (place % 8);
        prop_assert!(!check_inclusion(leaf, index, size, root, &proof));
        proof[place / 256].0[place % 256 / 8] ^= 1 << (place % 8);
        proof.push(root);
        prop_assert!(!check_inclusion(leaf, index, size, root, &proof));
        proof.truncate(proof.len() - 2);
        prop_assert!(!check_inclusion(leaf, index, size, root, &proof));

        let old = 1 + at % (size - 1);
        let old_root = naive.root(old);
        let mut proof = prove_consistency(&mut naive, old, size).unwrap();
        prop_assert!(check_consistency(old, old_root, size, root, &proof));
        let place = usize::from(bit) % (proof.len() * 256);
        proof[place / 256].0[place % 256 / 8] ^= 1 << (place % 8);
        prop_assert!(!check_consistency(old, old_root, size, root, &proof));
    }
}

//! Proofs against a naive tree: every index and size up to a bound, and proofs with something wrong in them.

use proptest::prelude::*;

use super::*;

/// A tree by its definition, hashed anew for every question.
struct Naive(Vec<Hash>);

impl Naive {
    fn of(size: u64) -> Naive {
        Naive((0..size).map(|index| Hash::leaf(&index.to_be_bytes())).collect())
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

impl Hashes for Naive {
    fn hash(&mut self, height: u32, place: u64) -> Result<Hash, LedgerError> {
        let from = usize::try_from(place << height).unwrap();
        let leaves = &self.0[from..from + (1 << height)];
        Ok(Naive(leaves.to_vec()).root(1 << height))
    }
}

#[test]
fn every_record_of_every_small_tree_is_proved_to_be_in_it_and_nowhere_else() {
    let mut naive = Naive::of(40);
    for size in 1..=40 {
        let root = naive.root(size);
        for index in 0..size {
            let proof = inclusion(&mut naive, index, size).unwrap();
            let leaf = Hash::leaf(&index.to_be_bytes());
            for claimed in 0..size {
                assert_eq!(check_inclusion(leaf, claimed, size, root, &proof), claimed == index, "{index} of {size}");
            }
        }
    }
    assert!(inclusion(&mut naive, 5, 5).is_err());
}

#[test]
fn every_small_tree_is_proved_to_continue_every_smaller_one() {
    let mut naive = Naive::of(40);
    for new in 0..=40 {
        for old in 0..=new {
            let proof = consistency(&mut naive, old, new).unwrap();
            let (old_root, new_root) = (naive.root(old), naive.root(new));
            assert!(check_consistency(old, old_root, new, new_root, &proof), "{old} to {new}");
            if old > 0 {
                assert!(!check_consistency(old, Hash::leaf(b"other"), new, new_root, &proof), "{old} to {new}");
                assert!(!check_consistency(old, old_root, new, Hash::leaf(b"other"), &proof), "{old} to {new}");
            }
        }
    }
    assert!(consistency(&mut naive, 6, 5).is_err());
}

proptest! {
    #[test]
    fn a_proof_with_anything_wrong_in_it_proves_nothing(size in 2u64..300, at in any::<u64>(), bit in any::<u16>()) {
        let mut naive = Naive::of(size);
        let (root, index) = (naive.root(size), at % size);
        let leaf = Hash::leaf(&index.to_be_bytes());
        let mut proof = inclusion(&mut naive, index, size).unwrap();
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
        let mut proof = consistency(&mut naive, old, size).unwrap();
        prop_assert!(check_consistency(old, old_root, size, root, &proof));
        let place = usize::from(bit) % (proof.len() * 256);
        proof[place / 256].0[place % 256 / 8] ^= 1 << (place % 8);
        prop_assert!(!check_consistency(old, old_root, size, root, &proof));
    }
}

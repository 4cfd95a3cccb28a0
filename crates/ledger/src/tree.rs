//! The Merkle tree of RFC 6962 over the records: hashes, and the right edge of a tree that grows.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A hash in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Returns the hash of a record: of its line without the newline.
    pub fn leaf(line: &[u8]) -> Hash {
        Hash(Sha256::new().chain_update([0]).chain_update(line).finalize().into())
    }

    /// Returns the hash of two adjacent nodes.
    pub fn node(left: Hash, right: Hash) -> Hash {
        let mut bytes = [1; 65];
        bytes[1..33].copy_from_slice(&left.0);
        bytes[33..].copy_from_slice(&right.0);
        Hash(Sha256::digest(bytes).into())
    }

    /// Returns the root of the empty tree.
    pub fn empty() -> Hash {
        Hash(Sha256::digest([]).into())
    }

    /// Reads a hash in base64.
    pub fn from_base64(text: &str) -> Option<Hash> {
        STANDARD.decode(text).ok()?.try_into().ok().map(Hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// The right edge of a tree, which is enough to add records and to compute the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeEdge {
    size: u64,
    /// The roots of the complete subtrees that the size is the sum of, the largest first.
    roots: Vec<Hash>,
}

impl TreeEdge {
    /// Returns the roots of the complete subtrees, the largest first.
    pub(crate) fn roots(&self) -> &[Hash] {
        &self.roots
    }

    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As in binary counting: each trailing 1 of the size is a subtree that the new leaf completes.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.roots.pop() {
                hash = Hash::node(left, hash);
            }
        }
        self.roots.push(hash);
        self.size += 1;
    }

    pub(crate) fn root(&self) -> Hash {
        self.roots.iter().rev().copied().reduce(|right, left| Hash::node(left, right)).unwrap_or_else(Hash::empty)
    }
}

/// Returns the root over hashes of one level: those of a tile, or of a part of one.
pub(crate) fn combine_hashes(hashes: &[Hash]) -> Hash {
    let mut edge = TreeEdge::default();
    hashes.iter().for_each(|hash| edge.push(*hash));
    edge.root()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree by its definition in section 2.1 of RFC 6962.
    fn by_definition(leaves: &[&[u8]]) -> Hash {
        match leaves {
            [] => Hash::empty(),
            [leaf] => Hash::leaf(leaf),
            _ => {
                let middle = leaves.len().next_power_of_two() / 2;
                Hash::node(by_definition(&leaves[..middle]), by_definition(&leaves[middle..]))
            }
        }
    }

    fn hex(hash: Hash) -> String {
        hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn tree_has_known_certificate_transparency_roots() {
        let leaves: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut edge = TreeEdge::default();
        assert_eq!(hex(edge.root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for (size, root) in roots.into_iter().enumerate() {
            edge.push(Hash::leaf(leaves[size]));
            assert_eq!(hex(edge.root()), root, "size {}", size + 1);
            assert_eq!(hex(by_definition(&leaves[..=size])), root);
        }
    }
}

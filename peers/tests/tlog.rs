//! Independent implementations verify our ledgers: `signed_note` their notes, `tlog_tiles` their checkpoints, tiles and
//! proofs. They share only the standards with our code.

use std::fs;
use std::path::PathBuf;

use lictor_peers::cases::{folder, read};
use serde::Deserialize;
use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{
    Checkpoint, Error, Hash, Tile, TileHashReader, TileReader, check_record, check_tree, prove_record, prove_tree,
    record_hash, tree_hash,
};

/// The ledgers that were written.
#[derive(Deserialize)]
struct Written {
    ledgers: Vec<WrittenLedger>,
    rotated: RotatedLedger,
}

/// A ledger with two checkpoints: of all records, and of one more.
#[derive(Deserialize)]
struct WrittenLedger {
    folder: String,
    records: u64,
    key: String,
    old: String,
    new: String,
    proven: Vec<ProvenRecord>,
    /// The proof that the newer checkpoint extends the older one.
    consistency: Vec<Hash>,
}

/// A record, and the proof that the newer checkpoint covers it.
#[derive(Deserialize)]
struct ProvenRecord {
    index: u64,
    line: String,
    proof: Vec<Hash>,
}

/// A ledger with a checkpoint by its first key, and one by its second.
#[derive(Deserialize)]
struct RotatedLedger {
    first_key: String,
    old: String,
    second_key: String,
    new: String,
}

/// Reads tiles from the paths of the standard.
struct Folder(PathBuf);

impl TileReader for Folder {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        // The crate has the height of tiles in their path, like Go; the standard fixes the height and omits it.
        let path = |tile: &Tile| self.0.join(tile.path().replacen("tile/8/", "tile/", 1));
        tiles.iter().map(|tile| fs::read(path(tile)).map_err(|_| Error::InvalidTile)).collect()
    }

    fn save_tiles(&self, _tiles: &[Tile], _data: &[Vec<u8>]) {}
}

/// Parses a checkpoint with their code, which also verifies its signature.
fn theirs(note: &str, key: &str) -> Checkpoint {
    let note = Note::from_bytes(note.as_bytes()).unwrap();
    let verifier = StandardVerifier::new(key).unwrap();
    let (good, unknown) = note.verify(&VerifierList::new(vec![Box::new(verifier)])).unwrap();
    assert_eq!((good.len(), unknown.len()), (1, 0));
    Checkpoint::from_bytes(note.text()).unwrap()
}

#[test]
fn ledger_and_proofs_agree_with_tlog_tiles() {
    let ledgers = read::<Written>("ledgers.json").unwrap().ledgers;
    let sizes: Vec<u64> = ledgers.iter().map(|ledger| ledger.records).collect();
    assert_eq!(sizes, [2, 255, 256, 257, 1000, 66_000]);
    for WrittenLedger { folder: name, records, key, old, new, proven, consistency } in ledgers {
        let (old, new) = (theirs(&old, &key), theirs(&new, &key));
        assert_eq!((old.size(), new.size(), new.origin()), (records, records + 1, "example.com/agents"));

        let tiles = Folder(folder().unwrap().join(name));
        // Their reader verifies every tile against the root.
        let hashes = TileHashReader::new(new.size(), *new.hash(), &tiles);
        assert_eq!(tree_hash(new.size(), &hashes).unwrap(), *new.hash());
        let indices: Vec<u64> = proven.iter().map(|proven| proven.index).collect();
        assert_eq!(indices, [0, 1, records / 2, records - 1, records]);
        for ProvenRecord { index, line, proof } in proven {
            check_record(&proof, new.size(), *new.hash(), index, record_hash(line.as_bytes())).unwrap();
            assert_eq!(proof, prove_record(new.size(), index, &hashes).unwrap());
        }
        check_tree(&consistency, new.size(), *new.hash(), old.size(), *old.hash()).unwrap();
        assert_eq!(consistency, prove_tree(new.size(), old.size(), &hashes).unwrap());
    }
}

#[test]
fn rotated_key_is_accepted_by_signed_note() {
    let RotatedLedger { first_key, old, second_key, new } = read::<Written>("ledgers.json").unwrap().rotated;
    assert_eq!((theirs(&old, &first_key).size(), theirs(&new, &second_key).size()), (10, 12));
}

//! Independent implementations verify a ledger: `signed_note` its notes, `tlog_tiles` its checkpoints, tiles and
//! proofs. They share only the standards with our code.

use std::fs;
use std::path::{Path, PathBuf};

use lictor_ledger::{Draft, Hash, Ledger, LedgerOptions, Reader, VerifierKey};
use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{
    Checkpoint, Error, Tile, TileHashReader, TileReader, check_record, check_tree, prove_record, prove_tree,
    record_hash, tree_hash,
};

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
fn theirs(note: &str, key: &VerifierKey) -> Checkpoint {
    let note = Note::from_bytes(note.as_bytes()).unwrap();
    let verifier = StandardVerifier::new(&key.to_string()).unwrap();
    let (good, unknown) = note.verify(&VerifierList::new(vec![Box::new(verifier)])).unwrap();
    assert_eq!((good.len(), unknown.len()), (1, 0));
    Checkpoint::from_bytes(note.text()).unwrap()
}

fn their_hashes(hashes: Vec<Hash>) -> Vec<tlog_tiles::Hash> {
    hashes.into_iter().map(|hash| tlog_tiles::Hash(hash.0)).collect()
}

fn fill(folder: &Path, records: u64) -> (Ledger, VerifierKey) {
    let ledger = Ledger::create(folder, "example.com/agents", LedgerOptions::new(jiff::Timestamp::now)).unwrap();
    let key = ledger.reader().first_key().unwrap();
    let mut tickets = Vec::new();
    for number in 1..records {
        let mut draft = Draft::default();
        draft.body.insert("number".to_owned(), number.into());
        tickets.push(ledger.append(draft).unwrap());
    }
    tickets.into_iter().for_each(|ticket| assert!(ticket.wait().unwrap().index > 0));
    (ledger, key)
}

#[test]
fn ledger_and_proofs_agree_with_tlog_tiles() {
    for records in [2, 255, 256, 257, 1000, 66_000] {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, key) = fill(folder.path(), records);
        let old = theirs(&ledger.checkpoint().unwrap(), &key);
        ledger.append(Draft::default()).unwrap().wait().unwrap();
        let new = theirs(&ledger.checkpoint().unwrap(), &key);
        ledger.close().unwrap();
        assert_eq!((old.size(), new.size(), new.origin()), (records, records + 1, "example.com/agents"));

        let (tiles, reader) = (Folder(folder.path().to_owned()), Reader::open(folder.path()));
        // Their reader verifies every tile against the root.
        let hashes = TileHashReader::new(new.size(), *new.hash(), &tiles);
        assert_eq!(tree_hash(new.size(), &hashes).unwrap(), *new.hash());
        for index in [0, 1, records / 2, records - 1, records] {
            let leaf = record_hash(reader.record(index).unwrap().line.as_bytes());
            let proof = their_hashes(reader.prove_inclusion(index, new.size()).unwrap());
            check_record(&proof, new.size(), *new.hash(), index, leaf).unwrap();
            assert_eq!(proof, prove_record(new.size(), index, &hashes).unwrap());
        }
        let proof = their_hashes(reader.prove_consistency(old.size(), new.size()).unwrap());
        check_tree(&proof, new.size(), *new.hash(), old.size(), *old.hash()).unwrap();
        assert_eq!(proof, prove_tree(new.size(), old.size(), &hashes).unwrap());
    }
}

#[test]
fn rotated_key_is_accepted_by_signed_note() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, first) = fill(folder.path(), 10);
    let old = theirs(&ledger.checkpoint().unwrap(), &first);
    let second = ledger.rotate().unwrap();
    ledger.append(Draft::default()).unwrap().wait().unwrap();
    assert_eq!((old.size(), theirs(&ledger.checkpoint().unwrap(), &second).size()), (10, 12));
}

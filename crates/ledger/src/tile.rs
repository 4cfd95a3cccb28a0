//! The tree in files (C2SP tlog-tiles): each tile holds up to 256 hashes of one level, and tile levels are eight tree
//! levels apart.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::error::{LedgerError, LedgerFault};
use crate::proof::HashSource;
use crate::tree::{Hash, TreeEdge, combine_hashes};

/// How many hashes a full tile holds.
pub(crate) const TILE_WIDTH: usize = 256;

/// How many levels of the tree one tile spans.
const TILE_HEIGHT: u32 = 8;

/// The position of a tile in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TilePosition {
    pub(crate) level: usize,
    pub(crate) index: u64,
}

impl TilePosition {
    /// Returns the path of the full tile below the folder of the ledger.
    pub(crate) fn path(self) -> String {
        let mut name = format!("{:03}", self.index % 1000);
        let mut rest = self.index / 1000;
        while rest > 0 {
            name = format!("x{:03}/{name}", rest % 1000);
            rest /= 1000;
        }
        format!("tile/{}/{name}", self.level)
    }

    /// Returns the folder of the partial tiles of this position.
    pub(crate) fn partial_folder(self) -> String {
        format!("{}.p", self.path())
    }

    /// Returns the path of a tile with this many hashes.
    pub(crate) fn path_of_width(self, width: usize) -> String {
        if width == TILE_WIDTH { self.path() } else { format!("{}/{width}", self.partial_folder()) }
    }
}

/// The tiles of a growing tree: those at its right edge, and full ones that were not taken yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    /// The unfinished tile of each level.
    edge: Vec<EdgeTile>,
    full: Vec<(TilePosition, Vec<Hash>)>,
}

/// A tile at the right edge of the tree.
#[derive(Clone, Debug)]
struct EdgeTile {
    /// How many tiles are before it.
    index: u64,
    hashes: Vec<Hash>,
    /// The roots of the subtrees over its hashes.
    roots: TreeEdge,
}

impl Tiles {
    /// Reads the right edge of a tree of a size from its files. The caller must check the root.
    pub(crate) fn load(folder: &Path, size: u64) -> Result<Tiles, LedgerError> {
        let mut tiles = Tiles::default();
        for level in 0.. {
            let there = size.checked_shr(TILE_HEIGHT * level).unwrap_or(0);
            if there == 0 {
                break;
            }
            let place = TilePosition { level: level as usize, index: there / TILE_WIDTH as u64 };
            let width = usize::try_from(there % TILE_WIDTH as u64).unwrap_or(0);
            let mut tile = EdgeTile::new(place.index);
            if width > 0 {
                tile.hashes = read(folder, place, width)?;
                tile.hashes.iter().for_each(|hash| tile.roots.push(*hash));
            }
            tiles.edge.push(tile);
        }
        Ok(tiles)
    }

    /// Returns the positions of the tiles that changed between two sizes, with the widths they had in between.
    pub(crate) fn changed_between(old: u64, new: u64) -> Vec<(TilePosition, RangeInclusive<usize>)> {
        let mut places = Vec::new();
        for level in 0.. {
            let count = |size: u64| size.checked_shr(TILE_HEIGHT * level).unwrap_or(0);
            if count(new) == 0 {
                break;
            }
            let width = TILE_WIDTH as u64;
            for index in count(old) / width..count(new).div_ceil(width) {
                let wide =
                    |count: u64| usize::try_from(count.saturating_sub(index * width).min(width)).unwrap_or(TILE_WIDTH);
                places.push((TilePosition { level: level as usize, index }, wide(count(old)) + 1..=wide(count(new))));
            }
        }
        places
    }

    /// Adds the hash of a record.
    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        for level in 0.. {
            if self.edge.len() == level {
                self.edge.push(EdgeTile::new(0));
            }
            let tile = &mut self.edge[level];
            tile.hashes.push(hash);
            tile.roots.push(hash);
            if tile.hashes.len() < TILE_WIDTH {
                return;
            }
            hash = tile.roots.root();
            let index = tile.index;
            let full = std::mem::replace(tile, EdgeTile::new(index + 1));
            self.full.push((TilePosition { level, index }, full.hashes));
        }
    }

    /// Returns how many records there are.
    pub(crate) fn size(&self) -> u64 {
        self.edge.first().map_or(0, |tile| tile.index * TILE_WIDTH as u64 + tile.hashes.len() as u64)
    }

    /// Returns the root of the tree.
    pub(crate) fn root(&self) -> Hash {
        let roots = self.edge.iter().flat_map(|tile| tile.roots.roots().iter().rev().copied());
        roots.reduce(|right, left| Hash::node(left, right)).unwrap_or_else(Hash::empty)
    }

    /// Takes the tiles that became full since the last call.
    pub(crate) fn take_full(&mut self) -> Vec<(TilePosition, Vec<Hash>)> {
        std::mem::take(&mut self.full)
    }

    /// Returns the partial tiles of the present tree.
    pub(crate) fn partial(&self) -> impl Iterator<Item = (TilePosition, &[Hash])> {
        let place = |(level, tile): (usize, &EdgeTile)| TilePosition { level, index: tile.index };
        let tiles = self.edge.iter().enumerate().filter(|(_, tile)| !tile.hashes.is_empty());
        tiles.map(move |entry| (place(entry), entry.1.hashes.as_slice()))
    }
}

impl EdgeTile {
    fn new(index: u64) -> EdgeTile {
        EdgeTile { index, hashes: Vec::with_capacity(TILE_WIDTH), roots: TreeEdge::default() }
    }
}

/// Returns the bytes of a tile.
pub(crate) fn encode_hashes(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

/// Reads the first hashes of a tile, from the full tile or any partial one that is wide enough.
pub(crate) fn read(folder: &Path, place: TilePosition, width: usize) -> Result<Vec<Hash>, LedgerError> {
    let path = find_tile_file(folder, place, width)?;
    let bytes = fs::read(&path).map_err(|error| LedgerError::file("read the tile", &path, error))?;
    if bytes.len() < width * 32 || bytes.len() % 32 != 0 {
        let message = format!("the tile has {} bytes, expected at least {}", bytes.len(), width * 32);
        return Err(LedgerFault { file: place.path_of_width(width), line: 0, index: None, message }.into());
    }
    let (hashes, _) = bytes.as_chunks::<32>();
    Ok(hashes.iter().take(width).map(|bytes| Hash(*bytes)).collect())
}

/// Returns the file of a tile with at least `width` hashes.
fn find_tile_file(folder: &Path, place: TilePosition, width: usize) -> Result<PathBuf, LedgerError> {
    let exact = folder.join(place.path_of_width(width));
    if exact.exists() {
        return Ok(exact);
    }
    let full = folder.join(place.path());
    if full.exists() {
        return Ok(full);
    }
    let wide = list_widths(&folder.join(place.partial_folder()))?.into_iter().find(|other| *other >= width);
    wide.map(|width| folder.join(place.path_of_width(width))).ok_or_else(|| {
        let file = place.path_of_width(width);
        LedgerFault { file, line: 0, index: None, message: "the tile is missing".to_owned() }.into()
    })
}

/// Returns the widths of the partial tiles in a folder, the smallest first.
pub(crate) fn list_widths(folder: &Path) -> Result<Vec<usize>, LedgerError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LedgerError::file("list", folder, error)),
    };
    let mut widths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| LedgerError::file("list", folder, error))?;
        widths.extend(entry.file_name().to_str().and_then(|name| name.parse::<usize>().ok()));
    }
    widths.sort_unstable();
    Ok(widths)
}

/// The hashes of a tree, read from its tiles.
#[derive(Debug)]
pub(crate) struct TileHashes<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) size: u64,
}

impl HashSource for TileHashes<'_> {
    fn hash(&mut self, height: u32, place: u64) -> Result<Hash, LedgerError> {
        let (level, above) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
        let first = place << above;
        let tile = TilePosition { level: level as usize, index: first >> TILE_HEIGHT };
        // How many complete subtrees of this level the tree has, and how many of them are in this tile.
        let there = (self.size >> (level * TILE_HEIGHT)) - (tile.index << TILE_HEIGHT);
        let width = usize::try_from(there).map_or(TILE_WIDTH, |there| there.min(TILE_WIDTH));
        let hashes = read(self.folder, tile, width)?;
        let from = usize::try_from(first % TILE_WIDTH as u64).unwrap_or(0);
        hashes.get(from..from + (1 << above)).map(combine_hashes).ok_or_else(|| {
            let file = tile.path_of_width(width);
            LedgerFault { file, line: 0, index: None, message: "the tile is too short".to_owned() }.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tile_paths_follow_the_standard() {
        let path = |level, index| TilePosition { level, index }.path();
        assert_eq!(path(0, 0), "tile/0/000");
        assert_eq!(path(1, 1_234_067), "tile/1/x001/x234/067");
        assert_eq!(TilePosition { level: 0, index: 1000 }.path_of_width(7), "tile/0/x001/000.p/7");
    }

    #[test]
    fn tile_edge_reads_back_at_every_size() {
        let folder = tempfile::tempdir().unwrap();
        let mut tiles = Tiles::default();
        let mut settled = 0;
        for size in 1..=66_000u64 {
            tiles.push(Hash::leaf(&size.to_be_bytes()));
            if size < 600 && size % 7 == 0 || size % 6553 == 0 || size.abs_diff(65_536) < 3 {
                let mut all = tiles.clone().full;
                all.extend(tiles.partial().map(|(place, hashes)| (place, hashes.to_vec())));
                let written = Tiles::changed_between(settled, size);
                let ends =
                    |place: TilePosition, width| written.iter().any(|(of, at)| *of == place && *at.end() == width);
                for (place, hashes) in all {
                    let is_same = settled >> (8 * place.level) == size >> (8 * place.level);
                    assert!(is_same || ends(place, hashes.len()), "{place:?} of {size}");
                    let path = folder.path().join(place.path_of_width(hashes.len()));
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, encode_hashes(&hashes)).unwrap();
                }
                let path = |place: &TilePosition, width| folder.path().join(place.path_of_width(width));
                assert!(written.iter().all(|(place, at)| at.is_empty() || path(place, *at.end()).exists()));
                let again = Tiles::load(folder.path(), size).unwrap();
                assert_eq!((again.size(), again.root()), (size, tiles.root()));
                tiles.take_full();
                settled = size;
            }
        }
    }

    #[test]
    fn tile_root_matches_tree_at_every_size() {
        let (mut tiles, mut edge) = (Tiles::default(), TreeEdge::default());
        for size in 0..70_000u64 {
            if size < 600 || size % 251 == 0 || size.abs_diff(65_536) < 3 {
                assert_eq!((tiles.size(), tiles.root()), (size, edge.root()));
            }
            let leaf = Hash::leaf(&size.to_be_bytes());
            tiles.push(leaf);
            edge.push(leaf);
        }
    }

    #[test]
    fn tile_counts_follow_the_standard() {
        let mut tiles = Tiles::default();
        (0..70_000u64).for_each(|index| tiles.push(Hash::leaf(&index.to_be_bytes())));
        let full = tiles.take_full();
        let of_level = |level| full.iter().filter(|(place, _)| place.level == level).count();
        assert_eq!([of_level(0), of_level(1), of_level(2)], [273, 1, 0]);
        let partial: Vec<(usize, u64, usize)> =
            tiles.partial().map(|(place, hashes)| (place.level, place.index, hashes.len())).collect();
        assert_eq!(partial, [(0, 273, 112), (1, 1, 17), (2, 0, 1)]);
    }
}

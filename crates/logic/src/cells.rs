//! Which bindings have a state of their own, and how to find them by some of their values.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

use crate::classes::ClassId;
use crate::probe::Binding;
use crate::term::Value;

/// The number of a stored binding.
pub(crate) type CellId = u32;

/// The stored bindings of one formula: their values and the class each belongs to.
///
/// A binding gives values to some variables; the others stand for every value that no stored binding gives them.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    width: usize,
    keys: Vec<Option<Value>>,
    classes: Vec<ClassId>,
    index: HashTable<Slot>,
    free: Vec<CellId>,
    /// For several variables: the cells of a mask, and those that agree on some of its variables.
    by_mask: FxHashMap<u32, Vec<CellId>>,
    by_part: FxHashMap<Part, Vec<CellId>>,
    /// The parts by which cells are looked up.
    parts: Vec<u32>,
}

/// A cell in the table. A whole number is its own tag, so that it is found without a look at the keys, which would be
/// one more miss of the processor's cache.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u64,
    cell: CellId,
    exact: bool,
}

/// The mask of a cell, and the values it has for some of its variables.
type Part = (u32, Box<[Option<Value>]>);

/// The tag of a binding, and whether it is the binding itself.
#[inline]
fn tag_of<'a>(mut values: impl ExactSizeIterator<Item = Option<&'a Value>>) -> (u64, bool) {
    if values.len() == 1 {
        return values.next().flatten().map_or((0, false), tag_of_value);
    }
    let mut hasher = FxHasher::default();
    for value in values {
        match value {
            Some(value) => value.hash(&mut hasher),
            None => hasher.write_u8(u8::MAX),
        }
    }
    (hasher.finish(), false)
}

#[inline]
fn tag_of_value(value: &Value) -> (u64, bool) {
    if let Value::Integer(integer) = value {
        return (*integer as u64, true);
    }
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    (hasher.finish(), false)
}

/// Spreads a tag over all bits.
#[inline]
fn spread(tag: u64) -> u64 {
    let product = u128::from(tag ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product >> 64) as u64 ^ product as u64
}

/// The variables that a binding gives values to, as bits.
pub(crate) fn mask_of(binding: &Binding) -> u32 {
    binding.iter().enumerate().fold(0, |mask, (index, value)| mask | u32::from(value.is_some()) << index)
}

/// The part of a binding for some variables.
pub(crate) fn part_of(binding: &Binding, mask: u32) -> Box<[Option<Value>]> {
    binding.iter().enumerate().map(|(index, value)| if mask >> index & 1 == 1 { value.clone() } else { None }).collect()
}

impl Cells {
    /// `parts` are the masks by which cells with more variables will be looked up.
    pub(crate) fn new(width: usize, parts: Vec<u32>) -> Cells {
        Cells {
            width,
            keys: Vec::new(),
            classes: Vec::new(),
            index: HashTable::new(),
            free: Vec::new(),
            by_mask: FxHashMap::default(),
            by_part: FxHashMap::default(),
            parts,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn key(&self, cell: CellId) -> &Binding {
        let start = cell as usize * self.width;
        &self.keys[start..start + self.width]
    }

    pub(crate) fn class(&self, cell: CellId) -> ClassId {
        self.classes[cell as usize]
    }

    pub(crate) fn assign(&mut self, cell: CellId, class: ClassId) {
        self.classes[cell as usize] = class;
    }

    pub(crate) fn find(&self, binding: &Binding) -> Option<CellId> {
        let (tag, exact) = tag_of(binding.iter().map(Option::as_ref));
        let is_it = |slot: &Slot| slot.tag == tag && slot.exact == exact && (exact || self.key(slot.cell) == binding);
        self.index.find(spread(tag), is_it).map(|slot| slot.cell)
    }

    /// For a single variable, without making a binding of the value.
    #[inline]
    pub(crate) fn find_value(&self, value: &Value) -> Option<CellId> {
        let (tag, exact) = tag_of_value(value);
        let is_it = |slot: &Slot| {
            slot.tag == tag && slot.exact == exact && (exact || self.keys[slot.cell as usize].as_ref() == Some(value))
        };
        self.index.find(spread(tag), is_it).map(|slot| slot.cell)
    }

    pub(crate) fn insert(&mut self, binding: &Binding, class: ClassId) -> CellId {
        let cell = match self.free.pop() {
            Some(cell) => {
                let start = cell as usize * self.width;
                self.keys[start..start + self.width].clone_from_slice(binding);
                self.classes[cell as usize] = class;
                cell
            }
            None => {
                self.keys.extend_from_slice(binding);
                self.classes.push(class);
                (self.classes.len() - 1) as CellId
            }
        };
        let (tag, exact) = tag_of(binding.iter().map(Option::as_ref));
        self.index.insert_unique(spread(tag), Slot { tag, cell, exact }, |slot| spread(slot.tag));
        if self.width > 1 {
            let mask = mask_of(binding);
            self.by_mask.entry(mask).or_default().push(cell);
            for part in self.parts.iter().filter(|part| **part & mask == **part && **part != mask) {
                self.by_part.entry((mask, part_of(binding, *part))).or_default().push(cell);
            }
        }
        cell
    }

    pub(crate) fn remove(&mut self, cell: CellId) {
        let key: Box<[Option<Value>]> = self.key(cell).into();
        let (tag, _) = tag_of(key.iter().map(Option::as_ref));
        if let Ok(entry) = self.index.find_entry(spread(tag), |slot| slot.cell == cell) {
            entry.remove();
        }
        if self.width > 1 {
            let mask = mask_of(&key);
            if let Some(list) = self.by_mask.get_mut(&mask) {
                list.retain(|other| *other != cell);
            }
            for part in self.parts.iter().filter(|part| **part & mask == **part && **part != mask) {
                if let Some(list) = self.by_part.get_mut(&(mask, part_of(&key, *part))) {
                    list.retain(|other| *other != cell);
                }
            }
        }
        let start = cell as usize * self.width;
        self.keys[start..start + self.width].fill(None);
        self.free.push(cell);
    }

    /// The cells with values for exactly the variables of `mask` that agree with a binding on the variables of `part`.
    pub(crate) fn agreeing(&self, mask: u32, part: u32, binding: &Binding) -> Vec<CellId> {
        if part == 0 {
            return self.by_mask.get(&mask).cloned().unwrap_or_default();
        }
        if part == mask {
            return self.find(&part_of(binding, mask)).into_iter().collect();
        }
        self.by_part.get(&(mask, part_of(binding, part))).cloned().unwrap_or_default()
    }

    /// The masks of stored bindings.
    pub(crate) fn masks(&self) -> Vec<u32> {
        if self.width == 1 {
            return if self.len() > 0 { vec![1] } else { Vec::new() };
        }
        self.by_mask.iter().filter(|(_, cells)| !cells.is_empty()).map(|(mask, _)| *mask).collect()
    }

    /// All cells.
    pub(crate) fn iter(&self) -> impl Iterator<Item = CellId> + '_ {
        self.index.iter().map(|slot| slot.cell)
    }
}

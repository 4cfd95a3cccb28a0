//! Which bindings have a state of their own, and how to find them by their values.
//!
//! With a million bindings every look-up misses the processor's cache, so the layout costs one miss only: open
//! addressing with linear probing, the class of a binding beside its tag. (A table with separate control bytes costs a
//! second miss that has to wait for the first.)

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::probe::Binding;
use crate::value::Value;

/// The number of a stored binding.
pub(crate) type CellId = u32;

/// The number of a class of bindings that move together.
pub(crate) type ClassId = u32;

const EMPTY_CELL: CellId = CellId::MAX;

/// The stored bindings of one formula: their values and the class each belongs to.
///
/// A binding gives values to some variables; the others mean every value that no stored binding gives them.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    width: usize,
    slots: Vec<CellSlot>,
    count: usize,
    keys: Vec<Option<Value>>,
    free: Vec<CellId>,
    /// For several variables: the cells of a mask, and those that agree on some of its variables.
    by_mask: FxHashMap<u32, Vec<CellId>>,
    by_part: FxHashMap<BindingPart, Vec<CellId>>,
    /// The masks by which cells are looked up.
    parts: Vec<u32>,
}

/// A slot of the table. A whole number is its own tag, so that it is found without reading the keys.
#[derive(Clone, Copy, Debug)]
struct CellSlot {
    tag: u64,
    cell: CellId,
    class: ClassId,
}

impl CellSlot {
    const FREE: CellSlot = CellSlot { tag: 0, cell: EMPTY_CELL, class: 0 };
}

/// The mask of a cell, and the values it has for some of its variables.
type BindingPart = (u32, Box<[Option<Value>]>);

/// Returns the tag of a binding; `true` if no other binding of the formula can have it.
#[inline]
fn binding_tag<'a>(mut values: impl ExactSizeIterator<Item = Option<&'a Value>>) -> (u64, bool) {
    if values.len() == 1 {
        return values.next().flatten().map_or((0, false), value_tag);
    }
    let mut hasher = FxHasher::default();
    for value in values {
        match value {
            Some(value) => value.hash(&mut hasher),
            None => hasher.write_u8(u8::MAX),
        }
    }
    (hasher.finish() | 1 << 63, false)
}

/// Returns the tag of a value: a number that is not negative is its own; all other tags have the highest bit set.
#[inline]
fn value_tag(value: &Value) -> (u64, bool) {
    match value {
        Value::Integer(integer) if *integer >= 0 => (*integer as u64, true),
        value => {
            let mut hasher = FxHasher::default();
            value.hash(&mut hasher);
            (hasher.finish() | 1 << 63, false)
        }
    }
}

/// Returns the variables that a binding gives values to, as bits.
pub(crate) fn binding_mask(binding: &Binding) -> u32 {
    binding.iter().enumerate().fold(0, |mask, (index, value)| mask | u32::from(value.is_some()) << index)
}

/// Returns the part of a binding for some variables.
pub(crate) fn binding_part(binding: &Binding, mask: u32) -> Box<[Option<Value>]> {
    binding.iter().enumerate().map(|(index, value)| if mask >> index & 1 == 1 { value.clone() } else { None }).collect()
}

/// Removes a cell from its list. It searches the latest first: those are removed most often.
fn remove_from_list<K: Eq + Hash>(lists: &mut FxHashMap<K, Vec<CellId>>, key: K, cell: CellId) {
    let Entry::Occupied(mut entry) = lists.entry(key) else { return };
    let list = entry.get_mut();
    if let Some(place) = list.iter().rposition(|other| *other == cell) {
        list.swap_remove(place);
    }
    if list.is_empty() {
        entry.remove();
    }
}

impl Cells {
    /// `parts` are the masks by which cells with more variables will be looked up.
    pub(crate) fn new(width: usize, parts: Vec<u32>) -> Cells {
        Cells {
            width,
            slots: Vec::new(),
            count: 0,
            keys: Vec::new(),
            free: Vec::new(),
            by_mask: FxHashMap::default(),
            by_part: FxHashMap::default(),
            parts,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns how many variables its bindings have.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn key(&self, cell: CellId) -> &Binding {
        let start = cell as usize * self.width;
        &self.keys[start..start + self.width]
    }

    /// Returns the index at which the search for a tag begins.
    #[inline]
    fn home_place(&self, tag: u64) -> usize {
        let product = u128::from(tag ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        ((product >> 64) as u64 ^ product as u64) as usize & (self.slots.len() - 1)
    }

    /// Returns the index of the slot that matches, if there is one.
    #[inline]
    fn find_place(&self, tag: u64, fits: impl Fn(CellId) -> bool) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut place = self.home_place(tag);
        loop {
            let slot = &self.slots[place];
            if slot.cell == EMPTY_CELL {
                return None;
            }
            if slot.tag == tag && fits(slot.cell) {
                return Some(place);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    fn cell_place(&self, cell: CellId) -> Option<usize> {
        let (tag, _) = binding_tag(self.key(cell).iter().map(Option::as_ref));
        self.find_place(tag, |other| other == cell)
    }

    pub(crate) fn class(&self, cell: CellId) -> ClassId {
        // INVARIANT: only cells that are stored are asked for.
        self.cell_place(cell).map_or(0, |place| self.slots[place].class)
    }

    pub(crate) fn assign(&mut self, cell: CellId, class: ClassId) {
        if let Some(place) = self.cell_place(cell) {
            self.slots[place].class = class;
        }
    }

    pub(crate) fn find(&self, binding: &Binding) -> Option<CellId> {
        let (tag, exact) = binding_tag(binding.iter().map(Option::as_ref));
        let place = self.find_place(tag, |cell| exact || self.key(cell) == binding)?;
        Some(self.slots[place].cell)
    }

    /// Returns the cell and class of a value, for a single variable, without building a binding.
    #[inline]
    pub(crate) fn find_value(&self, value: &Value) -> Option<(CellId, ClassId)> {
        let (tag, exact) = value_tag(value);
        let place = self.find_place(tag, |cell| exact || self.keys[cell as usize].as_ref() == Some(value))?;
        let slot = &self.slots[place];
        Some((slot.cell, slot.class))
    }

    /// Prefetches the slot of a value; the result has no meaning.
    #[inline]
    pub(crate) fn prefetch(&self, value: &Value) -> u64 {
        if self.slots.is_empty() {
            return 0;
        }
        self.slots[self.home_place(value_tag(value).0)].tag
    }

    pub(crate) fn insert(&mut self, binding: &Binding, class: ClassId) -> CellId {
        let cell = match self.free.pop() {
            Some(cell) => {
                let start = cell as usize * self.width;
                self.keys[start..start + self.width].clone_from_slice(binding);
                cell
            }
            None => {
                self.keys.extend_from_slice(binding);
                (self.keys.len() / self.width.max(1) - 1) as CellId
            }
        };
        // The table is at most three quarters full.
        if (self.count + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let (tag, _) = binding_tag(binding.iter().map(Option::as_ref));
        self.place_slot(CellSlot { tag, cell, class });
        self.count += 1;
        if self.width > 1 {
            let mask = binding_mask(binding);
            self.by_mask.entry(mask).or_default().push(cell);
            for part in self.parts.iter().filter(|part| **part & mask == **part && **part != mask) {
                self.by_part.entry((mask, binding_part(binding, *part))).or_default().push(cell);
            }
        }
        cell
    }

    fn place_slot(&mut self, slot: CellSlot) {
        let mut place = self.home_place(slot.tag);
        while self.slots[place].cell != EMPTY_CELL {
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = slot;
    }

    fn grow(&mut self) {
        let larger = vec![CellSlot::FREE; (self.slots.len() * 2).max(8)];
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot.cell != EMPTY_CELL {
                self.place_slot(slot);
            }
        }
    }

    pub(crate) fn remove(&mut self, cell: CellId) {
        let Some(mut hole) = self.cell_place(cell) else { return };
        let key: Box<[Option<Value>]> = self.key(cell).into();
        self.count -= 1;
        // Slots that the removed one displaced move back towards their home.
        let mask = self.slots.len() - 1;
        let mut place = (hole + 1) & mask;
        while self.slots[place].cell != EMPTY_CELL {
            let home = self.home_place(self.slots[place].tag);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[place];
                hole = place;
            }
            place = (place + 1) & mask;
        }
        self.slots[hole] = CellSlot::FREE;
        if self.width > 1 {
            let mask = binding_mask(&key);
            remove_from_list(&mut self.by_mask, mask, cell);
            for part in self.parts.iter().filter(|part| **part & mask == **part && **part != mask) {
                remove_from_list(&mut self.by_part, (mask, binding_part(&key, *part)), cell);
            }
        }
        let start = cell as usize * self.width;
        self.keys[start..start + self.width].fill(None);
        self.free.push(cell);
    }

    /// Returns the cells with values for exactly the variables of `mask` that agree with a binding on those of `part`.
    pub(crate) fn find_agreeing(&self, mask: u32, part: u32, binding: &Binding) -> Vec<CellId> {
        if part == 0 {
            return self.by_mask.get(&mask).cloned().unwrap_or_default();
        }
        if part == mask {
            return self.find(&binding_part(binding, mask)).into_iter().collect();
        }
        self.by_part.get(&(mask, binding_part(binding, part))).cloned().unwrap_or_default()
    }

    /// Returns as how many rows of a table the bindings count: with several variables each is in several indexes.
    pub(crate) fn rows(&self) -> usize {
        const ROWS_PER_INDEXED_VARIABLE: usize = 4;
        match self.width {
            0 | 1 => self.count,
            width => self.count.saturating_mul(width * ROWS_PER_INDEXED_VARIABLE),
        }
    }

    /// Returns the masks of stored bindings.
    pub(crate) fn masks(&self) -> Vec<u32> {
        if self.width == 1 {
            return if self.count > 0 { vec![1] } else { Vec::new() };
        }
        self.by_mask.keys().copied().collect()
    }

    /// Returns all cells.
    pub(crate) fn iter(&self) -> impl Iterator<Item = CellId> + '_ {
        self.slots.iter().filter(|slot| slot.cell != EMPTY_CELL).map(|slot| slot.cell)
    }
}

//! One table: rows, and how to find them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::aggregate_table::{AggregateTable, SavedAggregateTable};
use super::key_table::{KeyTable, MIN_PREFETCH_KEYS, hash_key};
use super::plan::{TableKind, TablePlan};
use super::row::{Row, RowStamp, RowValues};
use super::stamp::Stamp;
use crate::interval::{Interval, Span};
use crate::measure::Quantity;
use crate::value::Value;

/// Rows, and how to find them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) interval: Interval,
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    by_values: KeyTable,
    indexes: Vec<RowIndex>,
    /// The stamps of rows, for tables with an upper bound.
    queue: VecDeque<(Stamp, u32)>,
    pub(super) gathered: Option<Box<AggregateTable>>,
    /// Possible rows, with their known values.
    doubts: VecDeque<(Stamp, PartialRow)>,
    pub(super) is_full: bool,
}

/// Rows by the values in some columns; those that agree form a chain.
#[derive(Clone, Debug)]
struct RowIndex {
    /// The columns, as bits.
    mask: u32,
    first: KeyTable,
    /// For each row the next one of its chain, or [`END_OF_CHAIN`].
    next: Vec<u32>,
}

const END_OF_CHAIN: u32 = u32::MAX;

/// A possible row: the values of its columns, as far as they are known.
pub(super) type PartialRow = Vec<Option<Value>>;

/// The most partial rows of a table; beyond that, the last one matches any values.
const MAX_PARTIAL_ROWS: usize = 256;

/// A row as data: its values and its stamps.
type SavedRow = (Vec<Value>, Vec<RowStamp>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTable {
    rows: Vec<SavedRow>,
    gathered: Option<SavedAggregateTable>,
    doubts: Vec<(Stamp, PartialRow)>,
    is_full: bool,
}

impl SavedTable {
    pub(super) fn is_empty(&self) -> bool {
        *self == SavedTable::default()
    }
}

impl RowIndex {
    fn find<'v>(&self, rows: &[Option<Row>], key: impl Iterator<Item = &'v Value> + Clone) -> Option<u32> {
        self.first.find(hash_key(key.clone()), |place| {
            rows[place as usize].as_ref().is_some_and(|row| column_values(&row.values, self.mask).eq(key.clone()))
        })
    }
}

impl Table {
    pub(super) fn new(plan: &TablePlan) -> Table {
        let interval = plan.interval();
        let gathered = match &plan.kind {
            TableKind::Gather { kind, group, .. } => Some(Box::new(AggregateTable::new(*kind, interval, *group))),
            _ => None,
        };
        let index = |mask: &u32| RowIndex { mask: *mask, first: KeyTable::default(), next: Vec::new() };
        Table {
            interval,
            rows: Vec::new(),
            free: Vec::new(),
            by_values: KeyTable::default(),
            indexes: plan.indexes.iter().map(index).collect(),
            queue: VecDeque::new(),
            gathered,
            doubts: VecDeque::new(),
            is_full: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_values.len() + self.gathered.as_ref().map_or(0, |gathered| gathered.len())
    }

    /// Whether the bound has a lower end, which a later occurrence reaches later than an earlier one.
    fn needs_older(&self) -> bool {
        !matches!(self.interval, Interval::Steps { from: 0, .. } | Interval::Time { from: Span(0), .. })
    }

    /// Returns the partial rows within the bound.
    pub(super) fn partial_rows(&self, now: Stamp) -> impl Iterator<Item = &PartialRow> {
        let within = move |(stamp, _): &&(Stamp, PartialRow)| stamp.is_within(self.interval, now);
        self.doubts.iter().filter(within).map(|(_, doubt)| doubt)
    }

    /// Adds a possible row of which some values are unknown.
    pub(super) fn add_partial_row(&mut self, doubt: PartialRow, now: Stamp) {
        // A row that an earlier one stands for adds nothing, as long as the earlier one stays.
        let is_covered_by =
            |other: &PartialRow| other.iter().zip(&doubt).all(|(other, value)| other.is_none() || other == value);
        let is_lasting = !self.interval.has_end() && !self.needs_older();
        if is_lasting && self.doubts.iter().any(|(_, other)| is_covered_by(other)) {
            return;
        }
        if self.doubts.len() < MAX_PARTIAL_ROWS {
            self.doubts.push_back((now, doubt));
        } else if let Some((stamp, last)) = self.doubts.back_mut() {
            last.fill(None);
            *stamp = now;
        }
    }

    /// Prefetches the rows of these hashes. Each step is done for all hashes at once, so that they wait for memory
    /// together. Only look-ups by a single value benefit.
    pub(super) fn prefetch(&self, hashes: &[u32]) -> u64 {
        let mut prefetch = self.gathered.as_ref().map_or(0, |gathered| gathered.prefetch(hashes));
        for index in
            self.indexes.iter().filter(|index| index.mask.count_ones() == 1 && index.first.len() >= MIN_PREFETCH_KEYS)
        {
            prefetch = hashes.iter().fold(prefetch, |sum, hash| sum.wrapping_add(index.first.prefetch(*hash)));
            let mut places: Vec<u32> = hashes.iter().filter_map(|hash| index.first.guess(*hash)).collect();
            for _ in 0..2 {
                for place in &mut places {
                    let row = self.rows[*place as usize].as_ref();
                    prefetch = prefetch.wrapping_add(row.map_or(0, |row| u64::from(row.is_doubtful())));
                    *place = Some(index.next[*place as usize]).filter(|next| *next != END_OF_CHAIN).unwrap_or(*place);
                }
            }
        }
        prefetch
    }

    /// Returns the aggregate of a group.
    pub(super) fn quantity<'v>(&self, group: impl Iterator<Item = &'v Value> + Clone, now: Stamp) -> Quantity {
        // The first columns of a row are the group.
        let concerns = |doubt: &PartialRow| {
            doubt.iter().zip(group.clone()).all(|(known, value)| known.as_ref().is_none_or(|it| it == value))
        };
        match &self.gathered {
            Some(gathered) if self.doubts.is_empty() || !self.partial_rows(now).any(concerns) => {
                gathered.quantity(group)
            }
            _ => Quantity::Unknown,
        }
    }

    /// Returns all rows, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.rows.iter().enumerate().filter_map(|(place, row)| Some((place as u32, row.as_ref()?)))
    }

    pub(super) fn row(&self, place: u32) -> Option<&Row> {
        self.rows[place as usize].as_ref()
    }

    /// Returns the places of the rows with these values in these columns, at least one.
    pub(super) fn find_rows<'v>(&self, key: impl Iterator<Item = &'v Value> + Clone, mask: u32) -> RowPlaces<'_> {
        match self.indexes.iter().find(|index| index.mask == mask) {
            Some(index) => RowPlaces { next: index.find(&self.rows, key), links: &index.next },
            // Without an index, the mask is all columns.
            None => RowPlaces { next: self.find_row(key), links: &[] },
        }
    }

    /// Returns the place of the row with these values.
    fn find_row<'v>(&self, key: impl Iterator<Item = &'v Value> + Clone) -> Option<u32> {
        self.by_values.find(hash_key(key.clone()), |place| {
            self.rows[place as usize].as_ref().is_some_and(|row| row.values.iter().eq(key.clone()))
        })
    }

    /// Makes a row only possible.
    pub(super) fn mark_row_possible(&mut self, place: u32) {
        self.rows[place as usize].iter_mut().for_each(Row::make_possible);
    }

    pub(super) fn add(&mut self, values: RowValues, made: RowStamp) {
        if let Some(gathered) = &mut self.gathered {
            gathered.add(&values, made);
            return;
        }
        let place = match self.find_row(values.iter()) {
            Some(place) => {
                let needs_older = self.needs_older();
                if let Some(row) = &mut self.rows[place as usize] {
                    row.add(made, needs_older);
                }
                place
            }
            None => self.insert(Row::new(values, made)),
        };
        if self.interval.has_end() {
            self.queue.push_back((made.0, place));
        }
    }

    fn insert(&mut self, row: Row) -> u32 {
        let place = self.free.pop().unwrap_or(self.rows.len() as u32);
        if place as usize == self.rows.len() {
            if self.rows.is_empty() {
                // Many tables never have a second row.
                self.rows.reserve_exact(1);
            }
            self.rows.push(None);
            self.indexes.iter_mut().for_each(|index| index.next.push(END_OF_CHAIN));
        }
        self.by_values.insert(hash_key(row.values.iter()), place);
        for index in &mut self.indexes {
            let hash = hash_key(column_values(&row.values, index.mask));
            let first = index.find(&self.rows, column_values(&row.values, index.mask));
            match first {
                Some(first) => index.first.replace(hash, first, place),
                None => index.first.insert(hash, place),
            }
            index.next[place as usize] = first.unwrap_or(END_OF_CHAIN);
        }
        self.rows[place as usize] = Some(row);
        place
    }

    pub(super) fn remove(&mut self, place: u32) {
        let Some(row) = &self.rows[place as usize] else { return };
        self.by_values.remove(hash_key(row.values.iter()), place);
        for index in &mut self.indexes {
            let hash = hash_key(column_values(&row.values, index.mask));
            let next = std::mem::replace(&mut index.next[place as usize], END_OF_CHAIN);
            match index.find(&self.rows, column_values(&row.values, index.mask)) {
                Some(first) if first == place && next == END_OF_CHAIN => index.first.remove(hash, place),
                Some(first) if first == place => index.first.replace(hash, place, next),
                first => {
                    let mut before = first.unwrap_or(END_OF_CHAIN);
                    while before != END_OF_CHAIN && index.next[before as usize] != place {
                        before = index.next[before as usize];
                    }
                    if before != END_OF_CHAIN {
                        index.next[before as usize] = next;
                    }
                }
            }
        }
        self.rows[place as usize] = None;
        self.free.push(place);
    }

    /// Removes the rows that a bound will never reach again.
    pub(super) fn expire(&mut self, now: Stamp) {
        while self.doubts.front().is_some_and(|(stamp, _)| stamp.is_over(self.interval, now)) {
            self.doubts.pop_front();
        }
        if let Some(gathered) = &mut self.gathered {
            gathered.expire(now);
        }
        while let Some((stamp, place)) = self.queue.front().copied() {
            if !stamp.is_over(self.interval, now) {
                return;
            }
            self.queue.pop_front();
            let interval = self.interval;
            if self.rows[place as usize].as_mut().is_some_and(|row| row.expire(interval, now)) {
                self.remove(place);
            }
        }
    }

    /// Drops all rows: the limit was exceeded.
    pub(super) fn drop_rows(&mut self) {
        self.rows = Vec::new();
        self.free = Vec::new();
        self.by_values = KeyTable::default();
        self.indexes.iter_mut().for_each(|index| (index.first, index.next) = (KeyTable::default(), Vec::new()));
        self.queue = VecDeque::new();
        self.doubts = VecDeque::new();
        self.gathered = None;
        self.is_full = true;
    }

    pub(super) fn save(&self) -> SavedTable {
        let mut rows: Vec<SavedRow> =
            self.iter().map(|(_, row)| (row.values.to_vec(), row.times().collect())).collect();
        // Sorted, so that equal pasts give equal data.
        rows.sort();
        let gathered = self.gathered.as_ref().map(|gathered| gathered.save());
        SavedTable { rows, gathered, doubts: self.doubts.iter().cloned().collect(), is_full: self.is_full }
    }

    /// Returns the table from data; none if the data does not fit the plan.
    pub(super) fn load(plan: &TablePlan, saved: &SavedTable) -> Option<Table> {
        let mut table = Table::new(plan);
        let mut stamps: Vec<(Stamp, u32)> = Vec::new();
        for (values, times) in &saved.rows {
            if values.len() != plan.columns.len() {
                return None;
            }
            let place = table.insert(Row::from_stamps(values.iter().cloned().collect(), times)?);
            stamps.extend(times.iter().map(|(stamp, _)| (*stamp, place)));
        }
        stamps.sort_unstable();
        if table.interval.has_end() {
            table.queue = stamps.into();
        }
        (table.doubts, table.is_full) = (saved.doubts.iter().cloned().collect(), saved.is_full);
        match (&mut table.gathered, &saved.gathered) {
            (Some(gathered), Some(saved)) => gathered.load(saved)?,
            (gathered, None) => *gathered = None,
            (None, Some(_)) => return None,
        }
        Some(table)
    }
}

/// The places of rows that agree.
#[derive(Clone, Debug)]
pub(super) struct RowPlaces<'t> {
    next: Option<u32>,
    /// For each row the next one; empty if there is only one.
    links: &'t [u32],
}

impl Iterator for RowPlaces<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let place = self.next?;
        self.next = self.links.get(place as usize).copied().filter(|next| *next != END_OF_CHAIN);
        Some(place)
    }
}

/// Returns the values in some columns.
fn column_values(values: &[Value], mask: u32) -> impl Iterator<Item = &Value> + Clone {
    values.iter().enumerate().filter(move |(column, _)| mask >> column & 1 == 1).map(|(_, value)| value)
}

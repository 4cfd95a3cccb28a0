//! One table: rows, and how to find them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::gather::{Gathered, SavedGathered};
use super::keys::{Keys, hash_of};
use super::plan::{TableKind, TablePlan};
use super::row::{Made, Row, Values};
use super::store::Stamp;
use crate::interval::{Interval, Span};
use crate::measure::Quantity;
use crate::term::Value;

/// Rows, and how to find them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) interval: Interval,
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    by_values: Keys,
    indexes: Vec<Index>,
    /// When rows were made, for those that a bound lets go.
    queue: VecDeque<(Stamp, u32)>,
    pub(super) gathered: Option<Gathered>,
    /// Rows that there may be, with the values that are known of them.
    doubts: VecDeque<(Stamp, Doubt)>,
    pub(super) is_full: bool,
}

/// Rows by the values in some columns: those that agree are a chain.
#[derive(Clone, Debug)]
struct Index {
    /// The columns, as bits.
    mask: u32,
    first: Keys,
    /// For each row the next one of its chain, [`NONE`] at the end.
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// A row that there may be: the values of its columns, as far as they are known.
pub(super) type Doubt = Vec<Option<Value>>;

/// How many different doubts a table keeps apart; beyond that, anything may be.
const MOST_DOUBTS: usize = 256;

/// From how many keys on a table is larger than the caches near the processor.
pub(super) const MANY: usize = 10_000;

/// A row as data: its values, when it was made, and whether that is only possible.
type SavedRow = (Vec<Value>, Vec<Made>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedTable {
    rows: Vec<SavedRow>,
    gathered: Option<SavedGathered>,
    doubts: Vec<(Stamp, Doubt)>,
    is_full: bool,
}

impl Index {
    fn find<'v>(&self, rows: &[Option<Row>], key: impl Iterator<Item = &'v Value> + Clone) -> Option<u32> {
        self.first.find(hash_of(key.clone()), |place| {
            rows[place as usize].as_ref().is_some_and(|row| part(&row.values, self.mask).eq(key.clone()))
        })
    }
}

impl Table {
    pub(super) fn new(plan: &TablePlan) -> Table {
        let interval = match &plan.kind {
            TableKind::Once(interval) | TableKind::Since(interval, _) | TableKind::Gather { interval, .. } => *interval,
            TableKind::Previous => Interval::Steps { from: 1, to: Some(1) },
        };
        let gathered = match &plan.kind {
            TableKind::Gather { kind, interval, group } => Some(Gathered::new(*kind, *interval, *group)),
            _ => None,
        };
        let index = |mask: &u32| Index { mask: *mask, first: Keys::default(), next: Vec::new() };
        Table {
            interval,
            rows: Vec::new(),
            free: Vec::new(),
            by_values: Keys::default(),
            indexes: plan.indexes.iter().map(index).collect(),
            queue: VecDeque::new(),
            gathered,
            doubts: VecDeque::new(),
            is_full: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_values.len() + self.gathered.as_ref().map_or(0, Gathered::len)
    }

    /// The rows that there may be within the bound.
    pub(super) fn doubts(&self, now: Stamp) -> impl Iterator<Item = &Doubt> {
        let within = move |(stamp, _): &&(Stamp, Doubt)| stamp.is_within(self.interval, now);
        self.doubts.iter().filter(within).map(|(_, doubt)| doubt)
    }

    /// Notes that there may be a row.
    pub(super) fn doubt(&mut self, doubt: Doubt, now: Stamp) {
        if self.doubts.len() < MOST_DOUBTS {
            self.doubts.push_back((now, doubt));
        } else if let Some((stamp, last)) = self.doubts.back_mut() {
            last.fill(None);
            *stamp = now;
        }
    }

    /// Brings near what values of these hashes will be looked up for, all steps of the way for all of them at once, so
    /// that they wait for memory together. Only look-ups by a single value are helped.
    pub(super) fn warm(&self, hashes: &[u32]) -> u64 {
        let mut warmth = self.gathered.as_ref().map_or(0, |gathered| gathered.warm(hashes));
        for index in self.indexes.iter().filter(|index| index.mask.count_ones() == 1 && index.first.len() >= MANY) {
            warmth = hashes.iter().fold(warmth, |sum, hash| sum.wrapping_add(index.first.warm(*hash)));
            let mut places: Vec<u32> = hashes.iter().filter_map(|hash| index.first.guess(*hash)).collect();
            for _ in 0..2 {
                for place in &mut places {
                    let row = self.rows[*place as usize].as_ref();
                    warmth = warmth.wrapping_add(row.map_or(0, |row| u64::from(row.is_doubtful())));
                    *place = Some(index.next[*place as usize]).filter(|next| *next != NONE).unwrap_or(*place);
                }
            }
        }
        warmth
    }

    /// What the happenings of a group add up to.
    pub(super) fn quantity<'v>(&self, group: impl Iterator<Item = &'v Value> + Clone, now: Stamp) -> Quantity {
        // The group comes first in a row.
        let concerns = |doubt: &Doubt| {
            doubt.iter().zip(group.clone()).all(|(known, value)| known.as_ref().is_none_or(|it| it == value))
        };
        match &self.gathered {
            Some(gathered) if self.doubts.is_empty() || !self.doubts(now).any(concerns) => gathered.quantity(group),
            _ => Quantity::Unknown,
        }
    }

    /// All rows, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.rows.iter().enumerate().filter_map(|(place, row)| Some((place as u32, row.as_ref()?)))
    }

    pub(super) fn row(&self, place: u32) -> Option<&Row> {
        self.rows[place as usize].as_ref()
    }

    /// The places of the rows that have these values in these columns, which must be some.
    pub(super) fn places<'v>(&self, key: impl Iterator<Item = &'v Value> + Clone, mask: u32) -> Places<'_> {
        match self.indexes.iter().find(|index| index.mask == mask) {
            Some(index) => Places { next: index.find(&self.rows, key), links: &index.next },
            // Without an index it is all columns.
            None => Places { next: self.place(key), links: &[] },
        }
    }

    /// The place of the row with these values.
    fn place<'v>(&self, key: impl Iterator<Item = &'v Value> + Clone) -> Option<u32> {
        self.by_values.find(hash_of(key.clone()), |place| {
            self.rows[place as usize].as_ref().is_some_and(|row| row.values.iter().eq(key.clone()))
        })
    }

    /// It is only possible that a row is still there.
    pub(super) fn doubt_row(&mut self, place: u32) {
        self.rows[place as usize].iter_mut().for_each(Row::doubt);
    }

    pub(super) fn add(&mut self, values: Values, made: Made) {
        if let Some(gathered) = &mut self.gathered {
            gathered.add(&values, made);
            return;
        }
        let place = match self.place(values.iter()) {
            Some(place) => {
                let needs_older =
                    !matches!(self.interval, Interval::Steps { from: 0, .. } | Interval::Time { from: Span(0), .. });
                if let Some(row) = &mut self.rows[place as usize] {
                    row.add(made, needs_older);
                }
                place
            }
            None => self.insert(Row::new(values, made)),
        };
        if is_bounded(self.interval) {
            self.queue.push_back((made.0, place));
        }
    }

    fn insert(&mut self, row: Row) -> u32 {
        let place = self.free.pop().unwrap_or(self.rows.len() as u32);
        if place as usize == self.rows.len() {
            self.rows.push(None);
            self.indexes.iter_mut().for_each(|index| index.next.push(NONE));
        }
        self.by_values.insert(hash_of(row.values.iter()), place);
        for index in &mut self.indexes {
            let hash = hash_of(part(&row.values, index.mask));
            let first = index.find(&self.rows, part(&row.values, index.mask));
            match first {
                Some(first) => index.first.replace(hash, first, place),
                None => index.first.insert(hash, place),
            }
            index.next[place as usize] = first.unwrap_or(NONE);
        }
        self.rows[place as usize] = Some(row);
        place
    }

    pub(super) fn remove(&mut self, place: u32) {
        let Some(row) = &self.rows[place as usize] else { return };
        self.by_values.remove(hash_of(row.values.iter()), place);
        for index in &mut self.indexes {
            let hash = hash_of(part(&row.values, index.mask));
            let next = std::mem::replace(&mut index.next[place as usize], NONE);
            match index.find(&self.rows, part(&row.values, index.mask)) {
                Some(first) if first == place && next == NONE => index.first.remove(hash, place),
                Some(first) if first == place => index.first.replace(hash, place, next),
                first => {
                    let mut before = first.unwrap_or(NONE);
                    while before != NONE && index.next[before as usize] != place {
                        before = index.next[before as usize];
                    }
                    if before != NONE {
                        index.next[before as usize] = next;
                    }
                }
            }
        }
        self.rows[place as usize] = None;
        self.free.push(place);
    }

    /// Lets go what a bound will never reach again.
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

    /// Gives all rows up.
    pub(super) fn fill(&mut self) {
        self.rows = Vec::new();
        self.free = Vec::new();
        self.by_values = Keys::default();
        self.indexes.iter_mut().for_each(|index| (index.first, index.next) = (Keys::default(), Vec::new()));
        self.queue = VecDeque::new();
        self.doubts = VecDeque::new();
        self.gathered = None;
        self.is_full = true;
    }

    pub(super) fn save(&self) -> SavedTable {
        let mut rows: Vec<SavedRow> =
            self.iter().map(|(_, row)| (row.values.to_vec(), row.times().collect())).collect();
        // The same past gives the same data, whatever order a table keeps.
        rows.sort();
        let gathered = self.gathered.as_ref().map(Gathered::save);
        SavedTable { rows, gathered, doubts: self.doubts.iter().cloned().collect(), is_full: self.is_full }
    }

    /// None if the data is not of this plan.
    pub(super) fn load(plan: &TablePlan, saved: &SavedTable) -> Option<Table> {
        let mut table = Table::new(plan);
        let mut stamps: Vec<(Stamp, u32)> = Vec::new();
        for (values, times) in &saved.rows {
            if values.len() != plan.columns.len() {
                return None;
            }
            let place = table.insert(Row::of(values.iter().cloned().collect(), times)?);
            stamps.extend(times.iter().map(|(stamp, _)| (*stamp, place)));
        }
        stamps.sort_unstable();
        if is_bounded(table.interval) {
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
pub(super) struct Places<'t> {
    next: Option<u32>,
    /// For each row the next; none where there is only one.
    links: &'t [u32],
}

impl Iterator for Places<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let place = self.next?;
        self.next = self.links.get(place as usize).copied().filter(|next| *next != NONE);
        Some(place)
    }
}

/// The values in some columns.
fn part(values: &[Value], mask: u32) -> impl Iterator<Item = &Value> + Clone {
    values.iter().enumerate().filter(move |(column, _)| mask >> column & 1 == 1).map(|(_, value)| value)
}

/// Does a bound have an upper end?
pub(super) fn is_bounded(interval: Interval) -> bool {
    matches!(interval, Interval::Steps { to: Some(_), .. } | Interval::Time { to: Some(_), .. })
}

//! The tables of one trace: rows stay as long as a query can need them.

use serde::{Deserialize, Serialize};

use super::key_table::hash_key;
use super::plan::{RowEnding, TableKind, TablePlan};
use super::row::{Row, RowValues};
use super::solve::{PositionFacts, Solver};
use super::table::{MIN_PREFETCH_KEYS, PartialRow, SavedTable, Table};
use super::{DataMonitor, MAX_DATA_SLOTS};
use crate::interval::{Interval, Time};
use crate::term::Value;

/// The position and time of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) position: u64,
    pub(crate) time: Time,
}

impl Stamp {
    /// Whether it is within a bound, seen from a later stamp.
    pub(super) fn is_within(self, interval: Interval, now: Stamp) -> bool {
        let steps = u32::try_from(now.position - self.position).unwrap_or(u32::MAX);
        interval.contains(steps, now.time.since(self.time))
    }

    /// Whether it will never be within a bound again.
    pub(super) fn is_over(self, interval: Interval, now: Stamp) -> bool {
        match interval {
            Interval::Steps { to: Some(to), .. } => now.position - self.position > u64::from(to),
            Interval::Time { to: Some(to), .. } => now.time.since(self.time) > to,
            Interval::Steps { to: None, .. } | Interval::Time { to: None, .. } => false,
        }
    }
}

/// The past of one trace, as far as one formula needs it.
#[derive(Clone, Debug)]
pub(crate) struct DataStore {
    pub(super) tables: Vec<Table>,
    /// Whether it exceeded its limit: every position is unknown from then on.
    pub(super) is_full: bool,
    most: usize,
    /// The last position at which it is unknown whether the formula is violated.
    pub(super) untold: Option<u64>,
    /// A buffer of rows, and whether each is only possible; empty between positions.
    made: Vec<(RowValues, bool)>,
}

impl DataStore {
    pub(super) fn new(plans: &[TablePlan], most: usize) -> DataStore {
        DataStore {
            tables: plans.iter().map(Table::new).collect(),
            is_full: false,
            most,
            untold: None,
            made: Vec::new(),
        }
    }

    /// Whether it exceeded its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether it is unknown if the last position that was read violates the formula.
    pub(crate) fn is_undetermined(&self, position: u64) -> bool {
        self.untold == Some(position)
    }

    /// Returns how many rows and occurrences are kept.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Prefetches the rows that these values will look up.
    pub(crate) fn prefetch(&self, values: &[&Value]) -> u64 {
        if self.tables.iter().all(|table| table.len() < MIN_PREFETCH_KEYS) {
            return 0;
        }
        let hashes: Vec<u32> = values.iter().map(|value| hash_key(std::iter::once(*value))).collect();
        self.tables.iter().fold(0, |sum, table| sum.wrapping_add(table.prefetch(&hashes)))
    }

    /// Updates the tables by a position, inner ones first.
    pub(super) fn advance(&mut self, data: &DataMonitor, present: PositionFacts<'_>, now: Stamp) {
        let mut made = std::mem::take(&mut self.made);
        for (place, plan) in data.tables.iter().enumerate() {
            self.tables[place].expire(now);
            if let TableKind::Since(_, endings) = &plan.kind {
                self.end_rows(place, endings, present, now);
            }
            let mut doubts: Vec<PartialRow> = Vec::new();
            Solver::new(self, present, now).run(&plan.body, &mut [None; MAX_DATA_SLOTS], &mut |env, maybe| {
                let row: Option<RowValues> = plan.columns.iter().map(|slot| env[*slot].cloned()).collect();
                match row {
                    Some(row) => made.push((row, maybe)),
                    None => doubts.push(plan.columns.iter().map(|slot| env[*slot].cloned()).collect()),
                }
                false
            });
            let table = &mut self.tables[place];
            doubts.into_iter().for_each(|doubt| table.add_partial_row(doubt, now));
            // Equal values are one occurrence; a certain one is sorted before a possible one.
            if made.len() > 1 {
                made.sort_unstable();
                made.dedup_by(|later, earlier| later.0 == earlier.0);
            }
            made.drain(..).for_each(|(row, maybe)| table.add(row, (now, maybe)));
        }
        self.made = made;
        if self.len() > self.most {
            self.is_full = true;
            self.tables.iter_mut().for_each(Table::drop_rows);
        }
    }

    /// Removes the rows of a `since` whose left side does not hold here.
    fn end_rows(&mut self, place: usize, endings: &[RowEnding], present: PositionFacts<'_>, now: Stamp) {
        for ending in endings {
            let mut env = [None; MAX_DATA_SLOTS];
            let mut solver = Solver::new(self, present, now);
            // The rows to remove, and whether that is only possible.
            let mut ended: Vec<(u32, bool)> = Vec::new();
            let table = &self.tables[place];
            match ending {
                RowEnding::By { plan: by, columns, index } => {
                    solver.run(by, &mut env, &mut |env, maybe| {
                        let key = columns.iter().map(|slot| env[*slot]);
                        if columns.is_empty() || key.clone().any(|value| value.is_none()) {
                            // If a value of the ending is unknown, the end is only possible.
                            let is_open = maybe || !columns.is_empty();
                            let agrees = |row: &Row| {
                                columns.iter().all(|slot| env[*slot].is_none_or(|value| *value == row.values[*slot]))
                            };
                            let agreeing = table.iter().filter(|(_, row)| agrees(row));
                            ended.extend(agreeing.map(|(place, _)| (place, is_open)));
                        } else {
                            ended.extend(table.find_rows(key.flatten(), *index).map(|row| (row, maybe)));
                        }
                        false
                    });
                }
                RowEnding::Unless(unless) => {
                    for (place, row) in table.iter() {
                        for (slot, value) in env.iter_mut().zip(row.values.iter()) {
                            *slot = Some(value);
                        }
                        match solver.ask(unless, &mut env) {
                            Some(true) => {}
                            Some(false) => ended.push((place, false)),
                            None => ended.push((place, true)),
                        }
                        env[..row.values.len()].fill(None);
                    }
                }
            }
            let table = &mut self.tables[place];
            ended.sort_unstable();
            ended.dedup_by(|later, earlier| later.0 == earlier.0);
            for (row, maybe) in ended {
                if maybe { table.mark_row_possible(row) } else { table.remove(row) }
            }
        }
    }
}

/// A store, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedDataStore {
    tables: Vec<SavedTable>,
    is_full: bool,
}

impl DataStore {
    pub(crate) fn save(&self) -> SavedDataStore {
        SavedDataStore { tables: self.tables.iter().map(Table::save).collect(), is_full: self.is_full }
    }

    /// Returns the store from data; none if the data is not of this formula.
    pub(crate) fn load(data: &DataMonitor, saved: &SavedDataStore, most: usize) -> Option<DataStore> {
        let mut store = DataStore::new(&data.tables, most);
        if saved.tables.len() != store.tables.len() {
            return None;
        }
        store.is_full = saved.is_full;
        let tables = data.tables.iter().zip(&saved.tables);
        store.tables = tables.map(|(plan, saved)| Table::load(plan, saved)).collect::<Option<_>>()?;
        Some(store)
    }
}

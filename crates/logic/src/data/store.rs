//! The tables of one trace: rows stay as long as a query can need them.

use serde::{Deserialize, Serialize};

use super::DataMonitor;
use super::key_table::{MIN_PREFETCH_KEYS, hash_key};
use super::plan::TablePlan;
use super::row::RowValues;
use super::table::{SavedTable, Table};
use crate::value::Value;
use crate::work::Work;

/// The past of one trace, as far as one formula needs it.
#[derive(Clone, Debug)]
pub(crate) struct DataStore {
    /// The tables of the formula, by their numbers. A table of rows is none before its first row: most traces never have
    /// one in most tables.
    pub(super) tables: Box<[Option<Box<Table>>]>,
    /// Whether it exceeded its limit: every position is unknown from then on.
    pub(super) is_full: bool,
    /// The most rows and occurrences that it keeps.
    pub(super) most: usize,
    /// What the present position has looked at.
    pub(super) work: Work,
    /// The last position at which it is unknown whether the formula is violated.
    pub(super) undetermined_at: Option<u64>,
}

/// Buffers that every position reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataScratch {
    /// Rows, and whether each is only possible; empty between positions.
    pub(super) made: Vec<(RowValues, bool)>,
}

impl DataStore {
    pub(super) fn new(plans: &[TablePlan], most: usize) -> DataStore {
        // The aggregate of a group without occurrences depends on its kind, which the table knows.
        let table = |plan: &TablePlan| plan.is_aggregate().then(|| Box::new(Table::new(plan)));
        DataStore {
            tables: plans.iter().map(table).collect(),
            is_full: false,
            most,
            work: Work::default(),
            undetermined_at: None,
        }
    }

    /// Stops keeping the past: a limit was exceeded.
    pub(super) fn stop(&mut self) {
        self.is_full = true;
        self.tables.iter_mut().flatten().for_each(|table| table.drop_rows());
    }

    /// Whether it exceeded its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether it is unknown if the last position that was read violates the formula.
    pub(crate) fn is_undetermined(&self, position: u64) -> bool {
        self.undetermined_at == Some(position)
    }

    /// Returns the work of the present position.
    pub(crate) fn work_spent(&self) -> u64 {
        self.work.spent()
    }

    /// Returns how many rows and occurrences are kept.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().flatten().map(|table| table.len()).sum()
    }

    /// Prefetches the rows that these values will look up.
    pub(crate) fn prefetch(&self, values: &[&Value]) -> u64 {
        if self.tables.iter().flatten().all(|table| table.len() < MIN_PREFETCH_KEYS) {
            return 0;
        }
        let hashes: Vec<u32> = values.iter().map(|value| hash_key(std::iter::once(*value))).collect();
        self.tables.iter().flatten().fold(0, |sum, table| sum.wrapping_add(table.prefetch(&hashes)))
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
        let save = |table: &Option<Box<Table>>| table.as_deref().map_or_else(SavedTable::default, Table::save);
        SavedDataStore { tables: self.tables.iter().map(save).collect(), is_full: self.is_full }
    }

    /// Returns the store from data; none if the data is not of this formula.
    pub(crate) fn load(data: &DataMonitor, saved: &SavedDataStore, most: usize) -> Option<DataStore> {
        let mut store = DataStore::new(&data.tables, most);
        if saved.tables.len() != store.tables.len() {
            return None;
        }
        store.is_full = saved.is_full;
        let tables = data.tables.iter().zip(&saved.tables);
        let load = |(plan, saved): (&TablePlan, &SavedTable)| match saved.is_empty() && !plan.is_aggregate() {
            true => Some(None),
            false => Some(Some(Box::new(Table::load(plan, saved)?))),
        };
        store.tables = tables.map(load).collect::<Option<_>>()?;
        Some(store)
    }
}

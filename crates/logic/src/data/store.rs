//! Tables of what happened, as long as an answer can still need it.

use serde::{Deserialize, Serialize};

use super::keys::hash_of;
use super::plan::{Ending, TableKind, TablePlan};
use super::row::{Row, Values};
use super::solve::{Present, Solver};
use super::table::{Doubt, MANY, SavedTable, Table};
use super::{Data, MOST_SLOTS};
use crate::interval::{Interval, Time};
use crate::term::Value;

/// When something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) position: u64,
    pub(crate) time: Time,
}

impl Stamp {
    /// Is it within a bound, seen from later?
    pub(super) fn is_within(self, interval: Interval, now: Stamp) -> bool {
        let steps = u32::try_from(now.position - self.position).unwrap_or(u32::MAX);
        interval.contains(steps, now.time.since(self.time))
    }

    /// Will it never be within a bound again?
    pub(super) fn is_over(self, interval: Interval, now: Stamp) -> bool {
        match interval {
            Interval::Steps { to: Some(to), .. } => now.position - self.position > u64::from(to),
            Interval::Time { to: Some(to), .. } => now.time.since(self.time) > to,
            Interval::Steps { to: None, .. } | Interval::Time { to: None, .. } => false,
        }
    }
}

/// The past of one trace, as far as one property asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(super) tables: Vec<Table>,
    /// There was more than there is room for: nothing can be told any more.
    pub(super) is_full: bool,
    most: usize,
    /// The last position of which nobody can tell whether it breaks the formula.
    pub(super) untold: Option<u64>,
    /// Rows to work with, and whether each is only possible; empty between positions.
    made: Vec<(Values, bool)>,
}

impl Store {
    pub(super) fn new(plans: &[TablePlan], most: usize) -> Store {
        Store { tables: plans.iter().map(Table::new).collect(), is_full: false, most, untold: None, made: Vec::new() }
    }

    /// Whether there was more than there is room for.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether nobody can tell if a position, the last one that was read, breaks the formula.
    pub(crate) fn is_untold(&self, position: u64) -> bool {
        self.untold == Some(position)
    }

    /// How many rows and happenings are kept.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Brings near what these values will be looked up for.
    pub(crate) fn warm(&self, values: &[&Value]) -> u64 {
        if self.tables.iter().all(|table| table.len() < MANY) {
            return 0;
        }
        let hashes: Vec<u32> = values.iter().map(|value| hash_of(std::iter::once(*value))).collect();
        self.tables.iter().fold(0, |sum, table| sum.wrapping_add(table.warm(&hashes)))
    }

    /// Takes in a position: those inside of others first.
    pub(super) fn advance(&mut self, data: &Data, present: Present<'_>, now: Stamp) {
        let mut made = std::mem::take(&mut self.made);
        for (place, plan) in data.tables.iter().enumerate() {
            self.tables[place].expire(now);
            if let TableKind::Since(_, endings) = &plan.kind {
                self.end_rows(place, endings, present, now);
            }
            let mut doubts: Vec<Doubt> = Vec::new();
            Solver::new(self, present, now).run(&plan.body, &mut [None; MOST_SLOTS], &mut |env, maybe| {
                let row: Option<Values> = plan.columns.iter().map(|slot| env[*slot].cloned()).collect();
                match row {
                    Some(row) => made.push((row, maybe)),
                    None => doubts.push(plan.columns.iter().map(|slot| env[*slot].cloned()).collect()),
                }
                false
            });
            let table = &mut self.tables[place];
            doubts.into_iter().for_each(|doubt| table.doubt(doubt, now));
            // The same values in another way are the same happening; a certain one stands before a possible one.
            if made.len() > 1 {
                made.sort_unstable();
                made.dedup_by(|later, earlier| later.0 == earlier.0);
            }
            made.drain(..).for_each(|(row, maybe)| table.add(row, (now, maybe)));
        }
        self.made = made;
        if self.len() > self.most {
            self.is_full = true;
            self.tables.iter_mut().for_each(Table::fill);
        }
    }

    /// Takes out the rows of a `since` whose left side does not hold here.
    fn end_rows(&mut self, place: usize, endings: &[Ending], present: Present<'_>, now: Stamp) {
        for ending in endings {
            let mut env = [None; MOST_SLOTS];
            let mut solver = Solver::new(self, present, now);
            // The rows that end, and whether that is only possible.
            let mut ended: Vec<(u32, bool)> = Vec::new();
            let table = &self.tables[place];
            match ending {
                Ending::By { plan: by, columns, index } => {
                    solver.run(by, &mut env, &mut |env, maybe| {
                        let key = columns.iter().map(|slot| env[*slot]);
                        if columns.is_empty() || key.clone().any(|value| value.is_none()) {
                            // Where not all is known of what may end them, it is only possible that it does.
                            let is_open = maybe || !columns.is_empty();
                            let agrees = |row: &Row| {
                                columns.iter().all(|slot| env[*slot].is_none_or(|value| *value == row.values[*slot]))
                            };
                            let agreeing = table.iter().filter(|(_, row)| agrees(row));
                            ended.extend(agreeing.map(|(place, _)| (place, is_open)));
                        } else {
                            ended.extend(table.places(key.flatten(), *index).map(|row| (row, maybe)));
                        }
                        false
                    });
                }
                Ending::Unless(unless) => {
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
                if maybe { table.doubt_row(row) } else { table.remove(row) }
            }
        }
    }
}

/// The past, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedStore {
    tables: Vec<SavedTable>,
    is_full: bool,
}

impl Store {
    pub(crate) fn save(&self) -> SavedStore {
        SavedStore { tables: self.tables.iter().map(Table::save).collect(), is_full: self.is_full }
    }

    /// None if the data is not of this property.
    pub(crate) fn load(data: &Data, saved: &SavedStore, most: usize) -> Option<Store> {
        let mut store = Store::new(&data.tables, most);
        if saved.tables.len() != store.tables.len() {
            return None;
        }
        store.is_full = saved.is_full;
        let tables = data.tables.iter().zip(&saved.tables);
        store.tables = tables.map(|(plan, saved)| Table::load(plan, saved)).collect::<Option<_>>()?;
        Some(store)
    }
}

//! Tables of what happened, as long as an answer can still need it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Data;
use super::gather::{Gathered, SavedGathered};
use super::plan::{Ending, TableKind, TablePlan};
use super::solve::{Env, Present, Solver};
use crate::interval::{Interval, Time};
use crate::measure::Quantity;
use crate::term::Value;

/// How many rows and happenings one property of one trace may keep.
pub(crate) const MOST_ROWS: usize = 4_000_000;

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
    /// Slots to work with; empty between positions.
    env: Env,
}

/// Rows by the values in some columns.
type Index = FxHashMap<Box<[Value]>, Vec<u32>>;

/// A row as data: its values, when it was made, and whether that is only possible.
type SavedRow = (Vec<Value>, Vec<(Stamp, bool)>);

/// Rows, and how to find them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) interval: Interval,
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    by_values: FxHashMap<Box<[Value]>, u32>,
    /// For each set of columns, the rows by the values in them.
    indexes: Vec<(u32, Index)>,
    /// When rows were made, for those that a bound lets go.
    queue: VecDeque<(Stamp, u32)>,
    pub(super) gathered: Option<Gathered>,
    /// Rows that there may be, with the values that are known of them.
    doubts: VecDeque<(Stamp, Doubt)>,
    pub(super) is_full: bool,
}

/// A row that there may be: the values of its columns, as far as they are known.
type Doubt = Vec<Option<Value>>;

/// How many different doubts a table keeps apart; beyond that, anything may be.
const MOST_DOUBTS: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) values: Box<[Value]>,
    /// When it was made: the last time, and those before it that a lower end of a bound still needs; and whether that is
    /// only possible.
    stamps: VecDeque<(Stamp, bool)>,
}

impl Row {
    /// Whether it is only possible that it is within a bound; none if it is not at all.
    pub(super) fn within(&self, interval: Interval, now: Stamp) -> Option<bool> {
        let within = self.stamps.iter().filter(|(stamp, _)| stamp.is_within(interval, now));
        within.map(|(_, maybe)| *maybe).min()
    }
}

impl Store {
    pub(super) fn new(plans: &[TablePlan]) -> Store {
        Store { tables: plans.iter().map(Table::new).collect(), is_full: false, most: MOST_ROWS, env: Vec::new() }
    }

    /// How many rows and happenings are kept.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Slots to work with, at least so many.
    pub(super) fn slots(&mut self, count: usize) -> Env {
        let mut env = std::mem::take(&mut self.env);
        if env.len() < count {
            env.resize(count, None);
        }
        env
    }

    /// Takes slots back, which must be as they were given.
    pub(super) fn put_back(&mut self, env: Env) {
        self.env = env;
    }

    /// Takes in a position: those inside of others first.
    pub(super) fn advance(&mut self, data: &Data, present: Present<'_>, now: Stamp) {
        let most = data.tables.iter().map(|plan| plan.slots).max().unwrap_or(0);
        let mut env = self.slots(most);
        let mut made: Vec<(Box<[Value]>, bool)> = Vec::new();
        for (place, plan) in data.tables.iter().enumerate() {
            self.tables[place].expire(now);
            if let TableKind::Since(_, endings) = &plan.kind {
                self.end_rows(place, endings, present, now, &mut env);
            }
            let mut doubts: Vec<Doubt> = Vec::new();
            Solver::new(self, present, now).run(&plan.body, &mut env, &mut |env, maybe| {
                let row: Option<Box<[Value]>> = plan.columns.iter().map(|slot| env[*slot].clone()).collect();
                match row {
                    Some(row) => made.push((row, maybe)),
                    None => doubts.push(plan.columns.iter().map(|slot| env[*slot].clone()).collect()),
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
            made.drain(..).for_each(|(row, maybe)| table.add(row, now, maybe));
        }
        self.put_back(env);
        if self.len() > self.most {
            self.is_full = true;
            self.tables.iter_mut().for_each(Table::clear);
        }
    }

    /// Takes out the rows of a `since` whose left side does not hold here.
    fn end_rows(&mut self, place: usize, endings: &[Ending], present: Present<'_>, now: Stamp, env: &mut Env) {
        for ending in endings {
            let mut solver = Solver::new(self, present, now);
            // The rows that end, and whether that is only possible.
            let mut ended: Vec<(u32, bool)> = Vec::new();
            let table = &self.tables[place];
            match ending {
                Ending::By { plan: by, columns, index } => {
                    solver.run(by, env, &mut |env, maybe| {
                        let key: Option<Vec<Value>> = columns.iter().map(|slot| env[*slot].clone()).collect();
                        match key {
                            Some(key) => ended.extend(table.places(&key, *index).map(|row| (row, maybe))),
                            // Not all is known of what may end them.
                            None => {
                                let agrees = |values: &[Value]| {
                                    columns
                                        .iter()
                                        .all(|slot| env[*slot].as_ref().is_none_or(|value| *value == values[*slot]))
                                };
                                ended.extend(table.iter().filter(|(_, row)| agrees(row)).map(|(row, _)| (row, true)));
                            }
                        }
                        false
                    });
                }
                Ending::Unless(unless) => {
                    for (row, values) in table.iter() {
                        for (slot, value) in env.iter_mut().zip(values.iter()) {
                            *slot = Some(value.clone());
                        }
                        match solver.ask(unless, env) {
                            Some(true) => {}
                            Some(false) => ended.push((row, false)),
                            None => ended.push((row, true)),
                        }
                        env[..values.len()].fill(None);
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedTable {
    rows: Vec<SavedRow>,
    gathered: Option<SavedGathered>,
    doubts: Vec<(Stamp, Doubt)>,
    is_full: bool,
}

impl Store {
    pub(crate) fn save(&self) -> SavedStore {
        let table = |table: &Table| {
            let rows = table.rows.iter().flatten();
            let mut rows: Vec<SavedRow> =
                rows.map(|row| (row.values.to_vec(), row.stamps.iter().copied().collect())).collect();
            rows.sort();
            let gathered = table.gathered.as_ref().map(Gathered::save);
            SavedTable { rows, gathered, doubts: table.doubts.iter().cloned().collect(), is_full: table.is_full }
        };
        SavedStore { tables: self.tables.iter().map(table).collect(), is_full: self.is_full }
    }

    /// None if the data is not of this property.
    pub(crate) fn load(data: &Data, saved: &SavedStore) -> Option<Store> {
        let mut store = Store::new(&data.tables);
        if saved.tables.len() != store.tables.len() {
            return None;
        }
        store.is_full = saved.is_full;
        for ((table, plan), saved) in store.tables.iter_mut().zip(&data.tables).zip(&saved.tables) {
            let mut stamps: Vec<(Stamp, u32)> = Vec::new();
            for (values, times) in &saved.rows {
                if values.len() != plan.columns.len() || times.is_empty() {
                    return None;
                }
                let place = table.insert(values.clone().into());
                stamps.extend(times.iter().map(|(stamp, _)| (*stamp, place)));
                if let Some(row) = &mut table.rows[place as usize] {
                    row.stamps = times.iter().copied().collect();
                }
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
        }
        Some(store)
    }
}

impl Table {
    fn new(plan: &TablePlan) -> Table {
        let interval = match &plan.kind {
            TableKind::Once(interval) | TableKind::Since(interval, _) | TableKind::Gather { interval, .. } => *interval,
            TableKind::Previous => Interval::Steps { from: 1, to: Some(1) },
        };
        let gathered = match &plan.kind {
            TableKind::Gather { kind, interval, group } => Some(Gathered::new(*kind, *interval, *group)),
            _ => None,
        };
        Table {
            interval,
            rows: Vec::new(),
            free: Vec::new(),
            by_values: FxHashMap::default(),
            indexes: plan.indexes.iter().map(|mask| (*mask, FxHashMap::default())).collect(),
            queue: VecDeque::new(),
            gathered,
            doubts: VecDeque::new(),
            is_full: false,
        }
    }

    fn len(&self) -> usize {
        self.by_values.len() + self.gathered.as_ref().map_or(0, Gathered::len)
    }

    /// The rows that there may be within the bound.
    pub(super) fn doubts(&self, now: Stamp) -> impl Iterator<Item = &Doubt> {
        let within = move |(stamp, _): &&(Stamp, Doubt)| stamp.is_within(self.interval, now);
        self.doubts.iter().filter(within).map(|(_, doubt)| doubt)
    }

    /// Notes that there may be a row.
    fn doubt(&mut self, doubt: Doubt, now: Stamp) {
        if self.doubts.len() < MOST_DOUBTS {
            self.doubts.push_back((now, doubt));
        } else if let Some((stamp, last)) = self.doubts.back_mut() {
            last.fill(None);
            *stamp = now;
        }
    }

    pub(super) fn gathered(&self, group: &[Value], now: Stamp) -> Quantity {
        // The group comes first in a row.
        let concerns =
            |doubt: &Doubt| doubt.iter().zip(group).all(|(known, value)| known.as_ref().is_none_or(|it| it == value));
        match &self.gathered {
            Some(gathered) if !self.doubts(now).any(concerns) => gathered.quantity(group, now),
            _ => Quantity::Unknown,
        }
    }

    /// All rows.
    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().flatten()
    }

    /// The rows that have these values in these columns.
    pub(super) fn rows(&self, key: &[Value], mask: u32) -> impl Iterator<Item = &Row> {
        self.places(key, mask).filter_map(|place| self.rows[place as usize].as_ref())
    }

    fn places(&self, key: &[Value], mask: u32) -> impl Iterator<Item = u32> {
        let index = self.indexes.iter().find(|(index, _)| *index == mask);
        let of_index = index.and_then(|(_, index)| index.get(key)).into_iter().flatten().copied();
        // Without an index it is all columns, or none.
        let whole = if index.is_none() && mask != 0 { self.by_values.get(key).copied() } else { None };
        let all = (mask == 0).then(|| self.by_values.values().copied());
        of_index.chain(whole).chain(all.into_iter().flatten())
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &Box<[Value]>)> {
        self.by_values.iter().map(|(values, row)| (*row, values))
    }

    /// It is only possible that a row is still there.
    fn doubt_row(&mut self, place: u32) {
        if let Some(row) = &mut self.rows[place as usize] {
            row.stamps.iter_mut().for_each(|(_, maybe)| *maybe = true);
        }
    }

    fn add(&mut self, values: Box<[Value]>, now: Stamp, maybe: bool) {
        if let Some(gathered) = &mut self.gathered {
            gathered.add(&values, now, maybe);
            return;
        }
        let place = match self.by_values.get(&values) {
            Some(place) => *place,
            None => self.insert(values),
        };
        let needs_older = !matches!(
            self.interval,
            Interval::Steps { from: 0, .. } | Interval::Time { from: crate::interval::Span(0), .. }
        );
        if let Some(row) = &mut self.rows[place as usize] {
            // What is certain now outlasts whatever was before.
            if !needs_older && !maybe {
                row.stamps.clear();
            }
            row.stamps.push_back((now, maybe));
        }
        if is_bounded(self.interval) {
            self.queue.push_back((now, place));
        }
    }

    fn insert(&mut self, values: Box<[Value]>) -> u32 {
        let row = Row { values: values.clone(), stamps: VecDeque::new() };
        let place = match self.free.pop() {
            Some(place) => {
                self.rows[place as usize] = Some(row);
                place
            }
            None => {
                self.rows.push(Some(row));
                (self.rows.len() - 1) as u32
            }
        };
        for (mask, index) in &mut self.indexes {
            index.entry(part(&values, *mask)).or_default().push(place);
        }
        self.by_values.insert(values, place);
        place
    }

    fn remove(&mut self, place: u32) {
        let Some(row) = self.rows[place as usize].take() else { return };
        self.by_values.remove(&row.values);
        for (mask, index) in &mut self.indexes {
            let key = part(&row.values, *mask);
            if let Some(places) = index.get_mut(&key) {
                places.retain(|other| *other != place);
                if places.is_empty() {
                    index.remove(&key);
                }
            }
        }
        self.free.push(place);
    }

    /// Lets go what a bound will never reach again.
    fn expire(&mut self, now: Stamp) {
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
            if let Some(row) = &mut self.rows[place as usize] {
                while row.stamps.front().is_some_and(|(stamp, _)| stamp.is_over(interval, now)) {
                    row.stamps.pop_front();
                }
                if row.stamps.is_empty() {
                    self.remove(place);
                }
            }
        }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.free.clear();
        self.by_values.clear();
        self.indexes.iter_mut().for_each(|(_, index)| index.clear());
        self.queue.clear();
        self.doubts.clear();
        self.gathered = None;
        self.is_full = true;
    }
}

/// Does a bound have an upper end?
pub(super) fn is_bounded(interval: Interval) -> bool {
    matches!(interval, Interval::Steps { to: Some(_), .. } | Interval::Time { to: Some(_), .. })
}

fn part(values: &[Value], mask: u32) -> Box<[Value]> {
    let of_mask = values.iter().enumerate().filter(|(column, _)| mask >> column & 1 == 1);
    of_mask.map(|(_, value)| value.clone()).collect()
}

//! Updates the tables of a trace by the facts of a position.

use super::plan::{RowEnding, TableKind};
use super::row::{Row, RowValues};
use super::solve::{PositionFacts, Solver};
use super::stamp::Stamp;
use super::store::DataStore;
use super::table::{PartialRow, Table};
use super::{DataMonitor, MAX_DATA_SLOTS};

impl DataStore {
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

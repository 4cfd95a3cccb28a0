//! Updates the tables of a trace by the facts of a position.

use super::plan::{RowEnding, TableKind};
use super::row::{Row, RowValues};
use super::solve::{PositionFacts, SlotValues, Solver};
use super::stamp::Stamp;
use super::store::{DataScratch, DataStore};
use super::table::{PartialRow, Table};
use super::{DataMonitor, with_slots};

impl DataStore {
    /// Updates the tables by a position, inner ones first.
    pub(super) fn advance(
        &mut self,
        data: &DataMonitor,
        present: PositionFacts<'_>,
        now: Stamp,
        DataScratch { made }: &mut DataScratch,
    ) {
        let mut has_grown = false;
        for (place, plan) in data.tables.iter().enumerate() {
            if let Some(table) = &mut self.tables[place] {
                // Without an upper bound nothing ever expires.
                if table.interval.has_end() || plan.is_aggregate() {
                    table.expire(now);
                }
                if let TableKind::Since(_, endings) = &plan.kind {
                    self.end_rows(data.slots, place, endings, present, now);
                }
            }
            if !plan.body.may_answer(present.names) {
                continue;
            }
            let mut doubts: Vec<PartialRow> = Vec::new();
            let mut solver = Solver::new(self, present, now, self.work);
            with_slots(data.slots, |slots| {
                solver.run(&plan.body.steps, slots, &mut |env, maybe| {
                    let row: Option<RowValues> = plan.columns.iter().map(|slot| env[*slot].cloned()).collect();
                    match row {
                        Some(row) => made.push((row, maybe)),
                        None => doubts.push(plan.columns.iter().map(|slot| env[*slot].cloned()).collect()),
                    }
                    false
                })
            });
            let work = solver.work;
            self.work = work;
            if work.is_exceeded() {
                made.clear();
                return self.stop();
            }
            if made.is_empty() && doubts.is_empty() {
                continue;
            }
            has_grown = true;
            let table = self.tables[place].get_or_insert_with(|| Box::new(Table::new(plan)));
            doubts.into_iter().for_each(|doubt| table.add_partial_row(doubt, now));
            // Equal values are one occurrence; a certain one is sorted before a possible one.
            if made.len() > 1 {
                made.sort_unstable();
                made.dedup_by(|later, earlier| later.0 == earlier.0);
            }
            made.drain(..).for_each(|(row, maybe)| table.add(row, (now, maybe)));
        }
        if self.work.is_exceeded() || has_grown && self.len() > self.most {
            self.stop();
        }
    }

    /// Removes the rows of a `since` whose left side does not hold here.
    fn end_rows(&mut self, slots: usize, place: usize, endings: &[RowEnding], present: PositionFacts<'_>, now: Stamp) {
        for ending in endings {
            if matches!(ending, RowEnding::By { plan, .. } if !plan.may_answer(present.names)) {
                continue;
            }
            let Some(table) = &self.tables[place] else { return };
            let (mut ended, work) = with_slots(slots, |env| {
                let mut solver = Solver::new(self, present, now, self.work);
                (find_ended(ending, table, &mut solver, env), solver.work)
            });
            self.work = work;
            if work.is_exceeded() {
                return;
            }
            ended.sort_unstable();
            ended.dedup_by(|later, earlier| later.0 == earlier.0);
            let Some(table) = &mut self.tables[place] else { return };
            for (row, maybe) in ended {
                if maybe { table.mark_row_possible(row) } else { table.remove(row) }
            }
        }
    }
}

/// Returns the rows that an ending removes, and whether that is only possible.
fn find_ended<'a>(
    ending: &'a RowEnding,
    table: &'a Table,
    solver: &mut Solver<'a>,
    env: &mut SlotValues<'a>,
) -> Vec<(u32, bool)> {
    let mut ended: Vec<(u32, bool)> = Vec::new();
    match ending {
        RowEnding::By { plan, columns, index } => {
            solver.run(&plan.steps, env, &mut |env, maybe| {
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
                if solver.work.is_exceeded() {
                    break;
                }
                for (slot, value) in env.iter_mut().zip(row.values.iter()) {
                    *slot = Some(value);
                }
                match solver.ask(unless, env) {
                    Some(true) => {}
                    Some(false) => ended.push((place, false)),
                    None => ended.push((place, true)),
                }
                env[..row.values.len()].fill(None);
            }
        }
    }
    ended
}

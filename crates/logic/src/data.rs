//! Formulas about data: values that meet at different positions, and aggregates of them.
//!
//! An example is the four-eyes principle: two persons other than the payer must have approved a payment.
//!
//! ```text
//! always forall c, u. (pays(c,u) -> exists a, b. (once approves(c,a) & once approves(c,b) & a != b & a != u & b != u))
//! ```
//!
//! One state for each value cannot decide this, because `a` and `b` come from facts at earlier positions. So each
//! position is queried for the values that violate the formula there. Tables keep the past: they grow by the facts of
//! each position and drop rows that no query can need again. A query starts from the facts of the position and looks up
//! the rows that share values with them. Only a part without shared values scans its whole table.
//!
//! [`form`] pushes negations inwards, [`plan`] orders the steps so that every variable has a value before it is
//! compared, or names the one that has none; [`store`] keeps the [`table`]s, [`update`] updates them by a position;
//! [`solve`] answers queries.

mod aggregate_table;
mod form;
mod key_table;
mod plan;
mod row;
mod solve;
mod stamp;
mod store;
mod table;
mod update;

use std::sync::Arc;

use crate::arena::{Arena, Node};
use crate::compile_error::CompileError;
use crate::formula::{Formula, Quantifier};
use crate::interval::Time;
use crate::scope::{has_measure, is_wide};
use crate::sentence::Sentence;
use crate::value::Value;
use crate::work::Work;
use form::FormBuilder;
pub(crate) use plan::name_bit;
use plan::{Planner, Query, QueryPlan, QueryStep, TablePlan};
pub(crate) use solve::{FactSource, PositionFacts};
use solve::{SlotValues, Solver};
use stamp::Stamp;
pub(crate) use store::{DataScratch, DataStore, SavedDataStore};

/// The most variables of a formula, those of each quantifier and aggregate counted separately.
const MAX_DATA_SLOTS: usize = 64;

/// The number of variables that most formulas do not exceed.
const FEW_DATA_SLOTS: usize = 8;

/// Calls a function with so many empty slots, or more. Emptying all possible slots would take most of a query's time.
fn with_slots<'a, R>(count: usize, work: impl FnOnce(&mut SlotValues<'a>) -> R) -> R {
    match count <= FEW_DATA_SLOTS {
        true => work(&mut [None; FEW_DATA_SLOTS]),
        false => work(&mut [None; MAX_DATA_SLOTS]),
    }
}

/// A compiled formula about data.
#[derive(Debug)]
pub(crate) struct DataMonitor {
    /// The facts it asks for.
    pub(crate) names: Vec<Arc<str>>,
    /// The variables whose values are reported with a violation, and their slots.
    pub(crate) variables: Vec<Arc<str>>,
    reported: Vec<usize>,
    /// The formula as written.
    pub(crate) sentence: Sentence,
    /// The tables, inner ones before those that use them.
    tables: Vec<TablePlan>,
    /// The query for the values that violate it.
    broken: Query,
    /// How many variables its queries have at most.
    slots: usize,
    /// Whether it must read every position, not only those with a fact it asks for.
    pub(crate) sees_all: bool,
}

/// The effect of a position on a formula about data.
#[derive(Debug, Default)]
pub(crate) struct DataOutcome {
    /// The values for which it is violated here.
    pub(crate) broken: Vec<Vec<Option<Value>>>,
    /// Whether it is unknown if the formula is violated here.
    pub(crate) is_unknown: bool,
}

impl DataMonitor {
    /// Compiles a formula of the shape `G f`, with `f` about the past and the present; none for other shapes.
    pub(crate) fn new(arena: &Arena, formula: Formula) -> Result<Option<DataMonitor>, CompileError> {
        let Some((variables, body)) = arena.invariant(formula) else { return Ok(None) };
        let mut forms = FormBuilder::new(arena);
        let reported: Vec<usize> = variables.iter().map(|name| forms.bind(name)).collect();
        let broken = forms.build_form(body, false)?;
        if forms.slots > MAX_DATA_SLOTS {
            return Err(CompileError::new(
                format!("the formula has {} variables, at most {MAX_DATA_SLOTS} are possible", forms.slots),
                "split it into several formulas",
            ));
        }
        let (names, slots) = (forms.names, forms.slots);
        let mut planner = Planner::new(forms.spelt);
        let broken = planner.plan(&broken, &mut Default::default())?;
        let tables = planner.tables;
        let sees_all = !asks_position(&broken) || tables.iter().any(TablePlan::sees_all);
        let sentence = Sentence { arena: arena.clone(), formula };
        let broken = Query::new(broken);
        Ok(Some(DataMonitor { names, variables, reported, sentence, tables, broken, slots, sees_all }))
    }

    /// Returns the store of a trace before its first position, with a limit on rows.
    pub(crate) fn start(&self, most: usize) -> DataStore {
        DataStore::new(&self.tables, most)
    }

    /// Reads a position. Beyond `most_work` the past is dropped, and every later position is unknown.
    pub(crate) fn read(
        &self,
        store: &mut DataStore,
        present: PositionFacts<'_>,
        position: u64,
        time: Time,
        most_work: u64,
        scratch: &mut DataScratch,
    ) -> DataOutcome {
        let now = Stamp { position, time };
        store.work = Work::within(most_work);
        if store.is_full {
            store.undetermined_at = Some(position);
            return DataOutcome { is_unknown: true, broken: Vec::new() };
        }
        store.advance(self, present, now, scratch);
        if !store.is_full && !self.broken.may_answer(present.names) {
            return DataOutcome::default();
        }
        let mut solver = Solver::new(store, present, now, store.work);
        let (mut broken, mut is_possible) = (Vec::new(), false);
        with_slots(self.slots, |slots| {
            solver.run(&self.broken.steps, slots, &mut |env, maybe| {
                is_possible |= maybe;
                if !maybe {
                    broken.push(self.reported.iter().map(|slot| env[*slot].cloned()).collect::<Vec<_>>());
                }
                false
            })
        });
        // Certain answers stay certain beside possible ones.
        let (mut is_doubtful, work) = (solver.is_doubtful, solver.work);
        store.work = work;
        if work.is_exceeded() && !store.is_full {
            store.stop();
            is_doubtful = true;
        }
        if is_doubtful {
            broken.clear();
        }
        broken.sort();
        broken.dedup();
        let is_unknown = broken.is_empty() && (is_possible || is_doubtful);
        store.undetermined_at = is_unknown.then_some(position);
        DataOutcome { is_unknown, broken }
    }
}

/// Whether a formula needs tables: it counts, or chooses values across positions.
pub(crate) fn needs_data(arena: &Arena, f: Formula) -> bool {
    has_measure(arena, f) || has_wide_exists(arena, f, true)
}

fn has_wide_exists(arena: &Arena, f: Formula, positive: bool) -> bool {
    match &arena[f] {
        Node::Not(g) => has_wide_exists(arena, *g, !positive),
        Node::Implies(left, right) => {
            has_wide_exists(arena, *left, !positive) || has_wide_exists(arena, *right, positive)
        }
        Node::Quantified(kind, variables, body) => {
            let is_exists = (*kind == Quantifier::Exists) == positive;
            (is_exists && is_wide(arena, *kind, variables, *body)) || has_wide_exists(arena, *body, positive)
        }
        Node::Iff(..) => false,
        node => node.operands().iter().any(|operand| has_wide_exists(arena, *operand, positive)),
    }
}

/// Whether every answer begins with a fact of the position.
fn asks_position(plan: &QueryPlan) -> bool {
    plan.iter().any(|step| match step {
        QueryStep::Fact { .. } => true,
        QueryStep::Either(plans) => plans.iter().all(asks_position),
        _ => false,
    })
}

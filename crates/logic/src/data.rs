//! Properties about data: what must hold of values that met at different times, and of what they add up to.
//!
//! `always forall c, u. (pays(c,u) -> exists a, b. (once approves(c,a) & once approves(c,b) & a != b & a != u))` cannot be
//! followed value by value, for `a` and `b` come from elsewhere. So it is read as a question to each position: for which
//! values is it broken here? The past it asks for is kept in tables that grow by the facts of a position and forget what
//! no answer can need any more; a question starts from the facts at hand and looks up the rest. A position costs what it
//! brings and what is asked for, never the number of rows.
//!
//! The way of a formula: [`form`] writes negations inwards, [`plan`] finds an order in which every variable is given a
//! value before it is compared, or says which one is not; [`store`] keeps the [`table`]s; [`solve`] answers.

mod form;
mod gather;
mod keys;
mod plan;
mod row;
mod solve;
mod store;
mod table;

use std::sync::Arc;

use crate::formula::{Arena, Formula, Node, Quantifier};
use crate::interval::Time;
use crate::refusal::CompileError;
use crate::scope::{has_measure, is_wide};
use crate::sentence::Sentence;
use crate::term::Value;
use form::Forms;
use plan::{Plan, Planner, Step, TablePlan};
pub(crate) use solve::Present;
use solve::Solver;
pub(crate) use store::{SavedStore, Stamp, Store};

/// How many variables a property may have, each quantifier and aggregate counted by itself.
const MOST_SLOTS: usize = 64;

/// A property about data, made ready.
#[derive(Debug)]
pub(crate) struct Data {
    /// The facts it asks for.
    pub(crate) names: Vec<Arc<str>>,
    /// The variables whose values are told when it is broken, and their slots.
    pub(crate) variables: Vec<Arc<str>>,
    told: Vec<usize>,
    /// As it was written.
    pub(crate) sentence: Sentence,
    /// Those inside of others come first.
    tables: Vec<TablePlan>,
    /// What breaks it.
    broken: Plan,
    /// Whether it must see every position, and not only those that bring a fact it asks for.
    pub(crate) sees_all: bool,
}

/// What a position does to a property.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The values for which it is broken here.
    pub(crate) broken: Vec<Vec<Option<Value>>>,
    /// Whether nobody can tell.
    pub(crate) is_unknown: bool,
}

impl Data {
    /// Makes a formula of the shape `G f` ready, with `f` about the past and the present; none if it has another shape.
    pub(crate) fn new(arena: &Arena, formula: Formula) -> Result<Option<Data>, CompileError> {
        let Some((variables, body)) = arena.invariant(formula) else { return Ok(None) };
        let mut forms = Forms::new(arena);
        let told: Vec<usize> = variables.iter().map(|name| forms.bind(name)).collect();
        let broken = forms.form(body, false)?;
        if forms.slots > MOST_SLOTS {
            return Err(CompileError::new(
                format!("the formula has more than {MOST_SLOTS} variables"),
                "split it into several formulas",
            ));
        }
        let names = forms.names;
        let mut planner = Planner::new(forms.spelt);
        let broken = planner.plan(&broken, &mut Default::default())?;
        let tables = planner.tables;
        let sees_all = !asks_position(&broken) || tables.iter().any(TablePlan::sees_all);
        let sentence = Sentence { arena: arena.clone(), formula };
        Ok(Some(Data { names, variables, told, sentence, tables, broken, sees_all }))
    }

    /// A trace before its first position, which may keep so many rows.
    pub(crate) fn start(&self, most: usize) -> Store {
        Store::new(&self.tables, most)
    }

    /// Reads a position.
    pub(crate) fn read(&self, store: &mut Store, present: Present<'_>, position: u64, time: Time) -> Reading {
        let now = Stamp { position, time };
        store.advance(self, present, now);
        let mut solver = Solver::new(store, present, now);
        let (mut broken, mut is_possible) = (Vec::new(), false);
        solver.run(&self.broken, &mut [None; MOST_SLOTS], &mut |env, maybe| {
            is_possible |= maybe;
            if !maybe {
                broken.push(self.told.iter().map(|slot| env[*slot].cloned()).collect::<Vec<_>>());
            }
            false
        });
        // What is certain stays so, whatever else there may be.
        let is_doubtful = solver.is_doubtful;
        if is_doubtful {
            broken.clear();
        }
        broken.sort();
        broken.dedup();
        let is_unknown = broken.is_empty() && (is_possible || is_doubtful);
        store.untold = is_unknown.then_some(position);
        Reading { is_unknown, broken }
    }
}

/// Does a formula need tables: does it count, or choose values across positions?
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

/// Does every answer begin with a fact of the position?
fn asks_position(plan: &Plan) -> bool {
    plan.iter().any(|step| match step {
        Step::Fact { .. } => true,
        Step::Either(plans) => plans.iter().all(asks_position),
        _ => false,
    })
}

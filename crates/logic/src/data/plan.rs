//! Orders the steps of a query so that every variable has a value before it is compared.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::form::{Amount, Form, FormTerm};
use crate::comparison::Comparison;
use crate::compile_error::CompileError;
use crate::interval::Interval;
use crate::measure::{AggregateKind, Arithmetic};

/// The steps of a query, each taken for every answer of those before it.
pub(super) type QueryPlan = Vec<QueryStep>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueryStep {
    /// A fact of the position.
    Fact {
        name: usize,
        arguments: Vec<FormTerm>,
    },
    /// A row of a table; the columns in `bound` already have values.
    Row {
        table: usize,
        columns: Vec<FormTerm>,
        bound: u32,
    },
    Terms(Comparison, FormTerm, FormTerm),
    Measures(Comparison, PlannedAmount, PlannedAmount),
    /// Gives a slot the value of another, or a constant.
    Assign(usize, FormTerm),
    /// The inner query has no answer.
    Deny(QueryPlan),
    /// The answers to any of these queries.
    Either(Vec<QueryPlan>),
    /// No answer.
    Fail,
}

/// A number that a query looks up or computes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlannedAmount {
    Term(FormTerm),
    Computed(Arithmetic, Box<PlannedAmount>, Box<PlannedAmount>),
    /// The aggregate in a table for the values in these slots.
    AggregateTable {
        table: usize,
        group: Vec<usize>,
    },
}

/// Names of facts, as bits by their numbers in the formula.
pub(crate) type NameBits = u64;

/// Returns the bit of a name. A formula has few names; those beyond the last bit share it.
pub(crate) fn name_bit(name: usize) -> NameBits {
    1 << name.min(63)
}

/// Returns the names of the facts that a query asks for before anything else: if the position lacks one of them, and no
/// fact is unknown, the query has no answer, not even a possible one.
fn leading_names(plan: &[QueryStep]) -> NameBits {
    let mut names = 0;
    for step in plan {
        match step {
            QueryStep::Fact { name, .. } => names |= name_bit(*name),
            QueryStep::Terms(..) | QueryStep::Assign(..) | QueryStep::Fail => {}
            // A table may have possible rows, which are answers whatever comes after them.
            QueryStep::Row { .. } | QueryStep::Measures(..) | QueryStep::Deny(_) | QueryStep::Either(_) => break,
        }
    }
    names
}

/// The steps of a query, and the facts without which it has no answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) steps: QueryPlan,
    /// The names that a position must have, see [`leading_names`].
    names: NameBits,
}

impl Query {
    pub(super) fn new(steps: QueryPlan) -> Query {
        Query { names: leading_names(&steps), steps }
    }

    /// Whether a position with facts of these names can have an answer.
    #[inline]
    pub(super) fn may_answer(&self, present: NameBits) -> bool {
        self.names & !present == 0
    }
}

/// The plan of one table of the past.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TablePlan {
    /// The query for the rows of a position.
    pub(super) body: Query,
    /// The slots that form a row.
    pub(super) columns: Vec<usize>,
    pub(super) kind: TableKind,
    /// The sets of columns by which rows are looked up.
    pub(super) indexes: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TableKind {
    Once(Interval),
    Since(Interval, Vec<RowEnding>),
    Previous,
    /// The first columns are the group, the next is aggregated.
    Gather {
        kind: AggregateKind,
        interval: Interval,
        group: usize,
    },
}

/// A condition that removes rows of a `since`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowEnding {
    /// Each answer removes the rows that agree with it in these columns.
    By { plan: Query, columns: Vec<usize>, index: u32 },
    /// A row stays only while this query has an answer.
    Unless(QueryPlan),
}

impl TablePlan {
    /// The bound of its rows.
    pub(super) fn interval(&self) -> Interval {
        match &self.kind {
            TableKind::Once(interval) | TableKind::Since(interval, _) | TableKind::Gather { interval, .. } => *interval,
            TableKind::Previous => Interval::Steps { from: 1, to: Some(1) },
        }
    }

    /// Whether it aggregates occurrences instead of keeping rows.
    pub(super) fn is_aggregate(&self) -> bool {
        matches!(self.kind, TableKind::Gather { .. })
    }

    /// Whether it must read every position, even without a fact it asks for.
    pub(super) fn sees_all(&self) -> bool {
        match &self.kind {
            TableKind::Previous => true,
            TableKind::Since(_, endings) => endings.iter().any(|ending| match ending {
                RowEnding::By { plan, .. } => !super::asks_position(&plan.steps),
                RowEnding::Unless(_) => true,
            }),
            // A position without facts may add rows that later ones need.
            TableKind::Once(_) | TableKind::Gather { .. } => !super::asks_position(&self.body.steps),
        }
    }
}

/// The slots that have values.
pub(super) type BoundSlots = BTreeSet<usize>;

/// The most columns of a table: each is a bit of a mask.
const MAX_COLUMNS: usize = 30;

/// Plans queries, and the tables they need.
pub(super) struct Planner {
    pub(super) tables: Vec<TablePlan>,
    /// The form of each table, with slots in the order of their occurrence.
    forms: Vec<Form>,
    /// The names of variables, by slot.
    spelt: Vec<Arc<str>>,
}

impl Planner {
    pub(super) fn new(spelt: Vec<Arc<str>>) -> Planner {
        Planner { tables: Vec::new(), forms: Vec::new(), spelt }
    }

    /// Returns a plan for a form, and adds to `bound` the slots that every answer gives a value.
    pub(super) fn plan(&mut self, form: &Form, bound: &mut BoundSlots) -> Result<QueryPlan, CompileError> {
        let mut goals = Vec::new();
        collect_goals(form, &mut goals);
        let mut plan = Vec::new();
        while !goals.is_empty() {
            // The cheapest goal that can be answered now.
            let mut best: Option<(u32, usize)> = None;
            for (place, goal) in goals.iter().enumerate() {
                if let Some(cost) = self.cost(goal, bound)
                    && best.is_none_or(|(least, _)| cost < least)
                {
                    best = Some((cost, place));
                }
            }
            let Some((_, place)) = best else { return Err(self.unanswerable_error(&goals, bound)) };
            let goal = goals.remove(place);
            let step = self.plan_step(goal, bound)?;
            plan.push(step);
        }
        Ok(plan)
    }

    /// Returns the cost of a goal; none if it cannot be answered yet.
    fn cost(&self, goal: &Form, bound: &BoundSlots) -> Option<u32> {
        let is_bound = |slot: &usize| bound.contains(slot);
        let has_value = |argument: &FormTerm| match argument {
            FormTerm::Slot(slot) => bound.contains(slot),
            FormTerm::Any | FormTerm::Value(_) => true,
        };
        match goal {
            Form::True | Form::False => Some(0),
            Form::Terms(_, left, right) if has_value(left) && has_value(right) => Some(1),
            Form::Terms(Comparison::Equal, left, right) if has_value(left) || has_value(right) => Some(2),
            Form::Terms(..) => None,
            Form::Measures(_, left, right) => {
                let mut free = Vec::new();
                left.visit_free(&mut Vec::new(), &mut free);
                right.visit_free(&mut Vec::new(), &mut free);
                free.iter().all(is_bound).then_some(6)
            }
            // Negations come last: they may scan a whole table.
            Form::Not(inner) => inner.free_slots().iter().all(is_bound).then_some(7),
            Form::Fact { .. } => Some(3),
            Form::Once(..) | Form::Since(..) | Form::Previous(_) => {
                let free = goal.free_slots();
                let open = free.iter().filter(|slot| !is_bound(slot)).count();
                let known = free.len() - open;
                Some(match (open, known) {
                    (0, _) => 4,
                    (_, 0) => 100,
                    _ => 10,
                })
            }
            Form::Any(list) => {
                let costs: Option<Vec<u32>> = list.iter().map(|part| self.total_cost(part, bound)).collect();
                costs.map(|costs| 20 + costs.into_iter().max().unwrap_or(0))
            }
            // INVARIANT: these were flattened.
            Form::All(_) | Form::Exists(..) => None,
        }
    }

    /// Returns an estimate of the cost of a form; none if it cannot be answered.
    fn total_cost(&self, form: &Form, bound: &BoundSlots) -> Option<u32> {
        let mut goals = Vec::new();
        collect_goals(form, &mut goals);
        let mut bound = bound.clone();
        let mut cost = 0;
        while !goals.is_empty() {
            let place = goals.iter().position(|goal| self.cost(goal, &bound).is_some())?;
            let goal = goals.remove(place);
            cost = cost.max(self.cost(goal, &bound)?);
            add_bound_slots(goal, &mut bound);
        }
        Some(cost)
    }

    fn plan_step(&mut self, goal: &Form, bound: &mut BoundSlots) -> Result<QueryStep, CompileError> {
        let step = match goal {
            Form::True => QueryStep::Either(vec![Vec::new()]),
            Form::False => QueryStep::Fail,
            Form::Fact { name, arguments } => QueryStep::Fact { name: *name, arguments: arguments.clone() },
            Form::Terms(comparison, left, right) => match (left, right) {
                (FormTerm::Slot(slot), other) | (other, FormTerm::Slot(slot)) if !bound.contains(slot) => {
                    QueryStep::Assign(*slot, other.clone())
                }
                _ => QueryStep::Terms(*comparison, left.clone(), right.clone()),
            },
            Form::Measures(comparison, left, right) => {
                QueryStep::Measures(*comparison, self.plan_amount(left)?, self.plan_amount(right)?)
            }
            Form::Not(inner) => QueryStep::Deny(self.plan(inner, &mut bound.clone())?),
            Form::Any(list) => {
                let mut plans = Vec::new();
                let mut common: Option<BoundSlots> = None;
                for part in list {
                    let mut inner = bound.clone();
                    plans.push(self.plan(part, &mut inner)?);
                    common = Some(match common {
                        None => inner,
                        Some(common) => common.intersection(&inner).copied().collect(),
                    });
                }
                *bound = common.unwrap_or_default();
                return Ok(QueryStep::Either(plans));
            }
            Form::Once(..) | Form::Since(..) | Form::Previous(_) => {
                let (table, columns) = self.plan_table(goal)?;
                let mask = columns.iter().enumerate().filter(|(_, slot)| bound.contains(slot));
                let mask = mask.fold(0, |mask, (column, _)| mask | 1 << column);
                self.add_index(table, mask, columns.len());
                bound.extend(&columns);
                let columns = columns.into_iter().map(FormTerm::Slot).collect();
                return Ok(QueryStep::Row { table, columns, bound: mask });
            }
            Form::All(_) | Form::Exists(..) => return Err(CompileError::new("a part was not taken apart", "")),
        };
        add_bound_slots(goal, bound);
        Ok(step)
    }

    fn add_index(&mut self, table: usize, mask: u32, columns: usize) {
        let all = (1u32 << columns) - 1;
        let indexes = &mut self.tables[table].indexes;
        if mask != 0 && mask != all && !indexes.contains(&mask) {
            indexes.push(mask);
        }
    }

    fn plan_amount(&mut self, amount: &Amount) -> Result<PlannedAmount, CompileError> {
        Ok(match amount {
            Amount::Term(argument) => PlannedAmount::Term(argument.clone()),
            Amount::Computed(sign, left, right) => {
                PlannedAmount::Computed(*sign, Box::new(self.plan_amount(left)?), Box::new(self.plan_amount(right)?))
            }
            Amount::AggregateTable(kind, interval, slots, body) => {
                let group: Vec<usize> = body.free_slots().into_iter().filter(|slot| !slots.contains(slot)).collect();
                let columns: Vec<usize> = group.iter().chain(slots).copied().collect();
                let groups = group.len();
                let make = |interval| TableKind::Gather { kind: *kind, interval, group: groups };
                let (form, order) = canonicalize(body, &columns);
                let key = Form::Measures(
                    Comparison::Equal,
                    Amount::AggregateTable(*kind, *interval, (0..columns.len()).collect(), Box::new(form.clone())),
                    Amount::Term(FormTerm::Value(crate::value::Value::Integer(groups as i64))),
                );
                let table = self.add_table(key, &form, &order, columns.len(), make(*interval))?;
                PlannedAmount::AggregateTable { table, group }
            }
        })
    }

    /// Returns the table of a form, and the slots of its columns.
    fn plan_table(&mut self, form: &Form) -> Result<(usize, Vec<usize>), CompileError> {
        let (Form::Once(_, body) | Form::Since(_, _, body) | Form::Previous(body)) = form else {
            return Err(CompileError::new("this is no table", ""));
        };
        let columns = body.free_slots();
        if columns.len() > MAX_COLUMNS {
            return Err(CompileError::new(
                format!("one part of the formula has {} variables, at most {MAX_COLUMNS} are possible", columns.len()),
                "split it into several formulas",
            ));
        }
        let (whole, order) = canonicalize(form, &columns);
        let (body, kind) = match &whole {
            Form::Once(interval, body) => ((**body).clone(), TableKind::Once(*interval)),
            Form::Previous(body) => ((**body).clone(), TableKind::Previous),
            Form::Since(interval, left, body) => {
                if let Some(slot) = left.free_slots().into_iter().find(|slot| *slot >= columns.len()) {
                    let name = order.get(slot).and_then(|slot| self.spelt.get(*slot)).cloned().unwrap_or_default();
                    return Err(CompileError::new(
                        format!("`{name}` occurs only on the left of `since`, where no fact binds it"),
                        format!(
                            "write `exists {name}. …` around it on the left, or add a fact with `{name}` on the right"
                        ),
                    ));
                }
                let endings = self.with_slot_order(&order, |planner| planner.plan_endings(left, columns.len()))?;
                ((**body).clone(), TableKind::Since(*interval, endings))
            }
            _ => return Err(CompileError::new("this is no table", "")),
        };
        let table = self.add_table(whole, &body, &order, columns.len(), kind)?;
        Ok((table, columns))
    }

    fn add_table(
        &mut self,
        key: Form,
        body: &Form,
        order: &[usize],
        columns: usize,
        kind: TableKind,
    ) -> Result<usize, CompileError> {
        if let Some(known) = self.forms.iter().position(|form| *form == key) {
            return Ok(known);
        }
        let mut bound = BoundSlots::new();
        let plan = self.with_slot_order(order, |planner| planner.plan(body, &mut bound))?;
        if let Some(open) = (0..columns).find(|column| !bound.contains(column)) {
            return Err(self.unguarded_error(order.get(open).copied()));
        }
        let mut indexes = Vec::new();
        if let TableKind::Since(_, endings) = &kind {
            for ending in endings {
                if let RowEnding::By { index, .. } = ending
                    && *index != 0
                    && *index != (1 << columns) - 1
                    && !indexes.contains(index)
                {
                    indexes.push(*index);
                }
            }
        }
        self.forms.push(key);
        self.tables.push(TablePlan { body: Query::new(plan), columns: (0..columns).collect(), kind, indexes });
        Ok(self.tables.len() - 1)
    }

    /// Runs a function with slots renumbered in this order, so that errors still name the variables.
    fn with_slot_order<T>(&mut self, order: &[usize], work: impl FnOnce(&mut Planner) -> T) -> T {
        let spelt = order.iter().map(|slot| self.spelt[*slot].clone()).collect();
        let outside = std::mem::replace(&mut self.spelt, spelt);
        let result = work(self);
        self.spelt = outside;
        result
    }

    /// Returns the conditions that remove rows, from the form that must keep holding.
    fn plan_endings(&mut self, left: &Form, columns: usize) -> Result<Vec<RowEnding>, CompileError> {
        let mut goals = Vec::new();
        collect_goals(left, &mut goals);
        let mut endings = Vec::new();
        for goal in goals {
            if *goal == Form::True {
                continue;
            }
            if let Form::Not(inner) = goal {
                let free = inner.free_slots();
                let mut bound = BoundSlots::new();
                if let Ok(plan) = self.plan(inner, &mut bound)
                    && free.iter().all(|slot| bound.contains(slot))
                {
                    let index = free.iter().fold(0, |mask, column| mask | 1 << column);
                    // In the order of columns, like the keys of an index.
                    let columns: Vec<usize> = free.into_iter().collect::<BoundSlots>().into_iter().collect();
                    endings.push(RowEnding::By { plan: Query::new(plan), columns, index });
                    continue;
                }
            }
            let mut bound: BoundSlots = (0..columns).collect();
            endings.push(RowEnding::Unless(self.plan(goal, &mut bound)?));
        }
        Ok(endings)
    }

    fn unanswerable_error(&self, goals: &[&Form], bound: &BoundSlots) -> CompileError {
        let open = goals.iter().flat_map(|goal| goal.free_slots()).find(|slot| !bound.contains(slot));
        self.unguarded_error(open)
    }

    fn unguarded_error(&self, slot: Option<usize>) -> CompileError {
        let name = slot.and_then(|slot| self.spelt.get(slot)).cloned().unwrap_or_else(|| "?".into());
        CompileError::new(
            format!("`{name}` is compared or negated before a fact binds it"),
            format!("bind it with a positive fact first: `p({name}) & …`, or `p({name}) -> …` under `forall`"),
        )
    }
}

/// Adds the slots that an answer to a goal gives values.
fn add_bound_slots(goal: &Form, bound: &mut BoundSlots) {
    match goal {
        Form::Fact { arguments, .. } => bound.extend(arguments.iter().filter_map(|argument| match argument {
            FormTerm::Slot(slot) => Some(*slot),
            _ => None,
        })),
        Form::Terms(Comparison::Equal, left, right) => {
            for argument in [left, right] {
                if let FormTerm::Slot(slot) = argument {
                    bound.insert(*slot);
                }
            }
        }
        Form::Once(..) | Form::Since(..) | Form::Previous(_) => bound.extend(goal.free_slots()),
        Form::Any(list) => {
            let of_each = list.iter().map(|part| {
                let mut inner = bound.clone();
                let mut goals = Vec::new();
                collect_goals(part, &mut goals);
                goals.iter().for_each(|goal| add_bound_slots(goal, &mut inner));
                inner
            });
            let common = of_each.reduce(|left, right| left.intersection(&right).copied().collect());
            bound.extend(common.unwrap_or_default());
        }
        _ => {}
    }
}

/// Collects the parts of a conjunction; variables of an inner `exists` are chosen with the others.
fn collect_goals<'f>(form: &'f Form, goals: &mut Vec<&'f Form>) {
    match form {
        Form::All(list) => list.iter().for_each(|part| collect_goals(part, goals)),
        Form::Exists(_, inner) => collect_goals(inner, goals),
        other => goals.push(other),
    }
}

/// Returns a form with renumbered slots: first these columns, then the others as they occur. Forms that differ only in
/// variable names become equal.
fn canonicalize(form: &Form, columns: &[usize]) -> (Form, Vec<usize>) {
    let mut order: Vec<usize> = columns.to_vec();
    let form = form.renumber(&mut |slot| {
        order.iter().position(|other| *other == slot).unwrap_or_else(|| {
            order.push(slot);
            order.len() - 1
        })
    });
    (form, order)
}

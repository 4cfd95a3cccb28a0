//! In which order a question is answered, so that every variable has a value before it is compared.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::form::{Amount, Argument, Form};
use crate::interval::Interval;
use crate::measure::{AggregateKind, Arithmetic};
use crate::refusal::CompileError;
use crate::term::Comparison;

/// Steps that are taken one after the other, each for every answer of those before it.
pub(super) type Plan = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A fact of the position.
    Fact {
        name: usize,
        arguments: Vec<Argument>,
    },
    /// A row of a table; of its columns those in `bound` have values already.
    Row {
        table: usize,
        columns: Vec<Argument>,
        bound: u32,
    },
    Terms(Comparison, Argument, Argument),
    Measures(Comparison, Quota, Quota),
    /// A slot is given the value of another, or a constant.
    Assign(usize, Argument),
    /// There is no answer to this.
    Deny(Plan),
    /// The answers to any of these.
    Either(Vec<Plan>),
    /// Never.
    Fail,
}

/// A number that is looked up or computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quota {
    Term(Argument),
    Computed(Arithmetic, Box<Quota>, Box<Quota>),
    /// What a table has gathered for the values in these slots.
    Gathered {
        table: usize,
        group: Vec<usize>,
    },
}

/// What is kept of the past.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TablePlan {
    /// How the rows of a position are found.
    pub(super) body: Plan,
    /// The slots that make a row.
    pub(super) columns: Vec<usize>,
    pub(super) kind: TableKind,
    /// The sets of columns by which rows are looked up.
    pub(super) indexes: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TableKind {
    Once(Interval),
    Since(Interval, Vec<Ending>),
    Previous,
    /// The first columns are the group, the next is what is gathered.
    Gather {
        kind: AggregateKind,
        interval: Interval,
        group: usize,
    },
}

/// What ends a row of a `since`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// Each answer ends the rows that agree with it in these columns.
    By { plan: Plan, columns: Vec<usize>, index: u32 },
    /// A row goes on only while this has an answer.
    Unless(Plan),
}

impl TablePlan {
    /// Must it see every position, also those without any fact it asks for?
    pub(super) fn sees_all(&self) -> bool {
        match &self.kind {
            TableKind::Previous => true,
            TableKind::Since(_, endings) => endings.iter().any(|ending| match ending {
                Ending::By { plan, .. } => !super::asks_position(plan),
                Ending::Unless(_) => true,
            }),
            // What a position without facts adds, later ones would miss.
            TableKind::Once(_) | TableKind::Gather { .. } => !super::asks_position(&self.body),
        }
    }
}

/// The slots that have values.
pub(super) type Bound = BTreeSet<usize>;

/// Makes plans, and the tables they need.
pub(super) struct Planner {
    pub(super) tables: Vec<TablePlan>,
    /// What each table is a table of, with slots in the order of their occurrence.
    forms: Vec<Form>,
    /// How variables are spelt.
    spelt: Vec<Arc<str>>,
}

impl Planner {
    pub(super) fn new(spelt: Vec<Arc<str>>) -> Planner {
        Planner { tables: Vec::new(), forms: Vec::new(), spelt }
    }

    /// A plan for a form; `bound` then holds the slots that every answer gives a value.
    pub(super) fn plan(&mut self, form: &Form, bound: &mut Bound) -> Result<Plan, CompileError> {
        let mut goals = Vec::new();
        flatten(form, &mut goals);
        let mut plan = Vec::new();
        while !goals.is_empty() {
            // The cheapest that can be answered now.
            let mut best: Option<(u32, usize)> = None;
            for (place, goal) in goals.iter().enumerate() {
                if let Some(cost) = self.cost(goal, bound)
                    && best.is_none_or(|(least, _)| cost < least)
                {
                    best = Some((cost, place));
                }
            }
            let Some((_, place)) = best else { return Err(self.stuck(&goals, bound)) };
            let goal = goals.remove(place);
            let step = self.step(goal, bound)?;
            plan.push(step);
        }
        Ok(plan)
    }

    /// How dear an answer is now; none if it cannot be given.
    fn cost(&self, goal: &Form, bound: &Bound) -> Option<u32> {
        let is_bound = |slot: &usize| bound.contains(slot);
        let has_value = |argument: &Argument| match argument {
            Argument::Slot(slot) => bound.contains(slot),
            Argument::Any | Argument::Value(_) => true,
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
            // What is not there is asked for last: it may cost a look at all that is.
            Form::Not(inner) => inner.free().iter().all(is_bound).then_some(7),
            Form::Fact { .. } => Some(3),
            Form::Once(..) | Form::Since(..) | Form::Previous(_) => {
                let free = goal.free();
                let open = free.iter().filter(|slot| !is_bound(slot)).count();
                let known = free.len() - open;
                Some(match (open, known) {
                    (0, _) => 4,
                    (_, 0) => 100,
                    _ => 10,
                })
            }
            Form::Any(list) => {
                let costs: Option<Vec<u32>> = list.iter().map(|part| self.whole_cost(part, bound)).collect();
                costs.map(|costs| 20 + costs.into_iter().max().unwrap_or(0))
            }
            // INVARIANT: these were flattened.
            Form::All(_) | Form::Exists(..) => None,
        }
    }

    /// Whether all of a form can be answered; a rough guess that the plan itself makes good.
    fn whole_cost(&self, form: &Form, bound: &Bound) -> Option<u32> {
        let mut goals = Vec::new();
        flatten(form, &mut goals);
        let mut bound = bound.clone();
        let mut cost = 0;
        while !goals.is_empty() {
            let place = goals.iter().position(|goal| self.cost(goal, &bound).is_some())?;
            let goal = goals.remove(place);
            cost = cost.max(self.cost(goal, &bound)?);
            binds(goal, &mut bound);
        }
        Some(cost)
    }

    fn step(&mut self, goal: &Form, bound: &mut Bound) -> Result<Step, CompileError> {
        let step = match goal {
            Form::True => Step::Either(vec![Vec::new()]),
            Form::False => Step::Fail,
            Form::Fact { name, arguments } => Step::Fact { name: *name, arguments: arguments.clone() },
            Form::Terms(comparison, left, right) => match (left, right) {
                (Argument::Slot(slot), other) | (other, Argument::Slot(slot)) if !bound.contains(slot) => {
                    Step::Assign(*slot, other.clone())
                }
                _ => Step::Terms(*comparison, left.clone(), right.clone()),
            },
            Form::Measures(comparison, left, right) => {
                Step::Measures(*comparison, self.quota(left)?, self.quota(right)?)
            }
            Form::Not(inner) => Step::Deny(self.plan(inner, &mut bound.clone())?),
            Form::Any(list) => {
                let mut plans = Vec::new();
                let mut common: Option<Bound> = None;
                for part in list {
                    let mut inner = bound.clone();
                    plans.push(self.plan(part, &mut inner)?);
                    common = Some(match common {
                        None => inner,
                        Some(common) => common.intersection(&inner).copied().collect(),
                    });
                }
                *bound = common.unwrap_or_default();
                return Ok(Step::Either(plans));
            }
            Form::Once(..) | Form::Since(..) | Form::Previous(_) => {
                let (table, columns) = self.table(goal)?;
                let mask = columns.iter().enumerate().filter(|(_, slot)| bound.contains(slot));
                let mask = mask.fold(0, |mask, (column, _)| mask | 1 << column);
                self.index(table, mask, columns.len());
                bound.extend(&columns);
                let columns = columns.into_iter().map(Argument::Slot).collect();
                return Ok(Step::Row { table, columns, bound: mask });
            }
            Form::All(_) | Form::Exists(..) => return Err(CompileError::new("a part was not taken apart", "")),
        };
        binds(goal, bound);
        Ok(step)
    }

    fn index(&mut self, table: usize, mask: u32, columns: usize) {
        let all = (1u32 << columns) - 1;
        let indexes = &mut self.tables[table].indexes;
        if mask != 0 && mask != all && !indexes.contains(&mask) {
            indexes.push(mask);
        }
    }

    fn quota(&mut self, amount: &Amount) -> Result<Quota, CompileError> {
        Ok(match amount {
            Amount::Term(argument) => Quota::Term(argument.clone()),
            Amount::Computed(sign, left, right) => {
                Quota::Computed(*sign, Box::new(self.quota(left)?), Box::new(self.quota(right)?))
            }
            Amount::Gathered(kind, interval, slots, body) => {
                let group: Vec<usize> = body.free().into_iter().filter(|slot| !slots.contains(slot)).collect();
                let columns: Vec<usize> = group.iter().chain(slots).copied().collect();
                let groups = group.len();
                let make = |interval| TableKind::Gather { kind: *kind, interval, group: groups };
                let (form, order) = canonical(body, &columns);
                let key = Form::Measures(
                    Comparison::Equal,
                    Amount::Gathered(*kind, *interval, (0..columns.len()).collect(), Box::new(form.clone())),
                    Amount::Term(Argument::Value(crate::term::Value::Integer(groups as i64))),
                );
                let table = self.made(key, &form, &order, columns.len(), make(*interval))?;
                Quota::Gathered { table, group }
            }
        })
    }

    /// The table of a form, and the slots that its columns stand for here.
    fn table(&mut self, form: &Form) -> Result<(usize, Vec<usize>), CompileError> {
        let (Form::Once(_, body) | Form::Since(_, _, body) | Form::Previous(body)) = form else {
            return Err(CompileError::new("this is no table", ""));
        };
        let columns = body.free();
        if columns.len() > 30 {
            return Err(CompileError::new("more than 30 variables in one part of the formula", "split the formula"));
        }
        let (whole, order) = canonical(form, &columns);
        let (body, kind) = match &whole {
            Form::Once(interval, body) => ((**body).clone(), TableKind::Once(*interval)),
            Form::Previous(body) => ((**body).clone(), TableKind::Previous),
            Form::Since(interval, left, body) => {
                if let Some(slot) = left.free().into_iter().find(|slot| *slot >= columns.len()) {
                    let name = order.get(slot).and_then(|slot| self.spelt.get(*slot)).cloned().unwrap_or_default();
                    return Err(CompileError::new(
                        format!(
                            "`{name}` stands on the left of `since` and not on the right, so nothing gives it a value"
                        ),
                        format!(
                            "write `exists {name}. …` around it on the left, or add a fact with `{name}` on the right"
                        ),
                    ));
                }
                let endings = self.inside(&order, |planner| planner.endings(left, columns.len()))?;
                ((**body).clone(), TableKind::Since(*interval, endings))
            }
            _ => return Err(CompileError::new("this is no table", "")),
        };
        let table = self.made(whole, &body, &order, columns.len(), kind)?;
        Ok((table, columns))
    }

    fn made(
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
        let mut bound = Bound::new();
        let plan = self.inside(order, |planner| planner.plan(body, &mut bound))?;
        if let Some(open) = (0..columns).find(|column| !bound.contains(column)) {
            return Err(self.unguarded(order.get(open).copied()));
        }
        let mut indexes = Vec::new();
        if let TableKind::Since(_, endings) = &kind {
            for ending in endings {
                if let Ending::By { index, .. } = ending
                    && *index != 0
                    && *index != (1 << columns) - 1
                    && !indexes.contains(index)
                {
                    indexes.push(*index);
                }
            }
        }
        self.forms.push(key);
        self.tables.push(TablePlan { body: plan, columns: (0..columns).collect(), kind, indexes });
        Ok(self.tables.len() - 1)
    }

    /// Does something with slots that are numbered anew, in this order: variables are still spelt as they were.
    fn inside<T>(&mut self, order: &[usize], work: impl FnOnce(&mut Planner) -> T) -> T {
        let spelt = order.iter().map(|slot| self.spelt[*slot].clone()).collect();
        let outside = std::mem::replace(&mut self.spelt, spelt);
        let result = work(self);
        self.spelt = outside;
        result
    }

    /// What ends rows, from what must go on holding.
    fn endings(&mut self, left: &Form, columns: usize) -> Result<Vec<Ending>, CompileError> {
        let mut goals = Vec::new();
        flatten(left, &mut goals);
        let mut endings = Vec::new();
        for goal in goals {
            if *goal == Form::True {
                continue;
            }
            if let Form::Not(inner) = goal {
                let free = inner.free();
                let mut bound = Bound::new();
                if let Ok(plan) = self.plan(inner, &mut bound)
                    && free.iter().all(|slot| bound.contains(slot))
                {
                    let index = free.iter().fold(0, |mask, column| mask | 1 << column);
                    // In the order of the columns, as keys of an index are.
                    let columns: Vec<usize> = free.into_iter().collect::<Bound>().into_iter().collect();
                    endings.push(Ending::By { plan, columns, index });
                    continue;
                }
            }
            let mut bound: Bound = (0..columns).collect();
            endings.push(Ending::Unless(self.plan(goal, &mut bound)?));
        }
        Ok(endings)
    }

    fn stuck(&self, goals: &[&Form], bound: &Bound) -> CompileError {
        let open = goals.iter().flat_map(|goal| goal.free()).find(|slot| !bound.contains(slot));
        self.unguarded(open)
    }

    fn unguarded(&self, slot: Option<usize>) -> CompileError {
        let name = slot.and_then(|slot| self.spelt.get(slot)).cloned().unwrap_or_else(|| "?".into());
        CompileError::new(
            format!("no fact gives `{name}` a value where it is needed"),
            format!("guard it by a fact that holds it there: `p({name}) & …`, or `p({name}) -> …` under `forall`"),
        )
    }
}

/// The slots that an answer to a goal gives values.
fn binds(goal: &Form, bound: &mut Bound) {
    match goal {
        Form::Fact { arguments, .. } => bound.extend(arguments.iter().filter_map(|argument| match argument {
            Argument::Slot(slot) => Some(*slot),
            _ => None,
        })),
        Form::Terms(Comparison::Equal, left, right) => {
            for argument in [left, right] {
                if let Argument::Slot(slot) = argument {
                    bound.insert(*slot);
                }
            }
        }
        Form::Once(..) | Form::Since(..) | Form::Previous(_) => bound.extend(goal.free()),
        Form::Any(list) => {
            let of_each = list.iter().map(|part| {
                let mut inner = bound.clone();
                let mut goals = Vec::new();
                flatten(part, &mut goals);
                goals.iter().for_each(|goal| binds(goal, &mut inner));
                inner
            });
            let common = of_each.reduce(|left, right| left.intersection(&right).copied().collect());
            bound.extend(common.unwrap_or_default());
        }
        _ => {}
    }
}

/// The parts of a conjunction; what it chooses is chosen along with the rest.
fn flatten<'f>(form: &'f Form, goals: &mut Vec<&'f Form>) {
    match form {
        Form::All(list) => list.iter().for_each(|part| flatten(part, goals)),
        Form::Exists(_, inner) => flatten(inner, goals),
        other => goals.push(other),
    }
}

/// A form with its slots numbered anew: first these columns, then the others as they occur. Equal forms then are equal,
/// however their variables are called.
fn canonical(form: &Form, columns: &[usize]) -> (Form, Vec<usize>) {
    let mut order: Vec<usize> = columns.to_vec();
    let form = form.renumbered(&mut |slot| {
        order.iter().position(|other| *other == slot).unwrap_or_else(|| {
            order.push(slot);
            order.len() - 1
        })
    });
    (form, order)
}

//! Answers queries: from the facts of the position, and then by look-ups.

use std::sync::Arc;

use super::form::FormTerm;
use super::plan::{NameBits, PlannedAmount, QueryStep};
use super::row::Row;
use super::stamp::Stamp;
use super::store::DataStore;
use crate::facts::Facts;
use crate::measure::Quantity;
use crate::observation::{Name, Observation};
use crate::term::{Atom, Term};
use crate::value::Value;
use crate::work::Work;

/// The values of slots, borrowed from the facts of the position, tables or the formula.
pub(super) type SlotValues<'a> = [Option<&'a Value>];

/// The facts of a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PositionFacts<'a> {
    pub(crate) source: FactSource<'a>,
    /// The names that occur; all of them if some fact is unknown.
    pub(crate) names: NameBits,
}

/// Where the facts of a position are, with names by their number in the formula.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FactSource<'a> {
    /// Facts with names as strings, known and unknown.
    Facts(&'a Facts, &'a [Arc<str>]),
    /// An observation, with the set's numbers of the formula's names.
    Observation(&'a Observation, &'a [Name]),
}

impl<'a> PositionFacts<'a> {
    /// Calls a function with the values of each fact of a name, until it returns true.
    fn any(self, name: usize, mut found: impl FnMut(&'a [Value]) -> bool) -> bool {
        match self.source {
            FactSource::Facts(facts, names) => {
                facts.known.iter().filter(|fact| fact.name == names[name]).any(|fact| found(&fact.values))
            }
            FactSource::Observation(observation, names) => (0..observation.len())
                .filter(|place| observation.name(*place) == names[name])
                .any(|place| found(observation.values(place as u32))),
        }
    }

    /// Returns the unknown facts of a name.
    fn unknown(self, name: usize) -> impl Iterator<Item = &'a Atom> {
        let (unknown, names) = match self.source {
            FactSource::Facts(facts, names) => (&facts.unknown[..], names),
            FactSource::Observation(..) => (&[][..], &[][..]),
        };
        unknown.iter().filter(move |atom| atom.name == names[name])
    }
}

/// Answers queries about one position.
pub(super) struct Solver<'a> {
    store: &'a DataStore,
    present: PositionFacts<'a>,
    now: Stamp,
    /// Whether a table exceeded its limit, so that no answer is certain.
    pub(super) is_doubtful: bool,
    /// The steps taken and rows looked at.
    pub(super) work: Work,
    /// Whether the current answer depends on something unknown.
    maybe: bool,
}

/// Receives the slots of an answer, and whether it is only possible (then some slots may have no value). Returns true
/// to stop.
pub(super) type AnswerCallback<'a, 'f> = dyn FnMut(&mut SlotValues<'a>, bool) -> bool + 'f;

impl<'a> Solver<'a> {
    pub(super) fn new(store: &'a DataStore, present: PositionFacts<'a>, now: Stamp, work: Work) -> Solver<'a> {
        Solver { store, present, now, is_doubtful: store.is_full, work, maybe: false }
    }
}

/// Steps still to be taken, and those after them.
#[derive(Clone, Copy)]
struct PendingSteps<'t, 'a> {
    steps: &'a [QueryStep],
    then: Option<&'t PendingSteps<'t, 'a>>,
}

impl<'a> Solver<'a> {
    /// Calls a function for every answer, with the slots filled in, until it returns true.
    pub(super) fn run(
        &mut self,
        plan: &'a [QueryStep],
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        self.take_steps(PendingSteps { steps: plan, then: None }, env, found)
    }

    /// Whether there is an answer; none if it is only possible.
    pub(super) fn ask(&mut self, plan: &'a [QueryStep], env: &mut SlotValues<'a>) -> Option<bool> {
        let before = std::mem::replace(&mut self.maybe, false);
        let mut is_possible = false;
        let is_certain = self.run(plan, env, &mut |_, maybe| {
            is_possible |= maybe;
            !maybe
        });
        self.maybe = before;
        match (is_certain, is_possible) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        }
    }

    /// Continues with the next steps, marking the answer as only possible if `doubts`.
    fn continue_doubtful(
        &mut self,
        doubts: bool,
        rest: PendingSteps<'_, 'a>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        let before = self.maybe;
        self.maybe |= doubts;
        let is_enough = self.take_steps(rest, env, found);
        self.maybe = before;
        is_enough
    }

    fn take_steps(
        &mut self,
        todo: PendingSteps<'_, 'a>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        self.work.charge(1);
        if self.work.is_exceeded() {
            // Whatever is found is dropped with the tables.
            return true;
        }
        let Some((step, rest)) = todo.steps.split_first() else {
            return match todo.then {
                Some(then) => self.take_steps(*then, env, found),
                None => found(env, self.maybe),
            };
        };
        let rest = PendingSteps { steps: rest, then: todo.then };
        match step {
            QueryStep::Fact { name, arguments } => self.match_fact(*name, arguments, rest, env, found),
            QueryStep::Row { table, columns, bound } => self.match_rows(*table, columns, *bound, rest, env, found),
            QueryStep::Terms(comparison, left, right) => {
                let holds = match (term_value(left, env), term_value(right, env)) {
                    (Some(left), Some(right)) => comparison.holds(left, right),
                    _ => false,
                };
                holds && self.take_steps(rest, env, found)
            }
            QueryStep::Measures(comparison, left, right) => {
                let (left, right) = (self.quantity(left, env), self.quantity(right, env));
                match Quantity::compare(*comparison, &left, &right) {
                    Some(true) => self.take_steps(rest, env, found),
                    Some(false) => false,
                    None => self.continue_doubtful(true, rest, env, found),
                }
            }
            QueryStep::Assign(slot, argument) => {
                let Some(given) = term_value(argument, env) else { return false };
                let before = env[*slot].replace(given);
                let is_enough = self.take_steps(rest, env, found);
                env[*slot] = before;
                is_enough
            }
            QueryStep::Deny(plan) => {
                let answer = self.ask(plan, env);
                answer != Some(true) && self.continue_doubtful(answer.is_none(), rest, env, found)
            }
            // Later steps may use the slots that a branch fills.
            QueryStep::Either(plans) => {
                plans.iter().any(|plan| self.take_steps(PendingSteps { steps: plan, then: Some(&rest) }, env, found))
            }
            QueryStep::Fail => false,
        }
    }

    fn match_fact(
        &mut self,
        name: usize,
        arguments: &'a [FormTerm],
        rest: PendingSteps<'_, 'a>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        let present = self.present;
        let is_enough = present.any(name, |values| {
            arguments.len() <= values.len() && self.unify_values(arguments, values, rest, env, found)
        });
        if is_enough {
            return true;
        }
        present.unknown(name).any(|atom| {
            let given = atom.terms.iter().map(|term| match term {
                Term::Value(value) => Some(value),
                Term::Any | Term::Var(_) => None,
            });
            self.report_possible(arguments, given, env, found)
        })
    }

    /// Reports a possible answer from a fact or row of which only some values are known.
    fn report_possible(
        &mut self,
        arguments: &'a [FormTerm],
        given: impl Iterator<Item = Option<&'a Value>>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        let mut filled: Vec<usize> = Vec::new();
        let mut fits = true;
        for (argument, given) in arguments.iter().zip(given) {
            let Some(given) = given else { continue };
            fits &= match argument {
                FormTerm::Any => true,
                FormTerm::Value(wanted) => wanted == given,
                FormTerm::Slot(slot) => match env[*slot] {
                    Some(known) => known == given,
                    None => {
                        env[*slot] = Some(given);
                        filled.push(*slot);
                        true
                    }
                },
            };
        }
        let is_enough = fits && found(env, true);
        filled.into_iter().for_each(|slot| env[slot] = None);
        is_enough
    }

    /// Fills slots with values and continues, if they agree with the slots that are already filled.
    fn unify_values(
        &mut self,
        arguments: &'a [FormTerm],
        values: &'a [Value],
        rest: PendingSteps<'_, 'a>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        // The slots filled here, as bits: a formula has few.
        let mut filled: u64 = 0;
        let mut fits = true;
        for (argument, value) in arguments.iter().zip(values) {
            fits = match argument {
                FormTerm::Any => true,
                FormTerm::Value(wanted) => wanted == value,
                FormTerm::Slot(slot) => match env[*slot] {
                    Some(known) => known == value,
                    None => {
                        env[*slot] = Some(value);
                        filled |= 1 << (*slot & 63);
                        true
                    }
                },
            };
            if !fits {
                break;
            }
        }
        let is_enough = fits && self.take_steps(rest, env, found);
        for argument in arguments {
            if let FormTerm::Slot(slot) = argument
                && filled >> (*slot & 63) & 1 == 1
            {
                env[*slot] = None;
                filled &= !(1 << (*slot & 63));
            }
        }
        is_enough
    }

    fn match_rows(
        &mut self,
        table: usize,
        columns: &'a [FormTerm],
        bound: u32,
        rest: PendingSteps<'_, 'a>,
        env: &mut SlotValues<'a>,
        found: &mut AnswerCallback<'a, '_>,
    ) -> bool {
        let (store, now) = (self.store, self.now);
        let Some(table) = &store.tables[table] else { return false };
        self.is_doubtful |= table.is_full;
        for doubt in table.partial_rows(now) {
            if self.report_possible(columns, doubt.iter().map(Option::as_ref), env, found) {
                return true;
            }
        }
        let of_column = columns.iter().enumerate().filter(|(column, _)| bound >> column & 1 == 1);
        let places = (bound != 0)
            .then(|| table.find_rows(of_column.filter_map(|(_, argument)| term_value(argument, env)), bound));
        let mut take = |row: &'a Row| {
            self.work.charge(1);
            let before = self.maybe;
            let Some(maybe) = row.possible_within(table.interval, now) else { return false };
            self.maybe |= maybe;
            let is_enough = self.unify_values(columns, &row.values, rest, env, found);
            self.maybe = before;
            is_enough
        };
        match places {
            None => table.iter().any(|(_, row)| take(row)),
            Some(mut places) => places.any(|place| table.row(place).is_some_and(&mut take)),
        }
    }

    fn quantity(&mut self, quota: &'a PlannedAmount, env: &SlotValues<'a>) -> Quantity {
        match quota {
            PlannedAmount::Term(argument) => term_value(argument, env).map_or(Quantity::Nothing, Quantity::from_value),
            PlannedAmount::Computed(sign, left, right) => {
                let (left, right) = (self.quantity(left, env), self.quantity(right, env));
                Quantity::compute(*sign, &left, &right)
            }
            PlannedAmount::AggregateTable { table, group } => {
                let key = group.iter().map(|slot| env[*slot]);
                match &self.store.tables[*table] {
                    Some(table) if key.clone().all(|value| value.is_some()) => table.quantity(key.flatten(), self.now),
                    _ => Quantity::Unknown,
                }
            }
        }
    }
}

fn term_value<'a>(argument: &'a FormTerm, env: &SlotValues<'a>) -> Option<&'a Value> {
    match argument {
        FormTerm::Any => None,
        FormTerm::Value(value) => Some(value),
        FormTerm::Slot(slot) => env[*slot],
    }
}

//! Answers questions: from the facts at hand, and then by look-ups.

use super::Data;
use super::form::Argument;
use super::plan::{Quota, Step};
use super::store::{Stamp, Store};
use crate::facts::Facts;
use crate::measure::Quantity;
use crate::term::{Term, Value};

/// The values of slots.
pub(super) type Env = Vec<Option<Value>>;

/// Answers questions about one position.
pub(super) struct Solver<'a> {
    pub(super) data: &'a Data,
    pub(super) store: &'a Store,
    pub(super) facts: &'a Facts,
    pub(super) now: Stamp,
    /// Something was looked at of which nobody can tell whether there is more of it.
    pub(super) is_doubtful: bool,
    /// The answer at hand depends on something that nobody can tell.
    maybe: bool,
}

/// Is given the slots of an answer, and whether it is only possible; says whether that is enough.
pub(super) type Found<'f> = dyn FnMut(&mut Env, bool) -> bool + 'f;

impl<'a> Solver<'a> {
    pub(super) fn new(data: &'a Data, store: &'a Store, facts: &'a Facts, now: Stamp) -> Solver<'a> {
        Solver { data, store, facts, now, is_doubtful: store.is_full, maybe: false }
    }
}

/// Steps still to be taken, and those after them.
#[derive(Clone, Copy)]
struct Todo<'p> {
    steps: &'p [Step],
    then: Option<&'p Todo<'p>>,
}

impl Solver<'_> {
    /// Calls a function for every answer, with the slots filled in, until it says that it is enough.
    pub(super) fn run(&mut self, plan: &[Step], env: &mut Env, found: &mut Found<'_>) -> bool {
        self.go(Todo { steps: plan, then: None }, env, found)
    }

    /// Whether there is an answer; none if there is only a possible one.
    pub(super) fn ask(&mut self, plan: &[Step], env: &mut Env) -> Option<bool> {
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

    /// Goes on, with a doubt or without.
    fn perhaps(&mut self, doubts: bool, rest: Todo<'_>, env: &mut Env, found: &mut Found<'_>) -> bool {
        let before = self.maybe;
        self.maybe |= doubts;
        let is_enough = self.go(rest, env, found);
        self.maybe = before;
        is_enough
    }

    fn go(&mut self, todo: Todo<'_>, env: &mut Env, found: &mut Found<'_>) -> bool {
        let Some((step, rest)) = todo.steps.split_first() else {
            return match todo.then {
                Some(then) => self.go(*then, env, found),
                None => found(env, self.maybe),
            };
        };
        let rest = Todo { steps: rest, then: todo.then };
        match step {
            Step::Fact { name, arguments } => self.fact(*name, arguments, rest, env, found),
            Step::Row { table, columns, bound } => self.row(*table, columns, *bound, rest, env, found),
            Step::Terms(comparison, left, right) => {
                let holds = match (value(left, env), value(right, env)) {
                    (Some(left), Some(right)) => comparison.holds(left, right),
                    _ => false,
                };
                holds && self.go(rest, env, found)
            }
            Step::Measures(comparison, left, right) => {
                let (left, right) = (self.quantity(left, env), self.quantity(right, env));
                match Quantity::compare(*comparison, &left, &right) {
                    Some(true) => self.go(rest, env, found),
                    Some(false) => false,
                    None => self.perhaps(true, rest, env, found),
                }
            }
            Step::Assign(slot, argument) => {
                let Some(given) = value(argument, env).cloned() else { return false };
                let before = env[*slot].replace(given);
                let is_enough = self.go(rest, env, found);
                env[*slot] = before;
                is_enough
            }
            Step::Deny(plan) => {
                let answer = self.ask(plan, env);
                answer != Some(true) && self.perhaps(answer.is_none(), rest, env, found)
            }
            // What a branch gives values, the steps behind it may use.
            Step::Either(plans) => {
                plans.iter().any(|plan| self.go(Todo { steps: plan, then: Some(&rest) }, env, found))
            }
            Step::Fail => false,
        }
    }

    fn fact(
        &mut self,
        name: usize,
        arguments: &[Argument],
        rest: Todo<'_>,
        env: &mut Env,
        found: &mut Found<'_>,
    ) -> bool {
        let name = &self.data.names[name];
        let facts = self.facts;
        for fact in facts.known.iter().filter(|fact| fact.name == *name && arguments.len() <= fact.values.len()) {
            if self.unified(arguments, &fact.values, rest, env, found) {
                return true;
            }
        }
        let might = |terms: &[Term]| {
            arguments.iter().zip(terms).all(|(argument, term)| match (value(argument, env), term) {
                (Some(value), Term::Value(given)) => value == given,
                _ => true,
            })
        };
        self.is_doubtful |= facts.unknown.iter().any(|atom| atom.name == *name && might(&atom.terms));
        false
    }

    /// Goes on with what values give slots, if they agree with what is there.
    fn unified(
        &mut self,
        arguments: &[Argument],
        values: &[Value],
        rest: Todo<'_>,
        env: &mut Env,
        found: &mut Found<'_>,
    ) -> bool {
        // The slots that are filled in here, as bits: a formula has few.
        let mut filled: u64 = 0;
        let mut fits = true;
        for (argument, value) in arguments.iter().zip(values) {
            fits = match argument {
                Argument::Any => true,
                Argument::Value(wanted) => wanted == value,
                Argument::Slot(slot) => match &env[*slot] {
                    Some(known) => known == value,
                    None => {
                        env[*slot] = Some(value.clone());
                        filled |= 1 << (*slot & 63);
                        true
                    }
                },
            };
            if !fits {
                break;
            }
        }
        let is_enough = fits && self.go(rest, env, found);
        for argument in arguments {
            if let Argument::Slot(slot) = argument
                && filled >> (*slot & 63) & 1 == 1
            {
                env[*slot] = None;
                filled &= !(1 << (*slot & 63));
            }
        }
        is_enough
    }

    fn row(
        &mut self,
        table: usize,
        columns: &[usize],
        bound: u32,
        rest: Todo<'_>,
        env: &mut Env,
        found: &mut Found<'_>,
    ) -> bool {
        let (store, now) = (self.store, self.now);
        let table = &store.tables[table];
        self.is_doubtful |= table.is_doubtful(now);
        let is_bound = |column: usize| bound >> column & 1 == 1;
        let of_column = columns.iter().enumerate().filter(|(column, _)| is_bound(*column));
        let key: Vec<Value> = of_column.filter_map(|(_, slot)| env[*slot].clone()).collect();
        let arguments: Vec<Argument> = columns.iter().map(|slot| Argument::Slot(*slot)).collect();
        table.rows(&key, bound).into_iter().any(|row| {
            let before = self.maybe;
            let Some(maybe) = row.within(table.interval, now) else { return false };
            self.maybe |= maybe;
            let is_enough = self.unified(&arguments, &row.values, rest, env, found);
            self.maybe = before;
            is_enough
        })
    }

    fn quantity(&mut self, quota: &Quota, env: &Env) -> Quantity {
        match quota {
            Quota::Term(argument) => value(argument, env).map_or(Quantity::Nothing, Quantity::of),
            Quota::Computed(sign, left, right) => {
                let (left, right) = (self.quantity(left, env), self.quantity(right, env));
                Quantity::computed(*sign, &left, &right)
            }
            Quota::Gathered { table, group } => {
                let table = &self.store.tables[*table];
                if table.is_doubtful(self.now) {
                    return Quantity::Unknown;
                }
                let key: Option<Vec<Value>> = group.iter().map(|slot| env[*slot].clone()).collect();
                key.map_or(Quantity::Unknown, |key| table.gathered(&key, self.now))
            }
        }
    }
}

fn value<'e>(argument: &'e Argument, env: &'e Env) -> Option<&'e Value> {
    match argument {
        Argument::Any => None,
        Argument::Value(value) => Some(value),
        Argument::Slot(slot) => env[*slot].as_ref(),
    }
}

//! Answers questions: from the facts at hand, and then by look-ups.

use std::sync::Arc;

use super::MOST_SLOTS;
use super::form::Argument;
use super::plan::{Quota, Step};
use super::row::Row;
use super::store::{Stamp, Store};
use crate::facts::Facts;
use crate::measure::Quantity;
use crate::observation::{Name, Observation};
use crate::term::{Atom, Term, Value};

/// The values of slots. All of them stand in the facts of the position, in tables or in the formula: none is copied.
pub(super) type Env<'a> = [Option<&'a Value>; MOST_SLOTS];

/// The facts of a position, with names by their number in the property.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Present<'a> {
    /// With names as texts, and what is unknown.
    Facts(&'a Facts, &'a [Arc<str>]),
    /// With the numbers that a watch has given to the property's names.
    Observation(&'a Observation, &'a [Name]),
}

impl<'a> Present<'a> {
    /// Calls a function with the values of each fact of a name, until it says that it is enough.
    fn any(self, name: usize, mut found: impl FnMut(&'a [Value]) -> bool) -> bool {
        match self {
            Present::Facts(facts, names) => {
                facts.known.iter().filter(|fact| fact.name == names[name]).any(|fact| found(&fact.values))
            }
            Present::Observation(observation, names) => (0..observation.len())
                .filter(|place| observation.name(*place) == names[name])
                .any(|place| found(observation.values(place as u32))),
        }
    }

    /// What is unknown of a name.
    fn unknown(self, name: usize) -> impl Iterator<Item = &'a Atom> {
        let (unknown, names) = match self {
            Present::Facts(facts, names) => (&facts.unknown[..], names),
            Present::Observation(..) => (&[][..], &[][..]),
        };
        unknown.iter().filter(move |atom| atom.name == names[name])
    }
}

/// Answers questions about one position.
pub(super) struct Solver<'a> {
    store: &'a Store,
    present: Present<'a>,
    now: Stamp,
    /// There was more than there is room for, so nothing can be told.
    pub(super) is_doubtful: bool,
    /// The answer at hand depends on something that nobody can tell.
    maybe: bool,
}

/// Is given the slots of an answer, and whether it is only possible, and then perhaps not all slots have values; says
/// whether that is enough.
pub(super) type Found<'a, 'f> = dyn FnMut(&mut Env<'a>, bool) -> bool + 'f;

impl<'a> Solver<'a> {
    pub(super) fn new(store: &'a Store, present: Present<'a>, now: Stamp) -> Solver<'a> {
        Solver { store, present, now, is_doubtful: store.is_full, maybe: false }
    }
}

/// Steps still to be taken, and those after them.
#[derive(Clone, Copy)]
struct Todo<'t, 'a> {
    steps: &'a [Step],
    then: Option<&'t Todo<'t, 'a>>,
}

impl<'a> Solver<'a> {
    /// Calls a function for every answer, with the slots filled in, until it says that it is enough.
    pub(super) fn run(&mut self, plan: &'a [Step], env: &mut Env<'a>, found: &mut Found<'a, '_>) -> bool {
        self.go(Todo { steps: plan, then: None }, env, found)
    }

    /// Whether there is an answer; none if there is only a possible one.
    pub(super) fn ask(&mut self, plan: &'a [Step], env: &mut Env<'a>) -> Option<bool> {
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
    fn perhaps(&mut self, doubts: bool, rest: Todo<'_, 'a>, env: &mut Env<'a>, found: &mut Found<'a, '_>) -> bool {
        let before = self.maybe;
        self.maybe |= doubts;
        let is_enough = self.go(rest, env, found);
        self.maybe = before;
        is_enough
    }

    fn go(&mut self, todo: Todo<'_, 'a>, env: &mut Env<'a>, found: &mut Found<'a, '_>) -> bool {
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
                let Some(given) = value(argument, env) else { return false };
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
        arguments: &'a [Argument],
        rest: Todo<'_, 'a>,
        env: &mut Env<'a>,
        found: &mut Found<'a, '_>,
    ) -> bool {
        let present = self.present;
        let is_enough = present
            .any(name, |values| arguments.len() <= values.len() && self.unified(arguments, values, rest, env, found));
        if is_enough {
            return true;
        }
        present.unknown(name).any(|atom| {
            let given = atom.terms.iter().map(|term| match term {
                Term::Value(value) => Some(value),
                Term::Any | Term::Var(_) => None,
            });
            self.open(arguments, given, env, found)
        })
    }

    /// There may be a fact or a row of which only some values are known: then there may be an answer that agrees with
    /// them, and more cannot be said.
    fn open(
        &mut self,
        arguments: &'a [Argument],
        given: impl Iterator<Item = Option<&'a Value>>,
        env: &mut Env<'a>,
        found: &mut Found<'a, '_>,
    ) -> bool {
        let mut filled: Vec<usize> = Vec::new();
        let mut fits = true;
        for (argument, given) in arguments.iter().zip(given) {
            let Some(given) = given else { continue };
            fits &= match argument {
                Argument::Any => true,
                Argument::Value(wanted) => wanted == given,
                Argument::Slot(slot) => match env[*slot] {
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

    /// Goes on with what values give slots, if they agree with what is there.
    fn unified(
        &mut self,
        arguments: &'a [Argument],
        values: &'a [Value],
        rest: Todo<'_, 'a>,
        env: &mut Env<'a>,
        found: &mut Found<'a, '_>,
    ) -> bool {
        // The slots that are filled in here, as bits: a formula has few.
        let mut filled: u64 = 0;
        let mut fits = true;
        for (argument, value) in arguments.iter().zip(values) {
            fits = match argument {
                Argument::Any => true,
                Argument::Value(wanted) => wanted == value,
                Argument::Slot(slot) => match env[*slot] {
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
        columns: &'a [Argument],
        bound: u32,
        rest: Todo<'_, 'a>,
        env: &mut Env<'a>,
        found: &mut Found<'a, '_>,
    ) -> bool {
        let (store, now) = (self.store, self.now);
        let table = &store.tables[table];
        self.is_doubtful |= table.is_full;
        for doubt in table.doubts(now) {
            if self.open(columns, doubt.iter().map(Option::as_ref), env, found) {
                return true;
            }
        }
        let of_column = columns.iter().enumerate().filter(|(column, _)| bound >> column & 1 == 1);
        let places =
            (bound != 0).then(|| table.places(of_column.filter_map(|(_, argument)| value(argument, env)), bound));
        let mut take = |row: &'a Row| {
            let before = self.maybe;
            let Some(maybe) = row.within(table.interval, now) else { return false };
            self.maybe |= maybe;
            let is_enough = self.unified(columns, &row.values, rest, env, found);
            self.maybe = before;
            is_enough
        };
        match places {
            None => table.iter().any(|(_, row)| take(row)),
            Some(mut places) => places.any(|place| table.row(place).is_some_and(&mut take)),
        }
    }

    fn quantity(&mut self, quota: &'a Quota, env: &Env<'a>) -> Quantity {
        match quota {
            Quota::Term(argument) => value(argument, env).map_or(Quantity::Nothing, Quantity::of),
            Quota::Computed(sign, left, right) => {
                let (left, right) = (self.quantity(left, env), self.quantity(right, env));
                Quantity::computed(*sign, &left, &right)
            }
            Quota::Gathered { table, group } => {
                let table = &self.store.tables[*table];
                let key = group.iter().map(|slot| env[*slot]);
                if key.clone().any(|value| value.is_none()) {
                    return Quantity::Unknown;
                }
                table.quantity(key.flatten(), self.now)
            }
        }
    }
}

fn value<'a>(argument: &'a Argument, env: &Env<'a>) -> Option<&'a Value> {
    match argument {
        Argument::Any => None,
        Argument::Value(value) => Some(value),
        Argument::Slot(slot) => env[*slot],
    }
}

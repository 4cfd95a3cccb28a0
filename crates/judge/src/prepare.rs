//! A policy made ready for judging: formulas parsed, monitors built, the labeler planned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_logic::{After, Arena, CacheLimits, Formula, Interval, Monitor, MonitorId, Node, Prover, Spelling, Unary};

use super::monitor_group::MonitorGroup;
use crate::label::{NameId, Plan, collect_names};
use lictor_json::Text;
use lictor_policy::{History, Policy, Problem, Property, Suppression};

/// A policy made ready for judging.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) name: Text,
    pub(crate) properties: Vec<Arc<Property>>,
    pub(crate) suppressions: Vec<Suppression>,
    pub(crate) formulas: Vec<Parsed>,
    /// The monitor of each property in the panel of its history.
    pub(crate) monitors: Vec<MonitorId>,
    pub(crate) plan: Plan,
    /// For each name of facts, whether properties with a history beyond the session ask for it.
    pub(crate) wide: Vec<bool>,
}

/// The formula of a property.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) arena: Arena,
    pub(crate) formula: Formula,
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) after: After,
    pub(crate) is_timed: bool,
    /// Whether it has a bound in time anywhere, also where nothing falls due by it.
    pub(crate) measures_time: bool,
    /// Whether it tells one position from the next even where nothing happens.
    pub(crate) counts_positions: bool,
    /// For `always f` with an `f` about the past and the present: that `f` holds at the last event of a finite trace.
    pub(crate) at_last: Option<(Arena, Formula)>,
}

impl Parsed {
    /// The names of the facts it asks for.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut names = BTreeSet::new();
        collect_names(&self.arena, self.formula, &mut names);
        names.into_iter().collect()
    }
}

/// The properties by whose events they are judged over.
pub(super) type MonitorGroups = BTreeMap<History, MonitorGroup>;

impl Prepared {
    pub(super) fn new(policy: &Policy, limits: CacheLimits) -> Result<(Prepared, MonitorGroups), Vec<Problem>> {
        let mut groups = MonitorGroups::from([(History::Session, MonitorGroup::new(limits))]);
        let (mut problems, mut formulas, mut monitors) = (Vec::new(), Vec::new(), Vec::new());
        let mut wide = BTreeSet::new();
        for (number, property) in policy.properties.iter().enumerate() {
            match monitor(property) {
                Ok((monitor, arena, formula)) => {
                    let (variables, is_timed) = (monitor.variables().to_vec(), monitor.is_timed());
                    if property.history != History::Session {
                        collect_names(&arena, formula, &mut wide);
                    }
                    let at_last = at_last(&arena, formula);
                    let (measures_time, counts_positions) =
                        (has(&arena, formula, &Node::measures_time), has(&arena, formula, &counts_positions));
                    let after = property.after;
                    formulas.push(Parsed {
                        arena,
                        formula,
                        variables,
                        after,
                        is_timed,
                        measures_time,
                        counts_positions,
                        at_last,
                    });
                    let group = groups.entry(property.history).or_insert_with(|| MonitorGroup::new(limits));
                    monitors.push(group.add(number, monitor, property.after));
                }
                Err(message) => problems.push(Problem::new(&property.place, "policy.formula", message)),
            }
        }
        let asked: Vec<(&Arena, Formula)> = formulas.iter().map(|parsed| (&parsed.arena, parsed.formula)).collect();
        let plan = match Plan::new(policy, &asked) {
            Ok(plan) if problems.is_empty() => plan,
            Ok(_) => return Err(problems),
            Err(problem) => {
                problems.push(*problem);
                return Err(problems);
            }
        };
        groups.values_mut().for_each(|group| group.learn(&plan));
        let wide = plan.names.iter().map(|name| wide.contains(name)).collect();
        let prepared = Prepared {
            name: policy.name.clone(),
            properties: policy.properties.clone(),
            suppressions: policy.suppressions.clone(),
            formulas,
            monitors,
            plan,
            wide,
        };
        Ok((prepared, groups))
    }

    /// The names of the facts that a property asks for.
    pub(crate) fn asked(&self, property: usize) -> Vec<NameId> {
        self.formulas[property].names().iter().filter_map(|name| self.plan.id(name)).collect()
    }
}

/// That an invariant holds at the last position.
fn at_last(arena: &Arena, formula: Formula) -> Option<(Arena, Formula)> {
    let (variables, body) = arena.invariant(formula)?;
    let body = arena.show(body, Spelling::Ascii).to_string();
    let names: Vec<&str> = variables.iter().map(|name| &**name).collect();
    let quantifier = if names.is_empty() { String::new() } else { format!("forall {}. ", names.join(", ")) };
    let mut arena = Arena::new();
    let formula = arena.parse(&format!("eventually ((weak_next false) & ({quantifier}({body})))")).ok()?;
    Some((arena, formula))
}

/// Whether a formula has a part of some sort.
fn has(arena: &Arena, formula: Formula, sort: &dyn Fn(&Node) -> bool) -> bool {
    sort(&arena[formula]) || arena[formula].operands().iter().any(|operand| has(arena, *operand, sort))
}

/// What tells one position from the next even where nothing happens: `next`, a bound in positions; and what counts, for a
/// fact that holds at two positions counts twice.
fn counts_positions(node: &Node) -> bool {
    let is_bounded = |interval: &Interval| !interval.is_time() && !interval.is_unbounded();
    match node {
        Node::Unary(Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious, ..) => true,
        Node::Unary(_, interval, _) | Node::Binary(_, interval, ..) => is_bounded(interval),
        Node::Measure(..) => true,
        _ => false,
    }
}

fn monitor(property: &Property) -> Result<(Monitor, Arena, Formula), String> {
    let mut arena = Arena::new();
    let formula = arena.parse(&property.formula).map_err(|errors| errors.to_string())?;
    let monitor = match property.after {
        After::Each => Monitor::each(&arena, formula),
        After::Latch | After::Reset => Monitor::new(&arena, formula),
    };
    Ok((monitor.map_err(|error| error.to_string())?, arena, formula))
}

/// What finds the witnesses of each property, once it was needed.
#[derive(Debug)]
pub(crate) struct Provers {
    pub(crate) prepared: Arc<Prepared>,
    provers: Vec<Option<Prover>>,
}

impl Provers {
    pub(super) fn new(prepared: Arc<Prepared>) -> Provers {
        Provers { provers: prepared.formulas.iter().map(|_| None).collect(), prepared }
    }

    /// None if the formula has no witnesses.
    pub(crate) fn of(&mut self, property: usize) -> Option<&mut Prover> {
        let prover = &mut self.provers[property];
        if prover.is_none() {
            let parsed = &self.prepared.formulas[property];
            *prover = match parsed.after {
                After::Each => Prover::each(&parsed.arena, parsed.formula),
                After::Latch | After::Reset => Prover::new(&parsed.arena, parsed.formula),
            };
        }
        prover.as_mut()
    }
}

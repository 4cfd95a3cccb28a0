//! A policy made ready for judging: formulas parsed, monitors built, the labeler planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{After, Arena, Formula, Monitor, MonitorId, Watch};

use crate::json::Text;
use crate::label::{Plan, collect_names};
use crate::policy::{Policy, Problem, Property, Suppression};

/// A policy made ready for judging.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) name: Text,
    pub(crate) properties: Vec<Arc<Property>>,
    pub(crate) suppressions: Vec<Suppression>,
    pub(crate) formulas: Vec<Parsed>,
    pub(crate) monitors: Vec<MonitorId>,
    pub(crate) plan: Plan,
    /// Some property has a bound in time.
    pub(crate) is_timed: bool,
}

/// The formula of a property.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) arena: Arena,
    pub(crate) formula: Formula,
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) after: After,
    pub(crate) is_timed: bool,
}

impl Parsed {
    /// The names of the facts it asks for.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut names = BTreeSet::new();
        collect_names(&self.arena, self.formula, &mut names);
        names.into_iter().collect()
    }
}

impl Prepared {
    pub(crate) fn new(policy: &Policy) -> Result<(Prepared, Watch), Vec<Problem>> {
        let mut watch = Watch::new();
        let mut problems = Vec::new();
        let mut formulas = Vec::new();
        let mut monitors = Vec::new();
        for property in &policy.properties {
            match monitor(property) {
                Ok((monitor, arena, formula)) => {
                    let (variables, is_timed) = (monitor.variables().to_vec(), monitor.is_timed());
                    formulas.push(Parsed { arena, formula, variables, after: property.after, is_timed });
                    monitors.push(watch.add(monitor, property.after));
                }
                Err(message) => problems.push(Problem::at(&property.place, "policy.formula", message)),
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
        let prepared = Prepared {
            name: policy.name.clone(),
            properties: policy.properties.clone(),
            suppressions: policy.suppressions.clone(),
            is_timed: formulas.iter().any(|parsed| parsed.is_timed),
            formulas,
            monitors,
            plan,
        };
        Ok((prepared, watch))
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

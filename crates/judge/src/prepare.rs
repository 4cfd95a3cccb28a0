//! Compiles a policy for judging: parses formulas, builds monitors, plans the labeler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use lictor_logic::{Arena, BeliefMonitor, CacheLimits, Formula, Interval, Monitor, Node, Unary};

use super::monitor_group::MonitorGroup;
use super::prepared::{PreparedPolicy, PropertyFormula};
use crate::facts::{Plan, collect_names};
use crate::identity::Identity;
use crate::risk::RiskGroup;
use crate::text_mask::MaskedTexts;
use lictor_json::Text;
use lictor_policy::{History, Policy, Problem, Property};

/// The properties by the history they are judged over.
pub(super) type MonitorGroups = BTreeMap<History, MonitorGroup>;

/// Compiles a policy. Returns the problems of all properties that cannot be judged.
pub(super) fn prepare(
    policy: &Policy,
    limits: CacheLimits,
) -> Result<(PreparedPolicy, MonitorGroups, RiskGroup), Vec<Problem>> {
    let (mut risks, limits) = (RiskGroup::default(), policy.limits.raise(limits));
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
                let (measures_time, counts_positions) =
                    (has(&arena, formula, &Node::measures_time), has(&arena, formula, &counts_positions));
                if let Some(threshold) = property.risk {
                    match BeliefMonitor::new(monitor.clone()) {
                        Ok(belief) => risks.add(number, property, threshold, belief),
                        Err(error) => {
                            problems.push(Problem::new(&property.place, "policy.risk", error.to_string()));
                        }
                    }
                }
                let after = property.after;
                formulas.push(PropertyFormula {
                    arena,
                    formula,
                    variables,
                    after,
                    is_timed,
                    measures_time,
                    counts_positions,
                });
                let group = groups.entry(property.history).or_insert_with(|| MonitorGroup::new(limits));
                monitors.push(group.add(number, monitor));
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
    let asked = formulas.iter().map(|it| it.names().iter().filter_map(|name| plan.id(name)).collect()).collect();
    let prepared = PreparedPolicy {
        id: Identity::new(),
        name: policy.name.clone(),
        properties: policy.properties.clone(),
        suppressions: policy.suppressions.clone(),
        steering: policy.steering,
        base: policy.clone(),
        formulas,
        monitors,
        plan,
        wide,
        asked,
        called_by: find_callers(policy),
        scope: OnceLock::new(),
        masked: MaskedTexts::default(),
    };
    Ok((prepared, groups, risks))
}

/// Returns the tools whose calls have a fact that the policy defines, by the fact. Names with `*` are left out.
fn find_callers(policy: &Policy) -> BTreeMap<Text, Vec<Text>> {
    let mut callers: BTreeMap<Text, Vec<Text>> = BTreeMap::new();
    for definition in &policy.facts {
        let triggers = definition.cases.iter().flat_map(|case| &case.on).filter(|it| it.kind == "tool_call");
        for tool in triggers.filter_map(|trigger| trigger.tool.as_ref()).filter(|tool| !tool.contains('*')) {
            let tools = callers.entry(definition.name.clone()).or_default();
            if !tools.contains(tool) {
                tools.push(tool.clone());
            }
        }
    }
    callers
}

/// Whether a formula has a node that matches.
fn has(arena: &Arena, formula: Formula, sort: &dyn Fn(&Node) -> bool) -> bool {
    sort(&arena[formula]) || arena[formula].operands().iter().any(|operand| has(arena, *operand, sort))
}

/// Whether an additional empty position can change the node: `next`, bounds in positions, and counts, as a fact that
/// holds at two positions counts twice.
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
    let monitor = Monitor::with_after(&arena, formula, property.after);
    Ok((monitor.map_err(|error| error.to_string())?, arena, formula))
}

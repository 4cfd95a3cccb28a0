//! Beliefs of a quantified formula: one for each binding of values, and one for all the values never seen.
//!
//! A position touches the bindings whose values occur in its facts, certain or not. Each of them reads letters of its
//! own; all others read one, and bindings with equal distributions move together. A value that was never seen begins
//! with the distribution of all such values.
//!
//! The distributions of two bindings are independent as long as no doubtful choice is read by both and none begins with
//! a doubt of another. After that only the bounds that hold under any dependence are reported.

use rustc_hash::FxHashMap;

use super::BindingRisk;
use super::combine::{MemberChance, MemberRisk};
use super::distribution::{BrokenMass, Distribution, PointStepper};
use super::groups::{GroupId, Groups};
use super::letters::{WeightedLetter, weigh_letters};
use crate::cache::Cache;
use crate::cells::{CellId, Cells, binding_mask, binding_part};
use crate::chance::{Chance, ChanceRange, Choice, ONE};
use crate::facts::{Fact, Facts};
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::population::join;
use crate::probe::{Binding, Probe};
use crate::state::Point;
use crate::touch::{BindingSet, collect_named_in, collect_named_in_facts};
use crate::value::Value;

/// The beliefs of all bindings.
#[derive(Clone, Debug)]
pub(super) struct BindingBeliefs {
    pub(super) populations: Vec<BeliefPopulation>,
    /// Whether bindings may depend on each other by a doubt that they share.
    pub(super) is_shared: bool,
}

/// The bindings of one valuation of the rigid comparisons.
#[derive(Clone, Debug)]
pub(super) struct BeliefPopulation {
    pub(super) valuation: usize,
    /// Whether values that were never seen give this valuation.
    pub(super) is_realised: bool,
    pub(super) start: Point,
    pub(super) unseen: GroupId,
    pub(super) cells: Cells,
    pub(super) groups: Groups,
    /// Certain letters that leave all bindings as they are, and violate none.
    pub(super) quiet: Vec<(u64, u64)>,
}

/// What rounding may lose in a long trace. A binding is not named for it alone.
const MAX_ROUNDED: u64 = ONE >> 32;

/// How many quiet letters are remembered.
const MAX_QUIET_LETTERS: usize = 4;

/// What a position, or a deadline, does to all bindings.
#[derive(Debug, Default)]
pub(super) struct MemberRisks {
    pub(super) members: Vec<MemberRisk>,
    /// The bindings that it may violate, each with its own risk.
    pub(super) bindings: Vec<BindingRisk>,
}

impl BindingBeliefs {
    pub(super) fn new(monitor: &Monitor, cache: &mut Cache) -> BindingBeliefs {
        let rigid = &monitor.compiled.rigid;
        let populations = rigid.valuations().map(|valuation| {
            let start = cache.start(&monitor.compiled.skeleton, valuation);
            let mut population = BeliefPopulation::new(monitor, valuation, start);
            for binding in rigid.constant_bindings(valuation) {
                let group = population.groups.enter(Distribution::single(population.start.clone()));
                population.cells.insert(&binding, group);
            }
            population
        });
        BindingBeliefs { populations: populations.collect(), is_shared: false }
    }

    /// Expires the deadlines before a time. Returns what that does to bindings.
    pub(super) fn expire(&mut self, monitor: &Monitor, cache: &mut Cache, time: Time) -> MemberRisks {
        let mut risks = MemberRisks::default();
        for population in &mut self.populations {
            let start = &population.start.clone();
            let mut stepper = PointStepper { monitor, cache, start, time };
            if !population.groups.occupied().any(|(_, _, distribution)| stepper.expires(distribution)) {
                continue;
            }
            population.quiet.clear();
            let change = |distribution: &mut Distribution| stepper.expire(distribution);
            population.change_groups(change, &[], &mut risks);
        }
        risks
    }

    /// Reads a position. Returns what it does to bindings.
    pub(super) fn step(
        &mut self,
        monitor: &Monitor,
        cache: &mut Cache,
        time: Time,
        (facts, choices): (&Facts, &[&Choice]),
    ) -> MemberRisks {
        let background: Vec<Option<Value>> = vec![None; monitor.compiled.prefix.len()];
        let read = |binding: &Binding| {
            let choices: Vec<&Choice> =
                choices.iter().copied().filter(|choice| can_read(monitor, choice, binding)).collect();
            weigh_letters(monitor, facts, &choices, binding)
        };
        let named = collect_possible(monitor, facts, choices);
        let touched: Vec<BindingSet> =
            self.populations.iter().map(|population| population.collect_touched(monitor, &named)).collect();
        for choice in choices.iter().filter(|choice| is_doubtful(choice)) {
            let readers = touched.iter().flatten().filter(|binding| can_read(monitor, choice, binding)).count();
            let is_read_by_others = can_read(monitor, choice, &background)
                && (self.populations.len() > 1
                    || self.populations.iter().any(|it| it.cells.len() > 0)
                    || touched.iter().any(|touched| !touched.is_empty()));
            self.is_shared |= readers > 1 || is_read_by_others;
        }
        let others = read(&background);
        let mut risks = MemberRisks::default();
        for (population, touched) in self.populations.iter_mut().zip(touched) {
            let letters = touched.iter().map(|binding| read(binding)).collect();
            self.is_shared |= population.step(monitor, cache, time, (touched, letters), &others, &mut risks);
        }
        risks
    }

    /// Returns the chances of all bindings.
    pub(super) fn chances(&self, mut range: impl FnMut(&Distribution) -> ChanceRange) -> Vec<MemberChance> {
        let mut list = Vec::new();
        for population in &self.populations {
            for (group, members, distribution) in population.groups.occupied() {
                let members = population.count_realised(group, members);
                list.push(MemberChance { members, range: range(distribution) });
            }
        }
        list
    }

    /// Returns the bindings that an open fact may touch, with the points that have a weight.
    pub(super) fn touched_states(&self, monitor: &Monitor, facts: &Facts) -> Vec<(Box<Binding>, Point)> {
        let named = collect_named_in_facts(monitor, facts);
        let mut states = Vec::new();
        for population in &self.populations {
            for binding in population.collect_touched(monitor, &named) {
                let points = population.groups.distribution(population.find_group(&binding, false)).points.iter();
                states.extend(points.map(|weighted| (binding.clone(), weighted.point.clone())));
            }
        }
        states
    }
}

impl BeliefPopulation {
    /// Returns the beliefs of a valuation, before any value was seen.
    pub(super) fn new(monitor: &Monitor, valuation: usize, start: Point) -> BeliefPopulation {
        let width = monitor.compiled.prefix.len();
        let mut groups = Groups::default();
        let unseen = groups.enter(Distribution::single(start.clone()));
        let is_realised = monitor.compiled.rigid.is_realised_by_unseen(valuation);
        let cells = Cells::new(width, Vec::new());
        BeliefPopulation { valuation, is_realised, start, unseen, cells, groups, quiet: Vec::new() }
    }

    /// Returns how many members of a group some values give.
    fn count_realised(&self, group: GroupId, members: u64) -> u64 {
        members - u64::from(!self.is_realised && self.groups.find(self.unseen) == group)
    }

    /// Returns the bindings of this valuation that a position touches: those it names, and their joins with others.
    fn collect_touched(&self, monitor: &Monitor, named: &BindingSet) -> BindingSet {
        let mut bindings = named.clone();
        let width = monitor.compiled.prefix.len();
        let mut next = 0;
        while let Some(binding) = bindings.get_index(next).filter(|_| width > 1).cloned() {
            next += 1;
            // A binding of all variables joins with nothing that it does not have.
            if binding.iter().all(Option::is_some) {
                continue;
            }
            let stored = self.cells.iter().map(|cell| self.cells.key(cell));
            let joined: Vec<_> =
                stored.chain(named.iter().map(|it| &**it)).filter_map(|it| join(&binding, it)).collect();
            bindings.extend(joined);
        }
        let rigid = &monitor.compiled.rigid;
        bindings.retain(|binding| rigid.compatible_valuations(binding).contains(&self.valuation));
        bindings
    }

    /// Returns the group of a binding: that of the most specific stored one below it; `strictly` leaves out itself.
    fn find_group(&self, binding: &Binding, strictly: bool) -> GroupId {
        let mask = binding_mask(binding);
        let mut parts: Vec<u32> =
            (1..=mask).filter(|part| part & mask == *part && !(strictly && *part == mask)).collect();
        // Stored bindings are closed under union, so the largest part that is stored is unique.
        parts.sort_by_key(|part| std::cmp::Reverse(part.count_ones()));
        let stored = parts.into_iter().find_map(|part| self.cells.find(&binding_part(binding, part)));
        self.groups.find(stored.map_or(self.unseen, |cell| self.cells.class(cell)))
    }

    /// Changes the distributions of all bindings but the moved ones, and adds what that does to them.
    fn change_groups(
        &mut self,
        mut change: impl FnMut(&mut Distribution) -> BrokenMass,
        moved: &[CellId],
        risks: &mut MemberRisks,
    ) {
        let hidden = (!self.is_realised).then(|| self.groups.find(self.unseen));
        let unseen = self.groups.find(self.unseen);
        let mut changed: FxHashMap<GroupId, ChanceRange> = FxHashMap::default();
        self.groups.change_all(|group, members, distribution| {
            let members = members - u64::from(hidden == Some(group));
            let risk = change_members(distribution, members, &mut change);
            if members > 0 && risk.is_named {
                changed.insert(group, risk.risk);
            }
            risks.members.push(risk);
        });
        if changed.is_empty() {
            return;
        }
        if let Some(risk) = changed.get(&unseen).filter(|_| self.is_realised) {
            risks.bindings.push((vec![None; self.cells.width()], *risk));
        }
        for cell in self.cells.iter().filter(|cell| !moved.contains(cell)) {
            let group = self.groups.find_first(self.cells.class(cell), |group| changed.contains_key(&group));
            if let Some(risk) = group.and_then(|group| changed.get(&group)) {
                risks.bindings.push((self.cells.key(cell).to_vec(), *risk));
            }
        }
    }

    /// Steps touched bindings by their letters and all others by those of the background, and adds what the position
    /// does to them. Returns whether a binding begins with the doubt of others.
    fn step(
        &mut self,
        monitor: &Monitor,
        cache: &mut Cache,
        time: Time,
        (touched, letters): (BindingSet, Vec<Vec<WeightedLetter>>),
        others: &[WeightedLetter],
        risks: &mut MemberRisks,
    ) -> bool {
        let mut inherits_doubt = false;
        let mut moves: Vec<(Box<Binding>, Option<CellId>, Distribution)> = Vec::with_capacity(touched.len());
        let start = &self.start.clone();
        let mut stepper = PointStepper { monitor, cache, start, time };
        for (binding, letters) in touched.into_iter().zip(letters) {
            let cell = self.cells.find(&binding);
            let mut distribution = self.groups.distribution(self.find_group(&binding, false)).clone();
            inherits_doubt |= cell.is_none() && distribution.is_doubtful();
            let risk = change_members(&mut distribution, 1, |distribution| stepper.step(distribution, &letters));
            if risk.is_named {
                risks.bindings.push((binding.to_vec(), risk.risk));
            }
            risks.members.push(risk);
            moves.push((binding, cell, distribution));
        }
        let left: Vec<CellId> = moves.iter().filter_map(|(_, cell, _)| *cell).collect();
        for cell in &left {
            self.groups.leave(self.cells.class(*cell));
        }
        if self.is_quiet(&mut stepper, others) {
            let resting = self.groups.occupied().map(|(group, members, distribution)| {
                let members = self.count_realised(group, members);
                member_risk(members, distribution.violated(), stepper.rest(distribution), distribution.lost)
            });
            risks.members.reserve(self.groups.len());
            risks.members.extend(resting);
        } else {
            self.change_groups(|distribution| stepper.step(distribution, others), &left, risks);
            self.quiet.clear();
        }
        for (_, _, distribution) in &moves {
            self.quiet.retain(|(bits, unknown)| {
                stepper.rests(distribution, &WeightedLetter { bits: *bits, unknown: *unknown, weight: ONE })
            });
        }
        let mut moved: Vec<CellId> = Vec::with_capacity(moves.len());
        for (binding, cell, distribution) in moves {
            let group = self.groups.enter(distribution);
            moved.push(match cell {
                Some(cell) => {
                    self.cells.assign(cell, group);
                    cell
                }
                None => self.cells.insert(&binding, group),
            });
        }
        // In reverse, because `Cells` finds the last ones first.
        moved.into_iter().rev().for_each(|cell| self.forget_if_unseen(monitor, cell));
        if self.groups.is_sparse() {
            self.regroup();
        }
        inherits_doubt
    }

    /// Whether the letters of the background are one, and it leaves all bindings in groups as they are.
    fn is_quiet(&mut self, stepper: &mut PointStepper<'_>, others: &[WeightedLetter]) -> bool {
        let [letter] = others else { return false };
        let key = (letter.bits, letter.unknown);
        if letter.weight != ONE {
            return false;
        }
        if self.quiet.contains(&key) {
            return true;
        }
        if !self.groups.occupied().all(|(_, _, distribution)| stepper.rests(distribution, letter)) {
            return false;
        }
        if self.quiet.len() == MAX_QUIET_LETTERS {
            self.quiet.remove(0);
        }
        self.quiet.push(key);
        true
    }

    /// Removes the cell of a binding that is certain to be where its values would be unseen.
    fn forget_if_unseen(&mut self, monitor: &Monitor, cell: CellId) {
        let group = self.groups.find(self.cells.class(cell));
        let key = self.cells.key(cell);
        let is_certain = !self.groups.distribution(group).is_doubtful();
        let may_go = is_certain && monitor.compiled.rigid.is_trivial() && key.iter().all(Option::is_some);
        if may_go && self.find_group(key, true) == group {
            self.groups.leave(group);
            self.cells.remove(cell);
        }
    }

    /// Numbers the groups anew, without those that are not in use.
    fn regroup(&mut self) {
        let mut groups = Groups::default();
        let unseen = groups.enter(self.groups.distribution(self.unseen).clone());
        let cells: Vec<CellId> = self.cells.iter().collect();
        for cell in cells {
            let group = groups.enter(self.groups.distribution(self.cells.class(cell)).clone());
            self.cells.assign(cell, group);
        }
        (self.groups, self.unseen) = (groups, unseen);
    }
}

/// Changes the distribution of bindings that move alike, and returns what that does to them.
fn change_members(
    distribution: &mut Distribution,
    members: u64,
    mut change: impl FnMut(&mut Distribution) -> BrokenMass,
) -> MemberRisk {
    let before = distribution.violated();
    let mass = change(distribution);
    member_risk(members, before, mass, distribution.lost)
}

fn member_risk(members: u64, before: ChanceRange, mass: BrokenMass, lost: u64) -> MemberRisk {
    let now = ChanceRange::from_weights(mass.least, mass.most.saturating_add(lost).min(ONE));
    let is_named = mass.most > 0 || lost > MAX_ROUNDED;
    MemberRisk { members, before, now, risk: mass.risk(lost), is_named }
}

/// Returns the bindings that certain, unknown or doubtful facts name.
fn collect_possible(monitor: &Monitor, facts: &Facts, choices: &[&Choice]) -> BindingSet {
    let alternatives = choices.iter().flat_map(|choice| choice.alternatives());
    let possible = alternatives.filter(|(_, chance)| *chance != Chance::NEVER).map(|(fact, _)| fact);
    collect_named_in(monitor, facts.known.iter().chain(possible), &facts.unknown)
}

/// Whether a choice is in doubt.
fn is_doubtful(choice: &Choice) -> bool {
    choice.alternatives().iter().any(|(_, chance)| ![Chance::NEVER, Chance::ALWAYS].contains(chance))
}

/// Whether a choice may change the letter of a binding.
fn can_read(monitor: &Monitor, choice: &Choice, binding: &Binding) -> bool {
    let compiled = &monitor.compiled;
    let reads = |fact: &Fact, probe: &Probe| match probe {
        Probe::Pattern(pattern) => pattern.name == fact.name && pattern.fits(&fact.values, binding),
        Probe::Local { body, .. } => compiled.arena.has_atom(*body, &fact.name),
    };
    choice.alternatives().iter().any(|(fact, _)| compiled.probes.iter().any(|probe| reads(fact, probe)))
}

//! Whether a fact can only help a formula, only harm it, both, or neither.
//!
//! One state is at least as good as another if every continuation that violates the formula from the first violates it
//! from the second. For a deterministic automaton that is a simulation, and the largest one is found by removing pairs
//! until nothing changes (Henzinger, Henzinger, Kopke 1995). A fact is an excuse if at every state, whatever else holds,
//! it leads to a state that is at least as good as without it; an offence if it leads to one that is at most as good.

use crate::after::After;
use crate::arena::{Arena, Node};
use crate::automaton::Graph;
use crate::cache::{Cache, CacheLimits};
use crate::formula::Formula;
use crate::monitor::Monitor;
use crate::probe::{FactPattern, PatternTerm, Probe};
use crate::term::{Atom, Term};
use crate::verdict::Verdict;

/// What a fact can do to a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FactRole {
    /// It can only help: without it, a violation stays one.
    Excuse,
    /// It can only harm: with it, a violation stays one.
    Offence,
    /// It helps in some states and harms in others.
    Mixed,
    /// It changes nothing.
    Neutral,
}

impl FactRole {
    fn new(helps: bool, harms: bool) -> FactRole {
        match (helps, harms) {
            (true, false) => FactRole::Excuse,
            (false, true) => FactRole::Offence,
            (true, true) => FactRole::Mixed,
            (false, false) => FactRole::Neutral,
        }
    }

    fn helps(self) -> bool {
        matches!(self, FactRole::Excuse | FactRole::Mixed)
    }

    fn harms(self) -> bool {
        matches!(self, FactRole::Offence | FactRole::Mixed)
    }

    fn join(self, other: FactRole) -> FactRole {
        FactRole::new(self.helps() || other.helps(), self.harms() || other.harms())
    }

    fn reversed(self) -> FactRole {
        FactRole::new(self.harms(), self.helps())
    }
}

/// The most pairs of states times letters that are compared in one pass.
const MAX_COMPARED_SUCCESSORS: usize = 1 << 20;

impl Monitor {
    /// Returns for each pattern of facts that the formula asks for whether such facts are excuses or offences. A fact
    /// that matches several patterns has the role that they share. None for formulas about data, formulas with time
    /// bounds, an `exists` that is reset, and formulas with too many states.
    ///
    /// ```
    /// use lictor_logic::{FactRole, Monitor};
    /// let monitor = Monitor::parse("G(pay -> O approved)")?;
    /// let roles = monitor.classify_facts().unwrap();
    /// let role = |name: &str| roles.iter().find(|(atom, _)| &*atom.name == name).map(|(_, role)| *role);
    /// assert_eq!(role("approved"), Some(FactRole::Excuse));
    /// assert_eq!(role("pay"), Some(FactRole::Offence));
    /// # Ok::<(), lictor_logic::FormulaError>(())
    /// ```
    pub fn classify_facts(&self) -> Option<Vec<(Atom, FactRole)>> {
        let compiled = &self.compiled;
        if self.data.is_some() || self.is_timed() || compiled.negated && self.after == After::Reset {
            return None;
        }
        let mut bits = vec![FactRole::Neutral; compiled.probes.len()];
        let mut cache = Cache::new(&compiled.skeleton, CacheLimits::DEFAULT);
        for valuation in compiled.rigid.valuations() {
            let order = StateOrder::new(self, &mut cache, valuation)?;
            for (bit, role) in bits.iter_mut().enumerate() {
                *role = role.join(order.role_of_bit(self, bit));
            }
        }
        let mut roles: Vec<(Atom, FactRole)> = Vec::new();
        let mut add = |atom: Atom, role: FactRole| match roles.iter_mut().find(|(known, _)| *known == atom) {
            Some((_, known)) => *known = known.join(role),
            None => roles.push((atom, role)),
        };
        for (probe, role) in compiled.probes.iter().zip(bits) {
            // A formula that is judged by its negation is helped by what harms that.
            let role = if compiled.negated { role.reversed() } else { role };
            match probe {
                _ if probe.is_excuse() => {}
                Probe::Pattern(pattern) => add(self.write_pattern(pattern), role),
                Probe::Local { body, .. } => visit_atoms(&compiled.arena, *body, role, &mut add),
            }
        }
        Some(roles)
    }

    fn write_pattern(&self, pattern: &FactPattern) -> Atom {
        let term = |argument: &PatternTerm| match argument {
            PatternTerm::Any => Term::Any,
            PatternTerm::Value(value) => Term::Value(value.clone()),
            PatternTerm::Variable(index) => Term::Var(self.compiled.prefix[*index].clone()),
            PatternTerm::Where(name, _) => Term::Var(name.clone()),
        };
        Atom { name: pattern.name.clone(), terms: pattern.slots.iter().map(term).collect() }
    }
}

/// Visits the atoms of a question to one position, with the role that they have by its role.
fn visit_atoms(arena: &Arena, f: Formula, role: FactRole, visit: &mut impl FnMut(Atom, FactRole)) {
    let both = role.join(role.reversed());
    match &arena[f] {
        Node::Fact(atom) => visit(atom.clone(), role),
        Node::Not(g) => visit_atoms(arena, *g, role.reversed(), visit),
        Node::Implies(left, right) => {
            visit_atoms(arena, *left, role.reversed(), visit);
            visit_atoms(arena, *right, role, visit);
        }
        Node::Iff(left, right) => {
            visit_atoms(arena, *left, both, visit);
            visit_atoms(arena, *right, both, visit);
        }
        Node::And(list) | Node::Or(list) => list.iter().for_each(|part| visit_atoms(arena, *part, role, visit)),
        Node::Quantified(_, _, body) => visit_atoms(arena, *body, role, visit),
        node => node.operands().iter().for_each(|operand| visit_atoms(arena, *operand, both, visit)),
    }
}

/// The states of a formula, ordered by what continuations make of them.
struct StateOrder {
    graph: Graph,
    /// For each state and each other one, whether the other is at least as good.
    at_most: Vec<bool>,
}

impl StateOrder {
    fn new(monitor: &Monitor, cache: &mut Cache, valuation: usize) -> Option<StateOrder> {
        let skeleton = &monitor.compiled.skeleton;
        let mut graph = Graph::explore(monitor, cache, valuation)?;
        // No fact ever sets the excuse of a position.
        let is_excused: Vec<bool> = graph.letters.iter().map(|letter| letter & monitor.excuse != 0).collect();
        graph.letters.retain(|letter| letter & monitor.excuse == 0);
        for targets in &mut graph.next {
            let mut excused = is_excused.iter();
            targets.retain(|_| excused.next() == Some(&false));
        }
        let verdicts: Vec<Verdict> = graph.points.iter().map(|point| cache.verdict(skeleton, point)).collect();
        let at_end: Vec<Verdict> = graph.points.iter().map(|point| cache.end_verdict(skeleton, point)).collect();
        let count = graph.points.len();
        if count.saturating_mul(count).saturating_mul(graph.letters.len()) > MAX_COMPARED_SUCCESSORS {
            return None;
        }
        if monitor.after == After::Reset {
            let restarts = |target: &mut usize| {
                if verdicts[*target] == Verdict::Satisfied {
                    *target = 0;
                }
            };
            graph.next.iter_mut().flatten().for_each(restarts);
        }
        // A verdict is at most as good as another if it is violated or the other is satisfied, or they are equal.
        let is_at_most =
            |one: Verdict, other: Verdict| one == other || one == Verdict::Violated || other == Verdict::Satisfied;
        let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let fits = |(one, other): (usize, usize)| {
            is_at_most(verdicts[one], verdicts[other]) && is_at_most(at_end[one], at_end[other])
        };
        let at_most: Vec<bool> = pairs.map(fits).collect();
        let mut order = StateOrder { graph, at_most };
        while order.remove_pairs() {}
        Some(order)
    }

    fn is_at_most(&self, one: usize, other: usize) -> bool {
        self.at_most[one * self.graph.points.len() + other]
    }

    /// Removes the pairs with a letter that leads out of the order. Whether there was one.
    fn remove_pairs(&mut self) -> bool {
        let count = self.graph.points.len();
        let mut has_removed = false;
        for one in 0..count {
            for other in 0..count {
                if !self.is_at_most(one, other) {
                    continue;
                }
                let mut successors = self.graph.next[one].iter().zip(&self.graph.next[other]);
                if !successors.all(|(one, other)| self.is_at_most(*one, *other)) {
                    self.at_most[one * count + other] = false;
                    has_removed = true;
                }
            }
        }
        has_removed
    }

    /// Returns the role of the facts that set a letter bit.
    fn role_of_bit(&self, monitor: &Monitor, bit: usize) -> FactRole {
        let letters = &self.graph.letters;
        let generals = monitor.compiled.skeleton.generals[bit] | 1 << bit;
        let (mut helps, mut harms) = (false, false);
        for (place, letter) in letters.iter().enumerate() {
            if letter >> bit & 1 == 1 {
                continue;
            }
            let Ok(with) = letters.binary_search(&(letter | generals)) else { continue };
            for next in &self.graph.next {
                let (without, with) = (next[place], next[with]);
                helps |= !self.is_at_most(with, without);
                harms |= !self.is_at_most(without, with);
            }
        }
        FactRole::new(helps, harms)
    }
}

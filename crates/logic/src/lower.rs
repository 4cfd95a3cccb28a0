//! From formulas to norms: writes out derived operators, pushes negations to the facts, allocates bits and clocks.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::compile_error::CompileError;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::norm::{Clock, FOREVER, Norm, NormNode, Norms, Start};
use crate::probe::{FactPattern, PatternTerm, Probe};
use crate::scope::{is_free, is_guarded, is_temporal, is_wide};
use crate::skeleton::StartNorms;
use crate::term::{Atom, Term};
use crate::value::Value;

/// The most distinct questions of a formula to a position.
const MAX_LETTER_BITS: usize = 64;
/// The most timed operators and untils; both have a bit in the search for continuations.
const MAX_CLOCKS: usize = 64;
const MAX_UNTIL_FAMILIES: usize = 64;
/// The largest lower bound of a past operator, in steps; each step is a state bit.
const MAX_STEPS_BACK: u32 = 200;

/// Translates formulas to norms, under one valuation of the rigid comparisons at a time.
pub(crate) struct Lowering<'a> {
    arena: &'a mut Arena,
    prefix: &'a [Arc<str>],
    pub(crate) norms: Norms,
    built: FxHashMap<Formula, Norm>,
    negations: FxHashMap<Norm, Norm>,
    pub(crate) probes: IndexSet<Probe, FxBuildHasher>,
    rigid: FxHashMap<(Comparison, Term, Term), bool>,
    pub(crate) families: FxHashMap<(Norm, Norm, Option<u8>), u8>,
    pub(crate) clocks: Vec<Clock>,
    clock_of: FxHashMap<(bool, Norm, Norm, Interval), u8>,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(arena: &'a mut Arena, prefix: &'a [Arc<str>]) -> Lowering<'a> {
        Lowering {
            arena,
            prefix,
            norms: Norms::new(),
            built: FxHashMap::default(),
            negations: FxHashMap::default(),
            probes: IndexSet::default(),
            rigid: FxHashMap::default(),
            families: FxHashMap::default(),
            clocks: Vec::new(),
            clock_of: FxHashMap::default(),
        }
    }

    /// Returns the start norms of a formula under a valuation.
    pub(crate) fn lower_start(
        &mut self,
        body: Formula,
        truths: FxHashMap<(Comparison, Term, Term), bool>,
    ) -> Result<StartNorms, CompileError> {
        self.rigid = truths;
        self.built.clear();
        let holds = self.lower(body)?;
        let fails = self.negate(holds)?;
        Ok(StartNorms { holds, fails, on_empty: self.holds_on_empty(body) })
    }

    fn lower(&mut self, f: Formula) -> Result<Norm, CompileError> {
        if let Some(known) = self.built.get(&f) {
            return Ok(*known);
        }
        let result = match self.arena[f].clone() {
            Node::True => Norms::TRUE,
            Node::False => Norms::FALSE,
            Node::Fact(atom) => self.lower_fact(&atom)?,
            Node::Compare(comparison, left, right) => {
                // INVARIANT: every comparison outside of inner quantifiers was given a truth with the valuation.
                Norms::truth(self.rigid.get(&(comparison, left, right)).copied().unwrap_or(false))
            }
            Node::Measure(..) => {
                return Err(CompileError::new(
                    "aggregates and arithmetic are only possible in `always` over the past and the present",
                    "write it as `always (…)` over the past and the present, as in `always (pays -> count[0,1h](pays) <= 3)`",
                ));
            }
            Node::Not(g) => {
                let g = self.lower(g)?;
                self.negate(g)?
            }
            Node::And(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.lower(*part)).collect::<Result<_, _>>()?;
                self.norms.and(list)
            }
            Node::Or(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.lower(*part)).collect::<Result<_, _>>()?;
                self.norms.or(list)
            }
            Node::Implies(left, right) => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                let left = self.negate(left)?;
                self.norms.or([left, right])
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                let (not_left, not_right) = (self.negate(left)?, self.negate(right)?);
                let (both, neither) = (self.norms.and([left, right]), self.norms.and([not_left, not_right]));
                let equal = self.norms.or([both, neither]);
                if let NormNode::Or(_) = self.norms.node(equal) {
                    // Two alternatives, where pushing the negation inwards would make four.
                    let (one, other) = (self.norms.and([left, not_right]), self.norms.and([not_left, right]));
                    let unequal = self.norms.or([one, other]);
                    self.negations.insert(equal, unequal);
                    self.negations.insert(unequal, equal);
                }
                equal
            }
            Node::Unary(operator, interval, g) => {
                let g = self.lower(g)?;
                self.lower_unary(operator, interval, g)?
            }
            Node::Binary(operator, interval, left, right) => {
                let (left, right) = (self.lower(left)?, self.lower(right)?);
                self.lower_binary(operator, interval, left, right)?
            }
            Node::Quantified(quantifier, variables, body) => self.lower_quantified(quantifier, &variables, body)?,
        };
        self.built.insert(f, result);
        Ok(result)
    }

    /// Returns the value on the empty trace: no fact holds, and there is no past or future.
    fn holds_on_empty(&self, f: Formula) -> bool {
        match &self.arena[f] {
            Node::True => true,
            Node::False | Node::Fact(_) | Node::Measure(..) => false,
            Node::Compare(comparison, left, right) => {
                self.rigid.get(&(*comparison, left.clone(), right.clone())).copied().unwrap_or(false)
            }
            Node::Not(g) => !self.holds_on_empty(*g),
            Node::And(list) => list.iter().all(|part| self.holds_on_empty(*part)),
            Node::Or(list) => list.iter().any(|part| self.holds_on_empty(*part)),
            Node::Implies(left, right) => !self.holds_on_empty(*left) || self.holds_on_empty(*right),
            Node::Iff(left, right) => self.holds_on_empty(*left) == self.holds_on_empty(*right),
            Node::Unary(operator, ..) => {
                matches!(operator, Unary::WeakNext | Unary::Always | Unary::WeakPrevious | Unary::Historically)
            }
            Node::Binary(operator, ..) => {
                matches!(operator, Binary::WeakUntil | Binary::Release | Binary::Trigger)
            }
            // The remaining quantifiers are guarded by a fact.
            Node::Quantified(quantifier, ..) => *quantifier == Quantifier::Forall,
        }
    }

    fn lower_unary(&mut self, operator: Unary, interval: Interval, g: Norm) -> Result<Norm, CompileError> {
        Ok(match operator {
            Unary::Next => self.norms.next(g),
            Unary::WeakNext => self.norms.weak_next(g),
            Unary::Previous => self.norms.previous(g, false),
            Unary::WeakPrevious => self.norms.previous(g, true),
            Unary::Eventually => self.lower_until(interval, Norms::TRUE, g)?,
            Unary::Always => self.lower_release(interval, Norms::FALSE, g)?,
            Unary::Once => self.lower_since(interval, Norms::TRUE, g)?,
            Unary::Historically => self.lower_trigger(interval, Norms::FALSE, g)?,
        })
    }

    fn lower_binary(&mut self, operator: Binary, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match operator {
            Binary::Until => self.lower_until(interval, f, g),
            Binary::Release => self.lower_release(interval, f, g),
            Binary::Since => self.lower_since(interval, f, g),
            Binary::Trigger => self.lower_trigger(interval, f, g),
            Binary::WeakUntil if interval.is_unbounded() => {
                let either = self.norms.or([f, g]);
                self.lower_release(interval, g, either)
            }
            Binary::WeakUntil => {
                let reached = self.lower_until(interval, f, g)?;
                let throughout = self.lower_release(start_now(interval), Norms::FALSE, f)?;
                Ok(self.norms.or([reached, throughout]))
            }
            Binary::StrongRelease if interval.is_unbounded() => {
                let both = self.norms.and([f, g]);
                self.lower_until(interval, g, both)
            }
            Binary::StrongRelease => {
                let kept = self.lower_release(interval, f, g)?;
                let reached = self.lower_until(start_now(interval), Norms::TRUE, f)?;
                Ok(self.norms.and([kept, reached]))
            }
        }
    }

    fn lower_until(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match step_bound(interval) {
            Some((from, to)) => {
                let family = if to == FOREVER { self.allocate_family(f, g, None)? } else { 0 };
                Ok(self.norms.until(family, from, to, f, g))
            }
            None => {
                let clock = self.allocate_clock(interval, true, f, g)?;
                let family = self.allocate_family(f, g, Some(clock))?;
                Ok(self.norms.timed_until(family, clock, Start::Unstarted, f, g))
            }
        }
    }

    fn lower_release(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match step_bound(interval) {
            Some((from, to)) => Ok(self.norms.release(from, to, f, g)),
            None => {
                let (not_f, not_g) = (self.negate(f)?, self.negate(g)?);
                let clock = self.allocate_clock(interval, true, not_f, not_g)?;
                Ok(self.norms.timed_release(clock, Start::Unstarted, f, g))
            }
        }
    }

    fn lower_since(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match step_bound(interval) {
            Some((0, to)) => Ok(self.norms.since(to, 0, f, g)),
            Some((from, to)) => {
                check_steps_back(from)?;
                let inner = self.lower_since(shift_bound(from, to), f, g)?;
                let before = self.norms.previous(inner, false);
                Ok(self.norms.and([f, before]))
            }
            None => {
                let clock = self.allocate_clock(interval, false, f, g)?;
                Ok(self.norms.timed_since(clock, Vec::new(), f, g))
            }
        }
    }

    fn lower_trigger(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        let (not_f, not_g) = (self.negate(f)?, self.negate(g)?);
        let since = self.lower_since(interval, not_f, not_g)?;
        self.negate(since)
    }

    /// Allocates one clock for an operator and its dual.
    fn allocate_clock(&mut self, interval: Interval, future: bool, f: Norm, g: Norm) -> Result<u8, CompileError> {
        if let Some(clock) = self.clock_of.get(&(future, f, g, interval)) {
            return Ok(*clock);
        }
        let Interval::Time { from, to } = interval else { return Ok(0) };
        if self.clocks.len() >= MAX_CLOCKS {
            return Err(CompileError::new(
                format!("the formula has more than {MAX_CLOCKS} operators with time bounds"),
                "split it into several formulas",
            ));
        }
        let clock = self.clocks.len() as u8;
        self.clocks.push(Clock { from, to, is_past: !future });
        self.clock_of.insert((future, f, g, interval), clock);
        Ok(clock)
    }

    fn allocate_family(&mut self, f: Norm, g: Norm, clock: Option<u8>) -> Result<u8, CompileError> {
        let count = self.families.len();
        if let Some(family) = self.families.get(&(f, g, clock)) {
            return Ok(*family);
        }
        if count >= MAX_UNTIL_FAMILIES {
            return Err(CompileError::new(
                format!(
                    "the formula has more than {MAX_UNTIL_FAMILIES} eventualities, counted with those of its negation"
                ),
                "split it into several formulas, one for each duty",
            ));
        }
        self.families.insert((f, g, clock), count as u8);
        Ok(count as u8)
    }

    fn negate(&mut self, norm: Norm) -> Result<Norm, CompileError> {
        if let Some(known) = self.negations.get(&norm) {
            return Ok(*known);
        }
        let result = match self.norms.node(norm).clone() {
            NormNode::True => Norms::FALSE,
            NormNode::False => Norms::TRUE,
            NormNode::Literal { bit, positive } => self.norms.literal(bit, !positive),
            NormNode::And(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.negate(*part)).collect::<Result<_, _>>()?;
                self.norms.or(list)
            }
            NormNode::Or(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.negate(*part)).collect::<Result<_, _>>()?;
                self.norms.and(list)
            }
            NormNode::Next(f) => {
                let f = self.negate(f)?;
                self.norms.weak_next(f)
            }
            NormNode::WeakNext(f) => {
                let f = self.negate(f)?;
                self.norms.next(f)
            }
            NormNode::Previous { f, was } => {
                let f = self.negate(f)?;
                self.norms.previous(f, !was)
            }
            NormNode::Until { from, to, f, g, .. } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.release(from, to, f, g)
            }
            NormNode::Release { from, to, f, g } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                let family = if to == FOREVER { self.allocate_family(f, g, None)? } else { 0 };
                self.norms.until(family, from, to, f, g)
            }
            NormNode::TimedUntil { clock, start, f, g, .. } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.timed_release(clock, start, f, g)
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                let family = self.allocate_family(f, g, Some(clock))?;
                self.norms.timed_until(family, clock, start, f, g)
            }
            NormNode::Since { span, left, f, g } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.trigger(span, left, f, g)
            }
            NormNode::Trigger { span, left, f, g } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.since(span, left, f, g)
            }
            NormNode::TimedSince { clock, f, g, .. } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.timed_trigger(clock, Vec::new(), f, g)
            }
            NormNode::TimedTrigger { clock, f, g, .. } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.timed_since(clock, Vec::new(), f, g)
            }
        };
        self.negations.insert(norm, result);
        self.negations.insert(result, norm);
        Ok(result)
    }

    fn lower_fact(&mut self, atom: &Atom) -> Result<Norm, CompileError> {
        match FactPattern::new(atom, self.prefix) {
            Some(pattern) => self.allocate_bit(Probe::Pattern(pattern)),
            None => {
                let free = atom.terms.iter().find_map(|term| match term {
                    Term::Var(name) if !self.prefix.contains(name) => Some(name.clone()),
                    _ => None,
                });
                let name = free.unwrap_or_else(|| "?".into());
                Err(CompileError::new(
                    format!("variable `{name}` in `{atom}` is not bound"),
                    format!("put `forall {name}.` or `exists {name}.` before it, or quote it if it is a value"),
                ))
            }
        }
    }

    fn allocate_bit(&mut self, probe: Probe) -> Result<Norm, CompileError> {
        let (bit, _) = self.probes.insert_full(probe);
        if bit >= MAX_LETTER_BITS {
            return Err(CompileError::new(
                format!("the formula asks more than {MAX_LETTER_BITS} different questions of each position"),
                "split it into several formulas; a conjunction can be judged part by part",
            ));
        }
        Ok(self.norms.literal(bit as u8, true))
    }

    /// Lowers a quantifier that the facts of one position decide.
    fn lower_quantified(
        &mut self,
        quantifier: Quantifier,
        variables: &[Arc<str>],
        body: Formula,
    ) -> Result<Norm, CompileError> {
        let wanted = quantifier == Quantifier::Exists;
        let word = if wanted { "exists" } else { "forall" };
        for variable in variables {
            if is_temporal(self.arena, body) {
                return Err(CompileError::new(
                    format!("`{word} {variable}` binds a value across several positions, which is not possible here"),
                    format!(
                        "use `{variable}` in one temporal operator only, as in `O exists {variable}. (p({variable}) & q({variable}))`, or quantify with `forall` at the front"
                    ),
                ));
            }
            if is_free(self.arena, body, variable) && !is_guarded(self.arena, body, variable, wanted) {
                return Err(CompileError::new(
                    format!("`{word} {variable}` ranges over values that no fact of the position gives"),
                    format!(
                        "guard it by a fact that holds `{variable}`: `exists {variable}. (p({variable}) & …)` or `forall {variable}. (p({variable}) -> …)`"
                    ),
                ));
            }
        }
        self.check_inner(body)?;
        self.check_local_comparisons(body, body)?;
        let body = if wanted { body } else { self.arena.not(body) };
        let body = self.remove_foralls(body);
        let probe = match build_simple_pattern(self.arena, variables, body, self.prefix) {
            Some(pattern) => Probe::Pattern(pattern),
            None => Probe::Local { variables: variables.into(), body },
        };
        let norm = self.allocate_bit(probe)?;
        if wanted { Ok(norm) } else { self.negate(norm) }
    }

    /// Refuses inner quantifiers that one position cannot decide.
    fn check_inner(&self, f: Formula) -> Result<(), CompileError> {
        if let Node::Quantified(kind, variables, body) = &self.arena[f]
            && is_wide(self.arena, *kind, variables, *body)
        {
            let names = variables.join(", ");
            return Err(CompileError::new(
                format!("the inner quantifier over `{names}` ranges over values that no fact of the position gives"),
                format!("guard `{names}` by a fact that holds it"),
            ));
        }
        self.arena[f].operands().iter().try_for_each(|operand| self.check_inner(*operand))
    }

    /// Writes inner `forall`s as negated `exists`, the only quantifier that evaluation supports.
    fn remove_foralls(&mut self, f: Formula) -> Formula {
        let node = self.arena[f].clone();
        match node.map(|operand| self.remove_foralls(operand)) {
            Node::Quantified(Quantifier::Forall, variables, body) => {
                let inner = self.arena.not(body);
                let exists = self.arena.insert(Node::Quantified(Quantifier::Exists, variables, inner));
                self.arena.not(exists)
            }
            node => self.arena.insert(node),
        }
    }

    /// Refuses comparisons of prefix variables in an inner quantifier, unless all values outside of the position behave
    /// alike.
    fn check_local_comparisons(&self, whole: Formula, f: Formula) -> Result<(), CompileError> {
        if let Node::Compare(comparison, left, right) = &self.arena[f] {
            for (term, other) in [(left, right), (right, left)] {
                let Term::Var(name) = term else { continue };
                if !self.prefix.contains(name) || is_guarded(self.arena, whole, name, true) {
                    continue;
                }
                let equality = matches!(comparison, Comparison::Equal | Comparison::Unequal);
                let inner = matches!(other, Term::Var(other) if !self.prefix.contains(other));
                if !equality || !inner {
                    return Err(CompileError::new(
                        format!(
                            "`{left} {} {right}` compares `{name}` where no fact of the position holds it",
                            comparison.symbol()
                        ),
                        format!(
                            "move the comparison out of the inner quantifier, or add a fact with `{name}` beside it"
                        ),
                    ));
                }
            }
        }
        self.arena[f].operands().iter().try_for_each(|operand| self.check_local_comparisons(whole, *operand))
    }
}

/// Returns the pattern of a question that single facts answer: `exists y. p(x,y)` is `p(x,_)`, and `exists y. (p(x,y) &
/// y > 3)` is `p(x,_)` with a comparison.
fn build_simple_pattern(
    arena: &Arena,
    variables: &[Arc<str>],
    body: Formula,
    prefix: &[Arc<str>],
) -> Option<FactPattern> {
    let parts: &[Formula] = match &arena[body] {
        Node::And(parts) => parts,
        _ => &[body],
    };
    let mut atom = None;
    let mut tests: Vec<(&Arc<str>, Comparison, &Value)> = Vec::new();
    for part in parts {
        match &arena[*part] {
            Node::Fact(fact) if atom.is_none() => atom = Some(fact),
            Node::Compare(comparison, Term::Var(name), Term::Value(value)) if variables.contains(name) => {
                tests.push((name, *comparison, value));
            }
            Node::Compare(comparison, Term::Value(value), Term::Var(name)) if variables.contains(name) => {
                tests.push((name, comparison.mirrored(), value));
            }
            _ => return None,
        }
    }
    let atom = atom?;
    let occurs = |variable: &Arc<str>| {
        atom.terms.iter().filter(|term| matches!(term, Term::Var(name) if name == variable)).count()
    };
    if variables.iter().any(|variable| occurs(variable) != 1) {
        return None;
    }
    let terms: Box<[Term]> = atom
        .terms
        .iter()
        .map(|term| match term {
            Term::Var(name) if variables.contains(name) => Term::Any,
            other => other.clone(),
        })
        .collect();
    let mut pattern = FactPattern::new(&Atom { name: atom.name.clone(), terms }, prefix)?;
    for (slot, term) in pattern.slots.iter_mut().zip(&atom.terms) {
        let Term::Var(name) = term else { continue };
        let of_it = tests.iter().filter(|(other, _, _)| *other == name);
        let of_it: Box<[_]> = of_it.map(|(_, comparison, value)| (*comparison, (*value).clone())).collect();
        if !of_it.is_empty() {
            *slot = PatternTerm::Where(name.clone(), of_it);
        }
    }
    Some(pattern)
}

fn check_steps_back(from: u32) -> Result<(), CompileError> {
    if from <= MAX_STEPS_BACK {
        return Ok(());
    }
    Err(CompileError::new(
        format!("a past operator looks back at least {from} positions, at most {MAX_STEPS_BACK} are possible"),
        "use a time bound, or a smaller lower end",
    ))
}

/// Returns the bound in steps, with `FOREVER` for no end; none for a bound in time.
fn step_bound(interval: Interval) -> Option<(u32, u32)> {
    match interval {
        Interval::Steps { from, to } => Some((from, to.map_or(FOREVER, |to| to.min(FOREVER - 1)))),
        Interval::Time { from, to: None } if from.0 == 0 => Some((0, FOREVER)),
        Interval::Time { .. } => None,
    }
}

/// Returns the bound seen from one position earlier.
fn shift_bound(from: u32, to: u32) -> Interval {
    Interval::Steps { from: from - 1, to: (to != FOREVER).then(|| to - 1) }
}

/// Returns the bound from now to its end.
fn start_now(interval: Interval) -> Interval {
    match interval {
        Interval::Steps { to, .. } => Interval::Steps { from: 0, to },
        Interval::Time { to, .. } => Interval::Time { from: Span(0), to },
    }
}

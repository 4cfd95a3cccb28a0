//! From formulas to norms: derived operators written out, negations pushed to the facts, bits and clocks given out.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::normal::{Clock, FOREVER, Norm, NormNode, Norms, Start};
use crate::probe::{Argument, Pattern, Probe};
use crate::refusal::CompileError;
use crate::scope::{is_free, is_guarded, is_temporal, is_wide};
use crate::stepper::Beginning;
use crate::term::{Atom, Comparison, Term, Value};

/// Most distinct questions a formula may ask of a position.
const MOST_BITS: usize = 64;
/// Most timed operators and most untils; both have a bit in the search for continuations.
const MOST_CLOCKS: usize = 64;
const MOST_FAMILIES: usize = 64;
/// The largest lower bound in steps of a past operator, each step of which is a state bit.
const MOST_STEPS_BACK: u32 = 200;

/// Makes norms of formulas, under one valuation of the rigid comparisons at a time.
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

    /// The beginning of a formula under a valuation.
    pub(crate) fn beginning(
        &mut self,
        body: Formula,
        truths: FxHashMap<(Comparison, Term, Term), bool>,
    ) -> Result<Beginning, CompileError> {
        self.rigid = truths;
        self.built.clear();
        let holds = self.norm(body)?;
        let fails = self.negate(holds)?;
        Ok(Beginning { holds, fails, on_empty: self.on_empty(body) })
    }

    fn norm(&mut self, f: Formula) -> Result<Norm, CompileError> {
        if let Some(known) = self.built.get(&f) {
            return Ok(*known);
        }
        let result = match self.arena[f].clone() {
            Node::True => Norms::TRUE,
            Node::False => Norms::FALSE,
            Node::Fact(atom) => self.fact(&atom)?,
            Node::Compare(comparison, left, right) => {
                // INVARIANT: every comparison outside of inner quantifiers was given a truth with the valuation.
                Norms::truth(self.rigid.get(&(comparison, left, right)).copied().unwrap_or(false))
            }
            Node::Measure(..) => {
                return Err(CompileError::new(
                    "what is counted or computed stands where it cannot be followed yet",
                    "write it as `always (…)` over the past and the present, as in `always (pays -> count[0,1h](pays) <= 3)`",
                ));
            }
            Node::Not(g) => {
                let g = self.norm(g)?;
                self.negate(g)?
            }
            Node::And(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.norm(*part)).collect::<Result<_, _>>()?;
                self.norms.and(list)
            }
            Node::Or(list) => {
                let list: Vec<Norm> = list.iter().map(|part| self.norm(*part)).collect::<Result<_, _>>()?;
                self.norms.or(list)
            }
            Node::Implies(left, right) => {
                let (left, right) = (self.norm(left)?, self.norm(right)?);
                let left = self.negate(left)?;
                self.norms.or([left, right])
            }
            Node::Iff(left, right) => {
                let (left, right) = (self.norm(left)?, self.norm(right)?);
                let (not_left, not_right) = (self.negate(left)?, self.negate(right)?);
                let (both, neither) = (self.norms.and([left, right]), self.norms.and([not_left, not_right]));
                self.norms.or([both, neither])
            }
            Node::Unary(operator, interval, g) => {
                let g = self.norm(g)?;
                self.unary(operator, interval, g)?
            }
            Node::Binary(operator, interval, left, right) => {
                let (left, right) = (self.norm(left)?, self.norm(right)?);
                self.binary(operator, interval, left, right)?
            }
            Node::Quantified(quantifier, variables, body) => self.quantified(quantifier, &variables, body)?,
        };
        self.built.insert(f, result);
        Ok(result)
    }

    /// The value on a trace without positions: no fact holds, nothing lies ahead and nothing behind.
    fn on_empty(&self, f: Formula) -> bool {
        match &self.arena[f] {
            Node::True => true,
            Node::False | Node::Fact(_) | Node::Measure(..) => false,
            Node::Compare(comparison, left, right) => {
                self.rigid.get(&(*comparison, left.clone(), right.clone())).copied().unwrap_or(false)
            }
            Node::Not(g) => !self.on_empty(*g),
            Node::And(list) => list.iter().all(|part| self.on_empty(*part)),
            Node::Or(list) => list.iter().any(|part| self.on_empty(*part)),
            Node::Implies(left, right) => !self.on_empty(*left) || self.on_empty(*right),
            Node::Iff(left, right) => self.on_empty(*left) == self.on_empty(*right),
            Node::Unary(operator, ..) => {
                matches!(operator, Unary::WeakNext | Unary::Always | Unary::WeakPrevious | Unary::Historically)
            }
            Node::Binary(operator, ..) => {
                matches!(operator, Binary::WeakUntil | Binary::Release | Binary::Trigger)
            }
            // What is left of quantifiers is guarded by a fact.
            Node::Quantified(quantifier, ..) => *quantifier == Quantifier::Forall,
        }
    }

    fn unary(&mut self, operator: Unary, interval: Interval, g: Norm) -> Result<Norm, CompileError> {
        Ok(match operator {
            Unary::Next => self.norms.next(g),
            Unary::WeakNext => self.norms.weak_next(g),
            Unary::Previous => self.norms.previous(g, false),
            Unary::WeakPrevious => self.norms.previous(g, true),
            Unary::Eventually => self.until(interval, Norms::TRUE, g)?,
            Unary::Always => self.release(interval, Norms::FALSE, g)?,
            Unary::Once => self.since(interval, Norms::TRUE, g)?,
            Unary::Historically => self.trigger(interval, Norms::FALSE, g)?,
        })
    }

    fn binary(&mut self, operator: Binary, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match operator {
            Binary::Until => self.until(interval, f, g),
            Binary::Release => self.release(interval, f, g),
            Binary::Since => self.since(interval, f, g),
            Binary::Trigger => self.trigger(interval, f, g),
            Binary::WeakUntil if interval.is_unbounded() => {
                let either = self.norms.or([f, g]);
                self.release(interval, g, either)
            }
            Binary::WeakUntil => {
                let reached = self.until(interval, f, g)?;
                let throughout = self.release(from_now(interval), Norms::FALSE, f)?;
                Ok(self.norms.or([reached, throughout]))
            }
            Binary::StrongRelease if interval.is_unbounded() => {
                let both = self.norms.and([f, g]);
                self.until(interval, g, both)
            }
            Binary::StrongRelease => {
                let kept = self.release(interval, f, g)?;
                let reached = self.until(from_now(interval), Norms::TRUE, f)?;
                Ok(self.norms.and([kept, reached]))
            }
        }
    }

    fn until(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match steps(interval) {
            Some((from, to)) => {
                let family = if to == FOREVER { self.family(f, g, None)? } else { 0 };
                Ok(self.norms.until(family, from, to, f, g))
            }
            None => {
                let clock = self.clock(interval, true, f, g)?;
                let family = self.family(f, g, Some(clock))?;
                Ok(self.norms.timed_until(family, clock, Start::Unstarted, f, g))
            }
        }
    }

    fn release(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match steps(interval) {
            Some((from, to)) => Ok(self.norms.release(from, to, f, g)),
            None => {
                let (not_f, not_g) = (self.negate(f)?, self.negate(g)?);
                let clock = self.clock(interval, true, not_f, not_g)?;
                Ok(self.norms.timed_release(clock, Start::Unstarted, f, g))
            }
        }
    }

    fn since(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        match steps(interval) {
            Some((0, to)) => Ok(self.norms.since(to, 0, f, g)),
            Some((from, to)) => {
                check_steps_back(from)?;
                let inner = self.since(shifted(from, to), f, g)?;
                let before = self.norms.previous(inner, false);
                Ok(self.norms.and([f, before]))
            }
            None => {
                let clock = self.clock(interval, false, f, g)?;
                Ok(self.norms.timed_since(clock, Vec::new(), f, g))
            }
        }
    }

    fn trigger(&mut self, interval: Interval, f: Norm, g: Norm) -> Result<Norm, CompileError> {
        let (not_f, not_g) = (self.negate(f)?, self.negate(g)?);
        let since = self.since(interval, not_f, not_g)?;
        self.negate(since)
    }

    /// One clock for an operator and its dual.
    fn clock(&mut self, interval: Interval, future: bool, f: Norm, g: Norm) -> Result<u8, CompileError> {
        if let Some(clock) = self.clock_of.get(&(future, f, g, interval)) {
            return Ok(*clock);
        }
        let Interval::Time { from, to } = interval else { return Ok(0) };
        if self.clocks.len() >= MOST_CLOCKS {
            return Err(CompileError::new(
                format!("the formula has more than {MOST_CLOCKS} operators with time bounds"),
                "split it into several formulas",
            ));
        }
        let clock = self.clocks.len() as u8;
        self.clocks.push(Clock { from, to });
        self.clock_of.insert((future, f, g, interval), clock);
        Ok(clock)
    }

    fn family(&mut self, f: Norm, g: Norm, clock: Option<u8>) -> Result<u8, CompileError> {
        let count = self.families.len();
        if let Some(family) = self.families.get(&(f, g, clock)) {
            return Ok(*family);
        }
        if count >= MOST_FAMILIES {
            return Err(CompileError::new(
                format!("the formula has more than {MOST_FAMILIES} eventualities, counted with those of its negation"),
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
                let family = if to == FOREVER { self.family(f, g, None)? } else { 0 };
                self.norms.until(family, from, to, f, g)
            }
            NormNode::TimedUntil { clock, start, f, g, .. } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                self.norms.timed_release(clock, start, f, g)
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let (f, g) = (self.negate(f)?, self.negate(g)?);
                let family = self.family(f, g, Some(clock))?;
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

    fn fact(&mut self, atom: &Atom) -> Result<Norm, CompileError> {
        match Pattern::new(atom, self.prefix) {
            Some(pattern) => self.bit(Probe::Pattern(pattern)),
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

    fn bit(&mut self, probe: Probe) -> Result<Norm, CompileError> {
        let (bit, _) = self.probes.insert_full(probe);
        if bit >= MOST_BITS {
            return Err(CompileError::new(
                format!("the formula asks more than {MOST_BITS} different questions of each position"),
                "split it into several formulas; a conjunction can be judged part by part",
            ));
        }
        Ok(self.norms.literal(bit as u8, true))
    }

    /// A quantifier that the facts of one position decide.
    fn quantified(
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
                    format!(
                        "`{word} {variable}` binds a value across several positions in a place where that cannot be decided yet"
                    ),
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
        let body = self.without_forall(body);
        let probe = match simple_pattern(self.arena, variables, body, self.prefix) {
            Some(pattern) => Probe::Pattern(pattern),
            None => Probe::Local { variables: variables.into(), body },
        };
        let norm = self.bit(probe)?;
        if wanted { Ok(norm) } else { self.negate(norm) }
    }

    /// Quantifiers inside of a question to one position must be decided by it as well.
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

    /// Inner `forall` as a negated `exists`, so that the evaluation of a position knows one quantifier.
    fn without_forall(&mut self, f: Formula) -> Formula {
        let node = self.arena[f].clone();
        match node.map(|operand| self.without_forall(operand)) {
            Node::Quantified(Quantifier::Forall, variables, body) => {
                let inner = self.arena.not(body);
                let exists = self.arena.insert(Node::Quantified(Quantifier::Exists, variables, inner));
                self.arena.not(exists)
            }
            node => self.arena.insert(node),
        }
    }

    /// A variable of the prefix may be compared inside of an inner quantifier only in ways in which all values that do
    /// not occur in the position behave alike.
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

/// A question that single facts answer: `exists y. p(x,y)` is `p(x,_)`, and in `exists y. (p(x,y) & y > 3)` each fact
/// tells by itself whether its value passes.
fn simple_pattern(arena: &Arena, variables: &[Arc<str>], body: Formula, prefix: &[Arc<str>]) -> Option<Pattern> {
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
    let mut pattern = Pattern::new(&Atom { name: atom.name.clone(), terms }, prefix)?;
    for (slot, term) in pattern.slots.iter_mut().zip(&atom.terms) {
        let Term::Var(name) = term else { continue };
        let of_it = tests.iter().filter(|(other, _, _)| *other == name);
        let of_it: Box<[_]> = of_it.map(|(_, comparison, value)| (*comparison, (*value).clone())).collect();
        if !of_it.is_empty() {
            *slot = Argument::Where(name.clone(), of_it);
        }
    }
    Some(pattern)
}

fn check_steps_back(from: u32) -> Result<(), CompileError> {
    if from <= MOST_STEPS_BACK {
        return Ok(());
    }
    Err(CompileError::new(
        format!("a past operator looks back at least {from} positions, at most {MOST_STEPS_BACK} are possible"),
        "use a time bound, or a smaller lower end",
    ))
}

/// The bound in steps with `FOREVER` for no end; none for a bound in time that matters.
fn steps(interval: Interval) -> Option<(u32, u32)> {
    match interval {
        Interval::Steps { from, to } => Some((from, to.map_or(FOREVER, |to| to.min(FOREVER - 1)))),
        Interval::Time { from, to: None } if from.0 == 0 => Some((0, FOREVER)),
        Interval::Time { .. } => None,
    }
}

/// The bound of the same operator seen from one position earlier.
fn shifted(from: u32, to: u32) -> Interval {
    Interval::Steps { from: from - 1, to: (to != FOREVER).then(|| to - 1) }
}

/// The bound from now to the same end.
fn from_now(interval: Interval) -> Interval {
    match interval {
        Interval::Steps { to, .. } => Interval::Steps { from: 0, to },
        Interval::Time { to, .. } => Interval::Time { from: Span(0), to },
    }
}

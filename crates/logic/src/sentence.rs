//! From what the engine works on back to formulas that people read.
//!
//! A residual is written as a formula about the rest of the trace alone, which begins now. Memory of the past becomes a
//! formula too: a `since` that already holds is `(f S g) | H f`, and the positions that a bound still allows are those
//! within the rest of the bound from the first one, `O[0,2s] !(Y true)`. A deadline is shown as the time left.
//!
//! The residual of a quantified formula has a part for each binding with a state of its own, and one for all others,
//! which names the exceptions.

use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Arena, Node};
use crate::cache::Cache;
use crate::compile::CompiledFormula;
use crate::dnf::Dnf;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::{Interval, Span, Time};
use crate::norm::{Clock, FOREVER, Mark, Norm, NormNode, Norms, Slot, Start};
use crate::probe::{Binding, FactPattern, PatternTerm, Probe};
use crate::satisfiability::Satisfiability;
use crate::scope::is_free;
use crate::skeleton::Skeleton;
use crate::spelling::Spelling;
use crate::state::{Point, Residual};
use crate::term::{Atom, Term};

/// A formula together with its arena.
///
/// A residual that is too long to read has notes in place of its parts; [`Sentence::is_whole`] tells.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// Where the formula lives.
    pub arena: Arena,
    /// The formula.
    pub formula: Formula,
}

impl Sentence {
    /// The formula `true` or `false`.
    pub(crate) fn from_truth(truth: bool) -> Sentence {
        let mut arena = Arena::new();
        let formula = arena.truth(truth);
        Sentence { arena, formula }
    }

    /// Whether it is a formula to its last part, without a note in place of parts that were left out.
    pub fn is_whole(&self) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![self.formula];
        while let Some(f) = open.pop() {
            match &self.arena[f] {
                Node::Fact(atom) if atom.name.starts_with(NOTE_SIGN) => return false,
                node => open.extend(node.operands().into_iter().filter(|operand| seen.insert(*operand))),
            }
        }
        true
    }

    /// Returns the formula in a spelling.
    pub fn show(&self, spelling: Spelling) -> impl fmt::Display + '_ {
        self.arena.show(self.formula, spelling)
    }

    /// Returns the formula in English.
    pub fn english(&self) -> String {
        self.arena.english(self.formula)
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.show(Spelling::Ascii))
    }
}

/// Writes residuals and letters of one compiled formula.
pub(crate) struct ResidualWriter<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) compiled: &'a CompiledFormula,
    /// Values that replace variables.
    pub(crate) binding: &'a Binding,
    /// The content of the slots, and the time they are seen from.
    pub(crate) times: &'a [Time],
    pub(crate) now: Time,
    /// The norms written so far: norms share parts.
    pub(crate) written: FxHashMap<Norm, Formula>,
}

impl<'a> ResidualWriter<'a> {
    /// Returns a writer of letters, which depend on no binding and no time.
    pub(crate) fn of_letters(arena: &'a mut Arena, compiled: &'a CompiledFormula) -> ResidualWriter<'a> {
        ResidualWriter { arena, compiled, binding: &[], times: &[], now: Time(0), written: FxHashMap::default() }
    }
}

/// The first character of a note; the name of no fact begins with it.
const NOTE_SIGN: char = '(';

/// Returns a note in place of a formula.
pub(crate) fn write_note(arena: &mut Arena, note: &str) -> Formula {
    arena.fact(&format!("{NOTE_SIGN}{note})"))
}

/// The most parts of a residual that is written out. A longer one is written as a note of its length.
const MAX_RESIDUAL_PARTS: u64 = 5000;

impl ResidualWriter<'_> {
    /// Returns what must still hold; for a negated formula, what must hold for its negation.
    pub(crate) fn write_residual(
        &mut self,
        residual: &Residual,
        norms: &mut Norms,
        satisfy: &mut Satisfiability,
    ) -> Formula {
        let members: Vec<Formula> = residual
            .members
            .iter()
            .map(|member| {
                let dnf = if self.compiled.negated { &member.fails } else { &member.holds };
                self.write_dnf(dnf, norms, satisfy)
            })
            .collect();
        self.write_either(members)
    }

    fn write_dnf(&mut self, dnf: &Dnf, norms: &mut Norms, satisfy: &mut Satisfiability) -> Formula {
        let skeleton: &Skeleton = &self.compiled.skeleton;
        if *dnf == Dnf::TooMany {
            return write_note(self.arena, "unknown: the formula exceeded a limit");
        }
        let clauses = dnf.clauses();
        let mut alternatives = Vec::with_capacity(clauses.len());
        satisfy.begin_search();
        for clause in clauses {
            // An alternative that no continuation can meet is left out.
            if clauses.len() > 1 && !satisfy.can_be_met(clause, norms, skeleton) {
                continue;
            }
            let parts: Vec<Formula> =
                clause.iter().map(|obligation| self.write_norm(obligation.norm(), norms)).collect();
            alternatives.push(self.arena.and(parts));
        }
        self.write_either(alternatives)
    }

    /// Returns a disjunction without repetitions; `true` if one part is.
    fn write_either(&mut self, mut alternatives: Vec<Formula>) -> Formula {
        let truth = self.arena.truth(true);
        if alternatives.contains(&truth) {
            return truth;
        }
        let mut seen = Vec::new();
        alternatives.retain(|formula| {
            let new = !seen.contains(formula);
            seen.push(*formula);
            new
        });
        self.arena.or(alternatives)
    }

    fn write_norm(&mut self, norm: Norm, norms: &Norms) -> Formula {
        if let Some(written) = self.written.get(&norm) {
            return *written;
        }
        let formula = self.write_node(norm, norms);
        self.written.insert(norm, formula);
        formula
    }

    fn write_node(&mut self, norm: Norm, norms: &Norms) -> Formula {
        match norms.node(norm) {
            NormNode::True => self.arena.truth(true),
            NormNode::False => self.arena.truth(false),
            // No position of the rest is excused yet.
            NormNode::Literal { bit, positive } if self.is_excuse(*bit) => self.arena.truth(!positive),
            NormNode::Literal { bit, positive } => {
                let asked = self.write_bit(*bit);
                if *positive { asked } else { self.negate(asked) }
            }
            NormNode::And(list) => {
                let parts: Vec<Formula> = list.iter().map(|part| self.write_norm(*part, norms)).collect();
                self.arena.and(parts)
            }
            NormNode::Or(list) => self.write_disjunction(list, norms),
            NormNode::Next(f) => self.write_unary(Unary::Next, Interval::UNBOUNDED, *f, norms),
            NormNode::WeakNext(f) => self.write_unary(Unary::WeakNext, Interval::UNBOUNDED, *f, norms),
            NormNode::Until { from, to, f, g, .. } => self.write_until(step_interval(*from, *to), *f, *g, norms),
            NormNode::Release { from, to, f, g } => self.write_release(step_interval(*from, *to), *f, *g, norms),
            NormNode::TimedUntil { clock, start, f, g, .. } => {
                self.write_until(self.remaining_bound(*clock, *start), *f, *g, norms)
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                self.write_release(self.remaining_bound(*clock, *start), *f, *g, norms)
            }
            NormNode::Previous { f, was: true } => {
                self.write_unary(Unary::WeakPrevious, Interval::UNBOUNDED, *f, norms)
            }
            NormNode::Previous { f, was: false } => self.write_unary(Unary::Previous, Interval::UNBOUNDED, *f, norms),
            NormNode::Since { span, left, f, g } => {
                let since = self.write_since(step_interval(0, *span), *f, *g, norms);
                self.write_continued(since, &steps_left(*left), *f, norms, true)
            }
            NormNode::Trigger { span, left, f, g } => {
                let trigger = self.write_trigger(step_interval(0, *span), *f, *g, norms);
                self.write_continued(trigger, &steps_left(*left), *f, norms, false)
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let since = self.write_since(self.clock_bound(*clock), *f, *g, norms);
                self.write_continued(since, &self.times_left(*clock, marks), *f, norms, true)
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let trigger = self.write_trigger(self.clock_bound(*clock), *f, *g, norms);
                self.write_continued(trigger, &self.times_left(*clock, marks), *f, norms, false)
            }
        }
    }

    /// Returns `a | b`, or `a -> b` if that reads better.
    fn write_disjunction(&mut self, list: &[Norm], norms: &Norms) -> Formula {
        let is_negative = |norm: &&Norm| matches!(norms.node(**norm), NormNode::Literal { positive: false, .. });
        let is_excuse = |norm: &&Norm| match norms.node(**norm) {
            NormNode::Literal { bit, positive } => *positive && self.is_excuse(*bit),
            _ => false,
        };
        let list = list.iter().filter(|norm| !is_excuse(norm));
        let (negative, positive): (Vec<&Norm>, Vec<&Norm>) = list.partition(is_negative);
        let positive: Vec<Formula> = positive.into_iter().map(|part| self.write_norm(*part, norms)).collect();
        let mut conditions = Vec::with_capacity(negative.len());
        for norm in negative {
            if let NormNode::Literal { bit, .. } = norms.node(*norm) {
                conditions.push(self.write_bit(*bit));
            }
        }
        match (conditions.is_empty(), positive.is_empty()) {
            (true, _) => self.arena.or(positive),
            (false, true) => {
                let all = self.arena.and(conditions);
                self.negate(all)
            }
            (false, false) => {
                let (condition, duty) = (self.arena.and(conditions), self.arena.or(positive));
                self.arena.implies(condition, duty)
            }
        }
    }

    fn negate(&mut self, f: Formula) -> Formula {
        match self.arena[f] {
            Node::Not(inner) => inner,
            _ => self.arena.not(f),
        }
    }

    /// Returns a `since` that holds by earlier positions as long as `f` does and the first position is within one of the
    /// bounds. A broken trigger is dual.
    fn write_continued(&mut self, fresh: Formula, left: &[Interval], f: Norm, norms: &Norms, since: bool) -> Formula {
        if left.is_empty() {
            return fresh;
        }
        let truth = self.arena.truth(true);
        let first = self.arena.unary(Unary::Previous, truth);
        let first = self.arena.not(first);
        let mut within = Vec::with_capacity(left.len());
        for interval in left.iter().filter(|interval| !is_everything(**interval)) {
            within.push(self.arena.insert(Node::Unary(Unary::Once, *interval, first)));
        }
        // A bound that ends never says nothing.
        let within = (within.len() == left.len()).then(|| self.arena.or(within));
        let f_written = self.write_norm(f, norms);
        if since {
            let held = (f != Norms::TRUE).then(|| self.arena.unary(Unary::Historically, f_written));
            let held = self.arena.and(held.into_iter().chain(within));
            self.write_either(vec![fresh, held])
        } else {
            let mended = (f != Norms::FALSE).then(|| self.arena.unary(Unary::Once, f_written));
            let late = within.map(|within| self.arena.not(within));
            let mended = self.arena.or(mended.into_iter().chain(late));
            if self.arena[mended] == Node::False { mended } else { self.arena.and([fresh, mended]) }
        }
    }

    /// Returns when remembered moments count, seen from the first position of the rest.
    fn times_left(&self, clock: u8, marks: &[Mark]) -> Vec<Interval> {
        let Clock { from, to, .. } = self.compiled.skeleton.clocks[usize::from(clock)];
        let left = |mark: &Mark| {
            let begun = match mark {
                Mark::At { slot, .. } => self.times.get(usize::from(*slot)).copied(),
                Mark::Now => None,
            };
            let gone = begun.map_or(Span(0), |begun| self.now.since(begun));
            let to = match to {
                Some(to) => Some(Span(to.0.checked_sub(gone.0)?)),
                None => None,
            };
            Some(Interval::Time { from: Span(from.0.saturating_sub(gone.0)), to })
        };
        marks.iter().filter_map(left).collect()
    }

    fn write_unary(&mut self, operator: Unary, interval: Interval, f: Norm, norms: &Norms) -> Formula {
        let f = self.write_norm(f, norms);
        self.arena.insert(Node::Unary(operator, interval, f))
    }

    fn write_until(&mut self, interval: Interval, f: Norm, g: Norm, norms: &Norms) -> Formula {
        if f == Norms::TRUE {
            return self.write_unary(Unary::Eventually, interval, g, norms);
        }
        self.write_binary(Binary::Until, interval, f, g, norms)
    }

    fn write_release(&mut self, interval: Interval, f: Norm, g: Norm, norms: &Norms) -> Formula {
        if f == Norms::FALSE {
            return self.write_unary(Unary::Always, interval, g, norms);
        }
        // `g R (f | g)` is what the compiler makes of `f W g`.
        if let NormNode::Or(list) = norms.node(g)
            && interval.is_unbounded()
            && list.contains(&f)
        {
            let rest: Vec<Formula> =
                list.iter().filter(|part| **part != f).map(|part| self.write_norm(*part, norms)).collect();
            let (rest, f) = (self.arena.or(rest), self.write_norm(f, norms));
            return self.arena.binary(Binary::WeakUntil, rest, f);
        }
        self.write_binary(Binary::Release, interval, f, g, norms)
    }

    fn write_since(&mut self, interval: Interval, f: Norm, g: Norm, norms: &Norms) -> Formula {
        if f == Norms::TRUE {
            return self.write_unary(Unary::Once, interval, g, norms);
        }
        self.write_binary(Binary::Since, interval, f, g, norms)
    }

    fn write_trigger(&mut self, interval: Interval, f: Norm, g: Norm, norms: &Norms) -> Formula {
        if f == Norms::FALSE {
            return self.write_unary(Unary::Historically, interval, g, norms);
        }
        self.write_binary(Binary::Trigger, interval, f, g, norms)
    }

    fn write_binary(&mut self, operator: Binary, interval: Interval, f: Norm, g: Norm, norms: &Norms) -> Formula {
        let (f, g) = (self.write_norm(f, norms), self.write_norm(g, norms));
        self.arena.insert(Node::Binary(operator, interval, f, g))
    }

    fn clock_bound(&self, clock: u8) -> Interval {
        let clock = self.compiled.skeleton.clocks[usize::from(clock)];
        Interval::Time { from: clock.from, to: clock.to }
    }

    /// Returns the rest of a bound, seen from now.
    fn remaining_bound(&self, clock: u8, start: Start) -> Interval {
        let Start::At { slot, .. } = start else { return self.clock_bound(clock) };
        let Some(begun) = self.times.get(usize::from(slot as Slot)) else { return self.clock_bound(clock) };
        let clock = self.compiled.skeleton.clocks[usize::from(clock)];
        let gone = self.now.since(*begun);
        let rest = |span: Span| Span(span.0.saturating_sub(gone.0));
        Interval::Time { from: rest(clock.from), to: clock.to.map(rest) }
    }

    /// Whether a letter bit excuses a position.
    fn is_excuse(&self, bit: u8) -> bool {
        self.compiled.probes[usize::from(bit)].is_excuse()
    }

    /// Returns the question of a letter bit.
    pub(crate) fn write_bit(&mut self, bit: u8) -> Formula {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => {
                let atom = self.write_atom(pattern);
                let fact = self.arena.insert(Node::Fact(atom));
                self.write_tests(pattern, fact)
            }
            Probe::Local { variables, body } => {
                let body = self.arena.copy(&self.compiled.arena, *body);
                let body = self.substitute_binding(body);
                self.arena.insert(Node::Quantified(Quantifier::Exists, variables.clone(), body))
            }
        }
    }

    /// Returns a fact with the comparisons on its values.
    fn write_tests(&mut self, pattern: &FactPattern, fact: Formula) -> Formula {
        let mut parts = vec![fact];
        let mut variables = Vec::new();
        for argument in &pattern.slots {
            let PatternTerm::Where(name, tests) = argument else { continue };
            variables.push(name.clone());
            for (comparison, value) in tests {
                let (left, right) = (Term::Var(name.clone()), Term::Value(value.clone()));
                parts.push(self.arena.insert(Node::Compare(*comparison, left, right)));
            }
        }
        if variables.is_empty() {
            return fact;
        }
        let body = self.arena.and(parts);
        self.arena.insert(Node::Quantified(Quantifier::Exists, variables.into(), body))
    }

    fn write_atom(&self, pattern: &FactPattern) -> Atom {
        let term = |argument: &PatternTerm| match argument {
            PatternTerm::Any => Term::Any,
            PatternTerm::Where(name, _) => Term::Var(name.clone()),
            PatternTerm::Value(value) => Term::Value(value.clone()),
            PatternTerm::Variable(index) => match self.binding.get(*index) {
                Some(Some(value)) => Term::Value(value.clone()),
                _ => Term::Var(self.compiled.prefix[*index].clone()),
            },
        };
        Atom { name: pattern.name.clone(), terms: pattern.slots.iter().map(term).collect() }
    }

    /// Returns a copied formula with variables replaced by their values.
    fn substitute_binding(&mut self, f: Formula) -> Formula {
        let mut result = f;
        for (variable, value) in self.compiled.prefix.iter().zip(self.binding) {
            if let Some(value) = value {
                result = self.arena.substitute(result, variable, value);
            }
        }
        result
    }
}

fn step_interval(from: u32, to: u32) -> Interval {
    Interval::Steps { from, to: (to != FOREVER).then_some(to) }
}

/// Returns when a memory of so many more positions counts, seen from the first position of the rest.
fn steps_left(left: u32) -> Vec<Interval> {
    match left {
        0 => Vec::new(),
        FOREVER => vec![Interval::UNBOUNDED],
        _ => vec![step_interval(0, left - 1)],
    }
}

/// Whether a bound excludes nothing.
fn is_everything(interval: Interval) -> bool {
    matches!(interval, Interval::Steps { from: 0, to: None } | Interval::Time { from: Span(0), to: None })
}

/// Returns the residual of a point as a formula, for all values of the variables without one.
pub(crate) fn residual_formula(
    compiled: &CompiledFormula,
    cache: &mut Cache,
    arena: &mut Arena,
    point: &Point,
    binding: &Binding,
    now: Time,
) -> Formula {
    let body = residual_body(compiled, cache, arena, point, binding, now);
    quantify_open(compiled, arena, binding, body)
}

/// Returns the residual of a point as a formula, or a note in its place if it is too long to read. Variables without a
/// value are free.
pub(crate) fn residual_body(
    compiled: &CompiledFormula,
    cache: &mut Cache,
    arena: &mut Arena,
    point: &Point,
    binding: &Binding,
    now: Time,
) -> Formula {
    cache.with_residual(&compiled.skeleton, point, |residual, norms, satisfy| {
        let written = FxHashMap::default();
        let mut writer = ResidualWriter { arena, compiled, binding, times: &point.times, now, written };
        let f = writer.write_residual(residual, norms, satisfy);
        let parts = writer.arena.size(f);
        if parts > MAX_RESIDUAL_PARTS {
            return write_note(writer.arena, &format!("a formula of more than {MAX_RESIDUAL_PARTS} parts"));
        }
        f
    })
}

/// Returns the formula with a quantifier in front for the variables without a value.
pub(crate) fn quantify_open(compiled: &CompiledFormula, arena: &mut Arena, binding: &Binding, f: Formula) -> Formula {
    let is_open = |(index, variable): &(usize, &Arc<str>)| {
        !matches!(binding.get(*index), Some(Some(_))) && is_free(arena, f, variable)
    };
    let variables: Vec<Arc<str>> =
        compiled.prefix.iter().enumerate().filter(is_open).map(|(_, variable)| variable.clone()).collect();
    if variables.is_empty() {
        return f;
    }
    let kind = if compiled.negated { Quantifier::Exists } else { Quantifier::Forall };
    arena.insert(Node::Quantified(kind, variables.into(), f))
}

//! Why a verdict came about: the few positions and facts that prove it.
//!
//! First the trail of TRAC's Algorithm 1: the positions at which the residual changed. Then everything is left out that
//! the verdict does not need: what is not in a witness may have been any way at all, and the verdict is the same.
//! `check.rs` proves a witness by the definition alone.

mod engine;
mod search;

use std::sync::Arc;

use crate::facts::{Fact, Facts, fits};
use crate::formula::{Arena, Formula, Node};
use crate::interval::Time;
use crate::monitor::{Monitor, within_always};
use crate::monitor_set::Conclusion;
use crate::sentence::Sentence;
use crate::term::{Atom, Term, Value};
use crate::verdict::Verdict;
use engine::{Alone, Together};
use search::Search;

/// One entry of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Something happened.
    Position(Facts),
    /// Time passed: no position up to this moment comes any more.
    Tick(Time),
}

/// What decided a formula on a trace.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The verdict that is proved.
    pub verdict: Verdict,
    /// For a quantified formula, the variables and values that brought the verdict.
    pub binding: Vec<(Arc<str>, Value)>,
    /// How many entries of the trace it took.
    pub entries: usize,
    /// Does the verdict need the trace to end there?
    pub at_end: bool,
    /// The positions that matter, in order.
    pub steps: Vec<WitnessStep>,
}

/// A position that matters.
#[derive(Clone, Debug)]
pub struct WitnessStep {
    /// Which entry of the trace it is, from 0.
    pub entry: usize,
    /// Its number among the positions, from 1.
    pub position: usize,
    /// The facts that matter and were there.
    pub present: Vec<Fact>,
    /// The facts that matter by not being there.
    pub absent: Vec<Atom>,
    /// What had to hold after it.
    pub residual: Sentence,
}

impl Witness {
    /// Finds why a formula has a definite verdict on a trace, or on the trace if it ends (`at_end`); none if it has
    /// none, or cannot be monitored.
    pub fn find(arena: &Arena, formula: Formula, trace: &[Moment], at_end: bool) -> Option<Witness> {
        Prover::new(arena, formula)?.find(trace, at_end, &[])
    }

    /// Finds why a formula `G f`, with `f` about the past and the present, fails at the last entry of a trace, whatever
    /// failed before it: for the given values of its quantified variables, or for any.
    pub fn at_last(
        arena: &Arena,
        formula: Formula,
        trace: &[Moment],
        binding: &[(Arc<str>, Value)],
    ) -> Option<Witness> {
        Prover::each(arena, formula)?.find(trace, false, binding)
    }
}

/// The fact that marks the entry a question is about; no formula and no trace can spell it.
const HERE: &str = "(here)";

/// Finds witnesses for one formula, and remembers between them what it learnt about it.
#[derive(Debug)]
pub struct Prover {
    sentence: Sentence,
    /// Whether questions are about the last entry of a trace.
    is_each: bool,
    /// One binding by itself, where a binding decides by itself.
    alone: Option<Alone>,
    /// All of them; made when it is needed.
    together: Option<Together>,
}

impl Prover {
    /// For a formula whose verdict is decided once; none if it cannot be monitored.
    pub fn new(arena: &Arena, formula: Formula) -> Option<Prover> {
        let sentence = Sentence { arena: arena.clone(), formula };
        let monitor = Monitor::new(arena, formula).ok()?;
        Some(Prover { alone: Alone::new(monitor), sentence, is_each: false, together: None })
    }

    /// For a formula `G f`, with `f` about the past and the present, that fails at the last entry of traces, whatever
    /// failed before it; none if it is not of that shape.
    pub fn each(arena: &Arena, formula: Formula) -> Option<Prover> {
        let mut asked = Arena::new();
        let formula = asked.copy(arena, formula);
        let here = |arena: &mut Arena, f| {
            let here = arena.fact(HERE);
            arena.implies(here, f)
        };
        let formula = within_always(&mut asked, formula, &here)?;
        Some(Prover { is_each: true, ..Prover::new(&asked, formula)? })
    }

    /// Finds why the formula has a definite verdict on a trace, or on the trace if it ends (`at_end`); none if it has
    /// none. For the given values of its quantified variables, if that decides; else for those that do.
    pub fn find(&mut self, trace: &[Moment], at_end: bool, binding: &[(Arc<str>, Value)]) -> Option<Witness> {
        if !self.is_each {
            return self.decided(trace, at_end, binding);
        }
        let mut marked = trace.to_vec();
        if let Some(Moment::Position(facts)) = marked.last_mut() {
            facts.known.push(Fact::from(HERE));
        }
        let mut witness = self.decided(&marked, at_end, binding)?;
        for step in &mut witness.steps {
            step.present.retain(|fact| &*fact.name != HERE);
            step.absent.retain(|atom| &*atom.name != HERE);
        }
        Some(witness)
    }

    fn decided(&mut self, trace: &[Moment], at_end: bool, binding: &[(Arc<str>, Value)]) -> Option<Witness> {
        if let Some(witness) = self.bound(trace, at_end, binding, None) {
            return Some(witness);
        }
        if !binding.is_empty() {
            // Some of the variables have values: those are put in their places.
            let ground = self.ground(binding);
            let found = Prover::new(&ground.arena, ground.formula)?.decided(trace, at_end, &[])?;
            return Some(Witness { binding: binding.iter().cloned().chain(found.binding).collect(), ..found });
        }
        if self.together.is_none() {
            self.together = Together::new(&self.sentence);
        }
        let together = self.together.as_mut()?;
        let (Conclusion { verdict, binding: values, .. }, entries) = together.decide(trace, at_end)?;
        // The deciding binding alone decides, unless bindings decided together or no value was seen.
        let variables = together.variables();
        let named = variables.iter().cloned().zip(values.into_iter().flatten());
        let named: Option<Vec<_>> = named.map(|(name, value)| value.map(|value| (name, value))).collect();
        if let Some(named) = named.filter(|named| !named.is_empty())
            && let Some(witness) = self.bound(&trace[..entries], at_end, &named, Some(verdict))
        {
            return Some(witness);
        }
        let together = self.together.as_mut()?;
        // A verdict that was there before the end does not need it.
        let at_end = at_end && together.decide(&trace[..entries], false).is_none();
        let steps = Search::new(together, &self.sentence, &trace[..entries], verdict, at_end).run();
        Some(Witness { verdict, binding: Vec::new(), entries, at_end, steps })
    }

    /// The formula with values in the places of variables.
    fn ground(&self, binding: &[(Arc<str>, Value)]) -> Sentence {
        let mut ground = self.sentence.clone();
        for (variable, value) in binding {
            ground.formula = ground.arena.instantiate(ground.formula, variable, value);
        }
        ground
    }

    /// The same for one binding by itself, if it has a value for every variable.
    fn bound(
        &mut self,
        trace: &[Moment],
        at_end: bool,
        binding: &[(Arc<str>, Value)],
        wanted: Option<Verdict>,
    ) -> Option<Witness> {
        let alone = self.alone.as_mut()?;
        alone.bind(binding)?;
        let (verdict, entries) = alone.decide(trace, at_end)?;
        if wanted.is_some_and(|wanted| wanted != verdict) {
            return None;
        }
        let at_end = at_end && alone.decide(&trace[..entries], false).is_none();
        let ground = self.ground(binding);
        let alone = self.alone.as_mut()?;
        let steps = Search::new(alone, &ground, &trace[..entries], verdict, at_end).run();
        Some(Witness { verdict, binding: binding.to_vec(), entries, at_end, steps })
    }
}

/// The facts of a position with everything unknown that is not kept.
pub(crate) fn mask(facts: &Facts, atoms: &[Atom], kept: &[bool]) -> Facts {
    let is_kept = |fact: &&Fact| atoms.iter().zip(kept).any(|(atom, kept)| *kept && fits(atom, fact));
    let known: Vec<Fact> = facts.known.iter().filter(is_kept).cloned().collect();
    let mut unknown = facts.unknown.clone();
    unknown.extend(atoms.iter().zip(kept).filter(|(_, kept)| !**kept).map(|(atom, _)| atom.clone()));
    Facts { time: facts.time, known, unknown }
}

/// The atoms of a formula, variables as `_`.
pub(crate) fn collect_atoms(arena: &Arena, f: Formula, atoms: &mut Vec<Atom>) {
    if let Node::Fact(atom) = &arena[f] {
        let open = |term: &Term| if let Term::Var(_) = term { Term::Any } else { term.clone() };
        let atom = Atom { name: atom.name.clone(), terms: atom.terms.iter().map(open).collect() };
        if !atoms.contains(&atom) {
            atoms.push(atom);
        }
    }
    arena[f].operands().iter().for_each(|operand| collect_atoms(arena, *operand, atoms));
}

//! Witnesses: the few positions and facts that prove a verdict.
//!
//! The search starts from the trail of TRAC's Algorithm 1: the positions at which the residual changed. Then it leaves
//! out every fact that the verdict does not need: the verdict is the same for all facts outside of the witness.
//! `check.rs` confirms a witness by the definition alone.
//!
//! A search has a [budget](WitnessBudget). If it is used up, the witness is the trail, and [says so](WitnessBasis).

mod budget;
mod engine;
mod search;

use std::sync::Arc;

use crate::after::After;
use crate::arena::Arena;
use crate::compile_error::CompileError;
use crate::facts::{Fact, Facts};
use crate::formula::Formula;
use crate::interval::Time;
use crate::monitor::{Monitor, not_an_invariant, replace_in_always};
use crate::monitor_set::Conclusion;
use crate::sentence::Sentence;
use crate::term::Atom;
use crate::value::Value;
use crate::verdict::Verdict;
pub use budget::WitnessBudget;
use engine::{BindingEngine, SetEngine};
use search::WitnessSearch;

/// One entry of a trace.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A position with its facts.
    Position(Facts),
    /// Time passed: every later position is after this moment.
    Tick(Time),
}

/// The part of a trace that decides a formula.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The verdict that is proved.
    pub verdict: Verdict,
    /// For a quantified formula, the variables and values that brought the verdict.
    pub binding: Vec<(Arc<str>, Value)>,
    /// How many entries of the trace decided it.
    pub entries: usize,
    /// Whether the verdict needs the trace to end there.
    pub at_end: bool,
    /// What the positions are.
    pub basis: WitnessBasis,
    /// The positions that matter, in order.
    pub steps: Vec<WitnessStep>,
}

/// What the positions of a witness are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WitnessBasis {
    /// The verdict follows from the facts of these positions, whatever holds elsewhere.
    #[default]
    Proof,
    /// The search reached its budget. These are the last positions at which the residual changed; the verdict may also
    /// depend on others.
    Changes,
}

impl WitnessBasis {
    /// Its name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            WitnessBasis::Proof => "proof",
            WitnessBasis::Changes => "changes",
        }
    }
}

/// A position that matters.
#[derive(Clone, Debug)]
pub struct WitnessStep {
    /// The index of the entry in the trace, from 0.
    pub entry: usize,
    /// Its number among the positions, from 1.
    pub position: usize,
    /// The present facts that matter.
    pub present: Vec<Fact>,
    /// The absent facts that matter.
    pub absent: Vec<Atom>,
    /// What had to hold after it; the whole formula, from a prover [without residuals](Prover::without_residuals).
    pub residual: Arc<Sentence>,
}

impl Witness {
    /// Finds why a formula has a definite verdict on a trace, or on the trace if it ends (`at_end`); none without a
    /// definite verdict, or if the formula cannot be monitored.
    pub fn find(arena: &Arena, formula: Formula, trace: &[Moment], at_end: bool) -> Option<Witness> {
        Prover::new(arena, formula).ok()?.find(trace, at_end, &[])
    }

    /// Finds why a formula `G f`, with `f` about the past and the present, fails at the last entry of a trace,
    /// independent of earlier failures: for the given values of its quantified variables, or for any.
    pub fn find_at_last(
        arena: &Arena,
        formula: Formula,
        trace: &[Moment],
        binding: &[(Arc<str>, Value)],
    ) -> Option<Witness> {
        Prover::with_after(arena, formula, After::Each).ok()?.find(trace, false, binding)
    }
}

/// The name of the fact that marks the entry in question; no formula and no trace can contain it.
const HERE_FACT: &str = "(here)";

/// Finds witnesses for one formula, and keeps its caches between them.
#[derive(Debug)]
pub struct Prover {
    sentence: Sentence,
    /// Whether it explains the last entry of a trace.
    is_each: bool,
    has_residuals: bool,
    /// The engine for one binding, if a single binding can decide.
    alone: Option<BindingEngine>,
    /// The engine for all bindings; created on demand.
    together: Option<SetEngine>,
}

impl Prover {
    /// Returns a prover for a formula whose verdict is decided once. The error says why it cannot be monitored.
    pub fn new(arena: &Arena, formula: Formula) -> Result<Prover, CompileError> {
        let monitor = Monitor::new(arena, formula)?;
        let sentence = Sentence { arena: arena.clone(), formula };
        Ok(Prover { alone: BindingEngine::new(monitor), sentence, is_each: false, has_residuals: true, together: None })
    }

    /// Returns a prover for the verdicts of a monitor with this behavior after a definite verdict.
    ///
    /// With [`After::Each`] it explains why `G f` fails at the last entry of a trace, independent of earlier failures;
    /// formulas that [`Monitor::with_after`] refuses are an error.
    pub fn with_after(arena: &Arena, formula: Formula, after: After) -> Result<Prover, CompileError> {
        match after {
            After::Latch | After::Reset => return Prover::new(arena, formula),
            After::Each => arena.require(formula)?,
        }
        let mut asked = Arena::new();
        let formula = asked.copy(arena, formula);
        let here = |arena: &mut Arena, f| {
            let here = arena.fact(HERE_FACT);
            arena.implies(here, f)
        };
        let formula = replace_in_always(&mut asked, formula, &here).ok_or_else(not_an_invariant)?;
        Ok(Prover { is_each: true, ..Prover::new(&asked, formula)? })
    }

    /// Returns a prover that does not compute what had to hold after each step.
    #[must_use]
    pub fn without_residuals(self) -> Prover {
        Prover { has_residuals: false, ..self }
    }

    /// Finds why the formula has a definite verdict on a trace, or on the trace if it ends (`at_end`); none without a
    /// definite verdict. Prefers the given values of its quantified variables, if they decide.
    pub fn find(&mut self, trace: &[Moment], at_end: bool, binding: &[(Arc<str>, Value)]) -> Option<Witness> {
        self.find_within(trace, at_end, binding, &mut WitnessBudget::default())
    }

    /// Finds a witness like [`Prover::find`], within a budget for several searches.
    ///
    /// Reading the trace once is not limited: it takes time in proportion to its length.
    pub fn find_within(
        &mut self,
        trace: &[Moment],
        at_end: bool,
        binding: &[(Arc<str>, Value)],
        budget: &mut WitnessBudget,
    ) -> Option<Witness> {
        if !self.is_each {
            return self.find_decided(trace, at_end, binding, budget);
        }
        let mut marked = trace.to_vec();
        if let Some(Moment::Position(facts)) = marked.last_mut() {
            facts.known.push(Fact::new(HERE_FACT, []));
        }
        let mut witness = self.find_decided(&marked, at_end, binding, budget)?;
        for step in &mut witness.steps {
            step.present.retain(|fact| &*fact.name != HERE_FACT);
            step.absent.retain(|atom| &*atom.name != HERE_FACT);
        }
        Some(witness)
    }

    fn find_decided(
        &mut self,
        trace: &[Moment],
        at_end: bool,
        binding: &[(Arc<str>, Value)],
        budget: &mut WitnessBudget,
    ) -> Option<Witness> {
        if let Some(witness) = self.find_for_binding(trace, at_end, binding, None, budget) {
            return Some(witness);
        }
        if !binding.is_empty() {
            // Only some variables have values: the formula is instantiated with those.
            let ground = self.instantiate(binding);
            let mut prover = Prover::new(&ground.arena, ground.formula).ok()?;
            prover.has_residuals = self.has_residuals;
            let found = prover.find_decided(trace, at_end, &[], budget)?;
            return Some(Witness { binding: binding.iter().cloned().chain(found.binding).collect(), ..found });
        }
        if self.together.is_none() {
            self.together = SetEngine::new(&self.sentence);
        }
        let together = self.together.as_mut()?;
        let (Conclusion { verdict, binding: values, .. }, entries) = together.decide(trace, at_end)?;
        // The deciding binding alone decides, unless bindings decided together or no value was seen.
        let variables = together.variables();
        let named = variables.iter().cloned().zip(values.into_iter().flatten());
        let named: Option<Vec<_>> = named.map(|(name, value)| value.map(|value| (name, value))).collect();
        if let Some(named) = named.filter(|named| !named.is_empty())
            && let Some(witness) = self.find_for_binding(&trace[..entries], at_end, &named, Some(verdict), budget)
        {
            return Some(witness);
        }
        let together = self.together.as_mut()?;
        // A verdict that was definite before the end does not need it.
        let at_end = at_end && together.decide(&trace[..entries], false).is_none();
        let search = WitnessSearch::new(together, &self.sentence, &trace[..entries], verdict, at_end, budget);
        let (basis, steps) = search.run(self.has_residuals);
        Some(Witness { verdict, binding: Vec::new(), entries, at_end, basis, steps })
    }

    /// Returns the formula with variables replaced by values.
    fn instantiate(&self, binding: &[(Arc<str>, Value)]) -> Sentence {
        let mut ground = self.sentence.clone();
        for (variable, value) in binding {
            ground.formula = ground.arena.instantiate(ground.formula, variable, value);
        }
        ground
    }

    /// Finds a witness for one binding, if it has a value for every variable.
    fn find_for_binding(
        &mut self,
        trace: &[Moment],
        at_end: bool,
        binding: &[(Arc<str>, Value)],
        wanted: Option<Verdict>,
        budget: &mut WitnessBudget,
    ) -> Option<Witness> {
        let alone = self.alone.as_mut()?;
        alone.bind(binding)?;
        let (verdict, entries) = alone.decide(trace, at_end)?;
        if wanted.is_some_and(|wanted| wanted != verdict) {
            return None;
        }
        let at_end = at_end && alone.decide(&trace[..entries], false).is_none();
        let ground = self.instantiate(binding);
        let alone = self.alone.as_mut()?;
        let search = WitnessSearch::new(alone, &ground, &trace[..entries], verdict, at_end, budget);
        let (basis, steps) = search.run(self.has_residuals);
        Some(Witness { verdict, binding: binding.to_vec(), entries, at_end, basis, steps })
    }
}

//! A compiled formula: immutable, shareable, deterministic.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::after::After;
use crate::arena::{Arena, Node};
use crate::compile::{CompiledFormula, compile};
use crate::compile_error::CompileError;
use crate::data::{DataMonitor, needs_data};
use crate::formula::{Formula, Quantifier, Unary};
use crate::formula_error::FormulaError;
use crate::probe::{EXCUSED_FACT, FactPattern, Probe};
use crate::scope::{has_future, is_free};
use crate::spelling::Spelling;
use crate::value::Value;
use crate::verdict::Verdict;

/// A formula made ready to follow traces.
///
/// ```
/// use lictor_logic::{Arena, Monitor};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let monitor = Monitor::new(&arena, formula).unwrap();
/// assert_eq!(monitor.text(), "G(request -> F answer)");
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) compiled: CompiledFormula,
    pub(crate) shape: Shape,
    pub(crate) after: After,
    /// The letter bit that excuses a position, if every violating position is reported.
    pub(crate) excuse: u64,
    /// For a formula about data, the part that finds violations; the compiled formula then only follows whether there
    /// ever was one.
    pub(crate) data: Option<Arc<DataMonitor>>,
    text: String,
    /// The first digits of the hash of the text.
    formula_hash: Arc<str>,
}

/// How many hexadecimal digits of its hash identify a formula.
const FORMULA_HASH_DIGITS: usize = 32;

/// The name of the fact that a formula about data is violated at a position.
const BROKEN_FACT: &str = "(broken)";

/// How a formula reads positions, computed once because every step needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Whether there is a state for each binding of values.
    pub(crate) quantified: bool,
    /// Whether some letter bit needs all facts of a position together, or all values matter.
    pub(crate) whole: bool,
    /// Whether every pattern binds all variables or none, so that one fact identifies the binding it touches.
    pub(crate) sliced: bool,
    /// Whether it is sliced, with one variable.
    pub(crate) single: bool,
    /// Whether some pattern binds no variable, so that bindings share facts.
    pub(crate) mixed: bool,
    /// The bits that belong to a binding alone, if there is one variable and bindings share other bits.
    pub(crate) own: Option<u64>,
}

impl Shape {
    fn new(compiled: &CompiledFormula) -> Shape {
        let variables = compiled.prefix.len();
        let all = (1u32 << variables) - 1;
        // No fact ever sets the excuse, so it needs no mask.
        let masks = compiled.probes.iter().filter(|probe| !probe.is_excuse()).map(|probe| match probe {
            Probe::Pattern(pattern) => Some(pattern.mask()),
            Probe::Local { .. } => None,
        });
        let masks: Vec<Option<u32>> = masks.collect();
        let whole = masks.contains(&None) || !compiled.rigid.is_trivial();
        let sliced = !whole && masks.iter().flatten().all(|mask| *mask == 0 || *mask == all);
        let is_own = |probe: &Probe| match probe {
            Probe::Pattern(pattern) => pattern.mask() != 0 || probe.is_excuse(),
            Probe::Local { body, .. } => {
                compiled.prefix.iter().any(|variable| is_free(&compiled.arena, *body, variable))
            }
        };
        let own =
            compiled.probes.iter().enumerate().fold(0, |bits, (bit, probe)| bits | u64::from(is_own(probe)) << bit);
        let shares = own.count_ones() < compiled.skeleton.width;
        Shape {
            quantified: variables > 0,
            whole,
            sliced,
            single: sliced && variables == 1,
            mixed: masks.contains(&Some(0)),
            own: (variables == 1 && shares).then_some(own),
        }
    }
}

impl Monitor {
    /// Parses and compiles a formula.
    ///
    /// ```
    /// use lictor_logic::Monitor;
    /// let monitor = Monitor::parse("G(request -> F answer)")?;
    /// assert_eq!(monitor.text(), "G(request -> F answer)");
    /// let error = Monitor::parse("alwyas a").unwrap_err();
    /// assert!(error.to_string().contains("hint: did you mean `always`?"));
    /// # Ok::<(), lictor_logic::FormulaError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Monitor, FormulaError> {
        let mut arena = Arena::new();
        let formula = arena.parse(text)?;
        Ok(Monitor::new(&arena, formula)?)
    }

    /// Compiles a formula. A definite verdict latches. The error says why the formula cannot be monitored and what to do.
    pub fn new(arena: &Arena, formula: Formula) -> Result<Monitor, CompileError> {
        Monitor::with_after(arena, formula, After::Latch)
    }

    /// Compiles a formula like [`Monitor::new`], with another behavior after a definite verdict.
    ///
    /// [`After::Each`] reports every position at which `f` fails in `G f`, for every binding that fails there. It is an
    /// error for formulas of another shape, and if `f` is about the future.
    ///
    /// ```
    /// use lictor_logic::{After, Arena, Facts, Monitor, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(pay -> O approved)").unwrap();
    /// let mut monitors = MonitorSet::new();
    /// monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
    /// let mut trace_state = monitors.start();
    /// assert_eq!(monitors.step(&mut trace_state, &Facts::parse("pay").unwrap()).len(), 1);
    /// assert_eq!(monitors.step(&mut trace_state, &Facts::parse("pay").unwrap()).len(), 1);
    /// assert_eq!(monitors.step(&mut trace_state, &Facts::parse("approved").unwrap()).len(), 1); // satisfied for good
    /// assert_eq!(monitors.step(&mut trace_state, &Facts::parse("pay").unwrap()).len(), 0);
    /// ```
    pub fn with_after(arena: &Arena, formula: Formula, after: After) -> Result<Monitor, CompileError> {
        arena.require(formula)?;
        let compile = match after {
            After::Latch | After::Reset => compile,
            After::Each => compile_with_excuse,
        };
        Ok(Monitor { after, ..Monitor::compiled(arena, formula, compile)? })
    }

    fn compiled(
        arena: &Arena,
        formula: Formula,
        compile: impl Fn(&Arena, Formula) -> Result<CompiledFormula, CompileError>,
    ) -> Result<Monitor, CompileError> {
        let text = arena.show(formula, Spelling::Ascii).to_string();
        let made = |compiled: CompiledFormula, data: Option<DataMonitor>| {
            let shape = Shape::new(&compiled);
            let excuse = compiled.probes.iter().position(Probe::is_excuse).map_or(0, |bit| 1 << bit);
            let formula_hash = hash_formula(&text, !compiled.rigid.is_trivial());
            Monitor { compiled, shape, after: After::Latch, excuse, data: data.map(Arc::new), text, formula_hash }
        };
        let data = |arena: &Arena| -> Result<Option<(CompiledFormula, DataMonitor)>, CompileError> {
            let Some(data) = DataMonitor::new(arena, formula)? else { return Ok(None) };
            let mut core = Arena::new();
            let broken = core.fact(BROKEN_FACT);
            let whole = core.not(broken);
            let never = core.always(whole);
            Ok(Some((compile(&core, never)?, data)))
        };
        if needs_data(arena, formula) {
            return match data(arena)? {
                Some((compiled, data)) => Ok(made(compiled, Some(data))),
                // The ordinary compiler gives the better error.
                None => compile(arena, formula).map(|compiled| made(compiled, None)),
            };
        }
        match compile(arena, formula) {
            // With many variables, a query at each position is cheaper than a state for each combination of values.
            Ok(compiled) if compiled.prefix.len() > 2 => match data(arena) {
                Ok(Some((core, data))) => Ok(made(core, Some(data))),
                Ok(None) | Err(_) => Ok(made(compiled, None)),
            },
            Ok(compiled) => Ok(made(compiled, None)),
            Err(error) => match data(arena) {
                Ok(Some((compiled, data))) => Ok(made(compiled, Some(data))),
                Ok(None) | Err(_) => Err(error),
            },
        }
    }

    /// Returns its behavior after a definite verdict.
    pub fn after(&self) -> After {
        self.after
    }

    /// Whether possible states with a verdict restart. With bindings or data, only a certain verdict restarts anything.
    pub(crate) fn restarts_possible_states(&self) -> bool {
        self.after == After::Reset && !self.shape.quantified && self.data.is_none()
    }

    /// Returns the formula, in ASCII.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a short hash of the formula, which stands for its text in snapshots.
    pub(crate) fn formula_hash(&self) -> &Arc<str> {
        &self.formula_hash
    }

    /// Returns the variables whose bindings have a state of their own.
    pub fn variables(&self) -> &[Arc<str>] {
        match &self.data {
            Some(data) => &data.variables,
            None => &self.compiled.prefix,
        }
    }

    /// Returns the names of the facts that a formula about data asks for.
    pub(crate) fn data_names(&self) -> &[Arc<str>] {
        self.data.as_ref().map_or(&[], |data| &data.names)
    }

    /// Returns the letter bit for a position that violates a formula about data.
    pub(crate) fn broken_bit(&self) -> u64 {
        let is_broken = |probe: &Probe| matches!(probe, Probe::Pattern(pattern) if &*pattern.name == BROKEN_FACT);
        self.compiled.probes.iter().position(is_broken).map_or(0, |bit| 1 << bit)
    }

    /// Whether it is about data: it counts, or its values meet across positions. It then has no automaton; a query at
    /// each position finds the values that violate it.
    pub fn is_about_data(&self) -> bool {
        self.data.is_some()
    }

    /// Whether it has a time bound.
    pub fn is_timed(&self) -> bool {
        !self.compiled.skeleton.clocks.is_empty()
    }

    /// Returns the verdict on the formula from the verdict on the compiled one, which is its negation for an `exists`.
    pub(crate) fn apply_polarity(&self, verdict: Verdict) -> Verdict {
        if self.compiled.negated { verdict.negated() } else { verdict }
    }

    /// Returns the patterns among its letter bits.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (u8, &FactPattern)> {
        self.compiled.probes.iter().enumerate().filter_map(|(bit, probe)| match probe {
            Probe::Pattern(pattern) => Some((bit as u8, pattern)),
            Probe::Local { .. } => None,
        })
    }

    /// Returns the names of the facts that it asks for.
    pub(crate) fn fact_names(&self) -> BTreeSet<Arc<str>> {
        let mut atoms = Vec::new();
        for probe in &self.compiled.probes {
            if let Probe::Local { body, .. } = probe {
                self.compiled.arena.collect_atoms(*body, &mut atoms);
            }
        }
        let patterns = self.patterns().map(|(_, pattern)| pattern.name.clone());
        patterns.chain(self.data_names().iter().cloned()).chain(atoms.into_iter().map(|atom| atom.name)).collect()
    }

    /// Returns the value that the pattern of a letter bit binds, in a formula with one variable.
    pub(crate) fn bound_value<'a>(&self, bit: u8, values: &'a [Value]) -> Option<&'a Value> {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => pattern.single_value(values),
            Probe::Local { .. } => None,
        }
    }

    /// Whether values match the pattern of a letter bit, in a formula without bindings.
    pub(crate) fn fits(&self, bit: u8, values: &[Value]) -> bool {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => pattern.fits(values, &[]),
            Probe::Local { .. } => false,
        }
    }
}

/// Compiles a formula of the shape `G f`, with `f` about the past and the present, with a fact that excuses a position.
fn compile_with_excuse(arena: &Arena, formula: Formula) -> Result<CompiledFormula, CompileError> {
    let mut excusing = Arena::new();
    let copy = excusing.copy(arena, formula);
    let excuse = |arena: &mut Arena, f| {
        let excused = arena.fact(EXCUSED_FACT);
        arena.or([f, excused])
    };
    let excused = replace_in_always(&mut excusing, copy, &excuse).ok_or_else(not_an_invariant)?;
    let compiled = compile(&excusing, excused)?;
    if compiled.probes.is_empty() || compiled.probes.iter().any(Probe::is_excuse) {
        return Ok(compiled);
    }
    Err(CompileError::new(
        "its comparisons rule out a report at each position",
        "let the verdict latch or reset, or compare fewer variables with each other",
    ))
}

/// Returns why a formula is not reported at each position.
pub(crate) fn not_an_invariant() -> CompileError {
    CompileError::new(
        "only `always f` with `f` about the past and the present can be reported at each position",
        "remove the future operators from `f`, or let the verdict latch or reset",
    )
}

/// Returns the hash of a formula for snapshots. States of a formula with comparisons are numbered by the order of values,
/// so a change of that order is another formula to them.
fn hash_formula(text: &str, is_ordered: bool) -> Arc<str> {
    const ORDER_VERSION: &str = "\norder 2";
    let mut hash = blake3::Hasher::new();
    hash.update(text.as_bytes());
    if is_ordered {
        hash.update(ORDER_VERSION.as_bytes());
    }
    hash.finalize().to_hex()[..FORMULA_HASH_DIGITS].into()
}

/// Returns `G f` with `f` replaced, below the quantifiers in front; none unless `f` is about the past and the present.
pub(crate) fn replace_in_always(
    arena: &mut Arena,
    f: Formula,
    replace: &dyn Fn(&mut Arena, Formula) -> Formula,
) -> Option<Formula> {
    match arena[f].clone() {
        Node::Unary(Unary::Always, interval, g) if interval.is_unbounded() => {
            let g = replace_in_quantifiers(arena, g, replace)?;
            Some(arena.always(g))
        }
        Node::Quantified(Quantifier::Forall, variables, g) => {
            let g = replace_in_always(arena, g, replace)?;
            Some(arena.insert(Node::Quantified(Quantifier::Forall, variables, g)))
        }
        _ => None,
    }
}

fn replace_in_quantifiers(
    arena: &mut Arena,
    f: Formula,
    replace: &dyn Fn(&mut Arena, Formula) -> Formula,
) -> Option<Formula> {
    match arena[f].clone() {
        Node::Quantified(Quantifier::Forall, variables, g) => {
            let g = replace_in_quantifiers(arena, g, replace)?;
            Some(arena.insert(Node::Quantified(Quantifier::Forall, variables, g)))
        }
        _ if has_future(arena, f) => None,
        _ => Some(replace(arena, f)),
    }
}

//! From a formula as written to the compiled formula: quantifier prefix, letter bits, norms.
//!
//! A formula that could fail later is refused here, with a reason and a hint: after this, a step cannot fail.

use std::sync::Arc;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::compile_error::CompileError;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::lower::Lowering;
use crate::probe::{MAX_PREFIX_VARIABLES, Probe};
use crate::rigid::RigidComparisons;
use crate::scope::{
    PrefixedFormula, has_future, is_free, is_wide, lift_quantifiers, narrow_quantifiers, peel_foralls, push_quantifier,
};
use crate::skeleton::Skeleton;

/// A formula ready to follow traces.
#[derive(Clone, Debug)]
pub(crate) struct CompiledFormula {
    /// The arena of `body` and of the questions in `probes`.
    pub(crate) arena: Arena,
    /// The variables of the prefix: each binding of them has one state.
    pub(crate) prefix: Vec<Arc<str>>,
    /// Whether the prefix was `exists`: everything below is the negation, and verdicts are negated.
    pub(crate) negated: bool,
    pub(crate) skeleton: Skeleton,
    pub(crate) probes: Vec<Probe>,
    pub(crate) rigid: RigidComparisons,
}

/// The most nodes of a formula, written out.
const MAX_FORMULA_NODES: u64 = 20_000;

pub(crate) fn compile(source: &Arena, formula: Formula) -> Result<CompiledFormula, CompileError> {
    check_size(source, formula)?;
    let mut arena = Arena::new();
    let formula = arena.copy(source, formula);
    check_past(&arena, formula, None)?;
    let mut taken = Vec::new();
    let peeled = peel_foralls(&mut arena, formula, &mut taken);
    let peeled = if peeled.variables.len() > 1 { push_compared(&mut arena, peeled) } else { peeled };
    let narrowed = narrow_quantifiers(&mut arena, peeled.body);
    let lifted = lift_quantifiers(&mut arena, narrowed, Quantifier::Forall, &mut taken);
    let mut prefix: Vec<Arc<str>> = peeled.variables.into_iter().chain(lifted.variables).collect();
    let mut body = lifted.body;
    let mut negated = false;
    if prefix.is_empty() {
        let lifted = lift_quantifiers(&mut arena, body, Quantifier::Exists, &mut taken);
        if !lifted.variables.is_empty() {
            prefix = lifted.variables;
            body = arena.not(lifted.body);
            negated = true;
        }
    }
    if prefix.len() > MAX_PREFIX_VARIABLES {
        let found = prefix.len();
        return Err(CompileError::new(
            format!("{found} quantified variables range over the whole formula, at most {MAX_PREFIX_VARIABLES} can"),
            "split the formula into several, or replace a variable that is used once by `_`",
        ));
    }
    check_size(&arena, body)?;
    let rigid =
        RigidComparisons::new(&arena, body, &prefix).map_err(|(message, hint)| CompileError::new(message, hint))?;
    let mut lowering = Lowering::new(&mut arena, &prefix);
    let mut starts = Vec::new();
    for valuation in rigid.valuations() {
        starts.push(lowering.lower_start(body, rigid.truths(valuation))?);
    }
    let Lowering { norms, probes, clocks, families, .. } = lowering;
    let probes: Vec<Probe> = probes.into_iter().collect();
    let (generals, specials) = relate_probes(&probes);
    let waits = clocks.iter().any(|clock| clock.from.0 > 0);
    let (width, families) = (probes.len() as u32, families.len() as u32);
    let quantified = !prefix.is_empty();
    let skeleton = Skeleton { norms, starts, clocks, waits, quantified, width, families, generals, specials };
    Ok(CompiledFormula { arena, prefix, negated, skeleton, probes, rigid })
}

/// Returns for each bit the bits that are set whenever it is (a fact that matches `p("a")` matches `p`), and the
/// inverse.
fn relate_probes(probes: &[Probe]) -> (Vec<u64>, Vec<u64>) {
    let mut generals = vec![0; probes.len()];
    let mut specials = vec![0; probes.len()];
    for (special, probe) in probes.iter().enumerate() {
        generals[special] |= 1 << special;
        specials[special] |= 1 << special;
        for (general, other) in probes.iter().enumerate() {
            if let (Probe::Pattern(probe), Probe::Pattern(other)) = (probe, other)
                && other.is_more_general_than(probe)
            {
                generals[special] |= 1 << general;
                specials[general] |= 1 << special;
            }
        }
    }
    (generals, specials)
}

/// Moves the variables that are compared by order into the position that gives them a value: `forall x, a. G(pays(x,a)
/// & a > 9 -> f(x))` is `forall x. G((exists a. pays(x,a) & a > 9) -> f(x))`.
fn push_compared(arena: &mut Arena, peeled: PrefixedFormula) -> PrefixedFormula {
    let mut body = peeled.body;
    let mut variables = Vec::new();
    for variable in peeled.variables {
        let inner = push_quantifier(arena, Quantifier::Forall, &variable, body);
        if is_ordered(arena, body, &variable) && !has_wide(arena, inner, &variable) {
            body = inner;
        } else {
            variables.push(variable);
        }
    }
    PrefixedFormula { variables, body }
}

/// Whether a variable is compared by order.
fn is_ordered(arena: &Arena, f: Formula, variable: &Arc<str>) -> bool {
    match &arena[f] {
        Node::Compare(Comparison::Equal | Comparison::Unequal, ..) => false,
        Node::Compare(..) => is_free(arena, f, variable),
        node => node.operands().iter().any(|operand| is_ordered(arena, *operand, variable)),
    }
}

/// Whether a variable is bound by a quantifier that one position cannot decide.
fn has_wide(arena: &Arena, f: Formula, variable: &Arc<str>) -> bool {
    match &arena[f] {
        Node::Quantified(kind, variables, body) if variables.contains(variable) => {
            is_wide(arena, *kind, variables, *body)
        }
        node => node.operands().iter().any(|operand| has_wide(arena, *operand, variable)),
    }
}

fn check_size(arena: &Arena, f: Formula) -> Result<(), CompileError> {
    let depth = arena.depth(f);
    // Moving quantifiers and writing out negations may add some levels to those of the text.
    if depth > 2 * Arena::MAX_DEPTH {
        let most = Arena::MAX_DEPTH;
        return Err(CompileError::new(
            format!("the formula is nested {depth} levels deep, at most {most} can be judged"),
            "split it into several formulas",
        ));
    }
    let size = arena.size(f);
    if size > MAX_FORMULA_NODES {
        return Err(CompileError::new(
            format!("the formula has {size} parts when written out, at most {MAX_FORMULA_NODES} can be judged"),
            "split it into several formulas",
        ));
    }
    Ok(())
}

/// Refuses future operators below past ones.
fn check_past(arena: &Arena, f: Formula, below: Option<&'static str>) -> Result<(), CompileError> {
    if let Some(past) = below.filter(|_| has_future(arena, f)) {
        return Err(CompileError::new(
            format!("`{past}` looks back at a formula that looks ahead; what it says may only be known later"),
            "state it from the earlier position: instead of `O(a & F b)` write `F(a & F b)`, or look back from `b`",
        ));
    }
    let below = match &arena[f] {
        Node::Unary(Unary::Previous, ..) => Some("Y"),
        Node::Unary(Unary::WeakPrevious, ..) => Some("Z"),
        Node::Unary(Unary::Once, ..) => Some("O"),
        Node::Unary(Unary::Historically, ..) => Some("H"),
        Node::Binary(Binary::Since, ..) => Some("S"),
        Node::Binary(Binary::Trigger, ..) => Some("T"),
        _ => below,
    };
    arena[f].operands().iter().try_for_each(|operand| check_past(arena, *operand, below))
}

//! Comparisons that do not depend on the position: `amount > 1000` for a quantified `amount`.
//!
//! They are decided once for each binding. The answers together are a *valuation*. All bindings with one valuation run
//! the same norm, so it determines their start state.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::formula::Formula;
use crate::probe::Binding;
use crate::term::Term;
use crate::value::Value;

type RigidComparison = (Comparison, Term, Term);

/// The rigid comparisons of a formula and the valuations that values can give them.
#[derive(Clone, Debug)]
pub(crate) struct RigidComparisons {
    comparisons: Vec<RigidComparison>,
    prefix: Vec<Arc<str>>,
    /// The valuations that some values give, as bits; the index in this list names a valuation.
    valuations: Vec<u32>,
    /// For each valuation, whether values that were never seen give it.
    unseen: Vec<bool>,
}

/// The most rigid comparisons in a formula.
const MAX_RIGID_COMPARISONS: usize = 8;

/// A sample value of a variable: a real one, or one never seen.
#[derive(Clone, PartialEq)]
enum SampleValue {
    Value(Value),
    Unseen(usize),
}

impl RigidComparisons {
    pub(crate) fn new(arena: &Arena, body: Formula, prefix: &[Arc<str>]) -> Result<RigidComparisons, (String, String)> {
        let mut comparisons = Vec::new();
        collect_comparisons(arena, body, &mut comparisons);
        if comparisons.len() > MAX_RIGID_COMPARISONS {
            return Err((
                format!(
                    "the formula has {} comparisons of quantified values, at most {MAX_RIGID_COMPARISONS} are possible",
                    comparisons.len()
                ),
                "split it into several formulas".into(),
            ));
        }
        for (comparison, left, right) in &comparisons {
            let ordered = !matches!(comparison, Comparison::Equal | Comparison::Unequal);
            if ordered && prefix.len() > 1 {
                return Err((
                    format!(
                        "`{left} {} {right}` orders values while several variables are bound at the front",
                        comparison.symbol()
                    ),
                    "put the comparison beside the fact that gives the value, inside of one temporal operator".into(),
                ));
            }
            for term in [left, right] {
                match term {
                    Term::Var(name) if !prefix.contains(name) => {
                        return Err((
                            format!("variable `{name}` in a comparison is not bound"),
                            format!("put `forall {name}.` before it"),
                        ));
                    }
                    Term::Any => {
                        return Err((
                            "`_` cannot be compared: it stands for any value".into(),
                            "name the value by a variable".into(),
                        ));
                    }
                    _ => {}
                }
            }
        }
        let mut rigid =
            RigidComparisons { comparisons, prefix: prefix.to_vec(), valuations: Vec::new(), unseen: Vec::new() };
        rigid.find_valuations();
        Ok(rigid)
    }

    /// Whether all bindings have the same valuation.
    pub(crate) fn is_trivial(&self) -> bool {
        self.valuations.len() == 1
    }

    pub(crate) fn valuations(&self) -> std::ops::Range<usize> {
        0..self.valuations.len()
    }

    /// Whether values that were never seen give a valuation.
    pub(crate) fn is_realised_by_unseen(&self, valuation: usize) -> bool {
        self.unseen[valuation]
    }

    /// Returns the bindings of some variables to constants of the formula that can have a valuation. A constant counts
    /// as seen from the start.
    pub(crate) fn constant_bindings(&self, valuation: usize) -> Vec<Box<Binding>> {
        let mut bindings: Vec<Vec<Option<Value>>> = vec![Vec::new()];
        for _ in &self.prefix {
            let constants = self.constants();
            let values = || constants.iter().cloned().map(Some).chain([None]);
            bindings = bindings
                .into_iter()
                .flat_map(|binding| values().map(move |value| binding.iter().cloned().chain([value]).collect()))
                .collect();
        }
        bindings.retain(|binding| binding.iter().any(Option::is_some) && self.agrees(valuation, binding));
        bindings.into_iter().map(Vec::into_boxed_slice).collect()
    }

    /// Returns the truth of each comparison under a valuation.
    pub(crate) fn truths(&self, valuation: usize) -> FxHashMap<RigidComparison, bool> {
        let bits = self.valuations[valuation];
        self.comparisons.iter().enumerate().map(|(index, compare)| (compare.clone(), bits >> index & 1 == 1)).collect()
    }

    /// Returns the valuations that a binding can have, for any values of its open variables.
    pub(crate) fn compatible_valuations(&self, binding: &Binding) -> Vec<usize> {
        if self.is_trivial() {
            return vec![0];
        }
        self.valuations().filter(|valuation| self.agrees(*valuation, binding)).collect()
    }

    fn agrees(&self, valuation: usize, binding: &Binding) -> bool {
        let value = |term: &Term| match term {
            Term::Value(value) => Some(value.clone()),
            Term::Var(name) => {
                self.prefix.iter().position(|other| other == name).and_then(|index| binding[index].clone())
            }
            Term::Any => None,
        };
        self.comparisons.iter().enumerate().all(|(index, (comparison, left, right))| {
            match (value(left), value(right)) {
                (Some(left), Some(right)) => {
                    comparison.holds(&left, &right) == (self.valuations[valuation] >> index & 1 == 1)
                }
                _ => true,
            }
        })
    }

    /// Finds the valuations: tries values at, below, between and above the constants, and values never seen.
    fn find_valuations(&mut self) {
        let constants = self.constants();
        let mut samples: Vec<(SampleValue, bool)> = Vec::new();
        let mut add = |datum: SampleValue, unseen: bool| {
            if !samples.iter().any(|(other, _)| *other == datum) {
                samples.push((datum, unseen));
            }
        };
        constants.iter().for_each(|value| add(SampleValue::Value(value.clone()), false));
        (0..self.prefix.len()).for_each(|index| add(SampleValue::Unseen(index), true));
        if !self.comparisons.is_empty() {
            sample_between(&constants).into_iter().for_each(|value| add(SampleValue::Value(value), false));
        }
        let mut chosen = Vec::new();
        self.sample(&samples, &mut chosen);
    }

    fn sample(&mut self, samples: &[(SampleValue, bool)], chosen: &mut Vec<(SampleValue, bool)>) {
        if chosen.len() < self.prefix.len() {
            for sample in samples {
                chosen.push(sample.clone());
                self.sample(samples, chosen);
                chosen.pop();
            }
            return;
        }
        let datum = |term: &Term| match term {
            Term::Value(value) => SampleValue::Value(value.clone()),
            Term::Var(name) => {
                let index = self.prefix.iter().position(|other| other == name).unwrap_or(0);
                chosen[index].0.clone()
            }
            Term::Any => SampleValue::Unseen(usize::MAX),
        };
        let bits = self.comparisons.iter().enumerate().fold(0, |bits, (index, (comparison, left, right))| {
            bits | u32::from(sample_holds(*comparison, &datum(left), &datum(right))) << index
        });
        let unseen = chosen.iter().all(|(_, unseen)| *unseen);
        match self.valuations.iter().position(|other| *other == bits) {
            Some(index) => self.unseen[index] |= unseen,
            None => {
                self.valuations.push(bits);
                self.unseen.push(unseen);
            }
        }
    }

    fn constants(&self) -> Vec<Value> {
        let mut constants: Vec<Value> = Vec::new();
        for (_, left, right) in &self.comparisons {
            for term in [left, right] {
                if let Term::Value(value) = term
                    && !constants.contains(value)
                {
                    constants.push(value.clone());
                }
            }
        }
        constants
    }
}

/// Collects every comparison outside of inner quantifiers.
fn collect_comparisons(arena: &Arena, f: Formula, found: &mut Vec<RigidComparison>) {
    match &arena[f] {
        Node::Compare(comparison, left, right) => {
            let compare = (*comparison, left.clone(), right.clone());
            if !found.contains(&compare) {
                found.push(compare);
            }
        }
        Node::Quantified(..) => {}
        node => node.operands().iter().for_each(|operand| collect_comparisons(arena, *operand, found)),
    }
}

/// Returns values in every gap between constants of a kind.
fn sample_between(constants: &[Value]) -> Vec<Value> {
    let mut values = vec![Value::Bool(false), Value::Bool(true), Value::Integer(0), Value::text("")];
    let mut numbers: Vec<f64> = constants
        .iter()
        .filter_map(|value| match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Decimal(number) => Some(number.get()),
            _ => None,
        })
        .collect();
    numbers.sort_by(f64::total_cmp);
    let gaps = numbers.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
    let ends = numbers.first().map(|first| first - 1.0).into_iter().chain(numbers.last().map(|last| last + 1.0));
    values.extend(gaps.chain(ends).filter_map(Value::number));
    for value in constants {
        if let Value::Text(text) = value {
            values.push(Value::text(format!("{text}\u{0}")));
        }
    }
    values
}

fn sample_holds(comparison: Comparison, left: &SampleValue, right: &SampleValue) -> bool {
    match (left, right) {
        (SampleValue::Value(left), SampleValue::Value(right)) => comparison.holds(left, right),
        _ => match comparison {
            Comparison::Equal | Comparison::AtMost | Comparison::AtLeast => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less | Comparison::Greater => false,
        },
    }
}

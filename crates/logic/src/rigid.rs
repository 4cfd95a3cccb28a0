//! Comparisons that do not depend on the position: `amount > 1000` for a quantified `amount`.
//!
//! They are decided once for each binding. The answers together are a *valuation*. All bindings with one valuation run
//! the same norm, so it determines their start state.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::formula::Formula;
use crate::probe::Binding;
use crate::term::Term;
use crate::value::Value;

pub(crate) type RigidComparison = (Comparison, Term, Term);

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

/// A sample value of a variable.
#[derive(Clone, PartialEq)]
enum SampleValue {
    /// A constant.
    Constant(Value),
    /// A value never seen; for several variables, the n-th of them.
    Unseen(usize),
    /// A value never seen among the constants of a kind, by how many of them are less. There are always such values.
    Between(SampleKind, usize),
}

/// The kinds of values with an order in which there is room between any two.
#[derive(Clone, Copy, PartialEq)]
enum SampleKind {
    Number,
    Text,
}

impl SampleKind {
    fn of_value(value: &Value) -> Option<SampleKind> {
        match value {
            Value::Bool(_) => None,
            Value::Integer(_) | Value::Decimal(_) => Some(SampleKind::Number),
            Value::Text(_) => Some(SampleKind::Text),
        }
    }
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
            if comparison.is_order() && prefix.len() > 1 {
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
        self.answers(valuation).into_iter().collect()
    }

    /// Returns the comparisons in order, with their truth under a valuation.
    pub(crate) fn answers(&self, valuation: usize) -> Vec<(RigidComparison, bool)> {
        let bits = self.valuations[valuation];
        self.comparisons.iter().enumerate().map(|(index, compare)| (compare.clone(), bits >> index & 1 == 1)).collect()
    }

    /// Returns a value for each variable that together give a valuation, preferably the names of the variables.
    pub(crate) fn example(&self, valuation: usize) -> Vec<Value> {
        let names: Vec<Value> = self.prefix.iter().cloned().map(Value::Text).collect();
        let mut candidates = names.clone();
        candidates.extend(self.constants());
        candidates.extend(near_values(&self.constants()));
        let mut chosen = Vec::new();
        if self.choose_example(valuation, &candidates, &mut chosen) {
            chosen.into_iter().flatten().collect()
        } else {
            names
        }
    }

    fn choose_example(&self, valuation: usize, candidates: &[Value], chosen: &mut Vec<Option<Value>>) -> bool {
        let mut binding = chosen.clone();
        binding.resize(self.prefix.len(), None);
        if !self.agrees(valuation, &binding) {
            return false;
        }
        if chosen.len() == self.prefix.len() {
            return true;
        }
        // The name of the variable itself first.
        let own = candidates[chosen.len()..].iter().chain(&candidates[..chosen.len()]);
        for value in own {
            chosen.push(Some(value.clone()));
            if self.choose_example(valuation, candidates, chosen) {
                return true;
            }
            chosen.pop();
        }
        false
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

    /// Finds the valuations: tries the constants, and values never seen, below, between and above them if the formula
    /// asks for an order.
    fn find_valuations(&mut self) {
        let constants = self.constants();
        let mut samples: Vec<SampleValue> = constants.iter().cloned().map(SampleValue::Constant).collect();
        if self.is_ordered() {
            samples.extend(sample_gaps(&constants));
        } else {
            samples.extend((0..self.prefix.len()).map(SampleValue::Unseen));
        }
        self.sample(&constants, &samples, &mut Vec::new());
    }

    /// Whether some comparison asks for more than equality.
    fn is_ordered(&self) -> bool {
        self.comparisons.iter().any(|(comparison, _, _)| comparison.is_order())
    }

    fn sample(&mut self, constants: &[Value], samples: &[SampleValue], chosen: &mut Vec<SampleValue>) {
        if chosen.len() < self.prefix.len() {
            for sample in samples {
                chosen.push(sample.clone());
                self.sample(constants, samples, chosen);
                chosen.pop();
            }
            return;
        }
        let datum = |term: &Term| match term {
            Term::Value(value) => SampleValue::Constant(value.clone()),
            Term::Var(name) => {
                let index = self.prefix.iter().position(|other| other == name).unwrap_or(0);
                chosen[index].clone()
            }
            Term::Any => SampleValue::Unseen(usize::MAX),
        };
        let bits = self.comparisons.iter().enumerate().fold(0, |bits, (index, (comparison, left, right))| {
            let order = sample_order(constants, &datum(left), &datum(right));
            bits | u32::from(comparison.fits(order)) << index
        });
        let unseen = !chosen.iter().any(|sample| matches!(sample, SampleValue::Constant(_)));
        match self.valuations.iter().position(|other| *other == bits) {
            Some(index) => self.unseen[index] |= unseen,
            None => {
                self.valuations.push(bits);
                self.unseen.push(unseen);
            }
        }
    }

    /// Returns the constants of the comparisons, and the values that no unseen value behaves like.
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
        if !self.is_ordered() {
            return constants;
        }
        let has = |kind: Option<SampleKind>| constants.iter().any(|value| SampleKind::of_value(value) == kind);
        let mut lone = Vec::new();
        // Numbers or texts are in no order with any constant, as truth values are, unless there are both.
        if has(None) || has(Some(SampleKind::Number)) && has(Some(SampleKind::Text)) {
            lone.extend([Value::Bool(false), Value::Bool(true)]);
        }
        // The empty text may be the only one below a constant.
        if constants.iter().any(|value| matches!(value, Value::Text(text) if text.starts_with('\u{0}'))) {
            lone.push(Value::text(""));
        }
        lone.retain(|value| !constants.contains(value));
        constants.append(&mut lone);
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

/// Returns a value never seen for every place below, between and above the constants of each kind.
fn sample_gaps(constants: &[Value]) -> Vec<SampleValue> {
    let mut samples = Vec::new();
    for kind in [SampleKind::Text, SampleKind::Number] {
        let mut places: Vec<&Value> =
            constants.iter().filter(|value| SampleKind::of_value(value) == Some(kind)).collect();
        places.sort();
        for gap in 0..=places.len() {
            let before = gap.checked_sub(1).and_then(|before| places.get(before));
            if !is_adjacent(before.copied(), places.get(gap).copied()) {
                samples.push(SampleValue::Between(kind, gap));
            }
        }
    }
    samples
}

/// Returns values below, between and above constants, as far as there are simple ones.
fn near_values(constants: &[Value]) -> Vec<Value> {
    let mut values = Vec::new();
    let mut numbers: Vec<f64> = constants
        .iter()
        .filter_map(|value| match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Decimal(number) => Some(number.get()),
            _ => None,
        })
        .collect();
    numbers.sort_by(f64::total_cmp);
    let ends = numbers.first().map(|first| first - 1.0).into_iter().chain(numbers.last().map(|last| last + 1.0));
    let gaps = numbers.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
    values.extend(ends.chain(gaps).chain([0.0]).filter_map(Value::number));
    for value in constants {
        if let Value::Text(text) = value {
            values.push(Value::text(format!("{text}\u{0}")));
        }
    }
    values.extend([Value::text(""), Value::Bool(false), Value::Bool(true)]);
    values
}

/// Whether no text is between two: a text and the one that directly follows it, or the first of all.
fn is_adjacent(before: Option<&Value>, after: Option<&Value>) -> bool {
    match (before, after) {
        (None, Some(Value::Text(after))) => after.is_empty(),
        (Some(Value::Text(before)), Some(Value::Text(after))) => after.strip_prefix(&**before) == Some("\u{0}"),
        _ => false,
    }
}

/// Returns the order of two samples; none if they are in no order.
fn sample_order(constants: &[Value], left: &SampleValue, right: &SampleValue) -> Option<Ordering> {
    let to_place = |value: &Value, kind: SampleKind, gap: usize| {
        let is_less =
            |other: &&Value| SampleKind::of_value(other) == Some(kind) && other.order(value) == Some(Ordering::Less);
        let less = constants.iter().filter(is_less).count();
        let order = if less < gap { Ordering::Less } else { Ordering::Greater };
        (SampleKind::of_value(value) == Some(kind)).then_some(order)
    };
    match (left, right) {
        (SampleValue::Constant(left), SampleValue::Constant(right)) => left.order(right),
        (SampleValue::Constant(value), SampleValue::Between(kind, gap)) => to_place(value, *kind, *gap),
        (SampleValue::Between(kind, gap), SampleValue::Constant(value)) => {
            to_place(value, *kind, *gap).map(Ordering::reverse)
        }
        // A formula with an order has one variable, so two places are those of one value.
        _ => (left == right).then_some(Ordering::Equal),
    }
}

//! Probabilities of facts: exact, and equal to the bit on every machine.

use std::fmt;

use crate::facts::Fact;

/// Weights count in units of this part of one.
pub(crate) const ONE: u64 = 1 << 63;

/// The probability that something holds, in units of 2⁻⁶³.
///
/// ```
/// use lictor_logic::Chance;
/// let chance = Chance::new(0.25)?;
/// assert_eq!(chance.to_f64(), 0.25);
/// assert!(Chance::new(1.5).is_err());
/// assert!(Chance::new(f64::NAN).is_err());
/// # Ok::<(), lictor_logic::ChanceError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chance(u64);

impl Chance {
    /// It never holds.
    pub const NEVER: Chance = Chance(0);
    /// It always holds.
    pub const ALWAYS: Chance = Chance(ONE);

    /// Returns a probability between 0 and 1.
    pub fn new(probability: f64) -> Result<Chance, ChanceError> {
        match (0.0..=1.0).contains(&probability) {
            // A product with a power of two is exact.
            true => Ok(Chance((probability * ONE as f64) as u64)),
            false => Err(ChanceError(format!("{probability} is no probability between 0 and 1"))),
        }
    }

    pub(crate) const fn from_weight(weight: u64) -> Chance {
        Chance(if weight > ONE { ONE } else { weight })
    }

    pub(crate) const fn weight(self) -> u64 {
        self.0
    }

    /// Returns it as a floating-point number.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.precision().is_some() {
            return self.to_f64().fmt(f);
        }
        // A decimal fraction is no sum of units, and would show the last of them: 0.0001 as 0.00009999999999999994.
        let text = format!("{:.15}", self.to_f64());
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The product of two weights, rounded down.
pub(crate) fn multiply(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 63) as u64
}

/// The probability lies between these two, both included. They are equal if it is known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChanceRange {
    /// It is at least this.
    pub least: Chance,
    /// It is at most this.
    pub most: Chance,
}

impl ChanceRange {
    pub(crate) fn from_weights(least: u64, most: u64) -> ChanceRange {
        ChanceRange { least: Chance::from_weight(least), most: Chance::from_weight(most) }
    }

    /// Returns the probability of an event given that a part of it did not happen before.
    pub(crate) fn beyond(self, before: ChanceRange) -> ChanceRange {
        let least = self.least.0.saturating_sub(before.most.0);
        let most = self.most.0.saturating_sub(before.least.0);
        let share = |part: u64, whole: u64| match whole {
            0 => u64::from(part > 0) * ONE,
            _ => ((u128::from(part.min(whole)) << 63) / u128::from(whole)) as u64,
        };
        // The whole is what was not violated before.
        ChanceRange::from_weights(share(least, ONE - before.least.0), share(most, ONE - before.most.0))
    }

    /// Returns the range of a share of a whole that is at least `whole`, and of which `lost` is not known.
    pub(crate) fn share(least: u64, most: u64, whole: u64, lost: u64) -> ChanceRange {
        let divide = |part: u64, whole: u64, up: bool| match whole {
            0 => u64::from(up) * ONE,
            _ => {
                let part = u128::from(part.min(whole)) << 63;
                let whole = u128::from(whole);
                (if up { part.div_ceil(whole) } else { part / whole }) as u64
            }
        };
        // What is lost may belong to the whole without the part, or to both.
        let least = divide(least, whole.saturating_add(lost), false);
        ChanceRange::from_weights(least, divide(most.saturating_add(lost), whole.saturating_add(lost), true))
    }
}

/// Facts of which at most one holds, each with its chance: `discloses(alice)` 0.7, or `discloses(bob)` 0.2, or neither.
///
/// ```
/// use lictor_logic::{Chance, Choice, Fact};
/// let alone = Choice::new(Fact::new("threatens", []), Chance::new(0.04)?);
/// assert_eq!(alone.alternatives().len(), 1);
/// let half = Chance::new(0.5)?;
/// let twice = [(Fact::new("a", []), half), (Fact::new("b", []), half), (Fact::new("c", []), half)];
/// assert!(Choice::between(twice).is_err());
/// # Ok::<(), lictor_logic::ChanceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    alternatives: Vec<(Fact, Chance)>,
}

impl Choice {
    /// Returns a fact that holds with a chance.
    pub fn new(fact: Fact, chance: Chance) -> Choice {
        Choice { alternatives: vec![(fact, chance)] }
    }

    /// Returns facts of which at most one holds. An error if their chances are more than one together.
    pub fn between(alternatives: impl IntoIterator<Item = (Fact, Chance)>) -> Result<Choice, ChanceError> {
        let alternatives: Vec<(Fact, Chance)> = alternatives.into_iter().collect();
        let sum: u128 = alternatives.iter().map(|(_, chance)| u128::from(chance.weight())).sum();
        match sum <= u128::from(ONE) {
            true => Ok(Choice { alternatives }),
            false => Err(ChanceError("facts that exclude each other have more than chance 1 together".to_owned())),
        }
    }

    /// Returns its facts with their chances.
    pub fn alternatives(&self) -> &[(Fact, Chance)] {
        &self.alternatives
    }

    /// Returns the chance that none of them holds.
    pub(crate) fn none(&self) -> u64 {
        ONE - self.alternatives.iter().map(|(_, chance)| chance.weight()).sum::<u64>()
    }
}

/// Why a number is no chance, or chances are no choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChanceError(String);

impl fmt::Display for ChanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ChanceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_prints_as_it_was_written() {
        for (number, text) in
            [(0.0001, "0.0001"), (0.25, "0.25"), (0.1, "0.1"), (1.0, "1"), (0.0, "0"), (1e-9, "0.000000001")]
        {
            assert_eq!(Chance::new(number).unwrap().to_string(), text);
        }
        assert_eq!(format!("{:.2}", Chance::new(0.125).unwrap()), "0.12");
    }
}

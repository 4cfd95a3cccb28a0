//! How a labeler's errors about two facts of one event go together.
//!
//! Facts are independent choices for a belief. Where the labeler errs about both at once, that is wrong: the chance of
//! both being wrong is larger than the product.

use std::collections::BTreeMap;

use lictor_json::Text;

use super::sample::LabelledAnswer;

/// From this correlation on, two facts should not be taken as independent.
const MAX_INDEPENDENT: f64 = 0.2;

/// The fewest events from which a correlation is computed.
const MIN_EVENTS: u64 = 30;

/// The correlation of a labeler's errors about two facts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ErrorCorrelation {
    /// The one fact.
    pub first: Text,
    /// The other.
    pub second: Text,
    /// The number of events with a yes or no about both.
    pub events: u64,
    /// The correlation φ of the two errors, from −1 to 1.
    pub phi: f64,
}

impl ErrorCorrelation {
    /// Whether the facts may be taken as independent: |φ| is at most 0.2.
    pub fn is_independent(&self) -> bool {
        self.phi.abs() <= MAX_INDEPENDENT
    }
}

/// Correlates the errors of all pairs of facts. A pair is left out if there are few events, or if the labeler never
/// errs, or always, about one of the two.
pub(super) fn correlate_errors(sample: &[LabelledAnswer]) -> Vec<ErrorCorrelation> {
    let mut events: BTreeMap<(&str, u64), BTreeMap<&str, bool>> = BTreeMap::new();
    for it in sample {
        if let Some(says_yes) = it.says_yes() {
            let errors = events.entry((&it.session, it.event)).or_default();
            errors.insert(&it.answer.fact.name, says_yes != it.truth);
        }
    }
    let mut pairs: BTreeMap<(&str, &str), [[u64; 2]; 2]> = BTreeMap::new();
    for errors in events.values() {
        for (first, first_errs) in errors {
            for (second, second_errs) in errors.range::<&str, _>(first..).skip(1) {
                let table = pairs.entry((first, second)).or_default();
                table[usize::from(*first_errs)][usize::from(*second_errs)] += 1;
            }
        }
    }
    let correlation = |((first, second), table): ((&str, &str), [[u64; 2]; 2])| {
        let events = table.iter().flatten().sum();
        let phi = correlate(table).filter(|_| events >= MIN_EVENTS)?;
        Some(ErrorCorrelation { first: first.into(), second: second.into(), events, phi })
    };
    pairs.into_iter().filter_map(correlation).collect()
}

/// The coefficient φ of a table of two by two; none if a row or a column is empty.
fn correlate([[neither, second], [first, both]]: [[u64; 2]; 2]) -> Option<f64> {
    let [neither, second, first, both] = [neither, second, first, both].map(|count| count as f64);
    let scale = ((first + both) * (neither + second) * (second + both) * (neither + first)).sqrt();
    (scale > 0.0).then(|| (both * neither - first * second) / scale)
}

#[cfg(test)]
mod tests {
    use super::super::Stratum;
    use super::*;
    use lictor_event::{Answer, AnswerValue, Kind};
    use lictor_logic::Fact;

    fn draw(errs: impl Fn(u64) -> (bool, bool)) -> Vec<LabelledAnswer> {
        let answer = |event: u64, fact: &str, is_wrong: bool| LabelledAnswer {
            session: "s".into(),
            event,
            stratum: Stratum::new(&Kind::UserMessage, None),
            answer: Answer::new(Fact::new(fact, []), AnswerValue::Yes),
            truth: !is_wrong,
        };
        (0..200).flat_map(|k| [answer(k, "b", errs(k).0), answer(k, "a", errs(k).1)]).collect()
    }

    #[test]
    fn correlation_finds_errors_that_come_together() {
        let found = correlate_errors(&draw(|k| (k % 10 == 0, k % 10 == 0 || k % 20 == 1)));
        assert_eq!((found.len(), &*found[0].first, &*found[0].second, found[0].events), (1, "a", "b", 200));
        assert!(found[0].phi > 0.7 && !found[0].is_independent(), "{found:?}");
    }

    #[test]
    fn correlation_of_independent_errors_is_small() {
        let found = correlate_errors(&draw(|k| (k % 10 == 0, (k / 10) % 10 == 0)));
        assert!(found[0].phi.abs() < 1e-12 && found[0].is_independent(), "{found:?}");
    }

    #[test]
    fn correlation_needs_errors_and_events() {
        assert!(correlate_errors(&draw(|k| (k % 10 == 0, false))).is_empty());
        assert!(correlate_errors(&draw(|k| (k % 10 == 0, k % 9 == 0))[..40]).is_empty());
    }
}

//! The choice between a reply and its candidates: never a worse forecast than before.
//!
//! The reply and its candidates are scored by the same predictor. A candidate is taken only if its score is strictly
//! better at both ends. So the forecast after an intervention is at most the forecast before it, whatever the
//! predictor says, fails to say, or says by mistake.

/// The risk of a reply: the upper end of its forecast, and the best guess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The risk is at most this.
    pub most: f64,
    /// The best guess.
    pub chance: f64,
}

impl Score {
    /// The score of what cannot be read, labelled or forecast.
    pub const WORST: Score = Score { most: 1.0, chance: 1.0 };

    /// Whether it is a pair of probabilities.
    fn is_valid(self) -> bool {
        (0.0..=1.0).contains(&self.chance) && (self.chance..=1.0).contains(&self.most)
    }

    /// Returns the score; the worst one if it is no pair of probabilities.
    fn or_worst(self) -> Score {
        if self.is_valid() { self } else { Score::WORST }
    }
}

/// Returns the candidate to take instead of the original; none if the original stays. A candidate without a score is one
/// that could not be scored in time.
///
/// An original without a valid score stays: nothing is known to be better than it, and the guard decides on it.
pub fn choose_candidate(original: Option<Score>, candidates: &[Option<Score>]) -> Option<usize> {
    let original = original.filter(|score| score.is_valid())?;
    let scores = candidates.iter().map(|score| score.map_or(Score::WORST, Score::or_worst));
    let better = scores.enumerate().filter(|(_, it)| it.most < original.most && it.chance <= original.chance);
    let least = better.min_by(|(_, a), (_, b)| a.most.total_cmp(&b.most).then(a.chance.total_cmp(&b.chance)));
    least.map(|(place, _)| place)
}

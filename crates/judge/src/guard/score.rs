//! Scores possible replies by what they would lead to.

use lictor_event::Event;
use lictor_json::Text;
use lictor_predict::Score;

use super::Guard;

/// The scores of possible replies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReplyScores {
    /// One score for each reply; none where nothing can be said.
    pub scores: Vec<Option<Score>>,
    /// For each reply whether one of its own events violates a property that is forecast.
    pub violations: Vec<bool>,
    /// What to mind, for a model that is asked again.
    pub advice: String,
}

impl Guard {
    /// Returns how likely each of several replies leads to a violation, by the same forecast. Nothing changes. Without
    /// [forecasts](Guard::foreseeing) no reply has a score.
    pub fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> ReplyScores {
        let Some(mut foresight) = self.decider.foresight.take() else {
            let violations = vec![false; replies.len()];
            return ReplyScores { scores: vec![None; replies.len()], violations, advice: String::new() };
        };
        let name = Text::from(session);
        let mut begun = None;
        let guarded = match self.sessions.get(&name) {
            Some(guarded) => guarded,
            None => &*begun.insert(self.decider.begin(&name)),
        };
        let judge = &mut self.decider.judge;
        let (violations, scores) =
            replies.iter().map(|events| foresight.score(judge, &guarded.session, events)).unzip();
        let advice = foresight.advice(judge);
        self.decider.foresight = Some(foresight);
        ReplyScores { scores, violations, advice }
    }
}

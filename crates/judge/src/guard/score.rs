//! Scores possible replies by what they would lead to.

use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::Response;
use lictor_predict::Score;

use super::{Guard, strongest};
use crate::foresight::ReplyOutlook;

/// The scores of possible replies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReplyScores {
    /// One score for each reply; none where nothing can be said.
    pub scores: Vec<Option<Score>>,
    /// For each reply whether one of its own events violates a property that is forecast.
    pub violations: Vec<bool>,
    /// For each reply whether the guard would now stop one of its events, or let it wait, by any property.
    pub stopped: Vec<bool>,
    /// The properties that the first reply puts at risk, and how likely each is violated, the most likely first; none if
    /// that reply is not risky, or the forecast is not by a chain.
    pub at_risk: Vec<(Text, f64)>,
    /// What to mind, for a model that is asked again.
    pub advice: String,
}

impl Guard {
    /// Returns how likely each of several replies leads to a violation, by the same forecast. Nothing changes. Without
    /// [forecasts](Guard::foreseeing) no reply has a score.
    pub fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> ReplyScores {
        let Some(mut foresight) = self.decider.foresight.take() else {
            let violations = vec![false; replies.len()];
            let scores = vec![None; replies.len()];
            let stopped = vec![false; replies.len()];
            return ReplyScores { scores, violations, stopped, at_risk: Vec::new(), advice: String::new() };
        };
        let mut stopped = Vec::with_capacity(replies.len());
        for events in replies {
            stopped.push(events.iter().any(|event| strongest(&self.propose(event)) >= Response::Ask));
        }
        let name = Text::from(session);
        let mut begun = None;
        let guarded = match self.sessions.get(&name) {
            Some(guarded) => guarded,
            None => &*begun.insert(self.decider.begin(&name)),
        };
        let judge = &mut self.decider.judge;
        let outlooks: Vec<ReplyOutlook> =
            replies.iter().map(|events| foresight.look_behind(judge, &guarded.session, events)).collect();
        let risks = outlooks.first().map(|first| foresight.find_risks(judge, first)).unwrap_or_default();
        let advice = foresight.advice(judge, &risks);
        self.decider.foresight = Some(foresight);
        let at_risk = risks.into_iter().map(|(property, chance)| (property.id.clone(), chance)).collect();
        let scores = outlooks.iter().map(|outlook| outlook.score).collect();
        let violations = outlooks.iter().map(|outlook| !outlook.violated.is_empty()).collect();
        ReplyScores { scores, violations, stopped, at_risk, advice }
    }
}

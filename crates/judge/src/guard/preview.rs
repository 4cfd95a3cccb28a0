//! Previews the decision on a text that is still streaming.
//!
//! A client should not have to wait for the whole text. So a partial text can be judged: this decides nothing, and adds
//! nothing to the trace. The whole text is decided when it is complete.

use std::ops::Range;

use super::{Action, Decision, Guard, Refusal, denial, objections, redact, strongest};
use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::Response;

/// The decision that an event would get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The strictest response that properties would demand.
    pub response: Response,
    /// The ranges of its text that would be masked, in order and without overlap.
    pub masks: Vec<Range<usize>>,
    /// The message for the model, if the event would be blocked or wait.
    pub message: Option<String>,
    /// The properties that demand more than a warning.
    pub properties: Vec<Text>,
}

impl Guard {
    /// Returns the decision that an event would get now. Nothing changes.
    pub fn preview(&mut self, event: &Event) -> Preview {
        let mut event = event.clone();
        self.annotators.annotate(std::slice::from_mut(&mut event));
        let event = &event;
        let name = event.session.clone().unwrap_or_default();
        let proposal = match self.sessions.get(&name) {
            Some(guarded) => guarded.session.make_proposal(&mut self.decider.judge, event),
            None => self.decider.begin(&name).session.make_proposal(&mut self.decider.judge, event),
        };
        let objections = objections(&proposal, &[]);
        let response = strongest(&objections);
        let mut masks: Vec<Range<usize>> = Vec::new();
        if let Some(text) = event.text.as_ref().filter(|_| response >= Response::Redact) {
            let offence = redact::Offence::of(&objections);
            for (range, _) in offence.places(&self.decider.judge.prepared().plan.recogniser, text) {
                match masks.last_mut().filter(|last| range.start <= last.end) {
                    Some(last) => last.end = last.end.max(range.end),
                    None => masks.push(range),
                }
            }
        }
        let opposed = objections.iter().filter(|objection| objection.response >= Response::Redact);
        let properties = opposed.map(|objection| objection.property.id.clone()).collect();
        let message = (response >= Response::Ask).then(|| {
            let mut decision = Decision::on(event.clone(), objections);
            decision.action = Action::Block;
            if response == Response::Ask {
                match self.decider.can_wait(event) {
                    true => decision.action = Action::Ask,
                    false => decision.refused = Some(Refusal::Alone),
                }
            }
            denial::message(&decision, &self.decider.persons(&decision))
        });
        Preview { response, masks, message, properties }
    }
}

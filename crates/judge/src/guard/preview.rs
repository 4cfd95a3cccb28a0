//! What would be decided about a text that is still being said.
//!
//! A model speaks word by word, and whoever listens should not wait for the end. So a text can be looked at before it is
//! whole: nothing is decided by that, nothing becomes part of the trace. The whole text is decided on when it is there.

use std::ops::Range;

use super::{Action, Decision, Guard, Refusal, denial, objections, redact, strongest};
use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::Response;

/// What would be decided about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The strongest response that would be asked for.
    pub response: Response,
    /// The places in its text that would be masked, in order and apart from each other.
    pub masks: Vec<Range<usize>>,
    /// What the model would be told, if the event would be stopped or wait.
    pub message: Option<String>,
    /// The properties that ask for more than a warning.
    pub properties: Vec<Text>,
}

impl Guard {
    /// What would be decided about an event if it came now. Nothing changes.
    pub fn preview(&mut self, event: &Event) -> Preview {
        let mut event = event.clone();
        self.annotators.annotate(std::slice::from_mut(&mut event));
        let event = &event;
        let name = event.session.clone().unwrap_or_default();
        let proposal = match self.sessions.get(&name) {
            Some(guarded) => guarded.session.propose(&mut self.decider.judge, event),
            None => self.decider.begin(&name).session.propose(&mut self.decider.judge, event),
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

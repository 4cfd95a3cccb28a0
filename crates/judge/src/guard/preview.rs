//! Previews the decision on a text that is still streaming.
//!
//! A client should not have to wait for the whole text. So a partial text can be judged: this decides nothing, and adds
//! nothing to the trace. The whole text is decided when it is complete.

use std::ops::Range;

use super::{Action, Decision, Guard, Objection, Refusal, denial, objections, redact, strongest};
use lictor_event::{Event, Kind};
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
    /// Those of `properties` that block it.
    pub blocking: Vec<Text>,
    /// From where on a text of the assistant must wait while it is streamed. The part before it is sent as it would be
    /// if the whole text were there. None if that is unknown: a property looks at the text in a way for which only the
    /// whole text will do.
    pub open_from: Option<usize>,
}

impl Guard {
    /// Returns the decision that an event would get now. Nothing changes.
    pub fn preview(&mut self, event: &Event) -> Preview {
        let mut event = event.clone();
        self.annotators.annotate(std::slice::from_mut(&mut event));
        let event = &event;
        let objections = self.propose(event);
        let response = strongest(&objections);
        let offence = redact::Offence::of(&objections);
        let mut masks: Vec<Range<usize>> = Vec::new();
        if let Some(text) = event.text.as_ref().filter(|_| response >= Response::Redact) {
            for (range, _) in offence.places(&self.decider.judge.prepared().plan.recogniser, text) {
                match masks.last_mut().filter(|last| range.start <= last.end) {
                    Some(last) => last.end = last.end.max(range.end),
                    None => masks.push(range),
                }
            }
        }
        let opposed = |least: Response| {
            let opposed = objections.iter().filter(move |objection| objection.response >= least);
            opposed.map(|objection| objection.property.id.clone()).collect()
        };
        let (properties, blocking) = (opposed(Response::Redact), opposed(Response::Block));
        let open_from = self.open_from(event, response, &offence, &masks);
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
        Preview { response, masks, message, properties, blocking, open_from }
    }

    /// Returns from where on the text of an event must wait.
    fn open_from(
        &mut self,
        event: &Event,
        response: Response,
        offence: &redact::Offence,
        masks: &[Range<usize>],
    ) -> Option<usize> {
        let text = event.text.as_deref().filter(|_| event.kind == Kind::AssistantMessage)?;
        let plan = &self.decider.judge.prepared().plan;
        let open = plan.reach.open_from(&plan.recogniser, text).filter(|_| !self.annotators.is_asked(event))?;
        if response < Response::Redact {
            // What excuses the text may be in the part that waits, where more text may undo it.
            let rests_on_open = plan.reach.may_excuse && open < text.len() && self.objects_to_start(event, open);
            return Some(if rests_on_open { 0 } else { open });
        }
        // An objection may be withdrawn when more text arrives, and a text that masks do not mend will be blocked.
        let may_excuse = plan.reach.may_excuse;
        if may_excuse || masks.is_empty() || response > Response::Redact || !self.is_mended(event, offence) {
            return Some(0);
        }
        Some(open.min(offence.find_begun_person(text)))
    }

    /// Whether a property objects to an event with the text up to a place alone.
    fn objects_to_start(&mut self, event: &Event, end: usize) -> bool {
        let start = event.text.as_deref().and_then(|text| text.get(..end)).map(Text::from);
        strongest(&self.propose(&Event { text: start, ..event.clone() })) >= Response::Redact
    }

    /// Whether no property objects to an event without its violating parts.
    fn is_mended(&mut self, event: &Event, offence: &redact::Offence) -> bool {
        let (mended, _) = offence.redact(self.decider.judge.prepared(), event);
        strongest(&self.propose(&mended)) < Response::Redact
    }

    /// Returns the objections to an event.
    pub(super) fn propose(&mut self, event: &Event) -> Vec<Objection> {
        let name = event.session.clone().unwrap_or_default();
        let mut begun;
        let guarded = match self.sessions.get_mut(&name) {
            Some(guarded) => guarded,
            None => {
                begun = self.decider.begin(&name);
                &mut begun
            }
        };
        let proposal = guarded.propose(&mut self.decider.judge, event);
        objections(&proposal, guarded.objectives.as_deref(), &[])
    }
}

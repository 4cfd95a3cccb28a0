//! Events that wait for approval.

use lictor_logic::Time;

use super::{Action, Decision, GuardedSession, Refusal};
use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_policy::Response;
use lictor_policy::effect::guess_from_name;
use lictor_policy::vocabulary::EFFECTS;

/// An event that waits for approval.
#[derive(Clone, Debug)]
pub(super) struct PendingEvent {
    /// The approval id: the event's own id, or a generated one.
    pub(super) id: Text,
    pub(super) event: Event,
    /// The properties that the reviewer is asked to waive.
    pub(super) asked: Vec<Text>,
    pub(super) until: Option<Time>,
}

impl PendingEvent {
    pub(super) fn new(id: Text, event: &Event, decision: &Decision, until: Option<Time>) -> PendingEvent {
        let asks = decision.objections.iter().filter(|objection| objection.response == Response::Ask);
        PendingEvent { id, event: event.clone(), asked: asks.map(|it| it.property.id.clone()).collect(), until }
    }

    /// Returns the decision that refuses it.
    pub(super) fn refused(self, reason: Refusal) -> Decision {
        let mut decision = Decision::on(self.event, Vec::new());
        decision.action = Action::Block;
        // The model does not need to know who denied it.
        decision.message = Some(match &reason {
            Refusal::Denied(_) => "This step was not allowed: a person denied it.".to_owned(),
            reason => format!("This step was not allowed: {reason}."),
        });
        decision.refused = Some(reason);
        decision.settles = Some(self.id);
        decision
    }
}

impl GuardedSession {
    /// Whether an event waits under this approval id.
    pub(super) fn waits(&self, id: &str) -> bool {
        self.pending.iter().any(|pending| pending.id == id)
    }

    /// Returns the approval id for an event: its own id if that is free and [no name](is_name), or a generated one.
    /// Generated ids are unique in the session.
    pub(super) fn handle(&mut self, event: &Event, named_tools: &[Text]) -> Text {
        let is_usable = |id: &&Text| !self.waits(id) && !named_tools.contains(id) && !is_name(id);
        if let Some(id) = event.id.as_ref().filter(is_usable) {
            return id.clone();
        }
        loop {
            self.asked += 1;
            let number = self.asked;
            let made_up = event.id.as_ref().map_or_else(|| format!("ask-{number}"), |id| format!("{id}~{number}"));
            if !self.waits(&made_up) {
                return made_up.into();
            }
        }
    }

    /// Takes out the pending event that an approval or a denial answers: by its id, or without an id the only one
    /// pending.
    pub(super) fn answered(&mut self, answer: &Event) -> Option<PendingEvent> {
        debug_assert!(matches!(answer.kind, Kind::Approval | Kind::Denial));
        let place = match &answer.id {
            Some(id) => self.pending.iter().position(|pending| pending.id == *id)?,
            None if self.pending.len() == 1 => 0,
            None => return None,
        };
        Some(self.pending.remove(place))
    }

    /// Refuses what has waited too long.
    pub(super) fn expire(&mut self, now: Option<Time>) -> Vec<Decision> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let is_late = |pending: &PendingEvent| matches!((pending.until, now), (Some(until), Some(now)) if until < now);
        let (late, waiting) = std::mem::take(&mut self.pending).into_iter().partition(is_late);
        self.pending = waiting;
        let late: Vec<PendingEvent> = late;
        late.into_iter().map(|pending| pending.refused(Refusal::Late)).collect()
    }
}

/// Whether an id is the name of an effect, or could be that of a tool. Ids are the choice of the model's server: an approval
/// by such an id would be one of all calls with this effect, or of this tool.
fn is_name(id: &str) -> bool {
    let is_word = id.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'-');
    EFFECTS.iter().any(|(effect, _)| *effect == id) || id == "*" || (is_word && guess_from_name(id).is_some())
}

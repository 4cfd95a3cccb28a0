//! The decision on a hook's event, as far as the client is concerned.

use lictor_event::Event;
use lictor_json::{Json, Text};
use lictor_judge::guard::Decision;
use lictor_warden::WardenAnswer;

/// The decision on the event of a hook, with what the client needs of it.
#[derive(Clone, Debug)]
pub(crate) struct HookDecision {
    pub(crate) action: Text,
    /// The message for the model; never empty, because a client may treat a denial without a reason as a failure.
    pub(crate) message: String,
    /// The rewritten arguments of a call, if any.
    pub(crate) arguments: Option<Json>,
    /// The rewritten event, if any.
    pub(crate) rewritten: Option<Event>,
}

impl HookDecision {
    /// Returns what the client needs of a decision; a duplicate has the decision of the first delivery.
    pub(crate) fn from_answer(answer: &WardenAnswer) -> HookDecision {
        let Decision { action, message, rewritten, .. } = &*answer.decision;
        let (action, rewritten) = (Text::new(action.name()), rewritten.as_deref().cloned());
        let arguments = rewritten.as_ref().and_then(|event| event.args.as_ref()?.value().cloned());
        let message = message.clone().filter(|text| !text.trim().is_empty());
        let message = message.unwrap_or_else(|| format!("The policy decided to {action} this step."));
        HookDecision { action, message, arguments, rewritten }
    }

    /// Adds advice for the model to a decision that lets the step pass.
    pub(crate) fn advise(&mut self, advice: &str) {
        match self.action.as_str() {
            "steer" => self.message = format!("{}\n\n{advice}", self.message),
            _ => (self.action, self.message) = (Text::new("steer"), advice.to_owned()),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        !matches!(self.action.as_str(), "forward" | "steer" | "redact")
    }
}

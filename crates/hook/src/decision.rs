//! The decision on a hook's event, as far as the client is concerned.

use lictor_event::Event;
use lictor_json::{self as json, Json, Text};
use lictor_warden::Answer;

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
    /// Reads an answer of the warden; a repeated event has the line of the first decision instead of a decision.
    pub(crate) fn from_answer(answer: Answer) -> HookDecision {
        let (action, message, rewritten) = match answer.decision {
            Some(decision) => {
                (Text::new(decision.action.name()), decision.message, decision.rewritten.map(|event| *event))
            }
            None => {
                let line = json::parse_str(&answer.line).unwrap_or_default();
                let rewritten = line.get("rewritten").cloned().and_then(|value| {
                    lictor_decode::LogRecord { value, file: "-".into(), line: 1, index: 0 }.stored_event().ok()
                });
                // An unreadable line is a denial.
                (line.text("action").unwrap_or("block").into(), line.text("message").map(str::to_owned), rewritten)
            }
        };
        let arguments = rewritten.as_ref().and_then(|event| event.args.as_ref()?.value().cloned());
        let message = message.filter(|text| !text.trim().is_empty());
        let message = message.unwrap_or_else(|| format!("The policy decided to {action} this step."));
        HookDecision { action, message, arguments, rewritten }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        !matches!(self.action.as_str(), "forward" | "steer" | "redact")
    }
}

//! What a decision means for the bytes that cross.

use lictor_decode::LogRecord;
use lictor_event::{Event, Kind};
use lictor_json::{self as json, Json};
use lictor_judge::guard::{Action, Decision};
use lictor_warden::Answer;
use lictor_wire::Ruling;

/// What was decided, as far as an exchange needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) action: Action,
    /// The event as it goes on, if it was rewritten.
    pub(crate) rewritten: Option<Event>,
    /// What the model is told.
    pub(crate) message: Option<String>,
    /// By which id a person answers.
    pub(crate) waits_as: Option<String>,
    /// Until when, as text.
    pub(crate) until: Option<String>,
    /// The properties that stood against it.
    pub(crate) properties: Vec<String>,
    /// What had waited and was decided along with this: by which id, whether it goes on, and as what.
    pub(crate) settled: Vec<(String, Action, Option<Event>)>,
}

impl Verdict {
    /// The verdict of an answer. An event that was decided before is answered by the line that was said then.
    pub(crate) fn of(answer: &Answer) -> Verdict {
        match &answer.decision {
            Some(decision) => Verdict::of_decision(decision),
            None => {
                json::parse_str(&answer.line).map_or_else(|_| Verdict::unreadable(), |line| Verdict::of_line(&line))
            }
        }
    }

    /// Whether an event was decided on now and simply goes on.
    pub(crate) fn is_forward(answer: &Answer) -> bool {
        answer.decision.as_ref().is_some_and(|decision| decision.action == Action::Forward)
    }

    fn of_decision(decision: &Decision) -> Verdict {
        let properties = decision.objections.iter().map(|objection| objection.property.id.to_string());
        let settled = decision.settled.iter().filter_map(|settled| {
            Some((settled.settles.as_ref()?.to_string(), settled.action, settled.rewritten.as_deref().cloned()))
        });
        Verdict {
            action: decision.action,
            rewritten: decision.rewritten.as_deref().cloned(),
            message: decision.message.clone(),
            waits_as: decision.waits_as.as_ref().map(ToString::to_string),
            until: decision.until.map(lictor_event::write_time),
            properties: properties.collect(),
            settled: settled.collect(),
        }
    }

    fn of_line(line: &Json) -> Verdict {
        let text = |key: &str| line.text(key).map(str::to_owned);
        let actions = [Action::Forward, Action::Steer, Action::Redact, Action::Ask];
        let named =
            |name: Option<&str>| actions.into_iter().find(|it| Some(it.name()) == name).unwrap_or(Action::Block);
        let list = |key: &str| line.get(key).and_then(Json::as_array).unwrap_or_default();
        let properties = list("objections").iter().filter_map(|it| it.text("property").map(str::to_owned));
        let settled = list("settled").iter().filter_map(|it| {
            Some((it.text("settles")?.to_owned(), named(it.text("action")), it.get("rewritten").and_then(event)))
        });
        Verdict {
            action: named(line.text("action")),
            rewritten: line.get("rewritten").and_then(event),
            message: text("message"),
            waits_as: text("waits_as"),
            until: text("until"),
            properties: properties.collect(),
            settled: settled.collect(),
        }
    }

    fn unreadable() -> Verdict {
        Verdict {
            action: Action::Block,
            rewritten: None,
            message: None,
            waits_as: None,
            until: None,
            properties: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// What is said in place of something that does not cross.
    pub(crate) fn denial(&self) -> String {
        let said = self.message.clone().unwrap_or_else(|| "This step was not carried out.".to_owned());
        match &self.waits_as {
            Some(id) => format!("{said}\nIt is known as {id}; do the same step again once it was allowed."),
            None => said,
        }
    }

    /// What becomes of the event on the wire.
    pub(crate) fn ruling(&self) -> Ruling {
        match self.action {
            Action::Forward | Action::Steer => Ruling::Forward,
            Action::Redact => match &self.rewritten {
                Some(event) => Ruling::Rewrite(Box::new(event.clone())),
                None => Ruling::Deny { text: self.denial() },
            },
            Action::Ask | Action::Block => Ruling::Deny { text: self.denial() },
        }
    }
}

/// Whether something a request says can be replaced by a denial, and the request go on: the answer of a tool can, what a
/// person said cannot.
pub(crate) fn can_be_withheld(kind: &Kind) -> bool {
    matches!(kind, Kind::ToolResult | Kind::Retrieval)
}

/// An event as a line of Lictor's own format says it.
pub(crate) fn event(value: &Json) -> Option<Event> {
    LogRecord { value: value.clone(), file: "-".into(), line: 0, index: 0 }.stored_event().ok()
}

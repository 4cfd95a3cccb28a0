//! Objectives at run time: one property of a running session is added, removed or changed.
//!
//! A change is an event of the kind `objective`, from the application and never from a model or its client: decided,
//! saved and recorded like any other, so that a replay of the events makes the same changes at the same places.

use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};
use lictor_policy::{Property, Response, Severity};
use serde::{Deserialize, Serialize};

/// The kind of the event. An event of this kind without a change is an event like any other.
const OBJECTIVE: &str = "objective";

/// The members that ask for a change.
const CHANGES: [&str; 3] = ["add", "remove", "change"];

const RESPONSES: [Response; 6] =
    [Response::Observe, Response::Warn, Response::Steer, Response::Redact, Response::Ask, Response::Block];

const SEVERITIES: [Severity; 5] = [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

/// A change of one property of a running session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObjectiveChange {
    /// Adds a property, which begins with the next event: an entry of `properties`, in YAML or JSON.
    Add(String),
    /// Removes a property: the session is no longer judged by it.
    Remove(Text),
    /// Changes what a violation of a property leads to, and its rank among the others.
    Change(Text, ObjectiveSettings),
}

/// The settings of a property in one session; those without a value stay as the policy has them.
// Exhaustive on purpose: a caller names those that it changes, and takes the others from the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveSettings {
    /// The response to a violation, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond: Option<Text>,
    /// The response if it is unknown whether a step violates it, by its name; else as `respond`, if that is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Text>,
    /// How bad a violation is, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Text>,
    /// Its rank: objections and obligations of a higher one come first. All begin with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
}

impl ObjectiveChange {
    /// Returns the event of this change in a session.
    pub fn to_event(&self, session: impl Into<Text>) -> Event {
        let mut event = Event::new(Kind::Other(OBJECTIVE.into()));
        event.session = Some(session.into());
        match self {
            ObjectiveChange::Add(text) => event.more.insert("add", text.as_str()),
            ObjectiveChange::Remove(property) => event.more.insert("remove", property.clone()),
            ObjectiveChange::Change(property, settings) => {
                event.more.insert("change", property.clone());
                let ObjectiveSettings { respond, unknown, severity, priority } = settings;
                for (key, value) in [("respond", respond), ("unknown", unknown), ("severity", severity)] {
                    if let Some(value) = value {
                        event.more.insert(key, value.clone());
                    }
                }
                if let Some(priority) = priority {
                    event.more.insert("priority", *priority);
                }
            }
        }
        event
    }

    /// Returns what a change does and the property that it is about, for records; none if the event is no change.
    pub fn describe(event: &Event) -> Option<(&'static str, Option<Text>)> {
        Some(match ObjectiveChange::from_event(event)?.ok()? {
            ObjectiveChange::Add(text) => {
                let id = lictor_json::parse_str(&text).ok().and_then(|value| value.text("id").map(Text::from));
                ("add", id)
            }
            ObjectiveChange::Remove(property) => ("remove", Some(property)),
            ObjectiveChange::Change(property, _) => ("change", Some(property)),
        })
    }

    /// Returns the change that an event asks for; none if it is no such event. An error says what is wrong with it.
    pub(crate) fn from_event(event: &Event) -> Option<Result<ObjectiveChange, String>> {
        let is_objective = matches!(&event.kind, Kind::Other(kind) if kind == OBJECTIVE);
        let is_change = CHANGES.iter().any(|key| event.more.get(key).is_some());
        (is_objective && is_change).then(|| read_change(&event.more))
    }
}

fn read_change(members: &Object) -> Result<ObjectiveChange, String> {
    let wrong = || "an objective has one of `add`, `remove` and `change`".to_owned();
    let asked: Vec<&str> = CHANGES.into_iter().filter(|key| members.get(key).is_some()).collect();
    let [asked] = asked[..] else { return Err(wrong()) };
    let Some(given) = members.get(asked) else { return Err(wrong()) };
    match (asked, given) {
        ("add", Json::String(text)) => Ok(ObjectiveChange::Add(text.to_string())),
        ("add", Json::Object(_)) => Ok(ObjectiveChange::Add(given.to_string())),
        ("add", _) => Err("`add` must be a property: a mapping, or a text with one".to_owned()),
        (_, Json::String(id)) if asked == "remove" => Ok(ObjectiveChange::Remove(id.clone())),
        (_, Json::String(id)) => Ok(ObjectiveChange::Change(id.clone(), ObjectiveSettings::read(members)?)),
        _ => Err(format!("`{asked}` must be the id of a property")),
    }
}

impl ObjectiveSettings {
    fn read(members: &Object) -> Result<ObjectiveSettings, String> {
        let word = |key: &str, known: &[&str]| match members.get(key) {
            None => Ok(None),
            Some(Json::String(word)) if known.contains(&word.as_str()) => Ok(Some(word.clone())),
            Some(_) => Err(format!("`{key}` must be one of {}", known.join(", "))),
        };
        let (responses, severities) = (RESPONSES.map(Response::name), SEVERITIES.map(Severity::name));
        let priority = match members.get("priority") {
            None => None,
            Some(given) => Some(given.as_i64().ok_or("`priority` must be a whole number")?),
        };
        let settings = ObjectiveSettings {
            respond: word("respond", &responses)?,
            unknown: word("unknown", &responses)?,
            severity: word("severity", &severities)?,
            priority,
        };
        match settings == ObjectiveSettings::default() {
            true => Err("`change` needs `respond`, `unknown`, `severity` or `priority`".to_owned()),
            false => Ok(settings),
        }
    }

    /// Takes over the values that later settings have.
    pub(crate) fn take_over(&mut self, later: ObjectiveSettings) {
        let ObjectiveSettings { respond, unknown, severity, priority } = later;
        self.respond = respond.or(self.respond.take());
        self.unknown = unknown.or(self.unknown.take());
        self.severity = severity.or(self.severity.take());
        self.priority = priority.or(self.priority);
    }

    /// Returns a property with these settings.
    pub(crate) fn apply(&self, property: &Property) -> Property {
        let response = |name: &Option<Text>| RESPONSES.into_iter().find(|known| name.as_deref() == Some(known.name()));
        let severity = SEVERITIES.into_iter().find(|known| self.severity.as_deref() == Some(known.name()));
        let respond = response(&self.respond);
        Property {
            respond: respond.unwrap_or(property.respond),
            unknown: response(&self.unknown).or(respond).unwrap_or(property.unknown),
            severity: severity.unwrap_or(property.severity),
            ..property.clone()
        }
    }
}

//! Properties, changes to properties, and suppressions.

use std::ops::Range;

use lictor_logic::Monitor;

use super::Stated;
use crate::form::{Fields, Form};
use crate::yaml::Node;
use crate::{After, History, Mode, Property, Response, Severity, Suppression};
use lictor_json::{Json, Text};

pub(crate) const SEVERITIES: [(&str, Severity); 5] = [
    ("info", Severity::Info),
    ("low", Severity::Low),
    ("medium", Severity::Medium),
    ("high", Severity::High),
    ("critical", Severity::Critical),
];

pub(crate) const RESPONSES: [(&str, Response); 6] = [
    ("observe", Response::Observe),
    ("warn", Response::Warn),
    ("steer", Response::Steer),
    ("redact", Response::Redact),
    ("ask", Response::Ask),
    ("block", Response::Block),
];

pub(crate) const AFTERS: [(&str, After); 3] = [("each", After::Each), ("latch", After::Latch), ("reset", After::Reset)];

pub(crate) const HISTORIES: [(&str, History); 5] = [
    ("session", History::Session),
    ("subject", History::Subject),
    ("principal", History::Principal),
    ("agent", History::Agent),
    ("global", History::Global),
];

pub(crate) const MODES: [(&str, Mode); 2] = [("enforce", Mode::Enforce), ("shadow", Mode::Shadow)];

/// What may be said about a property beside its meaning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) severity: Option<Severity>,
    pub(crate) respond: Option<Response>,
    pub(crate) unknown: Option<Response>,
    pub(crate) after: Option<After>,
    pub(crate) history: Option<History>,
    pub(crate) mode: Option<Mode>,
}

/// A change to properties that came with `uses`.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Which; `*` stands for any characters.
    pub(crate) property: Text,
    /// What becomes of them; none turns them off.
    pub(crate) settings: Option<Settings>,
    pub(crate) span: Range<usize>,
}

/// A suppression and where its property is named.
#[derive(Clone, Debug)]
pub(crate) struct Suppressed {
    pub(crate) suppression: Suppression,
    pub(crate) span: Range<usize>,
}

/// What may be said about a property where it is stated and where it is changed.
const SETTINGS: [&str; 6] = ["severity", "respond", "unknown", "after", "history", "mode"];

const EXAMPLE: &str = "such as `- {id: no-deletes, formula: always !tool_call(\"delete_all\")}`";

impl Form<'_> {
    /// The properties of a policy.
    pub(super) fn properties(&mut self, node: &Node) -> Vec<Stated> {
        let mut properties: Vec<Stated> = Vec::new();
        for item in self.items(node, "`properties`", EXAMPLE) {
            let Some(stated) = self.property(item) else { continue };
            match properties.iter().find(|other| other.property.id == stated.property.id) {
                Some(first) => {
                    let id = &stated.property.id;
                    let hint = format!("the first is in line {}; rename one of them", first.property.place.line);
                    let message = format!("there are two properties `{id}`");
                    self.complain(stated.id, "policy.duplicate", message, Some(hint));
                }
                None => properties.push(stated),
            }
        }
        properties
    }

    fn property(&mut self, node: &Node) -> Option<Stated> {
        let keys = ["id", "says", "formula", "source", "remedy"];
        let fields = self.fields(node, "a property", &[&keys[..], &SETTINGS].concat(), EXAMPLE);
        let id = self.required(node, &fields, "id", "give it a short name, such as `id: consent-first`");
        let formula =
            self.required(node, &fields, "formula", "say what must hold, such as `formula: always !tool_failed`");
        let settings = self.settings(&fields);
        let mut text = |key: &str| {
            let node = fields.get(key)?;
            self.text(node, &format!("`{key}`")).map(|text| Text::from(text.trim()))
        };
        let (says, source, remedy) = (text("says"), text("source"), text("remedy"));
        let read = formula.and_then(|node| self.formula(node));
        let (id, formula) = (id?, formula?);
        let name = self.id(id)?;
        let (written, compiled) = match read {
            Some((text, arena, formula)) => (text, Some((arena, formula))),
            None => (String::new(), None),
        };
        let says = says.unwrap_or_else(|| match &compiled {
            Some((arena, formula)) => arena.english(*formula).into(),
            None => Text::default(),
        });
        let respond = settings.respond.unwrap_or(Response::Warn);
        let can_be_each = compiled.as_ref().is_some_and(|(arena, formula)| Monitor::each(arena, *formula).is_ok());
        let usual = if can_be_each { After::Each } else { After::Latch };
        if settings.after == Some(After::Each) && compiled.is_some() && !can_be_each {
            let message = "`after: each` needs `always f` with an `f` about the past and the present".to_owned();
            let hint = "write `after: latch` or `after: reset`".to_owned();
            let span = fields.get("after").map_or(node.head(), |node| node.span.clone());
            self.complain(span, "policy.after", message, Some(hint));
        }
        let property = Property {
            id: name,
            says,
            formula: written.into(),
            source,
            remedy,
            severity: settings.severity.unwrap_or(Severity::Medium),
            respond,
            unknown: settings.unknown.unwrap_or(respond),
            after: settings.after.unwrap_or(usual),
            history: settings.history.unwrap_or_default(),
            mode: settings.mode.unwrap_or(Mode::Enforce),
            place: node.place(self.source),
        };
        Some(Stated {
            property,
            unknown: settings.unknown,
            formula: compiled,
            id: id.span.clone(),
            source: self.source.clone(),
            node: formula.clone(),
        })
    }

    fn id(&mut self, node: &Node) -> Option<Text> {
        let id = self.text(node, "`id`")?.trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !id.chars().all(plain) {
            let message = format!("`{id}` cannot be the name of a property");
            let hint = "use letters, digits, `-`, `_` and `.`".to_owned();
            self.complain(node.span.clone(), "policy.property-name", message, Some(hint));
            return None;
        }
        Some(id.into())
    }

    fn settings(&mut self, fields: &Fields<'_>) -> Settings {
        Settings {
            severity: fields.get("severity").and_then(|node| self.word(node, "a severity", &SEVERITIES)),
            respond: fields.get("respond").and_then(|node| self.word(node, "a response", &RESPONSES)),
            unknown: fields.get("unknown").and_then(|node| self.word(node, "`unknown`", &RESPONSES)),
            after: fields.get("after").and_then(|node| self.word(node, "`after`", &AFTERS)),
            history: fields.get("history").and_then(|node| self.word(node, "`history`", &HISTORIES)),
            mode: fields.get("mode").and_then(|node| self.word(node, "a mode", &MODES)),
        }
    }

    /// What is changed about properties that came with `uses`.
    pub(super) fn changes(&mut self, node: &Node) -> Vec<Change> {
        let example = "such as `gdpr/data-minimisation: {severity: low}`, or `gdpr/data-minimisation: off`";
        let mut changes = Vec::new();
        for (key, value) in self.entries(node, "`change`", example) {
            let settings = match value.json() {
                Json::String(text) if text == "off" => None,
                Json::Object(_) => {
                    let fields = self.fields(value, "a change", &SETTINGS, example);
                    Some(self.settings(&fields))
                }
                _ => {
                    self.expected(value, "a change", "a mapping or `off`", example);
                    continue;
                }
            };
            changes.push(Change { property: key.text.as_str().into(), settings, span: key.span.clone() });
        }
        changes
    }

    /// The findings that somebody answers for.
    pub(super) fn suppressions(&mut self, node: &Node) -> Vec<Suppressed> {
        let example = "such as `- {property: gdpr/*, session: test-*, reason: synthetic traffic, until: 2027-01-31}`";
        let mut suppressions = Vec::new();
        for item in self.items(node, "`suppress`", example) {
            let fields = self.fields(item, "a suppression", &["property", "session", "reason", "until"], example);
            let property = self.required(item, &fields, "property", "name the property; `*` stands for any characters");
            let reason =
                self.required(item, &fields, "reason", "say why these findings are acceptable, for those who audit");
            let reason = reason.and_then(|node| self.text(node, "`reason`")).map(Text::from);
            let session = fields.get("session").and_then(|node| self.text(node, "`session`")).map(Text::from);
            let until = fields.get("until").and_then(|node| self.date(node));
            let Some((span, property)) =
                property.and_then(|node| Some((node.span.clone(), self.text(node, "`property`")?)))
            else {
                continue;
            };
            let suppression = Suppression {
                property: property.into(),
                session,
                reason: reason.unwrap_or_default(),
                until,
                place: item.place(self.source),
            };
            suppressions.push(Suppressed { suppression, span });
        }
        suppressions
    }

    fn date(&mut self, node: &Node) -> Option<jiff::civil::Date> {
        let text = self.text(node, "`until`")?.trim();
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        match text.parse() {
            Ok(date) if shape => Some(date),
            _ => {
                let message = format!("`{text}` is not a day of the calendar");
                let hint = "write year, month and day: `2027-01-31`".to_owned();
                self.complain(node.span.clone(), "policy.date", message, Some(hint));
                None
            }
        }
    }
}

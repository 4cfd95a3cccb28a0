//! Properties, changes to properties, and suppressions.

use std::ops::Range;

use lictor_logic::{Arena, Chance, Formula, Monitor};

use super::PropertyDraft;
use crate::policy_reader::{Fields, PolicyReader};
use crate::yaml::YamlNode;
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

/// The settings of a property: everything but its meaning.
#[derive(Clone, Debug, Default)]
pub(crate) struct PropertySettings {
    pub(crate) severity: Option<Severity>,
    pub(crate) respond: Option<Response>,
    pub(crate) unknown: Option<Response>,
    pub(crate) after: Option<After>,
    pub(crate) history: Option<History>,
    pub(crate) mode: Option<Mode>,
    pub(crate) risk: Option<Chance>,
    pub(crate) needs: Option<Vec<Text>>,
}

/// A change to properties that came with `uses`.
#[derive(Clone, Debug)]
pub(crate) struct PropertyChange {
    /// Its name; `*` matches any characters.
    pub(crate) property: Text,
    /// The new settings; none turns the properties off.
    pub(crate) settings: Option<PropertySettings>,
    pub(crate) span: Range<usize>,
}

/// A suppression, and the place of its property's name.
#[derive(Clone, Debug)]
pub(crate) struct SuppressionDraft {
    pub(crate) suppression: Suppression,
    pub(crate) span: Range<usize>,
}

/// The keys of settings, both of a property and of a change.
const SETTING_KEYS: [&str; 8] = ["severity", "respond", "unknown", "after", "history", "mode", "risk", "needs"];

const EXAMPLE: &str = "such as `- {id: no-deletes, formula: always !tool_call(\"delete_all\")}`";

impl PolicyReader<'_> {
    /// Reads the properties of a policy.
    pub(super) fn read_properties(&mut self, node: &YamlNode) -> Vec<PropertyDraft> {
        let mut properties: Vec<PropertyDraft> = Vec::new();
        for item in self.read_items(node, "`properties`", EXAMPLE) {
            let Some(draft) = self.read_property(item) else { continue };
            match properties.iter().find(|other| other.property.id == draft.property.id) {
                Some(first) => {
                    let id = &draft.property.id;
                    let hint = format!("the first is in line {}; rename one of them", first.property.place.line);
                    let message = format!("there are two properties `{id}`");
                    self.report_error(draft.id, "policy.duplicate", message, Some(hint));
                }
                None => properties.push(draft),
            }
        }
        properties
    }

    /// Reads one property.
    pub(crate) fn read_property(&mut self, node: &YamlNode) -> Option<PropertyDraft> {
        let keys = ["id", "says", "formula", "source", "remedy"];
        let fields = self.read_fields(node, "a property", &[&keys[..], &SETTING_KEYS].concat(), EXAMPLE);
        let id = self.require_key(node, &fields, "id", "give it a short name, such as `id: consent-first`");
        let formula =
            self.require_key(node, &fields, "formula", "say what must hold, such as `formula: always !tool_failed`");
        let settings = self.read_settings(&fields);
        let mut text = |key: &str| {
            let node = fields.get(key)?;
            self.read_text(node, &format!("`{key}`")).map(|text| Text::from(text.trim()))
        };
        let (says, source, remedy) = (text("says"), text("source"), text("remedy"));
        let read = formula.and_then(|node| self.read_formula(node));
        let (id, formula) = (id?, formula?);
        let name = self.read_id(id)?;
        let (written, compiled) = match read {
            Some((text, arena, formula)) => (text, Some((arena, formula))),
            None => (String::new(), None),
        };
        let says = says.unwrap_or_else(|| match &compiled {
            Some((arena, formula)) => arena.english(*formula).into(),
            None => Text::default(),
        });
        let respond = settings.respond.unwrap_or(Response::Warn);
        let fits_each = |(arena, formula): &(Arena, Formula)| Monitor::with_after(arena, *formula, After::Each).is_ok();
        let can_be_each = compiled.as_ref().is_some_and(fits_each);
        let usual = if can_be_each { After::Each } else { After::Latch };
        if settings.after == Some(After::Each) && compiled.is_some() && !can_be_each {
            let message = "`after: each` needs `always f` with an `f` about the past and the present".to_owned();
            let hint = "write `after: latch` or `after: reset`".to_owned();
            let span = fields.get("after").map_or(node.head_span(), |node| node.span.clone());
            self.report_error(span, "policy.after", message, Some(hint));
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
            risk: settings.risk,
            needs: settings.needs.unwrap_or_default(),
            place: node.place(self.source),
        };
        Some(PropertyDraft {
            property,
            unknown: settings.unknown,
            formula: compiled,
            id: id.span.clone(),
            source: self.source.clone(),
            node: formula.clone(),
        })
    }

    fn read_id(&mut self, node: &YamlNode) -> Option<Text> {
        let id = self.read_text(node, "`id`")?.trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !id.chars().all(plain) {
            let message = format!("`{id}` cannot be the name of a property");
            let hint = "use letters, digits, `-`, `_` and `.`".to_owned();
            self.report_error(node.span.clone(), "policy.property-name", message, Some(hint));
            return None;
        }
        Some(id.into())
    }

    fn read_settings(&mut self, fields: &Fields<'_>) -> PropertySettings {
        PropertySettings {
            severity: fields.get("severity").and_then(|node| self.read_word(node, "a severity", &SEVERITIES)),
            respond: fields.get("respond").and_then(|node| self.read_word(node, "a response", &RESPONSES)),
            unknown: fields.get("unknown").and_then(|node| self.read_word(node, "`unknown`", &RESPONSES)),
            after: fields.get("after").and_then(|node| self.read_word(node, "`after`", &AFTERS)),
            history: fields.get("history").and_then(|node| self.read_word(node, "`history`", &HISTORIES)),
            mode: fields.get("mode").and_then(|node| self.read_word(node, "a mode", &MODES)),
            risk: fields.get("risk").and_then(|node| self.read_probability(node, "risk")),
            needs: fields.get("needs").map(|node| self.read_needs(node)),
        }
    }

    /// Reads the names of the facts that a property needs as evidence.
    fn read_needs(&mut self, node: &YamlNode) -> Vec<Text> {
        let example = "such as `needs: [verified]`";
        let mut needs: Vec<Text> = Vec::new();
        for item in self.read_items(node, "`needs`", example) {
            let Some(name) = self.read_text(item, "an entry of `needs`").map(str::trim) else { continue };
            let is_inside = |c: char| c.is_alphanumeric() || c == '_';
            if !name.chars().all(is_inside) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let message = format!("`{name}` is not the name of a fact");
                let hint = "write the name alone, without values".to_owned();
                self.report_error(item.span.clone(), "policy.needs", message, Some(hint));
            } else if !needs.iter().any(|known| known == name) {
                needs.push(name.into());
            }
        }
        needs
    }

    /// Reads the changes to properties that came with `uses`.
    pub(super) fn read_changes(&mut self, node: &YamlNode) -> Vec<PropertyChange> {
        let example = "such as `gdpr/data-minimisation: {severity: low}`, or `gdpr/data-minimisation: off`";
        let mut changes = Vec::new();
        for (key, value) in self.read_entries(node, "`change`", example) {
            let settings = match value.to_json() {
                Json::String(text) if text == "off" => None,
                Json::Object(_) => {
                    let fields = self.read_fields(value, "a change", &SETTING_KEYS, example);
                    Some(self.read_settings(&fields))
                }
                _ => {
                    self.report_type(value, "a change", "a mapping or `off`", example);
                    continue;
                }
            };
            changes.push(PropertyChange { property: key.text.as_str().into(), settings, span: key.span.clone() });
        }
        changes
    }

    /// Reads the accepted findings.
    pub(super) fn read_suppressions(&mut self, node: &YamlNode) -> Vec<SuppressionDraft> {
        let example = "such as `- {property: gdpr/*, session: test-*, reason: synthetic traffic, until: 2027-01-31}`";
        let mut suppressions = Vec::new();
        for item in self.read_items(node, "`suppress`", example) {
            let fields = self.read_fields(item, "a suppression", &["property", "session", "reason", "until"], example);
            let property = self.require_key(item, &fields, "property", "name the property; `*` matches any characters");
            let reason = self.require_key(item, &fields, "reason", "give the reason why these findings are accepted");
            let reason = reason.and_then(|node| self.read_text(node, "`reason`")).map(Text::from);
            let session = fields.get("session").and_then(|node| self.read_text(node, "`session`")).map(Text::from);
            let until = fields.get("until").and_then(|node| self.read_date(node));
            let Some((span, property)) =
                property.and_then(|node| Some((node.span.clone(), self.read_text(node, "`property`")?)))
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
            suppressions.push(SuppressionDraft { suppression, span });
        }
        suppressions
    }

    fn read_date(&mut self, node: &YamlNode) -> Option<jiff::civil::Date> {
        let text = self.read_text(node, "`until`")?.trim();
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        match text.parse() {
            Ok(date) if shape => Some(date),
            _ => {
                let message = format!("`{text}` is not a date");
                let hint = "write year, month and day: `2027-01-31`".to_owned();
                self.report_error(node.span.clone(), "policy.date", message, Some(hint));
                None
            }
        }
    }
}

//! The plain sections: version, uses, purposes, tools, categories, tables.

use lictor_logic::nearest;

use super::{Table, Use};
use crate::form::{Form, listed};
use crate::vocabulary::EFFECTS;
use crate::yaml::{Content, Key, Node};
use crate::{Basis, Category, Purpose, Tool};
use lictor_json::Text;

/// The version of the syntax that is read here.
const VERSION: i64 = 1;

/// How lawful bases are written.
pub(crate) const BASES: [(&str, Basis); 7] = [
    ("consent", Basis::Consent),
    ("explicit_consent", Basis::ExplicitConsent),
    ("contract", Basis::Contract),
    ("legal_obligation", Basis::LegalObligation),
    ("vital_interest", Basis::VitalInterest),
    ("public_task", Basis::PublicTask),
    ("legitimate_interest", Basis::LegitimateInterest),
];

impl Form<'_> {
    pub(super) fn version(&mut self, node: &Node) {
        let json = node.json();
        if json.as_i64() == Some(VERSION) || matches!(node.content, Content::Bad) {
            return;
        }
        let (message, hint) = match json.as_i64() {
            Some(later) if later > VERSION => (
                format!("this policy is written in version {later} of the syntax; this Lictor reads version {VERSION}"),
                "get a newer Lictor".to_owned(),
            ),
            _ => ("`lictor` must be the version of the syntax".into(), format!("write `lictor: {VERSION}`")),
        };
        self.complain(node.head(), "policy.version", message, Some(hint));
    }

    pub(super) fn uses(&mut self, node: &Node) -> Vec<Use> {
        let items = self.items(node, "`uses`", "such as `uses: [gdpr, agent-safety, ./more.yaml]`");
        let mut uses: Vec<Use> = Vec::new();
        for item in items {
            let Some(name) = self.text(item, "an entry of `uses`") else { continue };
            if uses.iter().any(|other| other.name == name) {
                self.complain(item.span.clone(), "policy.duplicate", format!("`{name}` is used twice"), None);
                continue;
            }
            uses.push(Use { name: name.into(), span: item.span.clone() });
        }
        uses
    }

    pub(super) fn purposes(&mut self, node: &Node) -> Vec<Purpose> {
        let example = "such as `support: {basis: contract, necessary: [email]}`";
        let mut purposes = Vec::new();
        for (key, value) in self.entries(node, "`purposes`", example) {
            let fields = self.fields(value, "a purpose", &["basis", "necessary", "survives_erasure"], example);
            let basis = self.required(value, &fields, "basis", "name the lawful basis, such as `basis: contract`");
            let basis = basis.and_then(|node| self.word(node, "a lawful basis", &BASES));
            let necessary = fields.get("necessary");
            let necessary = necessary.map(|node| self.texts(node, "`necessary`", "such as `[email, phone]`"));
            let survives = fields.get("survives_erasure").and_then(|node| self.truth(node, "`survives_erasure`"));
            let Some(name) = self.name(key, "a purpose") else { continue };
            purposes.push(Purpose {
                name,
                basis: basis.unwrap_or(Basis::Consent),
                necessary: necessary.unwrap_or_default(),
                survives_erasure: survives.unwrap_or(false),
                place: self.source.place(key.span.start),
            });
        }
        purposes
    }

    pub(super) fn tools(&mut self, node: &Node) -> Vec<Tool> {
        let example = "such as `send_*: {purposes: [support], effects: [external, write]}`";
        let mut tools = Vec::new();
        for (key, value) in self.entries(node, "`tools`", example) {
            let fields = self.fields(value, "a tool", &["purposes", "effects"], example);
            let purposes = fields.get("purposes");
            let purposes = purposes.map(|node| self.texts(node, "`purposes`", "such as `purposes: [support]`"));
            let effects = fields.get("effects").map(|node| self.effects(node));
            let Some(name) = self.name(key, "a tool") else { continue };
            tools.push(Tool { name, purposes, effects, place: self.source.place(key.span.start) });
        }
        tools
    }

    fn effects(&mut self, node: &Node) -> Vec<Text> {
        let known: Vec<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
        let mut effects = Vec::new();
        for item in self.items(node, "`effects`", "such as `effects: [external, write]`") {
            let Some(effect) = self.text(item, "an effect") else { continue };
            if !known.contains(&effect) {
                let hint = match nearest(effect, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("one of {}", listed(&known)),
                };
                let message = format!("there is no effect `{effect}`");
                self.complain(item.span.clone(), "policy.unknown-word", message, Some(hint));
            }
            effects.push(effect.into());
        }
        effects
    }

    pub(super) fn categories(&mut self, node: &Node) -> Vec<Category> {
        let example = "such as `member_number: {pattern: 'M-[0-9]{6}', identifies: true}`";
        let mut categories = Vec::new();
        for (key, value) in self.entries(node, "`categories`", example) {
            let fields = self.fields(value, "a category", &["pattern", "words", "identifies"], example);
            let pattern = fields.get("pattern").and_then(|node| {
                let pattern = self.text(node, "`pattern`")?;
                self.regex(node, pattern, 0..pattern.len()).then(|| Text::from(pattern))
            });
            let words = fields.get("words").map(|node| self.texts(node, "`words`", "such as `words: [salary, wage]`"));
            let identifies = fields.get("identifies").and_then(|node| self.truth(node, "`identifies`"));
            let Some(name) = self.name(key, "a category") else { continue };
            categories.push(Category {
                name,
                pattern,
                words: words.unwrap_or_default(),
                identifies: identifies.unwrap_or(false),
                place: self.source.place(key.span.start),
            });
        }
        categories
    }

    pub(super) fn tables(&mut self, node: &Node) -> Vec<Table> {
        let entries = self.entries(node, "`tables`", "such as `eu: [DE, FR, IT]`");
        let table = |(key, value): &(Key, Node)| {
            let (name, place) = (self.name(key, "a table")?, self.source.place(key.span.start));
            Some(Table { name, value: value.json(), place })
        };
        entries.iter().filter_map(table).collect()
    }

    /// A name under which something is listed.
    fn name(&mut self, key: &Key, what: &str) -> Option<Text> {
        if key.text.trim().is_empty() {
            self.complain(key.span.clone(), "policy.empty", format!("the name of {what} is empty"), None);
            return None;
        }
        Some(key.text.as_str().into())
    }
}

//! The plain sections: version, uses, purposes, tools, categories, tables.

use super::{TableDraft, UseEntry};
use crate::policy_reader::PolicyReader;
use crate::yaml::{Content, Key, YamlNode};
use crate::{Basis, Category, Purpose};
use lictor_json::Text;

/// The version of the policy syntax.
const SYNTAX_VERSION: i64 = 1;

/// The lawful bases by name.
pub(crate) const BASES: [(&str, Basis); 8] = [
    ("consent", Basis::Consent),
    ("explicit_consent", Basis::ExplicitConsent),
    ("contract", Basis::Contract),
    ("legal_obligation", Basis::LegalObligation),
    ("vital_interest", Basis::VitalInterest),
    ("public_task", Basis::PublicTask),
    ("legitimate_interest", Basis::LegitimateInterest),
    ("none", Basis::None),
];

impl PolicyReader<'_> {
    pub(super) fn check_version(&mut self, node: &YamlNode) {
        let json = node.to_json();
        if json.as_i64() == Some(SYNTAX_VERSION) || matches!(node.content, Content::Bad) {
            return;
        }
        let (message, hint) = match json.as_i64() {
            Some(later) if later > SYNTAX_VERSION => (
                format!(
                    "this policy is written in version {later} of the syntax; this Lictor reads version {SYNTAX_VERSION}"
                ),
                "get a newer Lictor".to_owned(),
            ),
            _ => ("`lictor` must be the version of the syntax".into(), format!("write `lictor: {SYNTAX_VERSION}`")),
        };
        self.report_error(node.head_span(), "policy.version", message, Some(hint));
    }

    pub(super) fn read_uses(&mut self, node: &YamlNode) -> Vec<UseEntry> {
        let items = self.read_items(node, "`uses`", "such as `uses: [gdpr, agent-safety, ./more.yaml]`");
        let mut uses: Vec<UseEntry> = Vec::new();
        for item in items {
            let Some(name) = self.read_text(item, "an entry of `uses`") else { continue };
            if uses.iter().any(|other| other.name == name) {
                self.report_error(item.span.clone(), "policy.duplicate", format!("`{name}` is used twice"), None);
                continue;
            }
            uses.push(UseEntry { name: name.into(), span: item.span.clone() });
        }
        uses
    }

    pub(super) fn read_purposes(&mut self, node: &YamlNode) -> Vec<Purpose> {
        let example = "such as `support: {basis: contract, necessary: [email]}`";
        let mut purposes = Vec::new();
        for (key, value) in self.read_entries(node, "`purposes`", example) {
            let fields =
                self.read_fields(value, "a purpose", &["basis", "necessary", "survives_erasure", "words"], example);
            let basis = self.require_key(value, &fields, "basis", "name the lawful basis, such as `basis: contract`");
            let basis = basis.and_then(|node| self.read_word(node, "a lawful basis", &BASES));
            let necessary = fields.get("necessary");
            let necessary = necessary.map(|node| self.read_texts(node, "`necessary`", "such as `[email, phone]`"));
            let survives = fields.get("survives_erasure").and_then(|node| self.read_bool(node, "`survives_erasure`"));
            let words = fields.get("words");
            let words = words.map(|node| self.read_texts(node, "`words`", "such as `words: [analytics, statistics]`"));
            let Some(name) = self.read_name(key, "a purpose") else { continue };
            purposes.push(Purpose {
                name,
                basis: basis.unwrap_or(Basis::Consent),
                necessary: necessary.unwrap_or_default(),
                survives_erasure: survives.unwrap_or(false),
                words: words.unwrap_or_default(),
                place: self.source.place(key.span.start),
            });
        }
        purposes
    }

    pub(super) fn read_categories(&mut self, node: &YamlNode) -> Vec<Category> {
        let example = "such as `member_number: {pattern: 'M-[0-9]{6}', identifies: true}`";
        let mut categories = Vec::new();
        for (key, value) in self.read_entries(node, "`categories`", example) {
            let fields = self.read_fields(value, "a category", &["pattern", "words", "identifies"], example);
            let pattern = fields.get("pattern").and_then(|node| {
                let pattern = self.read_text(node, "`pattern`")?;
                let whole = self.put_parts_in(node, pattern, 0)?;
                self.check_regex(node, &whole, 0..pattern.len()).then(|| Text::from(&*whole))
            });
            let words =
                fields.get("words").map(|node| self.read_texts(node, "`words`", "such as `words: [salary, wage]`"));
            let identifies = fields.get("identifies").and_then(|node| self.read_bool(node, "`identifies`"));
            let Some(name) = self.read_name(key, "a category") else { continue };
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

    pub(super) fn read_tables(&mut self, node: &YamlNode) -> Vec<TableDraft> {
        let entries = self.read_entries(node, "`tables`", "such as `eu: [DE, FR, IT]`");
        let table = |(key, value): &(Key, YamlNode)| {
            let (name, place) = (self.read_name(key, "a table")?, self.source.place(key.span.start));
            Some(TableDraft { name, value: self.read_table_value(value), place })
        };
        entries.iter().filter_map(table).collect()
    }

    /// Reads the name of an entry.
    pub(super) fn read_name(&mut self, key: &Key, what: &str) -> Option<Text> {
        if key.text.trim().is_empty() {
            self.report_error(key.span.clone(), "policy.empty", format!("the name of {what} is empty"), None);
            return None;
        }
        Some(key.text.as_str().into())
    }
}

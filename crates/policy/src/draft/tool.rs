//! The section `tools:` of a policy: what tools are for, what they do, and what a successful call records.

use lictor_logic::nearest;

use crate::Tool;
use crate::expression::{Expression, Tables};
use crate::policy_reader::{PolicyReader, ScalarProblem, quote_words};
use crate::tool_record::{RecordPurpose, ToolRecord, ToolRecordKind};
use crate::vocabulary::EFFECTS;
use crate::yaml::{Content, YamlNode};
use lictor_json::Text;

impl PolicyReader<'_> {
    pub(super) fn read_tools(&mut self, node: &YamlNode) -> Vec<Tool> {
        let example = "such as `send_*: {purposes: [support], effects: [external, write]}`";
        let keys = ["purposes", "effects", "erases", "consents", "withdraws"];
        let mut tools = Vec::new();
        for (key, value) in self.read_entries(node, "`tools`", example) {
            let fields = self.read_fields(value, "a tool", &keys, example);
            let purposes = fields.get("purposes");
            let purposes = purposes.map(|node| self.read_texts(node, "`purposes`", "such as `purposes: [support]`"));
            let effects = fields.get("effects").map(|node| self.read_effects(node));
            let mut records = Vec::new();
            if let Some(node) = fields.get("erases") {
                let subject = self.read_expression(node, "`erases`");
                let kind = ToolRecordKind::Erasure;
                records.extend(subject.map(|subject| ToolRecord { kind, subject, purposes: Vec::new() }));
            }
            for (key, kind) in [("consents", ToolRecordKind::Consent), ("withdraws", ToolRecordKind::Withdrawal)] {
                records.extend(fields.get(key).and_then(|node| self.read_record(node, key, kind)));
            }
            let Some(name) = self.read_name(key, "a tool") else { continue };
            tools.push(Tool { name, purposes, effects, records, place: self.source.place(key.span.start) });
        }
        tools
    }

    fn read_effects(&mut self, node: &YamlNode) -> Vec<Text> {
        let known: Vec<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
        let mut effects = Vec::new();
        for item in self.read_items(node, "`effects`", "such as `effects: [external, write]`") {
            let Some(effect) = self.read_text(item, "an effect") else { continue };
            if !known.contains(&effect) {
                let hint = match nearest(effect, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("one of {}", quote_words(&known)),
                };
                let message = format!("there is no effect `{effect}`");
                self.report_error(item.span.clone(), "policy.unknown-word", message, Some(hint));
            }
            effects.push(effect.into());
        }
        effects
    }

    /// Reads the record of a consent or of a withdrawal.
    fn read_record(&mut self, node: &YamlNode, key: &str, kind: ToolRecordKind) -> Option<ToolRecord> {
        let example = format!("such as `{key}: {{subject: args.email, purpose: args.purpose}}`");
        let is_consent = kind == ToolRecordKind::Consent;
        let keys: &[&str] = if is_consent { &["subject", "purpose", "explicit"] } else { &["subject", "purpose"] };
        let fields = self.read_fields(node, &format!("`{key}`"), keys, &example);
        let subject = self.require_key(node, &fields, "subject", "name the person, such as `subject: args.email`");
        let subject = subject.and_then(|node| self.read_expression(node, "`subject`"));
        let purpose = match is_consent {
            true => self.require_key(node, &fields, "purpose", "name the purpose, such as `purpose: newsletter`"),
            false => fields.get("purpose"),
        };
        let mut purposes = Vec::new();
        match purpose.map(|node| (node, &node.content)) {
            Some((_, Content::List(items))) => {
                purposes.extend(items.iter().filter_map(|item| self.read_record_purpose(item)));
            }
            Some((node, _)) => purposes.extend(self.read_record_purpose(node)),
            None => {}
        }
        let explicit = fields.get("explicit").and_then(|node| self.read_bool(node, "`explicit`"));
        let kind = if explicit == Some(true) { ToolRecordKind::ExplicitConsent } else { kind };
        Some(ToolRecord { kind, subject: subject?, purposes })
    }

    fn read_record_purpose(&mut self, node: &YamlNode) -> Option<RecordPurpose> {
        let purpose = RecordPurpose::from_text(self.read_text(node, "`purpose`")?);
        if let RecordPurpose::Computed(_) = &purpose {
            self.read_expression(node, "`purpose`")?;
        }
        Some(purpose)
    }

    /// Reads an expression over a call and its result. It sees no tables, so that it can be checked at once.
    fn read_expression(&mut self, node: &YamlNode, what: &str) -> Option<Text> {
        let text = self.read_text(node, what)?;
        let Err(errors) = Expression::compile(text, &Tables::default()) else { return Some(text.into()) };
        for error in errors.errors {
            let hint = error.hint.or_else(|| Some("such as `args.email` or `result.customer.email`".into()));
            let problem = ScalarProblem { code: "policy.expression", message: error.message, hint };
            self.report_in_scalar(node, error.offset..text.len().max(error.offset), problem);
        }
        None
    }
}

//! Objectives: properties that a session gets while it runs.

use std::sync::Arc;

use crate::check;
use crate::draft::FactDraft;
use crate::draft::TableDraft;
use crate::merged_draft::MergedDraft;
use crate::policy::Policy;
use crate::policy_reader::PolicyReader;
use crate::policy_text::PolicyText;
use crate::problem::Problems;
use crate::property::{History, Property};
use crate::yaml;

impl Policy {
    /// Reads a property that a running session gets in addition: a mapping in YAML or JSON, as an entry of `properties`.
    /// It may use the facts, tools and tables of the policy. It is judged over its session.
    pub fn read_objective(&self, text: &str) -> Result<Arc<Property>, Problems> {
        let source = PolicyText::new("objective", text);
        let mut problems = Problems::default();
        let root = yaml::read(&source, &mut problems);
        let mut reader = PolicyReader::new(&source, &mut problems);
        let draft = root.as_ref().and_then(|root| reader.read_property(root));
        if let Some(draft) = &draft {
            let id = &draft.property.id;
            if draft.property.history != History::Session {
                let message = format!("`{id}` is judged across sessions, and an objective belongs to one");
                reader.report_error(draft.id.clone(), "policy.objective", message, Some("leave out `history`".into()));
            }
            let known = |fact: &crate::FactDefinition| FactDraft {
                definition: fact.clone(),
                source: source.clone(),
                expressions: Vec::new(),
            };
            let table = |(name, value): &(lictor_json::Text, lictor_json::Json)| TableDraft {
                name: name.clone(),
                value: value.clone(),
                place: crate::Place::default(),
            };
            let merged = MergedDraft {
                facts: self.facts.iter().map(known).collect(),
                tables: self.tables.iter().map(table).collect(),
                labelers: self.labelers.clone(),
                properties: vec![draft.clone()],
                ..MergedDraft::default()
            };
            check::check(&merged, true, &mut problems);
        }
        match draft {
            // Nobody reads the warnings of a running session, so a misspelt fact would guard nothing.
            Some(draft) if problems.iter().next().is_none() => Ok(Arc::new(draft.property)),
            _ => {
                problems.sort();
                Err(problems)
            }
        }
    }

    /// Returns this policy with other properties in place of its own.
    #[must_use]
    pub fn with_properties(&self, properties: Vec<Arc<Property>>) -> Policy {
        Policy { properties, suppressions: Vec::new(), ..self.clone() }
    }
}

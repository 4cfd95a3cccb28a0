//! A policy text merged with everything it uses, before it is checked.

use std::ops::Range;

use lictor_logic::nearest;

use crate::draft::{Draft, FactDraft, PropertyDraft, TableDraft};
use crate::formula_limits::FormulaLimits;
use crate::labeler::{LabelBudget, LabelerDefinition};
use crate::policy::{Category, Purpose, Suppression, Tool};
use crate::policy_text::PolicyText;
use crate::predict::PredictSettings;
use crate::steering::Steering;
use lictor_json::Text;

/// A policy text merged with everything it uses.
#[derive(Debug, Default)]
pub(super) struct MergedDraft {
    pub(super) name: Option<Text>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) tools: Vec<Tool>,
    pub(super) categories: Vec<Category>,
    pub(super) tables: Vec<TableDraft>,
    pub(super) labelers: Vec<LabelerDefinition>,
    pub(super) budget: Option<LabelBudget>,
    pub(super) limits: Option<FormulaLimits>,
    pub(super) predict: Option<PredictSettings>,
    pub(super) steering: Option<Steering>,
    pub(super) facts: Vec<FactDraft>,
    pub(super) properties: Vec<PropertyDraft>,
    pub(super) suppressions: Vec<(PolicyText, Range<usize>, Suppression)>,
}

impl MergedDraft {
    pub(super) fn new(draft: Draft) -> MergedDraft {
        let source = draft.source;
        let suppressions = draft.suppressions.into_iter().map(|it| (source.clone(), it.span, it.suppression));
        MergedDraft {
            name: draft.name,
            purposes: draft.purposes,
            tools: draft.tools,
            categories: draft.categories,
            tables: draft.tables,
            labelers: draft.labelers,
            budget: draft.budget,
            limits: draft.limits,
            predict: draft.predict,
            steering: draft.steering,
            facts: draft.facts,
            properties: draft.properties,
            suppressions: suppressions.collect(),
        }
    }

    /// Returns a hint for a property name that nothing matches: the nearest name, or how names are written.
    pub(super) fn suggest_property(&self, name: &str) -> String {
        let known: Vec<&str> = self.properties.iter().map(|draft| draft.property.id.as_str()).collect();
        let last = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
        let by_last = || {
            let lasts: Vec<String> = known.iter().map(|id| last(id)).collect();
            let found = nearest(&last(name), lasts.iter().map(String::as_str))?;
            known.iter().find(|id| last(id) == found).copied()
        };
        match nearest(name, known.iter().copied()).or_else(by_last) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "the policy has no properties".to_owned(),
            None => "properties that came with `uses:` are called `pack/id`".to_owned(),
        }
    }
}

/// How many entries of each list are the policy's own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnCounts {
    pub(super) purposes: usize,
    pub(super) tools: usize,
    pub(super) categories: usize,
    pub(super) tables: usize,
    pub(super) labelers: usize,
    pub(super) facts: usize,
    pub(super) properties: usize,
}

impl OwnCounts {
    pub(super) fn new(merged: &MergedDraft) -> OwnCounts {
        OwnCounts {
            purposes: merged.purposes.len(),
            tools: merged.tools.len(),
            categories: merged.categories.len(),
            tables: merged.tables.len(),
            labelers: merged.labelers.len(),
            facts: merged.facts.len(),
            properties: merged.properties.len(),
        }
    }
}

//! The content of one policy text, before it is merged with the packs and files it uses.

use std::ops::Range;

use lictor_logic::{Arena, Formula};

use super::policy_reader::PolicyReader;
use super::policy_text::PolicyText;
use super::yaml::{self, YamlNode};
use super::{
    Category, FactDefinition, FormulaLimits, LabelBudget, LabelerDefinition, Place, PredictSettings, Problems,
    Property, Purpose, Response, Steering, Tool,
};
use lictor_json::{Json, Text};

mod fact;
mod formula;
mod labeler;
mod limits;
mod part;
mod pattern;
mod predict;
mod property;
mod section;
mod steering;
mod tool;

pub(super) use property::{PropertyChange, SuppressionDraft};

/// Where a text comes from, which decides the keys it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// A policy file.
    File,
    /// A block in a page of a pack.
    Page,
}

/// The content of one policy text.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) source: PolicyText,
    pub(super) name: Option<Text>,
    pub(super) uses: Vec<UseEntry>,
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
    pub(super) changes: Vec<PropertyChange>,
    pub(super) suppressions: Vec<SuppressionDraft>,
}

/// An entry of `uses`.
#[derive(Clone, Debug)]
pub(super) struct UseEntry {
    pub(super) name: Text,
    pub(super) span: Range<usize>,
}

/// A named value.
#[derive(Clone, Debug)]
pub(super) struct TableDraft {
    pub(super) name: Text,
    pub(super) value: Json,
    pub(super) place: Place,
}

/// A fact, with its expressions still unchecked.
#[derive(Clone, Debug)]
pub(super) struct FactDraft {
    pub(super) definition: FactDefinition,
    pub(super) source: PolicyText,
    /// Its expressions, which can be checked only when all tables are known.
    pub(super) expressions: Vec<(ExpressionUse, YamlNode)>,
}

/// How an expression is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpressionUse {
    /// As a condition: true or false.
    Condition,
    /// As a value.
    Value,
}

/// A property, with its formula still unchecked.
#[derive(Clone, Debug)]
pub(super) struct PropertyDraft {
    pub(super) property: Property,
    /// The response to an unknown verdict, if the policy gives one.
    pub(super) unknown: Option<Response>,
    /// The formula, unless it cannot be parsed.
    pub(super) formula: Option<(Arena, Formula)>,
    /// The place of its name.
    pub(super) id: Range<usize>,
    /// The text with the formula.
    pub(super) source: PolicyText,
    pub(super) node: YamlNode,
}

/// Keys at the top of a policy file.
const FILE_KEYS: [&str; 18] = [
    "lictor",
    "name",
    "uses",
    "purposes",
    "tools",
    "categories",
    "patterns",
    "tables",
    "labelers",
    "budget",
    "limits",
    "predict",
    "steer",
    "facts",
    "properties",
    "change",
    "suppress",
    // Read by the gateway; it changes nothing about what is judged.
    "gateway",
];

/// Keys at the top of a block in a page.
const PAGE_KEYS: [&str; 8] =
    ["purposes", "tools", "categories", "patterns", "tables", "labelers", "facts", "properties"];

impl Draft {
    /// Reads a text.
    pub(super) fn read(source: &PolicyText, role: TextOrigin, problems: &mut Problems) -> Draft {
        let mut draft = Draft {
            source: source.clone(),
            name: None,
            uses: Vec::new(),
            purposes: Vec::new(),
            tools: Vec::new(),
            categories: Vec::new(),
            tables: Vec::new(),
            labelers: Vec::new(),
            budget: None,
            limits: None,
            predict: None,
            steering: None,
            facts: Vec::new(),
            properties: Vec::new(),
            changes: Vec::new(),
            suppressions: Vec::new(),
        };
        let before = problems.has_errors();
        let root = yaml::read(source, problems);
        let mut reader = PolicyReader::new(source, problems);
        match root {
            Some(root) if !root.to_json().is_null() => draft.fill(&mut reader, &root, role),
            // A text that is not YAML is already reported; an empty one is not.
            _ if reader.problems.has_errors() && !before => {}
            _ => {
                let start = source.file_offset(0);
                let hint = Some(String::from(EXAMPLE));
                reader.report_error(start..start, "policy.empty", "the policy is empty".into(), hint);
            }
        }
        draft
    }

    fn fill(&mut self, reader: &mut PolicyReader<'_>, root: &YamlNode, role: TextOrigin) {
        let keys: &[&str] = if role == TextOrigin::File { &FILE_KEYS } else { &PAGE_KEYS };
        let fields = reader.read_fields(root, "a policy", keys, EXAMPLE);
        if role == TextOrigin::File {
            if let Some(node) =
                reader.require_key(root, &fields, "lictor", "begin with `lictor: 1`, the version of the syntax")
            {
                reader.check_version(node);
            }
            self.name = fields.get("name").and_then(|node| reader.read_text(node, "`name`")).map(Text::from);
            self.uses = fields.get("uses").map(|node| reader.read_uses(node)).unwrap_or_default();
        }
        if let Some(node) = fields.get("patterns") {
            reader.read_parts(node);
        }
        self.purposes = fields.get("purposes").map(|node| reader.read_purposes(node)).unwrap_or_default();
        self.tools = fields.get("tools").map(|node| reader.read_tools(node)).unwrap_or_default();
        self.categories = fields.get("categories").map(|node| reader.read_categories(node)).unwrap_or_default();
        self.tables = fields.get("tables").map(|node| reader.read_tables(node)).unwrap_or_default();
        self.labelers = fields.get("labelers").map(|node| reader.read_labelers(node)).unwrap_or_default();
        self.facts = fields.get("facts").map(|node| reader.read_facts(node)).unwrap_or_default();
        self.properties = fields.get("properties").map(|node| reader.read_properties(node)).unwrap_or_default();
        if role == TextOrigin::File {
            self.budget = fields.get("budget").map(|node| reader.read_budget(node));
            self.limits = fields.get("limits").map(|node| reader.read_limits(node));
            self.predict = fields.get("predict").and_then(|node| reader.read_predict(node));
            self.steering = fields.get("steer").map(|node| reader.read_steering(node));
            self.changes = fields.get("change").map(|node| reader.read_changes(node)).unwrap_or_default();
            self.suppressions = fields.get("suppress").map(|node| reader.read_suppressions(node)).unwrap_or_default();
        }
    }
}

const EXAMPLE: &str = "a policy begins with `lictor: 1` and has `properties:` or `uses:`";

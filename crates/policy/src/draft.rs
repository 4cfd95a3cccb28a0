//! What one text says, before it is put together with what it uses.

use std::ops::Range;

use lictor_logic::{Arena, Formula};

use super::form::Form;
use super::source::PolicyText;
use super::yaml::{self, Node};
use super::{Category, FactDefinition, Place, Problems, Property, Purpose, Response, Tool};
use lictor_json::{Json, Text};

mod fact;
mod formula;
mod pattern;
mod property;
mod section;

pub(super) use property::{Change, Suppressed};

/// Where a text comes from, and so what may stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A policy file.
    File,
    /// A block in a page of a pack.
    Page,
}

/// What one text says.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) source: PolicyText,
    pub(super) name: Option<Text>,
    pub(super) uses: Vec<Use>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) tools: Vec<Tool>,
    pub(super) categories: Vec<Category>,
    pub(super) tables: Vec<Table>,
    pub(super) facts: Vec<Defined>,
    pub(super) properties: Vec<Stated>,
    pub(super) changes: Vec<Change>,
    pub(super) suppressions: Vec<Suppressed>,
}

/// Something that a policy uses.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) name: Text,
    pub(super) span: Range<usize>,
}

/// A named value.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: Text,
    pub(super) value: Json,
    pub(super) place: Place,
}

/// A fact as it was defined.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    pub(super) definition: FactDefinition,
    pub(super) source: PolicyText,
    /// Its expressions, which can be judged only when all tables are known.
    pub(super) expressions: Vec<(Usage, Node)>,
}

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// To be true or false.
    Condition,
    /// To come to a value.
    Value,
}

/// A property as it was stated.
#[derive(Clone, Debug)]
pub(super) struct Stated {
    pub(super) property: Property,
    /// What to do when it is unknown, where that was said.
    pub(super) unknown: Option<Response>,
    /// The formula, unless it cannot be read.
    pub(super) formula: Option<(Arena, Formula)>,
    /// Where it was named.
    pub(super) id: Range<usize>,
    /// Where the formula was written.
    pub(super) source: PolicyText,
    pub(super) node: Node,
}

/// Keys at the top of a policy file.
const FILE_KEYS: [&str; 12] = [
    "lictor",
    "name",
    "uses",
    "purposes",
    "tools",
    "categories",
    "tables",
    "facts",
    "properties",
    "change",
    "suppress",
    // Read by whoever serves; it changes nothing about what is judged.
    "gateway",
];

/// Keys at the top of a block in a page.
const PAGE_KEYS: [&str; 6] = ["purposes", "tools", "categories", "tables", "facts", "properties"];

impl Draft {
    /// Reads a text.
    pub(super) fn read(source: &PolicyText, role: Role, problems: &mut Problems) -> Draft {
        let mut draft = Draft {
            source: source.clone(),
            name: None,
            uses: Vec::new(),
            purposes: Vec::new(),
            tools: Vec::new(),
            categories: Vec::new(),
            tables: Vec::new(),
            facts: Vec::new(),
            properties: Vec::new(),
            changes: Vec::new(),
            suppressions: Vec::new(),
        };
        let before = problems.has_errors();
        let root = yaml::read(source, problems);
        let mut form = Form { source, problems };
        match root {
            Some(root) if !root.json().is_null() => draft.fill(&mut form, &root, role),
            // What is not YAML was complained about; a text without anything in it was not.
            _ if form.problems.has_errors() && !before => {}
            _ => {
                let start = source.outer(0);
                let hint = Some(String::from(EXAMPLE));
                form.complain(start..start, "policy.empty", "there is no policy here".into(), hint);
            }
        }
        draft
    }

    fn fill(&mut self, form: &mut Form<'_>, root: &Node, role: Role) {
        let keys: &[&str] = if role == Role::File { &FILE_KEYS } else { &PAGE_KEYS };
        let fields = form.fields(root, "a policy", keys, EXAMPLE);
        if role == Role::File {
            if let Some(node) =
                form.required(root, &fields, "lictor", "begin with `lictor: 1`, the version of the syntax")
            {
                form.version(node);
            }
            self.name = fields.get("name").and_then(|node| form.text(node, "`name`")).map(Text::from);
            self.uses = fields.get("uses").map(|node| form.uses(node)).unwrap_or_default();
        }
        self.purposes = fields.get("purposes").map(|node| form.purposes(node)).unwrap_or_default();
        self.tools = fields.get("tools").map(|node| form.tools(node)).unwrap_or_default();
        self.categories = fields.get("categories").map(|node| form.categories(node)).unwrap_or_default();
        self.tables = fields.get("tables").map(|node| form.tables(node)).unwrap_or_default();
        self.facts = fields.get("facts").map(|node| form.facts(node)).unwrap_or_default();
        self.properties = fields.get("properties").map(|node| form.properties(node)).unwrap_or_default();
        if role == Role::File {
            self.changes = fields.get("change").map(|node| form.changes(node)).unwrap_or_default();
            self.suppressions = fields.get("suppress").map(|node| form.suppressions(node)).unwrap_or_default();
        }
    }
}

const EXAMPLE: &str = "a policy begins with `lictor: 1` and has `properties:` or `uses:`";

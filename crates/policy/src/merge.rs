//! Putting a policy together with what it uses.
//!
//! What a policy says itself counts; packs and files it uses add to that. Two of them that say different things under one
//! name are an error, for the order in which they are listed should not matter.

mod named;

use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{Arena, Formula, Monitor, nearest};

use self::named::{Conflict, join};
use super::draft::{Change, Defined, Draft, Role, Stated, Table, Use};
use super::load::{LoadedPolicy, PageBase, Resolver};
use super::source::PolicyText;
use super::{After, Category, Policy, Problems, Purpose, Suppression, Tool, check};
use crate::glob::Glob;
use crate::pack::{Pack, Page};
use lictor_json::Text;

/// How deep files may use files, and how many there may be in all.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 200;

/// What a text and all it uses say together.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) name: Option<Text>,
    pub(super) purposes: Vec<Purpose>,
    pub(super) tools: Vec<Tool>,
    pub(super) categories: Vec<Category>,
    pub(super) tables: Vec<Table>,
    pub(super) facts: Vec<Defined>,
    pub(super) properties: Vec<Stated>,
    pub(super) suppressions: Vec<(PolicyText, Range<usize>, Suppression)>,
}

impl Merged {
    fn of(draft: Draft) -> Merged {
        let source = draft.source;
        let suppressions = draft.suppressions.into_iter().map(|it| (source.clone(), it.span, it.suppression));
        Merged {
            name: draft.name,
            purposes: draft.purposes,
            tools: draft.tools,
            categories: draft.categories,
            tables: draft.tables,
            facts: draft.facts,
            properties: draft.properties,
            suppressions: suppressions.collect(),
        }
    }
}

/// Reads texts and what they use.
pub(crate) struct Merger<'a> {
    resolver: &'a dyn Resolver,
    problems: Problems,
    /// The files that are being read, each used by the one before.
    open: Vec<String>,
    /// Every text that was read.
    sources: Vec<PolicyText>,
    /// Something that is used could not be had, so properties may be missing.
    incomplete: bool,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(resolver: &'a dyn Resolver) -> Merger<'a> {
        Merger { resolver, problems: Problems::default(), open: Vec::new(), sources: Vec::new(), incomplete: false }
    }

    /// A policy file with all it uses.
    pub(super) fn file(&mut self, source: &PolicyText) -> Merged {
        self.open.push(source.file.to_string());
        let mut draft = self.read(source, Role::File);
        let (uses, changes) = (std::mem::take(&mut draft.uses), std::mem::take(&mut draft.changes));
        let mut merged = Merged::of(draft);
        let own = Own::of(&merged);
        for used in &uses {
            match self.used(used, source) {
                Some(theirs) => self.add(&mut merged, &own, theirs, source, used),
                None => self.incomplete = true,
            }
        }
        for change in &changes {
            self.change(&mut merged, change, source);
        }
        self.open.pop();
        merged
    }

    /// Blocks of a page: what is shared by the pack, then the page's own.
    pub(super) fn blocks(&mut self, blocks: &[PolicyText]) -> Merged {
        let mut merged = Merged::default();
        for block in blocks {
            let theirs = Merged::of(self.read(block, Role::Page));
            let start = block.outer(0);
            let used = Use { name: block.file.as_ref().into(), span: start..start };
            self.add(&mut merged, &Own::default(), theirs, block, &used);
        }
        merged
    }

    /// What the examples of a page are judged by.
    pub(super) fn page(&mut self, page: &Page, base: PageBase<'_>) -> Merged {
        let stated = page.policy.iter();
        let mut below = match base {
            PageBase::Nothing => self.blocks(&stated.cloned().collect::<Vec<_>>()),
            PageBase::Pack(pack) => {
                let mut merged = self.blocks(&pack.shared.iter().chain(stated).cloned().collect::<Vec<_>>());
                merged.properties.iter_mut().for_each(|stated| prefix(stated, &pack.name));
                merged
            }
            PageBase::File(source) => self.file(source),
        };
        if let (PageBase::File(_), Some(block)) = (base, &page.policy) {
            below = self.over(block, below);
        }
        match &page.setup {
            Some(setup) => self.over(setup, below),
            None => below,
        }
    }

    /// A block that counts before something else.
    fn over(&mut self, block: &PolicyText, below: Merged) -> Merged {
        let mut merged = Merged::of(self.read(block, Role::Page));
        let own = Own::of(&merged);
        let start = block.outer(0);
        let used = Use { name: block.file.as_ref().into(), span: start..start };
        merged.name.clone_from(&below.name);
        self.add(&mut merged, &own, below, block, &used);
        merged
    }

    fn read(&mut self, source: &PolicyText, role: Role) -> Draft {
        self.sources.push(source.clone());
        Draft::read(source, role, &mut self.problems)
    }

    /// What an entry of `uses` stands for.
    fn used(&mut self, used: &Use, source: &PolicyText) -> Option<Merged> {
        if is_file(&used.name) {
            return self.used_file(used, source);
        }
        let (name, id) = match used.name.split_once('/') {
            Some((name, id)) => (name, Some(id)),
            None => (used.name.as_str(), None),
        };
        let packs = self.resolver.packs();
        let Some(pack) = packs.iter().find(|pack| pack.name == name) else {
            let known: Vec<&str> = packs.iter().map(|pack| pack.name.as_str()).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("packs are {}; a file is written `./{name}.yaml`", super::form::listed(&known)),
            };
            let problem =
                source.problem(used.span.clone(), "policy.unknown-pack", format!("there is no pack `{name}`"));
            self.problems.add(problem.help(hint));
            return None;
        };
        let blocks = self.pages(pack, id, used, source)?;
        let mut merged = self.blocks(&blocks);
        merged.properties.iter_mut().for_each(|stated| prefix(stated, &pack.name));
        Some(merged)
    }

    /// The blocks of a pack, or of one of its pages.
    fn pages(&mut self, pack: &Pack, id: Option<&str>, used: &Use, source: &PolicyText) -> Option<Vec<PolicyText>> {
        let pages: Vec<_> = pack.pages.iter().filter(|page| id.is_none_or(|id| page.id == id)).collect();
        if let (true, Some(id)) = (pages.is_empty(), id) {
            let known: Vec<&str> = pack.pages.iter().map(|page| page.id.as_str()).collect();
            let hint = match nearest(id, known.iter().copied()) {
                Some(meant) => format!("did you mean `{}/{meant}`?", pack.name),
                None => format!("it has {}", super::form::listed(&known)),
            };
            let message = format!("the pack `{}` has no property `{id}`", pack.name);
            let problem = source.problem(used.span.clone(), "policy.unknown-pack", message);
            self.problems.add(problem.help(hint));
            return None;
        }
        let shared = pack.shared.iter().cloned();
        Some(shared.chain(pages.into_iter().filter_map(|page| page.policy.clone())).collect())
    }

    fn used_file(&mut self, used: &Use, source: &PolicyText) -> Option<Merged> {
        let mut refuse = |message: String, hint: &str| {
            let problem = source.problem(used.span.clone(), "policy.uses", message);
            self.problems.add(problem.help(hint));
        };
        let found = match self.resolver.file(&used.name, &source.file) {
            Ok(found) => found,
            Err(reason) => {
                let hint = "files are looked for beside the policy that uses them";
                refuse(format!("`{}` cannot be read: {reason}", used.name), hint);
                return None;
            }
        };
        if let Some(first) = self.open.iter().position(|open| *open == found.name) {
            let way: Vec<&str> = self.open[first..].iter().map(String::as_str).chain([found.name.as_str()]).collect();
            refuse(format!("`{}` uses itself: {}", used.name, way.join(" → ")), "leave one of the `uses:` out");
            return None;
        }
        if self.open.len() >= MAX_DEPTH || self.sources.len() >= MAX_FILES {
            refuse(format!("`{}` is one file too many", used.name), "let files use each other less deeply");
            return None;
        }
        let stem = std::path::Path::new(&found.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mut merged = self.file(&PolicyText::new(&found.name, &found.text));
        let own = merged.properties.iter_mut().filter(|stated| !stated.property.id.contains('/'));
        own.for_each(|stated| prefix(stated, stem.as_deref().unwrap_or(&found.name)));
        Some(merged)
    }

    /// Adds what something used says, unless the policy says it itself.
    fn add(&mut self, merged: &mut Merged, own: &Own, theirs: Merged, source: &PolicyText, used: &Use) {
        let mut conflicts = Vec::new();
        join(&mut merged.purposes, theirs.purposes, own.purposes, &mut conflicts);
        join(&mut merged.tools, theirs.tools, own.tools, &mut conflicts);
        join(&mut merged.categories, theirs.categories, own.categories, &mut conflicts);
        join(&mut merged.tables, theirs.tables, own.tables, &mut conflicts);
        join(&mut merged.facts, theirs.facts, own.facts, &mut conflicts);
        join(&mut merged.properties, theirs.properties, own.properties, &mut conflicts);
        merged.suppressions.extend(theirs.suppressions);
        for Conflict { what, name, first, second } in conflicts {
            let message = format!("{what} `{name}` is defined in two different ways");
            let problem = source.problem(used.span.clone(), "policy.conflict", message);
            let problem =
                problem.note(format!("once in {}:{}, once in {}:{}", first.file, first.line, second.file, second.line));
            self.problems.add(problem.help("define it in the policy itself, which then counts"));
        }
    }

    /// Adjusts properties, or turns them off.
    fn change(&mut self, merged: &mut Merged, change: &Change, source: &PolicyText) {
        let glob = Glob::new(&change.property);
        if !self.incomplete && !merged.properties.iter().any(|stated| glob.matches(&stated.property.id)) {
            let known: Vec<&str> = merged.properties.iter().map(|stated| stated.property.id.as_str()).collect();
            let message = format!("there is no property `{}` to change", change.property);
            let mut problem = source.problem(change.span.clone(), "policy.unknown-property", message);
            problem.hint = Some(meant(&change.property, &known));
            self.problems.add(problem);
        }
        let Some(settings) = change.settings else {
            merged.properties.retain(|stated| !glob.matches(&stated.property.id));
            return;
        };
        for stated in merged.properties.iter_mut().filter(|stated| glob.matches(&stated.property.id)) {
            let fits = |(arena, formula): &(Arena, Formula)| Monitor::each(arena, *formula).is_ok();
            if settings.after == Some(After::Each) && !stated.formula.as_ref().is_none_or(fits) {
                let message = format!("`after: each` does not fit the formula of `{}`", stated.property.id);
                let problem = source.problem(change.span.clone(), "policy.after", message);
                self.problems.add(problem.help("write `after: latch` or `after: reset`"));
            }
            stated.unknown = settings.unknown.or(stated.unknown);
            let property = &mut stated.property;
            property.severity = settings.severity.unwrap_or(property.severity);
            property.respond = settings.respond.unwrap_or(property.respond);
            property.unknown = stated.unknown.unwrap_or(property.respond);
            property.after = settings.after.unwrap_or(property.after);
            property.history = settings.history.unwrap_or(property.history);
            property.mode = settings.mode.unwrap_or(property.mode);
        }
    }

    /// The policy, if nothing stands in its way.
    pub(super) fn finish(mut self, merged: Merged) -> Result<LoadedPolicy, Problems> {
        check::check(&merged, self.incomplete, &mut self.problems);
        self.problems.sort();
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        let file = self.sources.first().map(|source| source.file.as_ref()).unwrap_or_default();
        let stem = std::path::Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let policy = Policy {
            name: merged.name.unwrap_or_else(|| stem.unwrap_or_default().into()),
            purposes: merged.purposes,
            tools: merged.tools,
            categories: merged.categories,
            tables: merged.tables.into_iter().map(|table| (table.name, table.value)).collect(),
            facts: merged.facts.into_iter().map(|defined| defined.definition).collect(),
            properties: merged.properties.into_iter().map(|stated| Arc::new(stated.property)).collect(),
            suppressions: merged.suppressions.into_iter().map(|(_, _, suppression)| suppression).collect(),
            sources: self.sources,
        };
        Ok(LoadedPolicy { policy, warnings: self.problems })
    }
}

/// Is this the path of a file, not the name of a pack?
fn is_file(name: &str) -> bool {
    name.starts_with(['.', '/']) || name.ends_with(".yaml") || name.ends_with(".yml") || name.contains('\\')
}

fn prefix(stated: &mut Stated, name: &str) {
    stated.property.id = format!("{name}/{}", stated.property.id).into();
}

/// What a misspelt property was probably meant to be.
pub(super) fn meant(name: &str, known: &[&str]) -> String {
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

/// How many entries of each list are the policy's own.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    purposes: usize,
    tools: usize,
    categories: usize,
    tables: usize,
    facts: usize,
    properties: usize,
}

impl Own {
    fn of(merged: &Merged) -> Own {
        Own {
            purposes: merged.purposes.len(),
            tools: merged.tools.len(),
            categories: merged.categories.len(),
            tables: merged.tables.len(),
            facts: merged.facts.len(),
            properties: merged.properties.len(),
        }
    }
}

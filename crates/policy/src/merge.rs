//! Merges a policy with the packs and files it uses.
//!
//! A policy's own definitions win; packs and files add to them. Two different definitions of one name in what it uses
//! are an error, for the order of `uses` should not matter.

mod merge_item;

use std::sync::Arc;

use lictor_logic::{After, Arena, Formula, Monitor, nearest};

use self::merge_item::{Conflict, merge_items};
use crate::check;
use crate::draft::{Draft, PropertyChange, PropertyDraft, TextOrigin, UseEntry};
use crate::glob::Glob;
use crate::merged_draft::{MergedDraft, OwnCounts};
use crate::pack::{Pack, Page, read_page};
use crate::policy::{LoadedPolicy, Policy};
use crate::policy_reader::quote_words;
use crate::policy_text::PolicyText;
use crate::problem::Problems;
use crate::resolver::{PageBase, Resolver};

/// How many levels deep files may use files.
const MAX_USES_DEPTH: usize = 16;

/// How many files a policy may consist of.
const MAX_FILES: usize = 200;

/// Reads texts and what they use.
pub(crate) struct Merger<'a> {
    resolver: &'a dyn Resolver,
    problems: Problems,
    /// The files that are being read, each used by the one before.
    open: Vec<String>,
    /// Every text that was read.
    sources: Vec<PolicyText>,
    /// Whether something that is used could not be read, so that properties may be missing.
    incomplete: bool,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(resolver: &'a dyn Resolver) -> Merger<'a> {
        Merger { resolver, problems: Problems::default(), open: Vec::new(), sources: Vec::new(), incomplete: false }
    }

    /// Merges a policy file with everything it uses.
    pub(super) fn merge_file(&mut self, source: &PolicyText) -> MergedDraft {
        self.open.push(source.file.to_string());
        let mut draft = self.read_draft(source, TextOrigin::File);
        let (uses, changes) = (std::mem::take(&mut draft.uses), std::mem::take(&mut draft.changes));
        let mut merged = MergedDraft::new(draft);
        let own = OwnCounts::new(&merged);
        for used in &uses {
            match self.merge_used(used, source) {
                Some(theirs) => self.add_used(&mut merged, &own, theirs, source, used),
                None => self.incomplete = true,
            }
        }
        for change in &changes {
            self.apply_change(&mut merged, change, source);
        }
        self.open.pop();
        merged
    }

    /// Merges blocks of pages: the block that the pack shares, then the pages' own.
    pub(super) fn merge_blocks(&mut self, blocks: &[PolicyText]) -> MergedDraft {
        let mut merged = MergedDraft::default();
        for block in blocks {
            let theirs = MergedDraft::new(self.read_draft(block, TextOrigin::Page));
            let start = block.file_offset(0);
            let used = UseEntry { name: block.file.as_ref().into(), span: start..start };
            self.add_used(&mut merged, &OwnCounts::default(), theirs, block, &used);
        }
        merged
    }

    /// Merges the policy that the examples of a page are judged by.
    pub(super) fn merge_page(&mut self, page: &Page, base: PageBase<'_>) -> MergedDraft {
        let stated = page.policy.iter();
        let mut below = match base {
            PageBase::Nothing => self.merge_blocks(&stated.cloned().collect::<Vec<_>>()),
            PageBase::Pack(pack) => {
                let mut merged = self.merge_blocks(&pack.shared.iter().chain(stated).cloned().collect::<Vec<_>>());
                merged.properties.iter_mut().for_each(|stated| add_prefix(stated, &pack.name));
                merged
            }
            PageBase::File(source) => self.merge_file(source),
        };
        if let (PageBase::File(_), Some(block)) = (base, &page.policy) {
            below = self.merge_over(block, below);
        }
        match &page.setup {
            Some(setup) => self.merge_over(setup, below),
            None => below,
        }
    }

    /// Merges a block with a base; the block's definitions win.
    fn merge_over(&mut self, block: &PolicyText, below: MergedDraft) -> MergedDraft {
        let mut merged = MergedDraft::new(self.read_draft(block, TextOrigin::Page));
        let own = OwnCounts::new(&merged);
        let start = block.file_offset(0);
        let used = UseEntry { name: block.file.as_ref().into(), span: start..start };
        merged.name.clone_from(&below.name);
        self.add_used(&mut merged, &own, below, block, &used);
        merged
    }

    fn read_draft(&mut self, source: &PolicyText, role: TextOrigin) -> Draft {
        self.sources.push(source.clone());
        Draft::read(source, role, &mut self.problems)
    }

    /// Merges the pack, page or file that an entry of `uses` names; none if it cannot be read.
    fn merge_used(&mut self, used: &UseEntry, source: &PolicyText) -> Option<MergedDraft> {
        if is_file_path(&used.name) {
            return self.merge_used_file(used, source);
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
                None => format!("packs are {}; a file is written `./{name}.yaml`", quote_words(&known)),
            };
            let problem =
                source.problem(used.span.clone(), "policy.unknown-pack", format!("there is no pack `{name}`"));
            self.problems.add(problem.with_hint(hint));
            return None;
        };
        let blocks = self.select_pages(pack, id, used, source)?;
        let mut merged = self.merge_blocks(&blocks);
        merged.properties.iter_mut().for_each(|stated| add_prefix(stated, &pack.name));
        Some(merged)
    }

    /// Returns the blocks of a pack, or of one of its pages.
    fn select_pages(
        &mut self,
        pack: &Pack,
        id: Option<&str>,
        used: &UseEntry,
        source: &PolicyText,
    ) -> Option<Vec<PolicyText>> {
        let pages: Vec<_> = pack.pages.iter().filter(|page| id.is_none_or(|id| page.id == id)).collect();
        if let (true, Some(id)) = (pages.is_empty(), id) {
            let known: Vec<&str> = pack.pages.iter().map(|page| page.id.as_str()).collect();
            let hint = match nearest(id, known.iter().copied()) {
                Some(meant) => format!("did you mean `{}/{meant}`?", pack.name),
                None => format!("it has {}", quote_words(&known)),
            };
            let message = format!("the pack `{}` has no property `{id}`", pack.name);
            let problem = source.problem(used.span.clone(), "policy.unknown-pack", message);
            self.problems.add(problem.with_hint(hint));
            return None;
        }
        let shared = pack.shared.iter().cloned();
        Some(shared.chain(pages.into_iter().filter_map(|page| page.policy.clone())).collect())
    }

    /// Merges the pages of a folder, like those of a pack: the folder's name comes before the ids of their properties.
    /// Pages without a policy, such as a README, are left out.
    fn merge_used_folder(&mut self, pages: &[String], used: &UseEntry, source: &PolicyText) -> Option<MergedDraft> {
        let mut blocks = Vec::new();
        for page in pages {
            match self.resolver.file(page, &source.file) {
                Ok(found) => {
                    blocks.extend(read_page(&PolicyText::new(&found.name, &found.text), &mut self.problems).policy);
                }
                Err(reason) => {
                    let message = format!("`{page}` cannot be read: {reason}");
                    self.problems.add(source.problem(used.span.clone(), "policy.uses", message));
                }
            }
        }
        if blocks.is_empty() {
            let message = format!("`{}` is a folder without a page that has a policy", used.name);
            let problem = source.problem(used.span.clone(), "policy.uses", message);
            self.problems
                .add(problem.with_hint("write properties into `.md` pages, each in a fenced block `yaml policy`"));
            return None;
        }
        let mut merged = self.merge_blocks(&blocks);
        let name = std::path::Path::new(&used.name).file_name().map(|name| name.to_string_lossy().into_owned());
        let own = merged.properties.iter_mut().filter(|stated| !stated.property.id.contains('/'));
        own.for_each(|stated| add_prefix(stated, name.as_deref().unwrap_or(&used.name)));
        Some(merged)
    }

    fn merge_used_file(&mut self, used: &UseEntry, source: &PolicyText) -> Option<MergedDraft> {
        if let Some(pages) = self.resolver.pages(&used.name, &source.file) {
            return self.merge_used_folder(&pages, used, source);
        }
        let mut refuse = |message: String, hint: &str| {
            let problem = source.problem(used.span.clone(), "policy.uses", message);
            self.problems.add(problem.with_hint(hint));
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
        if self.open.len() >= MAX_USES_DEPTH {
            let message = format!("`{}` is over the limit of {MAX_USES_DEPTH} levels of `uses:`", used.name);
            refuse(message, "let files use each other less deeply");
            return None;
        }
        if self.sources.len() >= MAX_FILES {
            refuse(format!("`{}` is over the limit of {MAX_FILES} files", used.name), "combine some of the files");
            return None;
        }
        if found.name.ends_with(".md") {
            let page = read_page(&PolicyText::new(&found.name, &found.text), &mut self.problems);
            if page.policy.is_none() {
                let message = format!("`{}` has no block of `yaml policy`", used.name);
                let problem = source.problem(used.span.clone(), "policy.uses", message);
                self.problems.add(problem.with_hint("write the property into a fenced block `yaml policy`"));
            }
            return page.policy.map(|block| self.merge_blocks(&[block]));
        }
        let stem = std::path::Path::new(&found.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let mut merged = self.merge_file(&PolicyText::new(&found.name, &found.text));
        let own = merged.properties.iter_mut().filter(|stated| !stated.property.id.contains('/'));
        own.for_each(|stated| add_prefix(stated, stem.as_deref().unwrap_or(&found.name)));
        Some(merged)
    }

    /// Adds the definitions of something used, except those that the policy defines itself.
    fn add_used(
        &mut self,
        merged: &mut MergedDraft,
        own: &OwnCounts,
        theirs: MergedDraft,
        source: &PolicyText,
        used: &UseEntry,
    ) {
        let mut conflicts = Vec::new();
        merge_items(&mut merged.purposes, theirs.purposes, own.purposes, &mut conflicts);
        merge_items(&mut merged.tools, theirs.tools, own.tools, &mut conflicts);
        merge_items(&mut merged.categories, theirs.categories, own.categories, &mut conflicts);
        merge_items(&mut merged.tables, theirs.tables, own.tables, &mut conflicts);
        merge_items(&mut merged.labelers, theirs.labelers, own.labelers, &mut conflicts);
        merged.budget = merged.budget.or(theirs.budget);
        merged.limits = merged.limits.or(theirs.limits);
        merged.predict = merged.predict.take().or(theirs.predict);
        merged.steering = merged.steering.or(theirs.steering);
        merge_items(&mut merged.facts, theirs.facts, own.facts, &mut conflicts);
        merge_items(&mut merged.properties, theirs.properties, own.properties, &mut conflicts);
        merged.suppressions.extend(theirs.suppressions);
        for Conflict { what, name, first, second } in conflicts {
            let message = format!("conflicting definitions of {what} `{name}`");
            let problem = source.problem(used.span.clone(), "policy.conflict", message);
            let problem = problem
                .with_note(format!("once in {}:{}, once in {}:{}", first.file, first.line, second.file, second.line));
            self.problems.add(problem.with_hint("define it in the policy itself, which then counts"));
        }
    }

    /// Adjusts properties, or turns them off.
    fn apply_change(&mut self, merged: &mut MergedDraft, change: &PropertyChange, source: &PolicyText) {
        let glob = Glob::new(&change.property);
        if !self.incomplete && !merged.properties.iter().any(|stated| glob.matches(&stated.property.id)) {
            let message = format!("there is no property `{}` to change", change.property);
            let mut problem = source.problem(change.span.clone(), "policy.unknown-property", message);
            problem.hint = Some(merged.suggest_property(&change.property));
            self.problems.add(problem);
        }
        let Some(settings) = &change.settings else {
            merged.properties.retain(|stated| !glob.matches(&stated.property.id));
            return;
        };
        for stated in merged.properties.iter_mut().filter(|stated| glob.matches(&stated.property.id)) {
            let fits = |(arena, formula): &(Arena, Formula)| Monitor::with_after(arena, *formula, After::Each).is_ok();
            if settings.after == Some(After::Each) && !stated.formula.as_ref().is_none_or(fits) {
                let message = format!("`after: each` does not fit the formula of `{}`", stated.property.id);
                let problem = source.problem(change.span.clone(), "policy.after", message);
                self.problems.add(problem.with_hint("write `after: latch` or `after: reset`"));
            }
            stated.unknown = settings.unknown.or(stated.unknown);
            let property = &mut stated.property;
            property.severity = settings.severity.unwrap_or(property.severity);
            property.respond = settings.respond.unwrap_or(property.respond);
            property.unknown = stated.unknown.unwrap_or(property.respond);
            property.after = settings.after.unwrap_or(property.after);
            property.history = settings.history.unwrap_or(property.history);
            property.mode = settings.mode.unwrap_or(property.mode);
            property.risk = settings.risk.or(property.risk);
            if let Some(needs) = &settings.needs {
                property.needs.clone_from(needs);
            }
        }
    }

    /// Returns the checked policy, or the problems if one is an error.
    pub(super) fn finish(mut self, merged: MergedDraft) -> Result<LoadedPolicy, Problems> {
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
            labelers: merged.labelers,
            budget: merged.budget.unwrap_or_default(),
            limits: merged.limits.unwrap_or_default(),
            predict: merged.predict,
            steering: merged.steering.unwrap_or_default(),
            facts: merged.facts.into_iter().map(|defined| defined.definition).collect(),
            properties: merged.properties.into_iter().map(|stated| Arc::new(stated.property)).collect(),
            suppressions: merged.suppressions.into_iter().map(|(_, _, suppression)| suppression).collect(),
            sources: self.sources,
        };
        Ok(LoadedPolicy { policy, warnings: self.problems })
    }
}

/// Whether this is the path of a file, not the name of a pack.
fn is_file_path(name: &str) -> bool {
    let has_suffix = [".yaml", ".yml", ".md"].iter().any(|suffix| name.ends_with(suffix));
    name.starts_with(['.', '/']) || has_suffix || name.contains('\\')
}

fn add_prefix(stated: &mut PropertyDraft, name: &str) {
    stated.property.id = format!("{name}/{}", stated.property.id).into();
}

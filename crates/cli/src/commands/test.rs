//! `lictor test`: runs the examples of policy pages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lictor::judge::Judge;
use lictor::pack::{self, Page};
use lictor::policy::{FileResolver, LoadedPolicy, PageBase, Policy, PolicyText, Problems};
use lictor::trial::{self, Mismatch, TrialScope};

use crate::args::TestArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;

/// Runs the pages.
pub(crate) fn run(args: &TestArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut tally = Tally { out, traces: 0, failed: 0 };
    if args.pages.is_empty() {
        for pack in pack::packs() {
            for page in &pack.pages {
                let id = format!("{}/{}", pack.name, page.id);
                tally.run(&id, page, pack.policy(page), TrialScope::Property(&id))?;
            }
        }
    }
    for (path, policy) in find_pages(args)? {
        let page = read(&path)?;
        let source = policy.as_deref().map(policies::load_text).transpose()?;
        let base = source.as_ref().map_or(PageBase::Nothing, PageBase::File);
        let loaded = Policy::for_page(&page, base, &FileResolver);
        // A page with one property, like those of packs: remarks need not repeat its name.
        let is_its_own = |loaded: &LoadedPolicy| loaded.policy.properties.iter().any(|property| property.id == page.id);
        let scope =
            if loaded.as_ref().is_ok_and(is_its_own) { TrialScope::Property(&page.id) } else { TrialScope::All };
        tally.run(&path.display().to_string(), &page, loaded, scope)?;
    }
    tally.finish()
}

/// Returns the pages with the policy that each is about. A policy stands for the tests beside it: `tests.md`, and the
/// pages in a folder `tests`.
fn find_pages(args: &TestArgs) -> anyhow::Result<Vec<(PathBuf, Option<String>)>> {
    let mut pages = Vec::new();
    for path in &args.pages {
        if !path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            pages.push((path.clone(), args.policy.clone()));
            continue;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut beside: Vec<PathBuf> = Vec::new();
        if let Ok(entries) = std::fs::read_dir(folder.join("tests")) {
            beside.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            beside.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
        }
        beside.extend(Some(folder.join("tests.md")).filter(|page| page.is_file()));
        beside.sort();
        if beside.is_empty() {
            anyhow::bail!(
                "{}: no tests beside it; write a page `tests.md`, or pages in a folder `tests`",
                path.display()
            );
        }
        let policy = args.policy.clone().unwrap_or_else(|| path.display().to_string());
        pages.extend(beside.into_iter().map(|page| (page, Some(policy.clone()))));
    }
    Ok(pages)
}

fn read(path: &Path) -> anyhow::Result<Page> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut problems = Problems::default();
    let page = pack::read_page(&PolicyText::new(&path.display().to_string(), &text), &mut problems);
    if problems.has_errors() {
        anyhow::bail!("{problems}");
    }
    if page.traces.is_empty() {
        anyhow::bail!("{}: no examples; put events into a fenced block `jsonl`", path.display());
    }
    Ok(page)
}

struct Tally<'a> {
    out: &'a mut dyn Write,
    traces: usize,
    failed: usize,
}

impl Tally<'_> {
    fn run(
        &mut self,
        name: &str,
        page: &Page,
        loaded: Result<LoadedPolicy, Problems>,
        scope: TrialScope<'_>,
    ) -> anyhow::Result<()> {
        let loaded = loaded.map_err(|problems| anyhow::anyhow!("{problems}"))?;
        let judge = Judge::new(&loaded.policy).map_err(|problems| policies::unusable(&problems))?;
        let wrong = trial::run(&judge, page, scope);
        let mut titles: Vec<&str> = wrong.iter().map(|mismatch| mismatch.trace.as_str()).collect();
        titles.dedup();
        self.traces += page.traces.len();
        self.failed += titles.len();
        let state = if wrong.is_empty() { "ok    " } else { "FAILED" };
        writeln!(self.out, "{state} {name} ({} examples)", page.traces.len())?;
        for Mismatch { place, trace, message } in &wrong {
            writeln!(self.out, "  {}:{} in \"{trace}\": {message}", place.file, place.line)?;
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Outcome> {
        if self.traces == 0 {
            complaint::error("no examples found; nothing was tested");
            return Ok(Outcome::Unjudged);
        }
        writeln!(self.out, "\n{} examples, {} failed", self.traces, self.failed)?;
        Ok(if self.failed == 0 { Outcome::Compliant } else { Outcome::Findings })
    }
}

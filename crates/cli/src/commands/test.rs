//! `lictor test`: runs the examples of policy pages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lictor::judge::Judge;
use lictor::pack::{self, Pack, Page};
use lictor::policy::{FileResolver, LoadedPolicy, PageBase, Policy, PolicyText, Problems};
use lictor::trial::{self, Mismatch, TrialScope};

use crate::args::TestArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;

/// Runs the pages.
pub(crate) fn run(args: &TestArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut tally = Tally { out, traces: 0, failed: 0 };
    for pack in find_packs(args)? {
        for page in &pack.pages {
            let id = format!("{}/{}", pack.name, page.id);
            tally.run(&id, page, pack.policy(page), TrialScope::Property(&id))?;
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

/// Returns the packs whose pages are run: those that `--policy` names, or without any argument all.
fn find_packs(args: &TestArgs) -> anyhow::Result<Vec<&'static Pack>> {
    let policy = match (&args.policy, args.pages.is_empty()) {
        (_, false) => return Ok(Vec::new()),
        (None, true) => return Ok(pack::packs().iter().collect()),
        (Some(policy), true) => policy,
    };
    if names_file(policy) {
        return Ok(Vec::new());
    }
    // A name that is neither a file nor a pack is an error.
    policies::load_text(policy)?;
    let names: Vec<&str> = policy.split(',').map(str::trim).collect();
    Ok(pack::packs().iter().filter(|pack| names.contains(&pack.name.as_str())).collect())
}

/// Returns the pages with the policy that each is about. A policy stands for the tests beside it.
fn find_pages(args: &TestArgs) -> anyhow::Result<Vec<(PathBuf, Option<String>)>> {
    let mut pages = Vec::new();
    for path in &args.pages {
        if !has_policy_ending(path) {
            pages.push((path.clone(), args.policy.clone()));
            continue;
        }
        let policy = args.policy.clone().unwrap_or_else(|| path.display().to_string());
        pages.extend(find_tests_beside(path)?.into_iter().map(|page| (page, Some(policy.clone()))));
    }
    if let Some(policy) = args.policy.as_ref().filter(|policy| args.pages.is_empty() && names_file(policy)) {
        // A missing policy is reported as such, whatever is beside it.
        policies::load_text(policy)?;
        pages.extend(find_tests_beside(Path::new(policy))?.into_iter().map(|page| (page, Some(policy.clone()))));
    }
    Ok(pages)
}

/// Whether a policy is a file rather than packs.
fn names_file(policy: &str) -> bool {
    Path::new(policy).is_file() || has_policy_ending(Path::new(policy))
}

fn has_policy_ending(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Returns the pages with the tests of a policy `NAME.yaml`: `NAME.tests.md`, else `tests.md` and those in a folder `tests`.
fn find_tests_beside(policy: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (own, folder) = (policy.with_extension("tests.md"), policy.parent().unwrap_or(Path::new("")));
    if own.is_file() {
        return Ok(vec![own]);
    }
    let mut beside: Vec<PathBuf> = Vec::new();
    if let Ok(entries) = std::fs::read_dir(folder.join("tests")) {
        beside.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        beside.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    }
    beside.extend(Some(folder.join("tests.md")).filter(|page| page.is_file()));
    beside.sort();
    if beside.is_empty() {
        anyhow::bail!(
            "{}: no tests beside it; write a page `{}` or `tests.md`, or pages in a folder `tests`",
            policy.display(),
            own.file_name().unwrap_or_default().display()
        );
    }
    if let Some(other) = find_other_policy(policy, folder) {
        complaint::note(&format!(
            "{} stands for every policy of its folder, such as {}; tests of {} alone are in {}",
            beside.iter().map(|page| page.display().to_string()).collect::<Vec<_>>().join(", "),
            other.display(),
            policy.display(),
            own.display()
        ));
    }
    Ok(beside)
}

/// Returns another policy in the folder of a policy.
fn find_other_policy(policy: &Path, folder: &Path) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let is_policy = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.starts_with("lictor:"))
    };
    files.retain(|path| has_policy_ending(path));
    files.into_iter().filter(|path| path.file_name() != policy.file_name()).find(is_policy)
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

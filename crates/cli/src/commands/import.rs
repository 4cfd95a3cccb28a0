//! `lictor import`: converts a policy and logs of another engine.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use lictor::policy::PolicyText;
use lictor_translate::import::dogwood::{ImportedPolicy, PolicyFiles};

use crate::args::{ImportArgs, ImportLanguage};
use crate::exit::Outcome;

/// Writes the policy and the events, or reports what cannot be imported.
pub(crate) fn run(args: &ImportArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let ImportLanguage::Dogwood = args.language;
    let optional = |path: &Option<_>| path.as_deref().map(source).transpose();
    let mut given = PolicyFiles::new(args.policies.iter().map(|path| source(path)).collect::<Result<_, _>>()?);
    given.macros = optional(&args.macros)?;
    given.events = optional(&args.event_schema)?;
    given.actions = optional(&args.action_schema)?;
    let name = args.policies.first().map(|path| stem(path)).unwrap_or_default();
    let refused = |problem| anyhow::anyhow!("{problem}");
    let imported = ImportedPolicy::new(&name, &given).map_err(refused)?;
    let mut files = vec![("policy.yaml".to_owned(), imported.policy.clone())];
    for path in &args.trace {
        let name = stem(path);
        let events = imported.log(&name, &source(path)?).map_err(refused)?;
        let lines: String = events.iter().map(|event| format!("{}\n", event.line)).collect();
        files.push((format!("{name}.jsonl"), lines));
    }
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Outcome::Compliant)
}

fn source(path: &Path) -> anyhow::Result<PolicyText> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(PolicyText::new(&path.display().to_string(), &text))
}

/// Returns the name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

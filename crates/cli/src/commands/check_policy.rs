//! `lictor check POLICY`: mistakes, and what a policy probably does not mean.

use std::io::Write;

use lictor::audit::{AuditOptions, UnexercisedProperty, find_unexercised};
use lictor::input;
use lictor::judge::Judge;
use lictor::policy::lint;

use crate::commands::audit::today;
use crate::commands::serve;
use crate::exit::Outcome;
use crate::policies;

/// Whether an argument of `lictor check` names a policy rather than being a formula.
pub(crate) fn is_policy(argument: &str) -> bool {
    let path = std::path::Path::new(argument);
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") || path.is_file()
}

/// Checks a policy, and with logs also which properties they do not put to the test.
pub(crate) fn run(policy: &str, logs: &[String], out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mistakes = serve::mistakes(policy)?;
    let policy = policies::load(Some(policy), &[])?;
    let problems = lint(&policy, today());
    for problem in problems.iter() {
        writeln!(out, "{problem}\n")?;
    }
    for mistake in &mistakes {
        writeln!(out, "error: {mistake}\n")?;
    }
    let judge = Judge::new(&policy).map_err(|problems| anyhow::anyhow!("{}", policies::render(&problems)))?;
    if !logs.is_empty() {
        let options = AuditOptions::default();
        let inputs = input::find(logs, &options.limits)?;
        for UnexercisedProperty { property, missing, entirely } in find_unexercised(&judge, &inputs, &options)? {
            let names: Vec<&str> = missing.iter().map(|name| &**name).collect();
            let says = if entirely { "is not put to the test by these logs" } else { "is only partly put to the test" };
            writeln!(out, "note: {} {says}: at no event holds {}\n", property.id, names.join(", "))?;
        }
    }
    let (errors, warnings) = problems.iter().fold((0, 0), |(errors, warnings), problem| match problem.level {
        lictor::policy::ProblemLevel::Error => (errors + 1, warnings),
        lictor::policy::ProblemLevel::Warning => (errors, warnings + 1),
    });
    let (count, errors) = (policy.properties.len(), errors + mistakes.len());
    writeln!(out, "{}: {count} properties, {errors} errors, {warnings} warnings", policy.name)?;
    Ok(if errors > 0 { Outcome::Findings } else { Outcome::Compliant })
}

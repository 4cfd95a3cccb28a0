//! `lictor check POLICY`: reports errors and likely mistakes of a policy.

use std::io::Write;

use lictor::audit::{AuditOptions, Inventory, MissingFact, UnexercisedProperty, audit, take_inventory};
use lictor::judge::{Foresight, Judge};
use lictor::policy::glob::Glob;
use lictor::policy::{LoadedPolicy, Policy, Problem, ProblemLevel, Problems, RecordPurpose, Tool, lint};
use lictor::report::escape_hidden;
use lictor_label::open::{OpenOptions, open_labelers};

use crate::args::CheckArgs;
use crate::commands::audit::today;
use crate::commands::serve;
use crate::exit::Outcome;
use crate::ledger_log;
use crate::log_faults::{LogResult, complain, complain_without_events, has_too_many_faults, warn_if_too_many};
use crate::policies::{self, UnusablePolicy};

/// Whether an argument of `lictor check` names a policy rather than being a formula.
pub(crate) fn is_policy(argument: &str) -> bool {
    let path = std::path::Path::new(argument);
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        || path.is_file()
        || policies::names_packs(argument)
}

/// Checks a policy, and with logs also which properties they do not exercise.
pub(crate) fn run(name: &str, logs: &[String], args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let LoadedPolicy { policy, warnings: loading, .. } = match policies::load_with_warnings(name) {
        Ok(loaded) => loaded,
        // Mistakes are what this command looks for, so they are its result and no failure.
        Err(error) => match error.downcast::<UnusablePolicy>() {
            Ok(problems) => {
                writeln!(out, "{problems}")?;
                return Ok(Outcome::Findings);
            }
            Err(error) => return Err(error),
        },
    };
    let mistakes = serve::mistakes(name)?;
    let lints = lint(&policy, today());
    let problems = merge_problems(&loading, &lints);
    for problem in &problems {
        writeln!(out, "{problem}\n")?;
    }
    for mistake in &mistakes {
        writeln!(out, "error: {mistake}\n")?;
    }
    // Models and calibrations are read, and nobody is asked.
    let mut unusable = open_labelers(&policy, &OpenOptions::default()).err().unwrap_or_default();
    for problem in &unusable {
        writeln!(out, "{problem}\n")?;
    }
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    match Foresight::open(&judge, &policy) {
        Ok(foresight) => {
            for reason in foresight.iter().flat_map(Foresight::notes) {
                writeln!(out, "note: {reason}\n")?;
            }
        }
        Err(problem) => {
            writeln!(out, "{problem}\n")?;
            unusable.push(*problem);
        }
    }
    let mut is_unread = false;
    if !logs.is_empty() {
        let options = AuditOptions::default();
        let inputs = ledger_log::find_inputs(logs, options.input_limits())?;
        let report = audit(&mut judge, &inputs, &options, &()).inspect_err(complain_without_events)?;
        complain(&report.faults);
        warn_if_too_many(&report.files, &report.faults, args.max_faults, LogResult::Judgement);
        is_unread = has_too_many_faults(&report.files, &report.faults, args.max_faults);
        for gap in &report.coverage.gaps {
            writeln!(out, "{}\n", escape_hidden(&describe_gap(gap)))?;
        }
        for (named, tool) in &report.coverage.renamed_tools {
            let tool = escape_hidden(tool);
            writeln!(out, "note: the tool `{named}` never occurs in these logs; they have `{tool}`\n")?;
        }
        for (named, tool) in &report.coverage.alike_tools {
            let tool = escape_hidden(tool);
            writeln!(out, "note: these logs also have `{tool}`, which the policy does not name; it names `{named}`\n")?;
        }
        let inventory = take_inventory(&inputs, &options, &mut []).inspect_err(complain_without_events)?;
        for note in find_unread_paths(&policy, &inventory) {
            writeln!(out, "note: {}\n", escape_hidden(&note))?;
        }
    }
    let (errors, warnings) = problems.iter().fold((0, 0), |(errors, warnings), problem| match problem.level {
        ProblemLevel::Error => (errors + 1, warnings),
        ProblemLevel::Warning => (errors, warnings + 1),
    });
    let (count, errors) = (policy.properties.len(), errors + mistakes.len() + unusable.len());
    writeln!(out, "{}: {count} properties, {errors} errors, {warnings} warnings", policy.name)?;
    let is_found = errors > 0 || args.strict && warnings > 0;
    let outcome = if is_found { Outcome::Findings } else { Outcome::Compliant };
    Ok(if is_unread { Outcome::Unjudged } else { outcome })
}

/// Returns the problems of loading and of the linter. A place that both name is reported once, by the loader, which
/// knows what was meant.
fn merge_problems<'a>(loading: &'a Problems, lints: &'a Problems) -> Vec<&'a Problem> {
    let is_same = |one: &Problem, other: &Problem| {
        one.line > 0 && (&one.file, one.line, one.column) == (&other.file, other.line, other.column)
    };
    let is_new = |lint: &&Problem| !loading.iter().any(|known| is_same(known, lint));
    loading.iter().chain(lints.iter().filter(is_new)).collect()
}

/// Describes the arguments that `erases`, `consents` and `withdraws` read, and that no call of the tool has.
fn find_unread_paths(policy: &Policy, inventory: &Inventory) -> Vec<String> {
    let mut notes = Vec::new();
    for tool in policy.tools.iter().filter(|tool| !tool.records.is_empty()) {
        let glob = Glob::new(&tool.name);
        let uses: Vec<_> = inventory.tools.iter().filter(|(name, _)| glob.matches(name)).collect();
        let known: Vec<&str> =
            uses.iter().flat_map(|(_, uses)| uses.arguments.keys()).map(|name| name.as_str()).collect();
        if known.is_empty() {
            continue;
        }
        for read in read_arguments(tool).into_iter().filter(|name| !known.contains(&name.as_str())) {
            let hint = match lictor_logic::nearest(&read, known.iter().copied()) {
                Some(meant) => format!("did you mean `args.{meant}`?"),
                None => format!("they have `{}`", known.join("`, `")),
            };
            notes.push(format!(
                "no call of `{}` in these logs has `args.{read}`, which the policy reads; {hint}",
                tool.name
            ));
        }
    }
    notes
}

/// Returns the names of the arguments that the records of a tool read.
fn read_arguments(tool: &Tool) -> Vec<String> {
    let computed = |purpose: &RecordPurpose| match purpose {
        RecordPurpose::Computed(text) => Some(text.to_string()),
        _ => None,
    };
    let texts = tool.records.iter().flat_map(|record| {
        std::iter::once(record.subject.to_string()).chain(record.purposes.iter().filter_map(computed))
    });
    let mut names = Vec::new();
    for text in texts {
        for (place, _) in text.match_indices("args.") {
            let is_root = !text[..place].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
            let rest = &text[place + "args.".len()..];
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = rest[..length].to_owned();
            // What is called is no argument: `args.anywhere("email")`.
            if is_root && !rest[length..].starts_with('(') && !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Describes the facts of a property that the logs lack, with the nearest tool of the logs.
fn describe_gap(gap: &UnexercisedProperty) -> String {
    let describe = |missing: &MissingFact| match &missing.nearest {
        Some(tool) => format!("`{}` (the logs have `{tool}`)", missing.fact),
        None => format!("`{}`", missing.fact),
    };
    let names: Vec<String> = gap.missing.iter().map(describe).collect();
    let extent = if gap.entirely { "not exercised by these logs" } else { "only partly exercised by these logs" };
    let verb = if names.len() == 1 { "never occurs" } else { "never occur" };
    format!("note: {} is {extent}: {} {verb}", gap.property.id, names.join(", "))
}

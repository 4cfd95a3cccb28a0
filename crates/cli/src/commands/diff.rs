//! `lictor diff`: compares the findings of two policies on the same logs.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use lictor::audit::{AnswerBook, AuditOptions, audit};
use lictor::comparison::AuditComparison;
use lictor::finding::Finding;
use lictor::input::Input;
use lictor::judge::Judge;
use lictor::report::{Report, escape_hidden};

use crate::args::{DiffArgs, Document};
use crate::commands::audit::{find_joined, format, note_unused_key, today};
use crate::exit::Outcome;
use crate::ledger_log::{self, FoundLogs};
use crate::log_faults::{LogResult, complain, complain_without_events, has_too_many_faults, warn_if_too_many};
use crate::render::paint::Paint;
use crate::{complaint, labelers, policies};

/// Audits the logs by both policies and reports the difference.
pub(crate) fn run(args: &DiffArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let format = args.reading.input_format.as_deref().map(format).transpose()?;
    let options = AuditOptions::default()
        .format(format)
        .today(Some(today()))
        .join(find_joined(&args.join)?)
        .session_key(args.reading.session_key.as_deref().map(Into::into));
    // Standard input can be read only once, so both audits share the inputs.
    let FoundLogs { inputs, guarded } = ledger_log::find_logs(&args.traces, options.input_limits())?;
    let options = options.guarded(guarded);
    let answers = args.answers.as_deref();
    let (old, new) = (judged(&args.old, &inputs, &options, answers)?, judged(&args.new, &inputs, &options, answers)?);
    // Both audits read the same logs, so that their faults are the same.
    complain(&new.faults);
    warn_if_too_many(&new.files, &new.faults, args.reading.max_faults, LogResult::Judgement);
    note_unused_key(args.reading.session_key.as_deref(), &new.files);
    let comparison = AuditComparison::new(&old, &new);
    match args.format {
        Document::Text => text(&comparison, &old, &new, args, out)?,
        Document::Json => json(&comparison, args, out)?,
    }
    let outcome = if comparison.is_equal() { Outcome::Compliant } else { Outcome::Findings };
    Ok(if has_too_many_faults(&new.files, &new.faults, args.reading.max_faults) { Outcome::Unjudged } else { outcome })
}

/// Audits the logs by a policy. No labeler is asked, so that a comparison costs nothing: the answers in the logs and in
/// the file count.
fn judged(policy: &str, inputs: &[Input], options: &AuditOptions, answers: Option<&Path>) -> anyhow::Result<Report> {
    let policy = policies::load(Some(policy), &[])?;
    let mut judge = Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?;
    let opened = labelers::open_without_asking(answers, &policy)?;
    if opened.labelers.has_asked() && answers.is_none() {
        complaint::note(&format!(
            "diff asks no labeler of {}: what only they know is unknown; --answers FILE takes the answers of an audit",
            policy.name
        ));
    }
    let book = (!opened.labelers.is_empty()).then(|| Arc::new(AnswerBook::new(opened.labelers.clone())));
    let options = options.clone().answers(book);
    Ok(audit(&mut judge, inputs, &options, &()).inspect_err(complain_without_events)?)
}

fn text(
    comparison: &AuditComparison<'_>,
    old: &Report,
    new: &Report,
    args: &DiffArgs,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let paint = Paint::for_stdout();
    for (sign, findings) in [("+", &comparison.appear), ("-", &comparison.vanish)] {
        for finding in findings {
            writeln!(out, "{} {}", paint.bold(sign), line(finding))?;
        }
    }
    if !comparison.is_equal() {
        writeln!(out)?;
    }
    writeln!(
        out,
        "{} appear, {} vanish, {} stay   ({}: {} findings, {}: {} findings)",
        comparison.appear.len(),
        comparison.vanish.len(),
        comparison.stay.len(),
        args.old,
        old.findings.len(),
        args.new,
        new.findings.len(),
    )?;
    Ok(())
}

fn line(finding: &Finding) -> String {
    let binding: Vec<String> = finding.binding.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let binding = if binding.is_empty() { String::new() } else { format!(" for {}", binding.join(", ")) };
    let Finding { property, session, source, step, .. } = finding;
    let line = format!("{}{binding}  {}:{} (session {session}, step {step})", property.id, source.file, source.line);
    // Names and values come from the log, so they must stay on this line and away from the terminal.
    escape_hidden(&line).into_owned()
}

fn json(comparison: &AuditComparison<'_>, args: &DiffArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let list = |findings: &[&Finding]| -> Vec<serde_json::Value> {
        let entry = |finding: &&Finding| {
            serde_json::json!({
                "property": finding.property.id.as_str(),
                "session": finding.session.as_str(),
                "step": finding.step,
                "file": &*finding.source.file,
                "line": finding.source.line,
                "fingerprint": finding.fingerprint,
            })
        };
        findings.iter().map(entry).collect()
    };
    let document = serde_json::json!({
        "lictor": 1,
        "kind": "diff",
        "old": args.old,
        "new": args.new,
        "appear": list(&comparison.appear),
        "vanish": list(&comparison.vanish),
        "stay": list(&comparison.stay),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

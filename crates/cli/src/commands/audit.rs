//! `lictor audit`: judges logs by a policy and reports the findings.

mod history;
mod interrupt;
mod output;
mod progress;
mod split_sessions;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use lictor::audit::{AnswerBook, AuditError, AuditOptions, audit};
use lictor::decode::Format;
use lictor::input::{Input, InputLimits, find_wrapper};
use lictor::json::Text;
use lictor::judge::Judge;
use lictor::order::{GapCause, ReorderWindow};
use lictor::policy::{Mode, Severity};
use lictor::report::text::TerminalStyle;
use lictor::report::{self, FileReport, Report, ReportOrigin, SessionReport};
use lictor::skew::SkewedPolicy;

use crate::args::{AuditArgs, ReportFormat};
use crate::complaint;
use crate::exit::Outcome;
use crate::labelers;
use crate::ledger_log::{self, FoundLogs};
use crate::log_faults::{LogResult, complain_without_events, has_too_many_faults, warn_if_too_many};
use crate::policies;
use crate::render::paint::Paint;

use interrupt::Interrupt;
use split_sessions::describe_split_sessions;

/// Judges the logs. The report names the command by its `arguments`, the first of which is the program.
pub(crate) fn run(args: &AuditArgs, arguments: &[OsString], out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &args.only)?;
    if policy.properties.is_empty() {
        bail!(
            "the policy {} has no properties, so nothing would be judged; state `properties:`, or packs under `uses:`",
            policy.name
        );
    }
    let skewed = skew(args)?.map(|skew| SkewedPolicy::new(&policy, skew));
    let judged = skewed.as_ref().map_or(&policy, |skewed| &skewed.policy);
    let mut limits = lictor_logic::CacheLimits::DEFAULT;
    limits.rows = args.max_rows;
    let mut judge = Judge::with_limits(judged, limits).map_err(|problems| policies::unusable(&problems))?;
    let opened = labelers::open_for_logs(&args.answers, &policy)?;
    let book = (!opened.labelers.is_empty()).then(|| Arc::new(AnswerBook::new(opened.labelers.clone())));
    let options = options(args)?.answers(book.clone());
    let FoundLogs { inputs, guarded } = ledger_log::find_logs(&args.traces, options.input_limits())?;
    let options = options.guarded(guarded);
    if let Some(path) = &args.output {
        output::refuse_input(path, args, inputs.iter().chain(options.joined_inputs()))?;
    }
    if let Some(path) = &args.history {
        history::restore(&mut judge, path)?;
    }
    let interrupt = Interrupt::listen()?;
    let bar = progress::AuditProgress::new(&inputs, args.quiet, interrupt.clone());
    let result = audit(&mut judge, &inputs, &options, &bar);
    bar.finish();
    if interrupt.is_pressed() && matches!(result, Err(AuditError::NoEvents { .. })) {
        complaint::warn("the audit was stopped before anything was judged");
        return Ok(Outcome::Interrupted);
    }
    if let Some(book) = book.filter(|_| !args.quiet) {
        labelers::note_asked(&args.answers, &opened, &book);
    }
    let mut report = result.inspect_err(complain_without_events)?;
    report.origin.fingerprint = Some(policy.fingerprint().into());
    // On a terminal, a text stands right below its command.
    let is_below_command = args.output.is_none() && args.report_format() == ReportFormat::Text;
    report.origin.command = (!is_below_command).then(|| name_command(arguments));
    if let Some(skewed) = &skewed {
        skewed.merge_verdicts(&mut report);
        for id in &skewed.uncovered {
            complaint::warn(&format!("{id}: --skew does not cover what is counted within a bound in time"));
        }
    }
    if !args.quiet {
        print_formats(&report, &inputs, args.input_format.is_none());
        note_unused_key(args.session_key.as_deref(), &report.files);
        if let Some(note) = describe_split_sessions(&report.files, &report.sessions) {
            complaint::note(&note);
        }
    }
    match &args.output {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            let mut file = BufWriter::new(file);
            write(&report, args, &mut file, false)?;
            file.flush().with_context(|| format!("cannot write {}", path.display()))?;
            if !args.quiet {
                let style = TerminalStyle::default().colour(Paint::for_stdout().is_on());
                report::text::write_summary(&report, style, out)?;
            }
        }
        None => write(&report, args, out, Paint::for_stdout().is_on())?,
    }
    if !args.strict {
        warn_if_too_many(&report.files, &report.faults, args.max_faults, LogResult::Judgement);
    }
    if let Some(path) = args.history.as_ref().filter(|_| report.interruption.is_none()) {
        if report.gaps().any(|(_, gap)| gap.cause == GapCause::Missing) {
            complaint::warn(&format!(
                "{}: later audits that go on from it do not know that events are missing",
                path.display()
            ));
        }
        history::save(&judge, path)?;
    }
    if report.interruption.is_some() {
        complaint::warn("the audit was stopped: the report covers only what was judged so far");
        return Ok(Outcome::Interrupted);
    }
    let outcome = outcome(&report, args);
    if outcome == Outcome::Inconclusive {
        complaint::warn(&format!("--strict: the exit code is 3, since {}", describe_doubt(&report)));
    }
    Ok(outcome)
}

/// Describes why a report without findings is inconclusive.
fn describe_doubt(report: &Report) -> String {
    let of_sessions = |count: usize| match count {
        1 => "in 1 session".to_owned(),
        count => format!("in {count} sessions"),
    };
    let open = report.sessions.iter().filter(|session| is_open(session)).count();
    let torn = report.sessions.iter().filter(|session| is_torn(session)).count();
    let mut reasons = Vec::new();
    if open > 0 {
        reasons.push(format!("a property is inconclusive {}", of_sessions(open)));
    }
    if torn > 0 {
        reasons.push(format!("events are missing or out of place {}", of_sessions(torn)));
    }
    if report.is_unexercised() {
        reasons.push("nothing was put to the test".to_owned());
    }
    if !report.coverage.untimed.is_empty() {
        reasons.push("properties have time bounds, but events have no time".to_owned());
    }
    reasons.join(", and ")
}

fn is_open(session: &SessionReport) -> bool {
    session.verdict() == lictor_logic::Verdict::Inconclusive
}

fn is_torn(session: &SessionReport) -> bool {
    session.gaps.iter().any(|gap| gap.cause.is_serious())
}

/// Returns the command as it can be typed. The program may be anywhere, so its path is left out.
fn name_command(arguments: &[OsString]) -> Text {
    let arguments: Vec<Cow<'_, str>> = arguments.iter().skip(1).map(|argument| argument.to_string_lossy()).collect();
    ReportOrigin::quote_command(std::iter::once("lictor").chain(arguments.iter().map(|argument| &**argument)))
}

/// Returns the audit options of the arguments.
fn options(args: &AuditArgs) -> anyhow::Result<AuditOptions> {
    let now = jiff::Timestamp::now();
    let as_of = match args.as_of.as_deref() {
        None => None,
        Some("now") => Some(lictor_logic::Time(i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX))),
        Some(text) => match lictor::event::parse_time(text) {
            Some(time) => Some(time),
            None => bail!("--as-of {text}: not a time; write it like 2026-05-01T10:00:00Z, or `now`"),
        },
    };
    let baseline = match &args.baseline {
        Some(path) => fingerprints(path)?,
        None => Default::default(),
    };
    Ok(AuditOptions::default()
        .format(args.input_format.as_deref().map(format).transpose()?)
        .threads(args.jobs)
        .content(args.show_content)
        .noise(args.noise)
        .as_of(as_of)
        .today(Some(today()))
        .reorder(window(args)?)
        .baseline(baseline)
        .join(find_joined(&args.join)?)
        .session_key(args.session_key.as_deref().map(Into::into)))
}

/// Returns the files with events of other systems.
pub(crate) fn find_joined(paths: &[String]) -> anyhow::Result<Vec<Input>> {
    match paths.is_empty() {
        true => Ok(Vec::new()),
        false => ledger_log::find_inputs(paths, AuditOptions::default().input_limits()),
    }
}

/// Returns the allowed clock skew.
fn skew(args: &AuditArgs) -> anyhow::Result<Option<lictor_logic::Span>> {
    let Some(seconds) = args.skew else { return Ok(None) };
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(skew) => Ok(Some(lictor_logic::Span(u64::try_from(skew.as_nanos()).unwrap_or(u64::MAX)))),
        Err(_) => bail!("--skew {seconds}: not a number of seconds that is zero or more"),
    }
}

/// Returns the reorder window.
fn window(args: &AuditArgs) -> anyhow::Result<Option<ReorderWindow>> {
    if args.reorder == "off" {
        return Ok(None);
    }
    let events = args.reorder.parse();
    let events = events.with_context(|| format!("--reorder {}: not a number of events, nor `off`", args.reorder))?;
    let time = args.reorder_time.map(|seconds| lictor_logic::Span::from_seconds(u64::from(seconds)));
    Ok(Some(ReorderWindow::default().events(events).time(time)))
}

/// Returns the input format of a name.
pub(crate) fn format(name: &str) -> anyhow::Result<Format> {
    Format::named(name).with_context(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("--input-format {name}: no such format; known are {}", known.join(", "))
    })
}

/// Reads the fingerprints of an earlier report, in JSON or JSONL.
fn fingerprints(path: &Path) -> anyhow::Result<std::collections::HashSet<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut found = std::collections::HashSet::new();
    let mut is_report = false;
    let documents: Vec<serde_json::Value> = match serde_json::from_str(&text) {
        Ok(document) => vec![document],
        Err(_) => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{}: not a report of `lictor audit --format json`", path.display()))?,
    };
    for document in &documents {
        is_report |= document.get("lictor").is_some() || document.get("type").is_some();
        let findings = document.get("findings").and_then(serde_json::Value::as_array).into_iter().flatten();
        for finding in findings.chain([document]) {
            if let Some(fingerprint) = finding.get("fingerprint").and_then(serde_json::Value::as_str) {
                found.insert(fingerprint.to_owned());
            }
        }
    }
    if !is_report {
        bail!("{}: not a report; make one with `lictor audit --format json -o {}`", path.display(), path.display());
    }
    Ok(found)
}

/// Prints the detected formats, because detection can be wrong, and the members in which records were found.
fn print_formats(report: &Report, inputs: &[Input], was_detected: bool) {
    if !was_detected {
        return;
    }
    const MAX_SHOWN_FILES: usize = 5;
    for file in report.files.iter().take(MAX_SHOWN_FILES) {
        let input = inputs.iter().find(|input| input.name() == &file.name);
        let mut how = String::new();
        if let Some(key) = input.and_then(|input| find_wrapper(input, &InputLimits::default())) {
            let _ = write!(how, ", opened from within `{key}`");
        }
        if let Some(log) = input.and_then(Input::log).filter(|log| *log != &file.name) {
            let _ = write!(how, ", a part of the log {}", report::escape_hidden(log));
        }
        let name = report::escape_hidden(&file.name);
        complaint::note(&format!("{name}: {} ({} events{how})", file.format, file.events));
    }
    if report.files.len() > MAX_SHOWN_FILES {
        complaint::note(&format!("and {} more files", report.files.len() - MAX_SHOWN_FILES));
    }
}

/// Prints which formats do not use the session key, because they define sessions themselves.
pub(crate) fn note_unused_key(session_key: Option<&str>, files: &[FileReport]) {
    let Some(key) = session_key else { return };
    let formats: BTreeSet<Format> = files.iter().map(|file| file.format).collect();
    for format in formats.into_iter().filter(|format| !format.takes_session_key()) {
        complaint::note(&format!(
            "--session-key {key}: not used for {format} logs, which name their sessions themselves"
        ));
    }
}

/// Writes a report in a format.
fn write(report: &Report, args: &AuditArgs, out: &mut dyn Write, colour: bool) -> anyhow::Result<()> {
    match args.report_format() {
        ReportFormat::Text => {
            let style = TerminalStyle::default().colour(colour);
            let style = if args.all_findings { style.max_sessions(None) } else { style };
            report::text::write(report, style, out)?;
        }
        ReportFormat::Json => report::json::write(report, out)?,
        ReportFormat::Jsonl => report::jsonl::write(report, out)?,
        ReportFormat::Sarif => report::sarif::write(report, out)?,
        ReportFormat::Junit => report::junit::write(report, out)?,
        ReportFormat::Markdown => report::markdown::write(report, Default::default(), out)?,
        ReportFormat::Html => report::html::write(report, out)?,
    }
    Ok(())
}

/// Returns the outcome. Too many unreadable records make it unjudged, and so does one call or a whole file that cannot be
/// read.
fn outcome(report: &Report, args: &AuditArgs) -> Outcome {
    let threshold = args.fail_on.severity();
    let counts = |severity: Severity| threshold.is_some_and(|threshold| severity >= threshold);
    let is_found = report.findings.iter().any(|finding| {
        let property = &finding.property;
        finding.suppressed.is_none() && property.mode == Mode::Enforce && counts(property.severity)
    });
    let mut outcome = if is_found { Outcome::Findings } else { Outcome::Compliant };
    if has_too_many_faults(&report.files, &report.faults, if args.strict { 0.0 } else { args.max_faults }) {
        outcome = outcome.max(Outcome::Unjudged);
    }
    let is_doubtful = report.sessions.iter().any(|session| is_open(session) || is_torn(session));
    if args.strict && (is_doubtful || report.is_unexercised() || !report.coverage.untimed.is_empty()) {
        outcome = outcome.max(Outcome::Inconclusive);
    }
    outcome
}

/// Returns the present day, for the expiry of suppressions.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Whether standard error is a terminal.
fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

//! `lictor eval`: judges traces by formulas.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use lictor_logic::{After, Verdict};

use crate::args::{End, EvalArgs, Format, WitnessArg};
use crate::complaint::{self, is_near};
use crate::exit::Outcome;
use crate::formulas::{self, ListedFormula};
use crate::judge::{EvalOptions, TraceReport, TraceResult, judge_trace};
use crate::render::json::JsonReport;
use crate::render::jsonl::JsonlReport;
use crate::render::text::TextReport;
use crate::trace::{Clock, SHAPES, Trace};

/// Judges every trace by every formula.
pub(crate) fn run(args: &EvalArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (formulas, traces) = inputs(args)?;
    let options = options(args);
    let mut report = report(args, &formulas, traces.len(), out);
    let mut worst = None;
    let mut outcome = Outcome::Compliant;
    for path in traces {
        let mut trace = match Trace::open(path) {
            Ok(trace) => trace,
            Err(error) => {
                complaint::error(&format!("{error:#}"));
                report.unreadable(path)?;
                outcome = Outcome::Unjudged;
                continue;
            }
        };
        let judged = judge_trace(&mut trace, &formulas, options, &mut *report)?;
        report.end(&judged)?;
        if options.warn {
            warn_about(&judged, &formulas, trace.name());
        }
        if judged.positions > 0 {
            worst = worst.max(Some(judged.worst()));
            outcome = outcome.max(Outcome::from_verdict(judged.worst(), args.strict));
        }
        outcome = outcome.max(check_readable(&judged, trace.name()));
    }
    report.finish(worst)?;
    Ok(outcome)
}

/// Returns the formulas and the paths of the traces.
fn inputs(args: &EvalArgs) -> anyhow::Result<(Vec<ListedFormula>, &[String])> {
    let (formula, traces) = match (&args.formulas, args.inputs.split_first()) {
        (None, Some((formula, traces))) => (Some(formula), traces),
        _ => (None, &args.inputs[..]),
    };
    if traces.is_empty() {
        bail!(
            "no trace given\n  hint: name a file with one step per line after the formula, or `-` for standard input"
        );
    }
    if traces.iter().filter(|path| *path == "-").count() > 1 {
        bail!("standard input can be read only once\n  hint: give `-` once");
    }
    let is_there = |path: &String| path == "-" || Path::new(path).exists();
    if let Some(formula) = formula.filter(|it| Path::new(it).is_file() && !traces.iter().any(is_there)) {
        bail!("`{formula}` is a file, not a formula\n  hint: the formula comes first, then the trace");
    }
    let after = After::from(args.after);
    let formulas = match (&args.formulas, formula) {
        (Some(path), _) => formulas::from_file(path, after)?,
        (None, formula) => formulas::from_arguments(formula.map_or(&[], std::slice::from_ref), after)?,
    };
    Ok((formulas, traces))
}

fn options(args: &EvalArgs) -> EvalOptions {
    let witness = match (args.witness, args.format) {
        _ if args.quiet => None,
        (Some(WitnessArg::None), _) | (None, Format::Jsonl) => None,
        (Some(WitnessArg::All), _) => Some(Verdict::Satisfied),
        (Some(WitnessArg::Violated), _) | (None, _) => Some(Verdict::Violated),
    };
    EvalOptions { after: args.after.into(), ends: args.end == End::Finite, steps: !args.quiet, witness, warn: true }
}

fn report<'a>(
    args: &EvalArgs,
    formulas: &'a [ListedFormula],
    traces: usize,
    out: &'a mut dyn Write,
) -> Box<dyn TraceReport + 'a> {
    let spelling = args.spelling.get();
    let resets = After::from(args.after) == After::Reset;
    match args.format {
        Format::Text => {
            let text = TextReport::new(out, formulas, spelling);
            Box::new(text.many_traces(traces > 1).quiet(args.quiet).resets(resets))
        }
        Format::Json => Box::new(JsonReport::new(out, formulas, spelling, resets)),
        Format::Jsonl => {
            let jsonl = JsonlReport::new(out, spelling).resets(resets);
            Box::new(jsonl.many_formulas(args.formulas.is_some()).many_traces(traces > 1))
        }
    }
}

/// Warns about probable mistakes in a trace and its formulas.
fn warn_about(judged: &TraceResult, formulas: &[ListedFormula], name: &str) {
    let is_timed = formulas.iter().any(|listed| listed.monitor.is_timed());
    if is_timed && judged.clock == Clock::Unset && judged.positions > 0 {
        let hint = "give the steps a time: {\"time\":12.5,\"facts\":[…]}";
        complaint::warn(&format!("a formula has bounds in time, but no step of {name} has a time\n  hint: {hint}"));
    }
    for (listed, asked, there) in misspelt(judged, formulas) {
        let place = if formulas.len() > 1 { format!("formula {}", listed.number) } else { "the formula".to_owned() };
        let message = format!("{place} asks for `{asked}`, which no step of {name} has");
        complaint::warn(&format!("{message}\n  hint: did you mean `{there}`?"));
    }
}

/// Returns facts of a formula that never occur although the trace has an unused fact of nearly the same name.
fn misspelt<'a>(judged: &'a TraceResult, formulas: &'a [ListedFormula]) -> Vec<(&'a ListedFormula, Arc<str>, &'a str)> {
    let asked: BTreeSet<Arc<str>> = formulas.iter().flat_map(ListedFormula::names).collect();
    let spare: Vec<&str> = judged.names.iter().filter(|it| !asked.contains(*it)).map(|it| &**it).collect();
    let mut found = Vec::new();
    for listed in formulas {
        for name in listed.names().into_iter().filter(|name| !judged.names.contains(name)) {
            if let Some(near) = spare.iter().find(|spare| is_near(&name, spare)) {
                found.push((listed, name, *near));
            }
        }
    }
    found
}

/// Returns whether all of a trace could be read and whether it had any step.
fn check_readable(judged: &TraceResult, name: &str) -> Outcome {
    let TraceResult { positions, ticks, bad_lines, .. } = *judged;
    if bad_lines > 0 {
        let lines = if bad_lines == 1 { "1 line".to_owned() } else { format!("{bad_lines} lines") };
        let rest = if positions > 0 { "; only the rest was judged" } else { ", and nothing was left to judge" };
        complaint::error(&format!("{lines} of {name} could not be read{rest}"));
        return Outcome::Unjudged;
    }
    if positions == 0 {
        let found = if ticks > 0 { "only ticks" } else { "no step" };
        complaint::error(&format!("{found} in {name}, so nothing was judged\n  hint: {SHAPES}"));
        return Outcome::Unjudged;
    }
    Outcome::Compliant
}

//! Judges one trace by many formulas and reports every line.
//!
//! The trace is read line by line. Only the entries that a witness may need are kept, up to a limit.

mod follower;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{After, Moment, Sentence, Time, Verdict, VerdictCounts, Witness};

use crate::complaint;
use crate::formulas::ListedFormula;
use crate::judge::follower::Follower;
use crate::trace::{Clock, Trace, TraceLine};

/// How many bad lines are shown in detail; later ones show only the place and the error.
const MAX_DETAILED_LINES: u64 = 20;

/// Options for judging a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvalOptions {
    pub(crate) after: After,
    /// Whether the end of the input is the end of the trace.
    pub(crate) ends: bool,
    /// Whether the report gets every step.
    pub(crate) steps: bool,
    /// The mildest verdict that gets a witness.
    pub(crate) witness: Option<Verdict>,
    /// Whether to warn about suspicious input.
    pub(crate) warn: bool,
}

/// The status of one formula after a line.
#[derive(Clone, Debug)]
pub(crate) struct FormulaStatus {
    pub(crate) verdict: Verdict,
    /// The verdict if the trace ended here, while the verdict is inconclusive.
    pub(crate) presumptive: Option<Verdict>,
    /// The remaining obligation, while the verdict is inconclusive.
    pub(crate) residual: Option<Sentence>,
}

/// A line of a trace, with the status of every formula after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceStep<'a> {
    /// The number of positions so far, including this one; ticks do not count.
    pub(crate) position: u64,
    pub(crate) moment: &'a Moment,
    pub(crate) clock: Clock,
    pub(crate) readings: &'a [FormulaStatus],
}

/// The place at which a verdict became definite.
#[derive(Clone, Debug)]
pub(crate) struct DecisionPoint {
    pub(crate) verdict: Verdict,
    /// The number of positions read; 0 if the verdict does not depend on the trace.
    pub(crate) position: u64,
    pub(crate) line: u64,
    /// The time of the deciding tick, if no position decided.
    pub(crate) tick: Option<Time>,
    /// The entries over which the formula was judged.
    entries: Range<usize>,
}

/// A formula with its verdict and its witness.
#[derive(Clone, Debug)]
pub(crate) struct FormulaFinding {
    /// The worst of the verdicts on the way and at the end.
    pub(crate) verdict: Verdict,
    /// The verdict that holds for all continuations.
    pub(crate) live: Verdict,
    /// The verdict at the end, if the trace ended.
    pub(crate) end: Option<Verdict>,
    /// The first violation on the way, or else the first definite verdict.
    pub(crate) decision: Option<DecisionPoint>,
    pub(crate) counts: VerdictCounts,
    pub(crate) witness: Option<Witness>,
    /// The line numbers of the witness steps, in order.
    pub(crate) lines: Vec<u64>,
    /// Whether the trace was too long for a witness.
    pub(crate) too_long: bool,
}

/// The result of judging a trace.
#[derive(Clone, Debug)]
pub(crate) struct TraceResult {
    pub(crate) positions: u64,
    pub(crate) ticks: u64,
    /// Lines that could not be read.
    pub(crate) bad_lines: u64,
    /// The line of the last step or tick.
    pub(crate) last_line: u64,
    pub(crate) clock: Clock,
    /// The names of facts that occurred.
    pub(crate) names: BTreeSet<Arc<str>>,
    pub(crate) findings: Vec<FormulaFinding>,
}

impl TraceResult {
    /// Returns the worst verdict of all formulas.
    pub(crate) fn worst(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Satisfied)
    }
}

/// A receiver of results while traces are judged. The judge itself knows no output format.
pub(crate) trait TraceReport {
    /// Reports the start of a trace.
    fn begin(&mut self, trace: &str) -> io::Result<()>;

    /// Reports a line of the trace.
    fn step(&mut self, step: &TraceStep<'_>) -> io::Result<()>;

    /// Reports the end of the trace.
    fn end(&mut self, judged: &TraceResult) -> io::Result<()>;

    /// Reports a trace that could not be opened.
    fn unreadable(&mut self, _trace: &str) -> io::Result<()> {
        Ok(())
    }

    /// Finishes the report after the last trace.
    fn finish(&mut self, worst: Option<Verdict>) -> io::Result<()>;
}

/// Judges a trace to its end.
pub(crate) fn judge_trace(
    trace: &mut Trace,
    formulas: &[ListedFormula],
    options: EvalOptions,
    report: &mut dyn TraceReport,
) -> anyhow::Result<TraceResult> {
    let mut follower = Follower::new(formulas, options);
    let (mut ticks, mut bad_lines, mut last_line) = (0, 0, 0);
    report.begin(trace.name())?;
    while let Some(line) = trace.next()? {
        let entry = match line {
            TraceLine::Entry(entry) => entry,
            TraceLine::Bad(complaints) => {
                bad_lines += 1;
                for complaint in complaints {
                    let text = if bad_lines > MAX_DETAILED_LINES { complaint.short() } else { complaint.to_string() };
                    complaint::say(&text);
                }
                continue;
            }
        };
        if entry.goes_back && options.warn {
            let place = format!("{}:{}", trace.name(), entry.line);
            complaint::say(&format!(
                "{place}: warning: the time goes back; the step is judged at the time of the step before"
            ));
        }
        ticks += u64::from(matches!(entry.moment, Moment::Tick(_)));
        last_line = entry.line;
        let keep = follower.is_open();
        let readings = follower.read(&entry);
        if options.steps {
            let position = follower.positions();
            report.step(&TraceStep { position, moment: &entry.moment, clock: *trace.clock(), readings: &readings })?;
        }
        if keep {
            follower.record(entry);
        }
    }
    let positions = follower.positions();
    let (names, findings) = follower.finish();
    Ok(TraceResult { positions, ticks, bad_lines, last_line, clock: *trace.clock(), names, findings })
}

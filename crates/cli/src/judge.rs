//! Follows one trace with many formulas and tells a report what every line brought.
//!
//! The trace is read line by line. What a witness may need is kept on the way, up to a bound; nothing else is.

mod follower;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{After, Moment, Sentence, Time, Verdict, VerdictCounts, Witness};

use crate::complaint;
use crate::formulas::Listed;
use crate::judge::follower::Follower;
use crate::render::Report;
use crate::trace::{Clock, Line, Trace};

/// The most bad lines that are shown with all there is to say; of the others only the place and the fault.
const MOST_SHOWN: u64 = 20;

/// How a trace is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) after: After,
    /// Is the trace over when the input is?
    pub(crate) ends: bool,
    /// Does the report want to hear of every step?
    pub(crate) steps: bool,
    /// The least bad verdict that is given a witness.
    pub(crate) witness: Option<Verdict>,
    /// Is odd input remarked on?
    pub(crate) warn: bool,
}

/// Where one formula stands after a line.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) verdict: Verdict,
    /// Beside an inconclusive verdict: the verdict if the trace ended here.
    pub(crate) presumptive: Option<Verdict>,
    /// Beside an inconclusive verdict: what must still hold.
    pub(crate) residual: Option<Sentence>,
}

/// A line of a trace and where every formula stands after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// How many positions have been read, with this one; a tick is none.
    pub(crate) position: u64,
    pub(crate) moment: &'a Moment,
    pub(crate) clock: Clock,
    pub(crate) readings: &'a [Reading],
}

/// The place of a definite verdict.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    /// How many positions had been read; 0 if no trace could have changed it.
    pub(crate) position: u64,
    pub(crate) line: u64,
    /// The time of the tick that brought it, if no position did.
    pub(crate) tick: Option<Time>,
    /// The entries from which the formula was judged.
    entries: Range<usize>,
}

/// A formula with its verdict and its witness.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The worst of what was decided on the way and of what stands at last.
    pub(crate) verdict: Verdict,
    /// What is true of all continuations.
    pub(crate) live: Verdict,
    /// The verdict at the end, if the trace is over.
    pub(crate) end: Option<Verdict>,
    /// The first violation on the way, or else the first definite verdict.
    pub(crate) decision: Option<Decision>,
    pub(crate) counts: VerdictCounts,
    pub(crate) witness: Option<Witness>,
    /// The number of the line of each entry the witness speaks of, in the order of its steps.
    pub(crate) lines: Vec<u64>,
    /// Was the trace too long for a witness?
    pub(crate) too_long: bool,
}

/// What became of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) positions: u64,
    pub(crate) ticks: u64,
    /// Lines that could not be read.
    pub(crate) bad_lines: u64,
    /// The line of the last step or tick.
    pub(crate) last_line: u64,
    pub(crate) clock: Clock,
    /// The names of the facts that occurred.
    pub(crate) names: BTreeSet<Arc<str>>,
    pub(crate) findings: Vec<Finding>,
}

impl Judged {
    /// The worst verdict of all formulas.
    pub(crate) fn worst(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Satisfied)
    }
}

/// Reads a trace to its end.
pub(crate) fn judge(
    trace: &mut Trace,
    formulas: &[Listed],
    options: Options,
    report: &mut dyn Report,
) -> anyhow::Result<Judged> {
    let mut follower = Follower::new(formulas, options);
    let (mut ticks, mut bad_lines, mut last_line) = (0, 0, 0);
    report.begin(trace.name())?;
    while let Some(line) = trace.next()? {
        let entry = match line {
            Line::Entry(entry) => entry,
            Line::Bad(complaints) => {
                bad_lines += 1;
                for complaint in complaints {
                    let text = if bad_lines > MOST_SHOWN { complaint.short() } else { complaint.to_string() };
                    complaint::say(&text);
                }
                continue;
            }
        };
        if entry.goes_back && options.warn {
            let place = format!("{}:{}", trace.name(), entry.line);
            complaint::say(&format!("{place}: warning: the time goes back; the step is judged at the time before it"));
        }
        ticks += u64::from(matches!(entry.moment, Moment::Tick(_)));
        last_line = entry.line;
        let keep = follower.is_open();
        let readings = follower.read(&entry);
        if options.steps {
            let position = follower.positions();
            report.step(&Step { position, moment: &entry.moment, clock: *trace.clock(), readings: &readings })?;
        }
        if keep {
            follower.record(entry);
        }
    }
    let positions = follower.positions();
    let (names, findings) = follower.finish();
    Ok(Judged { positions, ticks, bad_lines, last_line, clock: *trace.clock(), names, findings })
}

//! Follows one trace with many formulas and tells a report what every line brought.
//!
//! The trace is read line by line. What a witness may need is kept on the way, up to a bound; nothing else is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{
    After, Counts, Decided, Facts, Moment, MonitorId, Sentence, Standing, Time, Verdict, Watch, Witness,
};

use crate::complaint;
use crate::formulas::Listed;
use crate::render::Report;
use crate::trace::{Clock, Entry, Line, Trace};

/// The most positions and ticks that are kept for witnesses.
const MOST_RECORDED: usize = 1_000_000;

/// The most of them that a witness is searched in: the search reads them again for every position it leaves out.
const MOST_SEARCHED: usize = 4000;

/// The most names of facts that are remembered for remarks.
const MOST_NAMES: usize = 10_000;

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
    pub(crate) counts: Counts,
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
    let mut judge = Judge::new(formulas, options);
    let (mut ticks, mut bad_lines) = (0, 0);
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
        let keep = judge.is_open();
        let readings = judge.read(&entry);
        if options.steps {
            let position = judge.standing.positions();
            report.step(&Step { position, moment: &entry.moment, clock: *trace.clock(), readings: &readings })?;
        }
        if keep {
            judge.record(entry);
        }
    }
    let positions = judge.standing.positions();
    let names = std::mem::take(&mut judge.names);
    let findings = if positions > 0 { judge.finish() } else { Vec::new() };
    Ok(Judged { positions, ticks, bad_lines, last_line: trace.line(), clock: *trace.clock(), names, findings })
}

struct Judge<'a> {
    formulas: &'a [Listed],
    options: Options,
    watch: Watch,
    standing: Standing,
    ids: Vec<MonitorId>,
    courses: Vec<Course>,
    moments: Vec<Moment>,
    lines: Vec<u64>,
    is_full: bool,
    names: BTreeSet<Arc<str>>,
}

/// What has been decided of one formula so far.
#[derive(Default)]
struct Course {
    decision: Option<Decision>,
    /// The entry with which the formula began anew.
    from: usize,
}

impl<'a> Judge<'a> {
    fn new(formulas: &'a [Listed], options: Options) -> Judge<'a> {
        let mut watch = Watch::new();
        let ids: Vec<MonitorId> =
            formulas.iter().map(|listed| watch.add(listed.monitor.clone(), options.after)).collect();
        let standing = watch.start();
        let courses = formulas.iter().map(|_| Course::default()).collect();
        let mut judge = Judge {
            formulas,
            options,
            watch,
            standing,
            ids,
            courses,
            moments: Vec::new(),
            lines: Vec::new(),
            is_full: false,
            names: BTreeSet::new(),
        };
        // A formula that no trace can change is decided before the first line.
        for index in 0..formulas.len() {
            let verdict = judge.watch.verdict(&mut judge.standing, judge.ids[index]);
            if verdict.is_definite() {
                let decision = Decision { verdict, position: 0, line: 0, tick: None, entries: 0..0 };
                judge.courses[index].decision = Some(decision);
            }
        }
        judge
    }

    fn read(&mut self, entry: &Entry) -> Vec<Reading> {
        if let Moment::Position(facts) = &entry.moment
            && self.options.warn
        {
            self.note(facts);
        }
        let decided = match &entry.moment {
            Moment::Position(facts) => self.watch.step(&mut self.standing, facts),
            Moment::Tick(now) => self.watch.tick(&mut self.standing, *now),
        };
        let decided: Vec<Decided> = decided.to_vec();
        let mut readings = Vec::new();
        for (index, &id) in self.ids.iter().enumerate() {
            let brought = decided.iter().filter(|decided| decided.monitor == id).map(|decided| decided.verdict).max();
            if let Some(verdict) = brought {
                self.courses[index].decide(verdict, &self.standing, entry, self.moments.len());
                if self.options.after == After::Reset && self.formulas[index].monitor.variables().is_empty() {
                    self.courses[index].from = self.moments.len() + 1;
                }
            }
            if self.options.steps {
                let verdict = brought.unwrap_or_else(|| self.watch.verdict(&mut self.standing, id));
                let open = !verdict.is_definite();
                let presumptive = open.then(|| self.watch.end(&mut self.standing, id));
                let residual = if open { self.watch.residual(&mut self.standing, id) } else { None };
                readings.push(Reading { verdict, presumptive, residual });
            }
        }
        readings
    }

    /// Remembers which facts there are.
    fn note(&mut self, facts: &Facts) {
        for name in facts.known.iter().map(|fact| &fact.name).chain(facts.unknown.iter().map(|atom| &atom.name)) {
            if !self.names.contains(name) && self.names.len() < MOST_NAMES {
                self.names.insert(name.clone());
            }
        }
    }

    /// May a witness need what comes next?
    fn is_open(&self) -> bool {
        let undecided = self.courses.iter().any(|course| course.decision.is_none());
        self.options.witness.is_some() && (undecided || self.options.after == After::Reset)
    }

    /// Keeps an entry for the witnesses.
    fn record(&mut self, entry: Entry) {
        self.is_full |= self.moments.len() >= MOST_RECORDED;
        if !self.is_full {
            self.moments.push(entry.moment);
            self.lines.push(entry.line);
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        (0..self.formulas.len()).map(|index| self.finding(index)).collect()
    }

    fn finding(&mut self, index: usize) -> Finding {
        let (id, course) = (self.ids[index], &self.courses[index]);
        let live = self.watch.verdict(&mut self.standing, id);
        let end = self.options.ends.then(|| self.watch.end(&mut self.standing, id));
        let decided = course.decision.as_ref().map(|decision| decision.verdict);
        let last = end.unwrap_or(live);
        let verdict = if decided == Some(Verdict::Violated) { Verdict::Violated } else { last };
        // What decided on the way is shown, unless the end brought something worse.
        let on_the_way = decided == Some(verdict);
        let entries = match &course.decision {
            Some(decision) if on_the_way => decision.entries.clone(),
            _ => course.from..self.moments.len(),
        };
        let wanted = verdict.is_definite() && self.options.witness.is_some_and(|least| verdict >= least);
        let is_kept = entries.end <= self.moments.len() && (on_the_way || !self.is_full);
        let too_long = wanted && (!is_kept || entries.len() > MOST_SEARCHED);
        let mut lines = Vec::new();
        let witness = if wanted && !too_long { self.witness(index, entries, !on_the_way, &mut lines) } else { None };
        let counts = self.watch.counts(&self.standing, id);
        let decision = if on_the_way { self.courses[index].decision.clone() } else { None };
        Finding { verdict, live, end, decision, counts, witness, lines, too_long }
    }

    /// The witness of a verdict, with the lines of its steps.
    fn witness(&self, index: usize, entries: Range<usize>, at_end: bool, lines: &mut Vec<u64>) -> Option<Witness> {
        let Listed { arena, formula, .. } = &self.formulas[index];
        let from = entries.start;
        let mut witness = Witness::find(arena, *formula, self.moments.get(entries)?, at_end)?;
        let before = self.moments.iter().take(from).filter(|moment| matches!(moment, Moment::Position(_))).count();
        for step in &mut witness.steps {
            step.entry += from;
            step.position += before;
            lines.push(self.lines.get(step.entry).copied().unwrap_or(0));
        }
        Some(witness)
    }
}

impl Course {
    /// Notes a definite verdict; the first violation is more telling than an earlier satisfaction.
    fn decide(&mut self, verdict: Verdict, standing: &Standing, entry: &Entry, index: usize) {
        if self.decision.as_ref().is_some_and(|known| known.verdict >= verdict) {
            return;
        }
        let tick = match &entry.moment {
            Moment::Tick(now) => Some(*now),
            Moment::Position(Facts { .. }) => None,
        };
        let entries = self.from..index + 1;
        self.decision = Some(Decision { verdict, position: standing.positions(), line: entry.line, tick, entries });
    }
}

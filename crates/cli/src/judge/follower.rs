//! Follows a trace with all formulas and records their verdicts.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lictor_logic::{After, Conclusion, Facts, Moment, MonitorId, MonitorSet, TraceState, Verdict, Witness};

use super::{DecisionPoint, EvalOptions, FormulaFinding, FormulaStatus};
use crate::formulas::ListedFormula;
use crate::trace::TraceEntry;

/// How many positions and ticks are kept for witnesses.
const MAX_RECORDED_MOMENTS: usize = 1_000_000;

/// How many of them a witness search reads: it reads them again for every position that it leaves out.
const MAX_SEARCHED_MOMENTS: usize = 200_000;

/// How many names of facts are kept for warnings.
const MAX_FACT_NAMES: usize = 10_000;

/// The monitors on a trace, and the entries that their witnesses may need.
pub(super) struct Follower<'a> {
    formulas: &'a [ListedFormula],
    options: EvalOptions,
    watch: MonitorSet,
    standing: TraceState,
    ids: Vec<MonitorId>,
    courses: Vec<FormulaCourse>,
    moments: Vec<Moment>,
    lines: Vec<u64>,
    is_full: bool,
    names: BTreeSet<Arc<str>>,
}

/// The verdict of one formula so far.
#[derive(Default)]
struct FormulaCourse {
    decision: Option<DecisionPoint>,
    /// The entry at which the formula was last restarted.
    from: usize,
}

impl<'a> Follower<'a> {
    /// Returns a follower before the first line.
    pub(super) fn new(formulas: &'a [ListedFormula], options: EvalOptions) -> Follower<'a> {
        let mut watch = MonitorSet::new();
        let ids: Vec<MonitorId> = formulas.iter().map(|listed| watch.add(listed.monitor.clone())).collect();
        let standing = watch.start();
        let courses = formulas.iter().map(|_| FormulaCourse::default()).collect();
        let mut follower = Follower {
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
        // A formula that does not depend on the trace is decided before the first line.
        for index in 0..formulas.len() {
            let verdict = follower.watch.verdict(&mut follower.standing, follower.ids[index]);
            if verdict.is_definite() {
                let decision = DecisionPoint { verdict, position: 0, line: 0, tick: None, entries: 0..0 };
                follower.courses[index].decision = Some(decision);
            }
        }
        follower
    }

    /// Reads a line.
    pub(super) fn read(&mut self, entry: &TraceEntry) -> Vec<FormulaStatus> {
        if let Moment::Position(facts) = &entry.moment
            && self.options.warn
        {
            self.record_names(facts);
        }
        let decided = match &entry.moment {
            Moment::Position(facts) => self.watch.step(&mut self.standing, facts),
            Moment::Tick(now) => self.watch.tick(&mut self.standing, *now),
        };
        let decided: Vec<Conclusion> = decided.to_vec();
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
                readings.push(FormulaStatus { verdict, presumptive, residual });
            }
        }
        readings
    }

    /// Records the names of facts.
    fn record_names(&mut self, facts: &Facts) {
        for name in facts.known.iter().map(|fact| &fact.name).chain(facts.unknown.iter().map(|atom| &atom.name)) {
            if !self.names.contains(name) && self.names.len() < MAX_FACT_NAMES {
                self.names.insert(name.clone());
            }
        }
    }

    /// Whether a witness may need the next entry.
    pub(super) fn is_open(&self) -> bool {
        let undecided = self.courses.iter().any(|course| course.decision.is_none());
        self.options.witness.is_some() && (undecided || self.options.after == After::Reset)
    }

    /// Keeps an entry for the witnesses.
    pub(super) fn record(&mut self, entry: TraceEntry) {
        // A latching formula is judged from the first entry; a restarted one may be judged from a late entry.
        let most = if self.options.after == After::Latch { MAX_SEARCHED_MOMENTS + 1 } else { MAX_RECORDED_MOMENTS };
        self.is_full |= self.moments.len() >= most;
        if !self.is_full {
            self.moments.push(entry.moment);
            self.lines.push(entry.line);
        }
    }

    /// Returns how many positions have been read.
    pub(super) fn positions(&self) -> u64 {
        self.standing.positions()
    }

    /// Returns the names of facts and the finding of every formula; none if there was no position.
    pub(super) fn finish(mut self) -> (BTreeSet<Arc<str>>, Vec<FormulaFinding>) {
        let count = if self.positions() > 0 { self.formulas.len() } else { 0 };
        let findings = (0..count).map(|index| self.finding(index)).collect();
        (self.names, findings)
    }

    fn finding(&mut self, index: usize) -> FormulaFinding {
        let (id, course) = (self.ids[index], &self.courses[index]);
        let live = self.watch.verdict(&mut self.standing, id);
        let end = self.options.ends.then(|| self.watch.end(&mut self.standing, id));
        let decided = course.decision.as_ref().map(|decision| decision.verdict);
        let last = end.unwrap_or(live);
        let verdict = if decided == Some(Verdict::Violated) { Verdict::Violated } else { last };
        // Show the decision on the way, unless the verdict at the end is worse.
        let on_the_way = decided == Some(verdict);
        let entries = match &course.decision {
            Some(decision) if on_the_way => decision.entries.clone(),
            _ => course.from..self.moments.len(),
        };
        let wanted = verdict.is_definite() && self.options.witness.is_some_and(|least| verdict >= least);
        let is_kept = entries.end <= self.moments.len() && (on_the_way || !self.is_full);
        let too_long = wanted && (!is_kept || entries.len() > MAX_SEARCHED_MOMENTS);
        let mut lines = Vec::new();
        let witness = if wanted && !too_long { self.witness(index, verdict, entries, &mut lines) } else { None };
        let counts = self.watch.counts(&self.standing, id);
        let decision = if on_the_way { self.courses[index].decision.clone() } else { None };
        FormulaFinding { verdict, live, end, decision, counts, witness, lines, too_long }
    }

    /// Searches the witness of a verdict, and adds the lines of its steps.
    fn witness(&self, index: usize, verdict: Verdict, entries: Range<usize>, lines: &mut Vec<u64>) -> Option<Witness> {
        let ListedFormula { arena, formula, .. } = &self.formulas[index];
        let at_end = self.courses[index].decision.as_ref().is_none_or(|decision| decision.verdict != verdict);
        let from = entries.start;
        let found = Witness::find(arena, *formula, self.moments.get(entries)?, at_end);
        let mut witness = found.filter(|witness| witness.verdict == verdict)?;
        let before = self.moments.iter().take(from).filter(|moment| matches!(moment, Moment::Position(_))).count();
        for step in &mut witness.steps {
            step.entry += from;
            step.position += before;
            lines.push(self.lines.get(step.entry).copied().unwrap_or(0));
        }
        Some(witness)
    }
}

impl FormulaCourse {
    /// Records a definite verdict; the first violation replaces an earlier satisfaction.
    fn decide(&mut self, verdict: Verdict, standing: &TraceState, entry: &TraceEntry, index: usize) {
        if self.decision.as_ref().is_some_and(|known| known.verdict >= verdict) {
            return;
        }
        let tick = match &entry.moment {
            Moment::Tick(now) => Some(*now),
            Moment::Position(Facts { .. }) => None,
        };
        let entries = self.from..index + 1;
        self.decision =
            Some(DecisionPoint { verdict, position: standing.positions(), line: entry.line, tick, entries });
    }
}

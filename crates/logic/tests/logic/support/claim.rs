//! Claims about a trace, by an engine or by a case, and how the definition disproves them.

use lictor_logic::{Arena, Facts, Formula, Time, Verdict};

use crate::support::oracle::{Oracle, Prefix};
use crate::support::trace::Entry;

/// A source of verdicts: one configuration of the monitor, or the definition itself.
pub(crate) trait Engine: Sync {
    /// Its name in a failure.
    fn name(&self) -> &str;

    /// Starts to judge a trace by a formula; none if it refuses the formula.
    fn start<'a>(&'a self, arena: &'a Arena, f: Formula) -> Option<Box<dyn EngineRun + 'a>>;
}

/// The judging of one trace.
pub(crate) trait EngineRun {
    fn step(&mut self, facts: &Facts);
    fn tick(&mut self, now: Time);
    /// The live verdict.
    fn verdict(&mut self) -> Verdict;
    /// The verdict if the trace ended here.
    fn end(&mut self) -> Verdict;
}

/// The live verdict after an entry of a trace, and the verdict if the trace ended there; `None` claims nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) live: Option<Verdict>,
    pub(crate) end: Option<Verdict>,
}

/// How many continuations to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Lassos to try before a claim that there is none of a kind is believed.
    pub(crate) absent: usize,
    /// Lassos to try before a claim that there is one of a kind is not believed; zero to believe it untried, where an
    /// engine is allowed to be later than it could be.
    pub(crate) present: usize,
}

/// Returns the claims of an engine before the first entry and after each; empty if it refuses the formula.
pub(crate) fn collect_claims(engine: &dyn Engine, arena: &Arena, f: Formula, trace: &[Entry]) -> Vec<Claim> {
    let Some(mut run) = engine.start(arena, f) else { return Vec::new() };
    let claim = |run: &mut dyn EngineRun| Claim { live: Some(run.verdict()), end: Some(run.end()) };
    let mut claims = vec![claim(&mut *run)];
    for entry in trace {
        match entry {
            Entry::Position(facts) => run.step(facts),
            Entry::Tick(now) => run.tick(*now),
        }
        claims.push(claim(&mut *run));
    }
    claims
}

/// Returns why a claim cannot be true; `None` if the definition confirms them all.
///
/// A continuation of a longer trace is one of a shorter trace as well. So it is enough to look for continuations after
/// the last inconclusive verdict, and to look for none after the first definite one.
pub(crate) fn disprove(oracle: &Oracle<'_>, trace: &[Entry], claims: &[Claim], effort: Effort) -> Option<String> {
    let mut prefix = Prefix::default();
    let mut open: Option<Prefix> = None;
    let mut settled: Option<Verdict> = None;
    for (index, claim) in claims.iter().enumerate() {
        if let Some(entry) = index.checked_sub(1).and_then(|index| trace.get(index)) {
            prefix.push(entry);
        }
        let place = if index == 0 { "before the first entry".into() } else { format!("after entry {index}") };
        match (settled, claim.live) {
            (Some(settled), Some(live)) if live != settled => {
                return Some(format!("{place}: {live}, though it had been {settled} before"));
            }
            (None, Some(live)) if live.is_definite() => {
                let opposite = live == Verdict::Violated;
                if let Some(lasso) = oracle.example(&prefix, opposite, effort.absent) {
                    return Some(format!("{place}: {live}, but here is a continuation on which it is not: {lasso}"));
                }
                settled = Some(live);
            }
            (None, Some(_)) => open = Some(prefix.clone()),
            _ => {}
        }
        if let Some(end) = claim.end {
            let thorough = effort.present.clamp(effort.absent, 8 * effort.absent);
            let expected = settled.unwrap_or_else(|| oracle.end(&prefix, thorough));
            // A late engine may miss that a verdict had latched, and then judges the finite trace.
            let is_late = || settled.is_none() && effort.present == 0 && end == oracle.end(&prefix, 0);
            if end != expected && (end.is_definite() || effort.present > 0) && !is_late() {
                return Some(format!("{place}: the end here would be {expected}, not {end}"));
            }
        }
    }
    let open = open.filter(|_| effort.present > 0)?;
    let at = open.positions.len();
    [(true, "satisfying"), (false, "violating")].into_iter().find_map(|(value, kind)| {
        let found = oracle.example(&open, value, effort.present);
        let complaint = || format!("inconclusive after {at} positions, but no {kind} continuation was found");
        if found.is_none() { Some(complaint()) } else { None }
    })
}

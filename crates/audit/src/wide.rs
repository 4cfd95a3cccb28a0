//! Histories that go on across sessions: judged behind the sessions, in the order of time.
//!
//! Sessions are judged side by side and files come in any order, so the events that such histories are made of are
//! collected first. Memory grows with them: it is the price of looking beyond the session.

use lictor_logic::{Time, Verdict};
use rayon::prelude::*;

use super::shard::Closed;
use crate::report::SessionPlaces;
use lictor_judge::finding::Finding;
use lictor_judge::{HistoryEvent, Judge};
use lictor_policy::History;

/// An event of a session.
pub(super) struct Seen {
    /// When it was: the latest time that its session had told by then.
    pub(super) time: Option<Time>,
    /// Where it stands: file, line, place among the events of its piece.
    pub(super) order: (u32, u32, u32),
    pub(super) what: What,
}

/// What happened to histories.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are events, and a box for each would cost more than it saves"
)]
pub(super) enum What {
    /// An event.
    Happened(HistoryEvent),
    /// So many events of a session are missing: they may have been anybody's.
    Missed(u64),
}

/// Judges the histories, and adds what they broke to the findings and to the sessions it happened in.
pub(super) fn judge(
    judge: &mut Judge,
    mut seen: Vec<Seen>,
    closed: &mut [Closed],
    findings: &mut Vec<Finding>,
    as_of: Option<Time>,
) {
    if seen.is_empty() {
        return;
    }
    seen.par_sort_by_key(|seen| (seen.time, seen.order));
    let mut found: Vec<Finding> = Vec::new();
    let is_torn = seen.iter().any(|seen| matches!(seen.what, What::Missed(_)));
    for seen in seen {
        match seen.what {
            What::Happened(event) => found.append(&mut judge.observe_shared(event)),
            What::Missed(count) => judge.miss_shared(count),
        }
    }
    if let Some(now) = as_of {
        found.append(&mut judge.tick_histories(now));
    }
    if is_torn {
        doubt(judge, closed);
    }
    let sessions = SessionPlaces::of(closed.iter().map(|session| &session.report));
    let placed = |finding: Finding| (sessions.find(&finding), finding);
    let found: Vec<(Option<usize>, Finding)> = found.into_iter().map(placed).collect();
    let mut all: Vec<(Option<usize>, Finding)> = findings.drain(..).map(placed).collect();
    for (place, finding) in &found {
        // What a history of an earlier audit still owed may be broken in none of the sessions at hand.
        let Some(session) = place.map(|place| &mut closed[place]) else { continue };
        let number = judge.properties().iter().position(|property| property.id == finding.property.id);
        let Some(outcome) = number.and_then(|number| session.report.outcomes.get_mut(number)) else { continue };
        outcome.verdict = Verdict::Violated;
        outcome.live = true;
        outcome.violated_at_step = Some(outcome.violated_at_step.map_or(finding.step, |step| step.min(finding.step)));
        outcome.violations += 1;
    }
    all.extend(found);
    all.sort_by_key(|(place, finding)| (*place, finding.step));
    findings.extend(all.into_iter().map(|(_, finding)| finding));
}

/// Whoever's the missing events were, no session can tell that they broke nothing.
fn doubt(judge: &Judge, closed: &mut [Closed]) {
    let is_wide: Vec<bool> = judge.properties().iter().map(|property| property.history != History::Session).collect();
    for session in closed {
        for (outcome, is_wide) in session.report.outcomes.iter_mut().zip(&is_wide) {
            if *is_wide && outcome.verdict == Verdict::Satisfied {
                outcome.verdict = Verdict::Inconclusive;
            }
        }
    }
}

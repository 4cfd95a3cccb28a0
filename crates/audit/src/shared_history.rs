//! Histories shared by several sessions, judged after the sessions, in the order of time.
//!
//! Sessions are judged side by side and files come in any order, so the events that such histories are made of are
//! collected first. Memory grows with them: it is the price of looking beyond the session.

use std::collections::HashMap;

use lictor_logic::{Time, Verdict};
use rayon::prelude::*;

use super::closed_session::{ClosedSession, EventPlace};
use crate::report::SessionPlaces;
use lictor_judge::finding::Finding;
use lictor_judge::session::SessionError;
use lictor_judge::{EnteredHistories, HistoryEvent, Judge};
use lictor_policy::History;

/// An event of a session, or a gap, in the order of shared histories.
pub(super) struct HistoryEntry {
    /// Its time: the latest time in its session and its history so far.
    pub(super) time: Option<Time>,
    /// Its place in the logs.
    pub(super) order: EventPlace,
    /// The number of the entry of another system that it is, if it is one.
    pub(super) joined: Option<u32>,
    pub(super) change: HistoryChange,
}

/// A change of shared histories.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are events, and a box for each would cost more than it saves"
)]
pub(super) enum HistoryChange {
    /// An event.
    Event(HistoryEvent),
    /// So many events of a session are missing; they may belong to any history.
    Missing(u64),
}

/// Judges the shared histories, and adds their findings to the report and to the sessions they occurred in.
pub(super) fn judge_histories(
    judge: &mut Judge,
    mut entries: Vec<HistoryEntry>,
    closed: &mut [ClosedSession],
    findings: &mut Vec<Finding>,
    as_of: Option<Time>,
) -> Result<(), SessionError> {
    if entries.is_empty() {
        return Ok(());
    }
    entries.par_sort_by_key(|entry| (entry.time, entry.order));
    let mut found: Vec<Finding> = Vec::new();
    // An entry may belong to several sessions, and enters each history once.
    let mut entered: HashMap<u32, EnteredHistories> = HashMap::new();
    let has_gap = entries.iter().any(|entry| matches!(entry.change, HistoryChange::Missing(_)));
    for entry in entries {
        match (entry.change, entry.joined) {
            (HistoryChange::Event(event), Some(number)) => {
                if let Some(event) = event.enter_once(entered.entry(number).or_default()) {
                    found.append(&mut judge.observe_shared(event)?);
                }
            }
            (HistoryChange::Event(event), None) => found.append(&mut judge.observe_shared(event)?),
            (HistoryChange::Missing(count), _) => judge.miss_shared(count),
        }
    }
    if let Some(now) = as_of {
        found.append(&mut judge.tick_histories(now));
    }
    if has_gap {
        mark_inconclusive(judge, closed);
    }
    let sessions = SessionPlaces::new(closed.iter().map(|session| &session.report));
    let placed = |finding: Finding| (sessions.find(&finding), finding);
    let found: Vec<(Option<usize>, Finding)> = found.into_iter().map(placed).collect();
    let mut all: Vec<(Option<usize>, Finding)> = findings.drain(..).map(placed).collect();
    for (place, finding) in &found {
        // A deadline from an earlier audit may pass outside all sessions of this one.
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
    Ok(())
}

/// Marks satisfied shared properties as inconclusive: the missing events may have violated any of them.
fn mark_inconclusive(judge: &Judge, closed: &mut [ClosedSession]) {
    let is_shared: Vec<bool> = judge.properties().iter().map(|property| property.history != History::Session).collect();
    for session in closed {
        for (outcome, is_shared) in session.report.outcomes.iter_mut().zip(&is_shared) {
            if *is_shared && outcome.verdict == Verdict::Satisfied {
                outcome.verdict = Verdict::Inconclusive;
            }
        }
    }
}

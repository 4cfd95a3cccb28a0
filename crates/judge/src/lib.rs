//! Judges events by a policy: labels them, and moves the properties along.

mod bulk;
pub mod finding;
pub mod guard;
mod label;
mod missing;
mod monitor_group;
pub mod observer;
mod prepare;
mod saved;
pub mod session;
mod shared_history;
mod state;
mod trail;

use std::sync::Arc;

use lictor_logic::{CacheLimits, Observation, Time, TraceState};

use crate::finding::Finding;
use crate::label::{Labeler, Labels, Notes, Whose};
use crate::trail::{EventSummary, Trail};
use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::{History, Policy, Problem, Property};
use monitor_group::MonitorGroup;
pub(crate) use monitor_group::{Restart, Violation, Violations};
pub(crate) use prepare::{Prepared, Provers};
pub(crate) use saved::SavedState;
pub use saved::{RestoreError, SavedHistories};
pub use shared_history::HistoryEvent;
use shared_history::SharedHistories;
pub use state::{SessionState, ViolationCount};

/// A policy made ready, what was learnt while judging by it, and what is remembered across sessions.
///
/// One judge serves any number of sessions, one event at a time; for another thread, [`fork`](Judge::fork) it.
#[derive(Debug)]
pub struct Judge {
    /// The properties that are judged over single sessions.
    group: MonitorGroup,
    /// The others, and the histories they are judged over.
    shared: SharedHistories,
    labeler: Labeler,
    /// The facts of the event that was judged last, and the same as the engine reads them; the next one gets the memory.
    labels: Labels,
    observation: Observation,
    provers: Provers,
    /// Counts what was labeled, to tell one event from another.
    turn: u64,
}

/// An event as it was labeled, for a session that may take it.
#[derive(Clone, Debug)]
pub(crate) struct Labeled {
    /// What it adds to what is remembered of the session.
    pub(crate) notes: Notes,
    pub(crate) labels: Labels,
    /// The same as the engine reads them, and when they were.
    pub(crate) observation: Observation,
}

impl Judge {
    /// Makes a policy ready. What the loader of policies accepts is never refused.
    pub fn new(policy: &Policy) -> Result<Judge, Vec<Problem>> {
        Judge::with_limits(policy, CacheLimits::DEFAULT)
    }

    /// The same, with other bounds on what is kept for a property.
    pub fn with_limits(policy: &Policy, limits: CacheLimits) -> Result<Judge, Vec<Problem>> {
        let (prepared, mut groups) = Prepared::new(policy, limits)?;
        let group = groups.remove(&History::Session).unwrap_or_else(|| MonitorGroup::new(limits));
        Ok(Judge::over(Arc::new(prepared), group, SharedHistories::new(groups)))
    }

    fn over(prepared: Arc<Prepared>, group: MonitorGroup, shared: SharedHistories) -> Judge {
        Judge {
            group,
            shared,
            labeler: Labeler::default(),
            labels: Labels::default(),
            observation: Observation::new(),
            provers: Provers::new(prepared),
            turn: 0,
        }
    }

    /// A judge by the same policy, for another thread. Sessions that one judge began, another cannot go on with, and
    /// what one remembers across sessions, another does not.
    #[must_use]
    pub fn fork(&self) -> Judge {
        Judge::over(Arc::clone(self.prepared()), self.group.clone(), self.shared.fork())
    }

    /// The properties it judges by, in the order of the policy.
    pub fn properties(&self) -> &[Arc<Property>] {
        &self.prepared().properties
    }

    /// The policy's name.
    pub fn policy(&self) -> &Text {
        &self.prepared().name
    }

    pub(crate) fn prepared(&self) -> &Arc<Prepared> {
        &self.provers.prepared
    }

    pub(crate) fn provers(&mut self) -> &mut Provers {
        &mut self.provers
    }

    /// Finds the facts of an event that may become part of a session.
    pub(crate) fn label(&mut self, state: &SessionState, event: &Event) -> Labeled {
        self.turn += 1;
        let mut labels = std::mem::take(&mut self.labels);
        let mut observation = std::mem::take(&mut self.observation);
        let notes = self.labeler.label(&self.provers.prepared.plan, &state.context, event, &mut labels);
        self.group.make_ready(&labels, event.time, &mut observation);
        Labeled { notes, labels, observation }
    }

    /// Gets memory back that nobody needs any more.
    pub(crate) fn recycle(&mut self, labels: Labels, observation: Observation) {
        (self.labels, self.observation) = (labels, observation);
    }

    /// Moves a standing along by an event, and says what that breaks.
    pub(crate) fn read(&mut self, standing: &mut TraceState, event: &Labeled) -> Violations {
        let (group, prepared, mut violations) = (&mut self.group, &*self.provers.prepared, Violations::default());
        group.expire(standing, event.observation.time, prepared, &mut violations);
        group.observe(standing, &event.labels, &event.observation, prepared, &mut violations);
        violations
    }

    /// The next moment at which something is due in a session.
    pub(crate) fn deadline(&self, state: &SessionState) -> Option<Time> {
        self.group.deadline(&state.standing)
    }

    /// The event that was labeled last, for the histories across sessions; none if no property asks for them.
    pub(crate) fn history_event(
        &self,
        whose: &Whose,
        labels: &Labels,
        event: &Event,
        step: u32,
        session: impl FnOnce() -> Text,
        content: bool,
    ) -> Option<HistoryEvent> {
        if self.shared.is_empty() {
            return None;
        }
        let prepared = self.prepared();
        let labels = labels.only(|name| prepared.wide[name as usize]);
        let mut summary = EventSummary::new(event, step, content);
        summary.session = Some(session());
        Some(self.shared.history_event(whose, labels, summary, self.turn))
    }

    /// The properties, by number, of which nobody can tell whether an event breaks them in a session.
    pub(crate) fn doubts(
        &mut self,
        standings: (&TraceState, &TraceState),
        trail: &Trail,
        event: &Labeled,
        violations: &Violations,
    ) -> Vec<usize> {
        let prepared = self.provers.prepared.as_ref();
        self.group.doubts(standings, trail, (&event.labels, event.observation.time), violations, prepared)
    }

    /// What an event would newly break in the histories it belongs to, which stay as they are, and the properties of which
    /// nobody can tell.
    pub(crate) fn preview_shared(
        &mut self,
        before: &[HistoryEvent],
        event: &HistoryEvent,
    ) -> (Vec<(usize, Finding)>, Vec<usize>) {
        match before {
            [] => self.shared.preview(event, &mut self.provers),
            before => self.shared.preview_after(before, event, &mut self.provers),
        }
    }

    /// Makes an event part of the histories it belongs to, and says what it broke in them.
    pub(crate) fn commit_shared(&mut self, history_event: HistoryEvent) -> Vec<(usize, Finding)> {
        self.shared.observe(history_event, &mut self.provers)
    }

    /// Lets time pass in all histories that go on across sessions: what was due by then is late.
    pub fn tick_histories(&mut self, now: Time) -> Vec<Finding> {
        let found = self.shared.tick(now, &mut self.provers);
        found.into_iter().map(|(_, finding)| finding).collect()
    }

    /// What is remembered across sessions, as data that outlives the process.
    pub fn save_histories(&self) -> SavedHistories {
        self.shared.save(self.prepared())
    }

    /// The histories across sessions that were looked at or changed since this was last asked, each under a key of its own
    /// and with its last moments only; none for one that was looked at and does not exist.
    pub fn take_touched_histories(&mut self) -> Vec<(String, Option<SavedHistories>)> {
        let prepared = Arc::clone(self.prepared());
        self.shared.take_touched(&prepared)
    }

    /// Goes on with what was remembered across sessions, in place of what is known of the same histories. The properties
    /// must be those it was saved with.
    pub fn restore_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.shared.restore(saved, &prepared)
    }

    /// The same of another policy: properties whose formulas are not in it begin here, and histories that no property asks
    /// for any more are left out.
    pub fn migrate_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.shared.migrate(saved, &prepared)
    }

    /// Forgets all histories across sessions.
    pub fn clear_histories(&mut self) {
        self.shared = self.shared.fork();
    }

    /// What must still hold, as a formula and in words.
    pub(crate) fn residual(&mut self, state: &mut SessionState, property: usize) -> Option<(String, String)> {
        self.group.residual(&mut state.standing, self.monitor(property)?)
    }

    /// The monitor of a property that is judged over sessions.
    fn monitor(&self, property: usize) -> Option<lictor_logic::MonitorId> {
        let prepared = self.prepared();
        (prepared.properties[property].history == History::Session).then(|| prepared.monitors[property])
    }
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

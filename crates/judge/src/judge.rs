//! A judge: a compiled policy with its caches and its histories across sessions.

use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_logic::{Belief, CacheLimits, Chance, ChanceRange, Fact, Observation, Time, TraceState};
use lictor_policy::{History, Policy, Problem, Property, Steering};

use crate::early_recogniser::EarlyRecogniser;
use crate::facts::{FactFinder, Labels, Notes, Whose};
use crate::finding::Finding;
use crate::guidance::{CallSketch, SettlingFact};
use crate::identity::Identity;
use crate::monitor_group::{MonitorGroup, Violations};
use crate::past::{PastPolicies, PolicyMove, PolicyScope};
use crate::prepare::prepare;
use crate::prepared::{PreparedPolicy, Provers};
use crate::restore_error::RestoreError;
use crate::risk::RiskGroup;
use crate::saved::{HistoryKey, SavedHistories, TouchedHistory};
use crate::shared_history::{HistoryEvent, SharedHistories};
use crate::state::{SessionState, ViolationCount};
use crate::trail::{EventSummary, Trail};

/// A compiled policy, its caches, and the histories across sessions.
///
/// One judge serves any number of sessions, one event at a time; for another thread, [`fork`](Judge::fork) it.
#[derive(Debug)]
pub struct Judge {
    /// Its states belong to it alone.
    pub(crate) id: Identity,
    /// The properties that are judged over single sessions.
    pub(crate) group: MonitorGroup,
    /// The chances of the properties that have a risk.
    pub(crate) risks: RiskGroup,
    /// The properties judged over more than one session, and their histories.
    pub(crate) shared: SharedHistories,
    pub(crate) fact_finder: FactFinder,
    /// The facts of the event judged last, as labels and as the engine reads them. The next event reuses the memory.
    pub(crate) labels: Labels,
    pub(crate) observation: Observation,
    pub(crate) provers: Provers,
    /// Counts labeled events, to tell one from another.
    pub(crate) turn: u64,
}

/// A labeled event, which may become part of a session.
#[derive(Clone, Debug)]
pub(crate) struct LabeledEvent {
    /// What the fact finder remembers of it once it is part of the session.
    pub(crate) notes: Notes,
    pub(crate) labels: Labels,
    /// The labels and the time, as the engine reads them.
    pub(crate) observation: Observation,
}

impl Judge {
    /// Compiles a policy. A policy that the loader accepts is never refused.
    pub fn new(policy: &Policy) -> Result<Judge, Vec<Problem>> {
        Judge::with_limits(policy, CacheLimits::DEFAULT)
    }

    /// Compiles a policy like [`new`](Judge::new), with other cache limits for each property.
    pub fn with_limits(policy: &Policy, limits: CacheLimits) -> Result<Judge, Vec<Problem>> {
        let (prepared, mut groups, risks) = prepare(policy, limits)?;
        let group = groups.remove(&History::Session).unwrap_or_else(|| MonitorGroup::new(limits));
        Ok(Judge::over(Arc::new(prepared), group, risks, SharedHistories::new(groups)))
    }

    fn over(prepared: Arc<PreparedPolicy>, group: MonitorGroup, risks: RiskGroup, shared: SharedHistories) -> Judge {
        Judge {
            id: Identity::new(),
            group,
            risks,
            shared,
            fact_finder: FactFinder::default(),
            labels: Labels::default(),
            observation: Observation::new(),
            provers: Provers::new(prepared),
            turn: 0,
        }
    }

    /// Returns a judge with the same policy for another thread. The two share no sessions and no histories across
    /// sessions.
    #[must_use]
    pub fn fork(&self) -> Judge {
        Judge::over(Arc::clone(self.prepared()), self.group.clone(), self.risks.clone(), self.shared.fork())
    }

    /// Returns a searcher for long texts that works without the judge. This judge and its forks know what it has found.
    pub fn early_recogniser(&self) -> EarlyRecogniser {
        EarlyRecogniser(Arc::clone(self.prepared()))
    }

    /// The properties, in the order of the policy.
    pub fn properties(&self) -> &[Arc<Property>] {
        &self.prepared().properties
    }

    /// The policy's name.
    pub fn policy(&self) -> &Text {
        &self.prepared().name
    }

    /// What the policy looks for and follows, for judging sessions by a later policy.
    pub fn policy_scope(&self) -> &PolicyScope {
        self.prepared().scope()
    }

    /// How the policy steers models.
    pub fn steering(&self) -> Steering {
        self.prepared().steering
    }

    /// The policy that it was compiled from.
    pub(crate) fn base_policy(&self) -> &Policy {
        &self.prepared().base
    }

    pub(crate) fn prepared(&self) -> &Arc<PreparedPolicy> {
        &self.provers.prepared
    }

    pub(crate) fn provers(&mut self) -> &mut Provers {
        &mut self.provers
    }

    /// Labels an event that may become part of a session.
    pub(crate) fn label(&mut self, state: &SessionState, event: &Event) -> LabeledEvent {
        self.turn += 1;
        let mut labels = std::mem::take(&mut self.labels);
        let mut observation = std::mem::take(&mut self.observation);
        let notes = self.fact_finder.label(&self.provers.prepared.plan, &state.context, event, &mut labels);
        self.group.make_ready(&labels, event.time, &mut observation);
        LabeledEvent { notes, labels, observation }
    }

    /// Labels a call that is not made yet.
    pub(crate) fn label_sketch(
        &mut self,
        state: &SessionState,
        sketch: &CallSketch,
        time: Option<Time>,
        is_annotated: bool,
    ) -> LabeledEvent {
        let mut labels = std::mem::take(&mut self.labels);
        let mut observation = std::mem::take(&mut self.observation);
        let (plan, context) = (&self.provers.prepared.plan, &state.context);
        self.fact_finder.label_sketch(plan, context, sketch, is_annotated, &mut labels);
        self.group.make_ready(&labels, time, &mut observation);
        LabeledEvent { notes: Notes::default(), labels, observation }
    }

    /// Takes back buffers for the next event.
    pub(crate) fn recycle(&mut self, labels: Labels, observation: Observation) {
        (self.labels, self.observation) = (labels, observation);
    }

    /// Advances a state by an event, and returns what the event violates.
    pub(crate) fn read(&mut self, standing: &mut TraceState, event: &LabeledEvent) -> Violations {
        let (group, prepared, mut violations) = (&mut self.group, &*self.provers.prepared, Violations::default());
        group.expire(standing, event.observation.time, prepared, &mut violations);
        group.observe(standing, &event.labels, &event.observation, prepared, &mut violations);
        violations
    }

    /// Advances a state that is one event behind another of the same session.
    pub(crate) fn catch_up(&mut self, behind: &mut TraceState, ahead: &TraceState, event: &LabeledEvent) {
        let (group, prepared) = (&mut self.group, &*self.provers.prepared);
        group.expire(behind, event.observation.time, prepared, &mut Violations::default());
        group.catch_up(behind, ahead, &event.labels, &event.observation, prepared);
    }

    /// Advances a state and its beliefs by an event; `counts` are the violations before it. Returns what the event
    /// violates, and the properties with a risk, by number, for which that is unknown.
    pub(crate) fn read_with_risks(
        &mut self,
        standing: &mut TraceState,
        beliefs: &mut [Belief],
        counts: &[ViolationCount],
        event: &LabeledEvent,
    ) -> (Violations, Vec<usize>) {
        let mut violations = self.read(standing, event);
        if self.risks.is_empty() {
            return (violations, Vec::new());
        }
        let risks = self.risks.read(beliefs, &event.labels, event.observation.time, &self.provers.prepared);
        let unknown = self.risks.weigh(&mut violations, &risks, counts);
        (violations, unknown)
    }

    /// Whether a property has a risk.
    pub(crate) fn has_risk(&self, property: usize) -> bool {
        self.risks.has(property)
    }

    /// Returns the risk that a session violates a property by its end, and the risk that the property allows; none if it
    /// has none.
    pub(crate) fn risk_at_end(&self, state: &SessionState, property: usize) -> Option<(ChanceRange, Chance)> {
        self.risks.risk_at_end(&state.beliefs, property)
    }

    /// Returns the states of the properties as data.
    pub(crate) fn save_monitors(&self, standing: &TraceState) -> lictor_logic::Snapshot {
        self.group.save(standing)
    }

    /// Returns the next deadline of a session.
    pub(crate) fn deadline(&self, state: &SessionState) -> Option<Time> {
        self.group.deadline(&state.standing)
    }

    /// Returns the next deadline of one property of a session.
    pub(crate) fn deadline_of(&self, state: &SessionState, property: usize) -> Option<Time> {
        self.group.deadline_of(&state.standing, self.monitor(property)?)
    }

    /// Returns what must still hold of a property, in words, and the facts that settle it, each alone or all of them.
    pub(crate) fn describe_obligation(
        &mut self,
        state: &mut SessionState,
        property: usize,
    ) -> Option<(String, Vec<SettlingFact>, bool)> {
        let id = self.monitor(property)?;
        let (words, facts, takes_all) = self.group.describe_obligation(&mut state.standing, id)?;
        let called_by = &self.prepared().called_by;
        let settling = |fact: Fact| {
            let tools = called_by.get(&*fact.name).cloned().unwrap_or_default();
            SettlingFact { fact: fact.to_string(), tools }
        };
        Some((words, facts.into_iter().map(settling).collect(), takes_all))
    }

    /// Returns the event labeled last, for the histories across sessions; `None` if no property needs them.
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
        Some(self.shared.history_event(prepared.id, whose, labels, summary, self.turn))
    }

    /// Returns the properties, by number, for which it is unknown whether an event violates them in a session.
    pub(crate) fn doubts(
        &mut self,
        standings: (&TraceState, &TraceState),
        trail: &Trail,
        event: &LabeledEvent,
        violations: &Violations,
    ) -> Vec<usize> {
        let prepared = self.provers.prepared.as_ref();
        self.group.doubts(standings, trail, (&event.labels, event.observation.time), violations, prepared)
    }

    /// Returns what an event would newly violate in its histories, and the properties for which that is unknown. The
    /// histories stay unchanged.
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

    /// Adds an event to its histories, and returns what it violates there.
    pub(crate) fn commit_shared(&mut self, history_event: HistoryEvent) -> Vec<(usize, Finding)> {
        self.shared.observe(history_event, &mut self.provers)
    }

    /// Advances the clocks of all histories across sessions, and returns the deadlines missed by then.
    ///
    /// Each history has a clock of its own. If a [guard](crate::guard::Guard) received its events at other times than they
    /// give, the clock is behind or ahead of `now` by that much: it continues from the latest of them.
    pub fn tick_histories(&mut self, now: Time) -> Vec<Finding> {
        let found = self.shared.tick(now, &mut self.provers);
        found.into_iter().map(|(_, finding)| finding).collect()
    }

    /// Returns the histories across sessions as data that survives a restart.
    pub fn save_histories(&self) -> SavedHistories {
        self.shared.save(self.prepared())
    }

    /// Returns the histories across sessions that were read or changed since the last call.
    pub fn take_touched_histories(&mut self) -> Vec<TouchedHistory> {
        let prepared = Arc::clone(self.prepared());
        self.shared.take_touched(&prepared)
    }

    /// Takes back histories that were [touched](Judge::take_touched_histories): they count as read since the last call.
    pub fn touch_histories(&mut self, keys: impl IntoIterator<Item = HistoryKey>) {
        self.shared.touch(keys);
    }

    /// Forgets the histories that were read or changed since the last call, and returns them. The caller has their state
    /// from before, and loads it at once or when they are [missing](Judge::take_missing_histories).
    pub fn forget_touched_histories(&mut self) -> Vec<HistoryKey> {
        self.shared.forget_touched()
    }

    /// Lets the caller load histories when they are needed: one that is not in memory is
    /// [missing](Judge::take_missing_histories), and does not simply begin.
    pub fn load_histories_on_demand(&mut self) {
        self.shared.missing.get_or_insert_default();
    }

    /// Returns the histories that were read since the last call and are not in memory. The findings since then are
    /// void: the caller restores or [begins](Judge::begin_history) these histories and judges again.
    pub fn take_missing_histories(&mut self) -> Vec<HistoryKey> {
        self.shared.take_missing()
    }

    /// Returns when the next deadline of a restored history passes.
    pub fn history_due(&self, saved: &SavedHistories) -> Option<Time> {
        self.shared.due_of(saved)
    }

    /// Begins a missing history that the caller does not have.
    pub fn begin_history(&mut self, missing: &HistoryKey) {
        self.shared.begin(missing);
    }

    /// Removes the unchanged histories that were idle longest from memory, so that about `most` of each kind stay.
    /// Returns the keys of those that were removed.
    pub fn make_room_for_histories(&mut self, most: usize) -> Vec<String> {
        self.shared.make_room(most)
    }

    /// Forgets which histories were read since the last call, for a caller that has the only copy of them.
    pub fn clear_consulted_histories(&mut self) {
        self.shared.clear_consulted();
    }

    /// Restores saved histories across sessions. They replace the present ones of the same key. The policy must have
    /// the properties they were saved with.
    pub fn restore_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.shared.restore(saved, &prepared)
    }

    /// Restores histories like [`restore_histories`](Judge::restore_histories), but from another policy: `from` is its
    /// fingerprint, none if it is this one. Its new and changed properties are [judged anew](crate::session::Session::migrate) over
    /// the moments of each history; histories that no property needs any more are dropped. `is_torn` means that events
    /// may have been decided since that the histories do not have: then their past is unknown.
    pub fn migrate_histories(
        &mut self,
        saved: &SavedHistories,
        from: Option<&str>,
        is_torn: bool,
        past: &PastPolicies,
    ) -> Result<PolicyMove, RestoreError> {
        let prepared = Arc::clone(self.prepared());
        self.shared.migrate(saved, (from, is_torn), past, &prepared)
    }

    /// Forgets all histories across sessions.
    pub fn clear_histories(&mut self) {
        self.shared = self.shared.fork();
    }

    /// Returns what must still hold, as a formula and in words.
    pub(crate) fn residual(&mut self, state: &mut SessionState, property: usize) -> Option<(String, String)> {
        self.group.residual(&mut state.standing, self.monitor(property)?)
    }

    /// Returns the monitor of a property that is judged over sessions.
    pub(crate) fn monitor(&self, property: usize) -> Option<lictor_logic::MonitorId> {
        let prepared = self.prepared();
        (prepared.properties[property].history == History::Session).then(|| prepared.monitors[property])
    }
}

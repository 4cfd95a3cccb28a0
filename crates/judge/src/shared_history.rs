//! Histories across sessions: of a person, a principal, an agent, or of all events.

use std::collections::{BTreeSet, HashMap};

use lictor_logic::{Time, TraceState};

use super::monitor_group::{MonitorGroup, Violations};
use super::prepare::MonitorGroups;
use super::prepared::{PreparedPolicy, Provers};
use crate::facts::{Labels, Owner, Whose};
use crate::finding::Finding;
use crate::history_set::{HistorySet, SharedHistory};
use crate::identity::Identity;
use crate::trail::{EventSummary, Trail, TrailEnd};

/// How many moments of one history are kept for witnesses. Verdicts do not need them: they are exact for any length.
const MAX_HISTORY_MOMENTS: usize = 100_000;

/// The properties judged over more than one session, and all their histories.
#[derive(Debug, Default)]
pub(super) struct SharedHistories {
    pub(super) kept: Vec<HistorySet>,
    /// The histories that were read, with the index of their kind.
    pub(super) consulted: Vec<(usize, Owner)>,
    /// The histories that were read and are not in memory, if they may be elsewhere.
    pub(super) missing: Option<BTreeSet<(usize, Owner)>>,
}

/// An event with what histories across sessions need of it.
#[derive(Clone, Debug)]
pub struct HistoryEvent {
    /// The owners of its histories, for each kind of history.
    owners: Vec<Vec<Owner>>,
    /// The policy that labeled it.
    pub(crate) policy: Identity,
    labels: Labels,
    pub(crate) summary: EventSummary,
    /// The turn at which its event was labeled.
    turn: u64,
    /// When it was received, if a clock said so.
    pub(crate) received: Option<Time>,
}

/// The histories that an event is part of already, for an event that occurs in several sessions.
#[derive(Clone, Debug, Default)]
pub struct EnteredHistories(BTreeSet<(usize, Owner)>);

impl HistoryEvent {
    /// Returns the event for the histories that it has not entered yet; none if it is part of all of them.
    pub fn enter_once(&self, entered: &mut EnteredHistories) -> Option<HistoryEvent> {
        let event = self.only(|kind, owner| !entered.0.contains(&(kind, owner.clone())));
        entered.0.extend(event.owners().map(|(kind, owner)| (kind, owner.clone())));
        let is_new = event.owners().next().is_some();
        is_new.then_some(event)
    }

    /// The owners of its histories, each with the index of its kind of history.
    pub(crate) fn owners(&self) -> impl Iterator<Item = (usize, &Owner)> {
        self.owners.iter().enumerate().flat_map(|(kind, owners)| owners.iter().map(move |owner| (kind, owner)))
    }

    /// Returns the event for some of its histories only.
    pub(crate) fn only(&self, is_kept: impl Fn(usize, &Owner) -> bool) -> HistoryEvent {
        let keep = |(kind, owners): (usize, &Vec<Owner>)| {
            owners.iter().filter(|owner| is_kept(kind, owner)).cloned().collect()
        };
        HistoryEvent { owners: self.owners.iter().enumerate().map(keep).collect(), ..self.clone() }
    }
}

impl SharedHistories {
    pub(super) fn new(groups: MonitorGroups) -> SharedHistories {
        let kept = groups.into_iter().map(|(history, group)| HistorySet::new(history, group)).collect();
        SharedHistories { kept, consulted: Vec::new(), missing: None }
    }

    /// Returns the same properties without any history.
    pub(super) fn fork(&self) -> SharedHistories {
        let mut fork = SharedHistories::new(self.kept.iter().map(|kept| (kept.history, kept.group.clone())).collect());
        fork.missing = self.missing.as_ref().map(|_| BTreeSet::new());
        fork
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn history_event(
        &self,
        policy: Identity,
        whose: &Whose,
        labels: Labels,
        summary: EventSummary,
        turn: u64,
    ) -> HistoryEvent {
        let session = summary.session.clone().unwrap_or_default();
        let owners = self.kept.iter().map(|kept| whose.histories(kept.history, &session)).collect();
        HistoryEvent { owners, policy, labels, summary, turn, received: None }
    }

    /// Returns what an event would violate, and the properties for which that is unknown. The histories stay unchanged.
    pub(super) fn preview(
        &mut self,
        history_event: &HistoryEvent,
        provers: &mut Provers,
    ) -> (Vec<(usize, Finding)>, Vec<usize>) {
        let (mut findings, mut doubts, nothing) = (Vec::new(), Vec::new(), Trail::default());
        for (place, owner) in history_event.owners() {
            self.consulted.push((place, owner.clone()));
            if let Some(missing) = self.missing.as_mut().filter(|_| !self.kept[place].has(owner)) {
                missing.insert((place, owner.clone()));
            }
        }
        for (kept, owners) in self.kept.iter_mut().zip(&history_event.owners) {
            for owner in owners {
                let (group, mut known) = kept.group_and_history(owner);
                let mut standing = match &mut known {
                    Some(shared_history) => {
                        shared_history.spare.take().unwrap_or_else(|| shared_history.standing.clone())
                    }
                    None => group.start(),
                };
                let trail = known.as_ref().map_or(&nothing, |shared_history| &shared_history.trail);
                let HistoryEvent { labels, summary, .. } = history_event;
                let mut violations = rule(group, &mut standing, labels, summary.time, provers);
                let blind = known.as_ref().map(|known| &*known.blind).unwrap_or_default();
                violations.broken.retain(|broken| !blind.contains(&broken.property));
                doubts.append(&mut provers.prepared.blind_doubts(blind, labels));
                let later = TrailEnd::event(labels, summary, &violations);
                findings.append(&mut trail.findings(provers, &violations.broken, later));
                let event = (labels, summary.time);
                let fresh;
                let before = match &known {
                    Some(shared_history) => &shared_history.standing,
                    None => {
                        fresh = group.start();
                        &fresh
                    }
                };
                doubts.append(&mut group.doubts((before, &standing), trail, event, &violations, &provers.prepared));
                if let Some(shared_history) = known {
                    shared_history.ahead = Some((history_event.turn, standing));
                }
            }
        }
        (findings, doubts)
    }

    /// Previews an event like [`preview`](SharedHistories::preview), after other hypothetical events. The histories are
    /// restored afterwards.
    pub(super) fn preview_after(
        &mut self,
        before: &[HistoryEvent],
        event: &HistoryEvent,
        provers: &mut Provers,
    ) -> (Vec<(usize, Finding)>, Vec<usize>) {
        let lost: Vec<BTreeSet<usize>> = self.kept.iter().map(|kept| kept.lost.clone()).collect();
        let mut histories: HashMap<(usize, Owner), (Option<SharedHistory>, bool)> = HashMap::new();
        for (place, owners) in before.iter().flat_map(|event| event.owners.iter().enumerate()) {
            for owner in owners {
                let kept = &self.kept[place];
                let known = || (kept.history(owner).cloned(), kept.is_changed(owner));
                histories.entry((place, owner.clone())).or_insert_with(known);
            }
        }
        for event in before {
            self.observe(event.clone(), provers);
        }
        let previewed = self.preview(event, provers);
        for ((place, owner), (history, was_changed)) in histories {
            self.kept[place].put_back(owner, history, was_changed);
        }
        self.kept.iter_mut().zip(lost).for_each(|(kept, lost)| kept.lost = lost);
        previewed
    }

    /// Adds an event, and returns what it violates.
    pub(super) fn observe(&mut self, history_event: HistoryEvent, provers: &mut Provers) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        let HistoryEvent { owners, labels, summary, turn, received, .. } = history_event;
        let lag = received.zip(summary.time).map(|(received, time)| received.0.saturating_sub(time.0));
        for (kept, owners) in self.kept.iter_mut().zip(owners) {
            for owner in owners {
                kept.change(&owner, |group, missed, lost, shared_history| {
                    // A clock never goes back: a late event does not postpone deadlines.
                    shared_history.lag = shared_history.lag.into_iter().chain(lag).min();
                    shared_history.take_in(missed, group, lost, &provers.prepared);
                    // If this event was previewed, the second state has read it already.
                    shared_history.spare =
                        shared_history.ahead.take().filter(|(foreseen, _)| *foreseen == turn).map(|(_, ahead)| ahead);
                    let mut violations = rule(group, &mut shared_history.standing, &labels, summary.time, provers);
                    violations.broken.retain(|broken| !shared_history.is_lost(lost, broken.property));
                    let later = TrailEnd::event(&labels, &summary, &violations);
                    findings.append(&mut shared_history.trail.findings(provers, &violations.broken, later));
                    shared_history.trail.append(&mut labels.clone(), summary.clone(), &violations);
                    shared_history.trail.keep(MAX_HISTORY_MOMENTS);
                });
            }
        }
        findings
    }

    /// Notes missing events, which may belong to any history or to none. As many positions as are missing also
    /// represent fewer, except for properties that count positions. Their times are unknown.
    pub(super) fn miss(&mut self, count: u64, prepared: &PreparedPolicy) {
        for kept in &mut self.kept {
            kept.missed = kept.missed.saturating_add(count);
            kept.lost.extend(kept.group.properties().iter().copied().filter(|property| {
                let parsed = &prepared.formulas[*property];
                parsed.measures_time || parsed.counts_positions
            }));
        }
    }

    /// Advances the clocks of all histories, each as far as its events are behind, and returns the missed deadlines.
    pub(super) fn tick(&mut self, now: Time, provers: &mut Provers) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        for kept in &mut self.kept {
            for owner in kept.due_by(now) {
                kept.change(&owner, |group, _, lost, shared_history| {
                    let SharedHistory { standing, spare, ahead, trail, lag, blind, .. } = shared_history;
                    let now = Time(now.0.saturating_sub(lag.unwrap_or_default()));
                    (*spare, *ahead) = (None, None);
                    let mut violations = Violations::default();
                    group.tick(standing, now, &provers.prepared, &mut violations);
                    violations.broken.retain(|it| !lost.contains(&it.property) && !blind.contains(&it.property));
                    findings.append(&mut trail.findings(provers, &violations.broken, TrailEnd::Time(now)));
                    trail.pass(now, &violations);
                });
            }
        }
        findings
    }
}

/// Advances a history by an event, and returns the violations.
fn rule(
    group: &mut MonitorGroup,
    standing: &mut TraceState,
    labels: &Labels,
    time: Option<Time>,
    provers: &Provers,
) -> Violations {
    let mut violations = Violations::default();
    group.expire(standing, time, &provers.prepared, &mut violations);
    group.observe_labels(standing, labels, time, &provers.prepared, &mut violations);
    violations
}

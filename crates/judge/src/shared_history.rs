//! Histories across sessions: of a person, a principal, an agent, or of all events.

use std::collections::{BTreeSet, HashMap};

use lictor_logic::{Time, TraceState};

use super::monitor_group::{MonitorGroup, Violations};
use super::prepare::MonitorGroups;
use super::prepared::{Prepared, Provers};
use crate::finding::Finding;
use crate::identity::Identity;
use crate::label::{Labels, Owner, Whose};
use crate::trail::{EventSummary, Later, Trail};
use lictor_policy::History;

/// How many moments of one history are kept for witnesses. Verdicts do not need them: they are exact for any length.
const MOST_RECORDED: usize = 100_000;

/// The properties judged over more than one session, and all their histories.
#[derive(Debug, Default)]
pub(super) struct SharedHistories {
    pub(super) kept: Vec<Kept>,
    /// The histories that were read, with the index of their kind.
    pub(super) consulted: Vec<(usize, Owner)>,
}

/// The properties that are judged over histories of one kind.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) history: History,
    pub(super) group: MonitorGroup,
    /// Owner names come from logs: the map has its own random seed, so that logs cannot force collisions.
    pub(super) shared: HashMap<Owner, SharedHistory>,
    /// How many missing events may belong to any of these histories, present or future.
    pub(super) missed: u64,
    /// The properties that have been undecidable since then.
    pub(super) lost: BTreeSet<usize>,
}

/// One history.
#[derive(Clone, Debug)]
pub(super) struct SharedHistory {
    /// Whether it changed since it was last saved.
    pub(super) is_changed: bool,
    pub(super) standing: TraceState,
    /// A second state of the same history, so that a preview copies nothing.
    spare: Option<TraceState>,
    /// The second state while it is ahead by a previewed event, with the turn of that event.
    ahead: Option<(u64, TraceState)>,
    pub(super) trail: Trail,
    /// By how much the clock of its events is behind the one that they were received by, in nanoseconds. Each history
    /// has its own, so that no event moves the clock of a history that it does not belong to.
    pub(super) lag: Option<i64>,
    /// How many of the missing events it has processed.
    missed: u64,
}

impl SharedHistory {
    pub(super) fn new(standing: TraceState, trail: Trail, lag: Option<i64>) -> SharedHistory {
        SharedHistory { is_changed: false, standing, spare: None, ahead: None, trail, lag, missed: 0 }
    }
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

impl HistoryEvent {
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
        let kept = |(history, group)| Kept { history, group, shared: HashMap::new(), missed: 0, lost: BTreeSet::new() };
        SharedHistories { kept: groups.into_iter().map(kept).collect(), consulted: Vec::new() }
    }

    /// Returns the same properties without any history.
    pub(super) fn fork(&self) -> SharedHistories {
        SharedHistories::new(self.kept.iter().map(|kept| (kept.history, kept.group.clone())).collect())
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
        let owners = history_event.owners.iter().enumerate();
        let consulted = owners.flat_map(|(place, owners)| owners.iter().map(move |owner| (place, owner.clone())));
        self.consulted.extend(consulted);
        for (Kept { group, shared, .. }, owners) in self.kept.iter_mut().zip(&history_event.owners) {
            for owner in owners {
                let mut known = shared.get_mut(owner);
                let mut standing = match &mut known {
                    Some(shared_history) => {
                        shared_history.spare.take().unwrap_or_else(|| shared_history.standing.clone())
                    }
                    None => group.start(),
                };
                let trail = known.as_ref().map_or(&nothing, |shared_history| &shared_history.trail);
                let HistoryEvent { labels, summary, .. } = history_event;
                let violations = rule(group, &mut standing, labels, summary.time, provers);
                let later = Later::event(labels, summary, &violations);
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
        let mut histories: HashMap<(usize, Owner), Option<SharedHistory>> = HashMap::new();
        for (place, owners) in before.iter().flat_map(|event| event.owners.iter().enumerate()) {
            for owner in owners {
                let known = || self.kept[place].shared.get(owner).cloned();
                histories.entry((place, owner.clone())).or_insert_with(known);
            }
        }
        for event in before {
            self.observe(event.clone(), provers);
        }
        let previewed = self.preview(event, provers);
        for ((place, owner), history) in histories {
            let shared = &mut self.kept[place].shared;
            match history {
                Some(history) => drop(shared.insert(owner, history)),
                None => drop(shared.remove(&owner)),
            }
        }
        self.kept.iter_mut().zip(lost).for_each(|(kept, lost)| kept.lost = lost);
        previewed
    }

    /// Adds an event, and returns what it violates.
    pub(super) fn observe(&mut self, history_event: HistoryEvent, provers: &mut Provers) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        let HistoryEvent { owners, labels, summary, turn, received, .. } = history_event;
        let lag = received.zip(summary.time).map(|(received, time)| received.0.saturating_sub(time.0));
        for (Kept { group, shared, missed, lost, .. }, owners) in self.kept.iter_mut().zip(owners) {
            for owner in owners {
                let shared_history =
                    shared.entry(owner).or_insert_with(|| SharedHistory::new(group.start(), Trail::default(), None));
                shared_history.is_changed = true;
                // A clock never goes back: a late event does not postpone deadlines.
                shared_history.lag = shared_history.lag.into_iter().chain(lag).min();
                shared_history.take_in(*missed, group, lost, &provers.prepared);
                // If this event was previewed, the second state has read it already.
                shared_history.spare =
                    shared_history.ahead.take().filter(|(foreseen, _)| *foreseen == turn).map(|(_, ahead)| ahead);
                let mut violations = rule(group, &mut shared_history.standing, &labels, summary.time, provers);
                violations.broken.retain(|broken| !lost.contains(&broken.property));
                let later = Later::event(&labels, &summary, &violations);
                findings.append(&mut shared_history.trail.findings(provers, &violations.broken, later));
                shared_history.trail.append(&mut labels.clone(), summary.clone(), &violations);
                shared_history.trail.keep(MOST_RECORDED);
            }
        }
        findings
    }

    /// Notes missing events, which may belong to any history or to none. As many positions as are missing also
    /// represent fewer, except for properties that count positions. Their times are unknown.
    pub(super) fn miss(&mut self, count: u64, prepared: &Prepared) {
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
        for Kept { group, shared, lost, .. } in &mut self.kept {
            let mut owners: Vec<(&Owner, &mut SharedHistory)> = shared.iter_mut().collect();
            owners.sort_unstable_by_key(|(owner, _)| *owner);
            for (_, SharedHistory { is_changed, standing, spare, ahead, trail, lag, .. }) in owners {
                let now = Time(now.0.saturating_sub(lag.unwrap_or_default()));
                if group.deadline(standing).is_none_or(|due| due > now) {
                    continue;
                }
                *is_changed = true;
                (*spare, *ahead) = (None, None);
                let mut violations = Violations::default();
                group.tick(standing, now, &provers.prepared, &mut violations);
                violations.broken.retain(|broken| !lost.contains(&broken.property));
                findings.append(&mut trail.findings(provers, &violations.broken, Later::Time(now)));
                trail.pass(now, &violations);
            }
        }
        findings
    }
}

impl SharedHistory {
    /// Processes the events that went missing since the last event of this history.
    fn take_in(&mut self, missed: u64, group: &mut MonitorGroup, lost: &mut BTreeSet<usize>, prepared: &Prepared) {
        if self.missed == missed {
            return;
        }
        (self.spare, self.ahead) = (None, None);
        // Their violations are dropped: only properties that count positions can be violated by any missing event, and
        // those are lost already.
        let given_up = group.miss(&mut self.standing, missed - self.missed, prepared, &mut Violations::default());
        lost.extend(given_up);
        self.missed = missed;
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

//! The histories of one kind that are in memory: which have changed, and which are due when.

use std::collections::{BTreeSet, HashMap};

use lictor_logic::{Time, TraceState};
use lictor_policy::History;

use crate::facts::Owner;
use crate::monitor_group::{MonitorGroup, Violations};
use crate::prepared::PreparedPolicy;
use crate::trail::Trail;

/// One history.
#[derive(Clone, Debug)]
pub(super) struct SharedHistory {
    pub(super) standing: TraceState,
    /// A second state of the same history, so that a preview copies nothing.
    pub(super) spare: Option<TraceState>,
    /// The second state while it is ahead by a previewed event, with the turn of that event.
    pub(super) ahead: Option<(u64, TraceState)>,
    pub(super) trail: Trail,
    /// By how much the clock of its events is behind the one that they were received by, in nanoseconds. Each history
    /// has its own, so that no event moves the clock of a history that it does not belong to.
    pub(super) lag: Option<i64>,
    /// The properties whose past cannot be told, by number.
    pub(super) blind: Box<[usize]>,
    /// How many of the missing events it has processed.
    missed: u64,
}

impl SharedHistory {
    pub(super) fn new(standing: TraceState, trail: Trail, lag: Option<i64>) -> SharedHistory {
        SharedHistory { standing, spare: None, ahead: None, trail, lag, blind: Box::default(), missed: 0 }
    }

    /// Sets the properties whose past cannot be told, by number.
    pub(super) fn with_blind(self, blind: Box<[usize]>) -> SharedHistory {
        SharedHistory { blind, ..self }
    }

    /// Whether a property cannot be decided: missing events made it `lost`, or its past cannot be told.
    pub(super) fn is_lost(&self, lost: &BTreeSet<usize>, property: usize) -> bool {
        lost.contains(&property) || self.blind.contains(&property)
    }

    /// Whether it has no events.
    pub(super) fn is_new(&self) -> bool {
        self.standing.positions() == 0 && self.standing.clock().is_none()
    }

    /// Processes the events that went missing since the last event of this history.
    pub(super) fn take_in(
        &mut self,
        missed: u64,
        group: &mut MonitorGroup,
        lost: &mut BTreeSet<usize>,
        prepared: &PreparedPolicy,
    ) {
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

/// The properties that are judged over histories of one kind, and the histories.
#[derive(Debug)]
pub(super) struct HistorySet {
    pub(super) history: History,
    pub(super) group: MonitorGroup,
    /// How many missing events may belong to any of these histories, present or future.
    pub(super) missed: u64,
    /// The properties that have been undecidable since then.
    pub(super) lost: BTreeSet<usize>,
    /// Owner names come from logs: the map has its own random seed, so that logs cannot force collisions.
    entries: HashMap<Owner, HistoryEntry>,
    /// The histories that have changed since they were last saved.
    changed: BTreeSet<Owner>,
    /// The histories by the time at which a deadline passes.
    due: BTreeSet<(Time, Owner)>,
    /// Counts changes and insertions, to find the histories that were idle longest.
    uses: u64,
}

#[derive(Debug)]
struct HistoryEntry {
    history: SharedHistory,
    /// Its time in the index.
    due: Option<Time>,
    /// Whether it has changed since it was last saved.
    is_changed: bool,
    /// The number of its last use.
    used: u64,
}

impl HistorySet {
    pub(super) fn new(history: History, group: MonitorGroup) -> HistorySet {
        HistorySet {
            history,
            group,
            missed: 0,
            lost: BTreeSet::new(),
            entries: HashMap::new(),
            changed: BTreeSet::new(),
            due: BTreeSet::new(),
            uses: 0,
        }
    }

    pub(super) fn has(&self, owner: &Owner) -> bool {
        self.entries.contains_key(owner)
    }

    pub(super) fn history(&self, owner: &Owner) -> Option<&SharedHistory> {
        self.entries.get(owner).map(|entry| &entry.history)
    }

    /// Returns all histories, by owner.
    pub(super) fn histories(&self) -> Vec<(&Owner, &SharedHistory)> {
        let mut all: Vec<_> = self.entries.iter().map(|(owner, entry)| (owner, &entry.history)).collect();
        all.sort_unstable_by_key(|(owner, _)| *owner);
        all
    }

    /// Returns the monitors and a history, for a preview; its verdicts and deadlines must not change.
    pub(super) fn group_and_history(&mut self, owner: &Owner) -> (&mut MonitorGroup, Option<&mut SharedHistory>) {
        (&mut self.group, self.entries.get_mut(owner).map(|entry| &mut entry.history))
    }

    /// Changes a history, which begins if it is not in memory. The change gets the monitors, the number of missing
    /// events, and the properties that these made undecidable.
    pub(super) fn change(
        &mut self,
        owner: &Owner,
        change: impl FnOnce(&mut MonitorGroup, u64, &mut BTreeSet<usize>, &mut SharedHistory),
    ) {
        let HistorySet { group, missed, lost, entries, changed, due, uses, .. } = self;
        if !entries.contains_key(owner) {
            let history = SharedHistory::new(group.start(), Trail::default(), None);
            entries.insert(owner.clone(), HistoryEntry { history, due: None, is_changed: false, used: 0 });
        }
        let Some(entry) = entries.get_mut(owner) else { return };
        change(group, *missed, lost, &mut entry.history);
        *uses += 1;
        entry.used = *uses;
        if !entry.is_changed {
            entry.is_changed = true;
            changed.insert(owner.clone());
        }
        let next = due_of(group, &entry.history);
        if next != entry.due {
            entry.due.map(|before| due.remove(&(before, owner.clone())));
            next.map(|next| due.insert((next, owner.clone())));
            entry.due = next;
        }
    }

    /// Adds an unchanged history in place of the present one.
    pub(super) fn insert(&mut self, owner: Owner, history: SharedHistory) {
        self.remove(&owner);
        let due = due_of(&self.group, &history);
        due.map(|due| self.due.insert((due, owner.clone())));
        self.uses += 1;
        self.entries.insert(owner, HistoryEntry { history, due, is_changed: false, used: self.uses });
    }

    pub(super) fn remove(&mut self, owner: &Owner) {
        self.changed.remove(owner);
        if let Some(due) = self.entries.remove(owner).and_then(|entry| entry.due) {
            self.due.remove(&(due, owner.clone()));
        }
    }

    /// Puts back a history as it was before a hypothetical change; none if it did not exist.
    pub(super) fn put_back(&mut self, owner: Owner, history: Option<SharedHistory>, was_changed: bool) {
        match history {
            Some(history) => self.insert(owner.clone(), history),
            None => self.remove(&owner),
        }
        if let Some(entry) = self.entries.get_mut(&owner).filter(|_| was_changed) {
            entry.is_changed = true;
            self.changed.insert(owner);
        }
    }

    pub(super) fn is_changed(&self, owner: &Owner) -> bool {
        self.entries.get(owner).is_some_and(|entry| entry.is_changed)
    }

    /// Returns the time at which the next deadline of a history passes, by the clock that its events are received by.
    pub(super) fn due(&self, owner: &Owner) -> Option<Time> {
        self.entries.get(owner)?.due
    }

    /// Returns the histories with a deadline up to a time, by owner.
    pub(super) fn due_by(&self, now: Time) -> Vec<Owner> {
        let mut owners: Vec<Owner> =
            self.due.iter().take_while(|(due, _)| *due <= now).map(|(_, owner)| owner.clone()).collect();
        owners.sort_unstable();
        owners
    }

    /// Returns the histories that have changed since the last call.
    pub(super) fn take_changed(&mut self) -> BTreeSet<Owner> {
        let changed = std::mem::take(&mut self.changed);
        for owner in &changed {
            if let Some(entry) = self.entries.get_mut(owner) {
                entry.is_changed = false;
            }
        }
        changed
    }

    /// Removes the unchanged histories that were idle longest, so that `most` stay, and returns their owners.
    pub(super) fn make_room(&mut self, most: usize) -> Vec<Owner> {
        if self.entries.len() <= most + most / 8 {
            return Vec::new();
        }
        let unchanged = self.entries.iter().filter(|(_, entry)| !entry.is_changed);
        let mut idle: Vec<(u64, Owner)> = unchanged.map(|(owner, entry)| (entry.used, owner.clone())).collect();
        idle.sort_unstable();
        idle.truncate(self.entries.len() - most);
        idle.iter().for_each(|(_, owner)| self.remove(owner));
        idle.into_iter().map(|(_, owner)| owner).collect()
    }
}

/// Returns the time at which the next deadline of a history passes.
fn due_of(group: &MonitorGroup, history: &SharedHistory) -> Option<Time> {
    let lag = history.lag.unwrap_or_default();
    group.deadline(&history.standing).map(|due| Time(due.0.saturating_add(lag)))
}

//! Histories across sessions, as data that survives a restart.

use std::collections::{BTreeMap, HashMap};

use lictor_logic::{Snapshot, Time};
use serde::{Deserialize, Serialize};

use super::prepared::PreparedPolicy;
use super::shared_history::SharedHistories;
use super::{Judge, SessionState, ViolationCount};
use crate::facts::Owner;
use crate::facts::{Context, SavedContext};
use crate::history_set::{HistorySet, SharedHistory};
use crate::past::{PastPolicies, PolicyMove, PolicyScope};
use crate::rebuild::Rebuilt;
use crate::restore_error::RestoreError;
use crate::risk::SavedBeliefs;
use crate::trail::{SavedTrail, Trail};
use lictor_json::Text;
use lictor_policy::History;

/// The version of the format that is written. The first did not note which events came with facts.
const VERSION: u32 = 2;
const FIRST_VERSION: u32 = 1;

/// How many moments of a history are saved if it is saved at every event.
const MAX_SAVED_MOMENTS: usize = 200;

/// Histories across sessions. They hold the facts and sources of events, and content only if the judge shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedHistories {
    version: u32,
    histories: Vec<SavedHistory>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedHistory {
    history: History,
    owner: Owner,
    standing: Snapshot,
    trail: SavedTrail,
    /// By how much the clock of its events is behind the one that they were received by, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<i64>,
    /// The properties whose past cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blind: Vec<Text>,
}

/// A history across sessions that was read or changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TouchedHistory {
    /// Its key.
    pub key: HistoryKey,
    /// Its state, with its last moments only; none if it was read and does not exist.
    pub saved: Option<SavedHistories>,
    /// The time at which its next deadline passes.
    pub due: Option<Time>,
}

/// The key of a history across sessions.
#[derive(Clone, Debug)]
pub struct HistoryKey {
    text: String,
    place: usize,
    owner: Owner,
}

impl HistoryKey {
    /// Returns the key as text, by which a store keeps the history.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl HistorySet {
    fn save(&self, owner: &Owner, known: &SharedHistory, trail: SavedTrail, prepared: &PreparedPolicy) -> SavedHistory {
        let blind = known.blind.iter().map(|property| prepared.properties[*property].id.clone()).collect();
        let standing = self.group.save(&known.standing);
        SavedHistory { history: self.history, owner: owner.clone(), standing, trail, lag: known.lag, blind }
    }
}

impl SharedHistories {
    pub(super) fn save(&self, prepared: &PreparedPolicy) -> SavedHistories {
        let mut histories = Vec::new();
        for kept in &self.kept {
            for (owner, known) in kept.histories() {
                histories.push(kept.save(owner, known, known.trail.save(prepared, 0), prepared));
            }
        }
        SavedHistories { version: VERSION, histories }
    }

    /// Returns the histories that were read or changed since the last call.
    pub(super) fn take_touched(&mut self, prepared: &PreparedPolicy) -> Vec<TouchedHistory> {
        let touched = self.take_touched_owners();
        let saved = |(text, (place, owner)): (String, (usize, Owner))| {
            let kept = &self.kept[place];
            let due = kept.due(&owner);
            let saved = kept.history(&owner).filter(|history| !history.is_new()).map(|known| {
                let trail = known.trail.save_last(prepared, MAX_SAVED_MOMENTS);
                SavedHistories { version: VERSION, histories: vec![kept.save(&owner, known, trail, prepared)] }
            });
            TouchedHistory { key: HistoryKey { text, place, owner }, saved, due }
        };
        touched.into_iter().map(saved).collect()
    }

    /// Forgets the histories that were read or changed since the last call, and returns them.
    pub(super) fn forget_touched(&mut self) -> Vec<HistoryKey> {
        let touched = self.take_touched_owners();
        touched.values().for_each(|(place, owner)| self.kept[*place].remove(owner));
        touched.into_iter().map(|(text, (place, owner))| HistoryKey { text, place, owner }).collect()
    }

    /// Takes note that histories were read, as if they were read now.
    pub(super) fn touch(&mut self, keys: impl IntoIterator<Item = HistoryKey>) {
        self.consulted.extend(keys.into_iter().map(|key| (key.place, key.owner)));
    }

    fn take_touched_owners(&mut self) -> BTreeMap<String, (usize, Owner)> {
        let consulted = std::mem::take(&mut self.consulted).into_iter();
        let kinds = self.kept.iter_mut().enumerate();
        let changed = kinds.flat_map(|(place, kept)| kept.take_changed().into_iter().map(move |owner| (place, owner)));
        let touched: Vec<(usize, Owner)> = consulted.chain(changed.collect::<Vec<_>>()).collect();
        touched.into_iter().map(|(place, owner)| (owner.key(self.kept[place].history), (place, owner))).collect()
    }

    /// Returns the next time at which a deadline of these histories passes, if they are in memory.
    pub(super) fn due_of(&self, saved: &SavedHistories) -> Option<Time> {
        let due = |saved: &SavedHistory| {
            let set = self.kept.iter().find(|kept| kept.history == saved.history)?;
            set.due(&saved.owner)
        };
        saved.histories.iter().filter_map(due).min()
    }

    /// Adds a missing history that does not exist elsewhere, so that it begins.
    pub(super) fn begin(&mut self, missing: &HistoryKey) {
        let kept = &mut self.kept[missing.place];
        if !kept.has(&missing.owner) {
            let history = SharedHistory::new(kept.group.start(), Trail::default(), None);
            kept.insert(missing.owner.clone(), history);
        }
    }

    /// Returns the histories that were read since the last call and are not in memory.
    pub(super) fn take_missing(&mut self) -> Vec<HistoryKey> {
        let missing = self.missing.as_mut().map(std::mem::take).unwrap_or_default().into_iter();
        missing.map(|(place, owner)| HistoryKey { text: owner.key(self.kept[place].history), place, owner }).collect()
    }

    /// Removes the unchanged histories that were idle longest, so that `most` of each kind stay, and returns their keys.
    pub(super) fn make_room(&mut self, most: usize) -> Vec<String> {
        let removed = |kept: &mut HistorySet| {
            let owners = kept.make_room(most);
            owners.into_iter().map(|owner| owner.key(kept.history)).collect::<Vec<_>>()
        };
        self.kept.iter_mut().flat_map(removed).collect()
    }

    /// Forgets which histories were read, for a caller that need not save them.
    pub(super) fn clear_consulted(&mut self) {
        self.consulted.clear();
    }

    /// Restores saved histories, all or none. They replace the present ones of the same key.
    pub(super) fn restore(&mut self, saved: &SavedHistories, prepared: &PreparedPolicy) -> Result<(), RestoreError> {
        let refuse = |message: String| Err(RestoreError::new(message));
        saved.check_version()?;
        let mut restored: Vec<HashMap<Owner, SharedHistory>> = self.kept.iter().map(|_| HashMap::new()).collect();
        for saved in &saved.histories {
            let Some(place) = self.kept.iter().position(|kept| kept.history == saved.history) else {
                return refuse(format!("no property of the policy has the history {:?}", saved.history));
            };
            let standing = match self.kept[place].group.restore(&saved.standing) {
                Ok(standing) => standing,
                Err(error) => return refuse(format!("the histories were kept by another policy: {error}")),
            };
            let trail = Trail::load(Text::default(), &saved.trail, prepared, &PastPolicies::default());
            let history = SharedHistory::new(standing, trail, saved.lag);
            restored[place].insert(saved.owner.clone(), history.with_blind(prepared.places(&saved.blind)));
        }
        self.take_over(restored);
        Ok(())
    }

    /// Restores histories of another policy, and judges its new and changed properties over their moments. Histories that
    /// no property needs any more are dropped.
    pub(super) fn migrate(
        &mut self,
        saved: &SavedHistories,
        (from, is_torn): (Option<&str>, bool),
        past: &PastPolicies,
        prepared: &PreparedPolicy,
    ) -> Result<PolicyMove, RestoreError> {
        saved.check_version()?;
        let (mut all, is_old) = (Rebuilt::default(), saved.version == FIRST_VERSION);
        let scope = from.and_then(|from| past.scope(from)).map(std::convert::AsRef::as_ref);
        let mut restored: Vec<HashMap<Owner, SharedHistory>> = self.kept.iter().map(|_| HashMap::new()).collect();
        for saved in &saved.histories {
            let Some(place) = self.kept.iter().position(|kept| kept.history == saved.history) else { continue };
            let group = &mut self.kept[place].group;
            let (mut standing, begun) = group
                .migrate(&saved.standing)
                .map_err(|error| RestoreError::new(format!("the histories are damaged: {error}")))?;
            let mut trail = saved.trail.clone();
            from.into_iter().for_each(|from| trail.close_era(from, is_old));
            let mut trail = Trail::load(Text::default(), &trail, prepared, past);
            let mut rebuilt = group.rebuild(&mut standing, &mut trail, begun, scope, false, prepared);
            if is_torn {
                rebuilt.blind_all(group.properties());
            }
            let old = prepared.places(&saved.blind).into_iter().filter(|it| !rebuilt.properties.contains(it));
            let blind = old.chain(rebuilt.blind.iter().copied()).collect();
            let history = SharedHistory::new(standing, trail, saved.lag);
            restored[place].insert(saved.owner.clone(), history.with_blind(blind));
            all.extend(rebuilt);
        }
        self.take_over(restored);
        Ok(all.describe(prepared))
    }

    fn take_over(&mut self, restored: Vec<HashMap<Owner, SharedHistory>>) {
        for (kept, shared) in self.kept.iter_mut().zip(restored) {
            shared.into_iter().for_each(|(owner, history)| kept.insert(owner, history));
        }
    }
}

impl SavedHistories {
    fn check_version(&self) -> Result<(), RestoreError> {
        if (FIRST_VERSION..=VERSION).contains(&self.version) {
            return Ok(());
        }
        Err(RestoreError::new(format!(
            "the histories have version {}, and this version of Lictor reads up to {VERSION}; use a version that is as new",
            self.version
        )))
    }

    /// Returns the kinds of these histories.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = History> {
        self.histories.iter().map(|saved| saved.history)
    }

    /// Returns the fingerprints of the policies that judged them before the last one.
    pub fn past_policies(&self) -> impl Iterator<Item = &str> {
        self.histories.iter().flat_map(|history| history.trail.past_policies())
    }
}

/// The state of a session, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedState {
    standing: Snapshot,
    context: SavedContext,
    steps: u32,
    /// The violated properties: the step of the first violation, and how often.
    counts: Vec<(Text, u32, u32)>,
    /// The properties that missing events made undecidable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<Text>,
    /// The beliefs of the properties with a risk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beliefs: SavedBeliefs,
    /// The properties whose past cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blind: Vec<Text>,
}

impl SavedState {
    /// How many events the session had.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }
}

impl Judge {
    pub(crate) fn save_track(&self, state: &SessionState) -> SavedState {
        let broken = self.properties().iter().zip(&state.counts).filter(|(_, tally)| tally.count > 0);
        SavedState {
            standing: self.group.save(&state.standing),
            context: state.context.save(),
            steps: state.steps,
            counts: broken.map(|(property, tally)| (property.id.clone(), tally.first, tally.count)).collect(),
            lost: self.lost_names(state),
            beliefs: self.risks.save(&state.beliefs, self.properties()),
            blind: state.blind.iter().flatten().map(|property| self.properties()[*property].id.clone()).collect(),
        }
    }

    pub(crate) fn restore_track(&mut self, saved: &SavedState) -> Result<SessionState, RestoreError> {
        let standing = self
            .group
            .restore(&saved.standing)
            .map_err(|error| RestoreError::new(format!("the session was judged by another policy: {error}")))?;
        let mut counts = vec![ViolationCount::default(); self.properties().len()];
        for (id, first, count) in &saved.counts {
            let place = self.properties().iter().position(|property| property.id == *id);
            let Some(tally) = place.and_then(|place| counts.get_mut(place)) else {
                let message = format!("the session was judged by another policy: it has a property `{id}`");
                return Err(RestoreError::new(message));
            };
            *tally = ViolationCount { first: *first, count: *count };
        }
        let beliefs = self.risks.restore(&saved.beliefs, &self.provers.prepared.properties)?;
        let lost = self.lost_places(&saved.lost, &[]);
        let blind = Some(self.prepared().places(&saved.blind)).filter(|blind| !blind.is_empty());
        let (judge, context) = (self.id, Context::load(&saved.context));
        Ok(SessionState { judge, standing, beliefs, context, steps: saved.steps, counts, lost, blind })
    }

    /// Restores a session state of another policy, and judges its trail anew for the properties that `from` did not have.
    pub(crate) fn migrate_track(
        &mut self,
        saved: &SavedState,
        trail: &mut Trail,
        from: Option<&PolicyScope>,
    ) -> Result<(SessionState, Rebuilt), RestoreError> {
        let (mut standing, begun) = self
            .group
            .migrate(&saved.standing)
            .map_err(|error| RestoreError::new(format!("the session is damaged: {error}")))?;
        let prepared = std::sync::Arc::clone(self.prepared());
        let mut context = Context::load(&saved.context);
        // What was said before was not noted for a policy that did not ask who said it first.
        let is_asked_anew = from.is_none_or(|from| !from.has_same_fact(prepared.scope(), "argument_from"));
        if prepared.plan.wants.argument_from.is_some() && is_asked_anew && trail.len() > 0 {
            context.lose_sayings();
        }
        let rebuilt = self.group.rebuild(&mut standing, trail, begun, from, context.is_torn(), &prepared);
        let is_rebuilt = |property: &usize| rebuilt.properties.contains(property);
        let tally = |(place, property): (usize, &std::sync::Arc<lictor_policy::Property>)| {
            if is_rebuilt(&place) {
                let mut broken = rebuilt.broken.iter().filter(|(property, _)| *property == place).peekable();
                let first = broken.peek().map_or(0, |(_, step)| *step);
                return ViolationCount { first, count: broken.count() as u32 };
            }
            let known = saved.counts.iter().find(|(id, ..)| *id == property.id);
            known.map_or_else(ViolationCount::default, |(_, first, count)| ViolationCount {
                first: *first,
                count: *count,
            })
        };
        let counts = prepared.properties.iter().enumerate().map(tally).collect();
        let beliefs = self.risks.migrate(&saved.beliefs, &prepared.properties);
        let lost = self.lost_places(&saved.lost, &rebuilt.properties);
        let old = prepared.places(&saved.blind).into_iter();
        let blind: Box<[usize]> =
            old.filter(|property| !is_rebuilt(property)).chain(rebuilt.blind.iter().copied()).collect();
        let blind = (!blind.is_empty()).then_some(blind);
        let (judge, steps) = (self.id, saved.steps);
        Ok((SessionState { judge, standing, beliefs, context, steps, counts, lost, blind }, rebuilt))
    }
}

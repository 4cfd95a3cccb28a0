//! Histories across sessions, as data that survives a restart.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use lictor_logic::Snapshot;
use serde::{Deserialize, Serialize};

use super::prepared::Prepared;
use super::shared_history::{Kept, SharedHistories, SharedHistory};
use super::{Judge, SessionState, ViolationCount};
use crate::label::Owner;
use crate::label::{Context, SavedContext};
use crate::trail::{SavedTrail, Trail};
use lictor_json::Text;
use lictor_policy::History;

/// The version of the format that is written.
const VERSION: u32 = 1;

/// How many moments of a history are saved if it is saved at every event.
const MOST_SAVED: usize = 200;

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
}

/// Why saved data cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreError {
    message: String,
}

impl RestoreError {
    pub(crate) fn new(message: impl Into<String>) -> RestoreError {
        RestoreError { message: message.into() }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RestoreError {}

impl SharedHistories {
    pub(super) fn save(&self, prepared: &Prepared) -> SavedHistories {
        let mut histories = Vec::new();
        for Kept { history, group, shared, .. } in &self.kept {
            let mut of_kind: Vec<(&Owner, &SharedHistory)> = shared.iter().collect();
            of_kind.sort_unstable_by_key(|(owner, _)| *owner);
            for (owner, SharedHistory { standing, trail, lag, .. }) in of_kind {
                let (history, owner, standing) = (*history, owner.clone(), group.save(standing));
                histories.push(SavedHistory { history, owner, standing, trail: trail.save(prepared, 0), lag: *lag });
            }
        }
        SavedHistories { version: VERSION, histories }
    }

    /// Returns the histories that were read or changed since the last call, each under its own key; `None` for one that
    /// was read and does not exist.
    pub(super) fn take_touched(&mut self, prepared: &Prepared) -> Vec<(String, Option<SavedHistories>)> {
        let mut touched = BTreeMap::new();
        for (place, owner) in std::mem::take(&mut self.consulted) {
            if let Some(kept) = self.kept.get(place) {
                touched.insert(owner.key(kept.history), (place, owner));
            }
        }
        for (place, kept) in self.kept.iter_mut().enumerate() {
            for (owner, shared_history) in
                kept.shared.iter_mut().filter(|(_, shared_history)| shared_history.is_changed)
            {
                shared_history.is_changed = false;
                touched.insert(owner.key(kept.history), (place, owner.clone()));
            }
        }
        let saved = |(place, owner): (usize, Owner)| {
            let Kept { history, group, shared, .. } = &self.kept[place];
            let SharedHistory { standing, trail, lag, .. } = shared.get(&owner)?;
            let (standing, trail) = (group.save(standing), trail.save_last(prepared, MOST_SAVED));
            let saved = SavedHistory { history: *history, owner, standing, trail, lag: *lag };
            Some(SavedHistories { version: VERSION, histories: vec![saved] })
        };
        touched.into_iter().map(|(key, of)| (key, saved(of))).collect()
    }

    /// Forgets which histories were read, for a caller that need not save them.
    pub(super) fn clear_consulted(&mut self) {
        self.consulted.clear();
    }

    /// Restores saved histories, all or none. They replace the present ones of the same key.
    pub(super) fn restore(&mut self, saved: &SavedHistories, prepared: &Prepared) -> Result<(), RestoreError> {
        let refuse = |message: String| Err(RestoreError { message });
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
            let trail = Trail::load(Text::default(), &saved.trail, prepared);
            restored[place].insert(saved.owner.clone(), SharedHistory::new(standing, trail, saved.lag));
        }
        self.take_over(restored);
        Ok(())
    }

    /// Restores histories of another policy. New properties start here; histories that no property needs any more are
    /// dropped.
    pub(super) fn migrate(&mut self, saved: &SavedHistories, prepared: &Prepared) -> Result<(), RestoreError> {
        saved.check_version()?;
        let mut restored: Vec<HashMap<Owner, SharedHistory>> = self.kept.iter().map(|_| HashMap::new()).collect();
        for saved in &saved.histories {
            let Some(place) = self.kept.iter().position(|kept| kept.history == saved.history) else { continue };
            let (standing, begun) = self.kept[place]
                .group
                .migrate(&saved.standing)
                .map_err(|error| RestoreError { message: format!("the histories are damaged: {error}") })?;
            let mut trail = Trail::load(Text::default(), &saved.trail, prepared);
            trail.begin(begun);
            restored[place].insert(saved.owner.clone(), SharedHistory::new(standing, trail, saved.lag));
        }
        self.take_over(restored);
        Ok(())
    }

    fn take_over(&mut self, restored: Vec<HashMap<Owner, SharedHistory>>) {
        for (kept, shared) in self.kept.iter_mut().zip(restored) {
            kept.shared.extend(shared);
        }
    }
}

impl SavedHistories {
    fn check_version(&self) -> Result<(), RestoreError> {
        if self.version == VERSION {
            return Ok(());
        }
        let message = format!("the histories have version {}, this is version {VERSION}", self.version);
        Err(RestoreError { message })
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
        }
    }

    pub(crate) fn restore_track(&mut self, saved: &SavedState) -> Result<SessionState, RestoreError> {
        let standing = self
            .group
            .restore(&saved.standing)
            .map_err(|error| RestoreError { message: format!("the session was judged by another policy: {error}") })?;
        let mut counts = vec![ViolationCount::default(); self.properties().len()];
        for (id, first, count) in &saved.counts {
            let place = self.properties().iter().position(|property| property.id == *id);
            let Some(tally) = place.and_then(|place| counts.get_mut(place)) else {
                let message = format!("the session was judged by another policy: it has a property `{id}`");
                return Err(RestoreError { message });
            };
            *tally = ViolationCount { first: *first, count: *count };
        }
        let lost = self.lost_places(&saved.lost, &[]);
        let (judge, context) = (self.id, Context::load(&saved.context));
        Ok(SessionState { judge, standing, context, steps: saved.steps, counts, lost })
    }

    /// Restores a session state of another policy, and returns the numbers of the properties that start here.
    pub(crate) fn migrate_track(&mut self, saved: &SavedState) -> Result<(SessionState, Vec<usize>), RestoreError> {
        let (standing, begun) = self
            .group
            .migrate(&saved.standing)
            .map_err(|error| RestoreError { message: format!("the session is damaged: {error}") })?;
        let tally = |(place, property): (usize, &std::sync::Arc<lictor_policy::Property>)| {
            let known = saved.counts.iter().find(|(id, ..)| *id == property.id && !begun.contains(&place));
            known.map_or_else(ViolationCount::default, |(_, first, count)| ViolationCount {
                first: *first,
                count: *count,
            })
        };
        let counts = self.properties().iter().enumerate().map(tally).collect();
        let lost = self.lost_places(&saved.lost, &begun);
        let (judge, context) = (self.id, Context::load(&saved.context));
        Ok((SessionState { judge, standing, context, steps: saved.steps, counts, lost }, begun))
    }
}

//! A session as data that survives a restart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Session, SessionError};
use crate::trail::{SavedMoments, SavedTrail, Trail};
use crate::{Judge, PastPolicies, PolicyMove, RestoreError, SavedState};
use lictor_json::Text;

/// The version of the format that is written. The first did not note which events came with facts.
const VERSION: u32 = 2;
const FIRST_VERSION: u32 = 1;

/// A session as data: its state, and its moments from some point on. It holds the facts and sources of events. It holds
/// content only if properties ask who said something first, or if witnesses show content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedSession {
    version: u32,
    name: Text,
    state: SavedState,
    shows_content: bool,
    trail: SavedTrail,
    /// Whether events are missing right before the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_torn: bool,
}

impl SavedSession {
    /// Takes out the moments.
    pub(crate) fn take_moments(&mut self) -> SavedMoments {
        self.trail.take_moments()
    }

    /// Puts the saved parts back; `total` is how many moments there were. `false` if some are missing.
    pub(crate) fn put_moments(&mut self, parts: impl IntoIterator<Item = SavedMoments>, total: usize) -> bool {
        self.trail.put_moments(parts, total)
    }

    fn check_version(&self) -> Result<(), RestoreError> {
        if (FIRST_VERSION..=VERSION).contains(&self.version) {
            return Ok(());
        }
        Err(RestoreError::new(format!(
            "the session has version {}, and this version of Lictor reads up to {VERSION}; use a version that is as new",
            self.version
        )))
    }

    /// Returns the fingerprints of the policies that judged it before the last one.
    pub(crate) fn past_policies(&self) -> impl Iterator<Item = &str> {
        self.trail.past_policies()
    }
}

impl Session {
    /// How many moments it has had.
    pub fn moments(&self) -> usize {
        self.trail.len()
    }

    /// Returns the session as data, with its moments from `from` on.
    ///
    /// # Errors
    ///
    /// The session belongs to another judge.
    pub fn save(&self, judge: &Judge, from: usize) -> Result<SavedSession, SessionError> {
        self.check_judge(judge)?;
        Ok(self.to_saved(judge, from))
    }

    pub(crate) fn to_saved(&self, judge: &Judge, from: usize) -> SavedSession {
        SavedSession {
            version: VERSION,
            name: self.name().clone(),
            state: judge.save_track(&self.state),
            shows_content: self.shows_content,
            trail: self.trail.save(judge.prepared(), from),
            is_torn: self.is_torn,
        }
    }

    /// Restores a session. The policy must be the one it was saved with.
    pub fn restore(judge: &mut Judge, saved: &SavedSession) -> Result<Session, RestoreError> {
        Session::restore_after(judge, saved, "", &PastPolicies::default())
    }

    /// Restores a session that earlier policies judged, too. `policy` is the fingerprint of its policy.
    pub fn restore_after(
        judge: &mut Judge,
        saved: &SavedSession,
        policy: &str,
        past: &PastPolicies,
    ) -> Result<Session, RestoreError> {
        saved.check_version()?;
        let state = judge.restore_track(&saved.state)?;
        let mut known = Cow::Borrowed(&saved.trail);
        if saved.version == FIRST_VERSION && !policy.is_empty() {
            known.to_mut().close_era(policy, true);
        }
        let trail = Trail::load(saved.name.clone(), &known, judge.prepared(), past);
        Ok(Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) })
    }

    /// Restores a session that was judged by another policy. Properties with the same formula over the same facts
    /// continue; the others are judged anew over the moments of the session. `from` is the fingerprint of the other
    /// policy. What policies that `past` does not have looked for is not known.
    pub fn migrate(
        judge: &mut Judge,
        saved: &SavedSession,
        from: &str,
        past: &PastPolicies,
    ) -> Result<(Session, PolicyMove), RestoreError> {
        saved.check_version()?;
        let mut trail = saved.trail.clone();
        trail.close_era(from, saved.version == FIRST_VERSION);
        let mut trail = Trail::load(saved.name.clone(), &trail, judge.prepared(), past);
        let (state, rebuilt) = judge.migrate_track(&saved.state, &mut trail, past.scope(from).map(AsRef::as_ref))?;
        let moved = rebuilt.describe(judge.prepared());
        // A policy without histories across sessions did not note whose they are.
        let is_torn = saved.is_torn
            || (!judge.shared.is_empty()
                && saved.state.steps() > 0
                && !past.scope(from).is_some_and(|it| it.has_histories()));
        Ok((Session { is_torn, ..Session::at(state, trail, saved.shows_content) }, moved))
    }

    /// Restores a session with a judge that has some properties more or fewer. Those that it does not have begin with its
    /// next event.
    pub(crate) fn restore_beside(judge: &mut Judge, saved: &SavedSession) -> Result<Session, RestoreError> {
        saved.check_version()?;
        let (state, begun) = judge.migrate_track(&saved.state, &mut Trail::default(), None)?;
        let mut trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared(), &PastPolicies::default());
        trail.begin(begun.properties);
        Ok(Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) })
    }
}

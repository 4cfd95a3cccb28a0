//! A session as data that survives a restart.

use serde::{Deserialize, Serialize};

use super::{Session, SessionError};
use crate::trail::{SavedMoments, SavedTrail, Trail};
use crate::{Judge, RestoreError, SavedState};
use lictor_json::Text;

/// The version of the format that is written.
const VERSION: u32 = 1;

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
        if self.version == VERSION {
            return Ok(());
        }
        Err(RestoreError::new(format!("the session has version {}, this is version {VERSION}", self.version)))
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
        saved.check_version()?;
        let state = judge.restore_track(&saved.state)?;
        let trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared());
        Ok(Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) })
    }

    /// Restores a session that was judged by another policy. Properties with the same formula continue; the others
    /// start here, and are returned by name.
    pub fn migrate(judge: &mut Judge, saved: &SavedSession) -> Result<(Session, Vec<Text>), RestoreError> {
        saved.check_version()?;
        let (state, begun) = judge.migrate_track(&saved.state)?;
        let mut trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared());
        let names = begun.iter().map(|property| judge.properties()[*property].id.clone()).collect();
        trail.begin(begun);
        Ok((Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) }, names))
    }
}

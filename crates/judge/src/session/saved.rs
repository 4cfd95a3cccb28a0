//! A session as data that outlives the process.

use serde::{Deserialize, Serialize};

use super::Session;
use crate::trail::{SavedMoments, SavedTrail, Trail};
use crate::{Judge, RestoreError, SavedState};
use lictor_json::Text;

/// The version of the format that is written.
const VERSION: u32 = 1;

/// A session as data: where it stands, and what happened from some moment on. It holds facts and places of events;
/// what was said only as far as properties ask who said something first, and where witnesses show content.
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
    /// Takes out what happened.
    pub(crate) fn take_moments(&mut self) -> SavedMoments {
        self.trail.take_moments()
    }

    /// Puts back what happened in all parts, when there were so many moments in all. `false` if some are missing.
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

    /// The session as data, with what happened from a moment on.
    pub fn save(&self, judge: &Judge, from: usize) -> SavedSession {
        SavedSession {
            version: VERSION,
            name: self.name().clone(),
            state: judge.save_track(&self.state),
            shows_content: self.shows_content,
            trail: self.trail.save(judge.prepared(), from),
            is_torn: self.is_torn,
        }
    }

    /// Goes on with a session. The policy must be the one it was saved with.
    pub fn restore(judge: &mut Judge, saved: &SavedSession) -> Result<Session, RestoreError> {
        saved.check_version()?;
        let state = judge.restore_track(&saved.state)?;
        let trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared());
        Ok(Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) })
    }

    /// Goes on with a session that was judged by another policy. Properties whose formulas are in both go on where they
    /// stand; the others begin here, and are named.
    pub fn migrate(judge: &mut Judge, saved: &SavedSession) -> Result<(Session, Vec<Text>), RestoreError> {
        saved.check_version()?;
        let (state, begun) = judge.migrate_track(&saved.state)?;
        let mut trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared());
        let names = begun.iter().map(|property| judge.properties()[*property].id.clone()).collect();
        trail.begin(begun);
        Ok((Session { is_torn: saved.is_torn, ..Session::at(state, trail, saved.shows_content) }, names))
    }
}

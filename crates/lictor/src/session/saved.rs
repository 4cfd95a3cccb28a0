//! A session as data that outlives the process.

use serde::{Deserialize, Serialize};

use super::Session;
use crate::json::Text;
use crate::judge::{Judge, RestoreError, SavedTrack};
use crate::trail::{SavedTrail, Trail};

/// The version of the format that is written.
const VERSION: u32 = 1;

/// A session as data: where it stands, and what happened from some moment on. It holds facts and places of events;
/// what was said only as far as properties ask who said something first, and where witnesses show content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedSession {
    version: u32,
    name: Text,
    track: SavedTrack,
    shows_content: bool,
    trail: SavedTrail,
}

impl SavedSession {
    /// The session as it was saved later, when only what had happened since then was saved.
    #[must_use]
    pub fn followed_by(self, later: SavedSession) -> SavedSession {
        SavedSession { trail: self.trail.followed_by(later.trail.clone()), ..later }
    }
}

impl Session {
    /// How many moments are kept for witnesses.
    pub fn moments(&self) -> usize {
        self.trail.moments.len()
    }

    /// The session as data, with what happened from a moment on.
    pub fn save(&self, judge: &Judge, from: usize) -> SavedSession {
        SavedSession {
            version: VERSION,
            name: self.name().clone(),
            track: judge.save_track(&self.track),
            shows_content: self.shows_content,
            trail: self.trail.save(judge.prepared(), from),
        }
    }

    /// Goes on with a session. The policy must be the one it was saved with.
    pub fn restore(judge: &mut Judge, saved: &SavedSession) -> Result<Session, RestoreError> {
        if saved.version != VERSION {
            let message = format!("the session has version {}, this is version {VERSION}", saved.version);
            return Err(RestoreError::new(message));
        }
        let track = judge.restore_track(&saved.track)?;
        let trail = Trail::load(saved.name.clone(), &saved.trail, judge.prepared());
        let trail =
            trail.ok_or_else(|| RestoreError::new("the session was judged by a policy with other properties"))?;
        Ok(Session { track, trail, shows_content: saved.shows_content })
    }
}

//! Changes of live sessions, and saving them when they are evicted.

use std::collections::BTreeSet;

use crate::error::WardenError;
use crate::warden::Warden;

impl Warden {
    /// Whether a failed decision closed the session.
    pub(crate) fn is_lost(&self, session: &str) -> bool {
        self.live.as_ref().is_some_and(|live| live.lost.contains(session))
    }

    /// Marks a held session as changing: if the change fails midway, it is lost.
    pub(crate) fn begin_change(&mut self, session: &str) {
        let is_live = self.live.is_some();
        if let Some(held) = self.held.get_mut(session) {
            held.is_changing = is_live;
        }
    }

    /// Completes the change of live sessions, and removes those that ended.
    pub(crate) fn complete_change(&mut self, sessions: &BTreeSet<String>, ended: &BTreeSet<String>) {
        for session in sessions.union(ended) {
            let due = if ended.contains(session) { None } else { self.due(session) };
            let (Some(held), Some(live)) = (self.held.get_mut(session), &mut self.live) else { continue };
            live.change_due(session, held.due, due);
            held.due = due;
            (held.is_changing, held.is_unsaved) = (false, true);
            held.trim_answers();
        }
    }

    /// Closes the sessions whose change failed midway.
    pub(crate) fn lose_changing<'a>(&mut self, sessions: impl IntoIterator<Item = &'a String>) {
        for session in sessions {
            let Some(held) = self.held.get(session).filter(|held| held.is_changing) else { continue };
            let due = held.due;
            self.guard.release(session);
            self.held.remove(session);
            if let Some(live) = &mut self.live {
                live.change_due(session, due, None);
                live.lost.insert(session.clone());
            }
        }
    }

    /// Saves live sessions as they are, and with `has_histories` the histories across sessions. Nothing is done for a
    /// store that has them already.
    pub(crate) fn save_live(&mut self, sessions: &[String], has_histories: bool) -> Result<(), WardenError> {
        if self.live.is_none() {
            return Ok(());
        }
        let (mut changes, mut saved) = (Vec::new(), Vec::new());
        for session in sessions {
            if self.held.get(session).is_some_and(|held| held.is_unsaved) {
                saved.extend(self.changes_of(session, &mut changes)?);
            }
        }
        let touched = if has_histories { self.history_changes(&mut changes)? } else { Vec::new() };
        if changes.is_empty() {
            return Ok(());
        }
        let version = self.store.save(&changes)?;
        self.note_saved_histories(touched, Some(version));
        saved.into_iter().for_each(|saved| self.note_saved(saved, version));
        Ok(())
    }
}

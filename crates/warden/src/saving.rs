//! Saves the state after decisions, together with the records that are not in the ledger yet.

use std::collections::BTreeSet;

use lictor_logic::Time;
use lictor_store::{Change, ExpectedVersion};

use crate::error::WardenError;
use crate::kept::{self, KeptPart, KeptSession};
use crate::record::{SessionRecord, WaitingRecord};
use crate::warden::Warden;

/// How many parts the trail of a session may have before they are merged; more if the trail is long.
const MAX_TRAIL_PARTS: usize = 256;

/// The values of a session that take effect once its changes are saved.
pub(crate) struct SessionSave {
    session: String,
    saves: u64,
    moments: usize,
    due: Option<Time>,
    /// Whether the earlier parts were merged into the new one.
    is_joined: bool,
}

impl Warden {
    /// Saves the sessions that were decided on, deletes those that ended, and saves the touched histories and the extra
    /// changes, all or nothing. Fails on a conflict with another process. Returns the records to write now, and the
    /// version of the save.
    pub(crate) fn save(
        &mut self,
        sessions: &BTreeSet<String>,
        ended: &BTreeSet<String>,
        records: Vec<SessionRecord>,
        extra: Vec<Change>,
    ) -> Result<(Vec<WaitingRecord>, Option<u64>), WardenError> {
        let (mut changes, mut saved, mut touched) = (extra, Vec::new(), Vec::new());
        if self.live.is_some() {
            self.guard.clear_consulted_histories();
        } else {
            for session in sessions.difference(ended) {
                saved.extend(self.changes_of(session, &mut changes)?);
            }
            touched = self.history_changes(&mut changes)?;
        }
        for session in ended {
            self.ending_of(session, &mut changes)?;
        }
        let mut outgoing = self.outbox_changes(records, &mut changes)?;
        let written = std::mem::take(&mut self.written);
        changes.extend(
            written.iter().map(|(key, version)| Change::delete(key.clone(), ExpectedVersion::Version(*version))),
        );
        let version = match changes.is_empty() {
            true => None,
            false => match self.store.save(&changes) {
                Ok(version) => Some(version),
                Err(error) => {
                    self.written = written;
                    self.note_saved_histories(touched, None);
                    return Err(error.into());
                }
            },
        };
        // Only now: if the save fails, the announced records belong to the next one.
        self.announced.clear();
        if let Some(version) = version {
            self.note_saved_histories(touched, Some(version));
            saved.into_iter().for_each(|saved| self.note_saved(saved, version));
            outgoing.iter_mut().for_each(|waiting| waiting.version = version);
        }
        self.complete_change(sessions, ended);
        for session in ended {
            self.guard.release(session);
            self.held.remove(session);
        }
        Ok((outgoing, version))
    }

    /// Returns the records to write. Where the store survives the process, adds the changes that keep them until they
    /// are written.
    fn outbox_changes(
        &self,
        records: Vec<SessionRecord>,
        changes: &mut Vec<Change>,
    ) -> Result<Vec<WaitingRecord>, WardenError> {
        let mut outgoing = Vec::new();
        if self.ledger.is_none() {
            return Ok(outgoing);
        }
        for (place, (session, mut record)) in self.announced.iter().cloned().chain(records).enumerate() {
            let held = session.as_ref().and_then(|session| self.held.get(session));
            held.into_iter().for_each(|held| record.note_run(&held.run));
            record.note_tenant(self.options.tenant.as_deref());
            let mut key = String::new();
            if self.live.is_none() {
                let number = held.map_or(0, |held| held.saves + 1);
                key = kept::outbox(&self.outboxes, &session.unwrap_or_default(), number, place, record.id());
                changes.push(Change::put(key.clone(), ExpectedVersion::Absent, kept::written(&record, &key)?));
            }
            outgoing.push(WaitingRecord { key, version: 0, record });
        }
        Ok(outgoing)
    }

    /// Adds the changes that save a session; none if it is not in memory.
    pub(crate) fn changes_of(
        &self,
        session: &str,
        changes: &mut Vec<Change>,
    ) -> Result<Option<SessionSave>, WardenError> {
        let Some(held) = self.held.get(session) else { return Ok(None) };
        // A trail of many small parts is slow to load, so they are merged now and then.
        let is_joined =
            self.live.is_some() || held.parts.len() >= MAX_TRAIL_PARTS.max(held.moments.min(MAX_TRAIL_PARTS * 64) / 16);
        let from = if is_joined { 0 } else { held.moments };
        let Some((mut stands, moments)) = self.guard.save(session, from) else { return Ok(None) };
        let saves = held.saves + 1;
        let due = self.due(session);
        let added = stands.take_moments();
        let state = KeptSession {
            policy: self.options.policy.clone(),
            activation: self.versions.number,
            run: held.run.clone(),
            by: self.name.clone(),
            saves,
            decided: held.decided,
            moments,
            lag: held.lag,
            used: held.used,
            due,
            approvals: held.approvals.clone(),
            session: stands,
        };
        let key = kept::state(session);
        changes.push(Change::put(key.clone(), ExpectedVersion::of_version(held.version), kept::written(&state, &key)?));
        let first = if is_joined { 0 } else { held.answered.len().saturating_sub(held.fresh) };
        let answered = held.answered[first..].iter().map(|(name, past)| (name.clone(), past.line())).collect();
        let part = KeptPart { answered, moments: added };
        let key = kept::part(session, saves);
        changes.push(Change::put(key.clone(), ExpectedVersion::Absent, kept::written(&part, &key)?));
        if is_joined {
            changes.extend(self.deleted_parts(session));
        }
        if due != held.due && self.live.is_none() {
            changes.extend(self.deleted_due(session)?);
            changes.extend(due.map(|due| Change::put(kept::due(due, session), ExpectedVersion::Absent, session)));
        }
        Ok(Some(SessionSave { session: session.to_owned(), saves, moments, due, is_joined }))
    }

    /// Adds the changes that delete a session from the store.
    fn ending_of(&self, session: &str, changes: &mut Vec<Change>) -> Result<(), WardenError> {
        let Some(held) = self.held.get(session) else { return Ok(()) };
        if let Some(version) = held.version {
            changes.push(Change::delete(kept::state(session), ExpectedVersion::Version(version)));
        }
        changes.extend(self.deleted_parts(session));
        changes.extend(self.deleted_due(session)?);
        Ok(())
    }

    fn deleted_parts(&self, session: &str) -> Vec<Change> {
        let parts = self.held.get(session).map(|held| held.parts.as_slice()).unwrap_or_default();
        let gone = |(number, version): &(u64, u64)| {
            Change::delete(kept::part(session, *number), ExpectedVersion::Version(*version))
        };
        parts.iter().map(gone).collect()
    }

    fn deleted_due(&self, session: &str) -> Result<Option<Change>, WardenError> {
        let Some(due) = self.held.get(session).and_then(|held| held.due) else { return Ok(None) };
        let key = kept::due(due, session);
        let stored = self.store.load(&key)?;
        Ok(stored.map(|stored| Change::delete(key, ExpectedVersion::Version(stored.version))))
    }

    /// Returns when the next deadline or timeout of a session is.
    pub(crate) fn due(&self, session: &str) -> Option<Time> {
        let held = self.held.get(session)?;
        let (lag, used) = (held.lag?, held.used?);
        let (deadline, waits) = self.guard.due(session);
        let deadline = deadline.map(|due| Time(due.0.saturating_add(lag)));
        // An approval may still be answered at the very moment of its timeout.
        let waits = waits.map(|until| Time(until.0.saturating_add(1)));
        let idle = self.options.idle.map(|idle| used.plus(idle));
        [deadline, waits, idle].into_iter().flatten().min()
    }

    pub(crate) fn note_saved(&mut self, saved: SessionSave, version: u64) {
        let Some(held) = self.held.get_mut(&saved.session) else { return };
        if saved.is_joined {
            held.parts.clear();
        }
        held.parts.push((saved.saves, version));
        held.version = Some(version);
        (held.saves, held.moments, held.due) = (saved.saves, saved.moments, saved.due);
        held.is_unsaved = false;
        held.trim_answers();
        held.fresh = 0;
    }
}

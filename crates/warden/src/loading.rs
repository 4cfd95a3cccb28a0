//! Brings sessions into memory, and evicts them.

use crate::error::WardenError;
use crate::held::{HeldSession, PastAnswer};
use crate::kept::{self, KeptPart, KeptSession};
use crate::record::{OutgoingRecord, random_name};
use crate::warden::Warden;

/// How many live sessions are evicted at once; more if there are far too many. They have to be saved.
const MAX_EVICTED_AT_ONCE: usize = 8;

impl Warden {
    /// Loads a session into memory.
    pub(crate) fn hold(&mut self, session: &str) -> Result<(), WardenError> {
        if self.held.touch(session) {
            return Ok(());
        }
        if self.is_lost(session) {
            return Err(WardenError::Lost { session: session.to_owned() });
        }
        let key = kept::state(session);
        let mut held = HeldSession { run: random_name(), ..HeldSession::default() };
        if let Some(stored) = self.store.load(&key)? {
            let mut last: KeptSession = kept::read(&stored.value, &key)?;
            let mut happened = Vec::new();
            for (key, part) in self.store.scan(&kept::parts(session))? {
                // Only the events of the last save may be without an answer.
                held.acknowledge();
                let number = key.rsplit('/').next().and_then(|number| u64::from_str_radix(number, 16).ok());
                held.parts.push((number.unwrap_or_default(), part.version));
                let KeptPart { answered, moments } = kept::read(&part.value, &key)?;
                held.answered.extend(answered.into_iter().map(|(name, line)| (name, PastAnswer::Line(line))));
                happened.push(moments);
            }
            // This process has answered the events that it saved, unless an error came between.
            if last.by == self.name && !self.unsure.contains(session) {
                held.acknowledge();
            }
            held.trim_answers();
            held.fresh = 0;
            (held.version, held.run) = (Some(stored.version), last.run);
            (held.saves, held.decided, held.moments) = (last.saves, last.decided, last.moments);
            (held.lag, held.used, held.due) = (last.lag, last.used, last.due);
            held.approvals = last.approvals;
            if !last.session.put_moments(happened, last.moments) {
                return Err(WardenError::Damaged { key, reason: "some of its trail is missing".to_owned() });
            }
            let (whole, policy) = (last.session, last.policy);
            let restore = |error| WardenError::Restore { key: key.clone(), error };
            if policy != self.options.policy && !self.options.migrates {
                return Err(WardenError::PolicyChanged { session: session.to_owned() });
            }
            self.check_forward(last.activation, &policy, session)?;
            if policy == self.options.policy {
                self.load_scopes(whole.past_policies())?;
                self.guard.restore_after(&whole, &policy, &self.versions.past).map_err(restore)?;
            } else {
                self.load_scopes(whole.past_policies().chain([policy.as_str()]))?;
                let moved = self.guard.migrate(&whole, &policy, &self.versions.past).map_err(restore)?;
                let record = OutgoingRecord::migrated(&policy, &self.options.policy, &moved);
                self.announced.push((Some(session.to_owned()), record));
            }
        }
        self.held.insert(session, held);
        Ok(())
    }

    /// Evicts sessions and the histories that they touched: the store has the newer state.
    pub(crate) fn evict<'a>(&mut self, sessions: impl IntoIterator<Item = &'a String>) -> Result<(), WardenError> {
        if self.live.is_some() {
            self.lose_changing(sessions);
            return Ok(());
        }
        self.release_sessions(sessions);
        self.forget_touched_histories();
        Ok(())
    }

    /// Removes sessions from memory.
    pub(crate) fn release_sessions<'a>(&mut self, sessions: impl IntoIterator<Item = &'a String>) {
        for session in sessions {
            self.guard.release(session);
            self.held.remove(session);
            self.announced.retain(|(of, _)| of.as_ref() != Some(session));
        }
    }

    /// Evicts everything after a panic, which may have left the state in memory incomplete. Records that are in the
    /// store but not in the ledger are written.
    pub(crate) fn start_over(&mut self) -> Result<(), WardenError> {
        let all: Vec<String> = self.held.names().cloned().collect();
        self.evict(&all)?;
        if self.live.is_some() {
            return Ok(());
        }
        self.open_histories()?;
        self.unsure.extend(all);
        self.unwritten.clear();
        self.written.clear();
        // After this, a record that the ledger got is in it, or never will be: no record is written twice.
        if let Some(ledger) = &self.ledger
            && ledger.checkpoint().is_err()
        {
            ledger.recover()?;
            ledger.checkpoint()?;
        }
        self.catch_up()
    }

    /// Evicts the sessions and histories that were idle longest.
    pub(crate) fn make_room(&mut self) {
        let most = self.options.max_sessions.max(1);
        self.make_room_for_histories(most);
        let surplus = self.held.len().saturating_sub(most);
        if surplus == 0 {
            return;
        }
        let count = MAX_EVICTED_AT_ONCE.max(surplus / 16).min(surplus);
        let names = self.held.oldest(if self.live.is_some() { count } else { surplus });
        // A session that cannot be saved stays.
        if self.save_live(&names, false).is_ok() {
            for name in names {
                self.guard.release(&name);
                self.held.remove(&name);
            }
        }
    }
}

//! Deadlines, approval timeouts and ends of sessions, which need no event.

use std::collections::BTreeSet;

use lictor_judge::finding::Finding;
use lictor_judge::guard::late_line;
use lictor_logic::Time;
use lictor_store::StoreError;

use crate::answer::{Notice, TimeOutcome};
use crate::error::WardenError;
use crate::kept;
use crate::record::{OutgoingRecord, SessionRecord};
use crate::warden::{MAX_ATTEMPTS, Warden};

/// How many due sessions are handled in one save.
pub(crate) const MAX_DUE_PER_SAVE: usize = 256;

impl Warden {
    /// Lets time pass in all sessions, including those only in the store, and in the histories across them. Missed
    /// deadlines are saved, recorded and reported. Approvals that timed out are refused. Sessions that were idle too
    /// long end.
    pub fn tick(&mut self, now: Time) -> Result<Vec<Notice>, WardenError> {
        self.flush_outbox()?;
        let mut notices = self.tick_histories(now)?;
        let mut last = None;
        loop {
            let due = self.due_sessions(&mut last, now)?;
            if due.is_empty() {
                self.make_room();
                return Ok(notices);
            }
            match self.pass_time(&due, now, None) {
                Ok(mut found) => notices.append(&mut found),
                // Another process handles them.
                Err(WardenError::Store(StoreError::Conflict { .. })) => {
                    self.evict(&due)?;
                    return Ok(notices);
                }
                Err(error @ WardenError::Ledger(_)) => return Err(error),
                Err(error) => {
                    self.evict(&due)?;
                    return Err(error);
                }
            }
        }
    }

    /// Returns the next sessions that are due, after a key, which is advanced.
    fn due_sessions(&self, last: &mut Option<String>, now: Time) -> Result<BTreeSet<String>, WardenError> {
        let mut due = BTreeSet::new();
        if let Some(live) = &self.live {
            let after = last.as_deref().and_then(kept::due_time);
            for (time, sessions) in live.due_until(now, after, MAX_DUE_PER_SAVE) {
                due.extend(sessions.iter().cloned());
                *last = Some(kept::due(time, ""));
            }
            return Ok(due);
        }
        let is_due = |key: &String| kept::due_time(key).is_some_and(|due| due <= now);
        for key in self.store.keys(kept::DUE, last.as_deref(), MAX_DUE_PER_SAVE)? {
            if !is_due(&key) {
                break;
            }
            due.extend(self.store.load(&key)?.map(|stored| String::from_utf8_lossy(&stored.value).into_owned()));
            *last = Some(key);
        }
        Ok(due)
    }

    /// Ends a session: its unmet obligations are reported and recorded, its pending approvals are refused, and its
    /// state is deleted. A later event of the same name begins another session.
    pub fn finish(&mut self, session: &str, now: Time) -> Result<Vec<Notice>, WardenError> {
        self.finish_with_cause(session, "finished", now)
    }

    /// [`finish`](Warden::finish) with another cause in the record.
    pub fn finish_with_cause(&mut self, session: &str, cause: &str, now: Time) -> Result<Vec<Notice>, WardenError> {
        self.flush_outbox()?;
        let all = BTreeSet::from([session.to_owned()]);
        for _ in 0..MAX_ATTEMPTS {
            self.hold(session)?;
            if self.held.get(session).is_none_or(|held| held.decided == 0) {
                self.held.remove(session);
                return Ok(Vec::new());
            }
            match self.pass_time(&all, now, Some(cause)) {
                Err(WardenError::Store(StoreError::Conflict { .. })) => self.evict(&all)?,
                Err(error) if !matches!(error, WardenError::Ledger(_)) => {
                    self.evict(&all)?;
                    return Err(error);
                }
                ended => return ended,
            }
        }
        Err(WardenError::Crowded { session: session.to_owned() })
    }

    /// Lets time pass in sessions. With a `cause`, all of them end; otherwise only those that were idle too long.
    fn pass_time(
        &mut self,
        due: &BTreeSet<String>,
        now: Time,
        cause: Option<&str>,
    ) -> Result<Vec<Notice>, WardenError> {
        let (mut notices, mut records, mut ended) = (Vec::new(), Vec::new(), BTreeSet::new());
        for session in due {
            match self.hold(session) {
                // It waits for the policy that it began with, or for a process with its policy, and must not hold up the
                // others.
                Err(WardenError::PolicyChanged { .. } | WardenError::Superseded { .. }) if cause.is_none() => continue,
                held => held?,
            }
            self.begin_change(session);
            let Some(held) = self.held.get(session) else { continue };
            let clock = Time(now.0.saturating_sub(held.lag.unwrap_or_default()));
            let is_idle = matches!((held.used, self.options.idle), (Some(used), Some(idle)) if used.plus(idle) <= now);
            let (mut late, mut settled) = self.guard.tick_session(session, clock, now);
            if let Some(cause) = cause.or(is_idle.then_some("timeout")) {
                let (mut owed, mut refused) = self.guard.finish(session);
                late.append(&mut owed);
                settled.append(&mut refused);
                records.push((Some(session.clone()), OutgoingRecord::ended(cause, &self.options.policy)));
                ended.insert(session.clone());
            }
            notices.append(&mut self.late(Some(session), late, Some(now), &mut records));
            for mut decision in settled {
                if let Some(held) = self.held.get_mut(session).filter(|_| self.ledger.is_some()) {
                    held.name_approval(&mut decision);
                }
                let record = self.outgoing(session, &decision, Some(now));
                records.extend(record.map(|record| (Some(session.clone()), record)));
                notices.push(Notice { line: decision.line(), news: TimeOutcome::Settled(Box::new(decision)) });
            }
        }
        let (outgoing, _) = self.save(due, &ended, records, Vec::new())?;
        self.write(outgoing)?;
        self.publish_notices(&notices);
        Ok(notices)
    }

    /// Returns the notices of missed deadlines in a session, or in a history across sessions, and adds their records.
    pub(crate) fn late(
        &self,
        session: Option<&str>,
        late: Vec<Finding>,
        now: Option<Time>,
        records: &mut Vec<SessionRecord>,
    ) -> Vec<Notice> {
        let told = |finding: Finding| {
            records.push((
                session.map(str::to_owned),
                OutgoingRecord::late(&self.guard, &finding, &self.options.policy, now),
            ));
            Notice { line: late_line(&finding), news: TimeOutcome::Late(Box::new(finding)) }
        };
        late.into_iter().map(told).collect()
    }
}

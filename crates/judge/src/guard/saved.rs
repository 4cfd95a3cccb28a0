//! The guard's state of a session, as data that survives a restart.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use lictor_logic::Time;
use serde::{Deserialize, Serialize};

use super::objectives::{SavedObjectives, SessionObjectives};
use super::pending::PendingEvent;
use super::{Guard, GuardedSession};
use crate::session::{SavedSession, Session};
use crate::trail::SavedMoments;
use crate::{PastPolicies, PolicyMove, PolicyScope, RestoreError};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Source};
use lictor_json::{self as json, Text};
use lictor_policy::History;

/// A session and its pending events, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedGuardSession {
    session: SavedSession,
    pending: Vec<SavedPending>,
    /// The number of the next event, if events are numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    asked: u64,
    /// What differs from the properties of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objectives: Option<Box<SavedObjectives>>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedPending {
    id: Text,
    /// The event as a line of Lictor's own format, and its source.
    event: String,
    source: (Arc<str>, u32, u32),
    asked: Vec<Text>,
    until: Option<Time>,
}

impl SavedGuardSession {
    /// Takes out the moments, to store them apart from the state: moments are only appended, the state changes with
    /// every event.
    #[must_use]
    pub fn take_moments(&mut self) -> SavedMoments {
        self.session.take_moments()
    }

    /// Puts the saved parts of the moments back; `total` is how many there were. `false` if some are missing.
    #[must_use]
    pub fn put_moments(&mut self, parts: impl IntoIterator<Item = SavedMoments>, total: usize) -> bool {
        self.session.put_moments(parts, total)
    }
}

impl SavedGuardSession {
    /// Returns the fingerprints of the policies that judged it before the last one.
    pub fn past_policies(&self) -> impl Iterator<Item = &str> {
        self.session.past_policies()
    }
}

impl Guard {
    /// Returns a session as data, with its moments from `from` on; `None` if the guard does not have it. The number is
    /// where the next save may start.
    pub fn save(&self, name: &str, from: usize) -> Option<(SavedGuardSession, usize)> {
        let guarded = self.sessions.get(name)?;
        let pending = guarded.pending.iter().map(|pending| {
            let Source { file, line, record } = pending.event.source.clone();
            let placeless = Event { source: Source::default(), ..pending.event.clone() };
            SavedPending {
                id: pending.id.clone(),
                event: placeless.to_json().to_string(),
                source: (file, line, record),
                asked: pending.asked.clone(),
                until: pending.until,
            }
        });
        let session = guarded.session.to_saved(&self.decider.judge, from);
        let saved = SavedGuardSession {
            session,
            pending: pending.collect(),
            next: guarded.next,
            asked: guarded.asked,
            objectives: guarded.objectives.as_ref().map(|objectives| Box::new(objectives.save())),
        };
        Some((saved, guarded.session.moments()))
    }

    /// Restores a session, and replaces the guard's present one.
    pub fn restore(&mut self, saved: &SavedGuardSession) -> Result<(), RestoreError> {
        self.restore_after(saved, "", &PastPolicies::default())
    }

    /// Restores a session like [`restore`](Guard::restore) that [earlier policies](SavedGuardSession::past_policies)
    /// judged, too. `policy` is the fingerprint of its policy.
    pub fn restore_after(
        &mut self,
        saved: &SavedGuardSession,
        policy: &str,
        past: &PastPolicies,
    ) -> Result<(), RestoreError> {
        let session = Session::restore_after(&mut self.decider.judge, &saved.session, policy, past)?;
        self.take_over(session, saved)
    }

    /// Restores a session that [was judged by another policy](Session::migrate), `from`.
    pub fn migrate(
        &mut self,
        saved: &SavedGuardSession,
        from: &str,
        past: &PastPolicies,
    ) -> Result<PolicyMove, RestoreError> {
        let (session, moved) = Session::migrate(&mut self.decider.judge, &saved.session, from, past)?;
        self.take_over(session, saved)?;
        Ok(moved)
    }

    /// Returns for each property that is new or changed under another guard, in how many sessions of this one its whole
    /// past can be judged anew, and in how many it is unknown.
    pub fn plan_moves(&self, next: &Guard, past: &PastPolicies) -> BTreeMap<Text, (usize, usize)> {
        let (now, prepared) = (self.policy_scope(), next.decider.judge.prepared());
        let mut moves = BTreeMap::new();
        for (place, property) in prepared.properties.iter().enumerate() {
            if property.history != History::Session || prepared.is_same_property(place, now) {
                continue;
            }
            let is_kept = |guarded: &GuardedSession| {
                let (trail, clock) = (guarded.session.trail(), guarded.session.state().standing.clock());
                trail.len() == 0 || (property.risk.is_none() && trail.will_tell(prepared, place, now, past, clock))
            };
            let rebuilt = self.sessions.values().filter(|guarded| is_kept(guarded)).count();
            moves.insert(property.id.clone(), (rebuilt, self.sessions.len() - rebuilt));
        }
        moves
    }

    /// Returns what its policy looks for and follows.
    pub fn policy_scope(&self) -> &PolicyScope {
        self.decider.judge.policy_scope()
    }

    fn take_over(&mut self, session: Session, saved: &SavedGuardSession) -> Result<(), RestoreError> {
        let mut pending = Vec::new();
        for waiting in &saved.pending {
            let mut event = event(&waiting.event).ok_or_else(|| {
                RestoreError::new(format!("the event that waits as `{}` cannot be read any more", waiting.id))
            })?;
            let (file, line, record) = waiting.source.clone();
            event.source = Source { file, line, record };
            let (id, asked, until) = (waiting.id.clone(), waiting.asked.clone(), waiting.until);
            pending.push(PendingEvent { id, event, asked, until });
        }
        let objectives = match &saved.objectives {
            Some(saved) => Some(Box::new(SessionObjectives::restore(saved, &self.decider.judge)?)),
            None => None,
        };
        let (next, asked, recent) = (saved.next, saved.asked, VecDeque::new());
        let guarded = GuardedSession { pending, next, asked, session, recent, objectives };
        self.sessions.insert(guarded.session.name().clone(), Box::new(guarded));
        Ok(())
    }

    /// Evicts a session that is stored elsewhere: it costs no memory until it is restored.
    pub fn release(&mut self, name: &str) {
        self.sessions.remove(name);
    }
}

/// Parses an event from a line of Lictor's own format.
fn event(text: &str) -> Option<Event> {
    let value = json::parse_str(text).ok()?;
    LogRecord { value, file: "-".into(), line: 0, index: 0 }.stored_event().ok()
}

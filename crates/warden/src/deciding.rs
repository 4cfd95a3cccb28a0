//! Decisions: judged, saved, recorded, and only then answered.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_judge::guard::{Capabilities, Decision};
use lictor_logic::Time;
use lictor_store::StoreError;

use crate::answer::{DecidedBatch, ExtraChanges, WardenAnswer};
use crate::error::WardenError;
use crate::held;
use crate::kept;
use crate::record::OutgoingRecord;
use crate::warden::{MAX_ATTEMPTS, Warden, session_of};

impl Warden {
    /// Decides on an event; once this returns, the decision may take effect. A duplicate gets the earlier decision.
    /// Duplicates are known by their `seq`; by their `id` only until a decision on the session was answered, as after a
    /// crash. An event without a time gets `now`.
    pub fn decide(&mut self, event: &Event, now: Option<Time>) -> Result<WardenAnswer, WardenError> {
        self.decide_within(Capabilities::default(), event, now)
    }

    /// [`decide`](Warden::decide) for a caller with limited capabilities.
    pub fn decide_within(
        &mut self,
        means: Capabilities,
        event: &Event,
        now: Option<Time>,
    ) -> Result<WardenAnswer, WardenError> {
        let (mut answers, _) =
            self.decide_each(means, std::slice::from_ref(event), &|_| Vec::new(), now, MAX_ATTEMPTS)?;
        answers
            .pop()
            .ok_or_else(|| WardenError::Crowded { session: event.session.clone().unwrap_or_default().to_string() })
    }

    /// Decides on events in their order, with one save and one commit of the ledger for all of them.
    pub fn decide_all(&mut self, events: &[Event], now: Option<Time>) -> Result<Vec<WardenAnswer>, WardenError> {
        Ok(self.decide_with_extra(events, &|_| Vec::new(), now)?.0)
    }

    /// [`decide_all`](Warden::decide_all) that saves [extra changes](ExtraChanges) together with the decisions. Also
    /// returns the version of the save, if there was one.
    pub fn decide_with_extra(
        &mut self,
        events: &[Event],
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
    ) -> Result<DecidedBatch, WardenError> {
        self.decide_each(Capabilities::default(), events, extra, now, MAX_ATTEMPTS)
    }

    /// [`decide_with_extra`](Warden::decide_with_extra) for events of several callers: fails at the first conflict with
    /// another process, so that a busy session does not hold up the others.
    pub(crate) fn decide_together(
        &mut self,
        events: &[Event],
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
    ) -> Result<DecidedBatch, WardenError> {
        self.decide_each(Capabilities::default(), events, extra, now, 1)
    }

    fn decide_each(
        &mut self,
        means: Capabilities,
        events: &[Event],
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
        attempts: usize,
    ) -> Result<DecidedBatch, WardenError> {
        self.flush_outbox()?;
        let mut sessions: BTreeSet<String> = BTreeSet::new();
        for session in events.iter().map(session_of) {
            // Most events are of the session of the one before.
            if !sessions.contains(session) {
                sessions.insert(session.to_owned());
            }
        }
        let mut conflicts = 0;
        while conflicts < attempts {
            match self.decide_once(means, events, &sessions, extra, now) {
                Ok(Some(answers)) => {
                    self.make_room();
                    return Ok(answers);
                }
                // Histories were missing, and are loaded now.
                Ok(None) => {}
                // Another process was faster: the decisions are void, and made again on the new state.
                Err(WardenError::Store(StoreError::Conflict { key })) if kept::is_own(&key) => {
                    self.evict(&sessions)?;
                    conflicts += 1;
                }
                // The decisions are saved; their records will be written before anything else is decided.
                Err(error @ WardenError::Ledger(_)) => {
                    self.unsure.extend(sessions);
                    return Err(error);
                }
                Err(error) => {
                    self.evict(&sessions)?;
                    self.unsure.extend(sessions);
                    return Err(error);
                }
            }
        }
        Err(WardenError::Crowded { session: sessions.into_iter().next().unwrap_or_default() })
    }

    fn decide_once(
        &mut self,
        means: Capabilities,
        events: &[Event],
        sessions: &BTreeSet<String>,
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
    ) -> Result<Option<DecidedBatch>, WardenError> {
        for session in sessions {
            self.hold(session)?;
        }
        // Usually there are none: they are forgotten once they are answered.
        let unanswered: Vec<(&String, Vec<String>)> =
            sessions.iter().filter_map(|session| Some((session, self.held.get(session)?.names_by_id()))).collect();
        let (mut answers, mut records) = (Vec::with_capacity(events.len()), Vec::new());
        let mut by_id = Vec::new();
        let mut decided_on = BTreeSet::new();
        for event in events {
            let session = session_of(event);
            let mut event = event.clone();
            let exchange = held::take_exchange(&mut event);
            let is_live = self.live.is_some();
            let Some(held) = self.held.get_mut(session) else { continue };
            let name = held::name_of(&event);
            if let Some(past) = held.answered(name.as_deref()) {
                answers.push(past.answer(event, self.guard.judge()));
                continue;
            }
            event.time = event.time.or(now);
            // If the change fails midway, a live session is lost.
            held.is_changing = is_live;
            let is_end = event.kind == Kind::SessionEnd;
            let mut decision = self.guard.decide_within(means, event, now);
            let Some(held) = self.held.get_mut(session) else { continue };
            if self.ledger.is_some() {
                held.name_approval(&mut decision);
            }
            let decision = Arc::new(decision);
            held.used = now.or(held.used);
            if let (Some(time), Some(now)) = (decision.event.time, now) {
                // A clock never goes back: a late event does not postpone deadlines.
                let lag = now.0.saturating_sub(time.0);
                held.lag = Some(held.lag.map_or(lag, |known| known.min(lag)));
            }
            match name {
                // Two events of the same id in one batch are two events.
                Some(name) if held::is_by_id(&name) => by_id.push((session, name, Arc::clone(&decision))),
                Some(name) => held.answer(name, Arc::clone(&decision)),
                None => {}
            }
            for decision in std::iter::once(&*decision).chain(&decision.settled) {
                if let Some(mut record) = self.outgoing(session, decision, now) {
                    record.note_clock(decision.claimed_time.is_some());
                    record.note_exchange(exchange.as_deref());
                    records.push((Some(session.to_owned()), record));
                }
            }
            let is_end = is_end && decision.action.takes_effect();
            let owed = if is_end { self.guard.owed(session) } else { Vec::new() };
            let owed = self.late(Some(session), owed, now, &mut records);
            answers.push(WardenAnswer { decision, is_duplicate: false, owed, stored: None });
            if !decided_on.contains(session) {
                decided_on.insert(session.to_owned());
            }
        }
        // What was decided without them is void.
        if !self.guard.take_missing_histories().is_empty() {
            self.release_sessions(sessions);
            // Those that were there have changed, so all of them are loaded.
            let touched = self.forget_touched_histories();
            self.load_missing(&touched)?;
            for (session, names) in unanswered {
                self.hold(session)?;
                if let Some(held) = self.held.get_mut(session) {
                    held.keep_by_id(&names);
                }
            }
            return Ok(None);
        }
        for (session, name, decision) in by_id {
            if let Some(held) = self.held.get_mut(session) {
                held.answer(name, decision);
            }
        }
        let (outgoing, version) = self.save(&decided_on, &BTreeSet::new(), records, extra(&answers))?;
        self.write(outgoing)?;
        self.publish_answers(&answers);
        for session in sessions {
            self.unsure.remove(session);
        }
        for session in &decided_on {
            if let Some(held) = self.held.get_mut(session) {
                held.acknowledge();
            }
        }
        Ok(Some((answers, version)))
    }

    /// Counts a decision on a session, and returns its record if there is a ledger.
    pub(crate) fn outgoing(&mut self, session: &str, decision: &Decision, now: Option<Time>) -> Option<OutgoingRecord> {
        let number = self.held.get_mut(session).map_or(0, |held| {
            held.decided += 1;
            held.decided
        });
        self.ledger.as_ref()?;
        let mut record = OutgoingRecord::decision(&self.guard, decision, &self.options.policy, number, now);
        record.note_watching(self.options.watches);
        let texts = [
            ("kind", Some(decision.event.kind.name())),
            ("tool", decision.event.tool.as_deref()),
            ("by", decision.answered_by.as_deref()),
        ];
        for (member, text) in texts {
            if text.is_some_and(|text| self.guard.names_person(text)) {
                record.withhold(member);
            }
        }
        Some(record)
    }
}

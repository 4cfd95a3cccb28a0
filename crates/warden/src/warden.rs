//! Decides, saves, records, and only then answers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_judge::finding::Finding;
use lictor_judge::guard::{Capabilities, Decision, Guard, Preview};
use lictor_judge::observer::{Feed, Observed};
use lictor_ledger::{Draft, Ledger, Ticket};
use lictor_logic::{Span, Time};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use serde_json::{Map, Value as Json};

use crate::answer::{DecidedBatch, ExtraChanges, RefusedInput, WardenAnswer};
use crate::error::WardenError;
use crate::held::{self, Held, StoredHistory};
use crate::kept;
use crate::live::LiveSessions;
use crate::record::{self, ContentRetention, Outgoing, Waiting};

/// How often a decision is tried while other processes decide on the same session.
pub(crate) const MAX_ATTEMPTS: usize = 100;

/// The settings of a warden.
#[derive(Clone, Debug)]
pub struct WardenOptions {
    /// What the ledger keeps of events.
    pub keep: ContentRetention,
    /// How many sessions are held in memory; those that were idle longest are evicted.
    pub most_sessions: usize,
    /// The fingerprint of the policy, for the records.
    pub policy: String,
    /// The timeout after which a session without an event ends; none if it never ends.
    pub idle: Option<Span>,
    /// How far the time of an event may be from ours. Beyond it, our time is used; the decision and the record note it.
    /// If none, an event may be dated [five minutes ahead](Guard::within_skew) and any time back.
    pub skew: Option<Span>,
    /// Whether sessions continue after a policy change, with the properties whose formulas are the same. If not, they
    /// continue only with the policy that they began with: for agents that could edit their own policy.
    pub migrates: bool,
    /// Whether the caller only observes and forwards everything (shadow mode): the records note it.
    pub watches: bool,
}

/// A guard whose sessions survive restarts, and whose every decision is recorded before it takes effect.
pub struct Warden {
    pub(crate) guard: Guard,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: Option<Arc<Ledger>>,
    pub(crate) options: WardenOptions,
    pub(crate) held: HashMap<String, Held>,
    /// The histories across sessions that were loaded or saved, by their keys in the store.
    pub(crate) histories: HashMap<String, StoredHistory>,
    /// Records for the next save.
    pub(crate) announced: Vec<(String, Outgoing)>,
    /// Records that the ledger has, by their keys and versions in the store, where they are still to be deleted.
    pub(crate) written: Vec<(String, u64)>,
    /// Records that the ledger failed to write: no answer is given before they are written.
    pub(crate) unwritten: Vec<Waiting>,
    /// The random name of this process, in the sessions that it saves.
    pub(crate) name: String,
    /// Sessions with saved events that may be without an answer.
    pub(crate) unsure: HashSet<String>,
    /// Sessions that only this process has: live, and saved when they are evicted.
    pub(crate) live: Option<LiveSessions>,
    /// Where decisions and findings are published once they are durable.
    pub(crate) feed: Option<Feed>,
    /// The prefix of the keys of this ledger's waiting records in the store.
    pub(crate) outboxes: String,
    /// Counts uses of sessions, to find the ones that were idle longest.
    pub(crate) turn: u64,
}

/// A record that the ledger is writing and that is not in the store.
#[derive(Debug)]
pub(crate) struct Begun {
    draft: Draft,
    ticket: Option<Result<Ticket, lictor_ledger::LedgerError>>,
}

impl std::fmt::Debug for Warden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Warden").field("options", &self.options).field("held", &self.held.len()).finish_non_exhaustive()
    }
}

impl Warden {
    /// Opens a warden on a store. Records that a crash kept from the ledger are written first.
    pub fn open(
        guard: Guard,
        store: Arc<dyn Store>,
        ledger: Option<Ledger>,
        options: WardenOptions,
    ) -> Result<Warden, WardenError> {
        Warden::open_sharing(guard, store, ledger.map(Arc::new), options)
    }

    /// [`open`](Warden::open) with a shared ledger.
    pub fn open_sharing(
        guard: Guard,
        store: Arc<dyn Store>,
        ledger: Option<Arc<Ledger>>,
        options: WardenOptions,
    ) -> Result<Warden, WardenError> {
        let outboxes = match &ledger {
            Some(ledger) => kept::outboxes(&ledger.reader().first_key()?.to_string()),
            None => String::new(),
        };
        let live = store.is_private().then(LiveSessions::default);
        let mut warden = Warden {
            guard: guard.within_skew(options.skew),
            store,
            ledger,
            options,
            held: HashMap::new(),
            histories: HashMap::new(),
            announced: Vec::new(),
            written: Vec::new(),
            unwritten: Vec::new(),
            name: record::random_name(),
            unsure: HashSet::new(),
            live,
            feed: None,
            outboxes,
            turn: 0,
        };
        warden.open_histories()?;
        warden.catch_up()?;
        Ok(warden)
    }

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
        let sessions: BTreeSet<String> = events.iter().map(session_of).collect();
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
            self.turn += 1;
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
            let Some(held) = self.held.get_mut(&session) else { continue };
            let name = held::name_of(&event);
            if let Some(past) = held.answered(name.as_deref()) {
                answers.push(past.answer(event, self.guard.judge()));
                continue;
            }
            event.time = event.time.or(now);
            self.begin_change(&session);
            let is_end = event.kind == Kind::SessionEnd;
            let decision = Arc::new(self.guard.decide_within(means, event, now));
            let Some(held) = self.held.get_mut(&session) else { continue };
            held.used = now.or(held.used);
            if let (Some(time), Some(now)) = (decision.event.time, now) {
                // A clock never goes back: a late event does not postpone deadlines.
                let lag = now.0.saturating_sub(time.0);
                held.lag = Some(held.lag.map_or(lag, |known| known.min(lag)));
            }
            match (name, self.held.get_mut(&session)) {
                // Two events of the same id in one batch are two events.
                (Some(name), Some(_)) if held::is_by_id(&name) => {
                    by_id.push((session.clone(), name, Arc::clone(&decision)));
                }
                (Some(name), Some(held)) => held.answer(name, Arc::clone(&decision)),
                _ => {}
            }
            for decision in std::iter::once(&*decision).chain(&decision.settled) {
                if let Some(mut record) = self.outgoing(&session, decision, now) {
                    record.note_clock(decision.claimed_time.is_some());
                    record.note_exchange(exchange.as_deref());
                    records.push((Some(session.clone()), record));
                }
            }
            let is_end = is_end && decision.action.takes_effect();
            let owed = if is_end { self.guard.owed(&session) } else { Vec::new() };
            let owed = self.late(Some(&session), owed, now, &mut records);
            answers.push(WardenAnswer { decision, is_duplicate: false, owed, stored: None });
            decided_on.insert(session);
        }
        // What was decided without them is void.
        if !self.guard.take_missing_histories().is_empty() {
            self.release_sessions(sessions);
            // Those that were there have changed, so all of them are loaded.
            let touched = self.forget_touched_histories();
            self.load_missing(&touched)?;
            for (session, names) in unanswered {
                self.hold(session)?;
                self.held.entry(session.clone()).and_modify(|held| held.keep_by_id(&names));
            }
            return Ok(None);
        }
        for (session, name, decision) in by_id {
            if let Some(held) = self.held.get_mut(&session) {
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
    pub(crate) fn outgoing(&mut self, session: &str, decision: &Decision, now: Option<Time>) -> Option<Outgoing> {
        let number = self.held.get_mut(session).map_or(0, |held| {
            held.decided += 1;
            held.decided
        });
        self.ledger.as_ref()?;
        let persons = self.guard.persons(decision);
        let mut record = Outgoing::decision(decision, &self.options.policy, number, persons, now);
        record.note_watching(self.options.watches);
        for (member, text) in [("kind", Some(decision.event.kind.name())), ("tool", decision.event.tool.as_deref())] {
            if text.is_some_and(|text| self.guard.names_person(text)) {
                record.withhold(member);
            }
        }
        Some(record)
    }

    /// Returns the unmet obligations of a session. The session does not end, and nothing is recorded.
    pub fn owed(&mut self, session: &str) -> Result<Vec<Finding>, WardenError> {
        self.hold(session)?;
        Ok(self.guard.owed(session))
    }

    /// Whether the approval with this id is pending in a session.
    pub fn waits(&mut self, session: &str, id: &str) -> Result<bool, WardenError> {
        self.hold(session)?;
        Ok(self.guard.waits(session, id))
    }

    /// Records refused input that is no event.
    pub fn refuse(&mut self, refused: &RefusedInput, now: Option<Time>) -> Result<(), WardenError> {
        self.append(self.refusal(refused, now))
    }

    /// Returns the record of refused input, under the active policy.
    pub(crate) fn refusal(&self, refused: &RefusedInput, now: Option<Time>) -> Draft {
        record::refusal(refused, &self.options.policy, now)
    }

    /// Writes a record that is neither a decision nor a refusal, as of an exchange or an operator's action. The body is
    /// public to all readers of the ledger, so it must not have personal data.
    pub fn note(&mut self, body: Map<String, Json>, now: Option<Time>) -> Result<(), WardenError> {
        self.append(record::note(body, now))
    }

    /// Appends a record that is not in the store. If the ledger fails, it is recovered and the record retried once.
    fn append(&mut self, draft: Draft) -> Result<(), WardenError> {
        let begun = self.begin(draft);
        self.end(begun)
    }

    /// Appends a record to the ledger without waiting, so that it is committed together with the records after it.
    pub(crate) fn begin(&self, draft: Draft) -> Begun {
        let ticket = self.ledger.as_ref().map(|ledger| ledger.append(draft.clone()));
        Begun { draft, ticket }
    }

    /// Waits until a record is durable.
    pub(crate) fn end(&mut self, begun: Begun) -> Result<(), WardenError> {
        let (Some(ticket), Some(ledger)) = (begun.ticket, self.ledger.clone()) else { return Ok(()) };
        if ticket.and_then(Ticket::wait).is_ok() {
            return Ok(());
        }
        self.flush_outbox()?;
        ledger.recover()?;
        ledger.append(begun.draft)?.wait()?;
        Ok(())
    }

    /// Returns the decision that an event would get now. Nothing is saved or recorded.
    pub fn preview(&mut self, event: &Event) -> Result<Preview, WardenError> {
        self.hold(&session_of(event))?;
        loop {
            let preview = self.guard.preview(event);
            let missing = self.guard.take_missing_histories();
            if missing.is_empty() {
                return Ok(preview);
            }
            self.load_missing(&missing)?;
        }
    }

    /// Continues with another policy. In every session the properties with the same formula continue; the others begin
    /// with its next event, and the record names them.
    pub fn change_policy(&mut self, guard: Guard, fingerprint: String) -> Result<(), WardenError> {
        if fingerprint == self.options.policy {
            return Ok(());
        }
        self.save_live(&self.names(), true)?;
        self.guard = guard.within_skew(self.options.skew);
        self.options.policy = fingerprint;
        self.held.clear();
        self.announced.clear();
        self.publish(|| Observed::Notice { session: None, text: "another policy is active".to_owned() });
        self.open_histories()
    }

    /// Flushes all records and closes the ledger, which signs them; a shared ledger stays open.
    pub fn close(mut self) -> Result<(), WardenError> {
        self.flush_outbox()?;
        let written = std::mem::take(&mut self.written);
        let gone = written.into_iter().map(|(key, version)| Change::delete(key, ExpectedVersion::Version(version)));
        let gone: Vec<Change> = gone.collect();
        if !gone.is_empty() {
            self.store.save(&gone)?;
        }
        match self.ledger.and_then(Arc::into_inner) {
            Some(ledger) => Ok(ledger.close()?),
            None => Ok(()),
        }
    }

    /// Whether a decision may have to wait for a disk or a server.
    pub(crate) fn is_slow(&self) -> bool {
        self.ledger.is_some() || self.store.waits()
    }

    /// Returns how many sessions are held in memory.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the names of the sessions that are held in memory.
    pub fn names(&self) -> Vec<String> {
        self.held.keys().cloned().collect()
    }
}

fn session_of(event: &Event) -> String {
    event.session.clone().unwrap_or_default().to_string()
}

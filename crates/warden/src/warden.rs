//! Decides, saves, writes down, and only then answers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use lictor_event::{Event, Kind};
use lictor_judge::finding::Finding;
use lictor_judge::guard::{Action, Capabilities, Decision, Guard, Preview};
use lictor_ledger::{Draft, Ledger, Ticket};
use lictor_logic::{Span, Time};
use lictor_store::{Change, ExpectedVersion, Store, StoreError};
use serde_json::{Map, Value as Json};

use crate::error::WardenError;
use crate::held::{self, Held};
use crate::kept;
use crate::outbox::Waiting;
use crate::record::{self, ContentRetention, Outgoing};

/// How often a session is tried that somebody else decides on at the same time.
pub(crate) const MAX_ATTEMPTS: usize = 100;

/// How a warden works.
#[derive(Clone, Debug)]
pub struct WardenOptions {
    /// What the ledger keeps of what was said.
    pub keep: ContentRetention,
    /// How many sessions are held in memory; those that were idle longest are left to the store.
    pub most_sessions: usize,
    /// The fingerprint of the policy, for the records.
    pub policy: String,
    /// After which time without an event a session is over; none if it goes on for ever.
    pub idle: Option<Span>,
    /// How far the time that an event tells may be from ours. Beyond it, ours counts and the record says so; none if
    /// events are always believed.
    pub skew: Option<Span>,
    /// Whether sessions go on when the policy has changed, with the properties whose formulas are the same. If not, they go
    /// on only by the policy they began with: for those whom the policy is to hold and who could change it.
    pub migrates: bool,
    /// Whether whoever asks only watches, and lets go on whatever is decided: the records say so.
    pub watches: bool,
}

/// A guard whose sessions outlive the process, and whose every decision is written down before it takes effect.
pub struct Warden {
    pub(crate) guard: Guard,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: Option<Arc<Ledger>>,
    pub(crate) options: WardenOptions,
    pub(crate) held: HashMap<String, Held>,
    /// The versions of the histories across sessions, as far as they are known here.
    pub(crate) histories: HashMap<String, u64>,
    /// By how much the clock of the events, whatever their session, is behind ours.
    pub(crate) lag: Option<i64>,
    /// Records that go with the next save of their session.
    pub(crate) announced: Vec<(String, Outgoing)>,
    /// Records that the ledger has, with the versions under which they still stand in the store.
    pub(crate) written: Vec<(String, u64)>,
    /// Records that the ledger failed to write: nobody is answered before they are written.
    pub(crate) unwritten: Vec<Waiting>,
    /// By which a session says that this process saved it.
    pub(crate) name: String,
    /// Sessions in which something may be saved about which nobody was answered.
    pub(crate) unsure: HashSet<String>,
    /// With what the keys begin under which records of this ledger wait in the store.
    pub(crate) outboxes: String,
    /// Counts events, to tell which session was idle longest.
    pub(crate) turn: u64,
}

/// What was decided about an event, and whether it was decided before.
#[derive(Debug)]
pub struct WardenAnswer {
    /// The decision.
    pub decision: Arc<Decision>,
    /// Whether the same event was decided before, and this is the decision of then.
    pub is_duplicate: bool,
    /// What the end of the session left undone, if the event was its end.
    pub owed: Vec<Notice>,
    /// The line of a decision that was read back from the store.
    pub(crate) stored: Option<String>,
}

impl WardenAnswer {
    /// The decision as a line of JSON; of a duplicate, the same line as before.
    pub fn line(&self) -> String {
        self.stored.clone().unwrap_or_else(|| self.decision.line())
    }

    /// Whether the event was decided now and is forwarded as it is.
    pub fn is_forwarded(&self) -> bool {
        !self.is_duplicate && self.decision.action == Action::Forward
    }
}

/// Something that is no event and does not go on.
#[derive(Clone, Debug, Default)]
pub struct RefusedInput {
    /// Why not: a code that says nothing of what it was.
    pub reason: String,
    /// It, as it was given: the record commits to it.
    pub bytes: Vec<u8>,
    /// The exchange in which it came.
    pub exchange: Option<String>,
}

impl RefusedInput {
    /// Something that came by itself.
    pub fn new(reason: &str, bytes: &[u8]) -> RefusedInput {
        RefusedInput { reason: reason.to_owned(), bytes: bytes.to_vec(), exchange: None }
    }
}

/// What else is saved together with decisions, once it is known what they are: all of it is, or nothing. It may be asked
/// several times, and is for keys that are none of the warden's own. Where it loses against somebody else, nothing is decided
/// and the conflict is told.
pub type ExtraChanges<'a> = dyn Fn(&[WardenAnswer]) -> Vec<Change> + 'a;

/// Something that time brought about, not an event.
#[derive(Debug)]
pub struct Notice {
    /// It, as a line of JSON.
    pub line: String,
    /// What it is.
    pub news: TimeOutcome,
}

/// What time brought about.
#[derive(Debug)]
pub enum TimeOutcome {
    /// Something was due and did not happen.
    Late(Box<Finding>),
    /// Something waited for a person for too long.
    Settled(Box<Decision>),
}

/// A record on its way to the ledger that does not wait in the store.
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
    /// Goes on with what a store keeps. Records that a crash kept from the ledger are written first.
    pub fn open(
        guard: Guard,
        store: Arc<dyn Store>,
        ledger: Option<Ledger>,
        options: WardenOptions,
    ) -> Result<Warden, WardenError> {
        Warden::open_sharing(guard, store, ledger.map(Arc::new), options)
    }

    /// The same with a ledger that others write to as well.
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
        let mut warden = Warden {
            guard,
            store,
            ledger,
            options,
            held: HashMap::new(),
            histories: HashMap::new(),
            lag: None,
            announced: Vec::new(),
            written: Vec::new(),
            unwritten: Vec::new(),
            name: record::random_name(),
            unsure: HashSet::new(),
            outboxes,
            turn: 0,
        };
        warden.load_histories()?;
        warden.catch_up()?;
        Ok(warden)
    }

    /// Decides on an event: the answer may take effect. An event that was decided before is answered as it was then: one
    /// that says its `seq`, and one that says its `id` as long as nobody was answered about the session since, as after a
    /// crash. An event that does not say when it was happened `now`.
    pub fn decide(&mut self, event: &Event, now: Option<Time>) -> Result<WardenAnswer, WardenError> {
        self.decide_within(Capabilities::default(), event, now)
    }

    /// The same for somebody who cannot do everything about the event.
    pub fn decide_within(
        &mut self,
        means: Capabilities,
        event: &Event,
        now: Option<Time>,
    ) -> Result<WardenAnswer, WardenError> {
        let (mut answers, _) = self.decide_each(means, std::slice::from_ref(event), &|_| Vec::new(), now)?;
        answers
            .pop()
            .ok_or_else(|| WardenError::Crowded { session: event.session.clone().unwrap_or_default().to_string() })
    }

    /// Decides on events in their order, saves and writes down all of them together, and answers. What it costs to be
    /// durable is paid once.
    pub fn decide_all(&mut self, events: &[Event], now: Option<Time>) -> Result<Vec<WardenAnswer>, WardenError> {
        Ok(self.decide_with_extra(events, &|_| Vec::new(), now)?.0)
    }

    /// [`decide_all`](Warden::decide_all) that saves [extra changes](ExtraChanges) together with the decisions. Also returns
    /// the version of the save, if there was one.
    pub fn decide_with_extra(
        &mut self,
        events: &[Event],
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
    ) -> Result<(Vec<WardenAnswer>, Option<u64>), WardenError> {
        self.decide_each(Capabilities::default(), events, extra, now)
    }

    fn decide_each(
        &mut self,
        means: Capabilities,
        events: &[Event],
        extra: &ExtraChanges<'_>,
        now: Option<Time>,
    ) -> Result<(Vec<WardenAnswer>, Option<u64>), WardenError> {
        self.flush_outbox()?;
        let sessions: BTreeSet<String> = events.iter().map(session_of).collect();
        for _ in 0..MAX_ATTEMPTS {
            match self.decide_once(means, events, &sessions, extra, now) {
                Ok(answers) => {
                    self.make_room();
                    return Ok(answers);
                }
                // Somebody else was faster: what was decided here is void, and decided again as things are now.
                Err(WardenError::Store(StoreError::Conflict { key })) if kept::is_own(&key) => self.evict(&sessions)?,
                // It is saved and will be written down before anything else is decided.
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
    ) -> Result<(Vec<WardenAnswer>, Option<u64>), WardenError> {
        for session in sessions {
            self.turn += 1;
            self.hold(session)?;
        }
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
            let (time, is_strange) = self.time_of(&event, now);
            event.time = time;
            let Some(held) = self.held.get_mut(&session) else { continue };
            held.used = now.or(held.used);
            if let (Some(time), Some(now)) = (event.time, now) {
                // A clock never goes back: an event that comes late does not make what is due wait.
                let lag = now.0.saturating_sub(time.0);
                held.lag = Some(held.lag.map_or(lag, |known| known.min(lag)));
                self.lag = Some(self.lag.map_or(lag, |known| known.min(lag)));
            }
            let is_end = event.kind == Kind::SessionEnd;
            let decision = Arc::new(self.guard.decide_within(means, event, now));
            match (name, self.held.get_mut(&session)) {
                // Two deliveries before the first answer are two events.
                (Some(name), Some(_)) if held::is_by_id(&name) => {
                    by_id.push((session.clone(), name, Arc::clone(&decision)));
                }
                (Some(name), Some(held)) => held.answer(name, Arc::clone(&decision)),
                _ => {}
            }
            for decision in std::iter::once(&*decision).chain(&decision.settled) {
                if let Some(mut record) = self.outgoing(&session, decision, now) {
                    record.note_clock(is_strange);
                    record.note_exchange(exchange.as_deref());
                    records.push((Some(session.clone()), record));
                }
            }
            let is_end = is_end && decision.action.goes_on();
            let owed = if is_end { self.guard.owed(&session) } else { Vec::new() };
            let owed = self.late(Some(&session), owed, now, &mut records);
            answers.push(WardenAnswer { decision, is_duplicate: false, owed, stored: None });
            decided_on.insert(session);
        }
        for (session, name, decision) in by_id {
            if let Some(held) = self.held.get_mut(&session) {
                held.answer(name, decision);
            }
        }
        let (outgoing, version) = self.save(&decided_on, &BTreeSet::new(), records, extra(&answers))?;
        self.write(outgoing)?;
        for session in sessions {
            self.unsure.remove(session);
        }
        for session in &decided_on {
            if let Some(held) = self.held.get_mut(session) {
                held.acknowledge();
            }
        }
        Ok((answers, version))
    }

    /// Counts a decision on a session, and makes its record if there is a ledger.
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
            if text.is_some_and(|text| self.guard.names_somebody(text)) {
                record.withhold(member);
            }
        }
        Some(record)
    }

    /// When an event was: when it says, unless that is too far from our time; and whether it is.
    fn time_of(&self, event: &Event, now: Option<Time>) -> (Option<Time>, bool) {
        match (event.time, now, self.options.skew) {
            (Some(told), Some(now), Some(skew)) if told.0.abs_diff(now.0) > skew.0 => (Some(now), true),
            (told, ..) => (told.or(now), false),
        }
    }

    /// What is still owed in a session, as it stands: nothing ends, and nothing is written.
    pub fn owed(&mut self, session: &str) -> Result<Vec<Finding>, WardenError> {
        self.hold(session)?;
        Ok(self.guard.owed(session))
    }

    /// Whether something in a session waits for a person by this id.
    pub fn waits(&mut self, session: &str, id: &str) -> Result<bool, WardenError> {
        self.hold(session)?;
        Ok(self.guard.waits(session, id))
    }

    /// Writes down something that is no event and does not go on, as it was given.
    pub fn refuse(&mut self, refused: &RefusedInput, now: Option<Time>) -> Result<(), WardenError> {
        self.append(self.refusal(refused, now))
    }

    /// The record of something that is refused, by the policy in force.
    pub(crate) fn refusal(&self, refused: &RefusedInput, now: Option<Time>) -> Draft {
        record::refusal(refused, &self.options.policy, now)
    }

    /// Writes down something that is neither an event nor refused: what crossed a wire, what an operator did. The body is
    /// read by everybody who has the ledger, so there must be nothing of a person in it.
    pub fn note(&mut self, body: Map<String, Json>, now: Option<Time>) -> Result<(), WardenError> {
        self.append(record::note(body, now))
    }

    /// Appends a record that does not wait in the store. A ledger that failed before is taken up again once.
    fn append(&mut self, draft: Draft) -> Result<(), WardenError> {
        let begun = self.begin(draft);
        self.end(begun)
    }

    /// Hands a record to the ledger without waiting for it, so that it is durable along with what comes behind it.
    pub(crate) fn begin(&self, draft: Draft) -> Begun {
        let ticket = self.ledger.as_ref().map(|ledger| ledger.append(draft.clone()));
        Begun { draft, ticket }
    }

    /// Waits for a record that was handed to the ledger.
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

    /// What would be decided about an event if it came now. Nothing is decided, saved or written down.
    pub fn preview(&mut self, event: &Event) -> Result<Preview, WardenError> {
        self.hold(&session_of(event))?;
        Ok(self.guard.preview(event))
    }

    /// Goes on by another policy. Every session goes on with the properties that are in both, by their formulas; the
    /// others begin with its next event, and the record says which.
    pub fn change_policy(&mut self, guard: Guard, fingerprint: String) -> Result<(), WardenError> {
        if fingerprint == self.options.policy {
            return Ok(());
        }
        self.guard = guard;
        self.options.policy = fingerprint;
        self.held.clear();
        self.announced.clear();
        self.load_histories()
    }

    /// Ends the writing: what is durable is signed for, unless others still write to the ledger.
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

    /// How many sessions are held in memory.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The names of the sessions that are held in memory.
    pub fn names(&self) -> Vec<String> {
        self.held.keys().cloned().collect()
    }
}

fn session_of(event: &Event) -> String {
    event.session.clone().unwrap_or_default().to_string()
}

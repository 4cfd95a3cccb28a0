//! A guard whose sessions survive restarts, and whose every decision is recorded before it takes effect.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lictor_event::Event;
use lictor_judge::finding::Finding;
use lictor_judge::guard::{Guard, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery, Obligation};
use lictor_judge::observer::{Feed, FeedEntry};
use lictor_ledger::{Draft, Ledger, Ticket};
use lictor_logic::{Span, Time};
use lictor_policy::Property;
use lictor_store::{Change, ExpectedVersion, Store};
use serde_json::{Map, Value as Json};

use crate::answer::{OpenQuestions, RefusedInput};
use crate::error::WardenError;
use crate::held::StoredHistory;
use crate::held_sessions::HeldSessions;
use crate::kept;
use crate::live::LiveSessions;
use crate::record::{self, ContentRetention, SessionRecord, WaitingRecord};
use crate::versions::{PolicyMoves, PolicyVersions};

/// How often a decision is tried while other processes decide on the same session.
pub(crate) const MAX_ATTEMPTS: usize = 100;

/// The settings of a warden.
///
/// ```
/// let mut options = lictor_warden::WardenOptions::new("the fingerprint of a policy");
/// options.max_sessions = 100;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WardenOptions {
    /// What the ledger keeps of events.
    pub keep: ContentRetention,
    /// How many sessions are held in memory; those that were idle longest are evicted.
    pub max_sessions: usize,
    /// The fingerprint of the policy, for the records.
    pub policy: String,
    /// The timeout after which a session without an event ends; none if it never ends.
    pub idle: Option<Span>,
    /// How far the time of an event may be from ours. Beyond it, our time is used; the decision and the record note it.
    /// If none, an event may be dated [five minutes ahead](Guard::within_skew) and any time back.
    pub skew: Option<Span>,
    /// Whether sessions continue after a policy change, with new and changed properties judged anew. If not, they
    /// continue only with the policy that they began with: for agents that could edit their own policy.
    pub migrates: bool,
    /// Whether the caller only observes and forwards everything (shadow mode): the records note it.
    pub watches: bool,
    /// The tenant that its sessions belong to, for the records; none if there is one only. Sessions of two tenants are
    /// apart, whatever their names.
    pub tenant: Option<String>,
}

impl WardenOptions {
    /// Returns the defaults for a policy with this fingerprint: the ledger keeps commitments, ten thousand sessions are
    /// in memory, sessions continue after a policy change and never end.
    pub fn new(policy: impl Into<String>) -> WardenOptions {
        WardenOptions {
            keep: ContentRetention::default(),
            max_sessions: 10_000,
            policy: policy.into(),
            idle: None,
            skew: None,
            migrates: true,
            watches: false,
            tenant: None,
        }
    }
}

/// A guard whose sessions survive restarts, and whose every decision is recorded before it takes effect.
pub struct Warden {
    pub(crate) guard: Guard,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: Option<Arc<Ledger>>,
    pub(crate) options: WardenOptions,
    pub(crate) held: HeldSessions,
    /// The histories across sessions that were loaded or saved, by their keys in the store.
    pub(crate) histories: HashMap<String, StoredHistory>,
    /// Records for the next save.
    pub(crate) announced: Vec<SessionRecord>,
    /// Records that the ledger has, by their keys and versions in the store, where they are still to be deleted.
    pub(crate) written: Vec<(String, u64)>,
    /// Records that the ledger failed to write: no answer is given before they are written.
    pub(crate) unwritten: Vec<WaitingRecord>,
    /// The random name of this process, in the sessions that it saves.
    pub(crate) name: String,
    /// Sessions with saved events that may be without an answer.
    pub(crate) unsure: HashSet<String>,
    /// Sessions that only this process has: live, and saved when they are evicted.
    pub(crate) live: Option<LiveSessions>,
    /// Its policy among those of the store.
    pub(crate) versions: PolicyVersions,
    /// Where decisions and findings are published once they are durable.
    pub(crate) feed: Option<Feed>,
    /// The prefix of the keys of this ledger's waiting records in the store.
    pub(crate) outboxes: String,
}

/// A record that the ledger is writing and that is not in the store.
#[derive(Debug)]
pub(crate) struct LedgerWrite {
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
            held: HeldSessions::default(),
            histories: HashMap::new(),
            announced: Vec::new(),
            written: Vec::new(),
            unwritten: Vec::new(),
            name: record::random_name(),
            unsure: HashSet::new(),
            live,
            versions: PolicyVersions::default(),
            feed: None,
            outboxes,
        };
        warden.activate_policy()?;
        warden.open_histories()?;
        warden.catch_up()?;
        Ok(warden)
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
    pub(crate) fn begin(&self, draft: Draft) -> LedgerWrite {
        let ticket = self.ledger.as_ref().map(|ledger| ledger.append(draft.clone()));
        LedgerWrite { draft, ticket }
    }

    /// Waits until a record is durable.
    pub(crate) fn end(&mut self, begun: LedgerWrite) -> Result<(), WardenError> {
        let (Some(ticket), Some(ledger)) = (begun.ticket, self.ledger.clone()) else { return Ok(()) };
        if ticket.and_then(Ticket::wait).is_ok() {
            return Ok(());
        }
        self.flush_outbox()?;
        ledger.recover()?;
        ledger.append(begun.draft)?.wait()?;
        Ok(())
    }

    /// Returns the open questions about events of one session, in their order, for labelers that the caller asks.
    pub fn questions(&mut self, events: &[Event]) -> Result<Vec<OpenQuestions>, WardenError> {
        let mut questions = Vec::with_capacity(events.len());
        for (place, event) in events.iter().enumerate() {
            self.hold(session_of(event))?;
            let (asked, before) = self.guard.questions(event, place == 0);
            questions.push(OpenQuestions { asked, before });
        }
        Ok(questions)
    }

    /// Returns the decision that an event would get now. Nothing is saved or recorded.
    pub fn preview(&mut self, event: &Event) -> Result<Preview, WardenError> {
        self.hold(session_of(event))?;
        loop {
            let preview = self.guard.preview(event);
            let missing = self.guard.take_missing_histories();
            if missing.is_empty() {
                return Ok(preview);
            }
            self.load_missing(&missing)?;
        }
    }

    /// Returns how likely each of several replies leads to a violation. Nothing is saved or recorded.
    pub fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, WardenError> {
        self.hold(session)?;
        loop {
            let scores = self.guard.score(session, replies);
            let missing = self.guard.take_missing_histories();
            if missing.is_empty() {
                return Ok(scores);
            }
            self.load_missing(&missing)?;
        }
    }

    /// Returns [what the model of a session should know](Guard::guide). Nothing is saved or recorded.
    pub fn guide(&mut self, session: &str, query: &GuidanceQuery, now: Option<Time>) -> Result<Guidance, WardenError> {
        self.hold(session)?;
        Ok(self.guard.guide(session, query, now))
    }

    /// Returns [the properties that a session is judged by](Guard::objectives). Nothing is saved or recorded.
    pub fn objectives(&mut self, session: &str) -> Result<Vec<Arc<Property>>, WardenError> {
        self.hold(session)?;
        Ok(self.guard.objectives(session))
    }

    /// Returns the open obligations of a session that models are told of; none unless the policy steers by them.
    pub fn obligations(&mut self, session: &str) -> Result<Vec<Obligation>, WardenError> {
        if !self.guard.judge().steering().owed {
            return Ok(Vec::new());
        }
        let query = GuidanceQuery { owed: true, ..GuidanceQuery::default() };
        Ok(self.guide(session, &query, None)?.obligations)
    }

    /// Records which obligations a model was told of.
    pub fn record_told(&mut self, told: &[Obligation], now: Time) -> Result<(), WardenError> {
        let ids: Vec<&str> = told.iter().map(|obligation| obligation.property.id.as_str()).collect();
        let body = [("type".to_owned(), Json::from("steered")), ("owed".to_owned(), ids.into())];
        self.note(body.into_iter().collect(), Some(now))
    }

    /// Continues with another policy. In every session the properties with the same formula over the same facts continue.
    /// The others are judged anew over its moments with its next event, and a record names them. Returns how they fare in
    /// the sessions in memory.
    pub fn change_policy(&mut self, guard: Guard, fingerprint: String) -> Result<PolicyMoves, WardenError> {
        if fingerprint == self.options.policy {
            return Ok(PolicyMoves::default());
        }
        self.save_live(&self.names(), true)?;
        let properties = self.guard.plan_moves(&guard, &self.versions.past);
        let moves = PolicyMoves { sessions: self.held.len(), properties };
        let guard = guard.within_skew(self.options.skew);
        let last = std::mem::replace(&mut self.guard, guard);
        let policy = std::mem::replace(&mut self.options.policy, fingerprint);
        self.note_scope(&last, &policy);
        if let Err(error) = self.activate_policy() {
            (self.guard, self.options.policy) = (last, policy);
            return Err(error);
        }
        self.held.clear();
        self.announced.clear();
        let said = std::iter::once("another policy is active".to_owned()).chain(moves.describe());
        let text = said.collect::<Vec<_>>().join("; ");
        self.publish(|| FeedEntry::Notice { session: None, text });
        self.open_histories()?;
        Ok(moves)
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
        self.held.names().cloned().collect()
    }
}

/// Returns the session of an event; those without one share the session with the empty name.
pub(crate) fn session_of(event: &Event) -> &str {
    event.session.as_deref().unwrap_or_default()
}

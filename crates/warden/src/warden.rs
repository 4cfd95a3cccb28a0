//! Decides, saves, writes down, and only then answers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lictor::event::{Event, Source};
use lictor::finding::Finding;
use lictor::guard::{Decision, Guard, Means, SavedGuarded};
use lictor::judge::SavedHistories;
use lictor_ledger::Ledger;
use lictor_logic::Time;
use lictor_store::{Change, Expected, Store, StoreError};
use sha2::{Digest, Sha256};

use crate::error::WardenError;
use crate::kept::{self, KeptSession};
use crate::record::{self, Keep, Outgoing};

/// How often a session is tried that somebody else decides on at the same time.
const MOST_TURNS: usize = 100;

/// How far back the ledger is searched for records that were written just before a crash.
const RECENT: u64 = 100_000;

/// How many events of a session are remembered by their ids.
const MOST_ANSWERED: usize = 64;

/// How a warden works.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the ledger keeps of what was said.
    pub keep: Keep,
    /// How many sessions are held in memory; those that were idle longest are left to the store.
    pub most_sessions: usize,
    /// The fingerprint of the policy, for the records.
    pub policy: String,
}

/// A guard whose sessions outlive the process, and whose every decision is written down before it takes effect.
pub struct Warden {
    guard: Guard,
    store: Arc<dyn Store>,
    ledger: Option<Ledger>,
    options: Options,
    held: HashMap<String, Held>,
    /// The versions of the histories across sessions, as far as they are known here.
    histories: HashMap<String, u64>,
    /// Records that the ledger has, with the versions under which they still stand in the store.
    written: Vec<(String, u64)>,
    /// Records that the ledger failed to write: nobody is answered before they are written.
    unwritten: Vec<Waiting>,
    /// Counts events, to tell which session was idle longest.
    turn: u64,
}

/// A session that is in memory.
#[derive(Debug, Default)]
struct Held {
    version: Option<u64>,
    parts: u64,
    moments: usize,
    answered: Vec<(String, String)>,
    used: u64,
}

/// A record that is still to be written, and where it stands in the store.
#[derive(Debug)]
struct Waiting {
    key: String,
    version: u64,
    record: Outgoing,
}

/// What was decided about an event, and whether it was decided before.
#[derive(Debug)]
pub struct Answer {
    /// The decision, as a line of JSON.
    pub line: String,
    /// The decision itself; none if the same event was decided before, and this is what was said then.
    pub decision: Option<Decision>,
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
        options: Options,
    ) -> Result<Warden, WardenError> {
        let (held, histories, written, unwritten) = (HashMap::new(), HashMap::new(), Vec::new(), Vec::new());
        let mut warden = Warden { guard, store, ledger, options, held, histories, written, unwritten, turn: 0 };
        warden.load_histories()?;
        warden.catch_up()?;
        Ok(warden)
    }

    /// Decides on an event: the answer may take effect. An event that says its `id` and `seq` and was decided before is
    /// answered as it was then.
    pub fn decide(&mut self, event: &Event, now: Option<Time>) -> Result<Answer, WardenError> {
        self.decide_within(Means::default(), event, now)
    }

    /// The same for somebody who cannot do everything about the event.
    pub fn decide_within(&mut self, means: Means, event: &Event, now: Option<Time>) -> Result<Answer, WardenError> {
        let session = event.session.clone().unwrap_or_default().to_string();
        self.turn += 1;
        self.write_rest()?;
        for _ in 0..MOST_TURNS {
            self.hold(&session)?;
            if let Some(line) = self.answered(&session, event) {
                return Ok(Answer { line, decision: None });
            }
            let decision = self.guard.decide_within(means, event, now);
            match self.keep(&session, &decision, event, now) {
                Ok(outgoing) => {
                    self.write(outgoing)?;
                    self.make_room();
                    return Ok(Answer { line: decision.line(), decision: Some(decision) });
                }
                // Somebody else was faster: what was decided here is void, and decided again as things are now.
                Err(WardenError::Store(StoreError::Conflict { .. })) => self.let_go(&session)?,
                Err(error) => {
                    self.let_go(&session)?;
                    return Err(error);
                }
            }
        }
        Err(WardenError::Crowded { session })
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
    pub fn refuse(&mut self, reason: &str, bytes: &[u8], now: Option<Time>) -> Result<(), WardenError> {
        self.write_rest()?;
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let draft = record::refusal(reason, bytes, &self.options.policy, now);
        ledger.append(draft)?.wait()?;
        Ok(())
    }

    /// Ends the writing: what is durable is signed for.
    pub fn close(mut self) -> Result<(), WardenError> {
        self.write_rest()?;
        let written = std::mem::take(&mut self.written);
        let gone = written.into_iter().map(|(key, version)| Change::delete(key, Expected::Version(version)));
        let gone: Vec<Change> = gone.collect();
        if !gone.is_empty() {
            self.store.save(&gone)?;
        }
        match self.ledger {
            Some(ledger) => Ok(ledger.close()?),
            None => Ok(()),
        }
    }

    /// Lets time pass in all histories across sessions and in the sessions that are held: what was due by then is late.
    pub fn tick(&mut self, now: Time) -> (Vec<Finding>, Vec<Decision>) {
        self.guard.tick(now)
    }

    /// How many sessions are held in memory.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Brings a session into memory.
    fn hold(&mut self, session: &str) -> Result<(), WardenError> {
        let turn = self.turn;
        if let Some(held) = self.held.get_mut(session) {
            held.used = turn;
            return Ok(());
        }
        let key = kept::state(session);
        let mut held = Held { used: turn, ..Held::default() };
        if let Some(stored) = self.store.load(&key)? {
            let last: KeptSession = kept::read(&stored.value, &key)?;
            let mut whole: Option<SavedGuarded> = None;
            for (key, part) in self.store.scan(&kept::parts(session))? {
                let part: SavedGuarded = kept::read(&part.value, &key)?;
                whole = Some(match whole {
                    Some(before) => before.followed_by(part),
                    None => part,
                });
            }
            let whole = match whole {
                Some(before) => before.followed_by(last.session),
                None => last.session,
            };
            self.guard.restore(&whole).map_err(|error| WardenError::Restore { key, error })?;
            held.version = Some(stored.version);
            (held.parts, held.moments, held.answered) = (last.parts, last.moments, last.answered);
        }
        self.held.insert(session.to_owned(), held);
        Ok(())
    }

    /// What was said before about the same event.
    fn answered(&self, session: &str, event: &Event) -> Option<String> {
        let name = name_of(event)?;
        let held = self.held.get(session)?;
        held.answered.iter().find(|(known, _)| *known == name).map(|(_, line)| line.clone())
    }

    /// Saves where a decision leads, and the records that are still to be written.
    fn keep(
        &mut self,
        session: &str,
        decision: &Decision,
        event: &Event,
        now: Option<Time>,
    ) -> Result<Vec<Waiting>, WardenError> {
        let Some(held) = self.held.get(session) else { return Ok(Vec::new()) };
        let Some((added, moments)) = self.guard.save(session, held.moments) else { return Ok(Vec::new()) };
        let Some((standing, _)) = self.guard.save(session, moments) else { return Ok(Vec::new()) };
        let number = held.parts + 1;
        let mut answered = held.answered.clone();
        if let Some(name) = name_of(event) {
            answered.push((name, decision.line()));
            let surplus = answered.len().saturating_sub(MOST_ANSWERED);
            answered.drain(..surplus);
        }
        let state = KeptSession { parts: number, moments, answered: answered.clone(), session: standing };
        let key = kept::state(session);
        let mut changes =
            vec![Change::put(key.clone(), Expected::of_version(held.version), kept::written(&state, &key)?)];
        // What happened is kept apart from where the session stands, so that a save costs what it adds.
        let part = kept::part(session, number);
        changes.push(Change::put(part.clone(), Expected::Absent, kept::written(&added, &part)?));
        // Histories that were only looked at are saved as well: a decision stands only if they are still as they were.
        let touched = self.guard.judge_mut().take_touched_histories();
        for (name, history) in &touched {
            let key = kept::history(name);
            let expected = Expected::of_version(self.histories.get(&key).copied());
            changes.push(match history {
                Some(history) => Change::put(key.clone(), expected, kept::written(history, &key)?),
                None => Change::delete(key, expected),
            });
        }
        let mut outgoing = Vec::new();
        if self.ledger.is_some() {
            for (place, decision) in std::iter::once(decision).chain(&decision.settled).enumerate() {
                let subjects = self.guard.subjects(&decision.event);
                let record = Outgoing::new(decision, &self.options.policy, number, subjects, now);
                let key = format!("{}-{place}", kept::outbox(session, number));
                changes.push(Change::put(key.clone(), Expected::Absent, kept::written(&record, &key)?));
                outgoing.push(Waiting { key, version: 0, record });
            }
        }
        let written = std::mem::take(&mut self.written);
        changes.extend(written.iter().map(|(key, version)| Change::delete(key.clone(), Expected::Version(*version))));
        let version = match self.store.save(&changes) {
            Ok(version) => version,
            Err(error) => {
                self.written = written;
                return Err(error.into());
            }
        };
        for (name, history) in touched {
            if history.is_some() {
                self.histories.insert(kept::history(&name), version);
            }
        }
        if let Some(held) = self.held.get_mut(session) {
            *held = Held { version: Some(version), parts: number, moments, answered, used: held.used };
        }
        outgoing.iter_mut().for_each(|waiting| waiting.version = version);
        Ok(outgoing)
    }

    /// Writes records to the ledger; when they are durable there, the next save takes them out of the store. Those that
    /// could not be written are tried again before anything else is decided.
    fn write(&mut self, outgoing: Vec<Waiting>) -> Result<(), WardenError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let keep = self.options.keep;
        let begun: Vec<_> =
            outgoing.into_iter().map(|waiting| (ledger.append(waiting.record.clone().draft(keep)), waiting)).collect();
        let mut failure = None;
        for (ticket, waiting) in begun {
            match ticket.and_then(|ticket| ticket.wait()) {
                Ok(_) => self.written.push((waiting.key, waiting.version)),
                Err(error) => {
                    self.unwritten.push(waiting);
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes what the ledger failed to write before.
    fn write_rest(&mut self) -> Result<(), WardenError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        if let Some(ledger) = &self.ledger {
            ledger.recover()?;
        }
        let rest = std::mem::take(&mut self.unwritten);
        self.write(rest)
    }

    /// Writes the records that a crash kept from the ledger, and no record twice.
    fn catch_up(&mut self) -> Result<(), WardenError> {
        let mut waiting = Vec::new();
        for (key, stored) in self.store.scan("outbox/")? {
            let record: Outgoing = kept::read(&stored.value, &key)?;
            waiting.push(Waiting { key, version: stored.version, record });
        }
        let Some(ledger) = self.ledger.as_ref().filter(|_| !waiting.is_empty()) else { return Ok(()) };
        let reader = ledger.reader();
        let from = reader.size()?.saturating_sub(RECENT);
        let mut known = HashSet::new();
        for record in reader.records(from)? {
            let record = record?;
            known.extend(record.body.and_then(|body| body.get("id")?.as_str().map(str::to_owned)));
        }
        let (done, missing): (Vec<Waiting>, Vec<Waiting>) =
            waiting.into_iter().partition(|waiting| known.contains(waiting.record.id()));
        self.written.extend(done.into_iter().map(|waiting| (waiting.key, waiting.version)));
        self.write(missing)
    }

    /// Forgets what is known of a session and of histories: the store knows better.
    fn let_go(&mut self, session: &str) -> Result<(), WardenError> {
        self.guard.release(session);
        self.held.remove(session);
        self.load_histories()
    }

    /// Brings the histories across sessions into memory, as the store knows them.
    fn load_histories(&mut self) -> Result<(), WardenError> {
        self.histories.clear();
        self.guard.judge_mut().clear_histories();
        for (key, stored) in self.store.scan("history/")? {
            let saved: SavedHistories = kept::read(&stored.value, &key)?;
            let restored = self.guard.judge_mut().restore_histories(&saved);
            restored.map_err(|error| WardenError::Restore { key: key.clone(), error })?;
            self.histories.insert(key, stored.version);
        }
        Ok(())
    }

    /// Leaves the sessions that were idle longest to the store.
    fn make_room(&mut self) {
        let most = self.options.most_sessions.max(1);
        if self.held.len() <= most + most / 8 {
            return;
        }
        let mut used: Vec<(u64, String)> = self.held.iter().map(|(name, held)| (held.used, name.clone())).collect();
        used.sort_unstable();
        for (_, name) in used.into_iter().take(self.held.len() - most) {
            self.guard.release(&name);
            self.held.remove(&name);
        }
    }
}

/// What makes an event the same as another of its session: its number there, or its id and kind, and all that it says.
/// An id that comes again with something else is another event; whoever sends it must not get the old answer.
fn name_of(event: &Event) -> Option<String> {
    let name = match (event.seq, &event.id) {
        (Some(seq), _) => format!("#{seq}"),
        (None, Some(id)) => format!("{}/{id}", event.kind),
        (None, None) => return None,
    };
    let placeless = Event { source: Source::default(), ..event.clone() };
    let digest = Sha256::digest(placeless.to_json().to_string());
    let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{name} {digest}"))
}

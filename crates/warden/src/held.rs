//! The sessions that are in memory; all others are in the store and cost nothing.

use std::sync::Arc;

use lictor_event::content_hash;
use lictor_event::{DELIVERY, EXCHANGE, Event};
use lictor_json::Json;
use lictor_judge::guard::Decision;
use lictor_judge::{Judge, SavedHistories};
use lictor_logic::Time;

use crate::error::WardenError;
use crate::kept::{self, KeptPart, KeptSession};
use crate::record::{Outgoing, random_name};
use crate::warden::{Warden, WardenAnswer};

/// How many events of a session are remembered by what they are known by.
pub(crate) const MAX_ANSWERED: usize = 64;

/// A session that is in memory.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Under which version its state stands in the store.
    pub(crate) version: Option<u64>,
    /// What records know it by: a random name, from its first event to its end. A session that begins anew under the same
    /// name is another run.
    pub(crate) run: String,
    pub(crate) saves: u64,
    pub(crate) decided: u64,
    pub(crate) moments: usize,
    pub(crate) lag: Option<i64>,
    pub(crate) used: Option<Time>,
    pub(crate) due: Option<Time>,
    /// The parts of its trail that stand in the store: their numbers and versions.
    pub(crate) parts: Vec<(u64, u64)>,
    /// What events are known by, and what was said about them; the last `fresh` are not saved yet.
    pub(crate) answered: Vec<(String, PastAnswer)>,
    pub(crate) fresh: usize,
    /// When it was last asked for, counted in events.
    pub(crate) turn: u64,
}

/// A decision that may be asked for again: as it is, or as the line that is stored.
#[derive(Clone, Debug)]
pub(crate) enum PastAnswer {
    Decision(Arc<Decision>),
    Line(String),
}

impl PastAnswer {
    /// The answer to the event when it is delivered again.
    pub(crate) fn answer(self, event: Event, judge: &Judge) -> WardenAnswer {
        let (decision, stored) = match self {
            PastAnswer::Decision(decision) => (decision, None),
            PastAnswer::Line(line) => (Arc::new(Decision::from_line(&line, event, judge)), Some(line)),
        };
        WardenAnswer { decision, is_duplicate: true, owed: Vec::new(), stored }
    }

    /// The line that is stored.
    pub(crate) fn line(&self) -> String {
        match self {
            PastAnswer::Decision(decision) => decision.line(),
            PastAnswer::Line(line) => line.clone(),
        }
    }
}

impl Held {
    /// Remembers what was decided about an event of this name.
    pub(crate) fn answer(&mut self, name: String, decision: Arc<Decision>) {
        self.answered.push((name, PastAnswer::Decision(decision)));
        self.fresh += 1;
    }

    /// Notes that whoever asked was answered. What is known by its id alone is another event when it comes again: models
    /// count their calls anew, and do the same thing twice.
    pub(crate) fn acknowledge(&mut self) {
        self.answered.retain(|(name, _)| !is_by_id(name));
    }

    /// What was said before about an event of this name. What is known by its id is said once: who asks again asks about
    /// another.
    pub(crate) fn answered(&mut self, name: Option<&str>) -> Option<PastAnswer> {
        let name = name?;
        let place = self.answered.iter().position(|(known, _)| known == name)?;
        match is_by_id(name) {
            true => Some(self.answered.remove(place).1),
            false => self.answered.get(place).map(|(_, past)| past.clone()),
        }
    }

    /// Forgets the oldest answers.
    pub(crate) fn forget_answers(&mut self) {
        let surplus = self.answered.len().saturating_sub(MAX_ANSWERED);
        self.answered.drain(..surplus);
        self.fresh = 0;
    }
}

impl Warden {
    /// Brings a session into memory.
    pub(crate) fn hold(&mut self, session: &str) -> Result<(), WardenError> {
        let turn = self.turn;
        if let Some(held) = self.held.get_mut(session) {
            held.turn = turn;
            return Ok(());
        }
        let key = kept::state(session);
        let mut held = Held { turn, run: random_name(), ..Held::default() };
        if let Some(stored) = self.store.load(&key)? {
            let mut last: KeptSession = kept::read(&stored.value, &key)?;
            let mut happened = Vec::new();
            for (key, part) in self.store.scan(&kept::parts(session))? {
                // Only about what was saved last nobody may have been answered.
                held.acknowledge();
                let number = key.rsplit('/').next().and_then(|number| u64::from_str_radix(number, 16).ok());
                held.parts.push((number.unwrap_or_default(), part.version));
                let KeptPart { answered, moments } = kept::read(&part.value, &key)?;
                held.answered.extend(answered.into_iter().map(|(name, line)| (name, PastAnswer::Line(line))));
                happened.push(moments);
            }
            // What this process has saved, it has answered, unless something went wrong.
            if last.by == self.name && !self.unsure.contains(session) {
                held.acknowledge();
            }
            held.forget_answers();
            (held.version, held.run) = (Some(stored.version), last.run);
            (held.saves, held.decided, held.moments) = (last.saves, last.decided, last.moments);
            (held.lag, held.used, held.due) = (last.lag, last.used, last.due);
            if !last.session.put_moments(happened, last.moments) {
                return Err(WardenError::Damaged { key, reason: "some of its trail is missing".to_owned() });
            }
            let whole = last.session;
            let restore = |error| WardenError::Restore { key: key.clone(), error };
            if last.policy != self.options.policy && !self.options.migrates {
                return Err(WardenError::PolicyChanged { session: session.to_owned() });
            }
            if last.policy == self.options.policy {
                self.guard.restore(&whole).map_err(restore)?;
            } else {
                let begun = self.guard.migrate(&whole).map_err(restore)?;
                let record = Outgoing::migrated(&last.policy, &self.options.policy, &begun);
                self.announced.push((session.to_owned(), record));
            }
        }
        self.held.insert(session.to_owned(), held);
        Ok(())
    }

    /// Forgets what is known of sessions and of histories: the store knows better.
    pub(crate) fn evict<'a>(&mut self, sessions: impl IntoIterator<Item = &'a String>) -> Result<(), WardenError> {
        for session in sessions {
            self.guard.release(session);
            self.held.remove(session);
            self.announced.retain(|(of, _)| of != session);
        }
        self.load_histories()
    }

    /// Forgets everything, after something failed at a place that nobody knows: what is in memory may be half done. What
    /// is in the store and not in the ledger is written.
    pub(crate) fn start_over(&mut self) -> Result<(), WardenError> {
        let all: Vec<String> = self.held.keys().cloned().collect();
        self.evict(&all)?;
        self.unsure.extend(all);
        self.unwritten.clear();
        self.written.clear();
        // What the ledger was handed is in it, or will never be: nothing is written twice.
        if let Some(ledger) = &self.ledger
            && ledger.checkpoint().is_err()
        {
            ledger.recover()?;
            ledger.checkpoint()?;
        }
        self.catch_up()
    }

    /// Brings the histories across sessions into memory, as the store knows them.
    pub(crate) fn load_histories(&mut self) -> Result<(), WardenError> {
        self.histories.clear();
        self.guard.judge_mut().clear_histories();
        for (key, stored) in self.store.scan("history/")? {
            let saved: SavedHistories = kept::read(&stored.value, &key)?;
            // The same policy goes on; another goes on with the properties that are the same.
            let restored = self.guard.judge_mut().migrate_histories(&saved);
            restored.map_err(|error| WardenError::Restore { key: key.clone(), error })?;
            self.histories.insert(key, stored.version);
        }
        Ok(())
    }

    /// Leaves the sessions that were idle longest to the store.
    pub(crate) fn make_room(&mut self) {
        let most = self.options.most_sessions.max(1);
        if self.held.len() <= most + most / 8 {
            return;
        }
        let mut turns: Vec<(u64, String)> = self.held.iter().map(|(name, held)| (held.turn, name.clone())).collect();
        turns.sort_unstable();
        for (_, name) in turns.into_iter().take(self.held.len() - most) {
            self.guard.release(&name);
            self.held.remove(&name);
        }
    }
}

/// Whether a name is made of the event's id, which may come again with another event.
pub(crate) fn is_by_id(name: &str) -> bool {
    name.starts_with('=')
}

/// Takes out of an event with which exchange it came.
pub(crate) fn take_exchange(event: &mut Event) -> Option<String> {
    let exchange = event.more.get(EXCHANGE)?.as_str()?;
    let is_id = exchange.len() == 32 && exchange.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let exchange = is_id.then(|| exchange.to_owned())?;
    event.more.remove(EXCHANGE);
    Some(exchange)
}

/// What makes an event the same as another of its session: its number there, how it was delivered, or its id and kind, and
/// all that it says.
/// An id that comes again with something else is another event; whoever sends it must not get the old answer.
pub(crate) fn name_of(event: &Event) -> Option<String> {
    let name = match (event.seq, event.more.get(DELIVERY).and_then(Json::as_str), &event.id) {
        (Some(seq), _, _) => format!("#{seq}"),
        (None, Some(delivery), _) => format!("@{delivery}"),
        (None, None, Some(id)) => format!("={}/{id}", event.kind),
        (None, None, None) => return None,
    };
    // Half of it is enough to tell the events of a session apart.
    let print =
        content_hash::hash_event(event).iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte));
    Some(format!("{name} {print:032x}"))
}

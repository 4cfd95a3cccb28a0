//! Who decides for a guard in Python: a guard that writes nothing down, or a warden that writes down every decision before
//! it is told.

use std::path::Path;
use std::sync::Arc;

use lictor::event::Event;
use lictor::finding::Finding;
use lictor::guard::{Capabilities, Decision, Guard, Preview};
use lictor::json::Json;
use lictor_ledger::Ledger;
use lictor_logic::Time;
use lictor_store::MemoryStore;
use lictor_warden::{ContentRetention, DELIVERY, EXCHANGE, Notice, RefusedInput, TimeOutcome, Warden, WardenOptions};
use serde_json::{Map, Value};

/// How many sessions are held in memory: all, for there is nowhere else.
const MOST_SESSIONS: usize = usize::MAX / 2;

/// Who decides.
#[derive(Debug)]
pub(crate) enum Decider {
    Forgetful(Box<Guard>),
    Writing(Box<Writing>),
    /// Nothing is decided any more.
    Closed,
}

/// A warden, and what only concerns those who write.
#[derive(Debug)]
pub(crate) struct Writing {
    warden: Warden,
    /// By which the log is verified.
    key: String,
    /// How many events were decided, by which they are told apart.
    count: u64,
}

impl Decider {
    /// One that writes to the log in a folder, which is created if it is not there.
    pub(crate) fn writing(
        guard: Guard,
        policy: String,
        log: &Path,
        origin: &str,
        keeps_content: bool,
    ) -> Result<Decider, String> {
        let ledger = Ledger::open_or_create(log, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now));
        let options = WardenOptions {
            keep: if keeps_content { ContentRetention::Content } else { ContentRetention::Commitment },
            most_sessions: MOST_SESSIONS,
            policy,
            idle: None,
            skew: None,
            migrates: false,
            watches: false,
        };
        let ledger = ledger.map_err(|error| error.to_string())?;
        let key = ledger.reader().first_key().map_err(|error| error.to_string())?.to_string();
        let warden = Warden::open(guard, Arc::new(MemoryStore::new()), Some(ledger), options);
        let warden = warden.map_err(|error| error.to_string())?;
        Ok(Decider::Writing(Box::new(Writing { warden, key, count: 0 })))
    }

    /// The key by which the log is verified; none where nothing is written.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            Decider::Writing(writing) => Some(writing.key.clone()),
            Decider::Forgetful(_) | Decider::Closed => None,
        }
    }

    /// Decides on an event; it is recorded when this returns.
    pub(crate) fn decide(
        &mut self,
        mut event: Event,
        capabilities: Capabilities,
        now: Time,
    ) -> Result<Arc<Decision>, String> {
        match self {
            Decider::Forgetful(guard) => {
                // They tell exchanges and their events apart, which no policy is about.
                event.more.remove(DELIVERY);
                event.more.remove(EXCHANGE);
                Ok(Arc::new(guard.decide_within(capabilities, event, Some(now))))
            }
            Decider::Writing(writing) => {
                // Two calls of a tool are two events, also under the same id.
                if event.more.get(DELIVERY).is_none() {
                    writing.count += 1;
                    event.more.insert(DELIVERY, Json::from(writing.count.to_string().as_str()));
                }
                let answer = writing.warden.decide_within(capabilities, &event, Some(now));
                Ok(answer.map_err(|error| error.to_string())?.decision)
            }
            Decider::Closed => Err(closed()),
        }
    }

    /// What would be decided on an event.
    pub(crate) fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.preview(event)),
            Decider::Writing(writing) => writing.warden.preview(event).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Whether something in a session waits for a reviewer by this id.
    pub(crate) fn is_pending(&mut self, session: &str, id: &str) -> Result<bool, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.waits(session, id)),
            Decider::Writing(writing) => writing.warden.waits(session, id).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Writes a record that is no decision, where there is a log.
    pub(crate) fn note(&mut self, record: Map<String, Value>, now: Time) -> Result<(), String> {
        match self {
            Decider::Writing(writing) => writing.warden.note(record, Some(now)).map_err(|error| error.to_string()),
            Decider::Forgetful(_) | Decider::Closed => Ok(()),
        }
    }

    /// Records that something was refused that is no event, where there is a log.
    pub(crate) fn refuse(&mut self, refused: &RefusedInput, now: Time) -> Result<(), String> {
        match self {
            Decider::Writing(writing) => writing.warden.refuse(refused, Some(now)).map_err(|error| error.to_string()),
            Decider::Forgetful(_) | Decider::Closed => Ok(()),
        }
    }

    /// Lets time pass: what is late, and what waited too long.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(Vec<Finding>, Vec<Decision>), String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.tick(now)),
            Decider::Writing(writing) => writing.warden.tick(now).map(parted).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// What would be found if a session ended here.
    pub(crate) fn owed(&mut self, session: &str) -> Result<Vec<Finding>, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.owed(session)),
            Decider::Writing(writing) => writing.warden.owed(session).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Ends a session: what it owed, and what waited in it.
    pub(crate) fn finish(&mut self, session: &str, now: Time) -> Result<(Vec<Finding>, Vec<Decision>), String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.finish(session)),
            Decider::Writing(writing) => {
                writing.warden.finish(session, now).map(parted).map_err(|error| error.to_string())
            }
            Decider::Closed => Err(closed()),
        }
    }

    /// Ends the writing: all sessions end, and the log is signed up to its end. Nothing is decided afterwards.
    pub(crate) fn close(&mut self, now: Time) -> Result<(), String> {
        let Decider::Writing(writing) = std::mem::replace(self, Decider::Closed) else { return Ok(()) };
        let mut warden = writing.warden;
        let ended = warden.names().iter().try_for_each(|session| warden.finish(session, now).map(drop));
        let closed = warden.close();
        ended.and(closed).map_err(|error| error.to_string())
    }
}

fn closed() -> String {
    "this guard is closed\nhint: make another; it goes on with the same log".to_owned()
}

fn parted(notices: Vec<Notice>) -> (Vec<Finding>, Vec<Decision>) {
    let (mut late, mut settled) = (Vec::new(), Vec::new());
    for notice in notices {
        match notice.news {
            TimeOutcome::Late(finding) => late.push(*finding),
            TimeOutcome::Settled(decision) => settled.push(*decision),
        }
    }
    (late, settled)
}

//! The engine of a guard in Python: a guard without a log, or a warden that records each decision before it returns it.

use std::path::Path;
use std::sync::Arc;

use lictor::event::Event;
use lictor::finding::Finding;
use lictor::guard::{Capabilities, Decision, Guard, Preview, ReplyScores};
use lictor::guidance::{Guidance, GuidanceQuery};
use lictor::json::Json;
use lictor_ledger::Ledger;
use lictor_logic::Time;
use lictor_store::MemoryStore;
use lictor_warden::{ContentRetention, DELIVERY, EXCHANGE, Notice, RefusedInput, TimeOutcome, Warden, WardenOptions};
use serde_json::{Map, Value};

/// How many sessions are held in memory: all, because there is no store to evict them to.
const MAX_SESSIONS: usize = usize::MAX / 2;

/// The part of a guard that decides.
#[derive(Debug)]
pub(crate) enum Decider {
    Forgetful(Box<Guard>),
    Writing(Box<LogWriter>),
    /// The guard was closed and decides nothing.
    Closed,
}

/// A warden with a log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    warden: Warden,
    /// The public key that verifies the log.
    key: String,
    /// How many events were numbered; the number distinguishes them.
    count: u64,
}

impl Decider {
    /// Returns a decider that writes to the log in a folder, which is created if it is missing.
    pub(crate) fn writing(
        guard: Guard,
        policy: String,
        log: &Path,
        origin: &str,
        keeps_content: bool,
    ) -> Result<Decider, String> {
        let ledger = Ledger::open_or_create(log, origin, lictor_ledger::LedgerOptions::new(jiff::Timestamp::now));
        let mut options = WardenOptions::new(policy);
        options.keep = if keeps_content { ContentRetention::Content } else { ContentRetention::Commitment };
        options.max_sessions = MAX_SESSIONS;
        options.migrates = false;
        let ledger = ledger.map_err(|error| error.to_string())?;
        let key = ledger.reader().first_key().map_err(|error| error.to_string())?.to_string();
        let warden = Warden::open(guard, Arc::new(MemoryStore::private()), Some(ledger), options);
        let warden = warden.map_err(|error| error.to_string())?;
        Ok(Decider::Writing(Box::new(LogWriter { warden, key, count: 0 })))
    }

    /// Returns the key that verifies the log; none without a log.
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
                // They only distinguish exchanges and their events; no policy reads them.
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

    /// Returns what would be decided on an event; changes nothing.
    pub(crate) fn preview(&mut self, event: &Event) -> Result<Preview, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.preview(event)),
            Decider::Writing(writing) => writing.warden.preview(event).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Returns how likely each of several replies leads to a violation; changes nothing.
    pub(crate) fn score(&mut self, session: &str, replies: &[Vec<Event>]) -> Result<ReplyScores, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.score(session, replies)),
            Decider::Writing(writing) => writing.warden.score(session, replies).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Returns what the model of a session should know now; changes nothing.
    pub(crate) fn guide(&mut self, session: &str, query: &GuidanceQuery, now: Time) -> Result<Guidance, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.guide(session, query, Some(now))),
            Decider::Writing(writing) => {
                writing.warden.guide(session, query, Some(now)).map_err(|error| error.to_string())
            }
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

    /// Returns the sessions in which something waits for a reviewer by this id, in the order of their names.
    pub(crate) fn awaiting(&mut self, id: &str) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = match self {
            Decider::Forgetful(guard) => guard.sessions().map(ToString::to_string).collect(),
            Decider::Writing(writing) => writing.warden.names(),
            Decider::Closed => return Err(closed()),
        };
        names.sort_unstable();
        let mut awaiting = Vec::new();
        for name in names {
            if self.is_pending(&name, id)? {
                awaiting.push(name);
            }
        }
        Ok(awaiting)
    }

    /// Writes a record that is no decision, if there is a log.
    pub(crate) fn note(&mut self, record: Map<String, Value>, now: Time) -> Result<(), String> {
        match self {
            Decider::Writing(writing) => writing.warden.note(record, Some(now)).map_err(|error| error.to_string()),
            Decider::Forgetful(_) | Decider::Closed => Ok(()),
        }
    }

    /// Records input that was refused because it is no event, if there is a log.
    pub(crate) fn refuse(&mut self, refused: &RefusedInput, now: Time) -> Result<(), String> {
        match self {
            Decider::Writing(writing) => writing.warden.refuse(refused, Some(now)).map_err(|error| error.to_string()),
            Decider::Forgetful(_) | Decider::Closed => Ok(()),
        }
    }

    /// Advances time. Returns the missed deadlines and the expired approvals.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(Vec<Finding>, Vec<Decision>), String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.tick(now)),
            Decider::Writing(writing) => writing.warden.tick(now).map(parted).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Returns the findings if a session ended here.
    pub(crate) fn owed(&mut self, session: &str) -> Result<Vec<Finding>, String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.owed(session)),
            Decider::Writing(writing) => writing.warden.owed(session).map_err(|error| error.to_string()),
            Decider::Closed => Err(closed()),
        }
    }

    /// Ends a session. Returns its unmet obligations and its pending approvals, which are refused.
    pub(crate) fn finish(&mut self, session: &str, now: Time) -> Result<(Vec<Finding>, Vec<Decision>), String> {
        match self {
            Decider::Forgetful(guard) => Ok(guard.finish(session)),
            Decider::Writing(writing) => {
                writing.warden.finish(session, now).map(parted).map_err(|error| error.to_string())
            }
            Decider::Closed => Err(closed()),
        }
    }

    /// Ends all sessions and signs the end of the log. Nothing is decided afterwards.
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

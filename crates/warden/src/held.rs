//! The sessions and histories that are in memory; all others are only in the store.

use std::sync::Arc;

use lictor_event::content_hash;
use lictor_event::{DELIVERY, EXCHANGE, Event, Kind};
use lictor_json::Json;
use lictor_judge::Judge;
use lictor_judge::guard::{Decision, Refusal};
use lictor_logic::Time;

use crate::answer::WardenAnswer;
use crate::record::random_name;

/// How many answers of a session are kept, for duplicate events.
pub(crate) const MAX_ANSWERED: usize = 64;

/// A session that is in memory.
#[derive(Debug, Default)]
pub(crate) struct HeldSession {
    /// The version of its state in the store.
    pub(crate) version: Option<u64>,
    /// Its name in records: a random one, from its first event to its end. A session that begins again under the same
    /// name is another run.
    pub(crate) run: String,
    pub(crate) saves: u64,
    pub(crate) decided: u64,
    pub(crate) moments: usize,
    pub(crate) lag: Option<i64>,
    pub(crate) used: Option<Time>,
    pub(crate) due: Option<Time>,
    /// The events that wait for an approval: their approval ids, and the names of the approvals in records.
    pub(crate) approvals: Vec<(String, String)>,
    /// The parts of its trail in the store: their numbers and versions.
    pub(crate) parts: Vec<(u64, u64)>,
    /// The names of events, and their answers; the last `fresh` are not saved yet.
    pub(crate) answered: Vec<(String, PastAnswer)>,
    pub(crate) fresh: usize,
    /// The number of its last use, of all uses of sessions.
    pub(crate) last_use: u64,
    /// Whether a live session has changed since it was saved, and whether it is changing now.
    pub(crate) is_unsaved: bool,
    pub(crate) is_changing: bool,
}

/// What the store has of a history across sessions that is in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredHistory {
    pub(crate) version: u64,
    /// The time of its `history-due` key.
    pub(crate) due: Option<Time>,
}

/// An earlier decision, for a duplicate of its event: the decision itself, or its stored line.
#[derive(Clone, Debug)]
pub(crate) enum PastAnswer {
    Decision(Arc<Decision>),
    Line(String),
}

impl PastAnswer {
    /// Returns the answer to a duplicate of the event.
    pub(crate) fn answer(self, event: Event, judge: &Judge) -> WardenAnswer {
        let (decision, stored) = match self {
            PastAnswer::Decision(decision) => (decision, None),
            PastAnswer::Line(line) => (Arc::new(Decision::from_line(&line, event, judge)), Some(line)),
        };
        WardenAnswer { decision, is_duplicate: true, owed: Vec::new(), stored }
    }

    /// Returns the line that is stored.
    pub(crate) fn line(&self) -> String {
        match self {
            PastAnswer::Decision(decision) => decision.line(),
            PastAnswer::Line(line) => line.clone(),
        }
    }
}

impl HeldSession {
    /// Keeps the decision on an event of this name.
    pub(crate) fn answer(&mut self, name: String, decision: Arc<Decision>) {
        self.answered.push((name, PastAnswer::Decision(decision)));
        self.fresh += 1;
    }

    /// Forgets the answers by id, since the caller has them now. The same id is then another event: models reuse the
    /// ids of their calls, and make the same call twice.
    pub(crate) fn acknowledge(&mut self) {
        self.answered.retain(|(name, _)| !is_by_id(name));
    }

    /// Returns the earlier answer to an event of this name. An answer by id is returned once: the next event of the
    /// same id is another one.
    pub(crate) fn answered(&mut self, name: Option<&str>) -> Option<PastAnswer> {
        let name = name?;
        let place = self.answered.iter().position(|(known, _)| known == name)?;
        match is_by_id(name) {
            true => Some(self.answered.remove(place).1),
            false => self.answered.get(place).map(|(_, past)| past.clone()),
        }
    }

    /// Returns the names of the answers by id.
    pub(crate) fn names_by_id(&self) -> Vec<String> {
        self.answered.iter().filter(|(name, _)| is_by_id(name)).map(|(name, _)| name.clone()).collect()
    }

    /// Forgets the answers by id except the last ones of these names: those before them were returned.
    pub(crate) fn keep_by_id(&mut self, names: &[String]) {
        let mut left = names.to_vec();
        let mut kept: Vec<(String, PastAnswer)> = Vec::with_capacity(self.answered.len());
        for (name, past) in self.answered.drain(..).rev() {
            let place = left.iter().position(|known| *known == name);
            if !is_by_id(&name) || place.is_some() {
                place.map(|place| left.swap_remove(place));
                kept.push((name, past));
            }
        }
        kept.reverse();
        self.answered = kept;
    }

    /// Names the approval that a decision asks for, or gives or refuses, so that its records can be joined. The name is
    /// random: an approval id is the caller's, and may say anything.
    pub(crate) fn name_approval(&mut self, decision: &mut Decision) {
        if let Some(id) = &decision.approval_id {
            let name = random_name();
            decision.approval_record = Some(name.as_str().into());
            self.approvals.push((id.to_string(), name));
        }
        if let Some(id) = &decision.settles {
            let place = self.approvals.iter().position(|(known, _)| known == id.as_str());
            decision.approval_record = place.map(|place| self.approvals.remove(place).1.into());
        }
        for settled in &mut decision.settled {
            self.name_approval(settled);
        }
        if matches!(decision.event.kind, Kind::Approval | Kind::Denial) {
            // What timed out before the answer came was not settled by it.
            let is_answered = |settled: &&Decision| {
                matches!(settled.refused, None | Some(Refusal::Denied(_))) && settled.settles.is_some()
            };
            let answered = decision.settled.iter().find(is_answered);
            (decision.approval_record, decision.answered_by) =
                answered.map_or((None, None), |it| (it.approval_record.clone(), it.answered_by.clone()));
        }
    }

    /// Drops the oldest answers.
    pub(crate) fn trim_answers(&mut self) {
        let surplus = self.answered.len().saturating_sub(MAX_ANSWERED);
        self.answered.drain(..surplus);
        self.fresh = self.fresh.min(self.answered.len());
    }
}

/// Whether a name is made of the event's id, which may come again with another event.
pub(crate) fn is_by_id(name: &str) -> bool {
    name.starts_with('=')
}

/// Removes and returns the exchange of an event.
pub(crate) fn take_exchange(event: &mut Event) -> Option<String> {
    let exchange = event.more.get(EXCHANGE)?.as_str()?;
    let is_id = exchange.len() == 32 && exchange.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let exchange = is_id.then(|| exchange.to_owned())?;
    event.more.remove(EXCHANGE);
    Some(exchange)
}

/// Returns the name by which a duplicate of an event is found in its session: its number, its delivery number, or its
/// kind and id, together with a hash of its content. The same id with other content is another event, and must not get
/// the old answer.
pub(crate) fn name_of(event: &Event) -> Option<String> {
    let name = match (event.seq, event.more.get(DELIVERY).and_then(Json::as_str), &event.id) {
        (Some(seq), _, _) => format!("#{seq}"),
        (None, Some(delivery), _) => ["@", delivery].concat(),
        (None, None, Some(id)) => format!("={}/{id}", event.kind),
        (None, None, None) => return None,
    };
    // Half of the hash is enough to distinguish the events of a session.
    let hash = content_hash::hash_event(event);
    Some([name.as_str(), " ", &content_hash::to_hex(&hash[..16])].concat())
}

//! What is remembered of a session between its exchanges, and the form in which that is stored.
//!
//! What was said is not in it, but for items that are sent rewritten, as they are sent.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use lictor_event::record::LogRecord;
use lictor_json as json;
use lictor_logic::Time;
use lictor_wire::{ConversationHistory, Request, Ruling, SentItem};
use serde::{Deserialize, Serialize};

use crate::approval::{Grant, line};

/// Grants, notes and refusals that a session remembers at most.
const MAX_REMEMBERED: usize = 1000;

/// What is remembered of a session between its exchanges.
#[derive(Clone, Debug, Default)]
pub struct SessionMemory {
    /// The history, by hashes.
    pub(crate) known: ConversationHistory,
    /// Items that are sent otherwise than they come, each time they come: by the hash of what comes.
    altered: BTreeMap<String, Altered>,
    /// Calls that a reviewer has approved and that were not made since.
    pub(crate) granted: Vec<Grant>,
    /// Notes that the model has not read yet.
    pub(crate) notes: Vec<ModelNote>,
    /// Calls of the last reply that were denied: a vendor that keeps the history still waits for their results.
    pub(crate) denied: Vec<(String, String)>,
    /// How often an item of a request was refused: to send it again is to ask again.
    refused: Vec<(i64, u32)>,
    /// How many requests were sent: what comes after one of them is not what came before it, even word for word.
    rounds: u64,
}

/// How an item is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Altered {
    /// As this event says it, a line of Lictor's own format.
    Rewritten(String),
    /// This text is sent instead.
    Denied(String),
}

/// A note that the model reads with its next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNote {
    /// The call that it is about.
    pub call: Option<String>,
    /// What the model reads.
    pub text: String,
}

/// The form in which it is stored.
#[derive(Serialize, Deserialize)]
struct StoredMemory<'a> {
    known: Cow<'a, str>,
    /// Most sessions have nothing in any of these.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    altered: Cow<'a, [(String, Altered)]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    granted: Cow<'a, [Grant]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    notes: Cow<'a, [ModelNote]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    denied: Cow<'a, [(String, String)]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    refused: Cow<'a, [(i64, u32)]>,
    #[serde(default)]
    rounds: u64,
    /// When it was last saved, in nanoseconds since 1970.
    used: i64,
}

impl SessionMemory {
    /// Reads what is stored, and when it was used last.
    pub fn from_bytes(bytes: &[u8]) -> Option<(SessionMemory, Time)> {
        let StoredMemory { known, altered, granted, notes, denied, refused, rounds, used } =
            serde_json::from_slice(bytes).ok()?;
        let known = unhex(&known).and_then(|bytes| ConversationHistory::from_bytes(&bytes))?;
        let memory = SessionMemory {
            known,
            altered: altered.into_owned().into_iter().collect(),
            granted: granted.into_owned(),
            notes: notes.into_owned(),
            denied: denied.into_owned(),
            refused: refused.into_owned(),
            rounds,
        };
        Some((memory, Time(used)))
    }

    /// The bytes that are stored.
    pub fn to_bytes(&self, used: Time) -> Vec<u8> {
        let stored = StoredMemory {
            known: hex(&self.known.to_bytes()).into(),
            altered: self.altered.clone().into_iter().collect::<Vec<_>>().into(),
            granted: self.granted.as_slice().into(),
            notes: self.notes.as_slice().into(),
            denied: self.denied.as_slice().into(),
            refused: self.refused.as_slice().into(),
            rounds: self.rounds,
            used: used.0,
        };
        // Text keys and no maps with other ones: this cannot fail.
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// A memory of nothing, of a session that begins again under the same name.
    pub fn forgotten(&self) -> SessionMemory {
        SessionMemory { rounds: self.rounds + 1, ..SessionMemory::default() }
    }

    /// Roughly how many bytes it takes.
    pub fn weight(&self) -> usize {
        let length = |altered: &Altered| match altered {
            Altered::Rewritten(text) | Altered::Denied(text) => text.len() + 64,
        };
        let altered: usize = self.altered.values().map(length).sum();
        self.known.len() * 32 + altered + (self.granted.len() + self.notes.len() + self.denied.len()) * 256
    }

    /// Whether no note and no answer goes with the next request.
    pub(crate) fn owes_nothing(&self) -> bool {
        self.notes.is_empty() && self.denied.is_empty()
    }

    /// How an item of this hash is sent, if otherwise than it comes.
    pub(crate) fn alteration(&self, hash: &[u8]) -> Option<Ruling> {
        if self.altered.is_empty() {
            return None;
        }
        match self.altered.get(&hex(hash))? {
            Altered::Denied(text) => Some(Ruling::Deny { text: text.clone() }),
            Altered::Rewritten(line) => Some(read_event(line)),
        }
    }

    /// The memory once a request was sent as it came.
    pub(crate) fn after_request(&self, known: &ConversationHistory) -> SessionMemory {
        let mut next = self.clone();
        next.advance(known.clone());
        next
    }

    /// Notes that a request is sent, after which this is known.
    pub(crate) fn advance(&mut self, known: ConversationHistory) {
        self.known = known;
        self.rounds += 1;
    }

    /// What tells the next request from all before it, however often it is tried.
    pub(crate) fn place(&self) -> Vec<u8> {
        [self.rounds.to_be_bytes().as_slice(), &self.known.to_bytes()].concat()
    }

    /// The memory once the client was sent all of a reply. Of the history, the exchange that ends so is the latest, whatever
    /// others have changed of the rest since it began.
    pub(crate) fn after_reply(&self, begun: &SessionMemory, sent: &[Vec<SentItem>]) -> SessionMemory {
        let mut next = SessionMemory { known: begun.known.clone(), denied: Vec::new(), ..self.clone() };
        next.known.replied(sent);
        next.alters_too(begun);
        next
    }

    /// Remembers how an item is sent.
    pub(crate) fn alter(&mut self, hash: &[u8], ruling: &Ruling) {
        let altered = match ruling {
            Ruling::Forward => return,
            Ruling::Rewrite(event) => Altered::Rewritten(line(event)),
            Ruling::Deny { text } => Altered::Denied(text.clone()),
        };
        self.altered.insert(hex(hash), altered);
    }

    /// Where there are too many, forgets alterations of items that a request with the whole history does not have any more;
    /// if they come again, they are new.
    pub(crate) fn keep_alterations(&mut self, request: &Request, most: usize) {
        if request.carries_history() && self.altered.len() > most {
            let sent: HashSet<String> = request.items.iter().map(|item| hex(&item.hash)).collect();
            self.altered.retain(|hash, _| sent.contains(hash));
        }
    }

    /// Takes over the alterations that another memory knows. Of the history, that one is the latest: its items must not be
    /// sent otherwise than they were.
    fn alters_too(&mut self, other: &SessionMemory) {
        for (hash, altered) in &other.altered {
            self.altered.entry(hash.clone()).or_insert_with(|| altered.clone());
        }
    }

    /// How many items are sent otherwise than they come.
    pub(crate) fn alterations(&self) -> usize {
        self.altered.len()
    }

    /// How often this was refused.
    pub(crate) fn refusals(&self, said: i64) -> u32 {
        self.refused.iter().find(|(known, _)| *known == said).map_or(0, |(_, count)| *count)
    }

    /// Remembers that this was refused once more.
    pub(crate) fn refuse(&mut self, said: i64) {
        let count = self.refusals(said);
        self.refused.retain(|(known, _)| *known != said);
        self.refused.push((said, count + 1));
        trim(&mut self.refused);
    }

    /// Remembers that a call was approved.
    pub fn grant(&mut self, grant: Grant) {
        self.granted.push(grant);
        trim(&mut self.granted);
    }

    /// Remembers a note for the model.
    pub(crate) fn note(&mut self, note: ModelNote) {
        self.notes.push(note);
        trim(&mut self.notes);
    }

    /// Takes the permission to make a call, if there is one: it is good for one call.
    pub(crate) fn spend(&mut self, call: &str) -> Option<Grant> {
        let place = self.granted.iter().position(|grant| grant.call == call)?;
        Some(self.granted.remove(place))
    }
}

/// The ruling by which an event is sent as a line of Lictor's own format says it. What cannot be read any more must not be
/// sent as it came.
pub(crate) fn read_event(line: &str) -> Ruling {
    let record = |value| LogRecord { value, file: "-".into(), line: 0, index: 0 };
    let event = json::parse_str(line).ok().and_then(|value| record(value).stored_event().ok());
    event.map_or_else(|| Ruling::Deny { text: "[withheld]".to_owned() }, |event| Ruling::Rewrite(Box::new(event)))
}

fn trim<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(MAX_REMEMBERED);
    list.drain(..surplus);
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    String::from_utf8(halves.map(|half| DIGITS[usize::from(half)]).collect()).unwrap_or_default()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

//! What is known of one session, and the form in which it is kept.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lictor_event::Event;
use lictor_json as json;
use lictor_logic::{Span, Time};
use lictor_wire::{ConversationHistory, Request, Ruling, SentItem};
use serde::{Deserialize, Serialize};

use crate::verdict;

/// Allowed calls, notes and refusals that a session remembers at most.
const MOST_KEPT: usize = 1000;

/// What is known of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The history, by hashes.
    pub(crate) known: ConversationHistory,
    /// Items that go on other than they are sent, each time they are sent: by the hash of what is sent.
    altered: BTreeMap<String, Altered>,
    /// Calls that a person has allowed and that were not made since.
    pub(crate) granted: Vec<Grant>,
    /// What the model is still to be told.
    pub(crate) notes: Vec<Note>,
    /// Calls of the last reply that were denied: a vendor who keeps the history still waits for their answers.
    pub(crate) denied: Vec<(String, String)>,
    /// How often something that a request said was refused: to say it again is to ask again.
    refused: Vec<(i64, u32)>,
    /// How many requests have gone on: what is said behind one of them is not what was said before it, word for word though it
    /// may be.
    rounds: u64,
    /// When it was last saved, and how it is kept.
    used: Time,
    stored: Option<Stored>,
}

/// How a memory is kept in the store.
#[derive(Clone, Debug)]
struct Stored {
    version: u64,
    bytes: Arc<[u8]>,
}

/// How an item goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Altered {
    /// As this event says it, a line of Lictor's own format.
    Rewritten(String),
    /// This text goes on instead.
    Denied(String),
}

/// A call that a person has allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The hash of its tool and its arguments.
    pub(crate) call: String,
    /// By which id it was asked about.
    pub(crate) id: String,
    /// The call as it goes on, if it was rewritten: a line of Lictor's own format.
    pub(crate) rewritten: Option<String>,
}

/// Something that the model is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The call that it is about.
    pub(crate) call: Option<String>,
    pub(crate) text: String,
}

/// What is kept, in the form in which it is kept.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    known: Cow<'a, str>,
    /// Most sessions have nothing in any of these.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    altered: Cow<'a, [(String, Altered)]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    granted: Cow<'a, [Grant]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    notes: Cow<'a, [Note]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    denied: Cow<'a, [(String, String)]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    refused: Cow<'a, [(i64, u32)]>,
    #[serde(default)]
    rounds: u64,
    /// When it was last saved, in nanoseconds since 1970.
    used: i64,
}

impl Memory {
    /// Whether the session has just begun.
    pub(crate) fn is_new(&self) -> bool {
        self.stored.is_none()
    }

    /// What is kept under this version.
    pub(super) fn from_bytes(version: u64, bytes: Vec<u8>) -> Option<Memory> {
        let Kept { known, altered, granted, notes, denied, refused, rounds, used } =
            serde_json::from_slice(&bytes).ok()?;
        let known = unhex(&known).and_then(|bytes| ConversationHistory::from_bytes(&bytes))?;
        Some(Memory {
            known,
            altered: altered.into_owned().into_iter().collect(),
            granted: granted.into_owned(),
            notes: notes.into_owned(),
            denied: denied.into_owned(),
            refused: refused.into_owned(),
            rounds,
            used: Time(used),
            stored: Some(Stored { version, bytes: bytes.into() }),
        })
    }

    /// It, as it is kept.
    pub(super) fn to_bytes(&self, used: Time) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Kept {
            known: hex(&self.known.to_bytes()).into(),
            altered: self.altered.clone().into_iter().collect::<Vec<_>>().into(),
            granted: self.granted.as_slice().into(),
            notes: self.notes.as_slice().into(),
            denied: self.denied.as_slice().into(),
            refused: self.refused.as_slice().into(),
            rounds: self.rounds,
            used: used.0,
        })
    }

    /// Says that it is kept so.
    pub(super) fn is_kept(&mut self, version: u64, bytes: impl Into<Arc<[u8]>>, used: Time) {
        self.stored = Some(Stored { version, bytes: bytes.into() });
        self.used = used;
    }

    /// Says that it is kept under this version.
    pub(super) fn is_kept_under(&mut self, version: u64) {
        if let Some(stored) = &mut self.stored {
            stored.version = version;
        }
    }

    /// Says that it comes in the place of another.
    pub(super) fn stands_for(&mut self, other: &Memory) {
        self.stored.clone_from(&other.stored);
    }

    /// Whether it was used so long ago that the session is over.
    pub(super) fn is_over(&self, idle: Option<Span>, now: Time) -> bool {
        idle.is_some_and(|idle| self.used.plus(idle) <= now)
    }

    /// A memory of nothing in the place of this one.
    pub(super) fn forgotten(self) -> Memory {
        Memory { stored: self.stored, rounds: self.rounds + 1, ..Memory::default() }
    }

    /// Under which version it is kept, if it is.
    pub(super) fn version(&self) -> Option<u64> {
        self.stored.as_ref().map(|stored| stored.version)
    }

    /// The bytes as which it is kept.
    pub(super) fn bytes(&self) -> Arc<[u8]> {
        self.stored.as_ref().map(|stored| Arc::clone(&stored.bytes)).unwrap_or_default()
    }

    /// Whether nothing has to be told or answered with the next request.
    pub(crate) fn owes_nothing(&self) -> bool {
        self.notes.is_empty() && self.denied.is_empty()
    }

    /// How an item of this hash goes on, if other than it is sent.
    pub(crate) fn alteration(&self, hash: &[u8]) -> Option<Ruling> {
        if self.altered.is_empty() {
            return None;
        }
        match self.altered.get(&hex(hash))? {
            Altered::Denied(text) => Some(Ruling::Deny { text: text.clone() }),
            Altered::Rewritten(line) => json::parse_str(line).ok().as_ref().and_then(verdict::event).map_or_else(
                // What cannot be read any more must not go on as it was.
                || Some(Ruling::Deny { text: "[withheld]".to_owned() }),
                |event| Some(Ruling::Rewrite(Box::new(event))),
            ),
        }
    }

    /// What is known once a request has gone on as it came.
    pub(crate) fn after_request(&self, known: &ConversationHistory) -> Memory {
        let mut next = self.clone();
        next.goes_on(known.clone());
        next
    }

    /// Says that a request goes on, behind which this is known.
    pub(crate) fn goes_on(&mut self, known: ConversationHistory) {
        self.known = known;
        self.rounds += 1;
    }

    /// What tells the next request from all before it, however often it is tried.
    pub(crate) fn place(&self) -> Vec<u8> {
        [self.rounds.to_be_bytes().as_slice(), &self.known.to_bytes()].concat()
    }

    /// What is known once the client got all of a reply. Of the history, the exchange that ends so is the latest, whatever
    /// others have changed of the rest since it began.
    pub(crate) fn after_reply(&self, begun: &Memory, sent: &[Vec<SentItem>]) -> Memory {
        let mut next = Memory { known: begun.known.clone(), denied: Vec::new(), ..self.clone() };
        next.known.replied(sent);
        next.alters_too(begun);
        next
    }

    /// Remembers how an item goes on.
    pub(crate) fn alter(&mut self, hash: &[u8], ruling: &Ruling) {
        let altered = match ruling {
            Ruling::Forward => return,
            Ruling::Rewrite(event) => Altered::Rewritten(line(event)),
            Ruling::Deny { text } => Altered::Denied(text.clone()),
        };
        self.altered.insert(hex(hash), altered);
    }

    /// Where there are too many, forgets how items went on that a request with the whole history does not send any more; if
    /// they come again, they are new.
    pub(crate) fn keep_alterations(&mut self, request: &Request, most: usize) {
        if request.carries_history() && self.altered.len() > most {
            let sent: HashSet<String> = request.items.iter().map(|item| hex(&item.hash)).collect();
            self.altered.retain(|hash, _| sent.contains(hash));
        }
    }

    /// Takes over how items went on that another memory knows. Of the history, that one is the latest: what is known of it must
    /// not go on otherwise than it did.
    pub(crate) fn alters_too(&mut self, other: &Memory) {
        for (hash, altered) in &other.altered {
            self.altered.entry(hash.clone()).or_insert_with(|| altered.clone());
        }
    }

    /// How many items go on other than they are sent.
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

    /// Remembers that a call was allowed.
    pub(crate) fn grant(&mut self, grant: Grant) {
        self.granted.push(grant);
        trim(&mut self.granted);
    }

    /// Remembers something for the model.
    pub(crate) fn note(&mut self, note: Note) {
        self.notes.push(note);
        trim(&mut self.notes);
    }

    /// Takes the permission to make a call, if there is one: it is good for one call.
    pub(crate) fn spend(&mut self, call: &str) -> Option<Grant> {
        let place = self.granted.iter().position(|grant| grant.call == call)?;
        Some(self.granted.remove(place))
    }
}

/// An event as a line of Lictor's own format.
pub(crate) fn line(event: &Event) -> String {
    event.to_json().to_string()
}

fn trim<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(MOST_KEPT);
    list.drain(..surplus);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    String::from_utf8(halves.map(|half| DIGITS[usize::from(half)]).collect()).unwrap_or_default()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

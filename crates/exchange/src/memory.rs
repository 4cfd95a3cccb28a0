//! The memory of a session between its exchanges, and its stored form.
//!
//! It holds no text of the conversation, except the rewritten form of items that are sent rewritten.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use lictor_event::content_hash::to_hex;
use lictor_logic::Time;
use lictor_wire::{ConversationHistory, Request, Ruling, SentItem};
use serde::{Deserialize, Serialize};

use crate::approval::Grant;
use crate::stored_event::{read_event, write_event};

/// The most grants that a session remembers; as many notes, and as many refusals.
const MAX_REMEMBERED: usize = 1000;

/// The memory of a session between its exchanges.
#[derive(Clone, Debug, Default)]
pub struct SessionMemory {
    /// The history, by hashes.
    pub(crate) known: ConversationHistory,
    /// Items that are rewritten or denied each time they come, by the hash of the item as it comes.
    altered: BTreeMap<String, Alteration>,
    /// Calls that a reviewer has approved and that were not made since.
    pub(crate) granted: Vec<Grant>,
    /// Notes that the model has not read yet.
    pub(crate) notes: Vec<ModelNote>,
    /// Calls of the last reply that were denied: a vendor that keeps the history still waits for their results.
    pub(crate) denied: Vec<(String, String)>,
    /// How often an item of a request was refused. An item that is sent again after a refusal is judged again.
    refused: Vec<(i64, u32)>,
    /// How many requests were sent. An item after one of them is a new event, even if its text is the same.
    rounds: u64,
    /// How often the model was asked again.
    pub(crate) corrections: usize,
    /// How many other replies and plans were asked for, because of a bad forecast.
    pub(crate) candidates: usize,
    /// How many tokens they cost.
    pub(crate) extra_tokens: u64,
}

/// The altered form of an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Alteration {
    /// The rewritten event, a line of Lictor's own format.
    Rewritten(String),
    /// The text that is sent instead.
    Denied(String),
}

/// A note that the model reads with its next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNote {
    /// The call that it is about.
    pub call: Option<String>,
    /// The text for the model.
    pub text: String,
}

/// The stored form of a memory.
#[derive(Serialize, Deserialize)]
struct StoredMemory<'a> {
    known: Cow<'a, str>,
    /// Most sessions have no entry in these lists.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    altered: Cow<'a, [(String, Alteration)]>,
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
    #[serde(default)]
    corrections: usize,
    #[serde(default)]
    candidates: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    extra_tokens: u64,
    /// When it was last saved, in nanoseconds since 1970.
    used: i64,
}

impl SessionMemory {
    /// Reads the stored form. Returns the memory and when it was last used.
    pub fn from_bytes(bytes: &[u8]) -> Option<(SessionMemory, Time)> {
        let stored: StoredMemory<'_> = serde_json::from_slice(bytes).ok()?;
        let StoredMemory { known, altered, granted, notes, denied, refused, rounds, corrections, .. } = stored;
        let known = unhex(&known).and_then(|bytes| ConversationHistory::from_bytes(&bytes))?;
        let memory = SessionMemory {
            known,
            altered: altered.into_owned().into_iter().collect(),
            granted: granted.into_owned(),
            notes: notes.into_owned(),
            denied: denied.into_owned(),
            refused: refused.into_owned(),
            rounds,
            corrections,
            candidates: stored.candidates,
            extra_tokens: stored.extra_tokens,
        };
        Some((memory, Time(stored.used)))
    }

    /// Returns the stored form.
    pub fn to_bytes(&self, used: Time) -> Vec<u8> {
        let stored = StoredMemory {
            known: to_hex(&self.known.to_bytes()).into(),
            altered: self.altered.clone().into_iter().collect::<Vec<_>>().into(),
            granted: self.granted.as_slice().into(),
            notes: self.notes.as_slice().into(),
            denied: self.denied.as_slice().into(),
            refused: self.refused.as_slice().into(),
            rounds: self.rounds,
            corrections: self.corrections,
            candidates: self.candidates,
            extra_tokens: self.extra_tokens,
            used: used.0,
        };
        // Text keys and no maps with other ones: this cannot fail.
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// Returns an empty memory, for a session that begins again under the same name.
    pub fn forgotten(&self) -> SessionMemory {
        SessionMemory { rounds: self.rounds + 1, ..SessionMemory::default() }
    }

    /// Whether no note and no answer has to be added to the next request.
    pub(crate) fn owes_nothing(&self) -> bool {
        self.notes.is_empty() && self.denied.is_empty()
    }

    /// Returns the ruling on an item with this hash, if it is altered.
    pub(crate) fn alteration(&self, hash: &[u8]) -> Option<Ruling> {
        if self.altered.is_empty() {
            return None;
        }
        match self.altered.get(&to_hex(hash))? {
            Alteration::Denied(text) => Some(Ruling::Deny { text: text.clone() }),
            Alteration::Rewritten(line) => Some(read_event(line)),
        }
    }

    /// Returns the memory after a request was sent unchanged.
    pub(crate) fn after_request(&self, known: &ConversationHistory) -> SessionMemory {
        let mut next = self.clone();
        next.advance(known.clone());
        next
    }

    /// Counts a request that is sent, and takes over the history after it.
    pub(crate) fn advance(&mut self, known: ConversationHistory) {
        self.known = known;
        self.rounds += 1;
    }

    /// Returns bytes that distinguish the next request from all before it, and stay the same for its retries.
    pub(crate) fn place(&self) -> Vec<u8> {
        [self.rounds.to_be_bytes().as_slice(), &self.known.to_bytes()].concat()
    }

    /// Returns the memory after the client was sent all of a reply. The history is that of this exchange, which is the
    /// latest; all else is as other exchanges left it.
    pub(crate) fn after_reply(&self, begun: &SessionMemory, sent: &[Vec<SentItem>]) -> SessionMemory {
        let mut next = SessionMemory { known: begun.known.clone(), denied: Vec::new(), ..self.clone() };
        next.known.replied(sent);
        next.alters_too(begun);
        next
    }

    /// Remembers the altered form of an item.
    pub(crate) fn alter(&mut self, hash: &[u8], ruling: &Ruling) {
        let altered = match ruling {
            Ruling::Forward => return,
            Ruling::Rewrite(event) => Alteration::Rewritten(write_event(event)),
            Ruling::Deny { text } => Alteration::Denied(text.clone()),
        };
        self.altered.insert(to_hex(hash), altered);
    }

    /// If there are more than `most` alterations, evicts those of items that a request with the whole history no longer
    /// has. If such an item comes again, it is new.
    pub(crate) fn keep_alterations(&mut self, request: &Request, most: usize) {
        if request.carries_history() && self.altered.len() > most {
            let sent: HashSet<String> = request.items.iter().map(|item| to_hex(&item.hash)).collect();
            self.altered.retain(|hash, _| sent.contains(hash));
        }
    }

    /// Adds the alterations of another memory. It has the latest history, whose items must be sent as before.
    fn alters_too(&mut self, other: &SessionMemory) {
        for (hash, altered) in &other.altered {
            self.altered.entry(hash.clone()).or_insert_with(|| altered.clone());
        }
    }

    /// Returns how many items are altered.
    pub(crate) fn alterations(&self) -> usize {
        self.altered.len()
    }

    /// Returns how often this content was refused.
    pub(crate) fn refusals(&self, said: i64) -> u32 {
        self.refused.iter().find(|(known, _)| *known == said).map_or(0, |(_, count)| *count)
    }

    /// Counts a refusal of this content.
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

    /// Removes grants that were taken back, and returns whether there were any.
    pub fn revoke(&mut self, is_revoked: impl Fn(&Grant) -> bool) -> bool {
        let count = self.granted.len();
        self.granted.retain(|grant| !is_revoked(grant));
        self.granted.len() < count
    }

    /// Whether a grant is valid, by this condition.
    pub fn has_grant(&self, now: Time, is_wanted: impl Fn(&Grant) -> bool) -> bool {
        self.granted.iter().any(|grant| !grant.is_expired(now) && is_wanted(grant))
    }

    /// Remembers a note for the model.
    pub fn note(&mut self, note: ModelNote) {
        self.notes.push(note);
        trim(&mut self.notes);
    }

    /// Returns the memory without grants that have expired.
    #[must_use]
    pub fn without_expired_grants(mut self: Arc<Self>, now: Time) -> Arc<SessionMemory> {
        if self.granted.iter().any(|grant| grant.is_expired(now)) {
            Arc::make_mut(&mut self).granted.retain(|grant| !grant.is_expired(now));
        }
        self
    }

    /// Removes and returns a grant for a call, if there is one: it is valid for one call.
    pub(crate) fn spend(&mut self, call: &str) -> Option<Grant> {
        let place = self.granted.iter().position(|grant| grant.call == call)?;
        Some(self.granted.remove(place))
    }
}

/// Whether a count needs no place in the stored form.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn trim<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(MAX_REMEMBERED);
    list.drain(..surplus);
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

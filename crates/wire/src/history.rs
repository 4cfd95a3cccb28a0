//! Finds the new part of a history that a client sends again with every request.
//!
//! A model keeps no state, so each request carries the whole conversation. A session is known by a hash for each item,
//! in order. An item counts as known only where the order proves it: within the common beginning of both histories, or
//! within a tail that ends where the known history ended. Every other item is new, even if the same text occurred
//! before: an item that is judged twice is a nuisance, an item that is never judged is a hole.
//!
//! The instructions and the tools on offer often change from request to request. They are compared separately; those
//! that were missing in the last request are new.

use std::collections::BTreeMap;

use lictor_event::content_hash::ContentHash;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

use crate::request::Request;
use crate::segment::hash_event;

mod bytes;

/// The known history of a session: hashes of its items, in order. The caller keeps it from request to request, as bytes
/// if need be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationHistory {
    /// The tools on offer, the instructions and the texts beside what the model said, as they were last.
    preamble: Vec<ContentHash>,
    /// The messages after them.
    body: Vec<ContentHash>,
    /// The choices of the last reply, if there were several; the client keeps one of them.
    choices: Vec<Vec<ContentHash>>,
    /// The tools of calls without a result so far, by the ids of the calls.
    calls: BTreeMap<Text, Text>,
}

/// What a request adds to a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryDiff {
    /// The new items, by their index, with their events. Results have the names of their tools.
    pub fresh: Vec<(usize, Event)>,
    /// How the history continues.
    pub change: HistoryChange,
    /// The known history once the request was sent.
    pub known: ConversationHistory,
}

/// How a history continues.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryChange {
    /// With new items at its end, or it begins.
    Continued,
    /// It was cut back to its beginning; a retried request looks like this.
    Rewound {
        /// How many known items are left.
        to: usize,
        /// How many known items are gone.
        dropped: usize,
    },
    /// Fewer items replace several known ones: a summary, or a window that moved. The last items are still there, or
    /// everything is new.
    Compacted {
        /// How many items at the beginning are unchanged.
        at: usize,
        /// How many known items are gone.
        dropped: usize,
    },
    /// Items have changed.
    Edited {
        /// How many items at the beginning are unchanged.
        at: usize,
        /// How many known items are gone.
        dropped: usize,
    },
}

/// An item of a reply, as the client got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentItem {
    /// The hash of its content, however it is written.
    pub hash: ContentHash,
    /// The id and the tool, if it is a call.
    pub call: Option<(Text, Text)>,
}

impl ConversationHistory {
    /// Returns what a request adds.
    pub fn fold(&self, request: &Request) -> HistoryDiff {
        let is_preamble = |kind: &Kind| {
            matches!(kind, Kind::SystemMessage | Kind::ToolDefinitions)
                || matches!(kind, Kind::Other(name) if name == "mcp_servers" || name == "prompt")
        };
        let split = request.items.iter().take_while(|item| is_preamble(&item.event().kind)).count();
        let (beside, ordered): (Vec<usize>, Vec<usize>) =
            (0..request.items.len()).partition(|&place| place < split || request.items[place].is_sent_back());
        let hashes =
            |places: &[usize]| -> Vec<ContentHash> { places.iter().map(|&place| request.items[place].hash).collect() };
        let (preamble, body) = (hashes(&beside), hashes(&ordered));
        let is_new = |hash: &ContentHash| !self.preamble.contains(hash);
        let mut fresh: Vec<usize> =
            beside.iter().zip(&preamble).filter(|(_, hash)| is_new(hash)).map(|(place, _)| *place).collect();
        let (before, change, new) = self.compare(&body, request.carries_history());
        fresh.extend(new.into_iter().map(|place| ordered[place]));
        fresh.sort_unstable();
        let mut known = ConversationHistory { preamble, body, choices: Vec::new(), calls: self.calls.clone() };
        if !request.carries_history() {
            known.body = [before, known.body].concat();
        }
        let fresh = fresh.into_iter().filter_map(|place| {
            let mut event = request.items.get(place)?.event().clone();
            known.pair_result(&mut event);
            Some((place, event))
        });
        HistoryDiff { fresh: fresh.collect(), change, known }
    }

    /// Returns the known history, how it continues, and which items are new.
    fn compare(&self, body: &[ContentHash], is_whole: bool) -> (Vec<ContentHash>, HistoryChange, Vec<usize>) {
        let endings = match self.choices.is_empty() {
            true => vec![self.body.clone()],
            false => self.choices.iter().map(|choice| [&self.body[..], choice].concat()).collect(),
        };
        if !is_whole {
            let before = endings.into_iter().next().unwrap_or_default();
            return (before, HistoryChange::Continued, (0..body.len()).collect());
        }
        let same = |known: &[ContentHash]| known.iter().zip(body).take_while(|(ours, theirs)| ours == theirs).count();
        let known = endings.into_iter().rev().max_by_key(|known| same(known)).unwrap_or_default();
        let at = same(&known);
        if at == known.len() {
            return (known, HistoryChange::Continued, (at..body.len()).collect());
        }
        if at == body.len() {
            let dropped = known.len() - at;
            return (known, HistoryChange::Rewound { to: at, dropped }, Vec::new());
        }
        let (end, length) = find_tail(&known[at..], &body[at..]);
        let (gone, came) = (known.len() - at - length, end - length);
        let new = (at..at + came).chain(at + end..body.len()).collect();
        let change = match came < gone && (length > 0 || at == 0) {
            true => HistoryChange::Compacted { at, dropped: gone },
            false => HistoryChange::Edited { at, dropped: gone },
        };
        (known, change, new)
    }

    /// Adds a reply as the client got it, one list for each choice: the client will send it back.
    pub fn replied(&mut self, sent: &[Vec<SentItem>]) {
        for (id, tool) in sent.iter().flatten().filter_map(|sent| sent.call.clone()) {
            self.calls.insert(id, tool);
        }
        let hashes = sent.iter().map(|choice| choice.iter().map(|sent| sent.hash).collect());
        match sent {
            [] => {}
            [only] => self.body.extend(only.iter().map(|sent| sent.hash)),
            _ => self.choices = hashes.collect(),
        }
    }

    /// Returns how many items are known.
    pub fn len(&self) -> usize {
        self.body.len() + self.choices.first().map_or(0, Vec::len)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.preamble.is_empty()
    }

    /// Gives a result the name of its tool. Histories that the client sends again name it themselves.
    fn pair_result(&mut self, event: &mut Event) {
        let Some(id) = &event.id else { return };
        match (&event.kind, &event.tool) {
            (Kind::ToolResult, _) => {
                let tool = self.calls.remove(id);
                event.tool = event.tool.take().or(tool);
            }
            (Kind::ToolCall, Some(tool)) => drop(self.calls.insert(id.clone(), tool.clone())),
            _ => {}
        }
    }
}

/// Finds the longest tail of `known` that occurs in `body`: where it ends there, and its length. The first of several.
///
/// Both are read backwards. The Z algorithm computes for each place how much of the tail comes before it, in linear time
/// whatever the hashes are.
fn find_tail(known: &[ContentHash], body: &[ContentHash]) -> (usize, usize) {
    let text: Vec<Option<&ContentHash>> =
        known.iter().rev().map(Some).chain([None]).chain(body.iter().rev().map(Some)).collect();
    let mut lengths = vec![0; text.len()];
    let (mut left, mut right) = (0, 0);
    for place in 1..text.len() {
        let mut length = if place < right { usize::min(right - place, lengths[place - left]) } else { 0 };
        while place + length < text.len() && text[length] == text[place + length] {
            length += 1;
        }
        if place + length > right {
            (left, right) = (place, place + length);
        }
        lengths[place] = length;
    }
    let places = (1..=body.len()).map(|end| (end, lengths[known.len() + 1 + body.len() - end]));
    places.rev().max_by_key(|(_, length)| *length).filter(|(_, length)| *length > 0).unwrap_or((0, 0))
}

impl HistoryDiff {
    /// Returns the event of a history that changed: `history_edited`, `history_compacted` or `history_rewound`, with the
    /// members `at` and `dropped`. None if it only grew.
    pub fn event(&self) -> Option<Event> {
        let (name, at, dropped) = match self.change {
            HistoryChange::Continued => return None,
            HistoryChange::Rewound { to, dropped } => ("history_rewound", to, dropped),
            HistoryChange::Compacted { at, dropped } => ("history_compacted", at, dropped),
            HistoryChange::Edited { at, dropped } => ("history_edited", at, dropped),
        };
        let mut event = Event::new(Kind::Other(name.into()));
        event.more.insert("at", Json::from(at as i64));
        event.more.insert("dropped", Json::from(dropped as i64));
        Some(event)
    }
}

impl SentItem {
    /// Returns the item of an event.
    pub(crate) fn from_event(event: &Event) -> SentItem {
        let is_call = event.kind == Kind::ToolCall;
        let call = event.id.clone().zip(event.tool.clone()).filter(|_| is_call);
        SentItem { hash: hash_event(event), call }
    }
}

//! Histories that are sent again with every request: what of them is new.
//!
//! A model keeps no state, so each request carries all that was said before. What is known of a session is a hash for
//! each item, in order. An item counts as known only where the order proves it: within what both histories begin with,
//! or within a tail that ends where the known history ended. Everything else is new, also if the same words were said
//! somewhere before: an item that is told twice is a nuisance, one that is never told is a hole.
//!
//! The instructions and the tools on offer often change from request to request. They are compared by themselves; those
//! that were not there in the last request are new.

use std::collections::BTreeMap;

use lictor_event::content_hash::ContentHash;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

use crate::request::Request;

mod bytes;

/// What is known of a session's history: hashes of all that was said, in order. Kept by the caller from request to
/// request, as bytes if need be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationHistory {
    /// The tools on offer and the instructions, as they were last.
    preamble: Vec<ContentHash>,
    /// What was said since.
    body: Vec<ContentHash>,
    /// How the last reply may end it; the client keeps one if the model gave several.
    choices: Vec<Vec<ContentHash>>,
    /// The tools of calls that were not answered yet, by the ids of the calls.
    calls: BTreeMap<Text, Text>,
}

/// What a request adds to a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryDiff {
    /// The items that are new, by their index, with their events. Answers of tools carry the tool's name.
    pub fresh: Vec<(usize, Event)>,
    /// How the history goes on.
    pub change: HistoryChange,
    /// What is known once the request has been sent.
    pub known: ConversationHistory,
}

/// How a history goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryChange {
    /// As it was, or it begins.
    Continued,
    /// It was cut back to what it began with; a request that is sent once more looks like this.
    Rewound {
        /// How many items are left of what was known.
        to: usize,
        /// How many that were known are gone.
        dropped: usize,
    },
    /// Fewer items stand for several that were known: a summary, or a window that moved on. What came last is still
    /// there, or nothing is as it was.
    Compacted {
        /// How many items at the beginning are as they were.
        at: usize,
        /// How many that were known are gone.
        dropped: usize,
    },
    /// Items are not as they were.
    Edited {
        /// How many items at the beginning are as they were.
        at: usize,
        /// How many that were known are gone.
        dropped: usize,
    },
}

/// Something a reply said, as the client got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentItem {
    /// The hash of what it says, however it is written.
    pub hash: ContentHash,
    /// The id and the tool, if it is a call.
    pub call: Option<(Text, Text)>,
}

impl ConversationHistory {
    /// What a request adds.
    pub fn fold(&self, request: &Request) -> HistoryDiff {
        let is_preamble = |kind: &Kind| {
            matches!(kind, Kind::SystemMessage | Kind::ToolDefinitions)
                || matches!(kind, Kind::Other(name) if name == "mcp_servers" || name == "prompt")
        };
        let split = request.items.iter().take_while(|item| is_preamble(&item.event.kind)).count();
        let hashes: Vec<ContentHash> = request.items.iter().map(|item| item.hash).collect();
        let (preamble, body) = hashes.split_at(split);
        let mut fresh: Vec<usize> = (0..split).filter(|&place| !self.preamble.contains(&preamble[place])).collect();
        let (before, change, new) = self.compare(body, request.carries_history());
        fresh.extend(new.into_iter().map(|place| split + place));
        let mut known = ConversationHistory {
            preamble: preamble.to_vec(),
            body: body.to_vec(),
            choices: Vec::new(),
            calls: self.calls.clone(),
        };
        if !request.carries_history() {
            known.body = [before, known.body].concat();
        }
        let fresh = fresh.into_iter().filter_map(|place| {
            let mut event = request.items.get(place)?.event.clone();
            known.pair(&mut event);
            Some((place, event))
        });
        HistoryDiff { fresh: fresh.collect(), change, known }
    }

    /// The history as it was known, how it goes on, and which items are new.
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
        let (end, length) = tail(&known[at..], &body[at..]);
        let (gone, came) = (known.len() - at - length, end - length);
        let new = (at..at + came).chain(at + end..body.len()).collect();
        let change = match came < gone && (length > 0 || at == 0) {
            true => HistoryChange::Compacted { at, dropped: gone },
            false => HistoryChange::Edited { at, dropped: gone },
        };
        (known, change, new)
    }

    /// Takes up what a reply said, as the client got it: the client will send it back. One list for each choice.
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

    /// How many items are known.
    pub fn len(&self) -> usize {
        self.body.len() + self.choices.first().map_or(0, Vec::len)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.preamble.is_empty()
    }

    /// Gives an answer the name of its tool. Histories that the client sends again name it themselves.
    fn pair(&mut self, event: &mut Event) {
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

/// The longest tail of `known` that stands in `body`: where it ends there, and how long it is. The first of several.
///
/// Both are read backwards, and the Z algorithm says for each place how much of the tail stands before it, in linear time
/// whatever the hashes are.
fn tail(known: &[ContentHash], body: &[ContentHash]) -> (usize, usize) {
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
    /// That the history is not as it was, as an event: `history_edited`, `history_compacted` or `history_rewound`, with
    /// `at` and `dropped` beside it.
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
    /// What an event says.
    pub(crate) fn of(event: &Event) -> SentItem {
        let is_call = event.kind == Kind::ToolCall;
        let call = event.id.clone().zip(event.tool.clone()).filter(|_| is_call);
        SentItem { hash: crate::segment::hash(event), call }
    }
}

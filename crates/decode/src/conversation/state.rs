//! What is known of one conversation.

use std::collections::{HashMap, HashSet};

use lictor_logic::Time;

use crate::packed::{
    put_list, put_number, put_option, put_text, take_byte, take_fixed, take_list, take_number, take_option, take_text,
};
use crate::repeated_history::{Continuation, EMPTY_HISTORY, EventKey};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind};
use lictor_json::Text;

/// How many histories of one session are remembered.
const MAX_HISTORIES: usize = 8;

/// What is known of one conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) session: Option<Text>,
    /// Whether the log names the session.
    pub(super) is_named: bool,
    /// Its histories; the last is that of the last request.
    pub(super) histories: Vec<Vec<EventKey>>,
    /// The hash of the last history.
    pub(super) hash: ContentHash,
    /// The hash of the last event of that history.
    pub(super) last: Option<ContentHash>,
    /// The keys under which the conversation is found; several where the model gave several answers.
    pub(super) ends: Vec<ContentHash>,
    /// The hash of the instructions before the first message.
    pub(super) preamble: ContentHash,
    /// Whether the agent has said or done anything.
    pub(super) acted: bool,
    /// The tool of each call.
    pub(super) tools: HashMap<Text, Text>,
    /// The calls and answers with an id and a time, which a log may have twice.
    pub(super) delivered: HashSet<ContentHash>,
    /// The hash of the tools on offer.
    pub(super) definitions: Option<ContentHash>,
    /// How many conversations its history holds beside the first; reported once.
    pub(super) restarts: usize,
}

impl Conversation {
    /// Returns the history of the last request.
    pub(super) fn last_history(&self) -> &[EventKey] {
        self.histories.last().map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.histories.is_empty() && self.preamble == EMPTY_HISTORY
    }

    /// Whether a call or an answer was not read before, with its id, its time and all of its content: writers of logs
    /// deliver a record again if they are not sure of the first.
    pub(super) fn is_first_delivery(&mut self, event: &Event, time: Option<Time>) -> bool {
        let time = event.time.or(time);
        let is_told = matches!(event.kind, Kind::ToolCall | Kind::ToolResult) && event.id.is_some() && time.is_some();
        !is_told || self.delivered.insert(content_hash::hash_event_at(event, time))
    }

    /// Returns how a history continues this conversation, and removes the history that it replaces.
    pub(super) fn take_history(&mut self, keys: &[EventKey]) -> Continuation {
        let last = self.histories.len().saturating_sub(1);
        let all = self.histories.iter().enumerate().rev();
        let found = all.map(|(place, known)| (place, Continuation::find(known, keys)));
        // Words that were said in another history before may well be said again.
        let continuing = found.filter(|(place, it)| it.count_repeated() > 0 && (*place == last || it.is_certain));
        let best = continuing.reduce(|best, other| match other.1.count_repeated() > best.1.count_repeated() {
            true => other,
            false => best,
        });
        match best {
            Some((place, continuation)) => {
                self.histories.remove(place);
                continuation
            }
            None => Continuation::of_new(keys.len()),
        }
    }

    /// Adds the history of a request.
    pub(super) fn push_history(&mut self, keys: Vec<EventKey>) {
        if self.histories.len() == MAX_HISTORIES {
            self.histories.remove(0);
        }
        self.histories.push(keys);
    }

    /// Adds events to the last history.
    pub(super) fn extend_history(&mut self, keys: Vec<EventKey>) {
        match self.histories.last_mut() {
            Some(last) => last.extend(keys),
            None => self.histories.push(keys),
        }
    }

    /// Notes the tool of each call, and sets it in each answer to a call.
    pub(super) fn name_tools(&mut self, events: &mut [Event]) {
        for event in events {
            let Some(id) = &event.id else { continue };
            match (&event.kind, &event.tool) {
                (Kind::ToolResult | Kind::Approval | Kind::Denial, _) => {
                    event.tool = self.tools.get(id).cloned().or(event.tool.take());
                }
                (_, Some(tool)) => {
                    self.tools.insert(id.clone(), tool.clone());
                }
                _ => {}
            }
        }
    }
}

impl Conversation {
    /// Returns it as bytes that [`Conversation::from_bytes`] reads.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let put_hash = |out: &mut Vec<u8>, hash: &ContentHash| out.extend_from_slice(hash);
        put_option(&mut out, self.session.as_ref(), |out, session| put_text(out, session));
        out.extend([u8::from(self.is_named), u8::from(self.acted)]);
        put_list(&mut out, &self.histories, |out, history| put_list(out, history, |out, key| key.put(out)));
        [self.hash, self.preamble].iter().for_each(|hash| put_hash(&mut out, hash));
        [&self.last, &self.definitions].iter().for_each(|hash| put_option(&mut out, hash.as_ref(), put_hash));
        put_list(&mut out, &self.ends, put_hash);
        put_number(&mut out, self.tools.len() as u64);
        for (id, tool) in &self.tools {
            put_text(&mut out, id);
            put_text(&mut out, tool);
        }
        put_number(&mut out, self.delivered.len() as u64);
        self.delivered.iter().for_each(|hash| put_hash(&mut out, hash));
        put_number(&mut out, self.restarts as u64);
        out
    }

    /// Reads what [`Conversation::to_bytes`] wrote; none if it is damaged.
    pub(super) fn from_bytes(mut bytes: &[u8]) -> Option<Conversation> {
        let bytes = &mut bytes;
        let session = take_option(bytes, take_text)?;
        let (is_named, acted) = (take_byte(bytes)? == 1, take_byte(bytes)? == 1);
        let histories = take_list(bytes, |bytes| take_list(bytes, EventKey::take))?;
        let (hash, preamble) = (take_fixed(bytes)?, take_fixed(bytes)?);
        let (last, definitions) = (take_option(bytes, take_fixed)?, take_option(bytes, take_fixed)?);
        let ends = take_list(bytes, take_fixed)?;
        let tools = take_list(bytes, |bytes| Some((take_text(bytes)?, take_text(bytes)?)))?.into_iter().collect();
        let delivered = take_list(bytes, take_fixed)?.into_iter().collect();
        let restarts = usize::try_from(take_number(bytes)?).ok()?;
        let conversation =
            Conversation { session, is_named, histories, hash, last, ends, preamble, acted, ..Default::default() };
        Some(Conversation { tools, delivered, definitions, restarts, ..conversation })
    }
}

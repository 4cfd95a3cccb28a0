//! Conversations whose history is sent again with every request.
//!
//! A model interface keeps no state: each request repeats the history. Here a request is compared with the conversations
//! already seen, by the content of its events, and only new content becomes events. The longest known history wins. A
//! session that the log names may have several, those of its agents. A request that continues no known history begins a
//! conversation, which is a session of its own: the first of a file has the file's session, the next ones are `FILE#2`,
//! `FILE#3`.
//!
//! The instructions before the first message often change from request to request (with the time, say). They are not
//! part of the compared history, once the agent has acted in it; changed instructions are an event.

mod state;
mod table;

use std::collections::HashMap;

use lictor_logic::Time;

use self::state::Conversation;
use self::table::ConversationTable;
use super::repeated_history::{Continuation, EMPTY_HISTORY, EventKey, is_act};
use super::restart_signs::count_restarts;
use super::sliding_windows::{SlidingWindows, is_periodic};
use super::{DecodedEvents, Fault, LogRecord};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Text};

/// The fewest events that show which conversation a trimmed history belongs to, if the log names no session.
const MIN_TELLING_EVENTS: usize = 3;

/// Where and when events were read.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub source: Source,
    pub time: Option<Time>,
}

/// The content of a request.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The session, where the log names it.
    pub session: Option<Text>,
    /// The tools on offer, as they are described.
    pub definitions: Option<Json>,
    /// The instructions and all messages, old and new.
    pub events: Vec<Event>,
}

/// The conversations of one file.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: ConversationTable,
    /// The conversation whose history has exactly this hash.
    ends: HashMap<ContentHash, usize>,
    /// The conversations of sessions that the log names.
    named: HashMap<Text, usize>,
    /// The last conversation that the log does not name.
    unnamed: Option<usize>,
    /// The conversation of each call with an id of its own, of those that the log does not name.
    calls: HashMap<ContentHash, usize>,
    /// What is known of the ends of those that the log does not name.
    windows: SlidingWindows,
    current: usize,
}

/// Returns the fault of a session that could not be read from a temporary file.
fn describe_lost(session: Text) -> Fault {
    let message = format!(
        "what is known of session `{session}` could not be read from a temporary file: messages that it repeats are \
         judged again"
    );
    Fault { file: "-".into(), line: 1, column: None, code: "decode.temporary_file", message }
}

/// Returns the fault of a record that holds several conversations.
fn describe_restarts(restarts: usize, source: &Source) -> Fault {
    let message = format!(
        "instructions begin {} conversations in the messages of this record: they are judged as one session; write a record for each",
        restarts + 1
    );
    Fault { file: source.file.clone(), line: source.line, column: None, code: "decode.no_session", message }
}

impl Stamp {
    /// Returns the source of a record, and the time it states.
    pub(super) fn new(record: &LogRecord, time: Option<Time>) -> Stamp {
        Stamp { source: record.source(), time }
    }

    /// Returns an event with this source, and with this time if it has none.
    pub(super) fn mark(&self, mut event: Event) -> Event {
        event.source = self.source.clone();
        event.time = event.time.or(self.time);
        event
    }
}

impl Conversations {
    /// Takes a request and emits its new events.
    pub(super) fn take_request(&mut self, mut request: Request, stamp: &Stamp, out: &mut DecodedEvents) {
        // A session that the log names may hold what it likes.
        let restarts = if request.session.is_none() { count_restarts(&request.events) } else { 0 };
        let mut body = request.events.split_off(count_instructions(&request.events));
        let preamble = hash_events(&request.events);
        let keys: Vec<EventKey> = body.iter().map(EventKey::new).collect();
        let is_named = request.session.is_some();
        let (index, Continuation { is_new, .. }, known) = match &request.session {
            Some(session) => self.find_named(session, &keys),
            None => self.find(preamble, &keys, &stamp.source),
        };
        self.current = index;
        if restarts > 0 && std::mem::replace(&mut self.all.open(index).restarts, restarts) == 0 {
            out.faults.push(describe_restarts(restarts, &stamp.source));
        }
        // The time of a history is that of its last step. When the steps before it were, it does not say.
        let last_step = find_last_step(&body).max(known);
        let untimed = Stamp { time: None, ..stamp.clone() };
        let before = if last_step > known { &untimed } else { stamp };
        self.emit_definitions(index, request.definitions.as_ref(), before, out);
        self.emit_instructions(index, preamble, request.events, before, out);
        if !is_named {
            let new = keys.iter().zip(&is_new).filter(|(_, is_new)| **is_new);
            self.windows.note_events(index, new.map(|(key, _)| key));
        }
        let conversation = self.all.open(index);
        conversation.hash = hash_keys(EMPTY_HISTORY, &keys);
        conversation.push_history(keys);
        conversation.name_tools(&mut body);
        conversation.acted |= body.iter().any(is_act);
        for (place, event) in body.into_iter().enumerate().filter(|(place, _)| is_new[*place]) {
            let stamp = if place < last_step { &untimed } else { stamp };
            push_events(vec![event], conversation.session.clone(), stamp, out);
        }
        self.index_end(index, Vec::new());
    }

    /// Takes a request that names the conversation it continues, so that all of it is new.
    pub(super) fn take_continuation(
        &mut self,
        index: usize,
        mut request: Request,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let body = request.events.split_off(count_instructions(&request.events));
        self.current = index;
        self.emit_definitions(index, request.definitions.as_ref(), stamp, out);
        self.emit_instructions(index, hash_events(&request.events), request.events, stamp, out);
        self.take_answer(index, vec![body], stamp, out);
    }

    /// Takes the next message of a conversation, or the choices of a model. The first choice counts until a request
    /// repeats another one.
    pub(super) fn take_answer(
        &mut self,
        index: usize,
        choices: Vec<Vec<Event>>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let index = self.ensure(index, stamp);
        let conversation = self.all.open(index);
        let before = conversation.hash;
        let mut others = Vec::new();
        for (number, mut events) in choices.into_iter().enumerate() {
            if number == 0 {
                events.retain(|event| conversation.is_first_delivery(event, stamp.time));
            }
            // Leading instructions are kept apart, as in a request.
            let instructions = match conversation.histories.is_empty() {
                true => count_instructions(&events),
                false => 0,
            };
            for event in &events[..instructions] {
                conversation.preamble = content_hash::extend_hash(&conversation.preamble, event);
            }
            let keys: Vec<EventKey> = events[instructions..].iter().map(EventKey::new).collect();
            if !conversation.is_named {
                self.windows.note_events(index, keys.iter());
            }
            let hash = hash_keys(before, &keys);
            match number {
                0 => {
                    conversation.hash = hash;
                    conversation.extend_history(keys);
                }
                _ => {
                    others.push(hash);
                    events.iter_mut().for_each(|event| event.more.insert("choice", number as i64));
                }
            }
            conversation.name_tools(&mut events);
            conversation.acted |= events.iter().any(is_act);
            push_events(events, conversation.session.clone(), stamp, out);
        }
        self.index_end(index, others);
    }

    /// Appends events to the conversation of the last request.
    pub(super) fn append(&mut self, events: Vec<Event>, stamp: &Stamp, out: &mut DecodedEvents) {
        self.take_answer(self.current, vec![events], stamp, out);
    }

    /// Emits an event that is not part of the history, such as a failure.
    pub(super) fn add_event(&mut self, index: usize, event: Event, stamp: &Stamp, out: &mut DecodedEvents) {
        let index = self.ensure(index, stamp);
        push_events(vec![event], self.all.open(index).session.clone(), stamp, out);
    }

    /// Takes the instructions and tools that an answer repeats from its request, unless they are known.
    pub(super) fn take_repeated(
        &mut self,
        index: usize,
        instructions: Vec<Event>,
        definitions: Option<&Json>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let index = self.ensure(index, stamp);
        if self.all.open(index).definitions.is_none() {
            self.emit_definitions(index, definitions, stamp, out);
        }
        if self.all.open(index).preamble == EMPTY_HISTORY {
            self.emit_instructions(index, hash_events(&instructions), instructions, stamp, out);
        }
    }

    /// Returns the conversation of the last request.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// Whether the log names the session of the last request.
    pub(super) fn is_named(&self) -> bool {
        self.all.is_named(self.current)
    }

    /// Returns to a conversation.
    pub(super) fn enter(&mut self, index: usize) {
        self.current = index;
    }

    /// Begins a conversation that the log does not name.
    pub(super) fn begin_unnamed(&mut self, stamp: &Stamp) {
        self.current = self.begin(None, &stamp.source);
    }

    /// Returns to the conversation of a named session, or begins it.
    pub(super) fn enter_session(&mut self, session: &str, stamp: &Stamp) {
        self.current = match self.named.get(session) {
            Some(&index) => index,
            None => self.begin(Some(session.into()), &stamp.source),
        };
    }

    /// Returns from a named session to the conversation that the log does not name, if that is known.
    pub(super) fn leave_session(&mut self) {
        if self.is_named() {
            self.current = self.unnamed.unwrap_or(self.all.len());
        }
    }

    /// Returns the conversation of a named session, how a history continues it, and up to where that is known.
    fn find_named(&mut self, session: &Text, keys: &[EventKey]) -> (usize, Continuation, usize) {
        let Some(&index) = self.named.get(session) else {
            return (self.begin(Some(session.clone()), &Source::default()), Continuation::of_new(keys.len()), 0);
        };
        let continuation = self.all.open(index).take_history(keys);
        let known = continuation.known_end();
        (index, continuation, known)
    }

    /// Returns the conversation that a history continues, or that it begins; how, and up to where it is known.
    fn find(&mut self, preamble: ContentHash, keys: &[EventKey], source: &Source) -> (usize, Continuation, usize) {
        let whole = self.find_whole(preamble, keys);
        let part = self.find_trimmed(keys, &whole).or_else(|| self.find_window(preamble, keys, &whole, source));
        match part.or(whole) {
            Some((index, continuation)) => {
                self.all.open(index).histories.pop();
                let known = continuation.known_end();
                (index, continuation, known)
            }
            None => {
                self.windows.note_beginning(keys, source, |index| self.all.last_history(index).len());
                (self.begin(None, source), Continuation::of_new(keys.len()), 0)
            }
        }
    }

    /// Returns the conversation whose whole history a history repeats; the longest.
    fn find_whole(&self, preamble: ContentHash, keys: &[EventKey]) -> Option<(usize, Continuation)> {
        let hashes = hash_prefixes(EMPTY_HISTORY, keys);
        let prefixes = hashes.iter().enumerate().rev().map(|(place, hash)| (place + 1, hash));
        prefixes.chain([(0, &EMPTY_HISTORY)]).find_map(|(known, hash)| {
            let &index = self.ends.get(hash)?;
            let conversation = self.all.get(index)?;
            let mut pairs = conversation.histories.last().into_iter().flatten().zip(&keys[..known]);
            let is_at_other_time = pairs.any(|(known, key)| known.hash() == key.hash() && !known.is_same(key));
            let continues = conversation.acted || conversation.preamble == preamble || conversation.is_fresh();
            let is_new = (0..keys.len()).map(|place| place >= known).collect();
            let continuation = Continuation { is_new, is_certain: false, goes_on: true };
            (continues && !is_at_other_time).then_some((index, continuation))
        })
    }

    /// Returns the conversation of which a history repeats the end, with a call by its id, unless it repeats the `whole` of
    /// another one.
    fn find_trimmed(&self, keys: &[EventKey], whole: &Option<(usize, Continuation)>) -> Option<(usize, Continuation)> {
        if whole.as_ref().is_some_and(|(_, continuation)| continuation.known_end() >= MIN_TELLING_EVENTS) {
            return None;
        }
        let calls = keys.iter().rev().filter(|key| key.is_unique_call());
        let index = *calls.filter_map(|call| self.calls.get(&call.hash())).next()?;
        let continuation = Continuation::find(self.all.get(index)?.histories.last()?, keys);
        let is_told = continuation.is_certain && continuation.count_repeated() >= MIN_TELLING_EVENTS;
        (continuation.goes_on && is_told).then_some((index, continuation))
    }

    /// Returns the conversation of which a history is a window, if that is proven. It must repeat more of it than of any
    /// other one, and more than the `whole` of another one.
    fn find_window(
        &mut self,
        preamble: ContentHash,
        keys: &[EventKey],
        whole: &Option<(usize, Continuation)>,
        source: &Source,
    ) -> Option<(usize, Continuation)> {
        let (continued, known) = match whole {
            Some((index, continuation)) => (Some(*index), continuation.known_end()),
            None => (None, 0),
        };
        let mut found = self.windows.find_candidates(keys, |index| self.all.last_history(index));
        found.retain(|window| Some(window.conversation) != continued);
        // What several conversations end with may be short.
        found.sort_by_key(|window| window.continuation.known_end());
        let Some(window) = found.pop() else {
            if known == keys.len() && is_periodic(keys) {
                self.windows.note_periodic(source);
            }
            return None;
        };
        let others = found.iter().map(|other| other.continuation.known_end()).max();
        let is_longest = window.continuation.known_end() > others.unwrap_or(0).max(known);
        let is_same_agent = self.all.get(window.conversation).is_some_and(|of| of.preamble == preamble);
        if !is_longest || !is_same_agent || !self.windows.is_proven(&window, keys) {
            self.windows.note_doubt(source);
            return None;
        }
        self.windows.note_joined();
        Some((window.conversation, window.continuation))
    }

    /// Returns the fault of requests that may continue another conversation.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.windows.take_fault().or_else(|| self.all.take_lost().map(describe_lost))
    }

    fn ensure(&mut self, index: usize, stamp: &Stamp) -> usize {
        match index < self.all.len() {
            true => index,
            false => self.begin(None, &stamp.source),
        }
    }

    fn begin(&mut self, named: Option<Text>, source: &Source) -> usize {
        let index = self.all.len();
        let session = match (&named, self.unnamed) {
            (Some(name), _) => Some(name.clone()),
            (None, None) => None,
            (None, Some(_)) => Some(format!("{}#{}", source.file, index + 1).into()),
        };
        if named.is_none() {
            self.unnamed = Some(index);
        }
        self.all.push(Conversation { session, is_named: named.is_some(), ..Conversation::default() });
        self.named.extend(named.map(|name| (name, index)));
        self.index_end(index, Vec::new());
        index
    }

    /// Indexes a conversation by the hash of its history, and by the hashes it would have with other choices.
    fn index_end(&mut self, index: usize, others: Vec<ContentHash>) {
        let conversation = self.all.open(index);
        for end in conversation.ends.drain(..) {
            if self.ends.get(&end) == Some(&index) {
                self.ends.remove(&end);
            }
        }
        // A session that the log names is found by its name only.
        if !conversation.is_named {
            conversation.ends = others;
            conversation.ends.push(conversation.hash);
            self.ends.extend(conversation.ends.iter().map(|end| (*end, index)));
            let history = conversation.last_history();
            let calls = history.iter().filter(|key| key.is_unique_call());
            self.calls.extend(calls.map(|call| (call.hash(), index)));
            self.windows.note_end(index, conversation.last, history);
            conversation.last = history.last().map(EventKey::hash);
        }
    }

    /// Emits the tools on offer, unless they are unchanged.
    fn emit_definitions(&mut self, index: usize, definitions: Option<&Json>, stamp: &Stamp, out: &mut DecodedEvents) {
        let Some(tools) = definitions.filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty())) else {
            return;
        };
        let conversation = self.all.open(index);
        let hash = content_hash::hash_json(tools);
        if conversation.definitions != Some(hash) {
            conversation.definitions = Some(hash);
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", tools.clone());
            push_events(vec![event], conversation.session.clone(), stamp, out);
        }
    }

    /// Emits the instructions, unless they are unchanged.
    fn emit_instructions(
        &mut self,
        index: usize,
        preamble: ContentHash,
        events: Vec<Event>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let conversation = self.all.open(index);
        if conversation.preamble != preamble {
            conversation.preamble = preamble;
            push_events(events, conversation.session.clone(), stamp, out);
        }
    }
}

/// Returns where the last step of a history begins: its last message, with the calls or the answers of that step.
fn find_last_step(events: &[Event]) -> usize {
    let before_run = |kind: &Kind| events.iter().rposition(|event| event.kind != *kind).map_or(0, |place| place + 1);
    match events.last().map(|event| &event.kind) {
        Some(Kind::ToolResult) => before_run(&Kind::ToolResult),
        Some(Kind::ToolCall) => {
            let calls = before_run(&Kind::ToolCall);
            let says = events[..calls].last().is_some_and(|event| event.kind == Kind::AssistantMessage);
            calls - usize::from(says)
        }
        Some(_) => events.len() - 1,
        None => 0,
    }
}

/// Returns how many instructions come before the first message.
fn count_instructions(events: &[Event]) -> usize {
    events.iter().take_while(|event| event.kind == Kind::SystemMessage).count()
}

fn hash_events(events: &[Event]) -> ContentHash {
    events.iter().fold(EMPTY_HISTORY, |hash, event| content_hash::extend_hash(&hash, event))
}

fn hash_keys(start: ContentHash, keys: &[EventKey]) -> ContentHash {
    hash_prefixes(start, keys).last().copied().unwrap_or(start)
}

/// Returns the hash of a history up to each of its events.
fn hash_prefixes(start: ContentHash, keys: &[EventKey]) -> Vec<ContentHash> {
    let next = |hash: &mut ContentHash, key: &EventKey| {
        *hash = content_hash::join_hashes(hash, &key.hash());
        Some(*hash)
    };
    keys.iter().scan(start, next).collect()
}

fn push_events(events: Vec<Event>, session: Option<Text>, stamp: &Stamp, out: &mut DecodedEvents) {
    out.events.extend(events.into_iter().map(|event| Event { session: session.clone(), ..stamp.mark(event) }));
}

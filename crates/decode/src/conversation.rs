//! Conversations whose history is sent again with every request.
//!
//! A model interface keeps no state: each request carries all that was said before. Here a request is compared with
//! the conversations already seen, by what its events say, and only what is new becomes events. The longest known
//! history wins. A request that goes on from no known history begins a conversation of its own, as a session of its
//! own: the first of a file has the file's session, the next ones are `FILE#2`, `FILE#3`.
//!
//! The instructions before the first message often change from request to request (they tell the time, say). They are
//! no part of the history that is compared, as long as the agent has acted in it; when they change, the new ones are
//! an event.

use std::collections::HashMap;

use lictor_logic::Time;

use super::{DecodedEvents, LogRecord};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Text};

/// The print of a history in which nothing was said.
const NOTHING: ContentHash = [0; 32];

/// Where and when events were read.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub source: Source,
    pub time: Option<Time>,
}

/// What a request says.
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
    all: Vec<Conversation>,
    /// Which conversation has said exactly this so far.
    ends: HashMap<ContentHash, usize>,
    /// The conversations of sessions that the log names.
    named: HashMap<Text, usize>,
    current: usize,
}

#[derive(Debug, Default)]
struct Conversation {
    session: Option<Text>,
    /// Whether the log names the session.
    is_named: bool,
    /// The print of the history up to each of its events.
    chain: Vec<ContentHash>,
    /// The keys under which the conversation is found; several where the model gave several answers.
    ends: Vec<ContentHash>,
    /// The print of the instructions before the first message.
    preamble: ContentHash,
    /// Whether the agent has said or done anything.
    acted: bool,
    /// The tool of each call.
    tools: HashMap<Text, Text>,
    /// The print of the tools on offer.
    definitions: Option<ContentHash>,
}

impl Stamp {
    /// The place of a record, and the time it states.
    pub(super) fn new(record: &LogRecord, time: Option<Time>) -> Stamp {
        Stamp { source: record.source(), time }
    }

    /// Marks an event with the place and the time.
    pub(super) fn mark(&self, mut event: Event) -> Event {
        event.source = self.source.clone();
        event.time = event.time.or(self.time);
        event
    }
}

impl Conversations {
    /// Takes a request: tells what is new in it.
    pub(super) fn request(&mut self, mut request: Request, stamp: &Stamp, out: &mut DecodedEvents) {
        let mut body = request.events.split_off(leading_instructions(&request.events));
        let preamble = print_of(&request.events);
        let chain = chain_of(NOTHING, &body);
        let (index, known) = match &request.session {
            Some(session) => self.find_named(session, &chain),
            None => self.find(preamble, &chain).unwrap_or_else(|| (self.begin(None, &stamp.source), 0)),
        };
        self.current = index;
        self.offer(index, request.definitions.as_ref(), stamp, out);
        self.instruct(index, preamble, request.events, stamp, out);
        let conversation = &mut self.all[index];
        conversation.chain = chain;
        conversation.name_tools(&mut body);
        conversation.acted |= body.iter().any(is_act);
        push(body.split_off(known), conversation.session.clone(), stamp, out);
        self.moved(index, Vec::new());
    }

    /// Takes a request that names what it goes on from, so that all of it is new.
    pub(super) fn request_in(&mut self, index: usize, mut request: Request, stamp: &Stamp, out: &mut DecodedEvents) {
        let body = request.events.split_off(leading_instructions(&request.events));
        self.current = index;
        self.offer(index, request.definitions.as_ref(), stamp, out);
        self.instruct(index, print_of(&request.events), request.events, stamp, out);
        self.answer(index, vec![body], stamp, out);
    }

    /// Takes what follows in a conversation: a message, or the answers of a model, of which the first is taken as the
    /// one that counts until a request says otherwise.
    pub(super) fn answer(&mut self, index: usize, choices: Vec<Vec<Event>>, stamp: &Stamp, out: &mut DecodedEvents) {
        let index = self.existing(index, stamp);
        let conversation = &mut self.all[index];
        let before = conversation.end();
        let mut others = Vec::new();
        for (number, mut events) in choices.into_iter().enumerate() {
            // Instructions before all else stand apart, as they do in a request.
            let instructions = match conversation.chain.is_empty() {
                true => leading_instructions(&events),
                false => 0,
            };
            for event in &events[..instructions] {
                conversation.preamble = content_hash::extend_hash(&conversation.preamble, event);
            }
            let chain = chain_of(before, &events[instructions..]);
            match number {
                0 => conversation.chain.extend(chain),
                _ => {
                    others.extend(chain.last());
                    events.iter_mut().for_each(|event| event.more.insert("choice", number as i64));
                }
            }
            conversation.name_tools(&mut events);
            conversation.acted |= events.iter().any(is_act);
            push(events, conversation.session.clone(), stamp, out);
        }
        self.moved(index, others);
    }

    /// Takes what follows in the conversation of the last request.
    pub(super) fn add(&mut self, events: Vec<Event>, stamp: &Stamp, out: &mut DecodedEvents) {
        self.answer(self.current, vec![events], stamp, out);
    }

    /// Tells an event that is no part of the history, such as a failure.
    pub(super) fn note(&mut self, index: usize, event: Event, stamp: &Stamp, out: &mut DecodedEvents) {
        let index = self.existing(index, stamp);
        push(vec![event], self.all[index].session.clone(), stamp, out);
    }

    /// Takes the instructions and tools that an answer repeats from its request, unless they are known.
    pub(super) fn repeat(
        &mut self,
        index: usize,
        instructions: Vec<Event>,
        definitions: Option<&Json>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let index = self.existing(index, stamp);
        if self.all[index].definitions.is_none() {
            self.offer(index, definitions, stamp, out);
        }
        if self.all[index].preamble == NOTHING {
            self.instruct(index, print_of(&instructions), instructions, stamp, out);
        }
    }

    /// The conversation of the last request.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// Goes back to the conversation of a named session, or begins it.
    pub(super) fn enter(&mut self, session: &str, stamp: &Stamp) {
        self.current = match self.named.get(session) {
            Some(&index) => index,
            None => self.begin(Some(session.into()), &stamp.source),
        };
    }

    /// The conversation of a named session, and how much of a history it already holds.
    fn find_named(&mut self, session: &Text, chain: &[ContentHash]) -> (usize, usize) {
        let Some(&index) = self.named.get(session) else {
            return (self.begin(Some(session.clone()), &Source::default()), 0);
        };
        let known = self.all[index].chain.iter().zip(chain).take_while(|(ours, theirs)| ours == theirs).count();
        (index, known)
    }

    /// The conversation that a history goes on from, and how much of the history it already holds.
    fn find(&self, preamble: ContentHash, chain: &[ContentHash]) -> Option<(usize, usize)> {
        let prefixes = chain.iter().enumerate().rev().map(|(place, print)| (place + 1, print));
        prefixes.chain([(0, &NOTHING)]).find_map(|(known, print)| {
            let &index = self.ends.get(print)?;
            let conversation = &self.all[index];
            let goes_on = conversation.acted || conversation.preamble == preamble || conversation.is_fresh();
            goes_on.then_some((index, known))
        })
    }

    fn existing(&mut self, index: usize, stamp: &Stamp) -> usize {
        match index < self.all.len() {
            true => index,
            false => self.begin(None, &stamp.source),
        }
    }

    fn begin(&mut self, named: Option<Text>, source: &Source) -> usize {
        let index = self.all.len();
        let session = match (&named, index) {
            (Some(name), _) => Some(name.clone()),
            (None, 0) => None,
            (None, _) => Some(format!("{}#{}", source.file, index + 1).into()),
        };
        self.all.push(Conversation { session, is_named: named.is_some(), ..Conversation::default() });
        self.named.extend(named.map(|name| (name, index)));
        self.moved(index, Vec::new());
        index
    }

    /// Notes what a conversation has said by now, and what it would have said with another of the answers.
    fn moved(&mut self, index: usize, others: Vec<ContentHash>) {
        let conversation = &mut self.all[index];
        for end in conversation.ends.drain(..) {
            if self.ends.get(&end) == Some(&index) {
                self.ends.remove(&end);
            }
        }
        // A session that the log names is found by its name only.
        if !conversation.is_named {
            conversation.ends = others;
            conversation.ends.push(conversation.end());
            self.ends.extend(conversation.ends.iter().map(|end| (*end, index)));
        }
    }

    /// Tells the tools on offer, unless they are the same as before.
    fn offer(&mut self, index: usize, definitions: Option<&Json>, stamp: &Stamp, out: &mut DecodedEvents) {
        let Some(tools) = definitions.filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty())) else {
            return;
        };
        let conversation = &mut self.all[index];
        let print = content_hash::hash_json(tools);
        if conversation.definitions != Some(print) {
            conversation.definitions = Some(print);
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", tools.clone());
            push(vec![event], conversation.session.clone(), stamp, out);
        }
    }

    /// Tells the instructions, unless they are the same as before.
    fn instruct(
        &mut self,
        index: usize,
        preamble: ContentHash,
        events: Vec<Event>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let conversation = &mut self.all[index];
        if conversation.preamble != preamble {
            conversation.preamble = preamble;
            push(events, conversation.session.clone(), stamp, out);
        }
    }
}

impl Conversation {
    /// The print of all that was said.
    fn end(&self) -> ContentHash {
        self.chain.last().copied().unwrap_or(NOTHING)
    }

    fn is_fresh(&self) -> bool {
        self.chain.is_empty() && self.preamble == NOTHING
    }

    /// Notes the tool of each call, and says it with each answer to a call.
    fn name_tools(&mut self, events: &mut [Event]) {
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

/// Whether an event is the agent's, or an answer to what it did.
fn is_act(event: &Event) -> bool {
    !matches!(event.kind, Kind::UserMessage | Kind::SystemMessage)
}

/// How many events come before the first message.
fn leading_instructions(events: &[Event]) -> usize {
    events.iter().take_while(|event| event.kind == Kind::SystemMessage).count()
}

fn print_of(events: &[Event]) -> ContentHash {
    events.iter().fold(NOTHING, |print, event| content_hash::extend_hash(&print, event))
}

fn chain_of(start: ContentHash, events: &[Event]) -> Vec<ContentHash> {
    let next = |print: &mut ContentHash, event: &Event| {
        *print = content_hash::extend_hash(print, event);
        Some(*print)
    };
    events.iter().scan(start, next).collect()
}

fn push(events: Vec<Event>, session: Option<Text>, stamp: &Stamp, out: &mut DecodedEvents) {
    out.events.extend(events.into_iter().map(|event| Event { session: session.clone(), ..stamp.mark(event) }));
}

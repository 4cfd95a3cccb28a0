//! What a message means: its parts, and the events that they become.

use crate::attachments::unknown_types;
use std::collections::HashMap;

use lictor_logic::Time;

use crate::call_pairing::CallPairing;
use crate::content::Content;
use crate::conversation::Stamp;
use crate::{DecodedEvents, LogRecord, chat, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// The meaning of a part of a message.
#[derive(Debug)]
pub(crate) enum Part {
    Text(Text),
    /// A file or a picture, by its type.
    Attachment(Text),
    /// Calls and answers.
    Events(Vec<Event>),
    /// A part without content for a policy: reasoning, a mark of the cache.
    Silent,
    Unknown,
}

impl Part {
    /// Returns the part of a text that must be there.
    pub(crate) fn from_text(text: Option<&str>) -> Part {
        text.map_or(Part::Unknown, |text| Part::Text(text.into()))
    }

    /// Returns the part of one call or answer.
    pub(crate) fn from_event(event: Event) -> Part {
        Part::Events(vec![event])
    }
}

/// A call that a person is asked about before it is made.
#[derive(Debug)]
pub(crate) enum WaitingCall {
    Open(Box<Event>),
    Denied,
}

/// The events of messages, and the parts that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The agent that wrote the message.
    pub(crate) agent: Option<Text>,
    /// When the message was written.
    pub(crate) time: Option<Time>,
    /// Other ids under which the log knows a call, each with the id of the call.
    pub(crate) call_ids: HashMap<Text, Text>,
    /// The calls that a person is asked about, by their ids.
    pub(crate) waiting: HashMap<Text, WaitingCall>,
    /// Whether the agent acted in the message before, so that the next message of the user is the answer.
    pub(crate) awaits_answer: bool,
    /// Who wrote the first message, in logs whose roles depend on the writer.
    pub(crate) opener: Option<Text>,
    /// The instructions of the message before.
    pub(super) instructions: Option<Text>,
    pub(super) events: Vec<Event>,
    /// The shapes of parts that could not be read.
    pub(super) unread: Vec<String>,
}

impl Reading {
    /// Adds the events of a message in the shape of OpenAI or Anthropic.
    pub(crate) fn push_chat(&mut self, message: &Json) {
        match chat::read_message(message) {
            Some(events) => {
                for event in &events {
                    self.unread.extend(unknown_types(event).map(|name| format!("of type `{name}`")));
                }
                events.into_iter().for_each(|event| self.push(event));
            }
            None => self.push_unknown(message),
        }
    }

    /// Adds an event, with the time of the message and, if the agent caused it, the agent.
    pub(crate) fn push(&mut self, mut event: Event) {
        event.time = event.time.or(self.time);
        if event.agent.is_none() && !matches!(event.kind, Kind::UserMessage | Kind::SystemMessage) {
            event.agent.clone_from(&self.agent);
        }
        self.events.push(event);
    }

    /// Adds instructions, unless they are those of the message before.
    pub(crate) fn push_instructions(&mut self, content: &Json) {
        let content = Content::from_json(content, "\n");
        if content.is_empty() || content.text == self.instructions {
            return;
        }
        self.instructions.clone_from(&content.text);
        self.push(chat::message_event(Kind::SystemMessage, content));
    }

    /// Adds the events of a content: a text, or parts whose meaning `read` knows.
    pub(crate) fn push_content(&mut self, speaker: Kind, content: &Json, mut read: impl FnMut(&Json) -> Part) {
        let joint = if speaker == Kind::AssistantMessage { "" } else { "\n" };
        let mut open = Content::default();
        let first = self.events.len();
        let mut is_known = true;
        for part in content.as_array().unwrap_or(std::slice::from_ref(content)) {
            let meaning = match part {
                Json::Null => Part::Silent,
                Json::String(text) => Part::Text(text.clone()),
                part => read(part),
            };
            match meaning {
                Part::Text(text) => open.add(&Json::String(text), joint),
                Part::Attachment(sort) => open.attachments.push(sort),
                Part::Events(events) => {
                    self.flush(&mut open, &speaker);
                    events.into_iter().for_each(|event| self.push(event));
                }
                Part::Silent => {}
                Part::Unknown => {
                    is_known = false;
                    self.push_unknown(part);
                }
            }
        }
        // A user who sends nothing still took a turn; one who sends the answers of tools did not.
        let is_silent_turn = speaker == Kind::UserMessage && self.events.len() == first && is_known;
        match open.is_empty() && is_silent_turn {
            true => self.push(Event::new(speaker)),
            false => self.flush(&mut open, &speaker),
        }
    }

    /// Reports a part or a message of an unknown shape.
    pub(crate) fn push_unknown(&mut self, value: &Json) {
        self.unread.push(unknown_record::describe_value(value));
    }

    /// Returns the events, and whether all parts could be read.
    pub(crate) fn into_events(self) -> (Vec<Event>, bool) {
        (self.events, self.unread.is_empty())
    }

    /// Returns the events so far.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Emits the events of a run: a session that one record holds, with the times that the record knows.
    pub(crate) fn emit_run(
        mut self,
        session: &Text,
        stamp: &Stamp,
        record: &LogRecord,
        out: &mut DecodedEvents,
        find_time: impl Fn(&Event) -> Option<Time>,
    ) {
        let mut pairing = CallPairing::default();
        pairing.pair_events(&mut self.events);
        out.faults.extend(self.unread.iter().map(|shape| unknown_record::describe_part(record, shape)));
        for event in self.events {
            let time = event.time.or_else(|| find_time(&event));
            out.events.push(Event { session: Some(session.clone()), time, ..stamp.mark(event) });
        }
    }

    fn flush(&mut self, open: &mut Content, speaker: &Kind) {
        let content = std::mem::take(open);
        if !content.is_empty() {
            self.push(chat::message_event(speaker.clone(), content));
        }
    }
}

/// Returns the answer of a tool without its content.
pub(crate) fn tool_result(id: Option<&str>, tool: Option<&str>) -> Event {
    Event { id: id.map(Text::from), tool: tool.map(Text::from), ..Event::new(Kind::ToolResult) }
}

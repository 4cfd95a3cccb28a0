//! Logs that are messages with parts: one decoder for every format of that kind.
//!
//! Frameworks and model interfaces write a conversation as a list of messages, and a message as a list of parts: texts,
//! calls, answers, files. They differ in the names. A format says where the messages of a record are and what a part
//! means ([`MessageLog`]); [`MessageLogDecoder`] does the rest. It removes repeated histories, pairs calls with answers
//! that have no id, and reports every part of an unknown shape.

mod reading;

use std::collections::HashMap;
use std::marker::PhantomData;

use lictor_logic::Time;

use super::call_pairing::CallPairing;
use super::conversation::{Conversations, Request, Stamp};
use super::openai_chat::truncation_fault;
use super::session_key::LoneMessages;
use super::unread_times::UnreadTimes;
use super::{DecodedEvents, Decoder, LogRecord, envelope, unknown_record};
pub(super) use lictor_event::read_time;
use lictor_event::{Event, Kind, find_history_time, find_time};
use lictor_json::{Json, Text};
pub(super) use reading::{Part, Reading, WaitingCall, tool_result};

/// A format whose records are messages, or hold lists of them.
pub(super) trait MessageLog: Default + Send {
    /// Whether its times have an offset from UTC, so that one without is a mistake of the log.
    const WRITES_OFFSETS: bool = true;

    /// Returns the turns of a record, in their order; none if the record is of another format.
    fn find_turns(value: &Json) -> Vec<Turn<'_>>;

    /// Reads one message.
    fn read_message(message: &Json, reading: &mut Reading);
}

/// Messages of a record that belong together.
#[derive(Debug, Default)]
pub(super) struct Turn<'a> {
    /// The session, where the log names it.
    pub(super) session: Option<Text>,
    /// The event that begins the session, where the log describes it.
    pub(super) start: Option<Event>,
    /// The tools on offer, as they are described.
    pub(super) definitions: Option<Json>,
    /// The instructions before the first message.
    pub(super) instructions: Option<&'a Json>,
    pub(super) messages: Vec<&'a Json>,
    /// Whether the messages are a whole history, which earlier records may have shown in part. Otherwise they are the
    /// next messages of their conversation.
    pub(super) is_history: bool,
    /// Whether the messages are pieces of one message.
    pub(super) is_stream: bool,
    /// Whether the next record may bring another piece.
    pub(super) is_open: bool,
    /// Whether it says what records of a named session say, too. It counts only where no session is named.
    pub(super) is_detail: bool,
    pub(super) time: Option<Time>,
}

impl<'a> Turn<'a> {
    /// Returns the turn of a whole history.
    pub(super) fn from_history(messages: &'a [Json]) -> Turn<'a> {
        Turn { messages: messages.iter().collect(), is_history: true, ..Turn::default() }
    }

    /// Returns the turn of a message that continues its conversation.
    pub(super) fn from_message(message: &'a Json) -> Turn<'a> {
        Turn { messages: vec![message], ..Turn::default() }
    }
}

/// Returns the turns of a request, a response, or both in one envelope. The messages of a response continue those of its
/// request. A part of an envelope that `find_part` does not know is a message of an unknown shape.
pub(super) fn find_exchange<'a>(value: &'a Json, find_part: impl Fn(&'a Json) -> Vec<Turn<'a>>) -> Vec<Turn<'a>> {
    let Some(exchange) = envelope::open_envelope(value) else { return find_part(value) };
    let has_request = exchange.request.is_some();
    let mut turns = Vec::new();
    let mut is_known = false;
    for (part, is_answer) in
        exchange.request.map(|part| (part, false)).into_iter().chain(exchange.response.map(|part| (part, has_request)))
    {
        let mut found = find_part(part);
        is_known |= !found.is_empty();
        if found.is_empty() {
            found.push(Turn::from_message(part));
        }
        for turn in &mut found {
            turn.is_history &= !is_answer;
            turn.session = turn.session.take().or_else(|| exchange.session.as_deref().map(Text::from));
            turn.time = turn.time.or(exchange.time);
        }
        turns.append(&mut found);
    }
    if is_known { turns } else { find_part(value) }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct MessageLogDecoder<L> {
    conversations: Conversations,
    /// The state of each conversation.
    threads: HashMap<usize, MessageThread>,
    lone: LoneMessages,
    times: UnreadTimes,
    /// The pieces of a message that are not yet all of it, and where they begin.
    pieces: Option<(Vec<Event>, Stamp)>,
    format: PhantomData<L>,
}

#[derive(Debug, Default)]
struct MessageThread {
    pairing: CallPairing,
    call_ids: HashMap<Text, Text>,
    waiting: HashMap<Text, WaitingCall>,
    awaits_answer: bool,
    opener: Option<Text>,
    instructions: Option<Text>,
}

impl<L: MessageLog> Decoder for MessageLogDecoder<L> {
    fn checks_parts(&self) -> bool {
        true
    }

    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let turns = L::find_turns(&record.value);
        if turns.is_empty() {
            out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let is_lone = matches!(&turns[..], [turn] if !turn.is_history && turn.session.is_none() && !turn.is_stream && !turn.is_detail);
        let session = self.lone.find_session(&record, is_lone, &mut self.conversations);
        if L::WRITES_OFFSETS {
            self.times.check(&record.value, &record);
        }
        for mut turn in turns {
            if turn.is_detail && self.conversations.is_named() {
                continue;
            }
            let find = if turn.is_history { find_history_time } else { find_time };
            turn.time = turn.time.or_else(|| record.value.as_object().and_then(find));
            turn.session = turn.session.or_else(|| session.as_deref().map(Text::from));
            self.take_turn(turn, &record, out);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.close_stream(out);
        out.faults.extend(self.conversations.take_fault());
        out.faults.extend(self.lone.faults());
        out.faults.extend(self.times.fault());
    }
}

impl<L: MessageLog> MessageLogDecoder<L> {
    /// Takes the turn of a record.
    pub(super) fn take_turn(&mut self, turn: Turn<'_>, record: &LogRecord, out: &mut DecodedEvents) {
        let stamp = Stamp::new(record, turn.time);
        if !turn.is_stream {
            self.close_stream(out);
        }
        if let Some(session) = &turn.session
            && (turn.start.is_some() || !turn.is_history)
        {
            self.conversations.enter_session(session, &stamp);
        }
        if let Some(start) = turn.start {
            self.conversations.add_event(self.conversations.current(), start, &stamp, out);
        }
        // A history is paired anew, so that its calls have the same ids whenever it is repeated.
        let thread = match turn.is_history {
            true => MessageThread::default(),
            false => self.threads.remove(&self.conversations.current()).unwrap_or_default(),
        };
        let MessageThread { mut pairing, call_ids, waiting, awaits_answer, opener, instructions } = thread;
        let mut reading = Reading { call_ids, waiting, awaits_answer, opener, instructions, ..Reading::default() };
        if let Some(instructions) = turn.instructions {
            reading.push_instructions(instructions);
        }
        for message in turn.messages {
            (reading.agent, reading.time) = (None, message.as_object().and_then(find_time));
            L::read_message(message, &mut reading);
        }
        out.faults.extend(reading.unread.iter().map(|shape| unknown_record::describe_part(record, shape)));
        let Reading { call_ids, waiting, awaits_answer, opener, instructions, mut events, .. } = reading;
        if turn.is_stream {
            let (pieces, _) = self.pieces.get_or_insert_with(|| (Vec::new(), stamp.clone()));
            pieces.append(&mut events);
            if !turn.is_open {
                events = self.pieces.take().map(|(pieces, _)| join_pieces(pieces)).unwrap_or_default();
            }
        }
        pairing.pair_events(&mut events);
        let request = Request { session: turn.session, definitions: turn.definitions, events };
        match turn.is_history {
            true => self.conversations.take_request(request, &stamp, out),
            false => self.conversations.append(request.events, &stamp, out),
        }
        let thread = MessageThread { pairing, call_ids, waiting, awaits_answer, opener, instructions };
        self.threads.insert(self.conversations.current(), thread);
    }

    /// Emits the message of a stream whose end is missing.
    fn close_stream(&mut self, out: &mut DecodedEvents) {
        let Some((pieces, stamp)) = self.pieces.take() else { return };
        let mut events = join_pieces(pieces);
        self.threads.entry(self.conversations.current()).or_default().pairing.pair_events(&mut events);
        out.faults.push(truncation_fault(&stamp.source.file, stamp.source.line));
        self.conversations.append(events, &stamp, out);
    }
}

/// Joins texts of the agent that come one after the other.
fn join_pieces(mut events: Vec<Event>) -> Vec<Event> {
    events.dedup_by(|next, before| {
        let is_piece = next.kind == Kind::AssistantMessage && next.more.is_empty();
        match (&mut before.text, &next.text) {
            (Some(text), Some(more)) if before.kind == next.kind && is_piece => {
                text.push_str(more);
                true
            }
            _ => false,
        }
    });
    events
}

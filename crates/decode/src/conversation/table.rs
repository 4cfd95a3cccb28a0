//! The conversations of one file.
//!
//! A log may have very many sessions, and it seldom comes back to one. So only those that it came to last are in memory;
//! the others are written to a temporary file, until the log comes back to them.

use std::collections::VecDeque;

use super::state::Conversation;
use crate::repeated_history::EventKey;
use crate::spool_file::{SpoolFile, SpoolPlace};
use lictor_json::Text;

/// How many conversations of named sessions are in memory at most.
const MAX_OPEN_CONVERSATIONS: usize = 1 << 14;

/// The conversations of one file, by their numbers.
#[derive(Debug)]
pub(super) struct ConversationTable {
    places: Vec<ConversationPlace>,
    /// Those of named sessions in memory, in the order in which the log came to them.
    open: VecDeque<usize>,
    max_open: usize,
    spool: SpoolFile,
    /// A session that could not be read from the file.
    lost: Option<Text>,
}

/// Where a conversation is: in memory, else in the file.
#[derive(Debug)]
struct ConversationPlace {
    memory: Option<Box<Conversation>>,
    /// Whether the log came back to it since it was last in turn to be written.
    is_recent: bool,
    /// Its session, and where it was last written.
    file: Option<Box<(Text, SpoolPlace)>>,
}

impl Default for ConversationTable {
    fn default() -> ConversationTable {
        ConversationTable {
            places: Vec::new(),
            open: VecDeque::new(),
            max_open: MAX_OPEN_CONVERSATIONS,
            spool: SpoolFile::default(),
            lost: None,
        }
    }
}

impl ConversationTable {
    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a conversation.
    pub(super) fn push(&mut self, conversation: Conversation) {
        if conversation.is_named {
            self.make_room();
            self.open.push_back(self.places.len());
        }
        self.places.push(ConversationPlace { memory: Some(Box::new(conversation)), is_recent: false, file: None });
    }

    /// Returns a conversation if it is in memory. One that the log does not name always is.
    pub(super) fn get(&self, number: usize) -> Option<&Conversation> {
        self.places.get(number)?.memory.as_deref()
    }

    /// Returns the last history of a conversation that the log does not name.
    pub(super) fn last_history(&self, number: usize) -> &[EventKey] {
        self.get(number).map_or(&[], Conversation::last_history)
    }

    /// Whether the log names the session of a conversation.
    pub(super) fn is_named(&self, number: usize) -> bool {
        let is_written = self.places.get(number).is_some_and(|place| place.memory.is_none());
        is_written || self.get(number).is_some_and(|conversation| conversation.is_named)
    }

    /// Returns a conversation, read from the file if it is there.
    pub(super) fn open(&mut self, number: usize) -> &mut Conversation {
        if self.places[number].memory.is_none() {
            self.make_room();
            self.open.push_back(number);
        }
        let (spool, lost) = (&mut self.spool, &mut self.lost);
        let ConversationPlace { memory, is_recent, file } = &mut self.places[number];
        *is_recent = true;
        memory.get_or_insert_with(|| {
            let (session, place) = file.take().map_or((None, None), |file| (Some(file.0), Some(file.1)));
            let mut bytes = Vec::new();
            let read = place.and_then(|place| spool.read(place, &mut bytes).ok());
            Box::new(read.and_then(|()| Conversation::from_bytes(&bytes)).unwrap_or_else(|| {
                lost.clone_from(&session);
                Conversation { session, is_named: true, ..Conversation::default() }
            }))
        })
    }

    /// Returns the session of a conversation that could not be read from the file, if there is one.
    pub(super) fn take_lost(&mut self) -> Option<Text> {
        self.lost.take()
    }

    /// Writes conversations that the log came to long ago to the file, so that there is room for one more.
    fn make_room(&mut self) {
        while self.open.len() >= self.max_open
            && let Some(number) = self.open.pop_front()
        {
            let ConversationPlace { memory, is_recent, file } = &mut self.places[number];
            let Some(conversation) = memory else { continue };
            if std::mem::take(is_recent) {
                self.open.push_back(number);
                continue;
            }
            match self.spool.write(&conversation.to_bytes()) {
                Ok(place) => {
                    *file = Some(Box::new((conversation.session.clone().unwrap_or_default(), place)));
                    *memory = None;
                }
                // Without room on disk they stay in memory.
                Err(_) => return self.open.push_back(number),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Conversations, Request, Stamp};
    use crate::{DecodedEvents, LogRecord};
    use lictor_event::{Event, Kind};
    use lictor_json::Json;

    /// The events of requests of some sessions, each of which repeats the history of its session.
    fn decode(max_open: usize) -> (DecodedEvents, bool) {
        let mut conversations = Conversations::default();
        conversations.all.max_open = max_open;
        let mut out = DecodedEvents::default();
        for line in 0..24u32 {
            let (session, step) = (line % 4, line / 4);
            let record = LogRecord { value: Json::Null, file: "log".into(), line, index: line };
            let call = |number: u32| {
                let id = Some(format!("call_{session}_{number}").into());
                let answer = Event { id: id.clone(), ..Event::new(Kind::ToolResult) };
                [Event { id, tool: Some("look".into()), ..Event::new(Kind::ToolCall) }, answer]
            };
            let events = (0..=step).flat_map(call).collect();
            let request = Request { session: Some(format!("s{session}").into()), events, ..Request::default() };
            conversations.take_request(request, &Stamp::new(&record, None), &mut out);
        }
        let is_written = !conversations.all.spool.is_empty();
        (out, is_written)
    }

    #[test]
    fn conversations_continue_after_they_were_written() {
        let (expected, is_written) = decode(MAX_OPEN_CONVERSATIONS);
        assert_eq!((expected.events.len(), is_written), (48, false));
        let (events, is_written) = decode(2);
        assert!(is_written);
        assert_eq!(events.events, expected.events);
        assert!(events.faults.is_empty() && expected.faults.is_empty());
    }
}

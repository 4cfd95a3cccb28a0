//! What of a history was sent before. Each request repeats the history of its conversation, but not always all of it: a
//! client may leave the oldest messages out, clear old results, or put a summary in front. And a log of single turns
//! repeats nothing, although people say the same words twice.

use super::packed::{put_option, take_byte, take_fixed, take_option};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind};
use lictor_json::Json;
use lictor_logic::Time;

/// The hash of an empty history.
pub(super) const EMPTY_HISTORY: ContentHash = [0; 32];

/// How many places are tried at which a history may repeat the end of what is known: one message may be said often.
const MAX_TAILS: usize = 64;

/// The shortest text that people hardly say in two conversations, in bytes.
const MIN_TELLING_BYTES: usize = 20;

/// The shortest id that a vendor made up at random; `call_0` is in every conversation.
const MIN_UNIQUE_ID_BYTES: usize = 16;

/// What an event of a history is compared by.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventKey {
    hash: ContentHash,
    /// The time that the message itself states.
    time: Option<Time>,
    /// The call that it answers.
    answers: Option<ContentHash>,
    /// Whether the agent said or did it, or it is the answer to that.
    is_act: bool,
    /// Whether it is a call with an id.
    is_named_call: bool,
    /// Whether it is a call with an id that no other conversation has.
    is_unique_call: bool,
    /// Whether other conversations hardly have it: it is a long text, or has a time.
    is_telling: bool,
    /// Whether the agent said it, which may say the same to everyone.
    is_said_by_agent: bool,
}

impl EventKey {
    pub(super) fn new(event: &Event) -> EventKey {
        let is_result = event.kind == Kind::ToolResult;
        EventKey {
            hash: content_hash::extend_hash(&EMPTY_HISTORY, event),
            time: event.time,
            answers: event
                .id
                .as_ref()
                .filter(|_| is_result)
                .map(|id| content_hash::hash_json(&Json::String(id.clone()))),
            is_act: is_act(event),
            is_named_call: event.kind == Kind::ToolCall && event.id.is_some(),
            is_unique_call: event.kind == Kind::ToolCall
                && event.id.as_ref().is_some_and(|id| id.len() >= MIN_UNIQUE_ID_BYTES),
            is_telling: event.kind != Kind::SystemMessage
                && (event.time.is_some()
                    || event.text.as_ref().is_some_and(|text| text.trim().len() >= MIN_TELLING_BYTES)),
            is_said_by_agent: event.kind == Kind::AssistantMessage,
        }
    }

    /// Writes it as bytes that [`EventKey::take`] reads.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let marks =
            [self.is_act, self.is_named_call, self.is_unique_call, self.is_telling, self.is_said_by_agent].into_iter();
        out.push(marks.fold(0, |byte, mark| byte << 1 | u8::from(mark)));
        out.extend_from_slice(&self.hash);
        put_option(out, self.time, |out, time| out.extend_from_slice(&time.0.to_le_bytes()));
        put_option(out, self.answers, |out, call| out.extend_from_slice(&call));
    }

    /// Takes what [`EventKey::put`] wrote off the front; none if it is damaged.
    pub(super) fn take(bytes: &mut &[u8]) -> Option<EventKey> {
        let marks = take_byte(bytes)?;
        let is_marked = |place: u32| marks >> place & 1 == 1;
        Some(EventKey {
            is_act: is_marked(4),
            is_named_call: is_marked(3),
            is_unique_call: is_marked(2),
            is_telling: is_marked(1),
            is_said_by_agent: is_marked(0),
            hash: take_fixed(bytes)?,
            time: take_option(bytes, take_fixed)?.map(i64::from_le_bytes).map(Time),
            answers: take_option(bytes, take_fixed)?,
        })
    }

    /// Returns the hash of the content.
    pub(super) fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Returns the hash of the content, and the time that the message states.
    pub(super) fn content(&self) -> (ContentHash, Option<Time>) {
        (self.hash, self.time)
    }

    /// Whether other conversations hardly have it: it is a long text, or has a time.
    pub(super) fn is_telling(&self) -> bool {
        self.is_telling
    }

    /// Whether the agent said it.
    pub(super) fn is_said_by_agent(&self) -> bool {
        self.is_said_by_agent
    }

    /// Whether it is a call with an id that no other conversation has.
    pub(super) fn is_unique_call(&self) -> bool {
        self.is_unique_call
    }

    /// Whether both may be one event: the same content, and no other time.
    pub(super) fn is_same(&self, other: &EventKey) -> bool {
        self.hash == other.hash && !self.is_at_other_time(other)
    }

    /// Whether both stand for one step: they are the same, or answers to one call, of which one was cleared.
    fn is_same_step(&self, other: &EventKey) -> bool {
        self.is_same(other)
            || (self.answers.is_some() && self.answers == other.answers && !self.is_at_other_time(other))
    }

    fn is_at_other_time(&self, other: &EventKey) -> bool {
        self.time.zip(other.time).is_some_and(|(time, other)| time != other)
    }
}

/// Whether an event is the agent's, or an answer to what it did.
pub(super) fn is_act(event: &Event) -> bool {
    !matches!(event.kind, Kind::UserMessage | Kind::SystemMessage)
}

/// How a history continues a known one.
#[derive(Debug)]
pub(super) struct Continuation {
    /// Whether each event of the history is new.
    pub(super) is_new: Vec<bool>,
    /// Whether the known history can be no other: what is repeated of it names a call or a time.
    pub(super) is_certain: bool,
    /// Whether it repeats the end of what is known.
    pub(super) goes_on: bool,
}

impl Continuation {
    /// Returns that of a history of which nothing is known.
    pub(super) fn of_new(length: usize) -> Continuation {
        Continuation { is_new: vec![true; length], is_certain: false, goes_on: false }
    }

    /// Returns how a history continues a known one.
    pub(super) fn find(known: &[EventKey], history: &[EventKey]) -> Continuation {
        if let Some((end, run)) = find_tail(known, history) {
            return Continuation::after_tail(known, history, end, run);
        }
        // The end of what is known is not repeated: an earlier request is sent again, or the last steps are done anew.
        // No conversation begins with a call: what came before it was left out.
        let call = history.first().filter(|key| key.is_named_call);
        let start = call.and_then(|call| known.iter().rposition(|known| known.is_same(call))).unwrap_or(0);
        let known = &known[start..];
        let shared = known.iter().zip(history).take_while(|(known, key)| known.is_same_step(key)).count();
        let has_act = history[..shared].iter().any(|key| key.is_act);
        if !has_act && shared < history.len() {
            // People begin more than one turn with the same words.
            return Continuation::of_new(history.len());
        }
        let is_new = history.iter().enumerate().map(|(place, key)| place >= shared || !key.is_same(&known[place]));
        let is_certain = is_certain(&known[..shared], &history[..shared]);
        Continuation { is_new: is_new.collect(), is_certain, goes_on: false }
    }

    /// Returns how a history continues a known one of which it repeats the end from its own first event on, but not all of
    /// it; none if it does not.
    pub(super) fn find_window(known: &[EventKey], history: &[EventKey]) -> Option<Continuation> {
        let last = known.last()?;
        let longest = history.len().min(known.len().saturating_sub(1));
        let is_repeated = |end: &usize| {
            let has_act = || history[..*end].iter().any(|key| key.is_act);
            let mut pairs = known[known.len() - end..].iter().zip(history);
            *end > 1 && has_act() && pairs.all(|(known, key)| known.is_same(key))
        };
        let mut ends = (1..=longest).rev().filter(|end| last.is_same(&history[end - 1])).take(MAX_TAILS);
        let end = ends.find(is_repeated)?;
        let is_new = (0..history.len()).map(|place| place >= end).collect();
        Some(Continuation { is_new, is_certain: is_certain(&known[known.len() - end..], history), goes_on: true })
    }

    /// Returns that of a history which repeats the last `run` events of what is known, and ends them at `end`.
    fn after_tail(known: &[EventKey], history: &[EventKey], end: usize, run: usize) -> Continuation {
        let (earlier, tail) = known.split_at(known.len() - run);
        let mut is_new = vec![true; history.len()];
        let mut rest = earlier.iter();
        for (place, key) in history[..end - run].iter().enumerate() {
            let mut ahead = rest.clone();
            if ahead.any(|known| known.is_same_step(key)) {
                (is_new[place], rest) = (false, ahead);
            }
        }
        for (place, known) in tail.iter().enumerate() {
            is_new[end - run + place] = !known.is_same(&history[end - run + place]);
        }
        Continuation { is_new, is_certain: is_certain(tail, &history[end - run..end]), goes_on: true }
    }

    /// Returns how many events were sent before.
    pub(super) fn count_repeated(&self) -> usize {
        self.is_new.iter().filter(|is_new| !**is_new).count()
    }

    /// Returns the place after the last event that was sent before.
    pub(super) fn known_end(&self) -> usize {
        self.is_new.iter().rposition(|is_new| !is_new).map_or(0, |place| place + 1)
    }
}

/// Whether what is repeated names a call, or states the same times.
fn is_certain(known: &[EventKey], repeated: &[EventKey]) -> bool {
    repeated.iter().any(|key| key.is_named_call)
        || known.iter().zip(repeated).any(|(known, key)| known.time.is_some() && known.time == key.time)
}

/// Finds where a history repeats the end of what is known, and how many of its last events: all, or some of which the
/// agent said or did one.
fn find_tail(known: &[EventKey], history: &[EventKey]) -> Option<(usize, usize)> {
    let last = known.last()?;
    let count_run = |end: usize| {
        let pairs = known.iter().rev().zip(history[..end].iter().rev());
        pairs.take_while(|(known, key)| known.is_same_step(key)).count()
    };
    if history.len() >= known.len() && count_run(known.len()) == known.len() {
        return Some((known.len(), known.len()));
    }
    let ends = (1..=history.len()).rev().filter(|end| last.is_same_step(&history[end - 1]));
    let runs = ends.take(MAX_TAILS).map(|end| (end, count_run(end)));
    runs.max_by_key(|(end, run)| (*run, std::cmp::Reverse(*end))).filter(|(end, run)| {
        let has_act = || history[end - run..*end].iter().any(|key| key.is_act);
        *run == known.len() || (*run > 1 && has_act())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &str) -> Vec<EventKey> {
        texts.split_whitespace().map(key).collect()
    }

    /// `u` and `a` say a letter, `c1` is a call, `r1` its result, `r1x` its result with other content; `@` adds a time.
    fn key(text: &str) -> EventKey {
        let (said, time) = text.split_once('@').unwrap_or((text, ""));
        let (kind, id) = match &said[..1] {
            "u" => (Kind::UserMessage, None),
            "a" => (Kind::AssistantMessage, None),
            "c" => (Kind::ToolCall, Some(&said[1..2])),
            _ => (Kind::ToolResult, Some(&said[1..2])),
        };
        let mut event = Event::new(kind);
        event.text = Some(said.into());
        event.id = id.map(Into::into);
        event.time = time.parse().ok().map(Time);
        EventKey::new(&event)
    }

    /// The events of a history that are new after a known one.
    fn find_new(known: &str, history: &str) -> String {
        let found = Continuation::find(&keys(known), &keys(history));
        let new = history.split_whitespace().zip(&found.is_new).filter(|(_, is_new)| **is_new);
        new.map(|(text, _)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn repeated_history_is_known() {
        for (known, history, new) in [
            ("", "ux", "ux"),
            ("ux", "ux", ""),
            ("ux", "ux ay", "ay"),
            ("ux c1 r1", "ux c1 r1 ay uz", "ay uz"),
            ("ux c1 r1 ay", "ux", ""),
            ("ux c1 r1 ay uz", "ux c1 r1 aw", "aw"),
        ] {
            assert_eq!(find_new(known, history), new, "{known} | {history}");
        }
    }

    #[test]
    fn trimmed_history_is_known() {
        for (known, history, new) in [
            ("ux c1 r1 ay", "c1 r1 ay uz", "uz"),
            ("ux c1 r1 ay uz c2 r2", "us uz c2 r2 ad", "us ad"),
            ("ux c1 r1 ay uz c2 r2", "ux uz c2 r2 ad", "ad"),
            ("ux c1 r1 ay uz", "ux c1 r1q ay uz aw", "r1q aw"),
            ("ux c1", "c1 r1 ay", "r1 ay"),
            ("ux c1 r1 ay uz", "c1 r1 ay uw c2", "uw c2"),
            ("ux c1 r1 ay c1 r1 az", "c1 r1 aw", "aw"),
            ("ux c1@1", "c1@2 r1", "c1@2 r1"),
        ] {
            assert_eq!(find_new(known, history), new, "{known} | {history}");
        }
    }

    #[test]
    fn same_words_in_new_turn_are_new() {
        for (known, history) in [
            ("ux c1 r1 ay", "ux c2 r2 ay"),
            ("ux@1 c1@2 r1@3 ay@4", "ux@5 c1@6 r1@7 ay@8"),
            ("uw aw ux ay", "uq ay"),
            ("ux c1 r1", "uy c2 r2"),
        ] {
            assert_eq!(find_new(known, history), history, "{known} | {history}");
        }
    }
}

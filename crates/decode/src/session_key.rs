//! How a log names the session of a record: by a usual member, or by one that the user names.

use std::borrow::Cow;

use super::conversation::Conversations;
use super::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::Source;
use lictor_event::content_hash::{self, ContentHash};
use lictor_json::{Json, Text};

/// Members by which logs name the session of a record, the most telling first.
pub(super) const SESSION_KEYS: [&str; 11] = [
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
    "chat_id",
    "chatId",
    "session",
    "conversation",
    "custom_id",
];

/// The same members in other spellings, in lower case and without `_` and `-`.
const SPELLED_OTHERWISE: [&str; 6] = ["sessionid", "conversationid", "threadid", "chatid", "dialogid", "dialogueid"];

/// Members of a record that hold such members.
const CONTAINERS: [&str; 3] = ["metadata", "meta", "requestMetadata"];

/// Returns the session that a record names by a usual member: a text, a number or an object with an `id`, there or in its
/// `metadata`.
pub(super) fn find_session(record: &Json) -> Option<Cow<'_, str>> {
    let within = CONTAINERS.iter().filter_map(|name| record.get(name));
    std::iter::once(record).chain(within).find_map(find_member)
}

fn find_member(object: &Json) -> Option<Cow<'_, str>> {
    let usual = SESSION_KEYS.iter().find_map(|key| name_of(object.get(key)?));
    let is_key = |key: &str| {
        let letters = key.chars().filter(|letter| !matches!(letter, '_' | '-'));
        SPELLED_OTHERWISE.contains(&letters.flat_map(char::to_lowercase).collect::<String>().as_str())
    };
    let otherwise = || object.as_object()?.iter().find_map(|(key, value)| name_of(value).filter(|_| is_key(key)));
    usual.or_else(otherwise)
}

fn name_of(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::String(name) if !name.is_empty() => Some(Cow::Borrowed(name.as_str())),
        Json::Number(number) => Some(Cow::Owned(number.to_string())),
        Json::Object(object) => name_of(object.get("id").filter(|id| !matches!(id, Json::Object(_)))?),
        _ => None,
    }
}

/// Decodes records whose session is named by a member that the user names, such as `metadata.chat`.
///
/// The name is put where the decoder of the format looks for it.
pub(super) struct SessionKeyDecoder {
    inner: Box<dyn Decoder>,
    /// The path of the member.
    key: Text,
    /// The member by which the format names sessions.
    target: &'static str,
    /// The records without the member: the first, and how many.
    without: Option<(Fault, u64)>,
}

impl SessionKeyDecoder {
    pub(super) fn new(inner: Box<dyn Decoder>, key: &str, target: &'static str) -> SessionKeyDecoder {
        SessionKeyDecoder { inner, key: key.into(), target, without: None }
    }
}

impl Decoder for SessionKeyDecoder {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let named = record.value.get(&self.key).or_else(|| record.value.at(&self.key)).and_then(name_of);
        match (named.map(Cow::into_owned), &mut record.value) {
            (Some(name), Json::Object(object)) => object.insert(self.target, Text::from(name)),
            _ => match &mut self.without {
                Some((_, count)) => *count += 1,
                None => self.without = Some((record.fault("decode.no_session", ""), 1)),
            },
        }
        self.inner.record(record, out);
    }

    // The quick ways of a format find its own session, not the one that the user names.
    fn text(&mut self, _text: &str, _source: &Source, _out: &mut DecodedEvents) -> bool {
        false
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.inner.finish(out);
        if let Some((fault, count)) = self.without.take() {
            let records = if count == 1 { "one record has".to_owned() } else { format!("{count} records have") };
            let message = format!("{records} no member `{}` that names a session; this is the first", self.key);
            out.faults.push(Fault { message, ..fault });
        }
    }
}

/// Counts the messages of a file that stand alone on a line, with and without a session, to say where one person's
/// words may count for another.
#[derive(Debug, Default)]
pub(super) struct LoneMessages {
    named: u64,
    /// The messages without a session: the first, and how many.
    unnamed: Option<(Fault, u64)>,
    /// The hash of the first instructions.
    instructions: Option<ContentHash>,
    /// Whether the agent has acted since the last instructions.
    acted: bool,
    /// How often the first instructions came again after the agent had acted.
    restarts: u64,
}

impl LoneMessages {
    /// Returns the session that a record names. A lone message is counted; if it names none, it does not belong to the
    /// session that was named last.
    pub(super) fn find_session<'r>(
        &mut self,
        record: &'r LogRecord,
        is_lone: bool,
        conversations: &mut Conversations,
    ) -> Option<Cow<'r, str>> {
        let session = find_session(&record.value);
        if is_lone {
            self.count(record, session.is_some());
            conversations.leave_session();
        }
        session
    }

    fn count(&mut self, record: &LogRecord, is_named: bool) {
        if is_named {
            self.named += 1;
            return;
        }
        match &mut self.unnamed {
            Some((_, count)) => *count += 1,
            None => self.unnamed = Some((record.fault("decode.no_session", ""), 1)),
        }
        match record.value.text("role") {
            Some("system" | "developer") => {
                let hash = record.value.get("content").map(content_hash::hash_json);
                self.instructions = self.instructions.or(hash);
                if self.acted && self.instructions == hash {
                    self.restarts += 1;
                    self.acted = false;
                }
            }
            Some("assistant" | "tool") => self.acted = true,
            _ => {}
        }
    }

    /// Returns the fault of messages that may belong to several sessions, but name none.
    pub(super) fn fault(&mut self) -> Option<Fault> {
        let (fault, count) = self.unnamed.take()?;
        let messages = if count == 1 { "one message names".to_owned() } else { format!("{count} messages name") };
        let what = if self.named > 0 {
            format!("{messages} no session, while others of this file do")
        } else if self.restarts > 0 {
            format!("{messages} no session, but the same instructions begin {} conversations", self.restarts + 1)
        } else {
            return None;
        };
        let message = format!("{what}: they are judged as one session; name the member that tells with --session-key");
        Some(Fault { message, ..fault })
    }
}

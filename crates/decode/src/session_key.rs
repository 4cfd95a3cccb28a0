//! How a log names the session of a record: by a usual member, or by one that the user names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::content::Content;
use super::conversation::Conversations;
use super::member_names::{CONTAINERS, find_person, is_session_name, name_of};
use super::mixed_sessions::{IdentifierCounts, MIXED_SESSIONS, SessionMixtures};
use super::restart_signs;
use super::{DecodedEvents, Decoder, Fault, LogNotes, LogRecord};
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

/// Returns the session that a record names by a usual member: a text, a number or an object with an `id`, there or in its
/// `metadata`.
pub(super) fn find_session(record: &Json) -> Option<Cow<'_, str>> {
    let within = CONTAINERS.iter().filter_map(|name| record.get(name));
    std::iter::once(record).chain(within).find_map(find_member)
}

/// Returns the session that a record names by the member at a path, which may also be a name with dots.
pub(super) fn find_named<'r>(record: &'r Json, path: &str) -> Option<Cow<'r, str>> {
    record.get(path).or_else(|| record.at(path)).and_then(name_of)
}

fn find_member(object: &Json) -> Option<Cow<'_, str>> {
    let usual = SESSION_KEYS.iter().find_map(|key| name_of(object.get(key)?));
    let otherwise =
        || object.as_object()?.iter().find_map(|(key, value)| name_of(value).filter(|_| is_session_name(key)));
    usual.or_else(otherwise)
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

    fn note_keyless(&mut self, notes: &mut LogNotes) {
        if let Some((first, count)) = self.without.take() {
            notes.note_keyless(&self.key, first, count);
        }
    }
}

impl Decoder for SessionKeyDecoder {
    fn record(&mut self, mut record: LogRecord, out: &mut DecodedEvents) {
        let named = find_named(&record.value, &self.key);
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

    fn take_notes(&mut self) -> Option<LogNotes> {
        let mut notes = self.inner.take_notes()?;
        notes.drop_split_members();
        self.note_keyless(&mut notes);
        Some(notes)
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let before = out.faults.len();
        self.inner.finish(out);
        // The user has chosen what a session is.
        let found = out.faults.split_off(before);
        out.faults.extend(found.into_iter().filter(|fault| fault.code != MIXED_SESSIONS));
        let mut notes = LogNotes::default();
        self.note_keyless(&mut notes);
        out.faults.append(&mut notes.into_faults());
    }
}

/// Counts the messages of a file that stand alone on a line, with and without a session, to say where one person's
/// words may count for another.
#[derive(Debug, Default)]
pub(super) struct LoneMessages {
    named: u64,
    /// The messages without a session: the first, and how many.
    unnamed: Option<(Fault, u64)>,
    /// The instructions before the first message.
    instructions: Option<Json>,
    /// The hash of the first prompt.
    prompt: Option<ContentHash>,
    /// The id of the first message, and whether another message has another one.
    first_id: Option<Json>,
    has_ids: bool,
    /// Whether messages have a number in their conversation.
    is_numbered: bool,
    /// Whether the agent has acted since the last beginning.
    acted: bool,
    /// Whether the last message may be the instructions of another conversation: it comes after an answer of the agent.
    is_instruction_last: bool,
    last_role: Option<MessageRole>,
    /// The beginnings after the first one, and what shows the first of them.
    restarts: u64,
    sign: Option<&'static str>,
    /// The member that names a person, which is no session, with its values: one person has many conversations, but
    /// several persons in one file have several at least.
    owners: Option<(Text, BTreeSet<Text>)>,
    /// The users and the persons of other messages among them. Words of one user would count for another.
    users: BTreeSet<Text>,
    others: BTreeSet<Text>,
    /// The values of the members that read like identifiers.
    identifiers: IdentifierCounts,
    /// What the records of named sessions say beside their names.
    mixtures: SessionMixtures,
}

/// Who wrote a lone message, as all formats of messages have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageRole {
    System,
    User,
    /// The agent, with an answer in words.
    Answer,
    /// The agent with a call, or a tool.
    Act,
}

/// How many different owners are counted.
const MAX_OWNERS: usize = 1000;

/// The shortest prompt that is hardly said twice in a conversation, in bytes.
const MIN_TELLING_PROMPT_BYTES: usize = 60;

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
        if let Some(session) = &session {
            let role = read_role(&record.value).filter(|_| is_lone);
            self.mixtures.take(record, session, matches!(role, Some(MessageRole::User)) || !is_lone);
        }
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
        let role = read_role(&record.value);
        self.note_owner(&record.value, role);
        self.identifiers.count(record, role == Some(MessageRole::User));
        let sign = self.find_restart(&record.value, role).filter(|_| self.acted);
        if let Some(sign) = sign {
            self.restarts += 1;
            self.sign.get_or_insert(sign);
        }
        let has_acted = matches!(role, Some(MessageRole::Answer | MessageRole::Act));
        self.acted = has_acted || (self.acted && sign.is_none());
        self.is_instruction_last = role == Some(MessageRole::System)
            && self.last_role == Some(MessageRole::Answer)
            && self.is_instruction(record.value.get("content").or_else(|| record.value.at("data.content")));
        self.last_role = role;
    }

    fn note_owner(&mut self, message: &Json, role: Option<MessageRole>) {
        let Some((_, key, owner)) = find_person(message) else { return };
        let owner = Text::from(owner.into_owned());
        let (known, owners) = self.owners.get_or_insert_with(|| (key.clone(), BTreeSet::new()));
        if *known == *key && owners.len() < MAX_OWNERS {
            let speakers = if role == Some(MessageRole::User) { &mut self.users } else { &mut self.others };
            speakers.insert(owner.clone());
            owners.insert(owner);
        }
    }

    /// Whether the messages have several users: two say something, or the agent speaks to two, by the names of users.
    fn has_several_users(&self) -> bool {
        self.users.len() > 1 || self.others.len() > 1 && !self.users.is_disjoint(&self.others)
    }

    /// Returns what shows that a message begins another conversation.
    fn find_restart(&mut self, message: &Json, role: Option<MessageRole>) -> Option<&'static str> {
        let id = ["message_id", "id"].iter().find_map(|key| message.get(key));
        self.is_numbered |= message.get("message_id").and_then(Json::as_i64).is_some();
        let is_first_id = match &self.first_id {
            Some(first) => {
                self.has_ids |= id.is_some() && id != Some(first);
                self.has_ids && id == Some(first)
            }
            None => {
                self.first_id = id.cloned();
                false
            }
        };
        let content = message.get("content").or_else(|| message.at("data.content"));
        match role {
            _ if is_first_id => Some("the ids of messages begin"),
            // A reminder may come before any instructions, and again and again within a turn.
            Some(MessageRole::System) if self.last_role.is_none() => {
                self.instructions = content.cloned();
                None
            }
            Some(MessageRole::System) => {
                let is_same = content.is_some() && self.instructions.as_ref() == content;
                let is_telling = content.is_some_and(|content| content.to_string().len() >= MIN_TELLING_PROMPT_BYTES);
                let is_beginning = match self.last_role {
                    Some(MessageRole::Answer) => true,
                    // A person may have the last word, but short reminders come after each of them.
                    Some(MessageRole::User) => is_telling,
                    _ => false,
                };
                (is_same && is_beginning).then_some("the same instructions begin")
            }
            Some(MessageRole::User) if self.is_instruction_last => Some("system messages begin"),
            Some(MessageRole::User) => {
                let hash = content.map(content_hash::hash_json);
                let is_telling = content.is_some_and(|content| content.to_string().len() >= MIN_TELLING_PROMPT_BYTES);
                let is_same = self.prompt.is_some() && self.prompt == hash;
                self.prompt = self.prompt.or(hash);
                (is_same && is_telling).then_some("the same first prompt begins")
            }
            _ => None,
        }
    }

    /// Whether the content of a system message reads like instructions.
    fn is_instruction(&self, content: Option<&Json>) -> bool {
        let text = |content: &Json| Content::from_json(content, "\n").text.unwrap_or_default();
        match (&self.instructions, content) {
            (Some(first), Some(later)) => restart_signs::is_instruction(&text(first), &text(later)),
            _ => false,
        }
    }

    /// Returns the faults of messages that may belong to several sessions.
    pub(super) fn faults(&mut self) -> Vec<Fault> {
        self.fault().into_iter().chain(self.mixtures.faults()).collect()
    }

    /// Returns the fault of messages that may belong to several sessions, but name none.
    fn fault(&mut self) -> Option<Fault> {
        let (mut fault, count) = self.unnamed.take()?;
        if self.has_several_users() {
            fault.code = MIXED_SESSIONS;
        }
        let messages = if count == 1 { "one message names".to_owned() } else { format!("{count} messages name") };
        let owners = self.owners.take().filter(|(_, owners)| owners.len() > 1);
        let what = if self.named > 0 {
            format!("{messages} no session, while others of this file do")
        } else if let Some(fault) = self.identifiers.fault() {
            return Some(fault);
        } else if self.restarts > 0 {
            let sign = self.sign.unwrap_or_default();
            format!("{messages} no session, but {sign} {} conversations", self.restarts + 1)
        } else if let Some((key, owners)) = owners {
            format!("{messages} no session, but the values of `{key}` tell of {} conversations", owners.len())
        } else if count == 1 && self.is_numbered {
            let message = "the file holds one message of a conversation, which is judged alone; put the messages of a \
                           conversation into one file, in their order";
            return Some(Fault { message: message.to_owned(), ..fault });
        } else {
            return None;
        };
        let message = format!("{what}: they are judged as one session; name the member that tells with --session-key");
        Some(Fault { message, ..fault })
    }
}

/// Returns who wrote a message; none if it does not say.
pub(super) fn read_role(message: &Json) -> Option<MessageRole> {
    let calls =
        ["tool_calls", "function_call"].iter().any(|key| message.get(key).is_some_and(|calls| !calls.is_null()));
    match message.text("role").or_else(|| message.text("type"))? {
        "system" | "developer" => Some(MessageRole::System),
        "user" | "human" => Some(MessageRole::User),
        "assistant" | "ai" | "model" if !calls => Some(MessageRole::Answer),
        "assistant" | "ai" | "model" | "tool" | "function" => Some(MessageRole::Act),
        _ => None,
    }
}

//! What the names of members say: which name a session, which a person, and which read like an identifier of something.
//!
//! People who write logs by hand choose names of their own. Case and separators do not count, and neither does the word
//! for an identifier at the end: `conv_id`, `ConversationUUID` and `x-session-id` are alike.

use std::borrow::Cow;

use lictor_json::{Json, Text};

/// Members of a record that may hold the one that names its session.
pub(super) const CONTAINERS: [&str; 5] = ["metadata", "meta", "requestMetadata", "context", "extra"];

/// Words for an identifier at the end of a name, the longest first.
const ENDINGS: [&str; 12] =
    ["identifier", "number", "email", "phone", "uuid", "guid", "key", "sid", "ref", "id", "no", "nr"];

/// What has one conversation only.
const SESSIONS: [&str; 9] =
    ["session", "sess", "conversation", "conv", "convo", "thread", "chat", "dialog", "dialogue"];

/// A person who speaks with the agent.
const PERSONS: [&str; 7] = ["user", "username", "customer", "customername", "enduser", "u", "caller"];

/// Things that conversations are about or come from, which need no ending, beside [`SESSIONS`].
const THINGS: [&str; 16] = [
    "room",
    "channel",
    "ticket",
    "case",
    "interaction",
    "visitor",
    "contact",
    "client",
    "account",
    "lead",
    "guest",
    "phone",
    "email",
    "sid",
    "cid",
    "uuid",
];

/// Words of identifiers that differ within a conversation: of a message, a step, an agent, a program.
const PARTS: [&str; 47] = [
    "message",
    "msg",
    "parent",
    "event",
    "tool",
    "function",
    "model",
    "agent",
    "assistant",
    "bot",
    "prompt",
    "turn",
    "step",
    "span",
    "response",
    "generation",
    "completion",
    "line",
    "seq",
    "sequence",
    "page",
    "row",
    "chunk",
    "index",
    "version",
    "part",
    "position",
    "attempt",
    "retry",
    "api",
    "record",
    "log",
    "reply",
    "choice",
    "document",
    "file",
    "previous",
    "template",
    "deployment",
    "build",
    "host",
    "pod",
    "process",
    "worker",
    "node",
    "item",
    "block",
];

/// Whether a member names the session of its record.
pub(super) fn is_session_name(key: &str) -> bool {
    let name = fold_name(key);
    let name = name.strip_prefix('x').unwrap_or(&name);
    find_stem(name)
        .is_some_and(|(stem, ending)| SESSIONS.contains(&stem) && !matches!(ending, "email" | "phone" | "ref"))
}

/// Whether a member names the person who speaks with the agent.
pub(super) fn is_person_name(key: &str) -> bool {
    let name = fold_name(key);
    let is_person = |stem: &str| PERSONS.contains(&stem) && stem != "u";
    is_person(&name) || find_stem(&name).is_some_and(|(stem, ending)| is_person(stem) || (stem, ending) == ("u", "id"))
}

/// Whether a member reads like the identifier of something that has a conversation of its own.
pub(super) fn is_identifier_name(key: &str) -> bool {
    let name = fold_name(key);
    let stem = find_stem(&name).map(|(stem, _)| stem);
    if split_words(key).iter().any(|word| PARTS.contains(&word.as_str())) || stem.is_some_and(|it| PARTS.contains(&it))
    {
        return false;
    }
    let is_thing = |name: &str| SESSIONS.contains(&name) || THINGS.contains(&name);
    is_thing(&name)
        || stem.is_some_and(is_thing)
        || ENDINGS.contains(&split_words(key).last().map_or("", String::as_str))
}

/// Returns the name that a value is: a text, a number or the `id` of an object.
pub(super) fn name_of(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::String(name) if !name.is_empty() => Some(Cow::Borrowed(name.as_str())),
        Json::Number(number) => Some(Cow::Owned(number.to_string())),
        Json::Object(object) => name_of(object.get("id").filter(|id| !matches!(id, Json::Object(_)))?),
        _ => None,
    }
}

/// Returns the member of a record that names a person, with the one that it is in, and the person.
pub(super) fn find_person(record: &Json) -> Option<(Option<&'static str>, &Text, Cow<'_, str>)> {
    let within = || {
        CONTAINERS.iter().find_map(|parent| {
            let (key, person) = find_in(record.get(parent)?)?;
            Some((Some(*parent), key, person))
        })
    };
    find_in(record).map(|(key, person)| (None, key, person)).or_else(within)
}

fn find_in(holder: &Json) -> Option<(&Text, Cow<'_, str>)> {
    let mut members = holder.as_object()?.iter();
    members.find_map(|(key, value)| name_of(value).filter(|_| is_person_name(key)).map(|person| (key, person)))
}

/// Returns the text of a value that may be an identifier: a short text or a whole number.
pub(super) fn read_identifier(value: &Json) -> Option<String> {
    const MAX_BYTES: usize = 200;
    match value {
        Json::String(text) if !text.is_empty() && text.len() <= MAX_BYTES => Some(text.to_string()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a name in lower case, without separators.
fn fold_name(key: &str) -> String {
    key.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a folded name without the word for an identifier at its end, and that word.
fn find_stem(name: &str) -> Option<(&str, &'static str)> {
    let stems = ENDINGS.iter().filter_map(|ending| Some((name.strip_suffix(ending)?, *ending)));
    stems.filter(|(stem, _)| !stem.is_empty()).min_by_key(|(stem, _)| {
        // `sessionsid` and `sessionuuid` have the longest ending that leaves a word.
        (!SESSIONS.contains(stem) && !THINGS.contains(stem) && !PERSONS.contains(stem), stem.len())
    })
}

/// Returns the words of a name, in lower case: `conversationUUID` has two.
pub(super) fn split_words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = key.chars().collect();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(place + 1);
        let is_start = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase()));
        if is_start || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(letter.to_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_count_in_any_spelling() {
        for key in ["conv_id", "sessionUuid", "session_uuid", "conversationUUID", "conversation-key", "x-session-id"] {
            assert!(is_session_name(key), "{key}");
        }
        for key in ["thread", "chat", "user_session_id", "sid", "ticket_id", "parent_session_id", "said", "id"] {
            assert!(!is_session_name(key), "{key}");
        }
    }

    #[test]
    fn identifier_names_are_told_from_others() {
        for key in [
            "ticket_id",
            "ticket",
            "case_id",
            "call_id",
            "call_sid",
            "sid",
            "cid",
            "interaction_id",
            "contact_id",
            "thread",
            "chat",
            "room_id",
            "channel",
            "run_id",
            "trace_id",
            "requestId",
            "correlation_id",
            "client_id",
            "ticketNo",
            "ticketid",
            "id",
            "case-number",
            "phone",
        ] {
            assert!(is_identifier_name(key), "{key}");
        }
        for key in ["role", "content", "paid", "status", "message_id", "parentUuid", "turn_id", "valid", "tool_call_id"]
        {
            assert!(!is_identifier_name(key), "{key}");
        }
        for key in ["user", "user_id", "userId", "user_email", "customer_id", "uid", "UserUUID", "customer"] {
            assert!(is_person_name(key), "{key}");
        }
        assert!(!is_person_name("user_agent") && !is_person_name("role"));
    }
}

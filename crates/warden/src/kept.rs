//! The keys of the store, and their values.
//!
//! | key | holds |
//! |---|---|
//! | `session/NAME/state` | the state of a session, without its trail |
//! | `session/NAME/trail/N` | the moments and the answers from one save to the next |
//! | `histories/KEY` | the state of a history across sessions |
//! | `history-due/TIME/KEY` | a history that has a deadline at this time |
//! | `history/KEY` | the same of an older version, which had no index by time |
//! | `due/TIME/NAME` | a session that has a deadline or a timeout at this time |
//! | `policy/FINGERPRINT` | what a policy looks for in events |
//! | `activations` | the latest activations of policies |
//! | `outbox/LEDGER/NAME/N-…` | a record that may not be in the ledger yet |

use lictor_event::content_hash::to_hex;
use lictor_judge::SavedHistories;
use lictor_judge::guard::{SavedGuardSession, SavedMoments};
use lictor_logic::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::WardenError;

/// The prefix of the keys of sessions that are due.
pub(crate) const DUE: &str = "due/";

/// The prefixes of the keys of histories, of histories that are due, and of those of an older version.
pub(crate) const HISTORIES: &str = "histories/";
pub(crate) const HISTORIES_DUE: &str = "history-due/";
pub(crate) const OLD_HISTORIES: &str = "history/";

/// The key of the activations of policies.
pub(crate) const ACTIVATIONS: &str = "activations";

/// The prefix of the keys of policies.
const POLICIES: &str = "policy/";

/// Returns the key of a policy, by its fingerprint.
pub(crate) fn policy(fingerprint: &str) -> String {
    format!("{POLICIES}{}", escaped(fingerprint))
}

/// Whether a key is one of those above, rather than one of the [extra changes](crate::ExtraChanges).
pub(crate) fn is_own(key: &str) -> bool {
    let prefixes = ["session/", HISTORIES, HISTORIES_DUE, OLD_HISTORIES, DUE, POLICIES, "outbox/"];
    key == ACTIVATIONS || prefixes.iter().any(|prefix| key.starts_with(prefix))
}

/// The state of a session without its trail, which is kept in parts so that a save costs only what it adds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    /// The fingerprint of its policy.
    pub(crate) policy: String,
    /// The number of the activation of its policy.
    #[serde(default)]
    pub(crate) activation: u64,
    /// Its name in records.
    pub(crate) run: String,
    /// The name of the process that saved it.
    pub(crate) by: String,
    /// How often it was saved.
    pub(crate) saves: u64,
    /// How many events were decided.
    pub(crate) decided: u64,
    /// How many moments its parts have together.
    pub(crate) moments: usize,
    /// By how much the clock of its events is behind ours, in nanoseconds.
    pub(crate) lag: Option<i64>,
    /// When it was last used.
    pub(crate) used: Option<Time>,
    /// The time of its `due` key.
    pub(crate) due: Option<Time>,
    /// The events that wait for an approval: their approval ids, and the names of the approvals in records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approvals: Vec<(String, String)>,
    pub(crate) session: SavedGuardSession,
}

/// A part of a session's trail, from one save to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptPart {
    /// The names of events, and their answers: a duplicate event is decided once.
    pub(crate) answered: Vec<(String, String)>,
    pub(crate) moments: SavedMoments,
}

/// A history across sessions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptHistory {
    /// The time of its `history-due` key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<Time>,
    /// The fingerprint of its policy, and the number of its activation; none for a history of an older version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) policy: String,
    #[serde(default)]
    pub(crate) activation: u64,
    pub(crate) saved: SavedHistories,
}

/// Longer names are replaced by their hash.
const MAX_NAME_BYTES: usize = 200;

/// Returns a name as a part of a key. Names may have any characters and any length; different names stay different.
fn escaped(name: &str) -> String {
    if name.len() > MAX_NAME_BYTES {
        return format!("~{}", to_hex(&Sha256::digest(name.as_bytes())));
    }
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'@' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

pub(crate) fn state(session: &str) -> String {
    format!("session/{}/state", escaped(session))
}

/// Returns the key of a part of the trail. Keys sort by number.
pub(crate) fn part(session: &str, number: u64) -> String {
    format!("session/{}/trail/{number:016x}", escaped(session))
}

pub(crate) fn parts(session: &str) -> String {
    format!("session/{}/trail/", escaped(session))
}

pub(crate) fn history(key: &str) -> String {
    format!("{HISTORIES}{}", escaped(key))
}

/// Returns the key of a history that is due; its value is the key of the history.
pub(crate) fn history_due(time: Time, history: &str) -> String {
    format!("{HISTORIES_DUE}{:016x}/{}", time.0.max(0), history.trim_start_matches(HISTORIES))
}

/// Returns the prefix of one ledger's outbox, by its first key: processes with a ledger each may share a store.
pub(crate) fn outboxes(ledger: &str) -> String {
    format!("outbox/{}/", escaped(ledger))
}

pub(crate) fn outbox(outboxes: &str, session: &str, number: u64, place: usize, id: &str) -> String {
    format!("{outboxes}{}/{number:016x}-{place:04x}-{id}", escaped(session))
}

/// Returns the key of a session that is due; its value is the name of the session.
pub(crate) fn due(time: Time, session: &str) -> String {
    format!("{DUE}{:016x}/{}", time.0.max(0), escaped(session))
}

/// Returns the time of a `due` or `history-due` key.
pub(crate) fn due_time(key: &str) -> Option<Time> {
    let (time, _) = key.strip_prefix(DUE).or_else(|| key.strip_prefix(HISTORIES_DUE))?.split_once('/')?;
    Some(Time(i64::from_str_radix(time, 16).ok()?))
}

pub(crate) fn written<T: Serialize>(value: &T, key: &str) -> Result<Vec<u8>, WardenError> {
    serde_json::to_vec(value).map_err(|error| WardenError::Damaged { key: key.to_owned(), reason: error.to_string() })
}

pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], key: &str) -> Result<T, WardenError> {
    serde_json::from_slice(bytes)
        .map_err(|error| WardenError::Damaged { key: key.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_keys_sort_by_time() {
        assert!(due(Time(9), "b") < due(Time(10), "a"));
        assert_eq!(due_time(&due(Time(77), "s 1/%")), Some(Time(77)));
        assert_eq!(due_time("due/zz/a"), None);
    }

    #[test]
    fn session_names_map_to_distinct_keys() {
        let long = |last: &str| state(&("x".repeat(10_000) + last));
        assert!(long("a").len() < 200);
        assert_ne!(long("a"), long("b"));
        assert_ne!(state("~"), state("%7e"));
        assert_eq!(state("a b\n"), "session/a%20b%0a/state");
    }
}

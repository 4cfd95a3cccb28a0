//! What is kept under which key.
//!
//! | key | holds |
//! |---|---|
//! | `session/NAME/state` | where a session stands, and how many parts its trail has |
//! | `session/NAME/trail/N` | what happened from one save to the next |
//! | `history/KEY` | where a history across sessions stands |
//! | `outbox/NAME/N` | a record that may not be in the ledger yet |

use lictor::guard::SavedGuarded;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::WardenError;

/// Where a session stands, without what happened in it before the last save.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    /// How many parts its trail has, this one included.
    pub(crate) parts: u64,
    /// How many moments those have together.
    pub(crate) moments: usize,
    /// The ids of the last events, and what was decided about them: a line that is sent twice is decided once.
    pub(crate) answered: Vec<(String, String)>,
    pub(crate) session: SavedGuarded,
}

/// Names may hold anything; keys are made of them in a way that can be taken apart again.
pub(crate) fn escaped(name: &str) -> String {
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

/// Numbers are written so that the order of the keys is theirs.
pub(crate) fn part(session: &str, number: u64) -> String {
    format!("session/{}/trail/{number:016x}", escaped(session))
}

pub(crate) fn parts(session: &str) -> String {
    format!("session/{}/trail/", escaped(session))
}

pub(crate) fn history(key: &str) -> String {
    format!("history/{}", escaped(key))
}

pub(crate) fn outbox(session: &str, number: u64) -> String {
    format!("outbox/{}/{number:016x}", escaped(session))
}

pub(crate) fn written<T: Serialize>(value: &T, key: &str) -> Result<Vec<u8>, WardenError> {
    serde_json::to_vec(value).map_err(|error| WardenError::Damaged { key: key.to_owned(), reason: error.to_string() })
}

pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], key: &str) -> Result<T, WardenError> {
    serde_json::from_slice(bytes)
        .map_err(|error| WardenError::Damaged { key: key.to_owned(), reason: error.to_string() })
}

//! Long messages of the user that were said before.
//!
//! A harness sends its prompt again after a failure or in every round of a loop. It says nothing new, so whether the user
//! spoke is unknown then. A short message such as "yes" may well be said twice.

use lictor_event::{Event, Kind};
use serde::{Deserialize, Serialize};

/// How long a message must be for its repetition to be suspect.
const MIN_BYTES: usize = 120;

/// How many messages are remembered; the oldest is evicted for the next.
const MAX_PROMPTS: usize = 256;

/// The hashes of the long messages of the user in a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Prompts(Vec<u64>);

impl Prompts {
    /// Whether an event repeats a long message of the user.
    pub(super) fn has(&self, event: &Event) -> bool {
        !self.0.is_empty() && hash_prompt(event).is_some_and(|hash| self.0.contains(&hash))
    }

    /// Remembers a message.
    pub(super) fn add(&mut self, hash: u64) {
        if self.0.contains(&hash) {
            return;
        }
        if self.0.len() >= MAX_PROMPTS {
            self.0.remove(0);
        }
        self.0.push(hash);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the hash of a long message of the user (FNV-1a: a saved session must find it again).
pub(super) fn hash_prompt(event: &Event) -> Option<u64> {
    let text = event.text.as_deref().filter(|_| event.kind == Kind::UserMessage)?.trim();
    (text.len() >= MIN_BYTES).then(|| {
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

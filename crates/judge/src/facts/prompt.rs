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
    /// Whether a long message of the user was said before.
    pub(super) fn has(&self, prompt: Option<u64>) -> bool {
        prompt.is_some_and(|hash| self.0.contains(&hash))
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

/// Returns the hash of a long message of the user: the same in every process, since a saved session must find it again.
pub(super) fn hash_prompt(event: &Event) -> Option<u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let text = event.text.as_deref().filter(|_| event.kind == Kind::UserMessage)?.trim();
    // Eight bytes at a time: every message is hashed, and one byte at a time took a twentieth of an audit.
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        (product as u64) ^ (product >> 64) as u64
    };
    (text.len() >= MIN_BYTES).then(|| {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        let hash = words.iter().fold(FACTOR ^ text.len() as u64, |hash, word| fold(hash, u64::from_le_bytes(*word)));
        rest.iter().fold(hash, |hash, byte| fold(hash, u64::from(*byte)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_of_user_hash_by_every_byte() {
        let hash = |text: &str| hash_prompt(&Event { text: Some(text.into()), ..Event::new(Kind::UserMessage) });
        let text = "a".repeat(MIN_BYTES + 5);
        let all: std::collections::BTreeSet<Option<u64>> = (0..text.len())
            .map(|place| hash(&format!("{}b{}", &text[..place], &text[place + 1..])))
            .chain([hash(&text), hash(&format!("{text}a"))])
            .collect();
        assert_eq!(all.len(), text.len() + 2);
        assert_eq!((hash("short"), hash(&format!(" {text}\n"))), (None, hash(&text)));
    }
}

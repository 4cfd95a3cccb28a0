//! The values of a member that reads like an identifier, in messages without a session: whether it may tell conversations
//! apart.

use std::collections::HashMap;

/// How many values are counted. What is beyond is of the same kind.
const MAX_VALUES: usize = 1000;

/// How many messages have each value of a member.
#[derive(Debug, Default)]
pub struct IdentifierValues {
    values: HashMap<String, ValueCount>,
}

/// The messages with a value.
#[derive(Clone, Copy, Debug, Default)]
struct ValueCount {
    of_user: u32,
    of_others: u32,
}

impl IdentifierValues {
    /// Counts a message with a value.
    pub fn count(&mut self, value: &str, is_user: bool) {
        if self.values.len() < MAX_VALUES && !self.values.contains_key(value) {
            self.values.insert(value.to_owned(), ValueCount::default());
        }
        if let Some(count) = self.values.get_mut(value) {
            *(if is_user { &mut count.of_user } else { &mut count.of_others }) += 1;
        }
    }

    /// Adds the messages of another part of the log.
    pub fn merge(&mut self, other: IdentifierValues) {
        for (value, other) in other.values {
            let is_full = self.values.len() >= MAX_VALUES;
            if !is_full || self.values.contains_key(&value) {
                let count = self.values.entry(value).or_default();
                count.of_user += other.of_user;
                count.of_others += other.of_others;
            }
        }
    }

    /// Returns how many values there are.
    pub fn count_values(&self) -> usize {
        self.values.len()
    }

    /// Whether a user's messages have the member, and its values join some messages and separate others. `path` is that of
    /// the member.
    pub fn splits(&self, path: &str) -> bool {
        // A message may have a plain `id` too, and may be written twice.
        let is_plain = matches!(path.rsplit('.').next(), Some("id" | "uuid" | "_id"));
        let joins = |count: &ValueCount| match is_plain {
            true => count.of_user > 0 && count.of_others > 0,
            false => count.of_user + count.of_others > 1,
        };
        self.values.len() > 1 && self.values.values().any(joins) && self.values.values().any(|count| count.of_user > 0)
    }
}

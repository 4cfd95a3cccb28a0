//! The key of an answer: a hash over everything that it depends on.
//!
//! Equal keys are one random variable. The tenant is no part of the key, since the answer does not depend on it; a
//! [cache](crate::cache) keeps tenants apart by its own means.

use lictor_event::labeler::{Inquiry, Question};
use lictor_json::Text;
use unicode_normalization::UnicodeNormalization;

use crate::event_text::{write_event_text, write_window};

/// The context of the hash, so that no other use of the hash function gives the same value.
const CONTEXT: &str = "lictor 2026 key of a labeler's answer";

/// Returns the hash over a labeler's version, a question with its examples, the normalised text and the events before.
///
/// Texts are equal up to canonical equivalence (NFC), line endings, and white space at their ends.
pub fn hash_question(version: &str, inquiry: &Inquiry<'_>, question: &Question) -> Text {
    let mut hasher = KeyHasher(blake3::Hasher::new_derive_key(CONTEXT));
    hasher.add(version);
    hasher.add(&question.fact.to_string());
    hasher.add(&question.statement);
    for examples in [&question.yes, &question.no] {
        hasher.add_count(examples.len());
        examples.iter().for_each(|example| hasher.add(example));
    }
    hasher.add(inquiry.event.kind.name());
    hasher.add(&normalize(&write_event_text(inquiry.event)));
    hasher.add_count(inquiry.before.len());
    hasher.add(&normalize(&write_window(inquiry.before, usize::MAX)));
    Text::from(hasher.0.finalize().to_hex().as_str())
}

/// Hashes texts with their lengths, so that no two lists of texts are one.
struct KeyHasher(blake3::Hasher);

impl KeyHasher {
    fn add(&mut self, text: &str) {
        self.add_count(text.len());
        self.0.update(text.as_bytes());
    }

    fn add_count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_le_bytes());
    }
}

fn normalize(text: &str) -> String {
    text.trim().replace("\r\n", "\n").nfc().collect()
}

#[cfg(test)]
mod tests {
    use lictor_event::{Event, Kind};
    use lictor_logic::Fact;

    use super::*;

    fn say(text: &str) -> Event {
        Event { text: Some(text.into()), ..Event::new(Kind::UserMessage) }
    }

    fn key(version: &str, event: &Event, before: &[Event], question: &Question) -> Text {
        hash_question(version, &Inquiry::new(event, &[]).after(before), question)
    }

    #[test]
    fn answer_key_covers_everything_it_depends_on() {
        let question = Question::new(Fact::new("rude", []), "the text is rude");
        let with_examples = |yes: &[&str], no: &[&str]| {
            let texts = |texts: &[&str]| texts.iter().map(|text| Text::from(*text)).collect();
            question.clone().with_examples(texts(yes), texts(no))
        };
        let mut tool_call = say("hello");
        tool_call.kind = Kind::ToolCall;
        let mut with_tool = say("hello");
        with_tool.tool = Some("mail".into());
        let keys = [
            key("a@1", &say("hello"), &[], &question),
            key("a@2", &say("hello"), &[], &question),
            key("a@1", &say("hellO"), &[], &question),
            key("a@1", &tool_call, &[], &question),
            key("a@1", &with_tool, &[], &question),
            key("a@1", &say("hello"), &[say("x")], &question),
            key("a@1", &say("hello"), &[say("x"), say("y")], &question),
            key("a@1", &say("hello"), &[say("x\nuser_message: y")], &question),
            key("a@1", &say("hello"), &[], &Question::new(Fact::new("rude", []), "the text is very rude")),
            key("a@1", &say("hello"), &[], &Question::new(Fact::new("mean", []), "the text is rude")),
            key("a@1", &say("hello"), &[], &with_examples(&["x"], &[])),
            key("a@1", &say("hello"), &[], &with_examples(&[], &["x"])),
            key("a@1", &say("hello"), &[], &with_examples(&["x", "y"], &[])),
            key("a@1", &say("hello"), &[], &with_examples(&["xy"], &[])),
        ];
        for (place, one) in keys.iter().enumerate() {
            assert!(!keys[place + 1..].contains(one), "key {place} occurs twice");
        }
    }

    #[test]
    fn answer_key_ignores_spelling_without_meaning() {
        let question = Question::new(Fact::new("rude", []), "the text is rude");
        let of = |text: &str| key("a@1", &say(text), &[], &question);
        assert_eq!(of("caf\u{e9}\r\nbar"), of(" cafe\u{301}\nbar\n"));
        // An invisible character may carry a message.
        assert_ne!(of("cafe"), of("ca\u{200b}fe"));
    }
}

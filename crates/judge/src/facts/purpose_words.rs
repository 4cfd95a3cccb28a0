//! Recognises purposes that the user asks for, by the words that the policy lists for each.

use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_policy::Policy;

/// Words that turn a mention of a purpose around, within a sentence and before it.
const NEGATIONS: &[&str] = &[
    "not", "don't", "dont", "doesn't", "never", "no", "without", "neither", "nor", "stop", "except", "nicht", "kein",
    "keine", "ohne", "nie", "pas", "sans", "jamais", "sin", "nunca", "non", "senza", "mai", "nao", "não", "sem",
];

/// The words by which requests name purposes, in lower case.
#[derive(Debug, Default)]
pub(crate) struct PurposeWords(Vec<(Text, Vec<String>)>);

impl PurposeWords {
    pub(super) fn new(policy: &Policy) -> PurposeWords {
        let named = policy.purposes.iter().filter(|purpose| !purpose.words.is_empty());
        let words = |words: &[Text]| words.iter().map(|word| word.trim().to_lowercase()).collect();
        PurposeWords(named.map(|purpose| (purpose.name.clone(), words(&purpose.words))).collect())
    }

    /// Returns the purposes that a message of the user names; none for other events. A mention after a negation in the
    /// same sentence does not count.
    pub(super) fn find_requested(&self, event: &Event) -> Option<Vec<Text>> {
        let text = event.text.as_deref().filter(|_| event.kind == Kind::UserMessage)?;
        if self.0.is_empty() {
            return None;
        }
        let text = text.to_lowercase();
        let sentences: Vec<&str> = text.split(['.', '!', '?', ';', '\n']).collect();
        let is_named =
            |words: &Vec<String>| sentences.iter().any(|sentence| words.iter().any(|word| mentions(sentence, word)));
        Some(self.0.iter().filter(|(_, words)| is_named(words)).map(|(purpose, _)| purpose.clone()).collect())
    }
}

/// Whether a sentence has a word or phrase that no negation precedes.
fn mentions(sentence: &str, word: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    sentence.match_indices(word).any(|(place, found)| {
        let (before, after) = (sentence.get(..place).unwrap_or_default(), sentence.get(place + found.len()..));
        let is_whole = !is_part(before.chars().next_back()) && !is_part(after.unwrap_or_default().chars().next());
        let mut words = before.split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '’');
        is_whole && !words.any(|word| NEGATIONS.contains(&word.replace('’', "'").as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purpose_is_named_by_whole_words_unless_negated() {
        for (sentence, is_named) in [
            ("also use my data for analytics", true),
            ("for analytics, please", true),
            ("use metaanalytics", false),
            ("do not use it for analytics", false),
            ("don’t use it for analytics", false),
            ("nothing but analytics", true),
        ] {
            assert_eq!(mentions(sentence, "analytics"), is_named, "{sentence}");
        }
    }
}

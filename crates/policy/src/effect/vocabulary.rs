//! The words that tell effects: `verbs.txt` as a table.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::set::Effects;

/// How many words a phrase may have: `set_up`, `mettre_a_jour`.
const MAX_PHRASE_WORDS: usize = 3;

/// How a word counts in a name; `verbs.txt` explains the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordClass {
    Verb,
    Command,
    Action,
    Thing,
    Question,
    Answer,
    Artifact,
    Terms,
    Topic,
    Unclear,
    Noun,
    Service,
    Filler,
    And,
    Of,
}

/// A word of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) class: WordClass,
    pub(super) effects: Effects,
}

/// Verbs that have more effects with some objects.
#[derive(Debug)]
struct Pair {
    verbs: Vec<&'static str>,
    objects: Vec<&'static str>,
    effects: Effects,
}

/// All words.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: HashMap<&'static str, Word>,
    pairs: Vec<Pair>,
    /// Verbs that mean something else with some words.
    unclear_pairs: Vec<Pair>,
    /// The lines that could not be read; a test keeps them absent.
    pub(super) bad_lines: Vec<&'static str>,
}

impl Vocabulary {
    /// Returns the table, which is read once.
    pub(super) fn load() -> &'static Vocabulary {
        static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
        VOCABULARY.get_or_init(|| {
            let mut vocabulary = Vocabulary::default();
            let lines = include_str!("verbs.txt").lines().map(str::trim);
            for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
                if vocabulary.add_line(line).is_none() {
                    vocabulary.bad_lines.push(line);
                }
            }
            vocabulary
        })
    }

    fn add_line(&mut self, line: &'static str) -> Option<()> {
        let mut fields = line.split_whitespace();
        let effects = Effects::from_names(fields.next()?.split(','));
        let class = match fields.next()? {
            "verb" => WordClass::Verb,
            "command" => WordClass::Command,
            "action" => WordClass::Action,
            "thing" => WordClass::Thing,
            "question" => WordClass::Question,
            "answer" => WordClass::Answer,
            "artifact" => WordClass::Artifact,
            "terms" => WordClass::Terms,
            "topic" => WordClass::Topic,
            "unclear" => WordClass::Unclear,
            "noun" => WordClass::Noun,
            "service" => WordClass::Service,
            "filler" => WordClass::Filler,
            "and" => WordClass::And,
            "of" => WordClass::Of,
            "pair" => {
                let words: Vec<&str> = fields.collect();
                let mut sides = words.split(|word| *word == "+");
                let (verbs, objects) = (sides.next()?.to_vec(), sides.next()?.to_vec());
                let pairs = if effects.is_empty() { &mut self.unclear_pairs } else { &mut self.pairs };
                pairs.push(Pair { verbs, objects, effects });
                return Some(());
            }
            _ => return None,
        };
        let word = Word { class, effects };
        // The first line with a word counts.
        for name in fields {
            self.words.entry(name).or_insert(word);
        }
        Some(())
    }

    /// Returns the word or phrase at the start of a list of words, and how many words it has.
    pub(super) fn find_phrase(&self, words: &[String]) -> Option<(Word, usize)> {
        let longest = words.len().min(MAX_PHRASE_WORDS);
        (1..=longest).rev().find_map(|length| {
            let known = match words.get(..length)? {
                [word] => self.words.get(word.as_str()),
                phrase => self.words.get(phrase.join("_").as_str()),
            };
            known.map(|word| (*word, length))
        })
    }

    /// Whether two words are one product written in camel case: `PayPal`.
    pub(super) fn is_service(&self, first: &str, second: &str) -> bool {
        let joined = format!("{first}{second}");
        self.words.get(joined.as_str()).is_some_and(|word| word.class == WordClass::Service)
    }

    /// Returns the effects that a verb has in addition with an object.
    pub(super) fn effects_of_pair(&self, verb: &str, object: &str) -> Effects {
        let pairs = self.pairs.iter().filter(|pair| pair.verbs.contains(&verb) && pair.objects.contains(&object));
        pairs.fold(Effects::default(), |effects, pair| effects.union(pair.effects))
    }

    /// Whether a verb of the names may act or only read, because of a word beside it.
    pub(super) fn is_unclear(&self, names: &[String]) -> bool {
        let has = |words: &[&str]| names.iter().any(|name| words.contains(&name.as_str()));
        self.unclear_pairs.iter().any(|pair| has(&pair.verbs) && has(&pair.objects))
    }
}

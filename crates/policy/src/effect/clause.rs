//! The effects that the words of a name tell: which of them are verbs, and of what.

use super::set::Effects;
use super::vocabulary::{Vocabulary, Word, WordClass};

/// Endings of nouns that name an action: `cancellation`, `renewal`, `payment`, `disclosure`.
const NOUN_ENDINGS: [&str; 4] = ["ion", "al", "ment", "sure"];

/// What was read of a clause: the words between two conjunctions.
#[derive(Debug, Default)]
struct Clause {
    verbs: Option<Effects>,
    actions: Option<Effects>,
    /// Whether later actions are nouns: the action is at the start, or reads.
    is_action_settled: bool,
    things: Option<Effects>,
    topics: Option<Effects>,
    /// The effects of the first verb.
    head: Option<Effects>,
    /// The verbs, and the object so far: the last word before a preposition is what they act on.
    verb_names: Vec<String>,
    object: Option<String>,
    is_object_complete: bool,
    /// All words.
    names: Vec<String>,
    /// Whether the first word is unknown: it may be a verb, so that a noun after it tells nothing.
    starts_unknown: bool,
    /// Whether the first word changes something as a verb: `release` in `release_version`.
    starts_with_change: bool,
    /// Whether the first word is an action that may be an imperative: `change` in `change_policy`, and neither `refund` nor
    /// `cancellation` in `refund_policy` and `cancellation_policy`.
    starts_with_imperative: bool,
    is_unclear: bool,
    /// Whether the last word acts as a verb.
    ends_with_verb: bool,
    last_class: Option<WordClass>,
}

/// What the words of a name tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameReading {
    effects: Option<Effects>,
    /// Whether a word may act or only read.
    is_unclear: bool,
}

impl NameReading {
    /// Whether the words tell something, if only that they are unclear.
    pub(super) fn tells(self) -> bool {
        self.is_unclear || self.effects.is_some()
    }

    /// Returns the effects. They are unknown if the words only seem to read.
    pub(super) fn effects(self) -> Option<Effects> {
        self.effects.filter(|effects| !self.is_unclear || !effects.only_reads())
    }
}

/// Reads the words of a name.
pub(super) fn read_words(words: &[String]) -> NameReading {
    let vocabulary = Vocabulary::load();
    let mut reading = NameReading::default();
    let mut clause = Clause::default();
    // At the start of a name, or after a verb and a conjunction (`search_and_email`), a noun may be a verb.
    let mut may_act = true;
    let mut rest = words;
    while let Some(first) = rest.first() {
        let (word, length) = match vocabulary.find_phrase(rest) {
            Some((word, length)) => (Some(word), length),
            None => (None, 1),
        };
        let name = rest.get(..length).unwrap_or_default().join("_");
        rest = rest.get(length..).unwrap_or_default();
        match word.map(|word| word.class) {
            Some(WordClass::Question) if may_act => {
                reading.effects = Some(union(reading.effects, word.map(|word| word.effects)));
                return reading;
            }
            Some(WordClass::And) if first.len() > 1 || clause.ends_with_verb => {
                may_act = clause.ends_with_verb;
                clause.merge_into(&mut reading, vocabulary);
                clause = Clause::default();
            }
            Some(WordClass::Service | WordClass::Filler) if may_act => {}
            _ => {
                clause.read_word(word, name, may_act);
                may_act = false;
            }
        }
    }
    clause.merge_into(&mut reading, vocabulary);
    reading
}

impl Clause {
    fn read_word(&mut self, word: Option<Word>, name: String, may_act: bool) {
        let counted = word.map(|word| word.effects);
        let class = word.map(|word| match word.class {
            WordClass::Command if may_act => WordClass::Verb,
            WordClass::Command => WordClass::Action,
            class => class,
        });
        self.ends_with_verb = false;
        self.last_class = class;
        self.names.push(name.clone());
        self.starts_unknown |= may_act && class.is_none();
        self.starts_with_change |= may_act
            && class == Some(WordClass::Action)
            && counted.is_some_and(|counted| counted.contains(Effects::from_names(["write"])));
        let is_noun = NOUN_ENDINGS.iter().any(|ending| name.ends_with(ending));
        let pays = counted.is_some_and(|counted| counted.contains(Effects::from_names(["payment"])));
        self.starts_with_imperative |= self.starts_with_change && self.names.len() == 1 && !is_noun && !pays;
        // After a verb it is a noun.
        self.is_unclear |= class == Some(WordClass::Unclear) && self.verbs.is_none();
        match class {
            Some(WordClass::Verb) => self.verbs = Some(union(self.verbs, counted)),
            // After an action at the start it is what that acts on: `check_payment`. An action before it that is not at
            // the start is part of a name: `InventoryManagementSearchItems`.
            Some(WordClass::Action) if self.verbs.is_none() && !self.is_action_settled => {
                self.is_action_settled = may_act || counted.is_some_and(Effects::only_reads);
                self.actions = counted;
                self.head = None;
            }
            Some(WordClass::Thing) if may_act => self.things = counted,
            Some(WordClass::Of) => {
                self.is_object_complete = true;
                return;
            }
            _ => {
                if matches!(class, Some(WordClass::Answer | WordClass::Artifact | WordClass::Terms | WordClass::Topic))
                {
                    self.topics = Some(union(self.topics, counted));
                }
                if !self.is_object_complete {
                    self.object = Some(name);
                }
                return;
            }
        }
        self.head = self.head.or(counted);
        self.ends_with_verb = true;
        self.object.get_or_insert_with(|| name.clone());
        self.verb_names.push(name);
    }

    /// Adds the effects of the clause: of its verbs, else of its nouns in the order of how much they tell.
    fn merge_into(&self, reading: &mut NameReading, vocabulary: &Vocabulary) {
        reading.is_unclear |= self.is_unclear || vocabulary.is_unclear(&self.names);
        // `get_delete_status` and `refund_history` only ask.
        if self.ends_with_question() {
            reading.effects = Some(union(reading.effects, Some(Effects::from_names(["read"]))));
            return;
        }
        let topics = self.topics.filter(|_| !self.starts_unknown);
        let Some(own) = self.verbs.or(self.actions).or(self.things).or(topics) else { return };
        let object = self.object.as_deref().unwrap_or_default();
        let of_pairs = self.verb_names.iter().map(|verb| vocabulary.effects_of_pair(verb, object));
        let own = of_pairs.fold(own, Effects::union);
        reading.effects = Some(union(reading.effects, Some(own)));
    }

    /// Whether the clause asks for what its last word names.
    fn ends_with_question(&self) -> bool {
        let asks = self.verbs.is_none() || self.head.is_some_and(Effects::only_reads);
        match self.last_class {
            Some(WordClass::Answer) => asks,
            Some(WordClass::Artifact) => asks && !self.starts_unknown && !self.starts_with_change,
            Some(WordClass::Terms) => asks && !self.starts_unknown && !self.starts_with_imperative,
            _ => false,
        }
    }
}

fn union(one: Option<Effects>, other: Option<Effects>) -> Effects {
    one.unwrap_or_default().union(other.unwrap_or_default())
}

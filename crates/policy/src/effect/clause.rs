//! The effects that the words of a name tell: which of them are verbs, and of what.

use super::set::Effects;
use super::vocabulary::{Vocabulary, Word, WordClass};

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
    /// Whether the last word acts as a verb.
    ends_with_verb: bool,
    ends_with_answer: bool,
}

/// Returns the effects that the words tell; none if no word tells any.
pub(super) fn read_words(words: &[String]) -> Option<Effects> {
    let vocabulary = Vocabulary::load();
    let mut effects: Option<Effects> = None;
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
            Some(WordClass::Question) if may_act => return Some(union(effects, word.map(|word| word.effects))),
            Some(WordClass::And) if first.len() > 1 || clause.ends_with_verb => {
                may_act = clause.ends_with_verb;
                effects = clause.merge_into(effects, vocabulary);
                clause = Clause::default();
            }
            Some(WordClass::Service | WordClass::Filler) if may_act => {}
            _ => {
                clause.read_word(word, name, may_act);
                may_act = false;
            }
        }
    }
    clause.merge_into(effects, vocabulary)
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
        self.ends_with_answer = class == Some(WordClass::Answer);
        match class {
            Some(WordClass::Verb) => self.verbs = Some(union(self.verbs, counted)),
            // After an action at the start it is what that acts on: `check_payment`. An action before it that is not at
            // the start is part of a name: `InventoryManagementSearchItems`.
            Some(WordClass::Action) if self.verbs.is_none() && !self.is_action_settled => {
                self.is_action_settled = may_act || counted == Some(Effects::from_names(["read"]));
                self.actions = counted;
                self.head = None;
            }
            Some(WordClass::Thing) if may_act => self.things = counted,
            Some(WordClass::Of) => {
                self.is_object_complete = true;
                return;
            }
            _ => {
                if matches!(class, Some(WordClass::Answer | WordClass::Topic)) {
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

    /// Returns the effects of the clause: of its verbs, else of its nouns in the order of how much they tell.
    fn merge_into(&self, effects: Option<Effects>, vocabulary: &Vocabulary) -> Option<Effects> {
        let read = Effects::from_names(["read"]);
        // `get_delete_status` and `refund_history` only ask.
        if self.ends_with_answer && (self.verbs.is_none() || self.head == Some(read)) {
            return Some(union(effects, Some(read)));
        }
        let Some(own) = self.verbs.or(self.actions).or(self.things).or(self.topics) else { return effects };
        let object = self.object.as_deref().unwrap_or_default();
        let of_pairs = self.verb_names.iter().map(|verb| vocabulary.effects_of_pair(verb, object));
        let own = of_pairs.fold(own, Effects::union);
        Some(union(effects, Some(own)))
    }
}

fn union(one: Option<Effects>, other: Option<Effects>) -> Effects {
    one.unwrap_or_default().union(other.unwrap_or_default())
}

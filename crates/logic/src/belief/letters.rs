//! The letters that a position may have, with their weights, from facts and choices of facts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::chance::{Chance, Choice, ONE, multiply};
use crate::facts::{Fact, Facts};
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::probe::Binding;
use crate::term::{Atom, Term};

/// The most combinations of choices that one position may have; the facts of further choices are unknown.
const MAX_COMBINATIONS: usize = 4096;

/// A letter: the bits that are set, those that are unknown, and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WeightedLetter {
    pub(super) bits: u64,
    pub(super) unknown: u64,
    pub(super) weight: u64,
}

/// Returns the letters that a binding may read. What is missing to one is lost. `choices` are those that matter.
pub(super) fn weigh_letters(
    monitor: &Monitor,
    facts: &Facts,
    choices: &[&Choice],
    binding: &Binding,
) -> Vec<WeightedLetter> {
    if choices.is_empty() {
        let (bits, unknown) = read_letter(monitor, facts, binding);
        return vec![WeightedLetter { bits, unknown, weight: ONE }];
    }
    let mut worlds: Vec<(Facts, u64)> = vec![(facts.clone(), ONE)];
    for choice in choices {
        let alternatives = choice.alternatives();
        if worlds.len() * (alternatives.len() + 1) > MAX_COMBINATIONS {
            let unknown: Vec<Atom> = alternatives.iter().map(|(fact, _)| as_atom(fact)).collect();
            worlds.iter_mut().for_each(|(facts, _)| facts.unknown.extend(unknown.iter().cloned()));
            continue;
        }
        let mut next = Vec::with_capacity(worlds.len() * (alternatives.len() + 1));
        for (facts, weight) in worlds {
            for (fact, chance) in alternatives.iter().filter(|(_, chance)| *chance != Chance::NEVER) {
                let mut facts = facts.clone();
                facts.known.push(fact.clone());
                next.push((facts, multiply(weight, chance.weight())));
            }
            if choice.none() > 0 {
                next.push((facts, multiply(weight, choice.none())));
            }
        }
        worlds = next;
    }
    let mut places: FxHashMap<(u64, u64), usize> = FxHashMap::default();
    let mut letters: Vec<WeightedLetter> = Vec::new();
    for (facts, weight) in worlds {
        let (bits, unknown) = read_letter(monitor, &facts, binding);
        let place = *places.entry((bits, unknown)).or_insert(letters.len());
        match letters.get_mut(place) {
            Some(known) => known.weight += weight,
            None => letters.push(WeightedLetter { bits, unknown, weight }),
        }
    }
    letters
}

fn as_atom(fact: &Fact) -> Atom {
    Atom { name: Arc::clone(&fact.name), terms: fact.values.iter().cloned().map(Term::Value).collect() }
}

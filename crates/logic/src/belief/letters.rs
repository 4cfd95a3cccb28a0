//! The letters that a position may have, with their weights, from facts and choices of facts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::chance::{Chance, Choice, ONE, multiply};
use crate::facts::{Fact, Facts};
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::probe::{Binding, Probe};
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
    let (bits, unknown) = read_letter(monitor, facts, binding);
    if choices.is_empty() {
        return vec![WeightedLetter { bits, unknown, weight: ONE }];
    }
    let is_pattern = |probe: &Probe| matches!(probe, Probe::Pattern(_));
    match monitor.compiled.probes.iter().all(is_pattern) {
        true => weigh_by_bits(monitor, (bits, unknown), choices, binding),
        false => weigh_by_worlds(monitor, facts, choices, binding),
    }
}

/// Weighs letters of which each fact sets bits of its own: letters that become equal on the way are one.
fn weigh_by_bits(
    monitor: &Monitor,
    (certain, mut unknown): (u64, u64),
    choices: &[&Choice],
    binding: &Binding,
) -> Vec<WeightedLetter> {
    let mut letters: Vec<(u64, u64)> = vec![(certain, ONE)];
    let mut next = Vec::new();
    for choice in choices {
        let alternatives = choice.alternatives().iter().filter(|(_, chance)| *chance != Chance::NEVER);
        let set = alternatives.map(|(fact, chance)| (fact_bits(monitor, fact, binding), chance.weight()));
        if set.clone().all(|(bits, _)| bits & !certain == 0) {
            continue;
        }
        if letters.len() * (choice.alternatives().len() + 1) > MAX_COMBINATIONS {
            unknown |= set.fold(0, |all, (bits, _)| all | bits);
            continue;
        }
        next.clear();
        for (bits, weight) in &letters {
            next.extend(set.clone().map(|(more, chance)| (bits | more, multiply(*weight, chance))));
            if choice.none() > 0 {
                next.push((*bits, multiply(*weight, choice.none())));
            }
        }
        next.sort_unstable_by_key(|(bits, _)| *bits);
        next.dedup_by(|(bits, weight), (known, sum)| {
            let is_same = bits == known;
            *sum += u64::from(is_same) * *weight;
            is_same
        });
        std::mem::swap(&mut letters, &mut next);
    }
    letters.into_iter().map(|(bits, weight)| WeightedLetter { bits, unknown: unknown & !bits, weight }).collect()
}

/// Returns the bits that a fact sets in the letter of a binding.
fn fact_bits(monitor: &Monitor, fact: &Fact, binding: &Binding) -> u64 {
    let sets = |probe: &Probe| match probe {
        Probe::Pattern(pattern) => pattern.name == fact.name && pattern.fits(&fact.values, binding),
        Probe::Local { .. } => false,
    };
    monitor.compiled.probes.iter().enumerate().fold(0, |bits, (bit, probe)| bits | u64::from(sets(probe)) << bit)
}

/// Weighs letters by the worlds that choices leave open, one by one.
fn weigh_by_worlds(monitor: &Monitor, facts: &Facts, choices: &[&Choice], binding: &Binding) -> Vec<WeightedLetter> {
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

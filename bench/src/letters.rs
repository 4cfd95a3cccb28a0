//! Events without values: which of some facts are true at each position.

use lictor_logic::{Fact, Facts};
use rustc_hash::FxHashMap;

/// A ring of events, as numbers of distinct letters.
#[derive(Clone, Debug)]
pub(crate) struct Letters {
    /// The names of the facts.
    pub(crate) names: Vec<String>,
    /// The sets of facts that occur: as bits, or as places of names where there are too many for bits.
    pub(crate) distinct: Vec<u64>,
    /// For each event, the place of its letter in `distinct`.
    pub(crate) events: Vec<u32>,
    are_places: bool,
}

impl Letters {
    /// Returns `count` events, each drawn by `draw` as bits.
    pub(crate) fn draw(names: &[&str], count: usize, mut draw: impl FnMut() -> u64) -> Letters {
        let mut places = FxHashMap::default();
        let mut distinct = Vec::new();
        let events = (0..count).map(|_| {
            let letter = draw();
            *places.entry(letter).or_insert_with(|| {
                distinct.push(letter);
                distinct.len() as u32 - 1
            })
        });
        let events = events.collect();
        Letters { names: names.iter().map(ToString::to_string).collect(), distinct, events, are_places: false }
    }

    /// Returns events of one fact each, given by the place of its name.
    pub(crate) fn single(names: Vec<String>, events: Vec<u32>) -> Letters {
        Letters { distinct: (0..names.len() as u64).collect(), names, events, are_places: true }
    }

    /// Returns the places of the names in a letter.
    pub(crate) fn places(&self, letter: u64) -> impl Iterator<Item = usize> {
        let bits = if self.are_places { 1 } else { letter };
        let first = if self.are_places { letter as usize } else { 0 };
        (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| first + bit)
    }

    /// Returns each distinct letter as facts with strings.
    pub(crate) fn facts(&self) -> Vec<Facts> {
        let fact = |place: usize| Fact::new(self.names[place].as_str(), []);
        let facts = |letter: &u64| Facts { known: self.places(*letter).map(fact).collect(), ..Facts::default() };
        self.distinct.iter().map(facts).collect()
    }
}

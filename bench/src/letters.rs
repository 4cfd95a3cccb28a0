//! Events without values: which of some facts are true at each position.

use lictor_logic::Facts;
use rustc_hash::FxHashMap;

/// A ring of events, as numbers of distinct letters.
#[derive(Clone, Debug)]
pub(crate) struct Letters {
    /// The names of the facts; the place of each is its bit.
    pub(crate) names: Vec<String>,
    /// The sets of facts that occur, as bits.
    pub(crate) distinct: Vec<u64>,
    /// For each event, the place of its letter in `distinct`.
    pub(crate) events: Vec<u32>,
}

impl Letters {
    /// As many events as asked for, each drawn by `draw` as bits.
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
        Letters { names: names.iter().map(ToString::to_string).collect(), distinct, events }
    }

    /// The names in a letter.
    pub(crate) fn names_in(&self, letter: u64) -> impl Iterator<Item = &str> {
        self.names.iter().enumerate().filter(move |(bit, _)| letter >> bit & 1 == 1).map(|(_, name)| name.as_str())
    }

    /// Each distinct letter as facts with strings.
    pub(crate) fn facts(&self) -> Vec<Facts> {
        self.distinct.iter().map(|letter| Facts::of(self.names_in(*letter))).collect()
    }
}

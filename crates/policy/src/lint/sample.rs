//! Samples: infinite words on which the formulas of a policy are evaluated, to tell most pairs of properties apart.
//!
//! A word that satisfies one property and violates another proves that the first does not imply the second, and a word
//! that satisfies both proves that they do not contradict each other. The definition gives the values, so what the
//! words prove is certain; only the pairs that they leave open are compared by the engine. Nothing here is random: a
//! word follows from its number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_logic::{
    Arena, Atom, Ending, Fact, Facts, Formula, Interval, Node, Span, Term, Time, Value, Word, evaluate,
};

use super::ParsedProperty;

/// How many words there are, in blocks of 64.
const BLOCKS: usize = 4;
const WORDS: usize = BLOCKS * 64;

/// The most positions of a word before its cycle, and in it.
const MAX_STEM: u64 = 3;
const MAX_CYCLE: u64 = 3;

/// A property that asks for more facts than these is not evaluated.
const MAX_ASKED_FACTS: usize = 64;

/// A property whose variables can take their values together in more ways is not evaluated: the definition tries them all.
const MAX_VALUATIONS: usize = 256;

/// A bound that spans more positions is not evaluated on words: it would be written out that often.
const MAX_STEPS: u32 = 64;
const MAX_PERIODS: u64 = 64;

/// A set of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordSet([u64; BLOCKS]);

impl WordSet {
    fn insert(&mut self, word: usize) {
        self.0[word / 64] |= 1 << (word % 64);
    }

    /// Whether two sets have a word in common.
    pub(super) fn meets(&self, other: &WordSet) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    /// Returns the words of both.
    pub(super) fn and(&self, other: &WordSet) -> WordSet {
        let mut both = *self;
        both.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one &= other);
        both
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|block| block.count_ones()).sum()
    }
}

/// What the words say of one property.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// The words that satisfy it, and those that violate it.
    pub(super) holds: WordSet,
    pub(super) fails: WordSet,
    /// Whether it was evaluated.
    is_known: bool,
    /// For each of its facts without variables, the words in which it occurs.
    events: Vec<(Atom, WordSet)>,
}

impl Profile {
    /// Returns how many words could have told two properties apart and did not; none if the words decide everything.
    pub(super) fn count_undecided(&self, other: &Profile) -> Option<u32> {
        if !self.is_known || !other.is_known {
            return Some(0);
        }
        // If the values were independent, so many words would show that two sets have one in common.
        let expected = |one: &WordSet, other: &WordSet| one.len() * other.len() / WORDS as u32;
        let pairs = [(&self.holds, &other.holds), (&self.holds, &other.fails), (&self.fails, &other.holds)];
        let relations = pairs.into_iter().filter(|(one, other)| !one.meets(other));
        let relations = relations.map(|(one, other)| expected(one, other));
        let conflicts = self.undecided_events(other).map(|words| expected(&words.and(&self.holds), &other.holds));
        relations.chain(conflicts).max()
    }

    /// Returns the facts that no word has which satisfies both properties, although each allows them.
    pub(super) fn find_undecided_events(&self, other: &Profile) -> Vec<Atom> {
        let both = self.holds.and(&other.holds);
        let open = self.events.iter().chain(&other.events).filter(|(_, words)| self.is_undecided(other, words, &both));
        let mut found: Vec<Atom> = Vec::new();
        for (atom, _) in open {
            if !found.contains(atom) {
                found.push(atom.clone());
            }
        }
        found
    }

    fn undecided_events<'a>(&'a self, other: &'a Profile) -> impl Iterator<Item = &'a WordSet> {
        let both = self.holds.and(&other.holds);
        let events = self.events.iter().chain(&other.events).map(|(_, words)| words);
        events.filter(move |words| self.is_undecided(other, words, &both))
    }

    /// Whether no word with an event satisfies both, and each alone may allow it.
    fn is_undecided(&self, other: &Profile, words: &WordSet, both: &WordSet) -> bool {
        !words.meets(both) && words.meets(&self.holds) && words.meets(&other.holds)
    }
}

/// The facts and times that the words are made of.
pub(super) struct Samples {
    /// The facts of each name.
    facts: BTreeMap<Arc<str>, Vec<Fact>>,
    /// The distances between positions.
    delays: Vec<Span>,
    longest: Span,
}

impl Samples {
    pub(super) fn new(parsed: &[&ParsedProperty<'_>]) -> Samples {
        let mut facts: BTreeMap<Arc<str>, BTreeSet<Vec<Value>>> = BTreeMap::new();
        for atom in parsed.iter().flat_map(|it| &it.atoms) {
            facts.entry(Arc::clone(&atom.name)).or_default().insert(atom.terms.iter().map(choose_value).collect());
        }
        let facts = facts.into_iter().map(|(name, values)| {
            let facts = values.into_iter().map(|values| Fact::new(name.clone(), values)).collect();
            (name, facts)
        });
        let mut bounds: BTreeSet<Span> = BTreeSet::from([Span::from_seconds(1)]);
        parsed.iter().for_each(|it| collect_bounds(&it.arena, it.formula, &mut bounds));
        let longest = bounds.last().copied().unwrap_or_default();
        let between = bounds.iter().flat_map(|bound| [Span(bound.0 / 2), *bound, Span(bound.0.saturating_add(1))]);
        let delays: BTreeSet<Span> = between.chain([Span(0)]).collect();
        Samples { facts: facts.collect(), delays: delays.into_iter().collect(), longest }
    }

    /// Returns what the words say of a property; nothing if its bounds span too many positions.
    pub(super) fn profile(&self, parsed: &ParsedProperty<'_>) -> Profile {
        let mut profile = Profile::default();
        let (mut open, mut seen, mut variables) = (vec![parsed.formula], BTreeSet::new(), 0);
        while let Some(f) = open.pop() {
            if !seen.insert(f) {
                continue;
            }
            match &parsed.arena[f] {
                Node::Quantified(_, bound, _) => variables += bound.len() as u32,
                Node::Fact(atom) if is_ground(atom) && !profile.events.iter().any(|(known, _)| known == atom) => {
                    profile.events.push((atom.clone(), WordSet::default()));
                }
                Node::Unary(_, interval, _) | Node::Binary(_, interval, ..) if self.spans_too_much(*interval) => {
                    return profile;
                }
                // A word that repeats has nothing to count up to.
                Node::Measure(..) => return profile,
                _ => {}
            }
            open.extend(parsed.arena[f].operands());
        }
        let facts = self.find_asked(&parsed.atoms);
        let values: BTreeSet<&Value> = facts.iter().flat_map(|(_, fact)| &fact.values).collect();
        // One more for all values that do not occur.
        let valuations = (values.len() + 1).saturating_pow(variables);
        if facts.len() > MAX_ASKED_FACTS || valuations > MAX_VALUATIONS {
            return profile;
        }
        profile.is_known = true;
        for word in 0..WORDS {
            let (positions, ending) = self.write_word(word as u64, &facts);
            match evaluate(&parsed.arena, parsed.formula, &Word { positions: &positions, ending }) {
                Some(true) => profile.holds.insert(word),
                Some(false) => profile.fails.insert(word),
                None => {}
            }
            let known = || positions.iter().flat_map(|facts| &facts.known);
            for (atom, words) in &mut profile.events {
                if known().any(|fact| fits(atom, fact)) {
                    words.insert(word);
                }
            }
        }
        profile
    }

    /// Returns the facts that match some atom, each with the hash of what it says. No other fact counts.
    fn find_asked(&self, atoms: &[Atom]) -> Vec<(u64, &Fact)> {
        let names: BTreeSet<&Arc<str>> = atoms.iter().map(|atom| &atom.name).collect();
        let facts = names.into_iter().filter_map(|name| self.facts.get(name)).flatten();
        let asked = facts.filter(|fact| atoms.iter().any(|atom| fits(atom, fact)));
        asked.map(|fact| (hash_text(&fact.to_string()), fact)).collect()
    }

    fn spans_too_much(&self, interval: Interval) -> bool {
        match interval {
            Interval::Steps { from, to } => to.unwrap_or(from) > MAX_STEPS,
            Interval::Time { from, to } => to.unwrap_or(from).0 / self.shortest_period() > MAX_PERIODS,
        }
    }

    fn shortest_period(&self) -> u64 {
        (self.longest.0 / 2).max(1)
    }

    /// Returns the positions of a word, with these facts only, and how it repeats.
    fn write_word(&self, word: u64, facts: &[(u64, &Fact)]) -> (Vec<Facts>, Ending) {
        let stem = mix(word, 1, 0) % (MAX_STEM + 1);
        let cycle = 1 + mix(word, 2, 0) % MAX_CYCLE;
        // Of 16 positions, so many have a fact.
        let density = [2, 5, 8, 12][(mix(word, 3, 0) % 4) as usize];
        let mut time = Time(0);
        let mut positions = Vec::new();
        for position in 0..stem + cycle {
            let delay = self.delays[(mix(word, 4, position) % self.delays.len() as u64) as usize];
            time = time.plus(delay);
            let is_there = |(hash, _): &&(u64, &Fact)| mix(word, *hash, position) % 16 < density;
            let known = facts.iter().filter(is_there).map(|(_, fact)| Fact::clone(fact)).collect();
            positions.push(Facts { known, time: Some(time), ..Facts::default() });
        }
        let from = stem as usize;
        let first = positions[from].time.unwrap_or_default();
        let round = time.since(first).0.saturating_add(self.shortest_period() * (1 + mix(word, 5, 0) % 4));
        (positions, Ending::Repeats { from, period: Span(round) })
    }
}

/// Returns the value that stands for a term: two variables may have the same.
fn choose_value(term: &Term) -> Value {
    match term {
        Term::Value(value) => value.clone(),
        Term::Var(_) | Term::Any => Value::text("some"),
    }
}

fn is_ground(atom: &Atom) -> bool {
    atom.terms.iter().all(|term| !matches!(term, Term::Var(_)))
}

fn fits(atom: &Atom, fact: &Fact) -> bool {
    atom.name == fact.name
        && atom.terms.len() <= fact.values.len()
        && atom.terms.iter().zip(fact.values.iter()).all(|(term, value)| match term {
            Term::Value(asked) => asked == value,
            Term::Any | Term::Var(_) => true,
        })
}

fn collect_bounds(arena: &Arena, formula: Formula, bounds: &mut BTreeSet<Span>) {
    let mut open = vec![formula];
    while let Some(f) = open.pop() {
        if let Node::Unary(_, Interval::Time { from, to }, _) | Node::Binary(_, Interval::Time { from, to }, ..) =
            &arena[f]
        {
            bounds.extend([Some(*from), *to].into_iter().flatten().filter(|span| span.0 > 0));
        }
        open.extend(arena[f].operands());
    }
}

fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Mixes three numbers into one (the finalizer of SplitMix64).
fn mix(word: u64, purpose: u64, position: u64) -> u64 {
    let mut mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ purpose.rotate_left(17)
        ^ position.wrapping_mul(0xd6e8_feb8_6659_fd93);
    for _ in 0..2 {
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
    }
    mixed
}

//! Checks whether a witness is a proof. Trusts the definition and nothing else.
//!
//! Facts outside of the witness are made unknown, and the future is open unless the trace ends. If the definition still
//! gives the verdict, the witness proves it. Three-valued evaluation misses verdicts that follow from all futures
//! together, like that on `F a & G !a`; then the futures are tried one by one.

use crate::arena::Arena;
use crate::facts::{Fact, Facts, fits};
use crate::formula::Formula;
use crate::interval::{Span, Time};
use crate::semantics::evaluate;
use crate::term::{Atom, Term};
use crate::value::Value;
use crate::verdict::Verdict;
use crate::witness::{Moment, Witness};
use crate::word::{Ending, Word};

/// The result of checking a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// The verdict follows from the witness.
    Proved,
    /// It follows on each of so many continuations that were tried.
    Upheld(usize),
    /// It does not follow: some continuation has another value.
    Refuted,
    /// Neither could be shown.
    Open,
}

/// Checks a witness against the definition.
pub fn check(arena: &Arena, formula: Formula, trace: &[Moment], witness: &Witness) -> Check {
    let (arena, formula) = instantiate_formula(arena, formula, witness);
    let positions = mask_trace(&arena, formula, trace, witness);
    let wanted = witness.verdict == Verdict::Satisfied;
    let ending = if witness.at_end { Ending::Stops } else { Ending::Open };
    match evaluate(&arena, formula, &Word { positions: &positions, ending }) {
        Some(truth) if truth == wanted => return Check::Proved,
        Some(_) => return Check::Refuted,
        None if witness.at_end => return Check::Open,
        None => {}
    }
    let mut tried = 0;
    for resolved in resolutions(&positions) {
        for (continuation, from) in continuations(&arena, formula, &resolved) {
            let ending = Ending::Repeats { from, period: Span::from_seconds(1) };
            match evaluate(&arena, formula, &Word { positions: &continuation, ending }) {
                Some(truth) if truth == wanted => tried += 1,
                Some(_) => return Check::Refuted,
                None => return Check::Open,
            }
        }
    }
    Check::Upheld(tried)
}

/// Returns two resolutions of the unknown facts: none of them, and all of them.
fn resolutions(positions: &[Facts]) -> [Vec<Facts>; 2] {
    let none = |facts: &Facts| Facts { unknown: Vec::new(), ..facts.clone() };
    let all = |facts: &Facts| {
        let known = facts.known.iter().cloned().chain(facts.unknown.iter().map(example_fact)).collect();
        Facts { known, unknown: Vec::new(), ..facts.clone() }
    };
    [positions.iter().map(none).collect(), positions.iter().map(all).collect()]
}

/// Returns a fact that matches an atom.
fn example_fact(atom: &Atom) -> Fact {
    let value = |term: &Term| match term {
        Term::Value(value) => value.clone(),
        _ => Value::text("some value"),
    };
    Fact { name: atom.name.clone(), values: atom.terms.iter().map(value).collect() }
}

/// Returns the formula with its variables replaced by the values of the witness.
fn instantiate_formula(arena: &Arena, formula: Formula, witness: &Witness) -> (Arena, Formula) {
    let mut arena = arena.clone();
    let formula = witness.binding.iter().fold(formula, |f, (variable, value)| arena.instantiate(f, variable, value));
    (arena, formula)
}

/// Returns the positions, with every atom unknown that the witness does not mention.
fn mask_trace(arena: &Arena, formula: Formula, trace: &[Moment], witness: &Witness) -> Vec<Facts> {
    let mut atoms = Vec::new();
    arena.collect_atoms(formula, &mut atoms);
    let mut positions: Vec<Facts> = Vec::new();
    let mut clock: Option<Time> = None;
    for (entry, moment) in trace.iter().take(witness.entries).enumerate() {
        match moment {
            Moment::Tick(now) => {
                clock = clock.max(Some(Time(now.0.saturating_add(1))));
                // It is the first known time.
                if positions.iter().all(|facts| facts.time.is_none())
                    && let Some(last) = positions.last_mut()
                {
                    last.time = clock;
                }
            }
            Moment::Position(facts) => {
                let step = witness.steps.iter().find(|step| step.entry == entry);
                let (present, absent) = step.map_or((&[][..], &[][..]), |step| (&step.present[..], &step.absent[..]));
                let settled =
                    |atom: &&Atom| absent.contains(atom) || present.iter().any(|fact: &Fact| fits(atom, fact));
                let unknown = atoms.iter().filter(|atom| !settled(atom)).cloned().collect();
                let time = facts.time.max(clock);
                positions.push(Facts { time, known: present.to_vec(), unknown });
                clock = None;
            }
        }
    }
    // Positions after a tick are later than it; a trace that ends has none.
    if let Some(time) = clock.filter(|_| !witness.at_end) {
        positions.push(Facts { time: Some(time), known: Vec::new(), unknown: atoms });
    }
    positions
}

/// Returns every continuation by up to two positions of which the last one or two repeat, over the formula's own facts.
fn continuations(arena: &Arena, formula: Formula, positions: &[Facts]) -> Vec<(Vec<Facts>, usize)> {
    const MAX_CONTINUATION_FACTS: usize = 5;
    let mut atoms = Vec::new();
    arena.collect_atoms(formula, &mut atoms);
    let facts: Vec<Fact> = atoms.iter().take(MAX_CONTINUATION_FACTS).map(example_fact).collect();
    let letter = |bits: usize| Facts {
        known: facts
            .iter()
            .enumerate()
            .filter(|(index, _)| bits >> index & 1 == 1)
            .map(|(_, fact)| fact.clone())
            .collect(),
        ..Facts::default()
    };
    let letters = 1usize << facts.len();
    let length = positions.len();
    let with = |further: &[usize]| {
        positions.iter().cloned().chain(further.iter().map(|bits| letter(*bits))).collect::<Vec<Facts>>()
    };
    let mut words = Vec::new();
    for first in 0..letters {
        words.push((with(&[first]), length));
        for second in 0..letters {
            words.push((with(&[first, second]), length));
            words.push((with(&[first, second]), length + 1));
        }
    }
    words
}

//! Which bindings the facts of a position touch.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::cells::{CellId, binding_mask, binding_part};
use crate::facts::{Fact, Facts};
use crate::monitor::Monitor;
use crate::probe::{Binding, BorrowedBinding, PatternTerm, Probe};
use crate::term::{Atom, Term};
use crate::value::Value;

/// A fact with the name of a pattern: the letter bit of the pattern, and the values still to be compared.
pub(crate) type CandidateFact<'a> = (u8, &'a [Value]);

/// Bindings without repetition, in the order they were found: a position may name thousands.
pub(crate) type BindingSet = IndexSet<Box<Binding>, FxBuildHasher>;

/// A binding that a position touches, and the letter it reads.
pub(crate) struct TouchedBinding {
    pub(crate) binding: Box<Binding>,
    pub(crate) cell: Option<CellId>,
    pub(crate) bits: u64,
    pub(crate) unknown: u64,
}

/// Returns the bits that facts set for every binding.
pub(crate) fn background_bits(monitor: &Monitor, candidates: &[CandidateFact<'_>]) -> u64 {
    candidates.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
        Probe::Pattern(pattern) if pattern.mask() == 0 && pattern.fits(values, &[]) => bits | 1 << bit,
        _ => bits,
    })
}

/// Returns the touched bindings of a formula whose patterns bind all variables or none.
pub(crate) fn collect_sliced(
    monitor: &Monitor,
    candidates: &[CandidateFact<'_>],
    background: u64,
) -> Vec<TouchedBinding> {
    let mut touched: IndexMap<Box<Binding>, u64, FxBuildHasher> = IndexMap::default();
    for (bit, values) in candidates {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if pattern.mask() == 0 {
            continue;
        }
        let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) else { continue };
        *touched.entry(binding.into()).or_insert(background) |= 1 << bit;
    }
    touched.into_iter().map(|(binding, bits)| TouchedBinding { binding, cell: None, bits, unknown: 0 }).collect()
}

/// Returns the masks by which bindings with more variables are looked up.
pub(crate) fn lookup_masks(monitor: &Monitor) -> Vec<u32> {
    let width = monitor.compiled.prefix.len() as u32;
    if width > 1 { (1..1 << width).collect() } else { Vec::new() }
}

/// Returns the bindings that the facts of a position name, known or unknown.
pub(crate) fn collect_named_in_facts(monitor: &Monitor, facts: &Facts) -> BindingSet {
    collect_named_in(monitor, facts.known.iter(), &facts.unknown)
}

/// Returns the bindings that known and unknown facts name.
pub(crate) fn collect_named_in<'a>(
    monitor: &Monitor,
    known: impl Iterator<Item = &'a Fact> + Clone,
    unknown: &[Atom],
) -> BindingSet {
    let compiled = &monitor.compiled;
    let width = compiled.prefix.len();
    let mut found = BindingSet::default();
    let mut add = |binding: Vec<Option<Value>>| {
        if binding.iter().any(Option::is_some) {
            found.insert(binding.into());
        }
    };
    for (_, pattern) in monitor.patterns() {
        for fact in known.clone().filter(|fact| fact.name == pattern.name) {
            pattern.bind(&fact.values, width).into_iter().for_each(&mut add);
        }
        // Unknown facts touch bindings too; of those with `_`, only the other values are named.
        for atom in unknown.iter().filter(|atom| atom.name == pattern.name) {
            let mut binding = vec![None; width];
            for (argument, term) in pattern.slots.iter().zip(&atom.terms) {
                if let (PatternTerm::Variable(index), Term::Value(value)) = (argument, term) {
                    binding[*index] = Some(value.clone());
                }
            }
            add(binding);
        }
    }
    // An inner quantifier may compare a variable with any value of the position; so may a rigid comparison.
    if monitor.shape.whole {
        for value in collect_values(known, unknown) {
            for index in 0..width {
                let mut binding = vec![None; width];
                binding[index] = Some(value.clone());
                add(binding);
            }
        }
    }
    found
}

fn collect_values<'a>(known: impl Iterator<Item = &'a Fact>, unknown: &[Atom]) -> Vec<Value> {
    let known = known.flat_map(|fact| fact.values.iter().cloned());
    let unknown = unknown.iter().flat_map(|atom| atom.terms.iter()).filter_map(|term| match term {
        Term::Value(value) => Some(value.clone()),
        _ => None,
    });
    let mut values: Vec<Value> = known.chain(unknown).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns the bindings that facts name, if no letter needs all facts together.
pub(crate) fn collect_named(monitor: &Monitor, candidates: &[CandidateFact<'_>]) -> BindingSet {
    let mut found = BindingSet::default();
    for (bit, values) in candidates {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len())
            && binding.iter().any(Option::is_some)
        {
            found.insert(binding.into());
        }
    }
    found
}

/// Bindings by their variables, to find those that agree with another.
pub(crate) struct BindingIndex<'a> {
    of_mask: IndexMap<u32, Vec<&'a Binding>, FxBuildHasher>,
    /// The bindings of a mask by a part of it; built on demand.
    by_part: FxHashMap<(u32, u32), BindingsByPart<'a>>,
}

type BindingsByPart<'a> = FxHashMap<Box<Binding>, Vec<&'a Binding>>;

impl<'a> BindingIndex<'a> {
    pub(crate) fn new(bindings: &'a BindingSet) -> BindingIndex<'a> {
        let mut of_mask: IndexMap<u32, Vec<&Binding>, FxBuildHasher> = IndexMap::default();
        for binding in bindings {
            of_mask.entry(binding_mask(binding)).or_default().push(binding);
        }
        BindingIndex { of_mask, by_part: FxHashMap::default() }
    }

    /// Returns the bindings that agree with one and give it a value it lacks.
    pub(crate) fn find_widening(&mut self, binding: &Binding) -> Vec<&'a Binding> {
        let mask = binding_mask(binding);
        let mut found = Vec::new();
        for (other, bindings) in self.of_mask.iter().filter(|(other, _)| *other & !mask != 0) {
            let shared = mask & other;
            if shared == 0 {
                found.extend(bindings);
                continue;
            }
            let by_part = self.by_part.entry((*other, shared)).or_insert_with(|| {
                let mut by_part = BindingsByPart::default();
                bindings.iter().for_each(|one| by_part.entry(binding_part(one, shared)).or_default().push(one));
                by_part
            });
            found.extend(by_part.get(&binding_part(binding, shared)).into_iter().flatten());
        }
        found
    }
}

/// Reads the letters of bindings from facts, if no letter needs all facts together.
pub(crate) enum LetterReader<'a> {
    /// Few facts: each binding scans all of them.
    Few(&'a Monitor, &'a [CandidateFact<'a>]),
    /// Many facts: for each bit, the variables of its pattern and the bindings that set it.
    Many(Vec<(u8, u32, FxHashSet<Box<Binding>>)>),
}

/// Up to so many facts are scanned for every binding.
const MAX_SCANNED_FACTS: usize = 16;

impl<'a> LetterReader<'a> {
    pub(crate) fn new(monitor: &'a Monitor, candidates: &'a [CandidateFact<'a>]) -> LetterReader<'a> {
        if candidates.len() <= MAX_SCANNED_FACTS {
            return LetterReader::Few(monitor, candidates);
        }
        let mut by_bit: IndexMap<u8, (u32, FxHashSet<Box<Binding>>), FxBuildHasher> = IndexMap::default();
        for (bit, values) in candidates {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
            if let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) {
                by_bit.entry(*bit).or_insert_with(|| (pattern.mask(), FxHashSet::default())).1.insert(binding.into());
            }
        }
        LetterReader::Many(by_bit.into_iter().map(|(bit, (mask, bindings))| (bit, mask, bindings)).collect())
    }

    pub(crate) fn letter_bits(&self, binding: &Binding) -> u64 {
        match self {
            LetterReader::Few(monitor, candidates) => {
                candidates.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
                    Probe::Pattern(pattern) if pattern.fits(values, binding) => bits | 1 << bit,
                    _ => bits,
                })
            }
            // A fact matches a binding exactly if the binding it names is a part of it.
            LetterReader::Many(by_bit) => by_bit.iter().fold(0, |bits, (bit, mask, bindings)| {
                bits | u64::from(bindings.contains(&binding_part(binding, *mask))) << bit
            }),
        }
    }
}

/// Returns the bindings that facts name and their joins, in the given buffer; none if it is too small.
pub(crate) fn collect_borrowed<'a, 'r>(
    monitor: &Monitor,
    candidates: &[CandidateFact<'a>],
    room: &'r mut [BorrowedBinding<'a>],
) -> Option<&'r [BorrowedBinding<'a>]> {
    let mut count = 0;
    for (bit, values) in candidates {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        let Some(named) = pattern.borrow_binding(values) else { continue };
        if named == BorrowedBinding::default() || room[..count].contains(&named) {
            continue;
        }
        let before = count;
        *room.get_mut(count)? = named;
        count += 1;
        // Joins with all bindings before it make the list complete.
        for place in 0..before {
            if let Some(joined) = join_borrowed(&room[place], &named)
                && !room[..count].contains(&joined)
            {
                *room.get_mut(count)? = joined;
                count += 1;
            }
        }
    }
    Some(&room[..count])
}

/// Returns two bindings as one, if they agree.
fn join_borrowed<'a>(left: &BorrowedBinding<'a>, right: &BorrowedBinding<'a>) -> Option<BorrowedBinding<'a>> {
    let mut joined = *left;
    for (mine, theirs) in joined.iter_mut().zip(right) {
        match (&mine, theirs) {
            (Some(mine), Some(theirs)) if mine != theirs => return None,
            (None, theirs) => *mine = *theirs,
            _ => {}
        }
    }
    Some(joined)
}

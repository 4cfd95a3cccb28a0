//! Which bindings the facts of a position touch.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::cells::{CellId, mask_of, part_of};
use crate::facts::Facts;
use crate::monitor::Monitor;
use crate::probe::{Argument, Binding, Glance, Probe};
use crate::term::{Term, Value};

/// A fact whose name some pattern asks for: the bit, and the values still to be compared.
pub(crate) type Asked<'a> = (u8, &'a [Value]);

/// Bindings without repetition, in the order they were found: a position may name thousands.
pub(crate) type Found = IndexSet<Box<Binding>, FxBuildHasher>;

/// A binding that a position touches, and the letter it reads.
pub(crate) struct Touch {
    pub(crate) binding: Box<Binding>,
    pub(crate) cell: Option<CellId>,
    pub(crate) bits: u64,
    pub(crate) unknown: u64,
}

/// The bits that facts set for every binding alike.
pub(crate) fn background(monitor: &Monitor, hits: &[Asked<'_>]) -> u64 {
    hits.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
        Probe::Pattern(pattern) if pattern.mask() == 0 && pattern.fits(values, &[]) => bits | 1 << bit,
        _ => bits,
    })
}

/// The touched bindings of a formula whose patterns bind all variables or none.
pub(crate) fn sliced(monitor: &Monitor, hits: &[Asked<'_>], background: u64) -> Vec<Touch> {
    let mut touched: IndexMap<Box<Binding>, u64, FxBuildHasher> = IndexMap::default();
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if pattern.mask() == 0 {
            continue;
        }
        let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) else { continue };
        *touched.entry(binding.into()).or_insert(background) |= 1 << bit;
    }
    touched.into_iter().map(|(binding, bits)| Touch { binding, cell: None, bits, unknown: 0 }).collect()
}

/// The sets of variables by which bindings with more of them are looked up.
pub(crate) fn masks(monitor: &Monitor) -> Vec<u32> {
    let width = monitor.compiled.prefix.len() as u32;
    if width > 1 { (1..1 << width).collect() } else { Vec::new() }
}

/// The bindings that the facts of a position name.
pub(crate) fn thetas(monitor: &Monitor, facts: &Facts) -> Found {
    let compiled = &monitor.compiled;
    let width = compiled.prefix.len();
    let mut found = Found::default();
    let mut add = |binding: Vec<Option<Value>>| {
        if binding.iter().any(Option::is_some) {
            found.insert(binding.into());
        }
    };
    for (_, pattern) in monitor.patterns() {
        for fact in facts.known.iter().filter(|fact| fact.name == pattern.name) {
            pattern.bind(&fact.values, width).into_iter().for_each(&mut add);
        }
        // What is unknown touches as well; where it leaves a value open, only the others are named.
        for atom in facts.unknown.iter().filter(|atom| atom.name == pattern.name) {
            let mut binding = vec![None; width];
            for (argument, term) in pattern.slots.iter().zip(&atom.terms) {
                if let (Argument::Variable(index), Term::Value(value)) = (argument, term) {
                    binding[*index] = Some(value.clone());
                }
            }
            add(binding);
        }
    }
    // An inner quantifier may compare a variable with any value of the position; so may a rigid comparison.
    if monitor.shape.whole {
        for value in values_of(facts) {
            for index in 0..width {
                let mut binding = vec![None; width];
                binding[index] = Some(value.clone());
                add(binding);
            }
        }
    }
    found
}

fn values_of(facts: &Facts) -> Vec<Value> {
    let known = facts.known.iter().flat_map(|fact| fact.values.iter().cloned());
    let unknown = facts.unknown.iter().flat_map(|atom| atom.terms.iter()).filter_map(|term| match term {
        Term::Value(value) => Some(value.clone()),
        _ => None,
    });
    let mut values: Vec<Value> = known.chain(unknown).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The bindings that facts name, where no letter needs them whole.
pub(crate) fn named(monitor: &Monitor, hits: &[Asked<'_>]) -> Found {
    let mut found = Found::default();
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len())
            && binding.iter().any(Option::is_some)
        {
            found.insert(binding.into());
        }
    }
    found
}

/// Bindings by the variables they have, to be found by what they share with another.
pub(crate) struct Joints<'a> {
    of_mask: IndexMap<u32, Vec<&'a Binding>, FxBuildHasher>,
    /// Those of a mask by a part of it, made when first asked for.
    by_part: FxHashMap<(u32, u32), ByPart<'a>>,
}

type ByPart<'a> = FxHashMap<Box<Binding>, Vec<&'a Binding>>;

impl<'a> Joints<'a> {
    pub(crate) fn new(bindings: &'a Found) -> Joints<'a> {
        let mut of_mask: IndexMap<u32, Vec<&Binding>, FxBuildHasher> = IndexMap::default();
        for binding in bindings {
            of_mask.entry(mask_of(binding)).or_default().push(binding);
        }
        Joints { of_mask, by_part: FxHashMap::default() }
    }

    /// Those that agree with a binding and give it a value it does not have.
    pub(crate) fn widening(&mut self, binding: &Binding) -> Vec<&'a Binding> {
        let mask = mask_of(binding);
        let mut found = Vec::new();
        for (other, bindings) in self.of_mask.iter().filter(|(other, _)| *other & !mask != 0) {
            let shared = mask & other;
            if shared == 0 {
                found.extend(bindings);
                continue;
            }
            let by_part = self.by_part.entry((*other, shared)).or_insert_with(|| {
                let mut by_part = ByPart::default();
                bindings.iter().for_each(|one| by_part.entry(part_of(one, shared)).or_default().push(one));
                by_part
            });
            found.extend(by_part.get(&part_of(binding, shared)).into_iter().flatten());
        }
        found
    }
}

/// How the letters of bindings are read from facts, where no letter needs them whole.
pub(crate) enum Letters<'a> {
    /// Few facts are looked through.
    Few(&'a Monitor, &'a [Asked<'a>]),
    /// Of many, what each bit is asked of is looked up: the variables of its pattern, and their values.
    Many(Vec<(u8, u32, FxHashSet<Box<Binding>>)>),
}

/// Up to so many facts are looked through for every binding.
const FEW: usize = 16;

impl<'a> Letters<'a> {
    pub(crate) fn new(monitor: &'a Monitor, hits: &'a [Asked<'a>]) -> Letters<'a> {
        if hits.len() <= FEW {
            return Letters::Few(monitor, hits);
        }
        let mut by_bit: IndexMap<u8, (u32, FxHashSet<Box<Binding>>), FxBuildHasher> = IndexMap::default();
        for (bit, values) in hits {
            let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
            if let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) {
                by_bit.entry(*bit).or_insert_with(|| (pattern.mask(), FxHashSet::default())).1.insert(binding.into());
            }
        }
        Letters::Many(by_bit.into_iter().map(|(bit, (mask, bindings))| (bit, mask, bindings)).collect())
    }

    pub(crate) fn of(&self, binding: &Binding) -> u64 {
        match self {
            Letters::Few(monitor, hits) => {
                hits.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
                    Probe::Pattern(pattern) if pattern.fits(values, binding) => bits | 1 << bit,
                    _ => bits,
                })
            }
            // A fact fits a binding exactly if the binding it names is that part of it.
            Letters::Many(by_bit) => by_bit.iter().fold(0, |bits, (bit, mask, bindings)| {
                bits | u64::from(bindings.contains(&part_of(binding, *mask))) << bit
            }),
        }
    }
}

/// The bindings that facts name and those that these make together, in the room given; none if there is too little.
pub(crate) fn glances<'a, 'r>(
    monitor: &Monitor,
    hits: &[Asked<'a>],
    room: &'r mut [Glance<'a>],
) -> Option<&'r [Glance<'a>]> {
    let mut count = 0;
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        let Some(named) = pattern.glance(values) else { continue };
        if named == Glance::default() || room[..count].contains(&named) {
            continue;
        }
        let before = count;
        *room.get_mut(count)? = named;
        count += 1;
        // With what it makes together with all before it, nothing is left out.
        for place in 0..before {
            if let Some(joined) = both(&room[place], &named)
                && !room[..count].contains(&joined)
            {
                *room.get_mut(count)? = joined;
                count += 1;
            }
        }
    }
    Some(&room[..count])
}

/// Two bindings as one, if they agree.
fn both<'a>(left: &Glance<'a>, right: &Glance<'a>) -> Option<Glance<'a>> {
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

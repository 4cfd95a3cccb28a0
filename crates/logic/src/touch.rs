//! Which bindings the facts of a position touch.

use crate::cells::CellId;
use crate::facts::Facts;
use crate::monitor::Monitor;
use crate::probe::{Argument, Binding, Glance, Probe};
use crate::term::{Term, Value};

/// A fact whose name some pattern asks for: the bit, and the values still to be compared.
pub(crate) type Asked<'a> = (u8, &'a [Value]);

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
    let mut touches: Vec<Touch> = Vec::new();
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if pattern.mask() == 0 {
            continue;
        }
        let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len()) else { continue };
        match touches.iter_mut().find(|touch| *touch.binding == *binding) {
            Some(touch) => touch.bits |= 1 << bit,
            None => {
                touches.push(Touch { binding: binding.into(), cell: None, bits: 1 << bit | background, unknown: 0 });
            }
        }
    }
    touches
}

/// The sets of variables by which bindings with more of them are looked up.
pub(crate) fn masks(monitor: &Monitor) -> Vec<u32> {
    let width = monitor.compiled.prefix.len() as u32;
    if width > 1 { (1..1 << width).collect() } else { Vec::new() }
}

/// The bindings that the facts of a position name.
pub(crate) fn thetas(monitor: &Monitor, facts: &Facts) -> Vec<Box<Binding>> {
    let compiled = &monitor.compiled;
    let width = compiled.prefix.len();
    let mut found: Vec<Box<Binding>> = Vec::new();
    let mut add = |binding: Vec<Option<Value>>| {
        if binding.iter().any(Option::is_some) && !found.iter().any(|other| **other == *binding) {
            found.push(binding.into());
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
pub(crate) fn named(monitor: &Monitor, hits: &[Asked<'_>]) -> Vec<Box<Binding>> {
    let mut found: Vec<Box<Binding>> = Vec::new();
    for (bit, values) in hits {
        let Probe::Pattern(pattern) = &monitor.compiled.probes[usize::from(*bit)] else { continue };
        if let Some(binding) = pattern.bind(values, monitor.compiled.prefix.len())
            && binding.iter().any(Option::is_some)
            && !found.iter().any(|other| **other == *binding)
        {
            found.push(binding.into());
        }
    }
    found
}

/// The letter that a binding reads from facts, where no letter needs them whole.
pub(crate) fn letter(monitor: &Monitor, hits: &[Asked<'_>], binding: &Binding) -> u64 {
    hits.iter().fold(0, |bits, (bit, values)| match &monitor.compiled.probes[usize::from(*bit)] {
        Probe::Pattern(pattern) if pattern.fits(values, binding) => bits | 1 << bit,
        _ => bits,
    })
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

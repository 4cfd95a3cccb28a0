//! The states of a monitor, found by trying every letter.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::cache::Cache;
use crate::facts::{Fact, Facts};
use crate::formula::{Arena, Formula};
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::probe::{Argument, Probe, passes};
use crate::sentence::{Sentence, Writer, residual_of};
use crate::state::{Handle, Point};
use crate::term::{Comparison, Value};
use crate::verdict::Verdict;

/// The states of a formula and the ways between them; state 0 is the start.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The states.
    pub states: Vec<AutomatonState>,
    /// The ways between them.
    pub edges: Vec<AutomatonEdge>,
}

/// A state: what must still hold there.
#[derive(Clone, Debug)]
pub struct AutomatonState {
    /// What must still hold.
    pub residual: Sentence,
    /// The verdict there.
    pub verdict: Verdict,
    /// The verdict if the trace ends there.
    pub at_end: Verdict,
}

/// A way from a state to another.
#[derive(Clone, Debug)]
pub struct AutomatonEdge {
    /// Where it begins.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// Which positions go this way.
    pub guard: Sentence,
    /// Not a position but a deadline goes this way.
    pub deadline: bool,
}

/// A state graph over letters.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) points: Vec<Point>,
    /// For each state and each letter, in the order of `letters`, where it leads.
    pub(crate) next: Vec<Vec<usize>>,
    /// Where a passed deadline leads.
    pub(crate) expired: Vec<Vec<usize>>,
    pub(crate) letters: Vec<u64>,
}

/// The most states and letters that are tried.
const MOST_STATES: usize = 2000;
const MOST_BITS: u32 = 10;

/// Every letter that facts can make.
pub(crate) fn letters(monitor: &Monitor) -> Option<Vec<u64>> {
    let skeleton = &monitor.compiled.skeleton;
    if skeleton.width > MOST_BITS {
        return None;
    }
    Some((0..1u64 << skeleton.width).filter(|letter| skeleton.is_possible(*letter, u64::MAX)).collect())
}

impl Graph {
    /// None if there are too many states or letters.
    pub(crate) fn explore(monitor: &Monitor, cache: &mut Cache, valuation: usize) -> Option<Graph> {
        let skeleton = &monitor.compiled.skeleton;
        let letters = letters(monitor)?;
        let start = cache.start(skeleton, valuation);
        let mut graph = Graph { points: vec![start.clone()], next: Vec::new(), expired: Vec::new(), letters };
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        numbers.insert(number(&start)?, 0);
        let mut queue = VecDeque::from([0]);
        while let Some(from) = queue.pop_front() {
            let point = graph.points[from].clone();
            let mut targets: Vec<Point> =
                graph.letters.iter().map(|letter| cache.step(skeleton, &point, *letter, 0, Time(0))).collect();
            let positions = targets.len();
            // One deadline after another passes, the first of each clock first.
            targets.extend(cache.expirations(skeleton, &point));
            let mut places = Vec::with_capacity(targets.len());
            for target in targets {
                let id = number(&target)?;
                let place = *numbers.entry(id).or_insert_with(|| {
                    graph.points.push(target);
                    queue.push_back(graph.points.len() - 1);
                    graph.points.len() - 1
                });
                places.push(place);
            }
            if graph.points.len() > MOST_STATES {
                return None;
            }
            graph.expired.push(places.split_off(positions));
            graph.next.push(places);
        }
        Some(graph)
    }
}

fn number(point: &Point) -> Option<u32> {
    match point.handle {
        Handle::Cached(id) => Some(id),
        Handle::Loose(_) => None,
    }
}

impl Automaton {
    pub(crate) fn new(monitor: &Monitor, cache: &mut Cache, valuation: usize) -> Option<Automaton> {
        let graph = Graph::explore(monitor, cache, valuation)?;
        let compiled = &monitor.compiled;
        let states = graph.points.iter().map(|point| {
            let mut arena = Arena::new();
            let formula = residual_of(compiled, cache, &mut arena, point, &[], Time(0));
            let verdict = monitor.outward(cache.verdict(&compiled.skeleton, point));
            let at_end = monitor.outward(cache.at_end(&compiled.skeleton, point));
            AutomatonState { residual: Sentence { arena, formula }, verdict, at_end }
        });
        let states: Vec<AutomatonState> = states.collect();
        let mut edges = Vec::new();
        for (from, targets) in graph.next.iter().enumerate() {
            let mut seen: Vec<usize> = Vec::new();
            for to in targets {
                if seen.contains(to) {
                    continue;
                }
                seen.push(*to);
                let chosen = graph.letters.iter().zip(targets).filter(|(_, target)| *target == to);
                let chosen: Vec<u64> = chosen.map(|(letter, _)| *letter).collect();
                edges.push(AutomatonEdge {
                    from,
                    to: *to,
                    guard: guard(monitor, &chosen, &graph.letters),
                    deadline: false,
                });
            }
            for to in &graph.expired[from] {
                let guard = guard(monitor, &graph.letters, &graph.letters);
                edges.push(AutomatonEdge { from, to: *to, guard, deadline: true });
            }
        }
        Some(Automaton { states, edges })
    }
}

/// A short condition that tells some letters from the others.
fn guard(monitor: &Monitor, chosen: &[u64], all: &[u64]) -> Sentence {
    let width = monitor.compiled.skeleton.width;
    let compiled = &monitor.compiled;
    let mut arena = Arena::new();
    let others: Vec<u64> = all.iter().copied().filter(|letter| !chosen.contains(letter)).collect();
    let mut left: Vec<u64> = chosen.to_vec();
    let mut terms = Vec::new();
    while let Some(letter) = left.first().copied() {
        // Widen one letter to a product that no other letter is in, by leaving out bit after bit.
        let mut mask = (1u64 << width) - 1;
        for bit in (0..width).rev() {
            let wider = mask & !(1 << bit);
            if !others.iter().any(|other| other & wider == letter & wider) {
                mask = wider;
            }
        }
        left.retain(|other| other & mask != letter & mask);
        terms.push((letter & mask, mask));
    }
    let mut writer = Writer { arena: &mut arena, compiled, binding: &[], times: &[], now: Time(0) };
    let mut products: Vec<Formula> = Vec::new();
    for (letter, mask) in terms {
        let mut literals = Vec::new();
        for bit in (0..width).filter(|bit| mask >> bit & 1 == 1) {
            let asked = writer.bit(bit as u8);
            literals.push(if letter >> bit & 1 == 1 { asked } else { writer.arena.not(asked) });
        }
        products.push(writer.arena.and(literals));
    }
    let formula = arena.or(products);
    Sentence { arena, formula }
}

/// The facts of a letter; a variable of the prefix stands for a value of its own name.
pub(crate) fn facts_of(monitor: &Monitor, letter: u64) -> Facts {
    let compiled = &monitor.compiled;
    let mut facts = Facts::default();
    let set = |bit: usize| letter >> bit & 1 == 1;
    for (bit, probe) in compiled.probes.iter().enumerate().filter(|(bit, _)| set(*bit)) {
        let fact = match probe {
            Probe::Pattern(pattern) => {
                // A more special fact that is there as well says it already.
                let specials = compiled.skeleton.specials[bit] & letter & !(1 << bit);
                if specials != 0 {
                    continue;
                }
                let value = |argument: &Argument| match argument {
                    Argument::Any => Value::text("some"),
                    Argument::Value(value) => value.clone(),
                    Argument::Variable(index) => Value::text(compiled.prefix[*index].clone()),
                    Argument::Where(_, tests) => passing(tests),
                };
                Fact::new(pattern.name.clone(), pattern.slots.iter().map(value).collect::<Vec<_>>())
            }
            Probe::Local { .. } => {
                let mut arena = Arena::new();
                let mut writer = Writer { arena: &mut arena, compiled, binding: &[], times: &[], now: Time(0) };
                let asked = writer.bit(bit as u8);
                Fact::new(arena.show(asked, crate::spelling::Spelling::Ascii).to_string(), [])
            }
        };
        facts.known.push(fact);
    }
    facts
}

/// A value that passes, if one is near.
fn passing(tests: &[(Comparison, Value)]) -> Value {
    let near = tests.iter().flat_map(|(_, value)| match value {
        Value::Integer(number) => {
            vec![value.clone(), Value::Integer(number.saturating_add(1)), Value::Integer(number.saturating_sub(1))]
        }
        _ => vec![value.clone()],
    });
    let mut candidates = std::iter::once(Value::text("some")).chain(near);
    candidates.find(|value| passes(tests, value)).unwrap_or_else(|| Value::text("some"))
}

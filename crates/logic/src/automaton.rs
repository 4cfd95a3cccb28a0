//! The states of a monitor, found by trying every letter.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::cache::Cache;
use crate::comparison::Comparison;
use crate::facts::{Fact, Facts};
use crate::formula::Formula;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::probe::{PatternTerm, Probe, passes};
use crate::sentence::{ResidualWriter, Sentence, residual_formula};
use crate::state::{Handle, Point};
use crate::value::Value;
use crate::verdict::Verdict;

/// The states and transitions of a formula; state 0 is the start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Automaton {
    /// The states.
    pub states: Vec<AutomatonState>,
    /// The transitions.
    pub edges: Vec<AutomatonEdge>,
}

/// A state: what must still hold there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AutomatonState {
    /// What must still hold.
    pub residual: Sentence,
    /// The verdict there.
    pub verdict: Verdict,
    /// The verdict if the trace ends there.
    pub at_end: Verdict,
}

/// A transition from one state to another.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AutomatonEdge {
    /// The state it starts from.
    pub from: usize,
    /// The state it leads to.
    pub to: usize,
    /// The condition on positions that take it.
    pub guard: Sentence,
    /// Whether an expired deadline takes it, not a position.
    pub deadline: bool,
}

/// A state graph over letters.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) points: Vec<Point>,
    /// For each state and each letter, in the order of `letters`, where it leads.
    pub(crate) next: Vec<Vec<usize>>,
    /// For each state, where its expired deadlines lead.
    pub(crate) expired: Vec<Vec<usize>>,
    pub(crate) letters: Vec<u64>,
}

/// The most states and letters that are tried, and the most work of trying them. With bounds in time there may be
/// infinitely many states, each larger than the one before.
const MAX_AUTOMATON_STATES: usize = 2000;
const MAX_AUTOMATON_WORK: u64 = 2_000_000;
const MAX_AUTOMATON_BITS: u32 = 10;

/// Returns every letter that facts can make; none if there are too many bits.
pub(crate) fn possible_letters(monitor: &Monitor) -> Option<Vec<u64>> {
    let skeleton = &monitor.compiled.skeleton;
    if skeleton.width > MAX_AUTOMATON_BITS {
        return None;
    }
    Some((0..1u64 << skeleton.width).filter(|letter| skeleton.is_possible(*letter, u64::MAX)).collect())
}

impl Graph {
    /// Explores all states; none if there are too many states or letters.
    pub(crate) fn explore(monitor: &Monitor, cache: &mut Cache, valuation: usize) -> Option<Graph> {
        let skeleton = &monitor.compiled.skeleton;
        let letters = possible_letters(monitor)?;
        let start = cache.start(skeleton, valuation);
        let mut graph = Graph { points: vec![start.clone()], next: Vec::new(), expired: Vec::new(), letters };
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        numbers.insert(state_number(&start)?, 0);
        let mut queue = VecDeque::from([0]);
        let before = cache.spent();
        while let Some(from) = queue.pop_front() {
            let point = graph.points[from].clone();
            let mut targets: Vec<Point> =
                graph.letters.iter().map(|letter| cache.step(skeleton, &point, *letter, 0, Time(0))).collect();
            let positions = targets.len();
            // One deadline after another expires, the first of each clock first.
            targets.extend(cache.expirations(skeleton, &point));
            let mut places = Vec::with_capacity(targets.len());
            for target in targets {
                let id = state_number(&target)?;
                let place = *numbers.entry(id).or_insert_with(|| {
                    graph.points.push(target);
                    queue.push_back(graph.points.len() - 1);
                    graph.points.len() - 1
                });
                places.push(place);
            }
            if graph.points.len() > MAX_AUTOMATON_STATES || cache.spent() - before > MAX_AUTOMATON_WORK {
                return None;
            }
            graph.expired.push(places.split_off(positions));
            graph.next.push(places);
        }
        Some(graph)
    }
}

fn state_number(point: &Point) -> Option<u32> {
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
            let formula = residual_formula(compiled, cache, &mut arena, point, &[], Time(0));
            let verdict = monitor.apply_polarity(cache.verdict(&compiled.skeleton, point));
            let at_end = monitor.apply_polarity(cache.end_verdict(&compiled.skeleton, point));
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
                    guard: write_guard(monitor, &chosen, &graph.letters),
                    deadline: false,
                });
            }
            for to in &graph.expired[from] {
                let guard = write_guard(monitor, &graph.letters, &graph.letters);
                edges.push(AutomatonEdge { from, to: *to, guard, deadline: true });
            }
        }
        Some(Automaton { states, edges })
    }
}

/// Returns a short condition that holds for the chosen letters only.
fn write_guard(monitor: &Monitor, chosen: &[u64], all: &[u64]) -> Sentence {
    let width = monitor.compiled.skeleton.width;
    let compiled = &monitor.compiled;
    let mut arena = Arena::new();
    let others: Vec<u64> = all.iter().copied().filter(|letter| !chosen.contains(letter)).collect();
    let mut left: Vec<u64> = chosen.to_vec();
    let mut terms = Vec::new();
    while let Some(letter) = left.first().copied() {
        // Widen one letter to a product without any other letter, by leaving out bit after bit.
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
    let mut writer = ResidualWriter::of_letters(&mut arena, compiled);
    let mut products: Vec<Formula> = Vec::new();
    for (letter, mask) in terms {
        let mut literals = Vec::new();
        for bit in (0..width).filter(|bit| mask >> bit & 1 == 1) {
            let asked = writer.write_bit(bit as u8);
            literals.push(if letter >> bit & 1 == 1 { asked } else { writer.arena.not(asked) });
        }
        products.push(writer.arena.and(literals));
    }
    let formula = arena.or(products);
    Sentence { arena, formula }
}

/// Returns the facts of a letter; the value of a prefix variable is its name.
pub(crate) fn letter_facts(monitor: &Monitor, valuation: usize, letter: u64) -> Facts {
    let compiled = &monitor.compiled;
    let bound = compiled.rigid.example(valuation);
    let mut facts = Facts::default();
    let set = |bit: usize| letter >> bit & 1 == 1;
    for (bit, probe) in compiled.probes.iter().enumerate().filter(|(bit, _)| set(*bit)) {
        let fact = match probe {
            Probe::Pattern(pattern) => {
                // A more special fact of the letter implies it.
                let specials = compiled.skeleton.specials[bit] & letter & !(1 << bit);
                if specials != 0 {
                    continue;
                }
                let value = |argument: &PatternTerm| match argument {
                    PatternTerm::Any => Value::text("some"),
                    PatternTerm::Value(value) => value.clone(),
                    PatternTerm::Variable(index) => bound[*index].clone(),
                    PatternTerm::Where(_, tests) => find_passing_value(tests),
                };
                Fact::new(pattern.name.clone(), pattern.slots.iter().map(value).collect::<Vec<_>>())
            }
            Probe::Local { .. } => {
                let mut arena = Arena::new();
                let mut writer = ResidualWriter::of_letters(&mut arena, compiled);
                let asked = writer.write_bit(bit as u8);
                Fact::new(arena.show(asked, crate::spelling::Spelling::Ascii).to_string(), [])
            }
        };
        facts.known.push(fact);
    }
    facts
}

/// Returns a value that passes all comparisons, if one is near their constants.
fn find_passing_value(tests: &[(Comparison, Value)]) -> Value {
    let near = tests.iter().flat_map(|(_, value)| match value {
        Value::Integer(number) => {
            vec![value.clone(), Value::Integer(number.saturating_add(1)), Value::Integer(number.saturating_sub(1))]
        }
        _ => vec![value.clone()],
    });
    let mut candidates = std::iter::once(Value::text("some")).chain(near);
    candidates.find(|value| passes(tests, value)).unwrap_or_else(|| Value::text("some"))
}

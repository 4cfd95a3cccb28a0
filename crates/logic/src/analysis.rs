//! Analysis of formulas without a trace: satisfiability, class, examples, relations, vacuity.
//!
//! Each answer comes with an example. A quantified formula is analyzed for one binding, whose values are named after
//! its variables.

mod relation;
mod weakening;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Arena;
use crate::automaton::{Automaton, Graph, letter_facts, possible_letters};
use crate::cache::{Cache, CacheLimits, SATISFIED_STATE, VIOLATED_STATE};
use crate::compile_error::CompileError;
use crate::dnf::{Clause, Obligation};
use crate::facts::Facts;
use crate::fair_loop::{FairLoop, GraphEdge, find_fair_loop};
use crate::formula::Formula;
use crate::interval::{Span, Time};
use crate::monitor::Monitor;
use crate::norm::Norms;
use crate::satisfiability::{Satisfiability, find_constant_letter};
use crate::semantics::evaluate;
use crate::skeleton::Skeleton;
use crate::state::{Handle, Point};
use crate::value::Value;
use crate::verdict::Verdict;
use crate::word::{Ending, Word};
pub use relation::{Relation, is_weaker, relate, vacuity};

/// An infinite word: a stem and a cycle that repeats for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The positions before the cycle.
    pub stem: Vec<Facts>,
    /// The positions that repeat; never empty.
    pub cycle: Vec<Facts>,
}

impl fmt::Display for Lasso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for facts in &self.stem {
            write!(f, "{facts} ")?;
        }
        let cycle: Vec<String> = self.cycle.iter().map(ToString::to_string).collect();
        write!(f, "({})*", cycle.join(" "))
    }
}

/// The class of a formula; `None` if it is too large to classify, or depends on times.
///
/// Not `#[non_exhaustive]`: a report that misses a part should not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Some infinite trace satisfies it.
    pub satisfiable: bool,
    /// Every infinite trace satisfies it.
    pub valid: bool,
    /// Every violation shows after finitely many positions.
    pub safety: Option<bool>,
    /// Every satisfaction shows after finitely many positions.
    pub co_safety: Option<bool>,
    /// A definite verdict is still possible after every trace.
    pub monitorable: Option<bool>,
    /// A definite verdict always comes, after at most so many positions.
    pub bounded: Option<u32>,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.satisfiable {
            return f.write_str("unsatisfiable: no trace can satisfy it");
        }
        if self.valid {
            return f.write_str("valid: every trace satisfies it");
        }
        let kind = match (self.safety, self.co_safety) {
            (Some(true), Some(true)) => "safety and co-safety: every verdict shows after finitely many steps",
            (Some(true), _) => "safety: a violation shows when it happens",
            (_, Some(true)) => "co-safety: satisfaction shows when it happens",
            (Some(false), Some(false)) => "neither safety nor co-safety",
            _ => "depends on times, or is too large to classify",
        };
        f.write_str(kind)?;
        match self.monitorable {
            Some(true) => f.write_str("; monitorable")?,
            Some(false) => f.write_str("; not monitorable: a point can be reached from which no verdict comes")?,
            None => {}
        }
        match self.bounded {
            Some(1) => f.write_str("; decided after 1 step"),
            Some(bound) => write!(f, "; decided after at most {bound} steps"),
            None => Ok(()),
        }
    }
}

/// A formula under examination.
#[derive(Debug)]
pub struct Analysis {
    monitor: Monitor,
    cache: Cache,
    arena: Arena,
    formula: Formula,
    /// The valuation of the rigid comparisons that it is analyzed for.
    valuation: usize,
}

/// The most clauses that the search for an example visits, and the most work that it may take. Bounds in steps make
/// clauses that are as many as their steps, and as long as the trace.
const MAX_EXAMPLE_CLAUSES: usize = 20_000;
const MAX_EXAMPLE_WORK: u64 = 2_000_000;

impl Analysis {
    /// Returns the analysis of a formula. The error says why it cannot be monitored.
    pub fn new(arena: &Arena, formula: Formula) -> Result<Analysis, CompileError> {
        let monitor = Monitor::new(arena, formula)?;
        let mut cache = Cache::new(&monitor.compiled.skeleton, CacheLimits::DEFAULT);
        let valuation = choose_valuation(&monitor, &mut cache);
        Ok(Analysis { monitor, cache, arena: arena.clone(), formula, valuation })
    }

    /// Returns the verdict before the first position: violated if no infinite trace satisfies it, satisfied if each
    /// does.
    pub fn initial_verdict(&mut self) -> Verdict {
        let skeleton = &self.monitor.compiled.skeleton;
        let start = self.cache.start(skeleton, self.valuation);
        self.monitor.apply_polarity(self.cache.verdict(skeleton, &start))
    }

    /// Whether a search ended before it knew whether a continuation exists, and assumed one.
    pub fn is_partial(&self) -> bool {
        self.cache.usage().is_partial
    }

    /// Returns the work of all that was asked so far, in steps of the engine.
    pub fn work(&self) -> u64 {
        self.cache.spent()
    }

    /// Whether a position can violate it, not only a deadline or the end; none if it has too many states.
    pub fn can_position_violate(&mut self) -> Option<bool> {
        if self.monitor.is_about_data() {
            return None;
        }
        let graph = Graph::explore(&self.monitor, &mut self.cache, self.valuation)?;
        let violated = self.monitor.apply_polarity(Verdict::Violated);
        let skeleton = &self.monitor.compiled.skeleton;
        let breaks: Vec<bool> =
            graph.points.iter().map(|point| self.cache.verdict(skeleton, point) == violated).collect();
        let mut states = graph.next.iter().zip(&breaks);
        Some(states.any(|(targets, is_broken)| !is_broken && targets.iter().any(|target| breaks[*target])))
    }

    /// Returns an infinite word that satisfies it; none if it is unsatisfiable, or the search for one ended.
    pub fn satisfying(&mut self) -> Option<Lasso> {
        self.find_example(!self.monitor.compiled.negated)
    }

    /// Returns an infinite word that violates it; none if it is valid.
    pub fn violating(&mut self) -> Option<Lasso> {
        self.find_example(self.monitor.compiled.negated)
    }

    fn find_example(&mut self, holds: bool) -> Option<Lasso> {
        let start = self.cache.start(&self.monitor.compiled.skeleton, self.valuation);
        if start.id() == Some(if holds { VIOLATED_STATE } else { SATISFIED_STATE }) {
            return None;
        }
        if self.monitor.is_timed() {
            return self.find_timed_example(holds != self.monitor.compiled.negated);
        }
        let skeleton = &self.monitor.compiled.skeleton;
        let beginning = skeleton.starts[self.valuation];
        let norm = if holds { beginning.holds } else { beginning.fails };
        let mut norms = skeleton.norms.clone();
        let mut satisfy = Satisfiability::default();
        let root = Satisfiability::search_clause(&[Obligation::new(norm, true)], &mut norms)?;
        let graph = match expand_clauses(&root, &mut satisfy, &mut norms, skeleton) {
            Some(graph) => graph,
            // One letter that repeats is an example too, if not always the shortest.
            None => {
                let letter = find_constant_letter(&root, &norms, skeleton)?;
                return Some(Lasso {
                    stem: Vec::new(),
                    cycle: vec![letter_facts(&self.monitor, self.valuation, letter)],
                });
            }
        };
        let FairLoop { stem, cycle } = find_fair_loop(&[0], &graph)?;
        let facts = |letters: Vec<u64>| {
            letters.into_iter().map(|letter| letter_facts(&self.monitor, self.valuation, letter)).collect()
        };
        let lasso = Lasso { stem: facts(stem), cycle: facts(cycle) };
        Some(self.shorten(lasso, holds != self.monitor.compiled.negated))
    }

    /// Leaves out positions as long as the definition gives the same value. A long example stays as it is.
    fn shorten(&self, mut lasso: Lasso, satisfied: bool) -> Lasso {
        const MAX_SHORTENED_POSITIONS: usize = 100;
        if lasso.stem.len() + lasso.cycle.len() > MAX_SHORTENED_POSITIONS {
            return lasso;
        }
        let is_example = |lasso: &Lasso| {
            let positions: Vec<Facts> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
            let ending = Ending::Repeats { from: lasso.stem.len(), period: Span(0) };
            evaluate(&self.arena, self.formula, &Word { positions: &positions, ending }) == Some(satisfied)
        };
        let mut place = 0;
        while place < lasso.stem.len() + lasso.cycle.len() {
            let mut shorter = lasso.clone();
            match place.checked_sub(lasso.stem.len()) {
                None => drop(shorter.stem.remove(place)),
                Some(_) if lasso.cycle.len() == 1 => break,
                Some(place) => drop(shorter.cycle.remove(place)),
            }
            if is_example(&shorter) {
                lasso = shorter;
            } else {
                place += 1;
            }
        }
        lasso
    }

    /// Finds an example of a timed formula: a short trace, followed by one letter for ever.
    fn find_timed_example(&mut self, satisfied: bool) -> Option<Lasso> {
        let wanted = if satisfied { Verdict::Satisfied } else { Verdict::Violated };
        let stem = self.shortest(wanted)?;
        for letter in possible_letters(&self.monitor)? {
            let last = stem.last().and_then(|facts| facts.time).unwrap_or_default();
            for period in self.periods() {
                let repeated =
                    Facts { time: Some(last.plus(period)), ..letter_facts(&self.monitor, self.valuation, letter) };
                let positions: Vec<Facts> = stem.iter().cloned().chain([repeated.clone()]).collect();
                let ending = Ending::Repeats { from: stem.len(), period };
                if evaluate(&self.arena, self.formula, &Word { positions: &positions, ending }) == Some(satisfied) {
                    return Some(Lasso { stem, cycle: vec![repeated] });
                }
            }
        }
        None
    }

    /// Returns the distances at which the last letter may be repeated: a second, and the bounds of the formula, unless
    /// the longest bound spans too many of them.
    fn periods(&self) -> Vec<Span> {
        const MAX_PERIOD_ROUNDS: u64 = 100;
        let clocks = &self.monitor.compiled.skeleton.clocks;
        let bounds = clocks.iter().flat_map(|clock| [Some(clock.from), clock.to]).flatten().filter(|span| span.0 > 0);
        let mut periods: Vec<Span> = bounds.chain([Span::from_seconds(1)]).collect();
        periods.sort_unstable();
        periods.dedup();
        let longest = periods.last().map_or(0, |span| span.0);
        periods.retain(|period| longest / period.0 <= MAX_PERIOD_ROUNDS);
        periods
    }

    /// Returns a shortest trace, of at least one position, at whose end it has this verdict.
    pub fn shortest(&mut self, end: Verdict) -> Option<Vec<Facts>> {
        let wanted = self.monitor.apply_polarity(end);
        self.search(|cache, monitor, point| cache.end_verdict(&monitor.compiled.skeleton, point) == wanted)
    }

    /// Returns a shortest trace after which it has this definite verdict, however the trace continues.
    pub fn shortest_definite(&mut self, verdict: Verdict) -> Option<Vec<Facts>> {
        let wanted = self.monitor.apply_polarity(verdict);
        self.search(|cache, monitor, point| cache.verdict(&monitor.compiled.skeleton, point) == wanted)
    }

    /// Searches breadth first over letters and, for a timed formula, over the delays of its bounds. None for a formula
    /// about data, which has no letters.
    fn search(&mut self, found: impl Fn(&Cache, &Monitor, &Point) -> bool) -> Option<Vec<Facts>> {
        if self.monitor.is_about_data() {
            return None;
        }
        const MAX_SEARCH_NODES: usize = 20_000;
        const MAX_SEARCH_WORK: u64 = 2_000_000;
        let Analysis { monitor, cache, valuation, .. } = self;
        let skeleton = &monitor.compiled.skeleton;
        let mut letters = possible_letters(monitor)?;
        letters.sort_by_key(|letter| letter.count_ones());
        let mut delays = vec![Span(0)];
        for clock in &skeleton.clocks {
            delays.extend([clock.from].into_iter().chain(clock.to));
            delays.extend(clock.to.map(|to| Span(to.0.saturating_add(1_000_000_000))));
        }
        delays.sort_unstable();
        delays.dedup();
        let start = cache.start(skeleton, *valuation);
        let mut nodes: Vec<SearchNode> = vec![(start, Time(0), None)];
        let mut seen: FxHashSet<(u32, Vec<i64>)> = FxHashSet::default();
        let mut at = 0;
        let before = cache.spent();
        while at < nodes.len() && nodes.len() < MAX_SEARCH_NODES && cache.spent() - before < MAX_SEARCH_WORK {
            for delay in &delays {
                for letter in &letters {
                    let (point, time, _) = &nodes[at];
                    let time = time.plus(*delay);
                    let expired = cache.expire(skeleton, point, time);
                    let point = cache.step(skeleton, expired.as_ref().unwrap_or(point), *letter, 0, time);
                    let Handle::Cached(id) = point.handle else { continue };
                    let ages = point.times.iter().map(|start| time.0 - start.0).collect();
                    if !seen.insert((id, ages)) {
                        continue;
                    }
                    let done = found(cache, monitor, &point);
                    nodes.push((point, time, Some((at, *letter))));
                    if done {
                        return Some(trace_to_last(monitor, *valuation, &nodes));
                    }
                }
            }
            at += 1;
        }
        None
    }

    /// Returns the class of the formula.
    pub fn class(&mut self) -> Class {
        let start = self.cache.start(&self.monitor.compiled.skeleton, self.valuation).id();
        let (top, bottom) = if self.monitor.compiled.negated {
            (VIOLATED_STATE, SATISFIED_STATE)
        } else {
            (SATISFIED_STATE, VIOLATED_STATE)
        };
        let mut class = Class {
            satisfiable: start != Some(bottom),
            valid: start == Some(top),
            safety: None,
            co_safety: None,
            monitorable: None,
            bounded: None,
        };
        let Some(graph) = Graph::explore(&self.monitor, &mut self.cache, self.valuation) else { return class };
        class.monitorable = Some(is_monitorable(&graph));
        class.bounded = longest_path(&graph);
        if !self.monitor.is_timed() {
            let negated = self.monitor.compiled.negated;
            // A hidden violation is a word of the negation on which the verdict stays open.
            class.safety = self.has_hidden_verdict(&graph, negated).map(|hidden| !hidden);
            class.co_safety = self.has_hidden_verdict(&graph, !negated).map(|hidden| !hidden);
        }
        class
    }

    /// Whether a word satisfies (or violates) the formula although no prefix of it shows that.
    fn has_hidden_verdict(&mut self, graph: &Graph, satisfied: bool) -> Option<bool> {
        let skeleton = &self.monitor.compiled.skeleton;
        let beginning = skeleton.starts[self.valuation];
        let norm = if satisfied { beginning.holds } else { beginning.fails };
        let shown = if satisfied { SATISFIED_STATE } else { VIOLATED_STATE };
        let mut norms = skeleton.norms.clone();
        let mut satisfy = Satisfiability::default();
        let Some(root) = Satisfiability::search_clause(&[Obligation::new(norm, true)], &mut norms) else {
            return Some(false);
        };
        let mut numbers: FxHashMap<(usize, Clause), usize> = FxHashMap::from_iter([((0, root.clone()), 0)]);
        let mut queue: VecDeque<(usize, Clause)> = VecDeque::from([(0, root)]);
        let mut product: Vec<Vec<GraphEdge>> = Vec::new();
        let before = norms.work.spent();
        while let Some((state, clause)) = queue.pop_front() {
            let mut arrows = Vec::new();
            for (letter, next) in graph.letters.iter().zip(&graph.next[state]) {
                if graph.points[*next].id() == Some(shown) {
                    continue;
                }
                let edges = satisfy.edges(&clause, Some(*letter), &mut norms, skeleton)?;
                for edge in edges {
                    let known = numbers.len();
                    let to = *numbers.entry((*next, edge.target.clone())).or_insert(known);
                    if to == known {
                        queue.push_back((*next, edge.target));
                    }
                    arrows.push(GraphEdge { to, put_off: edge.put_off, letter: *letter });
                }
            }
            product.push(arrows);
            let work = satisfy.spent() + norms.work.spent() - before;
            if product.len() > MAX_EXAMPLE_CLAUSES || work > MAX_EXAMPLE_WORK {
                return None;
            }
        }
        Some(graph.points[0].id() != Some(shown) && find_fair_loop(&[0], &product).is_some())
    }

    /// Returns the states and transitions; none if there are too many, or the formula is about data.
    pub fn automaton(&mut self) -> Option<Automaton> {
        if self.monitor.is_about_data() {
            return None;
        }
        Automaton::new(&self.monitor, &mut self.cache, self.valuation)
    }
}

/// Returns the edges of every clause that can be reached from one; none if there are too many.
fn expand_clauses(
    root: &Clause,
    satisfy: &mut Satisfiability,
    norms: &mut Norms,
    skeleton: &Skeleton,
) -> Option<Vec<Vec<GraphEdge>>> {
    let mut graph: Vec<Vec<GraphEdge>> = Vec::new();
    let mut numbers: FxHashMap<Clause, usize> = FxHashMap::from_iter([(root.clone(), 0)]);
    let mut queue: VecDeque<Clause> = VecDeque::from([root.clone()]);
    let before = norms.work.spent();
    while let Some(clause) = queue.pop_front() {
        let edges = satisfy.edges(&clause, None, norms, skeleton)?;
        let mut arrows = Vec::with_capacity(edges.len());
        for edge in edges {
            let known = numbers.len();
            let to = *numbers.entry(edge.target.clone()).or_insert(known);
            if to == known {
                queue.push_back(edge.target);
            }
            arrows.push(GraphEdge { to, put_off: edge.put_off, letter: edge.letter });
        }
        graph.push(arrows);
        let work = satisfy.spent() + norms.work.spent() - before;
        if graph.len() > MAX_EXAMPLE_CLAUSES || work > MAX_EXAMPLE_WORK {
            return None;
        }
    }
    Some(graph)
}

/// Returns a valuation of the comparisons under which the formula is violated, else one under which it is still open,
/// preferably that of values which are named after their variables. There are values for each valuation, so one that
/// violates the formula decides it.
fn choose_valuation(monitor: &Monitor, cache: &mut Cache) -> usize {
    let rigid = &monitor.compiled.rigid;
    let named: Vec<Option<Value>> =
        monitor.variables().iter().map(|variable| Some(Value::text(Arc::clone(variable)))).collect();
    let of_named = rigid.compatible_valuations(&named);
    let mut candidates = of_named.iter().copied().chain(rigid.valuations());
    let mut start = |valuation: usize| cache.start(&monitor.compiled.skeleton, valuation).id();
    if let Some(violating) = rigid.valuations().find(|valuation| start(*valuation) == Some(VIOLATED_STATE)) {
        return violating;
    }
    let is_open = |valuation: &usize| start(*valuation).is_none_or(|state| state > VIOLATED_STATE);
    candidates.find(is_open).or_else(|| of_named.first().copied()).unwrap_or(0)
}

/// A point, its time, and the node and letter that led to it.
type SearchNode = (Point, Time, Option<(usize, u64)>);

/// Returns the facts on the path to the last node.
fn trace_to_last(monitor: &Monitor, valuation: usize, nodes: &[SearchNode]) -> Vec<Facts> {
    let timed = monitor.is_timed();
    let mut trace = Vec::new();
    let mut at = nodes.len() - 1;
    while let (_, time, Some((before, letter))) = &nodes[at] {
        trace.push(Facts { time: timed.then_some(*time), ..letter_facts(monitor, valuation, *letter) });
        at = *before;
    }
    trace.reverse();
    trace
}

/// Whether a definite state can be reached from every state.
fn is_monitorable(graph: &Graph) -> bool {
    let is_definite = |point: &Point| point.id().is_some_and(|id| id <= VIOLATED_STATE);
    let mut reaches: Vec<bool> = graph.points.iter().map(is_definite).collect();
    loop {
        let before = reaches.iter().filter(|reached| **reached).count();
        for state in 0..graph.points.len() {
            let mut ways = graph.next[state].iter().chain(&graph.expired[state]);
            reaches[state] = reaches[state] || ways.any(|next| reaches[*next]);
        }
        if reaches.iter().filter(|reached| **reached).count() == before {
            return reaches.into_iter().all(|reached| reached);
        }
    }
}

/// Returns the length of the longest path to a definite state; none if there is a cycle without one.
fn longest_path(graph: &Graph) -> Option<u32> {
    let is_definite = |state: usize| graph.points[state].id().is_some_and(|id| id <= VIOLATED_STATE);
    let mut lengths: Vec<Option<u32>> = (0..graph.points.len()).map(|state| is_definite(state).then_some(0)).collect();
    // Each round settles the states all of whose successors are settled; without a cycle all are settled in the end.
    loop {
        let mut changed = false;
        for state in 0..graph.points.len() {
            if lengths[state].is_none() {
                let ways: Option<Vec<u32>> = graph.next[state].iter().map(|next| lengths[*next]).collect();
                if let Some(ways) = ways {
                    lengths[state] = Some(ways.into_iter().max().unwrap_or(0) + 1);
                    changed = true;
                }
            }
        }
        if !changed {
            return lengths[0];
        }
    }
}

//! The probability that a chain reaches a pattern, by all of its paths.
//!
//! Paths that are in the same state of the properties, after the same last symbols, continue alike, so they are one
//! node. The nodes are found from the session on, and their values computed back from the end. What a symbol does to a
//! state is computed once and kept.
//!
//! A chain is learnt from finitely many sessions, so each of its probabilities may be off. The interval has two parts:
//! what a few unseen events after each context could do at worst and at best (the imprecise Dirichlet model, Walley
//! 1996), and the deviation of the counted shares. After an event that no log had, there are no counts: the next event
//! may have any effect.

use lictor_logic::{Facts, Snapshot, SnapshotError, Verdict};
use rustc_hash::FxHashMap;

use crate::chain::{
    Chain, ChainPlace, END, FIRST, FORGOTTEN, MAX_ORDER, OTHER, OTHER_ACTION, SYMBOLS_PER_ACTION, SymbolContext,
};
use crate::machine::{Machine, MachineState, Outcome};
use crate::symbol::{RecentValues, write_facts};

/// After each context, so many unseen events may have any effect.
const UNSEEN_EVENTS: f64 = 2.0;

/// How many deviations the interval is wide to each side: 95 % of a normal distribution are below.
const DEVIATIONS: f64 = 1.645;

/// Paths with less weight forget what was before them.
const MIN_WEIGHT: f64 = 1e-3;

/// With more nodes in a layer than this, the least weight grows.
const MAX_NODES: usize = 500;

/// The most states that are kept.
const MAX_STATES: usize = 50_000;

/// The range of a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reached {
    /// The probability by the chain alone: the two differ if it depends on unknown facts.
    pub(crate) known: (f64, f64),
    /// The probability if the chain's counts are off.
    pub(crate) interval: (f64, f64),
}

/// Computes probabilities for one machine and chain.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    states: Vec<MachineState>,
    outcomes: Vec<StateOutcomes>,
    numbers: FxHashMap<Box<[u32]>, u32>,
    steps: FxHashMap<(u32, u32), u32>,
    groups: FxHashMap<u32, Vec<SuccessorGroup>>,
    letters: Vec<Facts>,
    no_facts: Facts,
    /// What was computed before, by state and context, and by whether the last event is of a class that no log had.
    known: FxHashMap<(u32, SymbolContext, bool), Reached>,
    /// Paths with less weight forget what was before them; zero keeps all apart.
    least_weight: Option<f64>,
}

/// What becomes of the pattern in a state.
#[derive(Clone, Copy, Debug)]
struct StateOutcomes {
    now: Outcome,
    /// If nothing more counts, and if the session ends.
    at_horizon: (f64, f64),
    at_end: (f64, f64),
}

/// Symbols that do the same to a state.
#[derive(Clone, Copy, Debug)]
struct SuccessorGroup {
    target: Target,
    symbols: u32,
}

/// What a symbol leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    /// The pattern is decided, between these two probabilities.
    Leaf(f64, f64),
    /// A state, reached by an action or not.
    State(u32, bool),
    /// The same, but by an event of no class: it may have had any facts, and is followed as if it had none.
    Unclear(u32, bool),
}

#[derive(Debug)]
struct Node {
    context: SymbolContext,
    state: u32,
    used: u32,
    weight: f64,
    edges: Vec<(f64, Child)>,
    value: NodeValue,
}

#[derive(Clone, Copy, Debug)]
enum Child {
    Leaf(f64, f64),
    /// A node of the next layer.
    Node(usize),
    /// A node of the next layer, if the event had no facts.
    Unclear(usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeValue {
    known: (f64, f64),
    low: f64,
    high: f64,
}

impl Reach {
    /// Keeps all paths apart, however little weight they have.
    #[cfg(test)]
    pub(crate) fn exact() -> Reach {
        Reach { least_weight: Some(0.0), ..Reach::default() }
    }

    pub(crate) fn probability(
        &mut self,
        machine: &mut Machine,
        chain: &Chain,
        (session, present): (&Snapshot, &[(&str, Verdict)]),
        place: &ChainPlace,
        within: u32,
    ) -> Result<Reached, SnapshotError> {
        if self.states.len() > MAX_STATES || self.known.len() > MAX_STATES {
            *self = Reach { least_weight: self.least_weight, ..Reach::default() };
        }
        if self.letters.is_empty() {
            let write = |symbol| write_facts(symbol, &mut RecentValues::default(), &mut 0);
            self.letters = chain.symbols.iter().map(write).collect();
        }
        let mut start = machine.resume(session, present)?;
        let root = match (machine.outcome(&mut start), within) {
            (Outcome::Open, 1..) => self.intern(machine, start),
            (Outcome::Open, 0) => return Ok(Reached::leaf(leaf(machine.outcome_at_horizon(&mut start)))),
            (outcome, _) => return Ok(Reached::leaf(leaf(outcome))),
        };
        let is_unseen = chain.is_unseen(place);
        let key = (root, place.context, is_unseen);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let layers = self.expand(machine, chain, root, place.context, within);
        let reached = evaluate(chain, layers, is_unseen);
        self.known.insert(key, reached);
        Ok(reached)
    }

    /// Returns the number of a state.
    fn intern(&mut self, machine: &mut Machine, mut state: MachineState) -> u32 {
        // INVARIANT: the machine is finite, so every state has a key.
        let key = machine.key(&state).unwrap_or_default();
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.states.len() as u32;
        self.outcomes.push(StateOutcomes {
            now: machine.outcome(&mut state),
            at_horizon: leaf(machine.outcome_at_horizon(&mut state)),
            at_end: leaf(machine.outcome_at_end(&mut state.clone())),
        });
        self.states.push(state);
        self.numbers.insert(key, number);
        number
    }

    /// Returns what a symbol does to a state.
    fn step(&mut self, machine: &mut Machine, chain: &Chain, state: u32, symbol: u32) -> Target {
        if symbol == END {
            let (least, most) = self.outcomes[state as usize].at_end;
            return Target::Leaf(least, most);
        }
        let next = match self.steps.get(&(state, symbol)) {
            Some(next) => *next,
            None => {
                let mut next = self.states[state as usize].clone();
                let facts = symbol.checked_sub(FIRST).map_or(&self.no_facts, |place| &self.letters[place as usize]);
                machine.step(&mut next, facts);
                let next = self.intern(machine, next);
                self.steps.insert((state, symbol), next);
                next
            }
        };
        match self.outcomes[next as usize].now {
            Outcome::Open if symbol == OTHER || symbol == OTHER_ACTION => {
                Target::Unclear(next, chain.is_action(symbol))
            }
            Outcome::Open => Target::State(next, chain.is_action(symbol)),
            outcome => {
                let (least, most) = leaf(outcome);
                Target::Leaf(least, most)
            }
        }
    }

    /// Returns the symbols by what they do to a state.
    fn group(&mut self, machine: &mut Machine, chain: &Chain, state: u32) -> Vec<SuccessorGroup> {
        if let Some(groups) = self.groups.get(&state) {
            return groups.clone();
        }
        let mut groups: Vec<SuccessorGroup> = Vec::new();
        for symbol in chain.successors() {
            let target = self.step(machine, chain, state, symbol);
            match groups.iter_mut().find(|group| group.target == target) {
                Some(group) => group.symbols += 1,
                None => groups.push(SuccessorGroup { target, symbols: 1 }),
            }
        }
        self.groups.insert(state, groups.clone());
        groups
    }

    /// Finds the nodes that paths go through, layer by layer.
    fn expand(
        &mut self,
        machine: &mut Machine,
        chain: &Chain,
        root: u32,
        context: SymbolContext,
        within: u32,
    ) -> Vec<Vec<Node>> {
        let node = |context: SymbolContext, state: u32, used: u32, weight: f64| Node {
            context,
            state,
            used,
            weight,
            edges: Vec::new(),
            value: NodeValue::default(),
        };
        let mut layers = vec![vec![node(context, root, 0, 1.0)]];
        let forgotten = [FORGOTTEN; MAX_ORDER];
        let mut least_weight = self.least_weight.unwrap_or(MIN_WEIGHT);
        for depth in 0..(within * SYMBOLS_PER_ACTION) as usize {
            let mut next: Vec<Node> = Vec::new();
            let mut places: FxHashMap<(SymbolContext, u32, u32), usize> = FxHashMap::default();
            for at in 0..layers[depth].len() {
                let Node { context, state, used, weight, .. } = layers[depth][at];
                let (_, row) = chain.row(context);
                let whole = row.total as f64 + chain.smoothing * chain.width() as f64;
                let unseen = chain.smoothing / whole;
                let mut edges = Vec::new();
                let mut enter = |reach: &Reach, target: Target, context: SymbolContext, share: f64| {
                    let child = match target {
                        Target::Leaf(least, most) => Child::Leaf(least, most),
                        Target::State(state, is_action) | Target::Unclear(state, is_action) => {
                            let is_unclear = matches!(target, Target::Unclear(..));
                            let used = used + u32::from(is_action);
                            if used >= within {
                                let (least, most) = reach.outcomes[state as usize].at_horizon;
                                Child::Leaf(least, if is_unclear { 1.0 } else { most })
                            } else {
                                let context = if weight * share < least_weight { forgotten } else { context };
                                let place = *places.entry((context, state, used)).or_insert_with(|| {
                                    next.push(node(context, state, used, 0.0));
                                    next.len() - 1
                                });
                                next[place].weight += weight * share;
                                if is_unclear { Child::Unclear(place) } else { Child::Node(place) }
                            }
                        }
                    };
                    edges.push((share, child));
                };
                let is_apart = weight * unseen >= least_weight;
                let symbols: Vec<(u32, f64)> = match is_apart {
                    true => chain.successors().map(|symbol| (symbol, chain.probability(row, symbol))).collect(),
                    false => row.next.iter().map(|(symbol, count)| (*symbol, *count as f64 / whole)).collect(),
                };
                for (symbol, share) in symbols {
                    let target = self.step(machine, chain, state, symbol);
                    enter(self, target, chain.push(context, symbol), share);
                }
                if !is_apart {
                    for group in self.group(machine, chain, state) {
                        enter(self, group.target, forgotten, unseen * f64::from(group.symbols));
                    }
                }
                layers[depth][at].edges = edges;
            }
            if next.len() > MAX_NODES {
                least_weight = (least_weight * 10.0).max(1e-6);
            }
            if next.is_empty() {
                break;
            }
            layers.push(next);
        }
        layers
    }
}

impl Reached {
    /// Fits the range of a union to those of its members, each found on its own: a union is as likely as each of them at
    /// least, and as all of them added up at most. Random paths of a union know nothing of how sure the counts of a chain
    /// are, and the paths of a member with few states do.
    pub(crate) fn fit_union(&mut self, members: &[Reached]) {
        let fit = |value: f64, end: fn(&Reached) -> f64| {
            let largest = members.iter().map(end).fold(0.0, f64::max);
            let sum: f64 = members.iter().map(end).sum();
            value.clamp(largest, sum.clamp(largest, 1.0))
        };
        self.known = (fit(self.known.0, |it| it.known.0), fit(self.known.1, |it| it.known.1));
        let (least, most) = (fit(self.interval.0, |it| it.interval.0), fit(self.interval.1, |it| it.interval.1));
        // The lower end may be less than that of all members together, and never more than the chance.
        self.interval = (least.min(self.known.0), most.max(self.known.1));
    }

    fn leaf((least, most): (f64, f64)) -> Reached {
        Reached { known: (least, most), interval: (least, most) }
    }
}

fn leaf(outcome: Outcome) -> (f64, f64) {
    match outcome {
        Outcome::Hit => (1.0, 1.0),
        Outcome::Missed => (0.0, 0.0),
        Outcome::Open | Outcome::Unknown => (0.0, 1.0),
    }
}

/// Computes the values of all nodes from the last layer on.
fn evaluate(chain: &Chain, mut layers: Vec<Vec<Node>>, is_unseen: bool) -> Reached {
    let mut deviations: FxHashMap<SymbolContext, f64> = FxHashMap::default();
    let mut below: Vec<NodeValue> = Vec::new();
    for (depth, layer) in layers.iter_mut().enumerate().rev() {
        for node in layer.iter_mut() {
            // Nodes of the last layer have no edges: their paths are too long to be followed.
            if node.edges.is_empty() {
                node.value = NodeValue { known: (0.0, 1.0), low: 0.0, high: 1.0 };
                continue;
            }
            let (context, row) = chain.row(node.context);
            // What follows events of all classes is no evidence of what follows one that no log had. Later on a path, the
            // upper end takes such an event for a violation anyway.
            let whole = match depth == 0 && is_unseen {
                true => 0.0,
                false => row.total as f64 + chain.smoothing * chain.width() as f64,
            };
            let seen = whole / (whole + UNSEEN_EVENTS);
            let (mut known, mut low, mut high) = ((0.0, 0.0), 0.0, 0.0);
            let (mut lowest, mut highest, mut squares) = (1.0f64, 0.0f64, 0.0);
            for (share, child) in &node.edges {
                let value = match child {
                    Child::Leaf(least, most) => NodeValue { known: (*least, *most), low: *least, high: *most },
                    Child::Node(place) => below[*place],
                    Child::Unclear(place) => {
                        let NodeValue { known, low, .. } = below[*place];
                        NodeValue { known: (known.0, 1.0), low, high: 1.0 }
                    }
                };
                known.0 += share * value.known.0;
                known.1 += share * value.known.1;
                low += share * value.low;
                high += share * value.high;
                squares += share * value.known.1 * value.known.1;
                lowest = lowest.min(value.low);
                highest = highest.max(value.high);
            }
            let low = seen * low + (1.0 - seen) * lowest;
            let high = seen * high + (1.0 - seen) * highest;
            node.value = NodeValue { known, low, high };
            let variance = (squares - known.1 * known.1).max(0.0) / (whole + UNSEEN_EVENTS + 1.0);
            // Errors of one row are the same wherever the row is read, those of different rows are independent.
            *deviations.entry(context).or_default() += node.weight * variance.sqrt();
        }
        below = layer.iter().map(|node| node.value).collect();
    }
    let mut squares: Vec<f64> = deviations.values().map(|deviation| deviation * deviation).collect();
    // Sums in one order, so that they are the same on every machine.
    squares.sort_unstable_by(f64::total_cmp);
    let width = DEVIATIONS * squares.iter().sum::<f64>().sqrt();
    let root = below.first().copied().unwrap_or(NodeValue { known: (0.0, 1.0), low: 0.0, high: 1.0 });
    let known = (root.known.0.clamp(0.0, 1.0), root.known.1.clamp(0.0, 1.0));
    Reached { known, interval: ((root.low - width).clamp(0.0, known.0), (root.high + width).clamp(known.1, 1.0)) }
}

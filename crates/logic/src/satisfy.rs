//! Can obligations still be met by some infinite continuation? This is what makes live verdicts exact.
//!
//! The clauses of a residual are the states of a tableau: each is expanded into alternatives of literals to read now,
//! obligations for the next position, and untils put off. A clause can be met if it reaches a cycle on which every until
//! is sooner or later not put off (generalised Büchi emptiness, searched on the fly after Couvreur). Answers are kept
//! for every clause that was visited, so that a new state usually costs nothing.
//!
//! Time is abstracted: a deadline may expire before the next position or not, each on its own. So `false` is certain,
//! and for formulas without time bounds `true` is certain as well.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::normal::{FOREVER, Mark, Norm, NormNode, Norms, Start};
use crate::progress::{Progress, Reading, Undetermined, clock_bit, shorter};
use crate::residual::{Clause, Obligation, joined};
use crate::slots::rewrite_times;
use crate::stepper::Skeleton;

/// One way to meet a norm at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    positive: u128,
    negative: u128,
    next: Vec<Norm>,
    /// The families of untils that are put off.
    put_off: u64,
}

impl Way {
    const FREE: Way = Way { positive: 0, negative: 0, next: Vec::new(), put_off: 0 };

    fn and(&self, other: &Way) -> Option<Way> {
        let (positive, negative) = (self.positive | other.positive, self.negative | other.negative);
        if positive & negative != 0 {
            return None;
        }
        let mut next = self.next.clone();
        for norm in &other.next {
            if !next.contains(norm) {
                next.push(*norm);
            }
        }
        Some(Way { positive, negative, next, put_off: self.put_off | other.put_off })
    }

    /// Wherever the other way leads, this one leads too.
    fn covers(&self, other: &Way) -> bool {
        self.positive & !other.positive == 0
            && self.negative & !other.negative == 0
            && self.put_off & !other.put_off == 0
            && self.next.iter().all(|norm| other.next.contains(norm))
    }
}

/// More ways than this are not listed, more edges than this not followed: the clause then counts as one that can be met.
const WAY_LIMIT: usize = 2048;
const EDGE_LIMIT: usize = 200_000;

/// What is known so far about which clauses can be met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Satisfy {
    met: FxHashMap<Clause, bool>,
    ways: FxHashMap<Norm, Option<Arc<[Way]>>>,
    /// A limit was reached: some clause counts as one that can be met without having been searched to the end.
    pub(crate) is_partial: bool,
}

impl Satisfy {
    /// Forgets all answers.
    pub(crate) fn clear(&mut self) {
        self.met.clear();
        self.ways.clear();
    }

    /// How many answers are kept.
    pub(crate) fn len(&self) -> usize {
        self.met.len() + self.ways.len()
    }

    /// Is there an infinite word that meets all obligations of the clause?
    pub(crate) fn can_be_met(&mut self, clause: &[Obligation], norms: &mut Norms, skeleton: &Skeleton) -> bool {
        let Some(root) = timeless(clause, norms) else { return false };
        if let Some(known) = self.met.get(&root) {
            return *known;
        }
        let (order, nodes) = (Vec::new(), FxHashMap::default());
        Search { satisfy: self, norms, skeleton, order, nodes, path: Vec::new(), open: Vec::new() }.run(root)
    }

    /// The clause as the search sees it; none if it contradicts itself.
    pub(crate) fn node(clause: &[Obligation], norms: &mut Norms) -> Option<Clause> {
        timeless(clause, norms)
    }

    /// Every edge out of a clause, or those that read a given letter; none if there are too many.
    pub(crate) fn edges(
        &mut self,
        clause: &Clause,
        letter: Option<u64>,
        norms: &mut Norms,
        skeleton: &Skeleton,
    ) -> Option<Vec<Edge>> {
        const MOST: usize = 2000;
        let mut ways = Vec::with_capacity(clause.len());
        for obligation in clause {
            ways.push(self.ways_of(obligation.norm(), norms, skeleton)?);
        }
        let all = u64::MAX.checked_shr(64 - skeleton.width).unwrap_or(0);
        let given =
            letter.map_or(Way::FREE, |bits| Way { positive: bits.into(), negative: (all & !bits).into(), ..Way::FREE });
        let mut open = Edges { ways, pending: vec![(0, given)], undecided: Vec::new() };
        let mut edges: Vec<Edge> = Vec::new();
        while let Some(edge) = next_edge(&mut open, norms, skeleton) {
            let known = |other: &Edge| other.target == edge.target && other.put_off == edge.put_off;
            if !edges.iter().any(known) {
                edges.push(edge);
            }
            if edges.len() > MOST {
                return None;
            }
        }
        Some(edges)
    }

    fn ways_of(&mut self, norm: Norm, norms: &mut Norms, skeleton: &Skeleton) -> Option<Arc<[Way]>> {
        if let Some(known) = self.ways.get(&norm) {
            return known.clone();
        }
        let result = self.list_ways(norm, norms, skeleton).map(Arc::from);
        self.ways.insert(norm, result.clone());
        result
    }

    /// Every way to meet a norm; none if there are too many.
    fn list_ways(&mut self, norm: Norm, norms: &mut Norms, skeleton: &Skeleton) -> Option<Vec<Way>> {
        let free = || vec![Way::FREE];
        let later = |norm: Norm, put_off: u64| vec![Way { next: vec![norm], put_off, ..Way::FREE }];
        let at_once = |clock: u8| skeleton.clocks[usize::from(clock)].from.0 == 0;
        match norms.node(norm).clone() {
            NormNode::True => Some(free()),
            NormNode::False => Some(Vec::new()),
            NormNode::Literal { bit, positive: true } => {
                Some(vec![Way { positive: skeleton.generals[usize::from(bit)].into(), ..Way::FREE }])
            }
            NormNode::Literal { bit, positive: false } => {
                Some(vec![Way { negative: skeleton.specials[usize::from(bit)].into(), ..Way::FREE }])
            }
            NormNode::And(list) => {
                let mut result = free();
                for norm in list {
                    result = product(&result, &self.ways_of(norm, norms, skeleton)?)?;
                }
                Some(result)
            }
            NormNode::Or(list) => {
                let mut result = Vec::new();
                for norm in list {
                    result = union(result, &self.ways_of(norm, norms, skeleton)?)?;
                }
                Some(result)
            }
            NormNode::Next(f) | NormNode::WeakNext(f) => Some(later(f, 0)),
            NormNode::Until { family, from, to, f, g } => {
                let now = if from == 0 { self.ways_of(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                if to == 0 {
                    return Some(now);
                }
                let rest = norms.until(family, from.saturating_sub(1), shorter(to), f, g);
                // Counting down to a bound ends by itself: only what has no bound left needs fairness.
                let put_off = if from == 0 && to == FOREVER { 1 << family } else { 0 };
                let postponed = product(&later(rest, put_off), &self.ways_of(f, norms, skeleton)?)?;
                union(now, &postponed)
            }
            NormNode::Release { from, to, f, g } => {
                let now = if from == 0 { self.ways_of(g, norms, skeleton)?.to_vec() } else { free() };
                if to == 0 {
                    return Some(now);
                }
                let rest = norms.release(from.saturating_sub(1), shorter(to), f, g);
                let kept_up = union(self.ways_of(f, norms, skeleton)?.to_vec(), &later(rest, 0))?;
                product(&now, &kept_up)
            }
            NormNode::TimedUntil { family, clock, start, f, g } => {
                let within = matches!(start, Start::At { .. }) || at_once(clock);
                let now = if within { self.ways_of(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                let rest = norms.timed_until(family, clock, Start::At { slot: 0, ripe: true }, f, g);
                // Before its lower bound it waits for time, not for its goal.
                let put_off = if within { 1 << family } else { 0 };
                let postponed = product(&later(rest, put_off), &self.ways_of(f, norms, skeleton)?)?;
                union(now, &postponed)
            }
            // Whatever remains of it may have expired before the next position.
            NormNode::TimedRelease { clock, start: Start::Unstarted, g, .. } if at_once(clock) => {
                Some(self.ways_of(g, norms, skeleton)?.to_vec())
            }
            NormNode::TimedRelease { .. } => Some(free()),
            NormNode::Previous { was, .. } => Some(if was { free() } else { Vec::new() }),
            NormNode::Since { left, f, g, .. } => {
                let before = if left > 0 { self.ways_of(f, norms, skeleton)?.to_vec() } else { Vec::new() };
                union(before, &self.ways_of(g, norms, skeleton)?)
            }
            NormNode::Trigger { left, f, g, .. } => {
                let before = if left > 0 { self.ways_of(f, norms, skeleton)?.to_vec() } else { free() };
                product(&before, &self.ways_of(g, norms, skeleton)?)
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let guess = vec![Way { positive: 1 << clock_bit(clock), ..Way::FREE }];
                let before =
                    if marks.is_empty() { Vec::new() } else { product(&guess, &self.ways_of(f, norms, skeleton)?)? };
                let now = if at_once(clock) { self.ways_of(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                union(before, &now)
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let guess = vec![Way { negative: 1 << clock_bit(clock), ..Way::FREE }];
                let before = if marks.is_empty() { free() } else { union(guess, &self.ways_of(f, norms, skeleton)?)? };
                let now = if at_once(clock) { self.ways_of(g, norms, skeleton)?.to_vec() } else { free() };
                product(&before, &now)
            }
        }
    }
}

fn product(left: &[Way], right: &[Way]) -> Option<Vec<Way>> {
    let mut result: Vec<Way> = Vec::new();
    for a in left {
        for b in right {
            if let Some(way) = a.and(b) {
                add(&mut result, way);
            }
        }
        if result.len() > WAY_LIMIT {
            return None;
        }
    }
    Some(result)
}

fn union(mut left: Vec<Way>, right: &[Way]) -> Option<Vec<Way>> {
    for way in right {
        add(&mut left, way.clone());
    }
    (left.len() <= WAY_LIMIT).then_some(left)
}

fn add(ways: &mut Vec<Way>, way: Way) {
    // The test is quadratic; past a size it costs more than the ways it saves.
    if ways.len() < 128 {
        if ways.iter().any(|other| other.covers(&way)) {
            return;
        }
        ways.retain(|other| !way.covers(other));
    }
    ways.push(way);
}

/// The clause as the search sees it: whether a next position exists does not matter on an infinite word, nor do times.
fn timeless(clause: &[Obligation], norms: &mut Norms) -> Option<Clause> {
    let mut list = Vec::with_capacity(clause.len());
    for obligation in clause {
        let norm = abstracted(obligation.norm(), norms);
        flatten(norm, norms, &mut list);
    }
    clause_of(&list, norms)
}

/// Takes conjunctions apart.
fn flatten(norm: Norm, norms: &Norms, list: &mut Vec<Norm>) {
    match norms.node(norm) {
        NormNode::And(inner) => inner.iter().for_each(|norm| flatten(*norm, norms, list)),
        _ if norm == Norms::TRUE => {}
        _ => list.push(norm),
    }
}

fn clause_of(list: &[Norm], norms: &Norms) -> Option<Clause> {
    if list.contains(&Norms::FALSE) {
        return None;
    }
    let obligations: Vec<Obligation> = list.iter().map(|norm| Obligation::new(*norm, true)).collect();
    joined(&obligations, &[], norms)
}

/// Every moment in the file of times is as good as another.
fn abstracted(norm: Norm, norms: &mut Norms) -> Norm {
    let anywhen = Start::At { slot: 0, ripe: true };
    let begun = |start: Start| if start == Start::Unstarted { start } else { anywhen };
    let remembered = |marks: &[Mark]| marks.first().map(|_| Mark::At { slot: 0, ripe: true }).into_iter().collect();
    rewrite_times(norm, norms, &mut |_, start| Some(begun(start)), &mut |_, marks| remembered(marks))
}

/// One edge of the tableau.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) target: Clause,
    pub(crate) put_off: u64,
    /// The facts that must be there.
    pub(crate) letter: u64,
}

/// The edges out of a clause, one at a time.
struct Edges {
    ways: Vec<Arc<[Way]>>,
    /// Partial choices still to be extended: how many obligations are chosen for, and what was chosen.
    pending: Vec<(usize, Way)>,
    /// Choices whose memory still waits for bits to be decided.
    undecided: Vec<Way>,
}

struct Visit {
    number: usize,
    edges: Edges,
}

/// A strongly connected component in the making.
struct Component {
    /// The number of its first clause.
    root: usize,
    /// The untils put off on every edge within it.
    put_off: u64,
    /// The untils put off on the edge that led to it.
    entered: u64,
}

struct Search<'a> {
    satisfy: &'a mut Satisfy,
    norms: &'a mut Norms,
    skeleton: &'a Skeleton,
    /// The clauses whose component is not yet known, in the order of discovery, and the number of each.
    order: Vec<Clause>,
    nodes: FxHashMap<Clause, usize>,
    path: Vec<Visit>,
    open: Vec<Component>,
}

impl Search<'_> {
    fn run(mut self, root: Clause) -> bool {
        let mut edges = 0;
        if !self.enter(root, 0) {
            return true;
        }
        while let Some(visit) = self.path.last_mut() {
            let Some(edge) = next_edge(&mut visit.edges, self.norms, self.skeleton) else {
                self.leave();
                continue;
            };
            edges += 1;
            if edges > EDGE_LIMIT {
                self.satisfy.is_partial = true;
                return self.found();
            }
            match self.satisfy.met.get(&edge.target) {
                Some(true) => return self.found(),
                Some(false) => continue,
                None => {}
            }
            match self.nodes.get(&edge.target) {
                None => {
                    if !self.enter(edge.target, edge.put_off) {
                        return self.found();
                    }
                }
                Some(&number) => {
                    if self.close(number, edge.put_off) {
                        return self.found();
                    }
                }
            }
        }
        false
    }

    /// Begins a clause; false if it has too many ways to list, and so counts as one that can be met.
    fn enter(&mut self, clause: Clause, entered: u64) -> bool {
        let mut ways = Vec::with_capacity(clause.len());
        for obligation in &clause {
            match self.satisfy.ways_of(obligation.norm(), self.norms, self.skeleton) {
                Some(list) => ways.push(list),
                None => {
                    self.satisfy.is_partial = true;
                    return false;
                }
            }
        }
        // Few ways first: contradictions show early.
        ways.sort_by_key(|list| list.len());
        let number = self.order.len();
        self.order.push(clause.clone());
        self.nodes.insert(clause, number);
        self.open.push(Component { root: number, put_off: u64::MAX, entered });
        let edges = Edges { ways, pending: vec![(0, Way::FREE)], undecided: Vec::new() };
        self.path.push(Visit { number, edges });
        true
    }

    /// An edge back to a clause on the way joins components; is the joined one fair?
    fn close(&mut self, number: usize, put_off: u64) -> bool {
        let mut common = put_off;
        while let Some(mut component) = self.open.pop() {
            component.put_off &= common;
            if component.root <= number {
                let fair = component.put_off == 0;
                self.open.push(component);
                return fair;
            }
            common = component.put_off & component.entered;
        }
        false
    }

    /// A clause without further edges; where its component began with it, none of that component can be met.
    fn leave(&mut self) {
        let Some(visit) = self.path.pop() else { return };
        if self.open.last().is_some_and(|component| component.root == visit.number) {
            self.open.pop();
            for clause in self.order.drain(visit.number..) {
                self.nodes.remove(&clause);
                self.satisfy.met.insert(clause, false);
            }
        }
    }

    /// Everything on the way leads to what was found.
    fn found(self) -> bool {
        for clause in self.order {
            self.satisfy.met.insert(clause, true);
        }
        true
    }
}

/// The next edge: choose a way for each obligation, then decide the bits that memory needs.
fn next_edge(edges: &mut Edges, norms: &mut Norms, skeleton: &Skeleton) -> Option<Edge> {
    loop {
        if let Some(way) = edges.undecided.pop() {
            match successor(&way, norms, skeleton) {
                Ok(Some(target)) => {
                    // The upper half guesses about times and is no fact.
                    return Some(Edge { target, put_off: way.put_off, letter: way.positive as u64 });
                }
                Ok(None) => {}
                Err(Undetermined(bit)) => {
                    let (positive, negative) = decided(bit, skeleton);
                    edges.undecided.extend(way.and(&Way { positive, ..Way::FREE }));
                    edges.undecided.extend(way.and(&Way { negative, ..Way::FREE }));
                }
            }
            continue;
        }
        let (chosen, way) = edges.pending.pop()?;
        match edges.ways.get(chosen) {
            None => edges.undecided.push(way),
            Some(list) => {
                // Pushed in reverse, so that the first way of each list is tried first.
                for other in list.iter().rev() {
                    if let Some(joint) = way.and(other) {
                        edges.pending.push((chosen + 1, joint));
                    }
                }
            }
        }
    }
}

/// What a bit settles when it is set, and when it is not.
fn decided(bit: u8, skeleton: &Skeleton) -> (u128, u128) {
    match (skeleton.generals.get(usize::from(bit)), skeleton.specials.get(usize::from(bit))) {
        (Some(generals), Some(specials)) => ((*generals).into(), (*specials).into()),
        _ => (1 << bit, 1 << bit),
    }
}

fn successor(way: &Way, norms: &mut Norms, skeleton: &Skeleton) -> Result<Option<Clause>, Undetermined> {
    let mut progress =
        Progress::new(norms, &skeleton.clocks, Reading::Partial { positive: way.positive, negative: way.negative });
    let mut list = Vec::with_capacity(way.next.len());
    for norm in &way.next {
        let updated = progress.update(*norm)?;
        flatten(updated, progress.norms, &mut list);
    }
    Ok(clause_of(&list, norms))
}

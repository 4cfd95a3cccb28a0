//! Searches whether some infinite continuation meets obligations. This makes live verdicts exact.
//!
//! The clauses of a residual are the states of a tableau. Each is expanded into alternatives: literals to read now,
//! obligations for the next position, and untils put off. A clause can be met if it reaches a cycle on which every
//! until is sooner or later not put off (generalised Büchi emptiness, searched on the fly after Couvreur). Answers are
//! cached for every visited clause, so that a new state usually costs nothing.
//!
//! Time is abstracted: each deadline may or may not expire before the next position. So `false` is certain, and for
//! formulas without time bounds `true` is certain as well.

mod constant_letter;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::condition::{Condition, Conditions};
use crate::dnf::{Clause, Obligation, join_clauses};
use crate::norm::{FOREVER, Mark, Norm, NormNode, Norms, Start};
use crate::progress::{KnownLetter, Progress, Undetermined, clock_bit, shorten_bound};
use crate::skeleton::Skeleton;
use crate::slots::rewrite_times;
pub(crate) use constant_letter::find_constant_letter;

/// One alternative of a norm at a position: the bits it reads and the norms for the next position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expansion {
    positive: u128,
    negative: u128,
    /// What the other bits must meet.
    condition: Condition,
    /// The norms about the present that the condition decides.
    truths: Vec<(Norm, bool)>,
    next: Vec<Norm>,
    /// The families of untils that are put off.
    put_off: u64,
}

/// The conditions of a search, and the work that is left of it.
struct Scene<'a> {
    conditions: &'a mut Conditions,
    left: &'a mut usize,
}

impl Expansion {
    const FREE: Expansion = Expansion {
        positive: 0,
        negative: 0,
        condition: Condition::ALWAYS,
        truths: Vec::new(),
        next: Vec::new(),
        put_off: 0,
    };

    fn and(&self, other: &Expansion, scene: &mut Scene<'_>) -> Option<Expansion> {
        let (positive, negative) = (self.positive | other.positive, self.negative | other.negative);
        if positive & negative != 0 {
            return None;
        }
        let mut condition = Condition::ALWAYS;
        if (self.condition, other.condition) != (Condition::ALWAYS, Condition::ALWAYS) {
            condition = scene.conditions.and(self.condition, other.condition, (positive, negative), scene.left);
        }
        if condition == Condition::NEVER {
            return None;
        }
        let mut next = self.next.clone();
        for norm in &other.next {
            if !next.contains(norm) {
                next.push(*norm);
            }
        }
        let truths = self.truths.iter().chain(&other.truths).copied().collect();
        Some(Expansion { positive, negative, condition, truths, next, put_off: self.put_off | other.put_off })
    }

    /// Whether this alternative asks for no more than the other.
    fn covers(&self, other: &Expansion) -> bool {
        self.positive & !other.positive == 0
            && self.negative & !other.negative == 0
            && self.put_off & !other.put_off == 0
            && (self.condition == Condition::ALWAYS || self.condition == other.condition)
            && self.next.iter().all(|norm| other.next.contains(norm))
    }
}

/// The most alternatives that are listed for one norm; beyond them a clause counts as one that can be met.
const MAX_EXPANSIONS: usize = 2048;

/// The work that one search may take, counted in alternatives that are joined; beyond it a clause counts as one that
/// can be met. A step searches once for each state that the trace may be in.
const MAX_SEARCH_WORK: usize = 200_000;

/// How many obligations of a clause are read in the time of joining two alternatives.
const CLAUSE_LENGTH_PER_WORK: usize = 8;

/// The cached answers of the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Satisfiability {
    met: FxHashMap<Clause, bool>,
    expansions: FxHashMap<Norm, Option<Arc<[Expansion]>>>,
    conditions: Conditions,
    /// Whether a limit was reached, so that some clause counts as one that can be met without a full search.
    pub(crate) is_partial: bool,
    /// The work that is left of the present search.
    left: usize,
    /// The work of the searches before it.
    spent: u64,
}

impl Satisfiability {
    /// Drops all cached answers.
    pub(crate) fn clear(&mut self) {
        self.met.clear();
        self.expansions.clear();
        self.conditions = Conditions::default();
    }

    /// Returns the number of cached answers.
    pub(crate) fn len(&self) -> usize {
        self.met.len() + self.expansions.len() + self.conditions.len()
    }

    /// Begins a search, with all of its budget. It may ask about several clauses.
    pub(crate) fn begin_search(&mut self) {
        self.spent = self.spent() + 1;
        self.left = MAX_SEARCH_WORK;
    }

    /// Returns the work of all searches so far.
    pub(crate) fn spent(&self) -> u64 {
        // Before the first search nothing is left either.
        let present = if self.spent == 0 { 0 } else { MAX_SEARCH_WORK - self.left };
        self.spent + present as u64
    }

    /// Whether an infinite word meets all obligations of a clause, as far as the budget of the present search goes.
    pub(crate) fn can_be_met(&mut self, clause: &[Obligation], norms: &mut Norms, skeleton: &Skeleton) -> bool {
        let Some(root) = abstract_clause(clause, norms) else { return false };
        if let Some(known) = self.met.get(&root) {
            return *known;
        }
        if find_constant_letter(&root, norms, skeleton).is_some() {
            return true;
        }
        let (order, nodes) = (Vec::new(), FxHashMap::default());
        EmptinessSearch { satisfy: self, norms, skeleton, order, nodes, path: Vec::new(), open: Vec::new() }.run(root)
    }

    /// Returns a clause as the search sees it; none if it contradicts itself.
    pub(crate) fn search_clause(clause: &[Obligation], norms: &mut Norms) -> Option<Clause> {
        abstract_clause(clause, norms)
    }

    /// Returns every edge out of a clause, or those for a given letter; none if there are too many.
    pub(crate) fn edges(
        &mut self,
        clause: &Clause,
        letter: Option<u64>,
        norms: &mut Norms,
        skeleton: &Skeleton,
    ) -> Option<Vec<Edge>> {
        const MAX_LISTED_EDGES: usize = 2000;
        self.begin_search();
        let mut expansions = Vec::with_capacity(clause.len());
        for obligation in clause {
            expansions.push(self.find_expansions(obligation.norm(), norms, skeleton)?);
        }
        let all = u64::MAX.checked_shr(64 - skeleton.width).unwrap_or(0);
        let given = letter.map_or(Expansion::FREE, |bits| Expansion {
            positive: bits.into(),
            negative: (all & !bits).into(),
            ..Expansion::FREE
        });
        let mut open = EdgeIterator { expansions, pending: vec![(0, given)], undecided: Vec::new() };
        let mut edges: Vec<Edge> = Vec::new();
        while let Some(edge) = next_edge(&mut open, norms, skeleton, &mut self.scene()) {
            let known = |other: &Edge| other.target == edge.target && other.put_off == edge.put_off;
            if !edges.iter().any(known) {
                edges.push(edge);
            }
            if edges.len() > MAX_LISTED_EDGES {
                return None;
            }
        }
        (self.left > 0 && !self.conditions.is_partial).then_some(edges)
    }

    fn scene(&mut self) -> Scene<'_> {
        Scene { conditions: &mut self.conditions, left: &mut self.left }
    }

    fn find_expansions(&mut self, norm: Norm, norms: &mut Norms, skeleton: &Skeleton) -> Option<Arc<[Expansion]>> {
        if let Some(known) = self.expansions.get(&norm) {
            return known.clone();
        }
        let result = self.list_expansions(norm, norms, skeleton).map(Arc::from);
        // Without budget nothing was listed, which says nothing about the norm.
        if self.left > 0 {
            self.expansions.insert(norm, result.clone());
        }
        result
    }

    /// Lists the alternatives of a norm; none if there are too many.
    fn list_expansions(&mut self, norm: Norm, norms: &mut Norms, skeleton: &Skeleton) -> Option<Vec<Expansion>> {
        let free = || vec![Expansion::FREE];
        let later = |norm: Norm, put_off: u64| vec![Expansion { next: vec![norm], put_off, ..Expansion::FREE }];
        let at_once = |clock: u8| skeleton.clocks[usize::from(clock)].from.0 == 0;
        if norms.is_dense(norm)
            && let Some(condition) = self.conditions.describe((norm, true), norms, skeleton, &mut self.left)
        {
            let whole = Expansion { condition, truths: vec![(norm, true)], ..Expansion::FREE };
            return Some(if condition == Condition::NEVER { Vec::new() } else { vec![whole] });
        }
        match norms.node(norm).clone() {
            NormNode::True => Some(free()),
            NormNode::False => Some(Vec::new()),
            NormNode::Literal { bit, positive: true } => {
                Some(vec![Expansion { positive: skeleton.generals[usize::from(bit)].into(), ..Expansion::FREE }])
            }
            NormNode::Literal { bit, positive: false } => {
                Some(vec![Expansion { negative: skeleton.specials[usize::from(bit)].into(), ..Expansion::FREE }])
            }
            NormNode::And(list) => {
                let mut result = free();
                for norm in list {
                    let factor = self.find_expansions(norm, norms, skeleton)?;
                    result = multiply_expansions(&result, &factor, &mut self.scene())?;
                }
                Some(result)
            }
            NormNode::Or(list) => {
                let mut result = Vec::new();
                for norm in list {
                    result = unite_expansions(result, &self.find_expansions(norm, norms, skeleton)?)?;
                }
                Some(result)
            }
            NormNode::Next(f) | NormNode::WeakNext(f) => Some(later(f, 0)),
            NormNode::Until { family, from, to, f, g } => {
                let now = if from == 0 { self.find_expansions(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                if to == 0 {
                    return Some(now);
                }
                let rest = norms.until(family, from.saturating_sub(1), shorten_bound(to), f, g);
                // A countdown to a bound ends by itself: only untils without a bound need fairness.
                let put_off = if from == 0 && to == FOREVER { 1 << family } else { 0 };
                let condition = self.find_expansions(f, norms, skeleton)?;
                let postponed = multiply_expansions(&later(rest, put_off), &condition, &mut self.scene())?;
                unite_expansions(now, &postponed)
            }
            NormNode::Release { from, to, f, g } => {
                let now = if from == 0 { self.find_expansions(g, norms, skeleton)?.to_vec() } else { free() };
                if to == 0 {
                    return Some(now);
                }
                let rest = norms.release(from.saturating_sub(1), shorten_bound(to), f, g);
                let kept_up = unite_expansions(self.find_expansions(f, norms, skeleton)?.to_vec(), &later(rest, 0))?;
                multiply_expansions(&now, &kept_up, &mut self.scene())
            }
            NormNode::TimedUntil { family, clock, start, f, g } => {
                let within = matches!(start, Start::At { .. }) || at_once(clock);
                let now = if within { self.find_expansions(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                let rest = norms.timed_until(family, clock, Start::At { slot: 0, ripe: true }, f, g);
                // Before its lower bound it waits for time, not for its goal.
                let put_off = if within { 1 << family } else { 0 };
                let condition = self.find_expansions(f, norms, skeleton)?;
                let postponed = multiply_expansions(&later(rest, put_off), &condition, &mut self.scene())?;
                unite_expansions(now, &postponed)
            }
            // Its rest may have expired before the next position.
            NormNode::TimedRelease { clock, start: Start::Unstarted, g, .. } if at_once(clock) => {
                Some(self.find_expansions(g, norms, skeleton)?.to_vec())
            }
            NormNode::TimedRelease { .. } => Some(free()),
            NormNode::Previous { was, .. } => Some(if was { free() } else { Vec::new() }),
            NormNode::Since { left, f, g, .. } => {
                let before = if left > 0 { self.find_expansions(f, norms, skeleton)?.to_vec() } else { Vec::new() };
                unite_expansions(before, &self.find_expansions(g, norms, skeleton)?)
            }
            NormNode::Trigger { left, f, g, .. } => {
                let before = if left > 0 { self.find_expansions(f, norms, skeleton)?.to_vec() } else { free() };
                let now = self.find_expansions(g, norms, skeleton)?;
                multiply_expansions(&before, &now, &mut self.scene())
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let guess = vec![Expansion { positive: 1 << clock_bit(clock), ..Expansion::FREE }];
                let before = if marks.is_empty() {
                    Vec::new()
                } else {
                    let condition = self.find_expansions(f, norms, skeleton)?;
                    multiply_expansions(&guess, &condition, &mut self.scene())?
                };
                let now = if at_once(clock) { self.find_expansions(g, norms, skeleton)?.to_vec() } else { Vec::new() };
                unite_expansions(before, &now)
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let guess = vec![Expansion { negative: 1 << clock_bit(clock), ..Expansion::FREE }];
                let before = if marks.is_empty() {
                    free()
                } else {
                    unite_expansions(guess, &self.find_expansions(f, norms, skeleton)?)?
                };
                let now = if at_once(clock) { self.find_expansions(g, norms, skeleton)?.to_vec() } else { free() };
                multiply_expansions(&before, &now, &mut self.scene())
            }
        }
    }
}

/// Joins every alternative of one list with every one of another; none if they are too many, or the budget ends.
fn multiply_expansions(left: &[Expansion], right: &[Expansion], scene: &mut Scene<'_>) -> Option<Vec<Expansion>> {
    let mut result: Vec<Expansion> = Vec::new();
    for a in left {
        for b in right {
            *scene.left = scene.left.checked_sub(1)?;
            if let Some(expansion) = a.and(b, scene) {
                add_expansion(&mut result, expansion);
            }
        }
        if result.len() > MAX_EXPANSIONS {
            return None;
        }
    }
    Some(result)
}

fn unite_expansions(mut left: Vec<Expansion>, right: &[Expansion]) -> Option<Vec<Expansion>> {
    for expansion in right {
        add_expansion(&mut left, expansion.clone());
    }
    (left.len() <= MAX_EXPANSIONS).then_some(left)
}

fn add_expansion(expansions: &mut Vec<Expansion>, expansion: Expansion) {
    // The test is quadratic; beyond this size it costs more than it saves.
    if expansions.len() < 128 {
        if expansions.iter().any(|other| other.covers(&expansion)) {
            return;
        }
        expansions.retain(|other| !expansion.covers(other));
    }
    expansions.push(expansion);
}

/// Returns a clause as the search sees it: on an infinite word every position has a next one, and times do not matter.
fn abstract_clause(clause: &[Obligation], norms: &mut Norms) -> Option<Clause> {
    let mut list = Vec::with_capacity(clause.len());
    for obligation in clause {
        let norm = abstract_times(obligation.norm(), norms);
        flatten_conjunction(norm, norms, &mut list);
    }
    build_clause(&list, norms)
}

/// Adds the parts of a conjunction to a list.
fn flatten_conjunction(norm: Norm, norms: &Norms, list: &mut Vec<Norm>) {
    match norms.node(norm) {
        NormNode::And(inner) => inner.iter().for_each(|norm| flatten_conjunction(*norm, norms, list)),
        _ if norm == Norms::TRUE => {}
        _ => list.push(norm),
    }
}

fn build_clause(list: &[Norm], norms: &Norms) -> Option<Clause> {
    if list.contains(&Norms::FALSE) {
        return None;
    }
    let obligations: Vec<Obligation> = list.iter().map(|norm| Obligation::new(*norm, true)).collect();
    join_clauses(&obligations, &[], norms)
}

/// Returns a norm with one representative for all moments.
fn abstract_times(norm: Norm, norms: &mut Norms) -> Norm {
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
struct EdgeIterator {
    expansions: Vec<Arc<[Expansion]>>,
    /// Partial choices to extend: for how many obligations an alternative is chosen, and their conjunction.
    pending: Vec<(usize, Expansion)>,
    /// Complete choices whose memory depends on undecided bits.
    undecided: Vec<Expansion>,
}

struct Visit {
    number: usize,
    edges: EdgeIterator,
}

/// A strongly connected component under construction.
struct Component {
    /// The number of its first clause.
    root: usize,
    /// The untils put off on every edge within it.
    put_off: u64,
    /// The untils put off on the edge that led to it.
    entered: u64,
}

struct EmptinessSearch<'a> {
    satisfy: &'a mut Satisfiability,
    norms: &'a mut Norms,
    skeleton: &'a Skeleton,
    /// The clauses whose component is not yet known, in the order of discovery, and the number of each.
    order: Vec<Clause>,
    nodes: FxHashMap<Clause, usize>,
    path: Vec<Visit>,
    open: Vec<Component>,
}

impl EmptinessSearch<'_> {
    fn run(mut self, root: Clause) -> bool {
        if !self.enter(root, 0) {
            return true;
        }
        while let Some(visit) = self.path.last_mut() {
            let edge = next_edge(&mut visit.edges, self.norms, self.skeleton, &mut self.satisfy.scene());
            if self.satisfy.left == 0 {
                self.satisfy.is_partial = true;
                return self.record_found();
            }
            let Some(edge) = edge else {
                self.leave();
                continue;
            };
            match self.satisfy.met.get(&edge.target) {
                Some(true) => return self.record_found(),
                Some(false) => continue,
                None => {}
            }
            match self.nodes.get(&edge.target) {
                None => {
                    let is_met = find_constant_letter(&edge.target, self.norms, self.skeleton).is_some();
                    if is_met || !self.enter(edge.target, edge.put_off) {
                        return self.record_found();
                    }
                }
                Some(&number) => {
                    if self.close(number, edge.put_off) {
                        return self.record_found();
                    }
                }
            }
        }
        false
    }

    /// Starts to visit a clause; false if it has too many alternatives, and so counts as one that can be met.
    fn enter(&mut self, clause: Clause, entered: u64) -> bool {
        // A long clause takes as much work as several short ones.
        self.satisfy.left = self.satisfy.left.saturating_sub(clause.len() / CLAUSE_LENGTH_PER_WORK);
        let mut expansions = Vec::with_capacity(clause.len());
        for obligation in &clause {
            match self.satisfy.find_expansions(obligation.norm(), self.norms, self.skeleton) {
                Some(list) => expansions.push(list),
                None => {
                    self.satisfy.is_partial = true;
                    return false;
                }
            }
        }
        // Few alternatives first: contradictions show early.
        expansions.sort_by_key(|list| list.len());
        let number = self.order.len();
        self.order.push(clause.clone());
        self.nodes.insert(clause, number);
        self.open.push(Component { root: number, put_off: u64::MAX, entered });
        let edges = EdgeIterator { expansions, pending: vec![(0, Expansion::FREE)], undecided: Vec::new() };
        self.path.push(Visit { number, edges });
        true
    }

    /// Merges components by an edge back to a visited clause; whether the merged one is fair.
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

    /// Leaves a clause without further edges; if its component began with it, no clause of that component can be met.
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

    /// Records that every clause on the path can be met.
    fn record_found(self) -> bool {
        for clause in self.order {
            self.satisfy.met.insert(clause, true);
        }
        true
    }
}

/// Returns the next edge: chooses an alternative for each obligation, then decides the bits that memory needs. None if
/// there is no further one, or no work is left.
fn next_edge(edges: &mut EdgeIterator, norms: &mut Norms, skeleton: &Skeleton, scene: &mut Scene<'_>) -> Option<Edge> {
    loop {
        *scene.left = scene.left.checked_sub(1)?;
        if let Some(expansion) = edges.undecided.pop() {
            match find_successor(&expansion, norms, skeleton) {
                Ok(Some(target)) => {
                    let letter = expansion.positive | scene.conditions.least_letter(expansion.condition);
                    // The upper half is guesses about times, not facts.
                    return Some(Edge { target, put_off: expansion.put_off, letter: letter as u64 });
                }
                Ok(None) => {}
                Err(Undetermined::Bit(bit)) => {
                    let (positive, negative) = implied_bits(bit, skeleton);
                    edges.undecided.extend(expansion.and(&Expansion { positive, ..Expansion::FREE }, scene));
                    edges.undecided.extend(expansion.and(&Expansion { negative, ..Expansion::FREE }, scene));
                }
                Err(Undetermined::Norm(norm)) => {
                    for truth in [true, false] {
                        let described = scene.conditions.describe((norm, truth), norms, skeleton, scene.left);
                        // A norm with too many decisions ends the search.
                        let Some(condition) = described else {
                            *scene.left = 0;
                            return None;
                        };
                        let decided = Expansion { condition, truths: vec![(norm, truth)], ..Expansion::FREE };
                        edges.undecided.extend(expansion.and(&decided, scene));
                    }
                }
            }
            continue;
        }
        let (chosen, expansion) = edges.pending.pop()?;
        match edges.expansions.get(chosen) {
            None => edges.undecided.push(expansion),
            Some(list) => {
                // Pushed in reverse, so that the first alternative of each list is tried first.
                for other in list.iter().rev() {
                    if let Some(joint) = expansion.and(other, scene) {
                        edges.pending.push((chosen + 1, joint));
                    }
                }
            }
        }
    }
}

/// Returns the bits that are decided if a bit is set, and if it is not.
fn implied_bits(bit: u8, skeleton: &Skeleton) -> (u128, u128) {
    match (skeleton.generals.get(usize::from(bit)), skeleton.specials.get(usize::from(bit))) {
        (Some(generals), Some(specials)) => ((*generals).into(), (*specials).into()),
        _ => (1 << bit, 1 << bit),
    }
}

fn find_successor(
    expansion: &Expansion,
    norms: &mut Norms,
    skeleton: &Skeleton,
) -> Result<Option<Clause>, Undetermined> {
    let mut progress = Progress::new(
        norms,
        &skeleton.clocks,
        KnownLetter::Partial { positive: expansion.positive, negative: expansion.negative, truths: &expansion.truths },
    );
    let mut list = Vec::with_capacity(expansion.next.len());
    for norm in &expansion.next {
        let updated = progress.update(*norm)?;
        flatten_conjunction(updated, progress.norms, &mut list);
    }
    Ok(build_clause(&list, norms))
}

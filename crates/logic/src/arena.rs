//! The nodes of formulas, hash-consed in an arena.
//!
//! The arena keeps a formula as it was written (`a -> b` stays an implication), so that it can be shown to people. The
//! compiler makes norms from it (`norm.rs`), on which the engine works.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::comparison::Comparison;
use crate::compile_error::CompileError;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::Interval;
use crate::measure::Measure;
use crate::term::{Atom, Term};

/// One node of a formula.
///
/// Like the operators, it is not `#[non_exhaustive]`: a program that translates formulas must handle every node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// `true`
    True,
    /// `false`
    False,
    /// A fact of the position.
    Fact(Atom),
    /// A comparison of two terms.
    Compare(Comparison, Term, Term),
    /// A comparison of which one side at least is counted or computed.
    Measure(Comparison, Measure, Measure),
    /// `!`
    Not(Formula),
    /// `&` of at least two, none of them an `&` itself.
    And(Box<[Formula]>),
    /// `|` of at least two, none of them an `|` itself.
    Or(Box<[Formula]>),
    /// `->`
    Implies(Formula, Formula),
    /// `<->`
    Iff(Formula, Formula),
    /// A temporal operator with one operand; next and previous carry no bound.
    Unary(Unary, Interval, Formula),
    /// A temporal operator with two operands.
    Binary(Binary, Interval, Formula, Formula),
    /// A quantifier with at least one variable.
    Quantified(Quantifier, Box<[Arc<str>]>, Formula),
}

impl Node {
    /// Returns the operands, from left to right.
    pub fn operands(&self) -> Vec<Formula> {
        match self {
            Node::True | Node::False | Node::Fact(_) | Node::Compare(..) => Vec::new(),
            Node::Not(f) | Node::Unary(_, _, f) | Node::Quantified(_, _, f) => vec![*f],
            Node::And(list) | Node::Or(list) => list.to_vec(),
            Node::Measure(_, left, right) => left.operands().into_iter().chain(right.operands()).collect(),
            Node::Implies(f, g) | Node::Iff(f, g) | Node::Binary(_, _, f, g) => vec![*f, *g],
        }
    }

    /// Whether this node, apart from its operands, has a bound in time.
    pub fn measures_time(&self) -> bool {
        match self {
            Node::Unary(_, interval, _) | Node::Binary(_, interval, ..) => interval.is_time(),
            Node::Measure(_, left, right) => left.measures_time() || right.measures_time(),
            _ => false,
        }
    }

    /// Returns this node over other operands.
    #[must_use]
    pub fn map(&self, mut operand: impl FnMut(Formula) -> Formula) -> Node {
        match self {
            Node::True | Node::False | Node::Fact(_) | Node::Compare(..) => self.clone(),
            Node::Measure(comparison, left, right) => {
                Node::Measure(*comparison, left.map(&mut operand), right.map(&mut operand))
            }
            Node::Not(f) => Node::Not(operand(*f)),
            Node::And(list) => Node::And(list.iter().map(|f| operand(*f)).collect()),
            Node::Or(list) => Node::Or(list.iter().map(|f| operand(*f)).collect()),
            Node::Implies(f, g) => Node::Implies(operand(*f), operand(*g)),
            Node::Iff(f, g) => Node::Iff(operand(*f), operand(*g)),
            Node::Unary(operator, interval, f) => Node::Unary(*operator, *interval, operand(*f)),
            Node::Binary(operator, interval, f, g) => Node::Binary(*operator, *interval, operand(*f), operand(*g)),
            Node::Quantified(quantifier, variables, f) => Node::Quantified(*quantifier, variables.clone(), operand(*f)),
        }
    }
}

/// Owns the nodes of formulas; the only way to build one.
///
/// ```
/// use lictor_logic::Arena;
/// let mut arena = Arena::new();
/// let a = arena.fact("a");
/// let b = arena.fact("b");
/// let left = arena.and([a, b]);
/// assert_eq!(left, arena.and([a, b]));
/// ```
///
/// A clone has all formulas of the original. Formulas made after that belong to the one that made them.
///
/// # Panics
///
/// Every method that is given a formula of another arena panics. [`Arena::contains`] tells, and [`Arena::copy`] copies
/// a formula.
#[derive(Debug)]
pub struct Arena {
    nodes: IndexSet<Node, FxBuildHasher>,
    /// Where the nodes were made, by the index of the first: before a clone in the original, after it in the clone.
    segments: Vec<Segment>,
}

/// A run of nodes that one arena made.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Its number, which no other segment has.
    id: u32,
    /// The index of its first node.
    start: u32,
}

impl Segment {
    fn new(start: usize) -> Segment {
        // It wraps after four billion arenas; until an id is used again, no mix-up goes unnoticed.
        static IDS: AtomicU32 = AtomicU32::new(0);
        Segment { id: IDS.fetch_add(1, Ordering::Relaxed), start: start as u32 }
    }
}

impl Default for Arena {
    fn default() -> Arena {
        Arena { nodes: IndexSet::default(), segments: vec![Segment::new(0)] }
    }
}

impl Clone for Arena {
    fn clone(&self) -> Arena {
        let (nodes, mut segments) = (self.nodes.clone(), self.segments.clone());
        segments.retain(|segment| (segment.start as usize) < nodes.len());
        segments.push(Segment::new(nodes.len()));
        Arena { nodes, segments }
    }
}

impl Arena {
    /// Collects the atoms of a formula, each once, with `_` for variables.
    pub(crate) fn collect_atoms(&self, f: Formula, atoms: &mut Vec<Atom>) {
        if let Node::Fact(atom) = &self[f] {
            let open = |term: &Term| if let Term::Var(_) = term { Term::Any } else { term.clone() };
            let atom = Atom { name: atom.name.clone(), terms: atom.terms.iter().map(open).collect() };
            if !atoms.contains(&atom) {
                atoms.push(atom);
            }
        }
        self[f].operands().iter().for_each(|operand| self.collect_atoms(*operand, atoms));
    }

    /// Whether a formula asks for a fact of a name.
    pub(crate) fn has_atom(&self, f: Formula, name: &str) -> bool {
        matches!(&self[f], Node::Fact(atom) if *atom.name == *name)
            || self[f].operands().iter().any(|operand| self.has_atom(*operand, name))
    }

    /// The deepest nesting of a formula, in levels. Walks over formulas recurse, and this bounds their stack.
    pub const MAX_DEPTH: u32 = 300;

    /// Returns an arena without formulas.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// Returns the formula with this node.
    ///
    /// Prefer the methods below: they keep `&` and `|` flat.
    pub fn insert(&mut self, node: Node) -> Formula {
        node.operands().into_iter().for_each(|operand| self.assert_contains(operand));
        let index = self.nodes.insert_full(node).0 as u32;
        Formula { index, segment: self.segment(index).id }
    }

    /// Whether a formula belongs to this arena.
    ///
    /// ```
    /// use lictor_logic::Arena;
    /// let (mut one, mut other) = (Arena::new(), Arena::new());
    /// let foreign = other.fact("a");
    /// assert!(!one.contains(foreign));
    /// let copied = one.copy(&other, foreign);
    /// assert!(one.contains(copied));
    /// ```
    pub fn contains(&self, f: Formula) -> bool {
        (f.index as usize) < self.nodes.len() && self.segment(f.index).id == f.segment
    }

    /// Returns the segment with the node of an index.
    #[inline]
    fn segment(&self, index: u32) -> Segment {
        match self.segments[..] {
            [only] => only,
            // INVARIANT: the first segment starts at 0, so there is one before each index.
            _ => self.segments[self.segments.partition_point(|segment| segment.start <= index) - 1],
        }
    }

    /// Panics if a formula belongs to another arena.
    #[inline]
    #[expect(clippy::panic, reason = "any other answer would be about another formula")]
    pub(crate) fn assert_contains(&self, f: Formula) {
        if !self.contains(f) {
            panic!("the formula belongs to another arena: copy it with `Arena::copy`");
        }
    }

    /// Returns an error if a formula belongs to another arena.
    pub(crate) fn require(&self, f: Formula) -> Result<(), CompileError> {
        match self.contains(f) {
            true => Ok(()),
            false => Err(CompileError::new("the formula belongs to another arena", "copy it with `Arena::copy`")),
        }
    }

    /// `true` or `false`.
    pub fn truth(&mut self, truth: bool) -> Formula {
        self.insert(if truth { Node::True } else { Node::False })
    }

    /// Returns the atom of this name, with any values.
    pub fn fact(&mut self, name: &str) -> Formula {
        self.insert(Node::Fact(Atom::new(name, [])))
    }

    /// `!f`
    pub fn not(&mut self, f: Formula) -> Formula {
        self.insert(Node::Not(f))
    }

    /// Returns the conjunction; `true` if there are no parts.
    pub fn and(&mut self, formulas: impl IntoIterator<Item = Formula>) -> Formula {
        let mut flat = Vec::new();
        for f in formulas {
            match &self[f] {
                Node::And(inner) => flat.extend_from_slice(inner),
                _ => flat.push(f),
            }
        }
        match flat[..] {
            [] => self.truth(true),
            [single] => single,
            _ => self.insert(Node::And(flat.into())),
        }
    }

    /// Returns the disjunction; `false` if there are no parts.
    pub fn or(&mut self, formulas: impl IntoIterator<Item = Formula>) -> Formula {
        let mut flat = Vec::new();
        for f in formulas {
            match &self[f] {
                Node::Or(inner) => flat.extend_from_slice(inner),
                _ => flat.push(f),
            }
        }
        match flat[..] {
            [] => self.truth(false),
            [single] => single,
            _ => self.insert(Node::Or(flat.into())),
        }
    }

    /// `f -> g`
    pub fn implies(&mut self, f: Formula, g: Formula) -> Formula {
        self.insert(Node::Implies(f, g))
    }

    /// `f <-> g`
    pub fn iff(&mut self, f: Formula, g: Formula) -> Formula {
        self.insert(Node::Iff(f, g))
    }

    /// Returns a temporal operator with one operand and no bound.
    pub fn unary(&mut self, operator: Unary, f: Formula) -> Formula {
        self.insert(Node::Unary(operator, Interval::UNBOUNDED, f))
    }

    /// Returns a temporal operator with two operands and no bound.
    pub fn binary(&mut self, operator: Binary, f: Formula, g: Formula) -> Formula {
        self.insert(Node::Binary(operator, Interval::UNBOUNDED, f, g))
    }

    /// `G f`
    pub fn always(&mut self, f: Formula) -> Formula {
        self.unary(Unary::Always, f)
    }

    /// `F f`
    pub fn eventually(&mut self, f: Formula) -> Formula {
        self.unary(Unary::Eventually, f)
    }

    /// Returns the depth of nesting: 1 for a fact.
    pub fn depth(&self, f: Formula) -> u32 {
        self.assert_contains(f);
        // Operands are always older than the node that holds them, so one pass over the older nodes is enough and no
        // stack is needed, however deep the formula.
        let mut depths: Vec<u32> = Vec::with_capacity(f.index as usize + 1);
        for node in self.nodes.iter().take(f.index as usize + 1) {
            let below = node.operands().iter().map(|operand| depths[operand.index as usize]).max();
            depths.push(below.unwrap_or(0) + 1);
        }
        depths.last().copied().unwrap_or(0)
    }
}

impl Arena {
    /// Returns the number of nodes when written out, shared parts counted each time; at most `u64::MAX`.
    pub fn size(&self, f: Formula) -> u64 {
        self.assert_contains(f);
        let mut sizes: Vec<u64> = Vec::with_capacity(f.index as usize + 1);
        for node in self.nodes.iter().take(f.index as usize + 1) {
            let below =
                node.operands().iter().fold(0u64, |sum, operand| sum.saturating_add(sizes[operand.index as usize]));
            sizes.push(below.saturating_add(1));
        }
        sizes.last().copied().unwrap_or(0)
    }

    /// Copies a formula from another arena.
    pub fn copy(&mut self, from: &Arena, f: Formula) -> Formula {
        from.assert_contains(f);
        // Operands are older than their node, so one pass in order finds each already copied.
        let mut copies: Vec<Option<Formula>> = vec![None; f.index as usize + 1];
        let mut wanted = vec![false; f.index as usize + 1];
        wanted[f.index as usize] = true;
        for index in (0..=f.index as usize).rev() {
            if wanted[index] {
                from.nodes[index].operands().iter().for_each(|operand| wanted[operand.index as usize] = true);
            }
        }
        for index in 0..=f.index as usize {
            if wanted[index] {
                let copied = |operand: Formula| copies[operand.index as usize].unwrap_or(operand);
                let node = from.nodes[index].map(copied);
                copies[index] = Some(self.insert(node));
            }
        }
        copies[f.index as usize].unwrap_or(f)
    }
}

impl std::ops::Index<Formula> for Arena {
    type Output = Node;

    /// Returns the node of a formula.
    ///
    /// # Panics
    ///
    /// Panics if the formula belongs to another arena; [`Arena::copy`] copies it.
    fn index(&self, f: Formula) -> &Node {
        self.assert_contains(f);
        &self.nodes[f.index as usize]
    }
}

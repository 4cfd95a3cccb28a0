//! Hash-consed formulas and one step of their progression.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use lictor_logic as logic;
use rustc_hash::FxHasher;

/// The name of a formula.
pub(crate) type Id = u32;

pub(crate) const TRUE: Id = 0;
pub(crate) const FALSE: Id = 1;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    True,
    False,
    Fact {
        bit: u32,
    },
    Not(Id),
    Next(Id),
    Until(Id, Id),
    WeakUntil(Id, Id),
    Eventually(Id),
    Always(Id),
    /// `F[0,n]` and `G[0,n]`, counted in positions.
    Within(u32, Id),
    Throughout(u32, Id),
    And(Box<[Id]>),
    Or(Box<[Id]>),
}

/// How much is simplified after a rewriting step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// `true & f` is `f`, `f & f` is `f`, and so on.
    Constants,
    /// Also associativity, commutativity and idempotence of `&` and `|`.
    Sets,
}

/// The interned formulas.
#[derive(Clone, Debug)]
pub(crate) struct Formulas {
    folding: Folding,
    nodes: Vec<Node>,
    table: HashTable<Id>,
}

impl Formulas {
    pub(crate) fn new(folding: Folding) -> Formulas {
        let mut formulas = Formulas { folding, nodes: Vec::new(), table: HashTable::new() };
        // INVARIANT: the first two names are those of the constants.
        formulas.intern(Node::True);
        formulas.intern(Node::False);
        formulas
    }

    /// Returns how many formulas are interned.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what must hold from the next position on for a formula to hold now.
    pub(crate) fn progress(&mut self, id: Id, letter: u64) -> Id {
        match self.nodes[id as usize] {
            Node::True => TRUE,
            Node::False => FALSE,
            Node::Fact { bit } => Id::from(letter >> bit & 1 == 0),
            Node::Not(f) => {
                let f = self.progress(f, letter);
                self.not(f)
            }
            Node::Next(f) => f,
            Node::Until(f, g) | Node::WeakUntil(f, g) => {
                let reached = self.progress(g, letter);
                let kept = self.progress(f, letter);
                let rest = self.and(&[kept, id]);
                self.or(&[reached, rest])
            }
            Node::Eventually(f) => {
                let now = self.progress(f, letter);
                self.or(&[now, id])
            }
            Node::Always(f) => {
                let now = self.progress(f, letter);
                self.and(&[now, id])
            }
            Node::Within(left, f) => {
                let now = self.progress(f, letter);
                let later = if left == 0 { FALSE } else { self.intern(Node::Within(left - 1, f)) };
                self.or(&[now, later])
            }
            Node::Throughout(left, f) => {
                let now = self.progress(f, letter);
                let later = if left == 0 { TRUE } else { self.intern(Node::Throughout(left - 1, f)) };
                self.and(&[now, later])
            }
            Node::And(ref list) => {
                let list = self.progress_all(list.len(), id, letter, FALSE);
                self.and(&list)
            }
            Node::Or(ref list) => {
                let list = self.progress_all(list.len(), id, letter, TRUE);
                self.or(&list)
            }
        }
    }

    /// Progresses the parts of a conjunction or disjunction, up to one that decides it.
    fn progress_all(&mut self, count: usize, id: Id, letter: u64, decisive: Id) -> Vec<Id> {
        let mut parts = Vec::with_capacity(count);
        for place in 0..count {
            let (Node::And(list) | Node::Or(list)) = &self.nodes[id as usize] else { break };
            let part = self.progress(list[place], letter);
            parts.push(part);
            if part == decisive {
                break;
            }
        }
        parts
    }

    fn and(&mut self, parts: &[Id]) -> Id {
        self.join(parts, true)
    }

    fn or(&mut self, parts: &[Id]) -> Id {
        self.join(parts, false)
    }

    /// Joins all parts, without constants.
    fn join(&mut self, parts: &[Id], is_and: bool) -> Id {
        let (neutral, decisive) = if is_and { (TRUE, FALSE) } else { (FALSE, TRUE) };
        if parts.contains(&decisive) {
            return decisive;
        }
        match *parts {
            [single] => return single,
            [left, right] if left == neutral || left == right => return right,
            [left, right] if right == neutral => return left,
            _ => {}
        }
        if self.folding == Folding::Constants {
            return self.pair_up(parts, is_and);
        }
        let mut list: Vec<Id> = Vec::with_capacity(parts.len() + 4);
        for part in parts.iter().filter(|part| **part != neutral) {
            match &self.nodes[*part as usize] {
                Node::And(inner) if is_and => list.extend_from_slice(inner),
                Node::Or(inner) if !is_and => list.extend_from_slice(inner),
                _ => list.push(*part),
            }
        }
        list.sort_unstable();
        list.dedup();
        match list[..] {
            [] => neutral,
            [single] => single,
            _ => self.intern_list(&list, is_and),
        }
    }

    /// Joins two parts in their order; more are nested to the right.
    fn pair_up(&mut self, parts: &[Id], is_and: bool) -> Id {
        match *parts {
            [left, right] => self.intern_list(&[left, right], is_and),
            [first, ref rest @ ..] => {
                let rest = self.join(rest, is_and);
                self.join(&[first, rest], is_and)
            }
            [] => Id::from(!is_and),
        }
    }

    fn not(&mut self, f: Id) -> Id {
        match self.nodes[f as usize] {
            Node::True => FALSE,
            Node::False => TRUE,
            Node::Not(inner) => inner,
            _ => self.intern(Node::Not(f)),
        }
    }

    fn intern_list(&mut self, list: &[Id], is_and: bool) -> Id {
        let is_same = |id: &Id| match &self.nodes[*id as usize] {
            Node::And(other) => is_and && **other == *list,
            Node::Or(other) => !is_and && **other == *list,
            _ => false,
        };
        match self.table.find(hash_of(&(is_and, list)), is_same) {
            Some(id) => *id,
            None => self.insert(if is_and { Node::And(list.into()) } else { Node::Or(list.into()) }),
        }
    }

    fn intern(&mut self, node: Node) -> Id {
        match self.table.find(hash_of_node(&node), |id| self.nodes[*id as usize] == node) {
            Some(id) => *id,
            None => self.insert(node),
        }
    }

    fn insert(&mut self, node: Node) -> Id {
        let id = self.nodes.len() as Id;
        let hash = hash_of_node(&node);
        self.nodes.push(node);
        let nodes = &self.nodes;
        self.table.insert_unique(hash, id, |id| hash_of_node(&nodes[*id as usize]));
        id
    }

    /// Translates a formula; none if it needs more than facts, connectives and future operators counted in positions.
    pub(crate) fn translate(&mut self, arena: &logic::Arena, formula: logic::Formula, names: &[String]) -> Option<Id> {
        use logic::{Binary, Interval, Unary};
        let inner = |this: &mut Formulas, formula: logic::Formula| this.translate(arena, formula, names);
        let forever = |interval: &Interval| matches!(interval, Interval::Steps { from: 0, to: None });
        Some(match &arena[formula] {
            logic::Node::True => TRUE,
            logic::Node::False => FALSE,
            logic::Node::Fact(atom) if atom.terms.is_empty() => {
                let bit = names.iter().position(|name| **name == *atom.name)? as u32;
                self.intern(Node::Fact { bit })
            }
            logic::Node::Not(f) => {
                let f = inner(self, *f)?;
                self.not(f)
            }
            logic::Node::And(list) => {
                let list: Option<Vec<Id>> = list.iter().map(|f| inner(self, *f)).collect();
                self.and(&list?)
            }
            logic::Node::Or(list) => {
                let list: Option<Vec<Id>> = list.iter().map(|f| inner(self, *f)).collect();
                self.or(&list?)
            }
            logic::Node::Implies(f, g) => {
                let (f, g) = (inner(self, *f)?, inner(self, *g)?);
                let not_f = self.not(f);
                self.or(&[not_f, g])
            }
            logic::Node::Unary(operator, interval, f) => {
                let f = inner(self, *f)?;
                let node = match (operator, interval) {
                    (Unary::Next | Unary::WeakNext, _) => Node::Next(f),
                    (Unary::Eventually, interval) if forever(interval) => Node::Eventually(f),
                    (Unary::Always, interval) if forever(interval) => Node::Always(f),
                    (Unary::Eventually, Interval::Steps { from: 0, to: Some(to) }) => Node::Within(*to, f),
                    (Unary::Always, Interval::Steps { from: 0, to: Some(to) }) => Node::Throughout(*to, f),
                    _ => return None,
                };
                self.intern(node)
            }
            logic::Node::Binary(operator, interval, f, g) if forever(interval) => {
                let (f, g) = (inner(self, *f)?, inner(self, *g)?);
                let node = match operator {
                    Binary::Until => Node::Until(f, g),
                    Binary::WeakUntil => Node::WeakUntil(f, g),
                    _ => return None,
                };
                self.intern(node)
            }
            _ => return None,
        })
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the hash of a node; lists are hashed in the same way before they are nodes.
fn hash_of_node(node: &Node) -> u64 {
    match node {
        Node::And(list) => hash_of(&(true, list)),
        Node::Or(list) => hash_of(&(false, list)),
        other => hash_of(other),
    }
}

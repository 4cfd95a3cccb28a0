//! Makes a failing pair smaller while it still fails.

use lictor_logic::{Arena, Formula, Interval, Node};

use crate::differential::generate::Pair;
use crate::support::trace::Entry;

/// The smallest pair found that still fails, with its complaint.
pub(crate) fn shrink(pair: Pair, complaint: String, fails: impl Fn(&Pair) -> Option<String>) -> (Pair, String) {
    let (mut pair, mut complaint) = (pair, complaint);
    while let Some(smaller) = smaller(&pair).into_iter().find_map(|smaller| Some((fails(&smaller)?, smaller))) {
        (complaint, pair) = smaller;
    }
    (pair, complaint)
}

fn smaller(pair: &Pair) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for index in 0..pair.trace.len() {
        let mut shorter = pair.clone();
        shorter.trace.remove(index);
        pairs.push(shorter);
        if let Entry::Position(facts) = &pair.trace[index] {
            for fact in 0..facts.known.len() {
                let mut without = pair.clone();
                let mut facts = facts.clone();
                facts.known.remove(fact);
                without.trace[index] = Entry::Position(facts);
                pairs.push(without);
            }
        }
    }
    let mut arena = pair.arena.clone();
    let formulas = simpler(&mut arena, pair.f);
    pairs.extend(formulas.into_iter().map(|f| Pair { arena: arena.clone(), f, trace: pair.trace.clone() }));
    pairs
}

/// The formula with one of its nodes replaced by an operand or a constant, or freed of its bound.
fn simpler(arena: &mut Arena, f: Formula) -> Vec<Formula> {
    let node = arena[f].clone();
    let operands = node.operands();
    let mut formulas = Vec::new();
    if let Node::Quantified(..) = node {
        // Its operand alone would have a variable that nothing binds.
    } else {
        formulas.extend(&operands);
    }
    if !matches!(node, Node::True | Node::False) {
        formulas.extend([arena.truth(true), arena.truth(false)]);
    }
    match &node {
        Node::Unary(operator, interval, g) if !interval.is_unbounded() => {
            formulas.push(arena.insert(Node::Unary(*operator, Interval::UNBOUNDED, *g)));
        }
        Node::Binary(operator, interval, g, h) if !interval.is_unbounded() => {
            formulas.push(arena.insert(Node::Binary(*operator, Interval::UNBOUNDED, *g, *h)));
        }
        _ => {}
    }
    for (index, operand) in operands.iter().enumerate() {
        for replacement in simpler(arena, *operand) {
            let mut changed = operands.clone();
            changed[index] = replacement;
            formulas.push(with_operands(arena, &node, &changed));
        }
    }
    formulas
}

fn with_operands(arena: &mut Arena, node: &Node, operands: &[Formula]) -> Formula {
    let first = operands[0];
    let last = operands[operands.len() - 1];
    match node {
        Node::True | Node::False | Node::Fact(_) | Node::Compare(..) | Node::Measure(..) => arena.insert(node.clone()),
        Node::Not(_) => arena.not(first),
        Node::And(_) => arena.and(operands.iter().copied()),
        Node::Or(_) => arena.or(operands.iter().copied()),
        Node::Implies(..) => arena.implies(first, last),
        Node::Iff(..) => arena.iff(first, last),
        Node::Unary(operator, interval, _) => arena.insert(Node::Unary(*operator, *interval, first)),
        Node::Binary(operator, interval, ..) => arena.insert(Node::Binary(*operator, *interval, first, last)),
        Node::Quantified(quantifier, variables, _) => {
            arena.insert(Node::Quantified(*quantifier, variables.clone(), first))
        }
    }
}

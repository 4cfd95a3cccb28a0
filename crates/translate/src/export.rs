//! The same policy in the languages of others, so that nobody has to believe our reading of it.
//!
//! What is exported is the properties over the facts of events; the facts of a trace are exported beside them. Each
//! language has its limits, and a property beyond them is refused with the reason, never bent.

pub mod dogwood;
mod facts;
pub mod mfotl;
pub mod rego;

use std::fmt;
use std::sync::Arc;

use lictor_logic::{Arena, Formula, Measure, Node, Term};

use lictor_policy::{History, Policy, Property};

pub use facts::{FactTrace, fact_traces};

/// A property that a language cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// The property.
    pub property: String,
    /// What about it cannot be said.
    pub reason: String,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.reason)
    }
}

/// A policy in another language.
#[derive(Clone, Debug, Default)]
pub struct ExportedPolicy {
    /// The files, by name.
    pub files: Vec<(String, String)>,
    /// What is not in them.
    pub left_out: Vec<Inexpressible>,
}

/// A property of the shape `G f`, with `f` about the past and the present.
struct Safety<'p> {
    property: &'p Property,
    arena: Arena,
    /// The variables of the quantifiers in front, outside and inside of the `G`.
    variables: Vec<Arc<str>>,
    body: Formula,
}

/// The properties of a policy that every event by itself can break, and the others with the reason.
fn safety(policy: &Policy) -> (Vec<Safety<'_>>, Vec<Inexpressible>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for property in &policy.properties {
        let reason = |reason: String| Inexpressible { property: property.id.to_string(), reason };
        if property.history != History::Session {
            left_out.push(reason(
                "its history goes on across sessions, and what is exported is judged session by session".to_owned(),
            ));
            continue;
        }
        let mut arena = Arena::new();
        let formula = match arena.parse(&property.formula) {
            Ok(formula) => formula,
            Err(errors) => {
                left_out.push(reason(errors.to_string()));
                continue;
            }
        };
        match arena.invariant(formula) {
            Some((variables, body)) => found.push(Safety { property, arena, variables, body }),
            None => left_out.push(reason(
                "it looks ahead: whether it is broken shows only later, or at the end of the trace".to_owned(),
            )),
        }
    }
    (found, left_out)
}

/// A name as the name of a file.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    name.chars().map(plain).collect()
}

/// The free variables of a formula, in the order of their occurrence.
fn free(arena: &Arena, f: Formula) -> Vec<Arc<str>> {
    let mut variables = Variables { arena, bound: Vec::new(), free: Vec::new() };
    variables.formula(f);
    variables.free
}

struct Variables<'a> {
    arena: &'a Arena,
    bound: Vec<Arc<str>>,
    free: Vec<Arc<str>>,
}

impl Variables<'_> {
    fn term(&mut self, term: &Term) {
        if let Term::Var(name) = term
            && !self.bound.contains(name)
            && !self.free.contains(name)
        {
            self.free.push(name.clone());
        }
    }

    fn formula(&mut self, f: Formula) {
        let arena = self.arena;
        match &arena[f] {
            Node::Fact(atom) => atom.terms.iter().for_each(|term| self.term(term)),
            Node::Compare(_, left, right) => [left, right].into_iter().for_each(|term| self.term(term)),
            Node::Measure(_, left, right) => [left, right].into_iter().for_each(|measure| self.measure(measure)),
            Node::Quantified(_, variables, body) => self.inside(variables, *body),
            node => node.operands().into_iter().for_each(|operand| self.formula(operand)),
        }
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Term(term) => self.term(term),
            Measure::Computed(_, left, right) => {
                self.measure(left);
                self.measure(right);
            }
            Measure::Aggregate(aggregate) => self.inside(&aggregate.variables, aggregate.body),
        }
    }

    fn inside(&mut self, variables: &[Arc<str>], body: Formula) {
        let before = self.bound.len();
        self.bound.extend(variables.iter().cloned());
        self.formula(body);
        self.bound.truncate(before);
    }
}

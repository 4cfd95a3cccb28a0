//! Exports a policy to other engines, so that they can check our reading of it.
//!
//! The export holds the properties over the facts of events, and the facts of each trace. Each language has its limits:
//! a property beyond them is left out with the reason, never changed in meaning.

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
    /// Why the language cannot express it.
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
    /// The properties and sessions that are not in them.
    pub left_out: Vec<Inexpressible>,
}

/// A property of the shape `G f`, with `f` about the past and the present.
struct SafetyProperty<'p> {
    property: &'p Property,
    arena: Arena,
    /// The variables of the quantifiers in front, outside and inside of the `G`.
    variables: Vec<Arc<str>>,
    body: Formula,
}

/// Returns the properties of a policy that an event can violate on its own, and the others with the reason.
fn split_safety(policy: &Policy) -> (Vec<SafetyProperty<'_>>, Vec<Inexpressible>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for property in &policy.properties {
        let reason = |reason: String| Inexpressible { property: property.id.to_string(), reason };
        if property.history != History::Session {
            left_out.push(reason("its history spans sessions, but exports are judged session by session".to_owned()));
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
            Some((variables, body)) => found.push(SafetyProperty { property, arena, variables, body }),
            None => left_out
                .push(reason("it looks ahead: a violation shows only later, or at the end of the trace".to_owned())),
        }
    }
    (found, left_out)
}

/// Returns a name as a file name.
fn to_file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Returns the free variables of a formula, in the order of their occurrence.
fn free_variables(arena: &Arena, f: Formula) -> Vec<Arc<str>> {
    let mut variables = FreeVariables { arena, bound: Vec::new(), free: Vec::new() };
    variables.visit_formula(f);
    variables.free
}

/// Collects the free variables of a formula.
struct FreeVariables<'a> {
    arena: &'a Arena,
    bound: Vec<Arc<str>>,
    free: Vec<Arc<str>>,
}

impl FreeVariables<'_> {
    fn visit_term(&mut self, term: &Term) {
        if let Term::Var(name) = term
            && !self.bound.contains(name)
            && !self.free.contains(name)
        {
            self.free.push(name.clone());
        }
    }

    fn visit_formula(&mut self, f: Formula) {
        let arena = self.arena;
        match &arena[f] {
            Node::Fact(atom) => atom.terms.iter().for_each(|term| self.visit_term(term)),
            Node::Compare(_, left, right) => [left, right].into_iter().for_each(|term| self.visit_term(term)),
            Node::Measure(_, left, right) => [left, right].into_iter().for_each(|measure| self.visit_measure(measure)),
            Node::Quantified(_, variables, body) => self.visit_scope(variables, *body),
            node => node.operands().into_iter().for_each(|operand| self.visit_formula(operand)),
        }
    }

    fn visit_measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Term(term) => self.visit_term(term),
            Measure::Computed(_, left, right) => {
                self.visit_measure(left);
                self.visit_measure(right);
            }
            Measure::Aggregate(aggregate) => self.visit_scope(&aggregate.variables, aggregate.body),
        }
    }

    fn visit_scope(&mut self, variables: &[Arc<str>], body: Formula) {
        let before = self.bound.len();
        self.bound.extend(variables.iter().cloned());
        self.visit_formula(body);
        self.bound.truncate(before);
    }
}

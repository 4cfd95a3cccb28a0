//! What the facts of one event decide of a formula alone, whatever was before.

use lictor_logic::{After, Arena, Atom, Formula, Node, Quantifier, Term, Unary, Value};

use crate::facts::{Labels, Plan};
use crate::prepared::PropertyFormula;

/// The value of a formula at an event whose past is unknown; none if it depends on the past.
type PresentValue = Option<bool>;

impl PropertyFormula {
    /// Whether an event may violate the formula, whatever was before it. Only formulas of the shape `always f`, with `f`
    /// about the past and the present, can be told; all others may.
    pub(crate) fn may_break_after_any_past(&self, plan: &Plan, labels: &Labels) -> bool {
        let mut formula = self.formula;
        while let Node::Quantified(Quantifier::Forall, _, body) = &self.arena[formula] {
            formula = *body;
        }
        match &self.arena[formula] {
            Node::Unary(Unary::Always, _, body) if self.after == After::Each => {
                evaluate(&self.arena, *body, plan, labels) != Some(true)
            }
            _ => true,
        }
    }
}

fn evaluate(arena: &Arena, formula: Formula, plan: &Plan, labels: &Labels) -> PresentValue {
    let value = |formula: &Formula| evaluate(arena, *formula, plan, labels);
    match &arena[formula] {
        Node::True => Some(true),
        Node::False => Some(false),
        Node::Fact(atom) => evaluate_fact(atom, plan, labels),
        Node::Not(f) => value(f).map(|it| !it),
        Node::And(list) => all(list.iter().map(value)),
        Node::Or(list) => all(list.iter().map(|f| value(f).map(|it| !it))).map(|it| !it),
        Node::Implies(f, g) => all([value(f), value(g).map(|it| !it)].into_iter()).map(|it| !it),
        Node::Iff(f, g) => value(f).zip(value(g)).map(|(f, g)| f == g),
        // The same for all values.
        Node::Quantified(_, _, body) => value(body),
        Node::Compare(..) | Node::Measure(..) | Node::Unary(..) | Node::Binary(..) => None,
    }
}

fn all(mut values: impl Iterator<Item = PresentValue>) -> PresentValue {
    let is_open = values.try_fold(false, |is_open, value| match value {
        Some(false) => Err(()),
        Some(true) => Ok(is_open),
        None => Ok(true),
    });
    match is_open {
        Err(()) => Some(false),
        Ok(is_open) => (!is_open).then_some(true),
    }
}

fn evaluate_fact(atom: &Atom, plan: &Plan, labels: &Labels) -> PresentValue {
    let Some(name) = plan.id(&atom.name) else { return Some(false) };
    if labels.unknown.iter().any(|(unknown, _)| *unknown == name) {
        return None;
    }
    let mut value = Some(false);
    for (_, values) in labels.iter().filter(|(known, _)| *known == name) {
        let terms = || atom.terms.iter().zip(values);
        if terms().all(|(term, value)| matches!(term, Term::Any) || *term == Term::Value(value.clone())) {
            return Some(true);
        }
        // Other texts are other values; numbers are compared by the engine alone.
        let differs = |(term, value): (&Term, &Value)| matches!((term, value), (Term::Value(Value::Text(wanted)), Value::Text(value)) if wanted != value);
        if !terms().any(differs) {
            value = None;
        }
    }
    value
}

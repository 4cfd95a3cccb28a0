//! Lints of formulas: alone, and against their response.

use lictor_logic::{Analysis, Facts, Lasso, Span, Verdict};

use super::{Linter, ParsedProperty};
use crate::Response;

impl Linter<'_> {
    /// Reports a formula that can never hold or never fail. Whether it can do both.
    pub(super) fn check_formula(&mut self, parsed: &ParsedProperty<'_>) -> bool {
        let Ok(mut analysis) = Analysis::new(&parsed.arena, parsed.formula) else { return false };
        let verdict = analysis.initial_verdict();
        let id = &parsed.property.id;
        if verdict == Verdict::Violated {
            let message = format!("no session can comply with `{id}`: its formula contradicts itself");
            let problem = self.problem_at_property(parsed.property, "lint.unsatisfiable", message);
            self.problems
                .add(problem.with_hint("every session would be a finding; say what must hold, not what must not"));
        } else if verdict == Verdict::Satisfied {
            let message = format!("nothing can break `{id}`: its formula is true of every session");
            let problem = self.problem_at_property(parsed.property, "lint.valid", message).into_warning();
            self.problems.add(problem.with_hint("leave it out, or say more"));
        }
        verdict == Verdict::Inconclusive
    }

    /// Warns of a response that can never be applied.
    pub(super) fn check_response(&mut self, parsed: &ParsedProperty<'_>) {
        let property = parsed.property;
        let stops = matches!(property.respond, Response::Block | Response::Ask | Response::Redact);
        if stops && can_event_break(parsed) == Some(false) {
            let word = property.respond.name();
            let message = format!(
                "`respond: {word}` has no effect: only a deadline or the end of the session breaks `{}`",
                property.id
            );
            let problem = self.problem_at_property(property, "lint.respond", message).into_warning();
            let problem = match shortest_violation(parsed) {
                Some(example) => problem
                    .with_note(format!("a session that ends after {example} breaks it, and no event is to blame")),
                None => problem,
            };
            self.problems
                .add(problem.with_hint("write `respond: warn`, or forbid the step that must not come too early"));
            return;
        }
        if property.respond == Response::Redact && !parsed.atoms.iter().any(|atom| self.concerns_content(&atom.name)) {
            let message =
                format!("`respond: redact` has nothing to take out: `{}` does not ask for personal data", property.id);
            let problem = self.problem_at_property(property, "lint.respond", message).into_warning();
            self.problems.add(problem.with_hint("ask for `carries(c)` or `discloses(s)`, or write `respond: block`"));
        }
    }
}

impl Linter<'_> {
    /// Whether a fact is about the content of an event; the policy's own facts may be.
    fn concerns_content(&self, name: &str) -> bool {
        matches!(name, "carries" | "carries_secret" | "necessary" | "special" | "discloses" | "argument")
            || self.policy.facts.iter().any(|fact| fact.name == name)
    }
}

/// Whether an event can violate it, not only a deadline or the end; `None` if it has too many states.
fn can_event_break(parsed: &ParsedProperty<'_>) -> Option<bool> {
    Analysis::new(&parsed.arena, parsed.formula).ok()?.can_position_violate()
}

/// Returns the shortest session that violates it by its end.
fn shortest_violation(parsed: &ParsedProperty<'_>) -> Option<String> {
    let trace = Analysis::new(&parsed.arena, parsed.formula).ok()?.shortest(Verdict::Violated)?;
    Some(format_trace(&trace))
}

/// Formats an infinite trace as text, with the repeated part in parentheses.
pub(super) fn format_lasso(lasso: &Lasso) -> String {
    let stem = if lasso.stem.is_empty() { String::new() } else { format!("{} ", format_trace(&lasso.stem)) };
    format!("{stem}({})*", format_trace(&lasso.cycle))
}

fn format_trace(trace: &[Facts]) -> String {
    let position = |facts: &Facts| match facts.time {
        Some(time) => format!("{facts}@{}", Span(time.0.unsigned_abs())),
        None => facts.to_string(),
    };
    trace.iter().map(position).collect::<Vec<_>>().join(" ")
}

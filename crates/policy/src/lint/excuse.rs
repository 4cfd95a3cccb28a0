//! Excuses that an agent, a tool or a stranger can supply.

use lictor_logic::{Arena, Binary, FactRole, Formula, Monitor, Node, Unary};

use super::{Linter, ParsedProperty};
use crate::FactCase;

/// The kinds of events whose texts the agent, its tools or strangers write.
const UNTRUSTED: [&str; 5] = ["assistant_message", "tool_call", "tool_result", "retrieval", "handoff"];

const AGENT: &str = "the agent";

impl Linter<'_> {
    /// Warns of a fact that can only excuse a violation, and that a labeler or a pattern reads out of a text that the
    /// agent, a tool or a stranger writes: the author of a violation would write the excuse, too.
    pub(super) fn check_excuses(&mut self, parsed: &ParsedProperty<'_>) {
        if !parsed.is_own() {
            return;
        }
        let Ok(monitor) = Monitor::with_after(&parsed.arena, parsed.formula, parsed.property.after) else { return };
        let Some(roles) = monitor.classify_facts() else { return };
        let mut names: Vec<&str> =
            roles.iter().filter(|(_, role)| *role == FactRole::Excuse).map(|(atom, _)| &*atom.name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let Some(fact) = self.policy.facts.iter().find(|fact| fact.name == name) else { continue };
            let Some(author) = fact.cases.iter().find_map(find_author) else { continue };
            if author == AGENT && is_duty(&parsed.arena, parsed.formula, name) {
                continue;
            }
            let message = format!("`{name}` excuses violations, and is read out of a text that {author} writes");
            let problem = self.problem_at_word(&parsed.property.place, name, "lint.excuse", message).into_warning();
            self.problems
                .add(problem.with_hint("take excuses from approvals, results of checked tools, or your own log"));
        }
    }
}

/// Whether a fact is only owed: it has to come later, like the apology in `response(complaint, apology)`. Then the text
/// of the agent is the duty itself, and no excuse.
fn is_duty(arena: &Arena, formula: Formula, name: &str) -> bool {
    match &arena[formula] {
        Node::Fact(atom) => *atom.name != *name,
        Node::Unary(Unary::Eventually | Unary::Next, ..) => true,
        Node::Binary(Binary::Until | Binary::StrongRelease, _, left, right) => {
            // The goal is owed; the other operand holds from now on.
            let now = if matches!(&arena[formula], Node::Binary(Binary::Until, ..)) { left } else { right };
            is_duty(arena, *now, name)
        }
        node => node.operands().into_iter().all(|operand| is_duty(arena, operand, name)),
    }
}

/// Returns who writes the text that a fact is read out of, if it is someone who may want the excuse.
fn find_author(case: &FactCase) -> Option<&'static str> {
    let reads_text = case.ask.is_some() || case.tests.iter().any(|test| test.path == "text");
    if !reads_text {
        return None;
    }
    match case.on.iter().find(|trigger| UNTRUSTED.contains(&trigger.kind.as_str())) {
        Some(trigger) => Some(match trigger.kind.as_str() {
            "tool_result" => "a tool",
            "retrieval" => "a stranger",
            _ => AGENT,
        }),
        None if case.on.is_empty() => Some("anybody"),
        None => None,
    }
}

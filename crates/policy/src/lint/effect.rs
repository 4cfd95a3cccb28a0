//! Tools in a policy about whose effects nothing is known.

use std::collections::BTreeSet;

use lictor_logic::{Term, Value};

use super::{Linter, ParsedProperty, is_own};
use crate::Place;

impl Linter<'_> {
    /// Warns of tools with unknown effects, if some property depends on the effects of tools.
    pub(super) fn check_effects(&mut self, parsed: &[ParsedProperty<'_>]) {
        let depends = |it: &&ParsedProperty<'_>| it.atoms.iter().any(|atom| atom.name.as_ref() == "effect");
        let Some(dependent) = parsed.iter().find(depends) else { return };
        let dependent = dependent.property.id.clone();
        let mut reported = BTreeSet::new();
        for (tool, place) in self.named_tools(parsed) {
            // `*` alone names no tool.
            let is_named = tool.chars().any(char::is_alphanumeric);
            if !is_named || self.policy.tool_effects(&tool).is_some() || !reported.insert(tool.clone()) {
                continue;
            }
            let message = format!(
                "the effects of `{tool}` are unknown: its name does not tell them, and `{dependent}` asks for them"
            );
            let problem = self.problem_at_word(&place, &tool, "lint.unknown-effect", message).into_warning();
            self.problems.add(problem.with_hint(format!("state them: `{tool}: {{effects: [read]}}`")));
        }
    }

    /// Returns the tools that the policy itself names: under `tools:`, in facts and in formulas.
    fn named_tools(&self, parsed: &[ParsedProperty<'_>]) -> Vec<(String, Place)> {
        let listed = self.policy.tools.iter().filter(|tool| is_own(&tool.place));
        let listed = listed.map(|tool| (tool.name.to_string(), tool.place.clone()));
        let own_facts = self.policy.facts.iter().filter(|fact| is_own(&fact.place));
        let in_facts = own_facts.flat_map(|fact| {
            let triggers = fact.cases.iter().flat_map(|case| &case.on);
            triggers.filter_map(|trigger| Some((trigger.tool.as_ref()?.to_string(), fact.place.clone())))
        });
        let in_formulas = parsed.iter().filter(|it| it.is_own()).flat_map(|it| {
            let tools = it.atoms.iter().filter(|atom| matches!(atom.name.as_ref(), "tool_call" | "tool_result"));
            tools.filter_map(|atom| match atom.terms.first() {
                Some(Term::Value(Value::Text(tool))) => Some((tool.to_string(), it.property.place.clone())),
                _ => None,
            })
        });
        listed.chain(in_facts).chain(in_formulas).collect()
    }
}

//! Names that lead nowhere: facts nobody brings, tools nobody lists, purposes nobody serves.

use std::collections::BTreeSet;

use jiff::civil::Date;
use lictor_logic::{Atom, Term, Value, nearest};

use super::{Judged, Lints, is_own};
use crate::form::listed;
use crate::glob::Glob;
use crate::vocabulary::{EFFECTS, builtin};
use crate::{Problem, Tool};

impl Lints<'_> {
    /// Facts and values in a formula that nothing in the policy brings.
    pub(super) fn names(&mut self, judged: &Judged<'_>) {
        let mut told = BTreeSet::new();
        for atom in &judged.atoms {
            if let Some((word, problem)) = self.unknown(judged, atom)
                && told.insert(word)
            {
                self.problems.add(problem);
            }
        }
    }

    fn unknown(&self, judged: &Judged<'_>, atom: &Atom) -> Option<(String, Problem)> {
        let name = atom.name.as_ref();
        let place = &judged.property.place;
        let value = match atom.terms.first() {
            Some(Term::Value(Value::Text(text))) => Some(text.as_ref()),
            _ => None,
        };
        let defined = self.policy.facts.iter().any(|fact| fact.name == name);
        let (word, code, message, hint) = match (name, value) {
            ("effect", Some(effect)) if !EFFECTS.iter().any(|(known, _)| *known == effect) => {
                let known: Vec<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
                let hint = suggestion(effect, &known).unwrap_or_else(|| format!("one of {}", listed(&known)));
                (effect, "lint.never", format!("no tool has the effect `{effect}`, so this never holds"), hint)
            }
            ("tool_call" | "tool_result" | "tool_failed", Some(tool)) if judged.is_own() && !self.lists(tool) => {
                let known: Vec<&str> = self.policy.tools.iter().map(|tool| tool.name.as_str()).collect();
                let hint = suggestion(tool, &known).unwrap_or_else(|| "list it under `tools:`".into());
                (tool, "lint.unknown-tool", format!("the policy lists tools, but none called `{tool}`"), hint)
            }
            ("purpose" | "processes" | "declared" | "legitimate", Some(purpose))
                if judged.is_own() && !self.declares(purpose) =>
            {
                let known: Vec<&str> = self.policy.purposes.iter().map(|purpose| purpose.name.as_str()).collect();
                let hint = suggestion(purpose, &known).unwrap_or_else(|| "declare it under `purposes:`".into());
                (purpose, "lint.undeclared-purpose", format!("the purpose `{purpose}` is not declared"), hint)
            }
            _ if builtin(name).is_none() && !defined && judged.is_own() => {
                let message = format!("`{name}` is neither built in nor defined");
                let hint = format!(
                    "it holds only at events with the kind or the label `{name}`; if no log has that, define it under `facts:`"
                );
                (name, "lint.label", message, hint)
            }
            _ => return None,
        };
        Some((word.to_owned(), self.at_word(place, word, code, message).warning().help(hint)))
    }

    /// Does the policy list a tool of that name? One that lists none knows nothing about tools.
    fn lists(&self, tool: &str) -> bool {
        let own: Vec<&Tool> = self.policy.tools.iter().filter(|tool| is_own(&tool.place)).collect();
        own.is_empty() || own.iter().any(|listed| Glob::new(&listed.name).matches(tool))
    }

    fn declares(&self, purpose: &str) -> bool {
        self.policy.purposes.iter().any(|declared| declared.name == purpose)
    }

    /// Facts that no formula asks for.
    pub(super) fn unused_facts(&mut self, judged: &[Judged<'_>]) {
        let asked: BTreeSet<String> =
            judged.iter().flat_map(|it| &it.atoms).map(|atom| atom.name.to_string()).collect();
        for fact in self.policy.facts.iter().filter(|fact| is_own(&fact.place) && !asked.contains(fact.name.as_str())) {
            let message = format!("no formula asks for `{}`", fact.name);
            let problem = self.at(&fact.place, "lint.unused", message).warning();
            self.problems.add(problem.help("leave it out, or write a property about it"));
        }
    }

    /// Tools that serve purposes nobody declared, or that an entry above already covers.
    pub(super) fn tools(&mut self) {
        let known: Vec<&str> = self.policy.purposes.iter().map(|purpose| purpose.name.as_str()).collect();
        for (place, tool) in self.policy.tools.iter().enumerate().filter(|(_, tool)| is_own(&tool.place)) {
            let undeclared = tool.purposes.iter().flatten().filter(|purpose| !self.declares(purpose));
            for purpose in undeclared.cloned().collect::<Vec<_>>() {
                let hint = suggestion(&purpose, &known)
                    .unwrap_or_else(|| format!("declare it: `{purpose}: {{basis: contract, necessary: [email]}}`"));
                let message = format!("`{}` serves the purpose `{purpose}`, which is not declared", tool.name);
                let problem = self.at_word(&tool.place, &purpose, "lint.undeclared-purpose", message).warning();
                self.problems.add(problem.help(hint));
            }
            let above = self.policy.tools.iter().take(place);
            let covers = |other: &&Tool| {
                let answers = (other.purposes.is_some() || tool.purposes.is_none())
                    && (other.effects.is_some() || tool.effects.is_none());
                answers && Glob::new(&other.name).matches(&tool.name)
            };
            if let Some(other) = above.into_iter().find(covers) {
                let message = format!("`{}` is never looked at: `{}` above it covers it", tool.name, other.name);
                let problem = self.at(&tool.place, "lint.covered", message).warning();
                self.problems
                    .add(problem.help("the first entry that fits counts; put special ones before general ones"));
            }
        }
    }

    /// Purposes that no tool serves.
    pub(super) fn purposes(&mut self) {
        for purpose in self.policy.purposes.iter().filter(|purpose| is_own(&purpose.place)) {
            let mut served = self.policy.tools.iter().flat_map(|tool| tool.purposes.iter().flatten());
            if !served.any(|name| *name == purpose.name) {
                let message = format!("no tool serves the purpose `{}`", purpose.name);
                let problem = self.at(&purpose.place, "lint.unserved-purpose", message).warning();
                let hint =
                    format!("add `purposes: [{}]` to the tools that do, unless your events state it", purpose.name);
                self.problems.add(problem.help(hint));
            }
        }
    }

    /// Suppressions whose last day has passed.
    pub(super) fn expired(&mut self, today: Date) {
        for suppression in &self.policy.suppressions {
            if let Some(until) = suppression.until.filter(|until| *until < today) {
                let message = format!("the suppression of `{}` ended on {until}", suppression.property);
                let problem = self.at(&suppression.place, "lint.expired", message).warning();
                self.problems.add(problem.help("remove it, or look at the findings again and set a later day"));
            }
        }
    }
}

fn suggestion(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"))
}

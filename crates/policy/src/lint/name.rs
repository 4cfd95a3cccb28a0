//! Unresolved and unused names: facts, tools and purposes that the policy does not define, list or serve.

use std::collections::BTreeSet;

use jiff::civil::Date;
use lictor_logic::{Atom, Term, Value, nearest};

use super::{Linter, ParsedProperty, is_own};
use crate::glob::Glob;
use crate::policy_reader::quote_words;
use crate::vocabulary::{CATEGORIES, EFFECTS, builtin};
use crate::{Basis, Problem, Tool};

impl Linter<'_> {
    /// Warns of facts and values in a formula that the policy does not provide.
    pub(super) fn check_names(&mut self, parsed: &ParsedProperty<'_>) {
        let mut reported = BTreeSet::new();
        for atom in &parsed.atoms {
            if let Some((word, problem)) = self.find_unknown_name(parsed, atom)
                && reported.insert(word)
            {
                self.problems.add(problem);
            }
        }
    }

    /// Warns of needed facts that the policy does not provide: until a log states one, the property is not judged.
    pub(super) fn check_needs(&mut self, parsed: &ParsedProperty<'_>) {
        for name in &parsed.property.needs {
            let is_asked = parsed.atoms.iter().any(|atom| atom.name.as_ref() == name.as_str());
            if is_asked || builtin(name).is_some() || self.policy.facts.iter().any(|fact| fact.name == *name) {
                continue;
            }
            let message =
                format!("`{}` needs `{name}`, which is neither built in nor defined nor asked for", parsed.property.id);
            let known: Vec<&str> = parsed.atoms.iter().map(|atom| atom.name.as_ref()).collect();
            let hint = suggest(name, &known)
                .unwrap_or_else(|| format!("define it under `facts:`, or state it as a label `{name}`"));
            let problem = self.problem_at_property(parsed.property, "lint.needs", message).into_warning();
            self.problems.add(problem.with_hint(hint));
        }
    }

    fn find_unknown_name(&self, parsed: &ParsedProperty<'_>, atom: &Atom) -> Option<(String, Problem)> {
        let name = atom.name.as_ref();
        let place = &parsed.property.place;
        let value = match atom.terms.first() {
            Some(Term::Value(Value::Text(text))) => Some(text.as_ref()),
            _ => None,
        };
        let defined = self.policy.facts.iter().any(|fact| fact.name == name);
        let (word, code, message, hint) = match (name, value) {
            ("effect", Some(effect)) if !EFFECTS.iter().any(|(known, _)| *known == effect) => {
                let known: Vec<&str> = EFFECTS.iter().map(|(name, _)| *name).collect();
                let hint = suggest(effect, &known).unwrap_or_else(|| format!("one of {}", quote_words(&known)));
                (effect, "lint.never", format!("no tool has the effect `{effect}`, so this never holds"), hint)
            }
            ("tool_call" | "tool_result" | "tool_failed", Some(tool)) if parsed.is_own() && !self.lists_tool(tool) => {
                let known: Vec<&str> = self.policy.tools.iter().map(|tool| tool.name.as_str()).collect();
                let hint = suggest(tool, &known).unwrap_or_else(|| "list it under `tools:`".into());
                (tool, "lint.unknown-tool", format!("the policy lists tools, but none called `{tool}`"), hint)
            }
            ("purpose" | "processes" | "declared" | "legitimate", Some(purpose))
                if parsed.is_own() && !self.declares_purpose(purpose) =>
            {
                let known: Vec<&str> = self.policy.purposes.iter().map(|purpose| purpose.name.as_str()).collect();
                let hint = suggest(purpose, &known).unwrap_or_else(|| "declare it under `purposes:`".into());
                (purpose, "lint.undeclared-purpose", format!("the purpose `{purpose}` is not declared"), hint)
            }
            _ if builtin(name).is_none() && !defined && parsed.is_own() => {
                let message = format!("`{name}` is neither built in nor defined");
                let hint = format!(
                    "it holds only at events with the kind or the label `{name}`; if no log has that, define it under `facts:`"
                );
                (name, "lint.label", message, hint)
            }
            _ => return None,
        };
        Some((word.to_owned(), self.problem_at_word(place, word, code, message).into_warning().with_hint(hint)))
    }

    /// Whether the policy lists a tool of that name; true if it lists no tools at all.
    fn lists_tool(&self, tool: &str) -> bool {
        let own: Vec<&Tool> = self.policy.tools.iter().filter(|tool| is_own(&tool.place)).collect();
        own.is_empty() || own.iter().any(|listed| Glob::new(&listed.name).matches(tool))
    }

    fn declares_purpose(&self, purpose: &str) -> bool {
        let mut declared = self.policy.purposes.iter().filter(|declared| declared.basis != Basis::None);
        declared.any(|declared| declared.name == purpose)
    }

    /// Warns of facts that no formula uses.
    pub(super) fn check_unused_facts(&mut self, parsed: &[ParsedProperty<'_>]) {
        let needed = parsed.iter().flat_map(|it| &it.property.needs).map(ToString::to_string);
        let atoms = parsed.iter().flat_map(|it| &it.atoms).map(|atom| atom.name.to_string());
        let asked: BTreeSet<String> = atoms.chain(needed).collect();
        for fact in self.policy.facts.iter().filter(|fact| is_own(&fact.place) && !asked.contains(fact.name.as_str())) {
            let message = format!("no formula uses `{}`", fact.name);
            let problem = self.problem_at(&fact.place, "lint.unused", message).into_warning();
            self.problems.add(problem.with_hint("leave it out, or write a property about it"));
        }
    }

    /// Warns of tools with undeclared purposes, and of tools that an entry above already covers.
    pub(super) fn check_tools(&mut self) {
        let known: Vec<&str> = self.policy.purposes.iter().map(|purpose| purpose.name.as_str()).collect();
        for (place, tool) in self.policy.tools.iter().enumerate().filter(|(_, tool)| is_own(&tool.place)) {
            let undeclared = tool.purposes.iter().flatten().filter(|purpose| !self.declares_purpose(purpose));
            for purpose in undeclared.cloned().collect::<Vec<_>>() {
                let hint = suggest(&purpose, &known)
                    .unwrap_or_else(|| format!("declare it: `{purpose}: {{basis: contract, necessary: [email]}}`"));
                let message = format!("`{}` serves the purpose `{purpose}`, which is not declared", tool.name);
                let problem =
                    self.problem_at_word(&tool.place, &purpose, "lint.undeclared-purpose", message).into_warning();
                self.problems.add(problem.with_hint(hint));
            }
            let above = self.policy.tools.iter().take(place);
            let covers = |other: &&Tool| {
                let answers = (other.purposes.is_some() || tool.purposes.is_none())
                    && (other.effects.is_some() || tool.effects.is_none())
                    && (!other.records.is_empty() || tool.records.is_empty());
                answers && Glob::new(&other.name).matches(&tool.name)
            };
            if let Some(other) = above.into_iter().find(covers) {
                let message = format!("`{}` has no effect: `{}` above it matches first", tool.name, other.name);
                let problem = self.problem_at(&tool.place, "lint.covered", message).into_warning();
                self.problems
                    .add(problem.with_hint("the first entry that fits counts; put special ones before general ones"));
            }
        }
    }

    /// Warns of purposes that no tool serves.
    pub(super) fn check_purposes(&mut self) {
        let own = self.policy.purposes.iter().filter(|purpose| is_own(&purpose.place) && purpose.words.is_empty());
        for purpose in own {
            let mut served = self.policy.tools.iter().flat_map(|tool| tool.purposes.iter().flatten());
            if !served.any(|name| *name == purpose.name) {
                let message = format!("no tool serves the purpose `{}`", purpose.name);
                let problem = self.problem_at(&purpose.place, "lint.unserved-purpose", message).into_warning();
                let hint =
                    format!("add `purposes: [{}]` to the tools that do, unless your events state it", purpose.name);
                self.problems.add(problem.with_hint(hint));
            }
        }
    }

    /// Warns of purposes that need a category of data which nothing recognises.
    pub(super) fn check_categories(&mut self) {
        let own = self.policy.categories.iter().map(|category| category.name.as_str());
        let known: Vec<&str> = CATEGORIES.into_iter().chain(own).collect();
        for purpose in self.policy.purposes.iter().filter(|purpose| is_own(&purpose.place)) {
            for category in purpose.necessary.iter().filter(|category| !known.contains(&category.as_str())) {
                let message = format!("`{}` needs the category `{category}`, which nothing recognises", purpose.name);
                let hint = suggest(category, &known)
                    .unwrap_or_else(|| "define it under `categories:`, unless your events state it".into());
                let problem =
                    self.problem_at_word(&purpose.place, category, "lint.unknown-category", message).into_warning();
                self.problems.add(problem.with_hint(hint));
            }
        }
    }

    /// Warns of suppressions that have expired.
    pub(super) fn check_expired_suppressions(&mut self, today: Date) {
        for suppression in &self.policy.suppressions {
            if let Some(until) = suppression.until.filter(|until| *until < today) {
                let message = format!("the suppression of `{}` expired on {until}", suppression.property);
                let problem = self.problem_at(&suppression.place, "lint.expired", message).into_warning();
                self.problems.add(problem.with_hint("remove it, or review the findings and set a later date"));
            }
        }
    }
}

fn suggest(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"))
}

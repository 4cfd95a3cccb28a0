//! How far properties look into the text of an assistant, and so how much of it must wait while it is streamed.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{Arena, Formula};
use regex::Regex;

use super::definition::CasePlan;
use super::names::{collect_excuses, collect_names};
use lictor_policy::{History, Mode, Policy, Response};
use lictor_recognise::{OpenPatterns, Recogniser};

/// Built-in facts about the personal data in a text.
const OF_DATA: [&str; 5] = ["carries", "special", "processes", "necessary", "discloses"];

/// Those of them that hold because of one part of a text and may excuse another.
const MAY_EXCUSE: [&str; 3] = ["carries", "special", "discloses"];

/// How the properties that may change the text of an assistant look at it.
#[derive(Debug, Default)]
pub(crate) struct TextReach {
    /// Whether the personal data in it matters.
    data: bool,
    /// The regular expressions that defined facts look for.
    patterns: OpenPatterns,
    /// Whether a fact depends on it in a way for which only the whole text will do.
    is_opaque: bool,
    /// Whether more text may excuse what a property objects to.
    pub(crate) may_excuse: bool,
}

impl TextReach {
    /// Returns how the properties of a policy look at texts. The formulas are those of the properties, in their order;
    /// the cases are the definitions that apply to texts of an assistant, each with its name.
    pub(super) fn new<'c>(
        policy: &Policy,
        formulas: &[(&Arena, Formula)],
        cases: impl Iterator<Item = (&'c Arc<str>, &'c CasePlan)>,
    ) -> TextReach {
        let (mut names, mut excuses) = (BTreeSet::new(), BTreeSet::new());
        let mut data = false;
        for (property, (arena, formula)) in policy.properties.iter().zip(formulas) {
            let changes = property.mode == Mode::Enforce && property.respond.max(property.unknown) >= Response::Redact;
            if changes {
                collect_names(arena, *formula, &mut names);
                collect_excuses(arena, *formula, &mut excuses);
                data |= property.history == History::Subject;
            }
        }
        let mut reach = TextReach {
            data: data || OF_DATA.iter().any(|name| names.contains(*name)),
            may_excuse: MAY_EXCUSE.iter().any(|name| excuses.contains(*name)),
            // Another part of the text than the match may be masked: the value that it names. A secret may have any length.
            is_opaque: names.contains("carries_secret")
                || names.contains("discloses") && policy.categories.iter().any(names_by_group),
            ..TextReach::default()
        };
        let mut patterns = Vec::new();
        for (name, case) in cases.filter(|(name, _)| names.contains(*name)) {
            reach.data |= case.reads("categories") || case.reads("subjects");
            reach.may_excuse |=
                excuses.contains(name) && ["text", "categories", "subjects"].iter().any(|root| case.reads(root));
            // A labeler reads the whole text, and may say of it what it did not say of its beginning.
            reach.is_opaque |= case.is_asked();
            match case.text_patterns() {
                Some(found) => patterns.extend(found),
                None => reach.is_opaque = true,
            }
        }
        reach.patterns = OpenPatterns::new(patterns.iter().map(String::as_str));
        reach
    }

    /// Returns from where on a text must wait, of which more may arrive; none if all of it must.
    pub(crate) fn open_from(&self, recogniser: &Recogniser, text: &str) -> Option<usize> {
        if self.is_opaque {
            return None;
        }
        let patterns = self.patterns.open_from(text);
        Some(if self.data { patterns.min(recogniser.open_from(text)) } else { patterns })
    }
}

/// Whether a category names persons by a part of what its pattern matches.
fn names_by_group(category: &lictor_policy::Category) -> bool {
    let pattern = category.pattern.as_ref().filter(|_| category.identifies);
    pattern.is_some_and(|pattern| Regex::new(pattern).map_or(true, |regex| regex.captures_len() > 1))
}

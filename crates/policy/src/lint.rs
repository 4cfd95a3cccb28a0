//! Lints: probable mistakes in a policy that can be used.
//!
//! Formulas are looked at by the logic: can they hold, can they fail, can they hold together, which events can violate
//! them. Names are compared with what the policy lists.

mod effect;
mod excuse;
mod formula;
mod name;
mod relation;
mod sample;
mod steering;
mod together;

use std::ops::Range;

use jiff::civil::Date;
use lictor_logic::{Arena, Atom, Formula};

use super::atoms::collect_atoms;
use super::policy_text::PolicyText;
use super::{Place, Policy, Problem, Problems, Property};
use relation::{MAX_PAIR_WORK, check_relations};

/// Returns the probable mistakes of a policy, on a given date. An error is something that no session can comply
/// with; the rest are warnings.
pub fn lint(policy: &Policy, today: Date) -> Problems {
    let mut linter = Linter { policy, problems: Problems::with_extra_room(policy.properties.len()) };
    let parsed: Vec<ParsedProperty<'_>> =
        policy.properties.iter().filter_map(|property| ParsedProperty::new(property)).collect();
    let mut sound: Vec<&ParsedProperty<'_>> = Vec::new();
    for property in &parsed {
        if linter.check_formula(property) {
            sound.push(property);
        }
        linter.check_response(property);
        linter.check_names(property);
        linter.check_needs(property);
        linter.check_excuses(property);
    }
    check_relations(&mut linter, sound, MAX_PAIR_WORK);
    linter.check_unused_facts(&parsed);
    linter.check_tools();
    linter.check_effects(&parsed);
    linter.check_purposes();
    linter.check_categories();
    linter.check_steering(&parsed);
    linter.check_expired_suppressions(today);
    if policy.properties.is_empty() {
        let place =
            Place { file: policy.sources.first().map(|it| it.file.clone()).unwrap_or_default(), ..Place::default() };
        let problem =
            Problem::new(&place, "lint.empty", "the policy has no properties, so nothing is judged").into_warning();
        linter.problems.add(problem.with_hint("add `properties:`, or packs under `uses:`"));
    }
    linter.problems.sort();
    linter.problems
}

/// A property with its parsed formula.
struct ParsedProperty<'a> {
    property: &'a Property,
    arena: Arena,
    formula: Formula,
    /// The facts it asks for.
    atoms: Vec<Atom>,
}

impl<'a> ParsedProperty<'a> {
    fn new(property: &'a Property) -> Option<ParsedProperty<'a>> {
        let mut arena = Arena::new();
        let formula = arena.parse(&property.formula).ok()?;
        let atoms = collect_atoms(&arena, formula);
        Some(ParsedProperty { property, arena, formula, atoms })
    }

    /// Whether it comes from a policy file, not from a pack.
    fn is_own(&self) -> bool {
        is_own(&self.property.place)
    }
}

/// Whether this is a place in a policy file, not in a page of a pack.
fn is_own(place: &Place) -> bool {
    !place.file.ends_with(".md")
}

struct Linter<'a> {
    policy: &'a Policy,
    problems: Problems,
}

impl Linter<'_> {
    /// Returns a problem at a place, with an excerpt if the text is available.
    fn problem_at(&self, place: &Place, code: &'static str, message: impl Into<String>) -> Problem {
        match self.policy.sources.iter().find(|source| source.file == place.file) {
            Some(source) => {
                let start = source.offset(place);
                source.problem(start..start + word_length(source, start), code, message)
            }
            None => Problem::new(place, code, message),
        }
    }

    /// Returns a problem with a property, shown at its name.
    fn problem_at_property(&self, property: &Property, code: &'static str, message: impl Into<String>) -> Problem {
        let name = property.id.rsplit('/').next().unwrap_or_default();
        self.problem_at_word(&property.place, name, code, message)
    }

    /// Returns a problem at the next occurrence of a word after a place, such as a fact in a property's formula.
    fn problem_at_word(&self, place: &Place, word: &str, code: &'static str, message: impl Into<String>) -> Problem {
        let source = self.policy.sources.iter().find(|source| source.file == place.file);
        match source.and_then(|source| Some((source, find_word(source, source.offset(place), word)?))) {
            Some((source, span)) => source.problem(span, code, message),
            None => self.problem_at(place, code, message),
        }
    }
}

/// Returns how long the word at a place is, up to white space, a comma or a bracket.
fn word_length(source: &PolicyText, start: usize) -> usize {
    let rest = source.slice(start..start + source.body_length_from(start));
    let stop = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | ':');
    rest.find(stop).unwrap_or(rest.len()).max(1)
}

/// Returns the next place of a word in a text.
fn find_word(source: &PolicyText, start: usize, word: &str) -> Option<Range<usize>> {
    let text = source.slice(start..start + source.body_length_from(start));
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = text.match_indices(word).filter(|(place, _)| {
        let after = text.get(place + word.len()..).unwrap_or_default();
        !text.get(..*place).unwrap_or_default().ends_with(inside) && !after.starts_with(inside)
    });
    places.next().map(|(place, _)| start + place..start + place + word.len())
}

//! What a policy probably does not mean, although it can be used.
//!
//! Formulas are looked at by the logic: can they hold, can they fail, can they hold together, which events can break
//! them. Names are compared with what the policy lists.

mod formula;
mod name;

use std::ops::Range;

use jiff::civil::Date;
use lictor_logic::{Arena, Atom, Formula};

use super::check::atoms;
use super::source::PolicyText;
use super::{Place, Policy, Problem, Problems, Property};
use formula::conflicts;

/// What a policy probably does not mean, on a day of the calendar. An error is something that no session can comply
/// with; the rest are warnings.
pub fn lint(policy: &Policy, today: Date) -> Problems {
    let mut lints = Lints { policy, problems: Problems::default() };
    let judged: Vec<Judged<'_>> = policy.properties.iter().filter_map(|property| Judged::new(property)).collect();
    for property in &judged {
        lints.formula(property);
        lints.response(property);
        lints.names(property);
    }
    conflicts(&mut lints, &judged);
    lints.unused_facts(&judged);
    lints.tools();
    lints.purposes();
    lints.expired(today);
    if policy.properties.is_empty() {
        let place =
            Place { file: policy.sources.first().map(|it| it.file.clone()).unwrap_or_default(), ..Place::default() };
        let problem = Problem::at(&place, "lint.empty", "the policy has no properties, so nothing is judged").warning();
        lints.problems.add(problem.help("add `properties:`, or packs under `uses:`"));
    }
    lints.problems.sort();
    lints.problems
}

/// A property with its formula read.
struct Judged<'a> {
    property: &'a Property,
    arena: Arena,
    formula: Formula,
    /// The facts it asks for.
    atoms: Vec<Atom>,
}

impl<'a> Judged<'a> {
    fn new(property: &'a Property) -> Option<Judged<'a>> {
        let mut arena = Arena::new();
        let formula = arena.parse(&property.formula).ok()?;
        let atoms = atoms(&arena, formula);
        Some(Judged { property, arena, formula, atoms })
    }

    /// Was it written by whoever wrote the policy, not in a pack?
    fn is_own(&self) -> bool {
        is_own(&self.property.place)
    }
}

/// Is this a place in a policy file, not in a page of a pack?
fn is_own(place: &Place) -> bool {
    !place.file.ends_with(".md")
}

struct Lints<'a> {
    policy: &'a Policy,
    problems: Problems,
}

impl Lints<'_> {
    /// A problem at a place, shown in its text if that is at hand.
    fn at(&self, place: &Place, code: &'static str, message: impl Into<String>) -> Problem {
        match self.policy.sources.iter().find(|source| source.file == place.file) {
            Some(source) => {
                let start = source.offset(place);
                source.problem(start..start + length_of_word(source, start), code, message)
            }
            None => Problem::at(place, code, message),
        }
    }

    /// A problem with a property, shown at its name.
    fn at_property(&self, property: &Property, code: &'static str, message: impl Into<String>) -> Problem {
        let name = property.id.rsplit('/').next().unwrap_or_default();
        self.at_word(&property.place, name, code, message)
    }

    /// A problem with a word that stands behind a place, such as a fact in a property's formula.
    fn at_word(&self, place: &Place, word: &str, code: &'static str, message: impl Into<String>) -> Problem {
        let source = self.policy.sources.iter().find(|source| source.file == place.file);
        match source.and_then(|source| Some((source, find(source, source.offset(place), word)?))) {
            Some((source, span)) => source.problem(span, code, message),
            None => self.at(place, code, message),
        }
    }
}

/// How long the word at a place is, up to white space, a comma or a bracket.
fn length_of_word(source: &PolicyText, start: usize) -> usize {
    let rest = source.slice(start..start + source.rest(start));
    let stop = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | ':');
    rest.find(stop).unwrap_or(rest.len()).max(1)
}

/// The next place of a word in a text.
fn find(source: &PolicyText, start: usize, word: &str) -> Option<Range<usize>> {
    let text = source.slice(start..start + source.rest(start));
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = text.match_indices(word).filter(|(place, _)| {
        let after = text.get(place + word.len()..).unwrap_or_default();
        !text.get(..*place).unwrap_or_default().ends_with(inside) && !after.starts_with(inside)
    });
    places.next().map(|(place, _)| start + place..start + place + word.len())
}

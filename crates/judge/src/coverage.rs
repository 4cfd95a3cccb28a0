//! Which of the facts that the properties ask for occur in a log: a property that no event can violate was not put to
//! the test.

use std::collections::BTreeSet;

use lictor_json::Text;
use lictor_logic::{Atom, Term, Value};
use lictor_policy::{History, Property};

use crate::Judge;
use crate::facts::{Labels, NameId, collect_atoms};

/// The facts that properties ask for and that have not occurred yet, and those that have.
///
/// Facts are told apart by the values that the properties name: `tool_call("refund")` is not `tool_call("pay")`.
#[derive(Clone, Debug)]
pub struct Coverage {
    patterns: Vec<Atom>,
    occurred: Vec<bool>,
    /// For each fact name, its patterns.
    asked: Vec<Vec<u32>>,
    /// For each fact name, the patterns that have not occurred.
    pending: Vec<Vec<u32>>,
}

/// A property of which some facts never occurred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PropertyGap {
    /// The place of the property in the policy.
    pub property: usize,
    /// Its facts that never occurred.
    pub missing: Vec<Atom>,
    /// Whether nothing occurred that could have violated it.
    pub is_unexercised: bool,
    /// Whether it needs evidence, and none of it occurred: then it cannot be judged.
    pub lacks_evidence: bool,
}

impl Coverage {
    /// Adds the facts that occurred elsewhere, under the same policy.
    pub fn merge(&mut self, other: &Coverage) {
        for (ours, theirs) in self.occurred.iter_mut().zip(&other.occurred) {
            *ours |= theirs;
        }
        let occurred = &self.occurred;
        self.pending.iter_mut().for_each(|pending| pending.retain(|pattern| !occurred[*pattern as usize]));
    }

    /// Marks the facts of an event. Unknown facts may be any, so they count.
    fn mark(&mut self, labels: &Labels) {
        for (name, values) in labels.iter() {
            self.mark_fact(name, |pattern| fits(pattern, values));
        }
        for (name, _) in &labels.unknown {
            self.mark_fact(*name, |_| true);
        }
    }

    #[inline]
    fn mark_fact(&mut self, name: NameId, fits: impl Fn(&Atom) -> bool) {
        let Coverage { patterns, occurred, pending, .. } = self;
        let Some(pending) = pending.get_mut(name as usize).filter(|pending| !pending.is_empty()) else { return };
        pending.retain(|&pattern| {
            let is_it = fits(&patterns[pattern as usize]);
            occurred[pattern as usize] |= is_it;
            !is_it
        });
    }

    /// Returns a fact by its number, as the properties ask for it.
    pub fn fact(&self, number: usize) -> Option<&Atom> {
        self.patterns.get(number)
    }

    fn has_occurred(&self, atom: &Atom) -> bool {
        let place = self.patterns.iter().position(|pattern| pattern == atom);
        place.is_none_or(|place| self.occurred[place])
    }
}

/// Whether a fact with these values matches an atom; a variable matches any value.
fn fits(atom: &Atom, values: &[Value]) -> bool {
    let fits = |(term, value): (&Term, &Value)| match term {
        Term::Value(asked) => asked == value,
        Term::Any | Term::Var(_) => true,
    };
    values.len() >= atom.terms.len() && atom.terms.iter().zip(values).all(fits)
}

/// Whether an unknown fact may match an atom; a value that is missing may be any.
fn may_fit(atom: &Atom, values: &[Option<Value>]) -> bool {
    atom.terms.iter().zip(values).all(|(term, value)| match (term, value) {
        (Term::Value(asked), Some(value)) => asked == value,
        _ => true,
    })
}

/// Returns the atom that any fact of a name matches.
fn any_values(name: &str) -> Atom {
    Atom { name: name.into(), terms: Box::default() }
}

impl Judge {
    /// Returns a coverage in which nothing has occurred.
    pub fn start_coverage(&self) -> Coverage {
        let mut patterns = BTreeSet::new();
        for parsed in &self.prepared().formulas {
            let mut atoms = Vec::new();
            collect_atoms(&parsed.arena, parsed.formula, true, &mut atoms);
            patterns.extend(atoms.into_iter().map(|(atom, _)| atom));
        }
        let needs = self.properties().iter().flat_map(|property| &property.needs);
        patterns.extend(needs.map(|name| any_values(name)));
        let patterns: Vec<Atom> = patterns.into_iter().collect();
        let plan = &self.prepared().plan;
        let mut asked = vec![Vec::new(); plan.names.len()];
        for (place, pattern) in patterns.iter().enumerate() {
            if let Some(name) = plan.id(&pattern.name) {
                asked[name as usize].push(place as u32);
            }
        }
        Coverage { occurred: vec![false; patterns.len()], patterns, pending: asked.clone(), asked }
    }

    /// Marks the facts of the event judged last.
    pub fn mark_coverage(&self, coverage: &mut Coverage) {
        coverage.mark(&self.labels);
    }

    /// Whether the event judged last has a fact that some property asks for.
    pub fn has_asked_fact(&self, coverage: &Coverage) -> bool {
        let is_asked = |(name, values): (NameId, &[Value])| {
            coverage.asked[name as usize].iter().any(|place| fits(&coverage.patterns[*place as usize], values))
        };
        !self.labels.unknown.is_empty() || self.labels.iter().any(is_asked)
    }

    /// Returns the numbers of the facts that are unknown at the event judged last.
    pub fn unknown_facts<'a>(&'a self, coverage: &'a Coverage) -> impl Iterator<Item = usize> + 'a {
        self.labels.unknown.iter().flat_map(|(name, values)| {
            let asked = coverage.asked[*name as usize].iter().map(|place| *place as usize);
            asked.filter(|place| may_fit(&coverage.patterns[*place], values))
        })
    }

    /// Returns the properties, by number, that ask for a fact.
    pub fn find_asking(&self, fact: &Atom) -> Vec<usize> {
        let asks = |parsed: &crate::prepared::PropertyFormula| {
            let mut atoms = Vec::new();
            collect_atoms(&parsed.arena, parsed.formula, true, &mut atoms);
            atoms.iter().any(|(atom, _)| atom == fact)
        };
        let formulas = self.prepared().formulas.iter().enumerate();
        formulas.filter(|(_, parsed)| asks(parsed)).map(|(property, _)| property).collect()
    }

    /// Returns the tools that the policy names under `tools:` and in the facts that properties ask for. A name may have
    /// `*`.
    pub fn named_tools(&self) -> &[Text] {
        &self.prepared().plan.named_tools
    }

    /// Whether a property needs evidence, and none of it occurred.
    pub fn lacks_evidence(&self, coverage: &Coverage, property: usize) -> bool {
        let property = &self.properties()[property];
        !self.has_evidence(property, |name| coverage.has_occurred(&any_values(name)))
    }

    /// Whether a property needs no evidence, or some of it is there.
    ///
    /// A policy that declares purposes has the evidence `declared`, whether or not an event serves one of them: a step
    /// for an undeclared purpose must not escape because no other step has a declared one. A history beyond the session
    /// may hold evidence from earlier logs, so its properties are always judged.
    pub(crate) fn has_evidence(&self, property: &Property, has_occurred: impl Fn(&str) -> bool) -> bool {
        let Property { needs, history, .. } = property;
        let has_purposes = !self.prepared().plan.purposes.is_empty();
        let is_there = |name: &Text| (name == "declared" && has_purposes) || has_occurred(name);
        needs.is_empty() || *history != History::Session || needs.iter().any(is_there)
    }

    /// Whether a property has time bounds, which mean nothing in a log without times.
    pub fn measures_time(&self, property: usize) -> bool {
        self.prepared().formulas[property].measures_time
    }

    /// Returns the properties of which some facts never occurred, in the order of the policy.
    pub fn find_gaps(&self, coverage: &Coverage) -> Vec<PropertyGap> {
        let gap = |(property, parsed): (usize, &crate::prepared::PropertyFormula)| {
            let mut atoms = Vec::new();
            collect_atoms(&parsed.arena, parsed.formula, true, &mut atoms);
            let breaks = || atoms.iter().filter(|(_, may_break)| *may_break).map(|(atom, _)| atom);
            // A property that only asks for something is violated by its absence, so every log exercises it.
            let nothing_breaks = breaks().next().is_some() && !breaks().any(|atom| coverage.has_occurred(atom));
            let lacks_evidence = self.lacks_evidence(coverage, property);
            let missing: BTreeSet<Atom> =
                atoms.iter().map(|(atom, _)| atom).filter(|atom| !coverage.has_occurred(atom)).cloned().collect();
            (lacks_evidence || !missing.is_empty()).then(|| PropertyGap {
                property,
                missing: missing.into_iter().collect(),
                is_unexercised: nothing_breaks || lacks_evidence,
                lacks_evidence,
            })
        };
        self.prepared().formulas.iter().enumerate().filter_map(gap).collect()
    }
}

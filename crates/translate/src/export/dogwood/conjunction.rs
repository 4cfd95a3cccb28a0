//! Conjunctions: premises that bind variables, and filters that compare or negate.

use std::collections::BTreeSet;

use super::{DogwoodType, MAX_ALTERNATIVES};

/// A variable of an `exists`, and its type.
#[derive(Clone, Debug)]
pub(super) struct BoundVariable {
    pub(super) name: String,
    pub(super) kind: DogwoodType,
}

/// A condition that happened, and the variables that it binds.
#[derive(Clone, Debug)]
pub(super) struct Premise {
    text: String,
    variables: BTreeSet<String>,
    /// Whether other variables must be bound before it.
    needs: bool,
}

/// Parts that hold together.
#[derive(Clone, Debug, Default)]
pub(super) struct Conjunction {
    pub(super) chosen: Vec<BoundVariable>,
    premises: Vec<Premise>,
    /// Comparisons and what did not happen.
    filters: Vec<String>,
    /// The variables of the filters.
    pub(super) needed: BTreeSet<String>,
}

impl Conjunction {
    pub(super) fn from_premise(text: String, variables: BTreeSet<String>) -> Vec<Conjunction> {
        vec![Conjunction { premises: vec![Premise { text, variables, needs: false }], ..Conjunction::default() }]
    }

    pub(super) fn from_filter(text: String, needed: BTreeSet<String>) -> Vec<Conjunction> {
        vec![Conjunction { filters: vec![text], needed, ..Conjunction::default() }]
    }

    pub(super) fn join(&self, other: &Conjunction) -> Conjunction {
        let mut joined = self.clone();
        joined.chosen.extend(other.chosen.iter().cloned());
        joined.premises.extend(other.premises.iter().cloned());
        joined.filters.extend(other.filters.iter().cloned());
        joined.needed.extend(other.needed.iter().cloned());
        joined
    }

    /// Returns the variables that it binds, without its own.
    pub(super) fn bound_variables(&self) -> BTreeSet<String> {
        let all = self.premises.iter().flat_map(|given| &given.variables);
        all.filter(|name| !self.chosen.iter().any(|chosen| chosen.name == **name)).cloned().collect()
    }

    /// Returns the variables in it that are bound outside.
    pub(super) fn free_variables(&self) -> BTreeSet<String> {
        let mut free = self.bound_variables();
        let inside = |name: &&String| !self.chosen.iter().any(|chosen| chosen.name == **name);
        free.extend(self.needed.iter().filter(inside).cloned());
        free
    }

    /// Returns the condition as text, if every variable of its own is bound.
    pub(super) fn write_text(&self) -> Result<String, String> {
        let is_known = |name: &String| self.premises.iter().any(|given| given.variables.contains(name));
        if let Some(open) = self.chosen.iter().find(|chosen| !is_known(&chosen.name)) {
            return Err(format!("no required fact binds `{}`", open.name));
        }
        // A premise that needs variables comes after those that bind them.
        let (needing, plain): (Vec<&Premise>, Vec<&Premise>) = self.premises.iter().partition(|given| given.needs);
        let given = plain.into_iter().chain(needing).map(|given| given.text.as_str());
        let parts: Vec<&str> = given.chain(self.filters.iter().map(String::as_str)).collect();
        let whole = match parts.len() {
            0 => "0 == 0".to_owned(),
            _ => parts.join(" && "),
        };
        let binders: String =
            self.chosen.iter().map(|chosen| format!("exists ({}: {}). ", chosen.name, chosen.kind.name())).collect();
        Ok(if binders.is_empty() { whole } else { format!("{binders}({whole})") })
    }
}

/// Wraps each alternative in a condition on the past, or negates them all; `needed` are further variables.
pub(super) fn wrap_alternatives(
    inner: &[Conjunction],
    needed: &BTreeSet<String>,
    positive: bool,
    wrap: impl Fn(String) -> String,
) -> Result<Vec<Conjunction>, String> {
    let mut found = Vec::new();
    for conjunction in inner {
        let variables = conjunction.bound_variables();
        let needed: BTreeSet<String> =
            conjunction.free_variables().union(needed).filter(|name| !variables.contains(*name)).cloned().collect();
        let given = Premise { text: wrap(conjunction.write_text()?), variables, needs: !needed.is_empty() };
        found.push(Conjunction { premises: vec![given], needed, ..Conjunction::default() });
    }
    if positive { Ok(found) } else { negate(&found) }
}

/// Returns that none of these holds.
pub(super) fn negate(list: &[Conjunction]) -> Result<Vec<Conjunction>, String> {
    let mut whole = Conjunction::default();
    for conjunction in list {
        whole.filters.push(format!("!({})", conjunction.write_text()?));
        whole.needed.extend(conjunction.free_variables());
    }
    Ok(vec![whole])
}

/// Returns that one of these holds, where all variables are bound.
pub(super) fn any_of(list: &[Conjunction]) -> Result<String, String> {
    match list {
        [] => Ok("0 == 1".to_owned()),
        [one] => one.write_text(),
        _ => Ok(format!("!({})", negate(list)?.first().map(|none| none.filters.join(" && ")).unwrap_or_default())),
    }
}

pub(super) fn product(left: &[Conjunction], right: &[Conjunction]) -> Result<Vec<Conjunction>, String> {
    if left.len() * right.len() > MAX_ALTERNATIVES {
        return Err(format!(
            "it has more than {MAX_ALTERNATIVES} ways to be violated, each of which would be a statement"
        ));
    }
    Ok(left.iter().flat_map(|one| right.iter().map(|other| one.join(other))).collect())
}

//! Conditions in parts: what happened, what gives variables their values, and what compares or denies them.

use std::collections::BTreeSet;

use super::{Kind, MOST};

/// A variable that is chosen, and its type.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// Something that happened, and the variables that it gives values.
#[derive(Clone, Debug)]
pub(super) struct Given {
    text: String,
    variables: BTreeSet<String>,
    /// Whether some others must have theirs already.
    needs: bool,
}

/// Parts that hold together.
#[derive(Clone, Debug, Default)]
pub(super) struct Conjunction {
    pub(super) chosen: Vec<Chosen>,
    given: Vec<Given>,
    /// Comparisons and what did not happen.
    filters: Vec<String>,
    /// The variables of the filters.
    pub(super) needed: BTreeSet<String>,
}

impl Conjunction {
    pub(super) fn given(text: String, variables: BTreeSet<String>) -> Vec<Conjunction> {
        vec![Conjunction { given: vec![Given { text, variables, needs: false }], ..Conjunction::default() }]
    }

    pub(super) fn filter(text: String, needed: BTreeSet<String>) -> Vec<Conjunction> {
        vec![Conjunction { filters: vec![text], needed, ..Conjunction::default() }]
    }

    pub(super) fn join(&self, other: &Conjunction) -> Conjunction {
        let mut joined = self.clone();
        joined.chosen.extend(other.chosen.iter().cloned());
        joined.given.extend(other.given.iter().cloned());
        joined.filters.extend(other.filters.iter().cloned());
        joined.needed.extend(other.needed.iter().cloned());
        joined
    }

    /// The variables that have values behind it, those chosen in it left out.
    pub(super) fn bound(&self) -> BTreeSet<String> {
        let all = self.given.iter().flat_map(|given| &given.variables);
        all.filter(|name| !self.chosen.iter().any(|chosen| chosen.name == **name)).cloned().collect()
    }

    /// The variables in it that are chosen outside.
    pub(super) fn free(&self) -> BTreeSet<String> {
        let mut free = self.bound();
        let inside = |name: &&String| !self.chosen.iter().any(|chosen| chosen.name == **name);
        free.extend(self.needed.iter().filter(inside).cloned());
        free
    }

    /// The condition, if everything that is chosen in it is given a value.
    pub(super) fn text(&self) -> Result<String, String> {
        let is_known = |name: &String| self.given.iter().any(|given| given.variables.contains(name));
        if let Some(open) = self.chosen.iter().find(|chosen| !is_known(&chosen.name)) {
            return Err(format!("no fact that must hold gives `{}` a value", open.name));
        }
        // What needs values stands behind what gives them.
        let (needing, plain): (Vec<&Given>, Vec<&Given>) = self.given.iter().partition(|given| given.needs);
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

/// Something that happened in one of these ways, or in none of them; `needed` are variables beside those in the ways.
pub(super) fn happened(
    inner: &[Conjunction],
    needed: &BTreeSet<String>,
    positive: bool,
    wrap: impl Fn(String) -> String,
) -> Result<Vec<Conjunction>, String> {
    let mut found = Vec::new();
    for conjunction in inner {
        let variables = conjunction.bound();
        let needed: BTreeSet<String> =
            conjunction.free().union(needed).filter(|name| !variables.contains(*name)).cloned().collect();
        let given = Given { text: wrap(conjunction.text()?), variables, needs: !needed.is_empty() };
        found.push(Conjunction { given: vec![given], needed, ..Conjunction::default() });
    }
    if positive { Ok(found) } else { denied(&found) }
}

/// That none of these holds.
pub(super) fn denied(list: &[Conjunction]) -> Result<Vec<Conjunction>, String> {
    let mut whole = Conjunction::default();
    for conjunction in list {
        whole.filters.push(format!("!({})", conjunction.text()?));
        whole.needed.extend(conjunction.free());
    }
    Ok(vec![whole])
}

/// That one of these holds, where all variables have values.
pub(super) fn closed(list: &[Conjunction]) -> Result<String, String> {
    match list {
        [] => Ok("0 == 1".to_owned()),
        [one] => one.text(),
        _ => Ok(format!("!({})", denied(list)?.first().map(|none| none.filters.join(" && ")).unwrap_or_default())),
    }
}

pub(super) fn product(left: &[Conjunction], right: &[Conjunction]) -> Result<Vec<Conjunction>, String> {
    if left.len() * right.len() > MOST {
        return Err(format!("it can be broken in more than {MOST} ways, and each would be a statement"));
    }
    Ok(left.iter().flat_map(|one| right.iter().map(|other| one.join(other))).collect())
}

//! The facts that a policy asks for, and their names.

use super::syntax::{Entity, Root};

/// The fact of a request that is decided; its values are what conditions on the history ask of the request.
pub(super) const REQUEST_FACT: &str = "asked";
/// The fact of every event with its number in the log.
pub(super) const TIMEPOINT_FACT: &str = "tp";
/// The fact of every event but the first, with the seconds since the one before.
pub(super) const ELAPSED_FACT: &str = "elapsed";

/// An event of a kind that has these fields; their values are the values of the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventFact {
    pub(super) name: String,
    pub(super) action: Entity,
    pub(super) kind: String,
    pub(super) fields: Vec<Vec<String>>,
    /// The fields that the policy takes for numbers.
    pub(super) numbers: Vec<bool>,
}

/// A part of the request that conditions on the history ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestPart {
    pub(super) root: Root,
    pub(super) path: Vec<String>,
    /// The variable for it.
    pub(super) variable: String,
    /// Whether the policy uses it as a number.
    pub(super) is_number: bool,
}

/// The facts that a policy asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) event_facts: Vec<EventFact>,
    pub(super) request_parts: Vec<RequestPart>,
    pub(super) asks_timepoint: bool,
    pub(super) asks_elapsed: bool,
}

impl Vocabulary {
    /// Returns the fact of an event, added if it is new; `numbers` marks the fields that must be numbers.
    pub(super) fn event_fact(
        &mut self,
        action: &Entity,
        kind: &str,
        fields: &[Vec<String>],
        numbers: &[bool],
    ) -> &EventFact {
        let is_it =
            |shape: &EventFact| shape.action == *action && shape.kind == kind && shape.fields.iter().eq(fields.iter());
        let place = self.event_facts.iter().position(is_it).unwrap_or_else(|| {
            let name = self.unused_name(&format!("{}.{}", to_identifier(&action.id), to_identifier(kind)));
            self.event_facts.push(EventFact {
                name,
                action: action.clone(),
                kind: kind.to_owned(),
                fields: fields.to_vec(),
                numbers: vec![false; fields.len()],
            });
            self.event_facts.len() - 1
        });
        let shape = &mut self.event_facts[place];
        for (known, needed) in shape.numbers.iter_mut().zip(numbers) {
            *known |= needed;
        }
        shape
    }

    /// Returns the index of a part of the request, added if it is new.
    pub(super) fn request_part(&mut self, root: Root, path: &[String]) -> usize {
        if let Some(known) = self.request_parts.iter().position(|part| part.root == root && part.path == path) {
            return known;
        }
        let root_name = match root {
            Root::Principal => "principal",
            Root::Action => "action",
            Root::Resource => "resource",
            Root::Context => "context",
        };
        let words: Vec<String> =
            std::iter::once(root_name.to_owned()).chain(path.iter().map(|w| to_identifier(w))).collect();
        let mut variable = words.join("_");
        while self.request_parts.iter().any(|part| part.variable == variable) {
            variable.push('_');
        }
        self.request_parts.push(RequestPart { root, path: path.to_vec(), variable, is_number: false });
        self.request_parts.len() - 1
    }

    fn unused_name(&self, name: &str) -> String {
        let is_used = |name: &str| self.event_facts.iter().any(|shape| shape.name == name);
        if !is_used(name) {
            return name.to_owned();
        }
        (2..).map(|count| format!("{name}.{count}")).find(|name| !is_used(name)).unwrap_or_default()
    }
}

/// Returns a name of letters, digits and underscores that does not begin with a digit.
pub(super) fn to_identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("x{name}") }
}

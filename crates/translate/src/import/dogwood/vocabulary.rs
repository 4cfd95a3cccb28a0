//! Which facts a policy asks for, and what they are called.

use super::syntax::{Entity, Root};

/// The fact of a request that is decided; its values are what conditions on the history ask of the request.
pub(super) const ASKED: &str = "asked";
/// The fact of every event with its number in the log.
pub(super) const TIMEPOINT: &str = "tp";
/// The fact of every event but the first, with the seconds since the one before.
pub(super) const ELAPSED: &str = "elapsed";

/// An event of a kind that has these fields; their values are the values of the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) action: Entity,
    pub(super) kind: String,
    pub(super) fields: Vec<Vec<String>>,
    /// The fields that the policy takes for numbers.
    pub(super) numbers: Vec<bool>,
}

/// A part of the request that conditions on the history ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) root: Root,
    pub(super) path: Vec<String>,
    /// The variable that stands for it.
    pub(super) variable: String,
    /// Does the policy take it for a number?
    pub(super) is_number: bool,
}

/// The facts that a policy asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) shapes: Vec<Shape>,
    pub(super) parts: Vec<Part>,
    pub(super) asks_timepoint: bool,
    pub(super) asks_elapsed: bool,
}

impl Vocabulary {
    /// The number of a shape; `numbers` tells which of its fields must be numbers.
    pub(super) fn shape(&mut self, action: &Entity, kind: &str, fields: &[Vec<String>], numbers: &[bool]) -> &Shape {
        let is_it =
            |shape: &Shape| shape.action == *action && shape.kind == kind && shape.fields.iter().eq(fields.iter());
        let place = self.shapes.iter().position(is_it).unwrap_or_else(|| {
            let name = self.unused(&format!("{}.{}", plain(&action.id), plain(kind)));
            self.shapes.push(Shape {
                name,
                action: action.clone(),
                kind: kind.to_owned(),
                fields: fields.to_vec(),
                numbers: vec![false; fields.len()],
            });
            self.shapes.len() - 1
        });
        let shape = &mut self.shapes[place];
        for (known, needed) in shape.numbers.iter_mut().zip(numbers) {
            *known |= needed;
        }
        shape
    }

    /// The number of a part of the request.
    pub(super) fn part(&mut self, root: Root, path: &[String]) -> usize {
        if let Some(known) = self.parts.iter().position(|part| part.root == root && part.path == path) {
            return known;
        }
        let root_name = match root {
            Root::Principal => "principal",
            Root::Action => "action",
            Root::Resource => "resource",
            Root::Context => "context",
        };
        let words: Vec<String> = std::iter::once(root_name.to_owned()).chain(path.iter().map(|w| plain(w))).collect();
        let mut variable = words.join("_");
        while self.parts.iter().any(|part| part.variable == variable) {
            variable.push('_');
        }
        self.parts.push(Part { root, path: path.to_vec(), variable, is_number: false });
        self.parts.len() - 1
    }

    fn unused(&self, name: &str) -> String {
        let is_used = |name: &str| self.shapes.iter().any(|shape| shape.name == name);
        if !is_used(name) {
            return name.to_owned();
        }
        (2..).map(|count| format!("{name}.{count}")).find(|name| !is_used(name)).unwrap_or_default()
    }
}

/// A name with nothing in it but letters, digits and underscores, that does not begin with a digit.
pub(super) fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("x{name}") }
}

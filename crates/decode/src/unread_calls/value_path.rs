//! The way to a value in a record, and what is known of the value by what is around it.

/// The way to a value in a record. It borrows everything: nearly all values are no calls.
pub(crate) struct ValuePath<'p> {
    pub(super) parent: Option<&'p ValuePath<'p>>,
    pub(super) step: PathElement<'p>,
    pub(super) depth: usize,
    /// Whether an agent says the value.
    pub(super) is_said: bool,
    /// Whether it is in what a tool returns, or the parameters of a request that is no call.
    pub(super) is_quoted: bool,
}

pub(super) enum PathElement<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> ValuePath<'p> {
    pub(super) fn add(parent: Option<&'p ValuePath<'p>>, step: PathElement<'p>) -> ValuePath<'p> {
        ValuePath {
            parent,
            step,
            depth: parent.map_or(0, |parent| parent.depth) + 1,
            is_said: parent.is_some_and(|parent| parent.is_said),
            is_quoted: parent.is_some_and(|parent| parent.is_quoted),
        }
    }

    pub(crate) fn write(&self, into: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(into);
            into.push('.');
        }
        match self.step {
            PathElement::Key(key) => into.push_str(key),
            PathElement::Index(index) => into.push_str(&index.to_string()),
        }
    }
}

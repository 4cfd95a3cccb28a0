//! Merges lists of named definitions.

use crate::draft::{FactDraft, PropertyDraft, TableDraft};
use crate::{Category, FactDefinition, LabelerDefinition, Place, Purpose, Tool};
use lictor_json::Text;

/// Two definitions that differ.
pub(super) struct Conflict {
    pub(super) what: &'static str,
    pub(super) name: Text,
    pub(super) first: Place,
    pub(super) second: Place,
}

/// A definition with a name, which can be merged with others.
pub(super) trait MergeItem {
    const WHAT: &'static str;
    fn name(&self) -> &str;
    fn place(&self) -> &Place;
    fn agrees(&self, other: &Self) -> bool;
}

/// Adds the items that are missing. The first `own` items are the policy's own, which win over any other definition.
pub(super) fn merge_items<T: MergeItem>(ours: &mut Vec<T>, theirs: Vec<T>, own: usize, conflicts: &mut Vec<Conflict>) {
    for item in theirs {
        match ours.iter().enumerate().find(|(_, other)| other.name() == item.name()) {
            None => ours.push(item),
            Some((place, other)) if place >= own && !other.agrees(&item) => conflicts.push(Conflict {
                what: T::WHAT,
                name: item.name().into(),
                first: other.place().clone(),
                second: item.place().clone(),
            }),
            Some(_) => {}
        }
    }
}

impl MergeItem for Purpose {
    const WHAT: &'static str = "the purpose";
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> &Place {
        &self.place
    }
    fn agrees(&self, other: &Purpose) -> bool {
        *self == Purpose { place: self.place.clone(), ..other.clone() }
    }
}

impl MergeItem for Tool {
    const WHAT: &'static str = "the tool";
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> &Place {
        &self.place
    }
    fn agrees(&self, other: &Tool) -> bool {
        *self == Tool { place: self.place.clone(), ..other.clone() }
    }
}

impl MergeItem for Category {
    const WHAT: &'static str = "the category";
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> &Place {
        &self.place
    }
    fn agrees(&self, other: &Category) -> bool {
        *self == Category { place: self.place.clone(), ..other.clone() }
    }
}

impl MergeItem for LabelerDefinition {
    const WHAT: &'static str = "the labeler";
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> &Place {
        &self.place
    }
    fn agrees(&self, other: &LabelerDefinition) -> bool {
        *self == LabelerDefinition { place: self.place.clone(), ..other.clone() }
    }
}

impl MergeItem for TableDraft {
    const WHAT: &'static str = "the table";
    fn name(&self) -> &str {
        &self.name
    }
    fn place(&self) -> &Place {
        &self.place
    }
    fn agrees(&self, other: &TableDraft) -> bool {
        self.value == other.value
    }
}

impl MergeItem for FactDraft {
    const WHAT: &'static str = "the fact";
    fn name(&self) -> &str {
        &self.definition.name
    }
    fn place(&self) -> &Place {
        &self.definition.place
    }
    fn agrees(&self, other: &FactDraft) -> bool {
        without_places(&self.definition) == without_places(&other.definition)
    }
}

impl MergeItem for PropertyDraft {
    const WHAT: &'static str = "the property";
    fn name(&self) -> &str {
        &self.property.id
    }
    fn place(&self) -> &Place {
        &self.property.place
    }
    fn agrees(&self, other: &PropertyDraft) -> bool {
        self.property == other.property
    }
}

fn without_places(definition: &FactDefinition) -> FactDefinition {
    let mut bare = FactDefinition { place: Place::default(), ..definition.clone() };
    bare.cases.iter_mut().for_each(|case| case.place = Place::default());
    bare
}

//! Values that are known before any event: literals, and the tables of a policy.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lictor_json::{Json, Text};

/// The number of elements from which a constant is searched by hashing.
const MIN_HASHED_ELEMENTS: usize = 12;

/// The tables of a policy: values that its expressions may look into by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tables(Arc<[(Text, Arc<Constant>)]>);

/// A value that is known beforehand.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) json: Json,
    index: Index,
}

#[derive(Debug)]
enum Index {
    None,
    Texts(HashSet<Text>),
    Members(HashMap<Text, Json>),
}

impl Tables {
    /// Returns the tables of these names. Expressions cannot see a table whose name is no identifier, and refuse one
    /// that has the name of a field of events.
    pub fn new(tables: &[(Text, Json)]) -> Tables {
        let constant = |(name, json): &(Text, Json)| (name.clone(), Arc::new(Constant::new(json.clone())));
        Tables(tables.iter().map(constant).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Constant>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, constant)| constant)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl Constant {
    pub(super) fn new(json: Json) -> Constant {
        let index = match &json {
            Json::Array(items) if items.len() >= MIN_HASHED_ELEMENTS => {
                let texts: Option<HashSet<Text>> = items.iter().map(|item| item.as_str().map(Text::from)).collect();
                texts.map_or(Index::None, Index::Texts)
            }
            Json::Object(object) if object.len() >= MIN_HASHED_ELEMENTS => {
                Index::Members(object.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
            }
            _ => Index::None,
        };
        Constant { json, index }
    }

    /// Whether a text is among the elements or the keys; none if there is no short way to tell.
    pub(super) fn has(&self, text: &str) -> Option<bool> {
        match (&self.index, &self.json) {
            (Index::Texts(texts), _) => Some(texts.contains(text)),
            (Index::Members(members), _) => Some(members.contains_key(text)),
            (Index::None, Json::Object(object)) => Some(object.get(text).is_some()),
            (Index::None, _) => None,
        }
    }

    /// Returns the value of a key.
    pub(super) fn member(&self, key: &str) -> Option<&Json> {
        match &self.index {
            Index::Members(members) => members.get(key),
            _ => self.json.get(key),
        }
    }
}

//! The fields of replies: which members each object may have, and of which types.
//!
//! Clients differ in what they read: some ignore the case of names, some take a list where a text is expected, some show
//! fields that no documentation has. So a client gets the members of the interface's table, in the types of the table,
//! and what Lictor judged is what every client reads. The tables are data, under `fields/`.

use std::collections::{HashMap, HashSet};
use std::fmt;

use lictor_json::{self as json, Json, JsonPath, JsonStep, Object, remove_members};

use crate::refusal::WireRefusal;

/// How many different stripped fields are remembered by name, and how much of a name.
const MAX_NAMES: usize = 32;
const MAX_NAME_CHARS: usize = 60;

/// What happens to a field of a reply that is in no table.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// The client does not get it.
    #[default]
    Strip,
    /// The client gets it unjudged, unless it has the name of a known field that is elsewhere, in any case.
    Pass,
    /// The reply is refused.
    Refuse,
}

/// The fields of the replies of an interface.
#[derive(Debug)]
pub(crate) struct FieldTable {
    objects: HashMap<&'static str, ObjectFields>,
    /// The names of all members, as readers compare them that ignore case.
    names: HashSet<String>,
}

/// The members of one object, sorted by name.
#[derive(Debug, Default)]
struct ObjectFields(Vec<(&'static str, Vec<FieldType>)>);

/// A type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldType {
    Text,
    Number,
    Flag,
    Any,
    AnyObject,
    Object(&'static str),
    List(&'static str),
}

/// A body with only known fields.
#[derive(Debug)]
pub(crate) struct KnownBody {
    pub(crate) text: String,
    pub(crate) value: Json,
}

/// The fields that were stripped from a reply: how many, and the names of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrippedFields {
    /// How many were stripped.
    pub count: usize,
    /// Their names as `OBJECT.MEMBER`, each once.
    pub names: Vec<String>,
}

impl FieldTable {
    /// Reads a table; its lines are explained in `fields/README.md`.
    pub(crate) fn parse(text: &'static str) -> FieldTable {
        let mut objects: HashMap<&'static str, ObjectFields> = HashMap::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (place, types) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let Some((object, member)) = place.split_once('.') else { continue };
            objects.entry(object).or_default().0.push((member, types.split('|').map(FieldType::parse).collect()));
        }
        objects.values_mut().for_each(|fields| fields.0.sort_unstable_by_key(|(name, _)| *name));
        let names = objects.values().flat_map(|fields| &fields.0).map(|(name, _)| fold_case(name)).collect();
        FieldTable { objects, names }
    }

    /// Returns `body` with only the known fields of the object `root`; none if it has no others. Values of other types
    /// than those of the table are refused.
    pub(crate) fn strip(
        &self,
        root: &'static str,
        (text, value): (&str, &Json),
        unknown: UnknownFields,
        stripped: &mut StrippedFields,
    ) -> Result<Option<KnownBody>, WireRefusal> {
        let mut check = Check { table: self, unknown, path: Vec::new(), removals: Vec::new(), stripped };
        check.read_value(value, FieldType::Object(root))?;
        if check.removals.is_empty() {
            return Ok(None);
        }
        let changed = remove_members(text, &check.removals);
        let changed = changed.and_then(|text| Some(KnownBody { value: json::parse_str(&text).ok()?, text }));
        changed
            .map(Some)
            .ok_or_else(|| WireRefusal::new("wire.shape", "unknown fields cannot be taken out of the reply"))
    }
}

impl ObjectFields {
    fn find(&self, key: &str) -> Option<&[FieldType]> {
        let place = self.0.binary_search_by_key(&key, |(name, _)| *name).ok()?;
        Some(&self.0[place].1)
    }
}

/// Returns a name as readers compare it that ignore case; some take the long s for an s, and the Kelvin sign for a k.
pub(crate) fn fold_case(name: &str) -> String {
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// A reply being checked.
struct Check<'a> {
    table: &'a FieldTable,
    unknown: UnknownFields,
    path: JsonPath,
    removals: Vec<JsonPath>,
    stripped: &'a mut StrippedFields,
}

impl Check<'_> {
    fn read_value(&mut self, value: &Json, wanted: FieldType) -> Result<(), WireRefusal> {
        match (value, wanted) {
            (Json::Object(object), FieldType::Object(name)) => self.read_object(object, name),
            (Json::Array(values), FieldType::List(name)) => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    match value {
                        Json::Object(object) => self.read_object(object, name)?,
                        _ => return Err(self.wrong_type("an object")),
                    }
                    self.path.pop();
                }
                Ok(())
            }
            _ => Err(self.wrong_type("an object")),
        }
    }

    fn read_object(&mut self, object: &Object, name: &'static str) -> Result<(), WireRefusal> {
        let table = self.table;
        let Some(fields) = table.objects.get(name) else { return Ok(()) };
        for (key, value) in object.iter() {
            self.path.push(JsonStep::Key(key.clone()));
            match fields.find(key) {
                // It carries nothing.
                _ if value.is_null() => {}
                Some(types) => match types.iter().find(|wanted| wanted.fits(value)) {
                    Some(wanted @ (FieldType::Object(_) | FieldType::List(_))) => self.read_value(value, *wanted)?,
                    Some(_) => {}
                    None => return Err(self.wrong_type(&describe(types))),
                },
                None => self.take_unknown(name, key)?,
            }
            self.path.pop();
        }
        Ok(())
    }

    fn take_unknown(&mut self, name: &str, key: &str) -> Result<(), WireRefusal> {
        match self.unknown {
            UnknownFields::Refuse => {
                let shown: String = key.chars().take(MAX_NAME_CHARS).collect();
                let message =
                    format!("`{name}` of the reply has the unknown field `{shown}`, so Lictor cannot judge it");
                Err(WireRefusal::new("wire.unknown", message))
            }
            // A text or a call in a place where only some clients look for it.
            UnknownFields::Pass if !self.table.names.contains(&fold_case(key)) => Ok(()),
            UnknownFields::Strip | UnknownFields::Pass => {
                self.removals.push(self.path.clone());
                self.stripped.add(name, key);
                Ok(())
            }
        }
    }

    fn wrong_type(&self, wanted: &str) -> WireRefusal {
        let shown: Vec<String> = self.path.iter().map(ToString::to_string).collect();
        WireRefusal::new("wire.shape", format!("`{}` of the reply is not {wanted}", shown.join(".")))
    }
}

impl StrippedFields {
    pub(crate) fn add(&mut self, object: &str, member: &str) {
        self.count += 1;
        let member: String = member.chars().take(MAX_NAME_CHARS).collect();
        let name = format!("{object}.{member}");
        if self.names.len() < MAX_NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

impl FieldType {
    fn parse(text: &'static str) -> FieldType {
        let inside = |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        match text {
            "text" => FieldType::Text,
            "number" => FieldType::Number,
            "flag" => FieldType::Flag,
            "object" => FieldType::AnyObject,
            _ => match (inside('{', '}'), inside('[', ']')) {
                (Some(name), _) => FieldType::Object(name),
                (None, Some(name)) => FieldType::List(name),
                (None, None) => FieldType::Any,
            },
        }
    }

    fn fits(self, value: &Json) -> bool {
        matches!(
            (self, value),
            (FieldType::Any, _)
                | (FieldType::Text, Json::String(_))
                | (FieldType::Number, Json::Number(_))
                | (FieldType::Flag, Json::Bool(_))
                | (FieldType::AnyObject | FieldType::Object(_), Json::Object(_))
                | (FieldType::List(_), Json::Array(_))
        )
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldType::Text => "a text",
            FieldType::Number => "a number",
            FieldType::Flag => "true or false",
            FieldType::Any => "a value",
            FieldType::AnyObject | FieldType::Object(_) => "an object",
            FieldType::List(_) => "a list",
        })
    }
}

fn describe(types: &[FieldType]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::api::Api;

    /// A type that is misspelled would let everything pass.
    #[test]
    fn tables_have_known_types_and_objects() {
        let tables = [
            (Api::Chat, include_str!("../fields/chat.txt")),
            (Api::Messages, include_str!("../fields/messages.txt")),
            (Api::Responses, include_str!("../fields/responses.txt")),
        ];
        for (api, text) in tables {
            let table = api.interface().fields();
            let mut places = HashSet::new();
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                let fields = line.split(':').next().unwrap_or_default();
                let [place, types] = fields.split_whitespace().collect::<Vec<_>>()[..] else {
                    panic!("{api:?}: {line}")
                };
                assert!(place.contains('.') && places.insert(place), "{api:?}: {line}");
                for one in types.split('|') {
                    let object = one.trim_matches(['{', '}', '[', ']']);
                    let is_object = one != object && table.objects.contains_key(object);
                    assert!(is_object || ["text", "number", "flag", "any", "object"].contains(&one), "{api:?}: {line}");
                }
            }
            assert!(["reply", "event"].iter().all(|root| table.objects.contains_key(root)), "{api:?}");
        }
    }
}

//! The fields of replies: which members each object may have, and of which types. An event of a stream has the members
//! of its kind only: a whole message in an event that only ends one would be read by some clients, and judged by none.
//!
//! Clients differ in what they read: some ignore the case of names, some take a list where a text is expected, some show
//! fields that no documentation has. So a client gets the members of the interface's table, in the types of the table,
//! and what Lictor judged is what every client reads. The tables are data, under `fields/`.

mod field_type;
mod sealed;

use std::collections::HashSet;

use lictor_json::{self as json, Json, JsonEdit, JsonPath, JsonStep, Object, edit_text, remove_members};

use crate::known::fold_case;
use crate::name::{is_id, is_member_name, is_name};
use crate::quoted::QuotedTexts;
use crate::refusal::WireRefusal;
use crate::segment::Edits;
use field_type::{FieldType, describe};
use sealed::{is_call_type, is_read_by_clients};

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

/// The members of counts and settings that hold a name.
const NAMED_SETTINGS: [&str; 9] =
    ["payer", "type", "service_tier", "inference_geo", "speed", "model", "search_context_size", "currency", "reason"];

/// The fields of the replies of an interface.
#[derive(Debug)]
pub(crate) struct FieldTable {
    objects: Vec<ObjectFields>,
    /// The names of all members, as readers compare them that ignore case.
    names: HashSet<String>,
}

/// The members of one object.
#[derive(Debug)]
struct ObjectFields {
    name: &'static str,
    /// Sorted by length and name: most names differ in length from the one that is looked for. Members of one name stay
    /// in the order of the table.
    members: Vec<(&'static str, Member)>,
}

/// A member of an object, by the kinds of the object that have it.
#[derive(Debug)]
struct Member {
    types: Vec<FieldType>,
    /// The values of `type` in the objects that have it; none if all have it.
    kinds: Vec<&'static str>,
}

/// The place of an object in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ObjectPlace(usize);

/// A body with only known fields.
#[derive(Debug)]
pub(crate) struct KnownBody {
    pub(crate) text: String,
    pub(crate) value: Json,
}

/// What is known of a body after its fields were checked.
#[derive(Debug)]
pub(crate) struct CheckedBody {
    /// The body with only known fields; none if it has no others.
    pub(crate) known: Option<KnownBody>,
    /// The texts beside its content.
    pub(crate) quoted: QuotedTexts,
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
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let fields = lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            let (object, member) = words.next()?.split_once('.')?;
            let types = words.next().unwrap_or_default();
            let kinds = words.next().filter(|word| *word == "in").and(words.next());
            Some((object, member, types, kinds))
        });
        let fields: Vec<(&'static str, &'static str, &'static str, Option<&'static str>)> = fields.collect();
        let mut objects: Vec<ObjectFields> = Vec::new();
        for (name, ..) in &fields {
            if find_object(&objects, name).is_none() {
                objects.push(ObjectFields { name, members: Vec::new() });
            }
        }
        for (name, member, types, kinds) in &fields {
            let types = types.split('|').map(|text| FieldType::parse(text, &objects)).collect();
            let kinds = kinds.map(|kinds| kinds.split(',').collect()).unwrap_or_default();
            if let Some(ObjectPlace(place)) = find_object(&objects, name) {
                objects[place].members.push((member, Member { types, kinds }));
            }
        }
        objects.iter_mut().for_each(|fields| fields.members.sort_by_key(|(name, _)| (name.len(), *name)));
        let names = fields.iter().map(|(_, member, ..)| fold_case(member)).collect();
        FieldTable { objects, names }
    }

    /// Returns `body` with only the known fields of the object `root`, and the texts in it that are judged beside its
    /// content. Values of other types than those of the table are refused.
    pub(crate) fn strip(
        &self,
        root: &'static str,
        (text, value): (&str, &Json),
        unknown: UnknownFields,
        stripped: &mut StrippedFields,
    ) -> Result<CheckedBody, WireRefusal> {
        let (removals, edits, quoted) = (Vec::new(), Edits::new(), QuotedTexts::default());
        let mut check = Check { table: self, unknown, path: Vec::new(), removals, edits, quoted, stripped };
        if let Some(root) = find_object(&self.objects, root) {
            check.read_value(value, FieldType::Object(root))?;
        }
        let Check { removals, edits, mut quoted, .. } = check;
        quoted.drop_within(&removals)?;
        if removals.is_empty() && edits.is_empty() {
            return Ok(CheckedBody { known: None, quoted });
        }
        // Only members are removed, so the paths of the edits stay as they are.
        let changed = if removals.is_empty() { Some(text.to_owned()) } else { remove_members(text, &removals) };
        let changed = changed.and_then(|text| edit_text(&text, &edits));
        let known = changed.and_then(|text| Some(KnownBody { value: json::parse_str(&text).ok()?, text }));
        match known {
            Some(known) => Ok(CheckedBody { known: Some(known), quoted }),
            None => Err(WireRefusal::new("wire.shape", "unknown fields cannot be taken out of the reply")),
        }
    }
}

impl ObjectFields {
    /// Returns the types of a member of an object of this kind.
    fn find(&self, key: &str, kind: &str) -> Option<&[FieldType]> {
        let order = |(name, _): &(&str, Member)| name.len().cmp(&key.len()).then_with(|| (*name).cmp(key));
        let start = self.members.partition_point(|member| order(member).is_lt());
        let named = self.members[start..].iter().take_while(|member| order(member).is_eq());
        named.map(|(_, member)| member).find(|member| member.is_in(kind)).map(|member| member.types.as_slice())
    }
}

impl Member {
    /// Whether objects of a kind have it. A `*` stands for any letters.
    fn is_in(&self, kind: &str) -> bool {
        let fits = |wanted: &&str| match wanted.split_once('*') {
            None => *wanted == kind,
            Some((start, end)) => kind.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
        };
        self.kinds.is_empty() || self.kinds.iter().any(fits)
    }
}

/// A reply being checked.
struct Check<'a> {
    table: &'a FieldTable,
    unknown: UnknownFields,
    path: JsonPath,
    removals: Vec<JsonPath>,
    /// The words that replace unknown ones.
    edits: Edits,
    quoted: QuotedTexts,
    stripped: &'a mut StrippedFields,
}

impl Check<'_> {
    fn read_value(&mut self, value: &Json, wanted: FieldType) -> Result<(), WireRefusal> {
        match (value, wanted) {
            (Json::Object(object), FieldType::Object(place)) => self.read_object(object, place),
            (Json::Array(values), FieldType::List(element)) => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    match value {
                        Json::Object(object) => self.read_object(object, element)?,
                        _ => return Err(self.wrong_type("an object")),
                    }
                    self.path.pop();
                }
                Ok(())
            }
            _ => Err(self.wrong_type("an object")),
        }
    }

    fn read_object(&mut self, object: &Object, ObjectPlace(place): ObjectPlace) -> Result<(), WireRefusal> {
        let table = self.table;
        let fields = &table.objects[place];
        let name = fields.name;
        let kind = object.get("type").and_then(Json::as_str).unwrap_or_default();
        for (key, value) in object.iter() {
            self.path.push(JsonStep::Key(key.clone()));
            match fields.find(key, kind) {
                // It carries nothing.
                _ if value.is_null() => {}
                // A summary of the conversation, which the client shows or sends back.
                Some(_) if is_summary(object, key) => self.quoted.add(key, value, &self.path),
                Some(types) => match types.iter().find(|wanted| wanted.fits(value)) {
                    Some(wanted @ (FieldType::Object(_) | FieldType::List(_))) => self.read_value(value, *wanted)?,
                    Some(FieldType::Quoted) => {
                        self.seal(name, value, true)?;
                        self.quoted.add(key, value, &self.path);
                    }
                    Some(FieldType::Result) => self.read_result(name, value)?,
                    Some(FieldType::Tokens) => self.seal(name, value, false)?,
                    Some(FieldType::Label) if value.as_str().is_some_and(is_call_type) => {
                        return Err(self.wrong_type("the type of a result"));
                    }
                    Some(FieldType::Counts) => self.read_counts(name, key, value)?,
                    Some(FieldType::Name) if !value.as_str().is_some_and(is_name) => {
                        self.take_unknown(name, key, value)?
                    }
                    Some(FieldType::Id) if !value.as_str().is_some_and(is_id) => self.take_unknown(name, key, value)?,
                    Some(FieldType::Enumeration(words)) => self.read_word(name, key, value, words)?,
                    Some(_) => {}
                    None => return Err(self.wrong_type(&describe(types))),
                },
                None => self.take_unknown(name, key, value)?,
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Reads a word of an enumeration. Another word is replaced.
    fn read_word(&mut self, name: &str, key: &str, value: &Json, words: &[&'static str]) -> Result<(), WireRefusal> {
        let said = value.as_str().unwrap_or_default();
        if said.is_empty() || words.iter().any(|word| word.eq_ignore_ascii_case(said)) {
            return Ok(());
        }
        match (self.unknown, words.first()) {
            (UnknownFields::Pass, _) => Ok(()),
            (UnknownFields::Strip, Some(first)) => {
                self.edits.push((self.path.clone(), JsonEdit::Set((*first).into())));
                self.stripped.add(name, key);
                Ok(())
            }
            _ => {
                let message =
                    format!("`{name}.{key}` of the reply is none of the known words, so Lictor cannot judge it");
                Err(WireRefusal::new("wire.unknown", message))
            }
        }
    }

    /// Reads counts and settings. A text in them is an unknown field.
    fn read_counts(&mut self, name: &str, key: &str, value: &Json) -> Result<(), WireRefusal> {
        match value {
            Json::String(text) if NAMED_SETTINGS.contains(&key) && is_name(text) => Ok(()),
            // An element of a list cannot be left out alone.
            Json::String(_) if matches!(self.path.last(), Some(JsonStep::Index(_))) => Err(self.wrong_type("a number")),
            Json::String(_) => self.take_unknown(name, key, value),
            Json::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.path.push(place.into());
                    self.read_counts(name, "", value)?;
                    self.path.pop();
                }
                Ok(())
            }
            Json::Object(members) => {
                for (key, value) in members.iter() {
                    self.path.push(JsonStep::Key(key.clone()));
                    match is_member_name(key) {
                        true => self.read_counts(name, key, value)?,
                        false => self.take_unknown(name, key, value)?,
                    }
                    self.path.pop();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_unknown(&mut self, name: &str, key: &str, value: &Json) -> Result<(), WireRefusal> {
        match self.unknown {
            UnknownFields::Refuse => {
                let shown: String = key.chars().take(MAX_NAME_CHARS).collect();
                let message =
                    format!("`{name}` of the reply has the unknown field `{shown}`, so Lictor cannot judge it");
                Err(WireRefusal::new("wire.unknown", message))
            }
            // A text or a call in a place where only some clients look for it.
            UnknownFields::Pass if !self.table.names.contains(&fold_case(key)) && !is_read_by_clients(key, value) => {
                self.seal(name, value, false)
            }
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

/// Returns the place of an object in a table.
fn find_object(objects: &[ObjectFields], name: &str) -> Option<ObjectPlace> {
    objects.iter().position(|fields| fields.name == name).map(ObjectPlace)
}

/// Whether a member is the summary in a block of the type `compaction`.
fn is_summary(object: &Object, key: &str) -> bool {
    let kind = || object.get("type").and_then(Json::as_str);
    key == "content" && matches!(kind(), Some("compaction" | "compaction_delta"))
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
                let (place, types, kinds) = match fields.split_whitespace().collect::<Vec<_>>()[..] {
                    [place, types] => (place, types, ""),
                    [place, types, "in", kinds] => (place, types, kinds),
                    _ => panic!("{api:?}: {line}"),
                };
                for kind in kinds.split(',') {
                    assert!(place.contains('.') && places.insert((place, kind)), "{api:?}: {line}");
                }
                for one in types.split('|') {
                    let object = one.trim_matches(['{', '}', '[', ']', '<', '>']);
                    let is_words = one.starts_with('<') && super::field_type::find_words(object).is_some();
                    let is_object = is_words || one != object && super::find_object(&table.objects, object).is_some();
                    let known = [
                        "text", "texts", "name", "label", "number", "flag", "object", "counts", "quoted", "value",
                        "result", "tokens", "echo", "id",
                    ];
                    assert!(is_object || known.contains(&one), "{api:?}: {line}");
                }
            }
            assert!(
                ["reply", "event"].iter().all(|root| super::find_object(&table.objects, root).is_some()),
                "{api:?}"
            );
        }
    }
}

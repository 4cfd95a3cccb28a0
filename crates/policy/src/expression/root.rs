//! The names that every expression knows, and paths that begin with them.

use super::borrowed_value::BorrowedValue;
use super::reason::{NoValue, Operation, UnknownCause};
use super::scope::EvaluationScope;
use super::value::{CelValue, List, Map, ValueType};
use lictor_event::Arguments;
use lictor_json::{Json, Text};

/// A field of an event, or something known beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Kind,
    Tool,
    Agent,
    Principal,
    To,
    Id,
    Session,
    Text,
    PlainText,
    Failed,
    Args,
    Result,
    Labels,
    Purposes,
    Categories,
    Subjects,
    More,
    Seq,
    Time,
    It,
    CallTool,
    CallArgs,
}

/// The names that need no prefix.
const FIELD_NAMES: [(&str, Root); 20] = [
    ("kind", Root::Kind),
    ("tool", Root::Tool),
    ("agent", Root::Agent),
    ("principal", Root::Principal),
    ("to", Root::To),
    ("id", Root::Id),
    ("session", Root::Session),
    ("text", Root::Text),
    ("plain_text", Root::PlainText),
    ("failed", Root::Failed),
    ("args", Root::Args),
    ("result", Root::Result),
    ("labels", Root::Labels),
    ("purposes", Root::Purposes),
    ("categories", Root::Categories),
    ("subjects", Root::Subjects),
    ("more", Root::More),
    ("seq", Root::Seq),
    ("time", Root::Time),
    ("it", Root::It),
];

/// The fields of `call`.
const CALL_FIELD_NAMES: [(&str, Root); 2] = [("tool", Root::CallTool), ("args", Root::CallArgs)];

/// From a name through keys and positions to a value.
#[derive(Clone, Debug)]
pub(super) struct FieldPath {
    pub(super) root: Root,
    pub(super) steps: Vec<PathStep>,
    /// Its place in the policy.
    pub(super) at: u32,
}

/// One step of a path.
#[derive(Clone, Debug)]
pub(super) enum PathStep {
    /// A key of a map.
    Key(Text),
    /// A position in a list.
    Place(usize),
    /// A key of a map or a position in a list, whichever it meets.
    KeyOrPlace(Text, usize),
}

impl Root {
    pub(super) fn from_name(name: &str) -> Option<Root> {
        FIELD_NAMES.iter().find(|(known, _)| *known == name).map(|(_, root)| *root)
    }

    pub(super) fn from_call_field(name: &str) -> Option<Root> {
        CALL_FIELD_NAMES.iter().find(|(known, _)| *known == name).map(|(_, root)| *root)
    }

    /// Returns the names of event fields.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        FIELD_NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns the names of the fields of `call`.
    pub(super) fn call_field_names() -> impl Iterator<Item = &'static str> + Clone {
        CALL_FIELD_NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns its bit in a set of roots.
    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns the bits of all roots that a name means.
    pub(super) fn name_bits(name: &str) -> u32 {
        match name {
            // The plain text is made of the text.
            "text" => Root::Text.bit() | Root::PlainText.bit(),
            "call" => CALL_FIELD_NAMES.iter().map(|(_, root)| root.bit()).sum(),
            name => Root::from_name(name).map_or(0, Root::bit),
        }
    }

    /// Returns the type of its values, if all have one type.
    pub(super) fn value_type(self) -> Option<ValueType> {
        match self {
            Root::Args | Root::Result | Root::It | Root::CallArgs => None,
            Root::Failed => Some(ValueType::Bool),
            Root::Seq => Some(ValueType::Number),
            Root::Time => Some(ValueType::Time),
            Root::More => Some(ValueType::Map),
            Root::Labels | Root::Purposes | Root::Categories | Root::Subjects => Some(ValueType::List),
            _ => Some(ValueType::Text),
        }
    }

    fn read<'a>(self, scope: &'a EvaluationScope<'a>, at: u32) -> Result<CelValue<'a>, NoValue> {
        let event = scope.event;
        let text = |text: &'a Option<Text>| text.as_deref().map(CelValue::borrowed_text);
        let names = |names: Option<&'a [Text]>| names.map(|names| CelValue::List(List::Texts(names)));
        let value = match self {
            Root::Kind => Some(CelValue::borrowed_text(event.kind.name())),
            Root::Tool => text(&event.tool),
            Root::Agent => text(&event.agent),
            Root::Principal => text(&event.principal),
            Root::To => text(&event.to),
            Root::Id => text(&event.id),
            Root::Session => text(&event.session),
            Root::Text => scope.full_text().map(CelValue::borrowed_text),
            Root::PlainText => scope.plain_text().map(CelValue::borrowed_text),
            Root::Failed => Some(CelValue::Bool(event.failed)),
            Root::Args | Root::CallArgs => match self.payload(scope) {
                Some(Arguments::Unparsed(text)) if text.is_empty() => {
                    return Err(UnknownCause::Unrecorded.to_unknown(at));
                }
                Some(Arguments::Unparsed(_)) => return Err(UnknownCause::Unparsed.to_unknown(at)),
                payload => payload.and_then(Arguments::value).map(CelValue::from),
            },
            Root::Result => scope.result(),
            Root::Labels => names(Some(&event.labels)),
            Root::Purposes => names(scope.purposes),
            Root::Categories => names(scope.categories),
            Root::Subjects => names(scope.subjects),
            Root::More => Some(CelValue::Map(Map::Json(&event.more))),
            Root::Seq => event.seq.map(CelValue::integer),
            Root::Time => event.time.map(CelValue::Time),
            Root::It => scope.it.clone(),
            Root::CallTool => scope.call.map(|call| CelValue::borrowed_text(&call.tool)),
        };
        value.ok_or(NoValue::Absent)
    }

    /// Returns the arguments of the event or of the call that it answers.
    fn payload<'a>(self, scope: &'a EvaluationScope<'a>) -> Option<&'a Arguments> {
        match self {
            Root::CallArgs => scope.call.and_then(|call| call.args.as_ref()),
            Root::Args => scope.event.args.as_ref(),
            _ => None,
        }
    }
}

impl FieldPath {
    pub(super) fn read<'a>(&'a self, scope: &'a EvaluationScope<'a>) -> Result<CelValue<'a>, NoValue> {
        if let BorrowedValue::Json(json) = self.borrow_value(scope) {
            return Ok(CelValue::from(json));
        }
        if self.is_unknown(scope) {
            return Err(UnknownCause::Unrecorded.to_unknown(self.at));
        }
        let mut value = self.root.read(scope, self.at)?;
        for step in &self.steps {
            value = match step.follow(value, self.at) {
                Err(NoValue::Absent) if self.is_in_free_text(scope) => {
                    return Err(UnknownCause::FreeText.to_unknown(self.at));
                }
                Err(NoValue::Absent) if self.is_open(scope) => {
                    return Err(UnknownCause::Unrecorded.to_unknown(self.at));
                }
                followed => followed?,
            };
        }
        Ok(value)
    }

    /// Returns the value of a path through arguments by reference, if the fast path can.
    pub(super) fn borrow_value<'a>(&self, scope: &'a EvaluationScope<'a>) -> BorrowedValue<'a> {
        if self.is_unknown(scope) {
            return BorrowedValue::Nothing;
        }
        let Some(mut json) = self.root.payload(scope).and_then(Arguments::value) else { return BorrowedValue::Nothing };
        for step in &self.steps {
            match step.find_in_json(json) {
                Some(Some(found)) => json = found,
                Some(None) if self.is_in_free_text(scope) || self.is_open(scope) => return BorrowedValue::Nothing,
                Some(None) => return BorrowedValue::Absent,
                None => return BorrowedValue::Nothing,
            }
        }
        BorrowedValue::Json(json)
    }
}

impl FieldPath {
    /// Whether a missing argument may be written in the text that the tool takes.
    fn is_in_free_text(&self, scope: &EvaluationScope<'_>) -> bool {
        match self.root {
            Root::Args => scope.event.has_free_text(),
            Root::CallArgs => scope.call.is_some_and(|call| call.has_free_text),
            _ => false,
        }
    }

    /// Whether a missing argument may be one of those that a sketch leaves open.
    fn is_open(&self, scope: &EvaluationScope<'_>) -> bool {
        scope.is_sketch && self.root == Root::Args
    }

    /// Whether nothing is known of its value, because the event is a sketch. Of the arguments only single ones are known.
    pub(super) fn is_unknown(&self, scope: &EvaluationScope<'_>) -> bool {
        scope.is_sketch
            && match self.root {
                Root::Kind | Root::Tool | Root::It => false,
                Root::Args => self.steps.is_empty(),
                _ => true,
            }
    }
}

impl PathStep {
    /// Returns the value it leads to from some JSON; none if that is no list or map as it expects.
    pub(super) fn find_in_json<'a>(&self, json: &'a Json) -> Option<Option<&'a Json>> {
        match (json, self) {
            (Json::Object(object), PathStep::Key(key) | PathStep::KeyOrPlace(key, _)) => Some(object.get(key)),
            (Json::Array(items), PathStep::Place(place) | PathStep::KeyOrPlace(_, place)) => Some(items.get(*place)),
            _ => None,
        }
    }

    /// Takes the step from a value.
    pub(super) fn follow<'a>(&self, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, NoValue> {
        match (value, self) {
            (CelValue::Map(map), PathStep::Key(key) | PathStep::KeyOrPlace(key, _)) => {
                map.get(key).ok_or(NoValue::Absent)
            }
            (CelValue::List(list), PathStep::Place(place) | PathStep::KeyOrPlace(_, place)) => {
                list.get(*place).ok_or(NoValue::Absent)
            }
            // `null` has no parts: the log says that there is no value.
            (CelValue::Null, _) => Err(NoValue::Absent),
            (value, PathStep::Place(_)) => {
                Err(UnknownCause::WrongTypes(Operation::Index, value.value_type(), ValueType::Number).to_unknown(at))
            }
            (value, _) => Err(UnknownCause::WrongType(Operation::Select, value.value_type()).to_unknown(at)),
        }
    }
}

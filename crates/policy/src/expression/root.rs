//! The names that every expression knows, and paths that begin with them.

use super::glance::Glance;
use super::reason::{Cause, Doing, Missing};
use super::scope::EvaluationScope;
use super::value::{CelValue, List, Map, Sort};
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

/// The names that stand by themselves.
const NAMED: [(&str, Root); 19] = [
    ("kind", Root::Kind),
    ("tool", Root::Tool),
    ("agent", Root::Agent),
    ("principal", Root::Principal),
    ("to", Root::To),
    ("id", Root::Id),
    ("session", Root::Session),
    ("text", Root::Text),
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
const OF_CALL: [(&str, Root); 2] = [("tool", Root::CallTool), ("args", Root::CallArgs)];

/// From a name through keys and positions to a value.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) steps: Vec<Step>,
    /// Where it was written.
    pub(super) at: u32,
}

/// One step of a path.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A key of a map.
    Key(Text),
    /// A position in a list.
    Place(usize),
    /// A key of a map or a position in a list, whichever it meets.
    Either(Text, usize),
}

impl Root {
    pub(super) fn named(name: &str) -> Option<Root> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, root)| *root)
    }

    pub(super) fn of_call(name: &str) -> Option<Root> {
        OF_CALL.iter().find(|(known, _)| *known == name).map(|(_, root)| *root)
    }

    /// The names of event fields.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The names of the fields of `call`.
    pub(super) fn names_of_call() -> impl Iterator<Item = &'static str> + Clone {
        OF_CALL.iter().map(|(name, _)| *name)
    }

    /// The bit that stands for it in a set.
    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The bits of all that a name stands for.
    pub(super) fn bits(name: &str) -> u32 {
        match name {
            "call" => OF_CALL.iter().map(|(_, root)| root.bit()).sum(),
            name => Root::named(name).map_or(0, Root::bit),
        }
    }

    /// The sort of its values, where they are all of one.
    pub(super) fn sort(self) -> Option<Sort> {
        match self {
            Root::Args | Root::Result | Root::It | Root::CallArgs => None,
            Root::Failed => Some(Sort::Bool),
            Root::Seq => Some(Sort::Number),
            Root::Time => Some(Sort::Time),
            Root::More => Some(Sort::Map),
            Root::Labels | Root::Purposes | Root::Categories | Root::Subjects => Some(Sort::List),
            _ => Some(Sort::Text),
        }
    }

    fn read<'a>(self, scope: &'a EvaluationScope<'a>, at: u32) -> Result<CelValue<'a>, Missing> {
        let event = scope.event;
        let text = |text: &'a Option<Text>| text.as_deref().map(CelValue::text);
        let names = |names: Option<&'a [Text]>| names.map(|names| CelValue::List(List::Texts(names)));
        let value = match self {
            Root::Kind => Some(CelValue::text(event.kind.name())),
            Root::Tool => text(&event.tool),
            Root::Agent => text(&event.agent),
            Root::Principal => text(&event.principal),
            Root::To => text(&event.to),
            Root::Id => text(&event.id),
            Root::Session => text(&event.session),
            Root::Text => scope.words().map(CelValue::text),
            Root::Failed => Some(CelValue::Bool(event.failed)),
            Root::Args | Root::CallArgs => match self.payload(scope) {
                Some(Arguments::Unparsed(_)) => return Err(Cause::Unparsed.at(at)),
                payload => payload.and_then(Arguments::value).map(CelValue::from),
            },
            Root::Result => scope.result(),
            Root::Labels => names(Some(&event.labels)),
            Root::Purposes => names(scope.purposes),
            Root::Categories => names(scope.categories),
            Root::Subjects => names(scope.subjects),
            Root::More => Some(CelValue::Map(Map::Json(&event.more))),
            Root::Seq => event.seq.map(CelValue::whole),
            Root::Time => event.time.map(CelValue::Time),
            Root::It => scope.it.clone(),
            Root::CallTool => scope.call.map(|call| CelValue::text(&call.tool)),
        };
        value.ok_or(Missing::Absent)
    }

    /// The arguments of the event or of the call that it answers.
    fn payload<'a>(self, scope: &'a EvaluationScope<'a>) -> Option<&'a Arguments> {
        match self {
            Root::CallArgs => scope.call.and_then(|call| call.args.as_ref()),
            Root::Args => scope.event.args.as_ref(),
            _ => None,
        }
    }
}

impl Path {
    pub(super) fn read<'a>(&'a self, scope: &'a EvaluationScope<'a>) -> Result<CelValue<'a>, Missing> {
        if let Glance::Json(json) = self.glance(scope) {
            return Ok(CelValue::from(json));
        }
        let mut value = self.root.read(scope, self.at)?;
        for step in &self.steps {
            value = step.take(value, self.at)?;
        }
        Ok(value)
    }

    /// What a path through arguments leads to, if that is simple to tell.
    pub(super) fn glance<'a>(&self, scope: &'a EvaluationScope<'a>) -> Glance<'a> {
        let Some(mut json) = self.root.payload(scope).and_then(Arguments::value) else { return Glance::Nothing };
        for step in &self.steps {
            match step.find(json) {
                Some(Some(found)) => json = found,
                Some(None) => return Glance::Absent,
                None => return Glance::Nothing,
            }
        }
        Glance::Json(json)
    }
}

impl Step {
    /// What it leads to from some JSON, if that is a list or a map as it expects.
    pub(super) fn find<'a>(&self, json: &'a Json) -> Option<Option<&'a Json>> {
        match (json, self) {
            (Json::Object(object), Step::Key(key) | Step::Either(key, _)) => Some(object.get(key)),
            (Json::Array(items), Step::Place(place) | Step::Either(_, place)) => Some(items.get(*place)),
            _ => None,
        }
    }

    /// Takes the step from a value.
    pub(super) fn take<'a>(&self, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, Missing> {
        match (value, self) {
            (CelValue::Map(map), Step::Key(key) | Step::Either(key, _)) => map.get(key).ok_or(Missing::Absent),
            (CelValue::List(list), Step::Place(place) | Step::Either(_, place)) => {
                list.get(*place).ok_or(Missing::Absent)
            }
            // Nothing has no parts; whoever wrote `null` said that it is not there.
            (CelValue::Null, _) => Err(Missing::Absent),
            (value, Step::Place(_)) => Err(Cause::Sorts(Doing::Index, value.sort(), Sort::Number).at(at)),
            (value, _) => Err(Cause::Sort(Doing::Select, value.sort()).at(at)),
        }
    }
}

//! The short way to plain values.
//!
//! Most conditions compare a field with a constant. Both can be looked at where they lie, without making a value that
//! could own something; that makes such a comparison several times faster. A glance fits two registers, and whatever is
//! not so simple is left to [`evaluate`](super::node::Node::evaluate), which comes to the same.

use std::cmp::Ordering;

use super::compare::order_numbers;
use super::evaluate::{Frame, Run};
use super::node::Node;
use super::root::{Root, Step};
use super::value::{CelValue, List, Map};
use lictor_json::{Json, Number, Text};

/// What a glance shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Glance<'x> {
    Json(&'x Json),
    Text(&'x Text),
    Value(&'x CelValue<'x>),
    Absent,
    /// Not simple to tell.
    Nothing,
}

impl Node {
    /// What it comes to, if that lies somewhere.
    #[inline]
    pub(super) fn glance<'x, 'a: 'x>(&'x self, run: &Run<'a>, frames: Option<&'x Frame<'x, 'a>>) -> Glance<'x> {
        match self {
            Node::Constant(constant) => Glance::Json(&constant.json),
            Node::Path(path) => {
                let (event, scope) = (run.scope.event, run.scope);
                match path.root {
                    Root::Args | Root::CallArgs => path.glance(scope),
                    _ if !path.steps.is_empty() => Glance::Nothing,
                    Root::Tool => Glance::text(event.tool.as_ref()),
                    Root::Text if event.result.is_none() => Glance::text(event.text.as_ref()),
                    Root::Agent => Glance::text(event.agent.as_ref()),
                    Root::Principal => Glance::text(event.principal.as_ref()),
                    Root::To => Glance::text(event.to.as_ref()),
                    Root::CallTool => Glance::text(scope.call.map(|call| &call.tool)),
                    Root::It => scope.it.as_ref().map_or(Glance::Absent, Glance::Value),
                    _ => Glance::Nothing,
                }
            }
            Node::Local(hops) => {
                let mut frame = frames;
                for _ in 0..*hops {
                    frame = frame.and_then(|frame| frame.outer);
                }
                frame.map_or(Glance::Nothing, |frame| Glance::Value(&frame.value))
            }
            Node::Select(from, step, _) => from.glance(run, frames).step(step),
            _ => Glance::Nothing,
        }
    }
}

impl<'x> Glance<'x> {
    fn text(text: Option<&'x Text>) -> Glance<'x> {
        text.map_or(Glance::Absent, Glance::Text)
    }

    /// What a step leads to.
    fn step(self, step: &Step) -> Glance<'x> {
        let found = match (self, step) {
            (Glance::Json(json), step) => match step.find(json) {
                Some(found) => found,
                None => return Glance::Nothing,
            },
            (Glance::Value(CelValue::Map(Map::Json(object))), Step::Key(key)) => object.get(key),
            (Glance::Value(CelValue::List(List::Json(items))), Step::Place(place)) => items.get(*place),
            (Glance::Absent, _) => None,
            _ => return Glance::Nothing,
        };
        found.map_or(Glance::Absent, Glance::Json)
    }

    /// The text, if it is one.
    #[inline]
    pub(super) fn as_text(self) -> Option<&'x str> {
        match self {
            Glance::Json(Json::String(text)) | Glance::Text(text) => Some(text),
            Glance::Value(CelValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[inline]
    fn as_number(self) -> Option<Number> {
        match self {
            Glance::Json(Json::Number(number)) | Glance::Value(CelValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// How long it is, if it is a text.
    #[inline]
    pub(super) fn length(self) -> usize {
        self.as_text().map_or(0, str::len)
    }

    /// Whether either of two is absent.
    #[inline]
    pub(super) fn is_absent(self, other: Glance<'_>) -> bool {
        matches!(self, Glance::Absent) || matches!(other, Glance::Absent)
    }

    /// The order of two texts or two numbers; none if that is not what they are.
    #[inline]
    pub(super) fn order(self, other: Glance<'_>) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (self.as_number(), other.as_number()) {
            return Some(order_numbers(left, right));
        }
        Some(self.as_text()?.cmp(other.as_text()?))
    }

    /// Whether two texts or two numbers are equal; none if that is not what they are.
    #[inline]
    pub(super) fn equals(self, other: Glance<'_>) -> Option<bool> {
        if let (Some(left), Some(right)) = (self.as_text(), other.as_text()) {
            return Some(left == right);
        }
        Some(order_numbers(self.as_number()?, other.as_number()?).is_eq())
    }
}

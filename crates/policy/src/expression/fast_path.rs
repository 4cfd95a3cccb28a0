//! The fast path to plain values.
//!
//! Most conditions compare a field with a constant. Both can be read where they are stored, without making a value that
//! could own something; that makes such a comparison several times faster. Everything else is left to
//! [`evaluate`](super::node::ExprNode::evaluate), which comes to the same.

use super::borrowed_value::BorrowedValue;
use super::node::ExprNode;
use super::root::{PathStep, Root};
use super::run::{LoopFrame, Run};
use super::value::{CelValue, List, Map};

impl ExprNode {
    /// Returns its value by reference, if the value is stored somewhere.
    #[inline]
    pub(super) fn borrow_value<'x, 'a: 'x>(
        &'x self,
        run: &Run<'a>,
        frames: Option<&'x LoopFrame<'x, 'a>>,
    ) -> BorrowedValue<'x> {
        match self {
            ExprNode::Constant(constant) => BorrowedValue::Json(&constant.json),
            ExprNode::Path(path) => {
                let (event, scope) = (run.scope.event, run.scope);
                match path.root {
                    _ if path.is_unknown(scope) => BorrowedValue::Nothing,
                    Root::Args | Root::CallArgs => path.borrow_value(scope),
                    _ if !path.steps.is_empty() => BorrowedValue::Nothing,
                    Root::Tool => BorrowedValue::from_text(event.tool.as_ref()),
                    Root::Text if event.result.is_none() => BorrowedValue::from_text(event.text.as_ref()),
                    Root::Agent => BorrowedValue::from_text(event.agent.as_ref()),
                    Root::Principal => BorrowedValue::from_text(event.principal.as_ref()),
                    Root::To => BorrowedValue::from_text(event.to.as_ref()),
                    Root::CallTool => BorrowedValue::from_text(scope.call.map(|call| &call.tool)),
                    Root::It => scope.it.as_ref().map_or(BorrowedValue::Absent, BorrowedValue::Value),
                    _ => BorrowedValue::Nothing,
                }
            }
            ExprNode::Local(hops) => {
                let mut frame = frames;
                for _ in 0..*hops {
                    frame = frame.and_then(|frame| frame.outer);
                }
                frame.map_or(BorrowedValue::Nothing, |frame| BorrowedValue::Value(&frame.value))
            }
            ExprNode::Select(from, step, _) => from.borrow_value(run, frames).follow_step(step),
            _ => BorrowedValue::Nothing,
        }
    }
}

impl<'x> BorrowedValue<'x> {
    /// Returns the value that a step leads to.
    fn follow_step(self, step: &PathStep) -> BorrowedValue<'x> {
        let found = match (self, step) {
            (BorrowedValue::Json(json), step) => match step.find_in_json(json) {
                Some(found) => found,
                None => return BorrowedValue::Nothing,
            },
            (BorrowedValue::Value(CelValue::Map(Map::Json(object))), PathStep::Key(key)) => object.get(key),
            (BorrowedValue::Value(CelValue::List(List::Json(items))), PathStep::Place(place)) => items.get(*place),
            (BorrowedValue::Absent, _) => None,
            _ => return BorrowedValue::Nothing,
        };
        found.map_or(BorrowedValue::Absent, BorrowedValue::Json)
    }
}

//! Evaluation of macros that loop over the elements of a list or the keys of a map.

use std::sync::Arc;

use super::commands::FoundCommands;
use super::function::Function;
use super::node::ExprNode;
use super::operator::Quantifier;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::{LoopFrame, LoopFrames, Run};
use super::value::{CelValue, List};

/// The reason why `&&` or `||` is open, for parts that do not decide it.
///
/// An absent part does not hold. It decides `&&`, whatever an unknown part is. An unknown part may still decide `||`.
pub(super) struct MissingOperand {
    /// The truth value that decides: `false` for `&&`, `true` for `||`.
    deciding: bool,
    missing: Option<NoValue>,
}

impl MissingOperand {
    pub(super) fn new(deciding: bool) -> MissingOperand {
        MissingOperand { deciding, missing: None }
    }

    pub(super) fn add(&mut self, no_value: NoValue) {
        let is_stronger = match (&self.missing, no_value) {
            (None, _) => true,
            (Some(NoValue::Absent), NoValue::Unknown(_)) => self.deciding,
            (Some(NoValue::Unknown(_)), NoValue::Absent) => !self.deciding,
            (Some(_), _) => false,
        };
        if is_stronger {
            self.missing = Some(no_value);
        }
    }

    /// Returns the outcome if no part decided.
    pub(super) fn finish(self) -> Result<bool, NoValue> {
        self.missing.map_or(Ok(!self.deciding), Err)
    }
}

/// Returns what `all`, `exists` or `exists_one` iterates over, and why it may have more elements.
///
/// Only the commands of a text can be known in part: a command that is found stays found, whatever the rest hides.
fn quantified_range<'a>(
    node: &'a ExprNode,
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    quantifier: Quantifier,
    at: u32,
) -> Result<(List<'a>, Option<NoValue>), NoValue> {
    if let ExprNode::Call(Function::Commands, parts, at) = node
        && let [value] = &**parts
    {
        let value = value.evaluate(run, frames)?;
        if matches!(value, CelValue::Text(_) | CelValue::List(_) | CelValue::Map(_)) {
            let found = FoundCommands::new(run, value, *at);
            return Ok((found.commands, found.missing));
        }
    }
    Ok((loop_range(node, run, frames, Operation::Loop(quantifier), at)?, None))
}

/// Returns what a loop iterates over: the elements of a list, the keys of a map.
fn loop_range<'a>(
    node: &'a ExprNode,
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    doing: Operation,
    at: u32,
) -> Result<List<'a>, NoValue> {
    match node.evaluate(run, frames)? {
        CelValue::List(list) => Ok(list),
        CelValue::Map(map) => {
            run.spend(map.len(), at)?;
            Ok(List::Made(map.members().into_iter().map(|(key, _)| CelValue::Text(key)).collect()))
        }
        other => Err(UnknownCause::WrongType(doing, other.value_type()).to_unknown(at)),
    }
}

/// Answers `all`, `exists` or `exists_one`.
pub(super) fn quantify<'a>(
    quantifier: Quantifier,
    parts: &'a [ExprNode; 2],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<bool, NoValue> {
    let [list, condition] = parts;
    let (list, more) = quantified_range(list, run, frames, quantifier, at)?;
    let mut missing = MissingOperand::new(quantifier != Quantifier::All);
    let mut found = 0_usize;
    for place in 0..list.len() {
        run.spend(1, at)?;
        let Some(value) = list.get(place) else { continue };
        let frame = LoopFrame { value, outer: frames };
        let truth = condition.test(run, Some(&frame), at);
        match (quantifier, truth) {
            (Quantifier::All, Ok(false)) => return Ok(false),
            (Quantifier::Exists, Ok(true)) => return Ok(true),
            (_, Ok(truth)) => found += usize::from(truth),
            // Counting needs to know every element.
            (Quantifier::One, Err(unknown @ NoValue::Unknown(_))) => return Err(unknown),
            (_, Err(no_value)) => missing.add(no_value),
        }
    }
    if let Some(more) = more {
        // Counting needs to know every element.
        if quantifier == Quantifier::One {
            return Err(more);
        }
        missing.add(more);
    }
    match quantifier {
        Quantifier::All | Quantifier::Exists => missing.finish(),
        // "One" also says that no other element is it, which is not known of an element that lacks a value.
        Quantifier::One => match (found, missing.finish()) {
            (0, Err(absent)) => Err(absent),
            (1, Err(absent)) => Err(absent.negate(at)),
            _ => Ok(found == 1),
        },
    }
}

/// Makes the list of `map` or `filter`.
pub(super) fn collect_elements<'a>(
    (list, condition, element): &'a (ExprNode, Option<ExprNode>, ExprNode),
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    let list = loop_range(list, run, frames, Operation::Collect, at)?;
    let mut values = Vec::new();
    for place in 0..list.len() {
        run.spend(1, at)?;
        let Some(value) = list.get(place) else { continue };
        let frame = LoopFrame { value, outer: frames };
        match condition.as_ref().map(|condition| condition.test(run, Some(&frame), at)) {
            None | Some(Ok(true)) => {}
            // A condition may ask how many are left, or that none is: that depends on an element that lacks a value.
            Some(Err(NoValue::Absent)) if run.is_condition => return Err(UnknownCause::Hole.to_unknown(at)),
            // As everywhere, a condition on something absent does not hold.
            Some(Ok(false) | Err(NoValue::Absent)) => continue,
            Some(Err(unknown)) => return Err(unknown),
        }
        match element.evaluate(run, Some(&frame)) {
            Ok(value) => values.push(value),
            // One element without it must not hide all the others.
            Err(NoValue::Absent) => return Err(UnknownCause::Hole.to_unknown(at)),
            Err(unknown) => return Err(unknown),
        }
    }
    let values: Arc<[CelValue<'a>]> = values.into();
    Ok(CelValue::List(List::Made(values)))
}

//! Evaluation of compiled expressions.
//!
//! A part of an expression has a value, is absent, or is unknown. A part that needs an absent part is absent;
//! otherwise, one that needs an unknown part is unknown. Only `&&` and `||` can do without a part: `false` decides the
//! one and `true` the other.
//!
//! An absent condition does not hold, and its opposite is unknown. So a condition must not be absent where its opposite
//! matters: under `!` and `!=`, before `?`, and as the value of something larger.

use std::borrow::Cow;

use super::arithmetic;
use super::compare::{are_equal, is_among, is_key, is_ordered};
use super::function::Function;
use super::loops::{MissingOperand, collect_elements, quantify};
use super::node::ExprNode;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::{LoopFrames, Run};
use super::value::{CelValue, List, Map};
use lictor_json::Number;

/// The work of compiling a pattern.
const PATTERN_COMPILE_WORK: usize = 20_000;

impl ExprNode {
    /// Evaluates it within the running loops.
    pub(super) fn evaluate<'a>(&'a self, run: &Run<'a>, frames: LoopFrames<'_, 'a>) -> Result<CelValue<'a>, NoValue> {
        match self {
            ExprNode::Constant(constant) => Ok(CelValue::from(&constant.json)),
            ExprNode::Path(path) => path.read(run.scope),
            ExprNode::Time(time) => Ok(CelValue::Time(*time)),
            ExprNode::Duration(nanoseconds) => Ok(CelValue::Duration(*nanoseconds)),
            ExprNode::Local(hops) => read_local(*hops, run, frames),
            ExprNode::Select(from, step, at) => step.follow(from.evaluate(run, frames)?, *at),
            ExprNode::Index(parts, at) => evaluate_index(parts, run, frames, *at),
            ExprNode::Negate(inner, at) => arithmetic::negate(&inner.evaluate(run, frames)?, *at),
            ExprNode::Arithmetic(operator, parts, at) => {
                let (left, right) = evaluate_pair(parts, run, frames)?;
                arithmetic::apply(run, *operator, left, right, *at)
            }
            ExprNode::Choice(parts, at) => choose(parts, run, frames, *at, |outcome| outcome.evaluate(run, frames)),
            ExprNode::List(items) => {
                let mut values = Ok(Vec::with_capacity(items.len()));
                for item in items {
                    values = require_both(values, item.evaluate(run, frames)).map(|(mut values, value)| {
                        values.push(value);
                        values
                    });
                }
                values.map(|values| CelValue::List(List::Made(values.into())))
            }
            ExprNode::Map(members, at) => evaluate_map(members, run, frames, *at),
            ExprNode::Call(function, parts, at) => match &**parts {
                [first] => function.apply_one(run, first.evaluate(run, frames)?, *at),
                [first, second] => {
                    let (first, second) = require_both(first.evaluate(run, frames), second.evaluate(run, frames))?;
                    function.apply_two(run, first, second, *at)
                }
                [first, second, third] => {
                    let pair = require_both(first.evaluate(run, frames), second.evaluate(run, frames));
                    let ((first, second), third) = require_both(pair, third.evaluate(run, frames))?;
                    function.apply_three(run, [first, second, third], *at)
                }
                _ => Err(NoValue::Absent),
            },
            ExprNode::Collect(parts, at) => collect_elements(parts, run, frames, *at),
            ExprNode::Order(..)
            | ExprNode::Equal(..)
            | ExprNode::And(..)
            | ExprNode::Or(..)
            | ExprNode::Not(..)
            | ExprNode::In(..)
            | ExprNode::Has(..)
            | ExprNode::TextTest(..)
            | ExprNode::MatchesFixed(..)
            | ExprNode::MatchesAny(..)
            | ExprNode::Quantify(..) => self.test(run, frames, 0).map(CelValue::Bool).map_err(|none| none.negate(0)),
        }
    }

    /// Evaluates a whole expression: a condition may be absent there.
    pub(super) fn evaluate_whole<'a>(&'a self, run: &Run<'a>) -> Result<CelValue<'a>, NoValue> {
        match self.is_test() {
            true => self.test(run, None, 0).map(CelValue::Bool),
            false => self.evaluate(run, None),
        }
    }

    /// Whether it is true; a value that is no truth value is unknown, at the place of what asks.
    pub(super) fn test<'a>(
        &'a self,
        run: &Run<'a>,
        frames: LoopFrames<'_, 'a>,
        asked_at: u32,
    ) -> Result<bool, NoValue> {
        match self {
            ExprNode::Order(order, parts, at) => {
                let (left, right) = (parts[0].borrow_value(run, frames), parts[1].borrow_value(run, frames));
                if let Some(ordering) = left.order(right) {
                    run.scan(left.length(), *at)?;
                    return Ok(order.holds(ordering));
                }
                if left.is_absent(right) {
                    return Err(NoValue::Absent);
                }
                let (left, right) = evaluate_pair(parts, run, frames)?;
                is_ordered(run, *order, &left, &right, *at)
            }
            ExprNode::Equal(wanted, parts, at) => {
                let (left, right) = (parts[0].borrow_value(run, frames), parts[1].borrow_value(run, frames));
                if let Some(equal) = left.equals(right) {
                    run.scan(left.length(), *at)?;
                    return Ok(equal == *wanted);
                }
                let negate = |no_value: NoValue| if *wanted { no_value } else { no_value.negate(*at) };
                if left.is_absent(right) {
                    return Err(negate(NoValue::Absent));
                }
                let (left, right) = evaluate_pair(parts, run, frames).map_err(negate)?;
                are_equal(run, &left, &right, *at).map(|equal| equal == *wanted)
            }
            ExprNode::And(parts, at) => decide_junction(parts, false, run, frames, *at),
            ExprNode::Or(parts, at) => decide_junction(parts, true, run, frames, *at),
            ExprNode::Not(inner, at) => match inner.test(run, frames, *at) {
                Ok(truth) => Ok(!truth),
                Err(no_value) => Err(no_value.negate(*at)),
            },
            ExprNode::Choice(parts, at) => choose(parts, run, frames, *at, |outcome| outcome.test(run, frames, *at)),
            ExprNode::In(parts, at) => is_member(parts, run, frames, *at),
            ExprNode::Has(inner) => match inner.evaluate(run, frames) {
                Ok(_) => Ok(true),
                Err(NoValue::Absent) => Ok(false),
                Err(unknown) => Err(unknown),
            },
            ExprNode::TextTest(test, parts, at) => {
                let (text, part) = (parts[0].borrow_value(run, frames), parts[1].borrow_value(run, frames));
                if let (Some(text), Some(part)) = (text.as_text(), part.as_text()) {
                    return test.holds(run, text, part, *at);
                }
                let (left, right) = evaluate_pair(parts, run, frames)?;
                match (&left, &right) {
                    (CelValue::Text(text), CelValue::Text(part)) => test.holds(run, text, part, *at),
                    (left, right) => Err(UnknownCause::WrongTypes(
                        Operation::Call(Function::Test(*test)),
                        left.value_type(),
                        right.value_type(),
                    )
                    .to_unknown(*at)),
                }
            }
            ExprNode::MatchesFixed(text, pattern, at) => {
                if let Some(text) = text.borrow_value(run, frames).as_text() {
                    run.spend(text.len() / 16, *at)?;
                    return Ok(pattern.is_found_in(text));
                }
                match text.evaluate(run, frames)? {
                    CelValue::Text(text) => {
                        run.spend(text.len() / 16, *at)?;
                        Ok(pattern.is_found_in(&text))
                    }
                    other => {
                        Err(UnknownCause::WrongType(Operation::Call(Function::Matches), other.value_type())
                            .to_unknown(*at))
                    }
                }
            }
            ExprNode::MatchesAny(parts, patterns, at) => match evaluate_pair(parts, run, frames)? {
                (CelValue::Text(text), CelValue::Text(pattern)) => {
                    run.spend(text.len() / 16, *at)?;
                    let found = patterns.is_found_in(&pattern, &text, || run.spend(PATTERN_COMPILE_WORK, *at))?;
                    found.ok_or(UnknownCause::Pattern.to_unknown(*at))
                }
                (left, right) => Err(UnknownCause::WrongTypes(
                    Operation::Call(Function::Matches),
                    left.value_type(),
                    right.value_type(),
                )
                .to_unknown(*at)),
            },
            ExprNode::Quantify(quantifier, parts, at) => quantify(*quantifier, parts, run, frames, *at),
            ExprNode::Constant(_)
            | ExprNode::Path(_)
            | ExprNode::Time(_)
            | ExprNode::Duration(_)
            | ExprNode::Local(_)
            | ExprNode::Select(..)
            | ExprNode::Index(..)
            | ExprNode::Negate(..)
            | ExprNode::Arithmetic(..)
            | ExprNode::List(_)
            | ExprNode::Map(..)
            | ExprNode::Call(..)
            | ExprNode::Collect(..) => match self.evaluate(run, frames)? {
                CelValue::Bool(truth) => Ok(truth),
                value => Err(UnknownCause::Condition(value.value_type()).to_unknown(asked_at)),
            },
        }
    }
}

fn read_local<'a>(hops: u32, run: &Run<'a>, mut frames: LoopFrames<'_, 'a>) -> Result<CelValue<'a>, NoValue> {
    for _ in 0..hops {
        frames = frames.and_then(|frame| frame.outer);
    }
    let Some(frame) = frames else { return Err(NoValue::Absent) };
    if let CelValue::Text(Cow::Owned(text)) = &frame.value {
        run.scan(text.len(), 0)?;
    }
    Ok(frame.value.clone())
}

/// Returns two parts that are both needed: absent if either is, or else unknown if either is.
pub(super) fn require_both<A, B>(left: Result<A, NoValue>, right: Result<B, NoValue>) -> Result<(A, B), NoValue> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(NoValue::Absent), _) | (_, Err(NoValue::Absent)) => Err(NoValue::Absent),
        (Err(unknown), _) | (_, Err(unknown)) => Err(unknown),
    }
}

fn evaluate_pair<'a>(
    parts: &'a [ExprNode; 2],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
) -> Result<(CelValue<'a>, CelValue<'a>), NoValue> {
    require_both(parts[0].evaluate(run, frames), parts[1].evaluate(run, frames))
}

/// Evaluates `condition ? then : otherwise`. If the condition has no value, neither has the result.
fn choose<'a, T>(
    [condition, then, otherwise]: &'a [ExprNode; 3],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
    evaluate: impl Fn(&'a ExprNode) -> Result<T, NoValue>,
) -> Result<T, NoValue> {
    let no_value = match condition.test(run, frames, at) {
        Ok(true) => return evaluate(then),
        Ok(false) => return evaluate(otherwise),
        Err(no_value) => no_value,
    };
    match (evaluate(then), evaluate(otherwise)) {
        // Whichever it is, it is missing.
        (Err(NoValue::Absent), Err(NoValue::Absent)) => Err(NoValue::Absent),
        _ => Err(no_value.negate(at)),
    }
}

/// Evaluates `&&` if `false` decides, `||` if `true` does.
fn decide_junction<'a>(
    parts: &'a [ExprNode],
    deciding: bool,
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<bool, NoValue> {
    let mut missing = MissingOperand::new(deciding);
    for part in parts {
        match part.test(run, frames, at) {
            Ok(truth) if truth == deciding => return Ok(deciding),
            Ok(_) => {}
            Err(no_value) => missing.add(no_value),
        }
    }
    missing.finish()
}

fn evaluate_index<'a>(
    parts: &'a [ExprNode; 2],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    let [from, key] = parts;
    let key = key.evaluate(run, frames);
    if let (ExprNode::Constant(constant), Ok(CelValue::Text(key))) = (from, &key)
        && constant.json.as_object().is_some()
    {
        return constant.member(key).map(CelValue::from).ok_or(NoValue::Absent);
    }
    match require_both(from.evaluate(run, frames), key)? {
        (CelValue::Map(map), CelValue::Text(key)) => map.get(&key).ok_or(NoValue::Absent),
        (CelValue::List(list), CelValue::Number(place)) => {
            let place = match place {
                Number::Float(place) if place.fract() != 0.0 => return Err(UnknownCause::Fraction.to_unknown(at)),
                Number::Float(place) => place as i64,
                Number::Integer(place) => place,
                Number::Wide(..) | Number::Long(_) => return Err(NoValue::Absent),
            };
            usize::try_from(place).ok().and_then(|place| list.get(place)).ok_or(NoValue::Absent)
        }
        (CelValue::Null, _) => Err(NoValue::Absent),
        (from, key) => {
            Err(UnknownCause::WrongTypes(Operation::Index, from.value_type(), key.value_type()).to_unknown(at))
        }
    }
}

fn evaluate_map<'a>(
    members: &'a [(ExprNode, ExprNode)],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    let mut made: Vec<(Cow<'a, str>, CelValue<'a>)> = Vec::with_capacity(members.len());
    for (key, value) in members {
        match require_both(key.evaluate(run, frames), value.evaluate(run, frames))? {
            (CelValue::Text(key), _) if made.iter().any(|(known, _)| *known == key) => {
                return Err(UnknownCause::Key.to_unknown(at));
            }
            (CelValue::Text(key), value) => made.push((key, value)),
            (key, _) => return Err(UnknownCause::WrongType(Operation::Key, key.value_type()).to_unknown(at)),
        }
    }
    Ok(CelValue::Map(Map::Made(made.into())))
}

fn is_member<'a>(
    parts: &'a [ExprNode; 2],
    run: &Run<'a>,
    frames: LoopFrames<'_, 'a>,
    at: u32,
) -> Result<bool, NoValue> {
    let [element, collection] = parts;
    if let (ExprNode::Constant(constant), Some(text)) = (collection, element.borrow_value(run, frames).as_text())
        && let Some(known) = constant.has(text)
    {
        run.scan(text.len(), at)?;
        return Ok(known);
    }
    match require_both(element.evaluate(run, frames), collection.evaluate(run, frames))? {
        (value, CelValue::List(list)) => is_among(run, &value, &list, at),
        (CelValue::Text(key), CelValue::Map(map)) => Ok(map.get(&key).is_some()),
        (value @ (CelValue::Bool(_) | CelValue::Number(_)), CelValue::Map(map)) => is_key(run, &value, &map, at),
        (value, collection) => {
            Err(UnknownCause::WrongTypes(Operation::In, value.value_type(), collection.value_type()).to_unknown(at))
        }
    }
}

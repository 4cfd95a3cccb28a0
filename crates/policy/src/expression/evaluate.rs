//! Evaluation of compiled expressions.
//!
//! A part of an expression has a value, is absent, or is unknown. What needs a part that is absent is absent itself;
//! failing that, what needs a part that is unknown is unknown. `&&` and `||` alone can do without: `false` decides the
//! one and `true` the other, whatever the rest is.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use super::arithmetic;
use super::compare::{equal, is_among, ordered};
use super::function::Function;
use super::node::{Node, Quantifier};
use super::reason::{Cause, Doing, Missing};
use super::scope::EvaluationScope;
use super::value::{CelValue, List, Map};
use lictor_json::Number;

/// How much work one evaluation may be: rounds of loops, elements compared, bytes made.
const MOST_WORK: usize = 4_000_000;

/// How many bytes of text are gone through in the time of one piece of work.
const SCANNED_AT_ONCE: usize = 64;

/// What compiling a pattern costs.
const PATTERN_WORK: usize = 20_000;

/// One evaluation.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) scope: &'a EvaluationScope<'a>,
    left: Cell<usize>,
}

/// The variables of the loops that are under way, the innermost first.
#[derive(Debug)]
pub(super) struct Frame<'f, 'a> {
    pub(super) value: CelValue<'a>,
    pub(super) outer: Option<&'f Frame<'f, 'a>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(scope: &'a EvaluationScope<'a>) -> Run<'a> {
        Run { scope, left: Cell::new(MOST_WORK) }
    }

    /// Counts work; too much makes the outcome unknown. Whoever writes a log must not be able to stop its reader.
    pub(super) fn spend(&self, work: usize, at: u32) -> Result<(), Missing> {
        match self.left.get().checked_sub(work) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Cause::Work.at(at)),
        }
    }

    /// Counts the work of going through so many bytes of text, which goes fast.
    pub(super) fn scan(&self, bytes: usize, at: u32) -> Result<(), Missing> {
        self.spend(bytes / SCANNED_AT_ONCE, at)
    }
}

type Frames<'f, 'a> = Option<&'f Frame<'f, 'a>>;

impl Node {
    /// What it comes to.
    pub(super) fn evaluate<'a>(&'a self, run: &Run<'a>, frames: Frames<'_, 'a>) -> Result<CelValue<'a>, Missing> {
        match self {
            Node::Constant(constant) => Ok(CelValue::from(&constant.json)),
            Node::Path(path) => path.read(run.scope),
            Node::Time(time) => Ok(CelValue::Time(*time)),
            Node::Duration(nanoseconds) => Ok(CelValue::Duration(*nanoseconds)),
            Node::Local(hops) => local(*hops, run, frames),
            Node::Select(from, step, at) => step.take(from.evaluate(run, frames)?, *at),
            Node::Index(parts, at) => index(parts, run, frames, *at),
            Node::Negate(inner, at) => arithmetic::negate(&inner.evaluate(run, frames)?, *at),
            Node::Arithmetic(operator, parts, at) => {
                let (left, right) = pair(parts, run, frames)?;
                arithmetic::apply(run, *operator, left, right, *at)
            }
            Node::Choice(parts, at) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = if condition.test(run, frames, *at)? { then } else { otherwise };
                chosen.evaluate(run, frames)
            }
            Node::List(items) => {
                let mut values = Ok(Vec::with_capacity(items.len()));
                for item in items {
                    values = both(values, item.evaluate(run, frames)).map(|(mut values, value)| {
                        values.push(value);
                        values
                    });
                }
                values.map(|values| CelValue::List(List::Made(values.into())))
            }
            Node::Map(members, at) => map(members, run, frames, *at),
            Node::Call(function, parts, at) => match &**parts {
                [first] => function.one(run, first.evaluate(run, frames)?, *at),
                [first, second] => {
                    let (first, second) = both(first.evaluate(run, frames), second.evaluate(run, frames))?;
                    function.two(run, first, second, *at)
                }
                [first, second, third] => {
                    let pair = both(first.evaluate(run, frames), second.evaluate(run, frames));
                    let ((first, second), third) = both(pair, third.evaluate(run, frames))?;
                    function.three(run, [first, second, third], *at)
                }
                _ => Err(Missing::Absent),
            },
            Node::Collect(parts, at) => collect(parts, run, frames, *at),
            Node::Order(..)
            | Node::Equal(..)
            | Node::And(..)
            | Node::Or(..)
            | Node::Not(..)
            | Node::In(..)
            | Node::Has(..)
            | Node::TextTest(..)
            | Node::MatchesFixed(..)
            | Node::MatchesAny(..)
            | Node::Quantify(..) => self.test(run, frames, 0).map(CelValue::Bool),
        }
    }

    /// Whether it is true; a value that is no truth value is unknown, at the place of what asks.
    pub(super) fn test<'a>(&'a self, run: &Run<'a>, frames: Frames<'_, 'a>, asked_at: u32) -> Result<bool, Missing> {
        match self {
            Node::Order(order, parts, at) => {
                let (left, right) = (parts[0].glance(run, frames), parts[1].glance(run, frames));
                if let Some(ordering) = left.order(right) {
                    run.scan(left.length(), *at)?;
                    return Ok(order.holds(ordering));
                }
                if left.is_absent(right) {
                    return Err(Missing::Absent);
                }
                let (left, right) = pair(parts, run, frames)?;
                ordered(run, *order, &left, &right, *at)
            }
            Node::Equal(wanted, parts, at) => {
                let (left, right) = (parts[0].glance(run, frames), parts[1].glance(run, frames));
                if let Some(equal) = left.equals(right) {
                    run.scan(left.length(), *at)?;
                    return Ok(equal == *wanted);
                }
                if left.is_absent(right) {
                    return Err(Missing::Absent);
                }
                let (left, right) = pair(parts, run, frames)?;
                equal(run, &left, &right, *at).map(|equal| equal == *wanted)
            }
            Node::And(parts, at) => decide(parts, false, run, frames, *at),
            Node::Or(parts, at) => decide(parts, true, run, frames, *at),
            Node::Not(inner, at) => inner.test(run, frames, *at).map(|truth| !truth),
            Node::In(parts, at) => is_in(parts, run, frames, *at),
            Node::Has(inner) => match inner.evaluate(run, frames) {
                Ok(_) => Ok(true),
                Err(Missing::Absent) => Ok(false),
                Err(unknown) => Err(unknown),
            },
            Node::TextTest(test, parts, at) => {
                let (text, part) = (parts[0].glance(run, frames), parts[1].glance(run, frames));
                if let (Some(text), Some(part)) = (text.as_text(), part.as_text()) {
                    return test.holds(run, text, part, *at);
                }
                let (left, right) = pair(parts, run, frames)?;
                match (&left, &right) {
                    (CelValue::Text(text), CelValue::Text(part)) => test.holds(run, text, part, *at),
                    (left, right) => {
                        Err(Cause::Sorts(Doing::Call(Function::Test(*test)), left.sort(), right.sort()).at(*at))
                    }
                }
            }
            Node::MatchesFixed(text, pattern, at) => {
                if let Some(text) = text.glance(run, frames).as_text() {
                    run.spend(text.len() / 16, *at)?;
                    return Ok(pattern.is_in(text));
                }
                match text.evaluate(run, frames)? {
                    CelValue::Text(text) => {
                        run.spend(text.len() / 16, *at)?;
                        Ok(pattern.is_in(&text))
                    }
                    other => Err(Cause::Sort(Doing::Call(Function::Matches), other.sort()).at(*at)),
                }
            }
            Node::MatchesAny(parts, patterns, at) => match pair(parts, run, frames)? {
                (CelValue::Text(text), CelValue::Text(pattern)) => {
                    run.spend(text.len() / 16, *at)?;
                    let found = patterns.is_in(&pattern, &text, || run.spend(PATTERN_WORK, *at))?;
                    found.ok_or(Cause::Pattern.at(*at))
                }
                (left, right) => Err(Cause::Sorts(Doing::Call(Function::Matches), left.sort(), right.sort()).at(*at)),
            },
            Node::Quantify(quantifier, parts, at) => quantify(*quantifier, parts, run, frames, *at),
            Node::Constant(_)
            | Node::Path(_)
            | Node::Time(_)
            | Node::Duration(_)
            | Node::Local(_)
            | Node::Select(..)
            | Node::Index(..)
            | Node::Negate(..)
            | Node::Arithmetic(..)
            | Node::Choice(..)
            | Node::List(_)
            | Node::Map(..)
            | Node::Call(..)
            | Node::Collect(..) => match self.evaluate(run, frames)? {
                CelValue::Bool(truth) => Ok(truth),
                value => Err(Cause::Condition(value.sort()).at(asked_at)),
            },
        }
    }
}

fn local<'a>(hops: u32, run: &Run<'a>, mut frames: Frames<'_, 'a>) -> Result<CelValue<'a>, Missing> {
    for _ in 0..hops {
        frames = frames.and_then(|frame| frame.outer);
    }
    let Some(frame) = frames else { return Err(Missing::Absent) };
    if let CelValue::Text(Cow::Owned(text)) = &frame.value {
        run.scan(text.len(), 0)?;
    }
    Ok(frame.value.clone())
}

/// Two parts that are both needed: absent if either is, or else unknown if either is.
pub(super) fn both<A, B>(left: Result<A, Missing>, right: Result<B, Missing>) -> Result<(A, B), Missing> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(Missing::Absent), _) | (_, Err(Missing::Absent)) => Err(Missing::Absent),
        (Err(unknown), _) | (_, Err(unknown)) => Err(unknown),
    }
}

fn pair<'a>(
    parts: &'a [Node; 2],
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
) -> Result<(CelValue<'a>, CelValue<'a>), Missing> {
    both(parts[0].evaluate(run, frames), parts[1].evaluate(run, frames))
}

/// `&&` if `false` decides, `||` if `true` does.
fn decide<'a>(
    parts: &'a [Node],
    deciding: bool,
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
    at: u32,
) -> Result<bool, Missing> {
    let mut open = Open::default();
    for part in parts {
        match part.test(run, frames, at) {
            Ok(truth) if truth == deciding => return Ok(deciding),
            Ok(_) => {}
            Err(missing) => open.add(missing),
        }
    }
    open.or(!deciding)
}

/// What stands in the way of a decision: an unknown weighs more than something absent, since it might have decided.
#[derive(Default)]
struct Open(Option<Missing>);

impl Open {
    fn add(&mut self, missing: Missing) {
        if matches!(self.0, None | Some(Missing::Absent)) {
            self.0 = Some(missing);
        }
    }

    fn or(self, truth: bool) -> Result<bool, Missing> {
        self.0.map_or(Ok(truth), Err)
    }
}

fn index<'a>(parts: &'a [Node; 2], run: &Run<'a>, frames: Frames<'_, 'a>, at: u32) -> Result<CelValue<'a>, Missing> {
    let [from, key] = parts;
    let key = key.evaluate(run, frames);
    if let (Node::Constant(constant), Ok(CelValue::Text(key))) = (from, &key)
        && constant.json.as_object().is_some()
    {
        return constant.member(key).map(CelValue::from).ok_or(Missing::Absent);
    }
    match both(from.evaluate(run, frames), key)? {
        (CelValue::Map(map), CelValue::Text(key)) => map.get(&key).ok_or(Missing::Absent),
        (CelValue::List(list), CelValue::Number(place)) => {
            let place = match place {
                Number::Float(place) if place.fract() != 0.0 => return Err(Cause::Fraction.at(at)),
                Number::Float(place) => place as i64,
                Number::Integer(place) => place,
                Number::Wide(..) => return Err(Missing::Absent),
            };
            usize::try_from(place).ok().and_then(|place| list.get(place)).ok_or(Missing::Absent)
        }
        (CelValue::Null, _) => Err(Missing::Absent),
        (from, key) => Err(Cause::Sorts(Doing::Index, from.sort(), key.sort()).at(at)),
    }
}

fn map<'a>(
    members: &'a [(Node, Node)],
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
    at: u32,
) -> Result<CelValue<'a>, Missing> {
    let mut made: Vec<(Cow<'a, str>, CelValue<'a>)> = Vec::with_capacity(members.len());
    for (key, value) in members {
        match both(key.evaluate(run, frames), value.evaluate(run, frames))? {
            (CelValue::Text(key), _) if made.iter().any(|(known, _)| *known == key) => return Err(Cause::Key.at(at)),
            (CelValue::Text(key), value) => made.push((key, value)),
            (key, _) => return Err(Cause::Sort(Doing::Key, key.sort()).at(at)),
        }
    }
    Ok(CelValue::Map(Map::Made(made.into())))
}

fn is_in<'a>(parts: &'a [Node; 2], run: &Run<'a>, frames: Frames<'_, 'a>, at: u32) -> Result<bool, Missing> {
    let [element, collection] = parts;
    if let (Node::Constant(constant), Some(text)) = (collection, element.glance(run, frames).as_text())
        && let Some(known) = constant.has(text)
    {
        run.scan(text.len(), at)?;
        return Ok(known);
    }
    match both(element.evaluate(run, frames), collection.evaluate(run, frames))? {
        (value, CelValue::List(list)) => is_among(run, &value, &list, at),
        (CelValue::Text(key), CelValue::Map(map)) => Ok(map.get(&key).is_some()),
        // What could be a key elsewhere is none here.
        (CelValue::Bool(_) | CelValue::Number(_), CelValue::Map(_)) => Ok(false),
        (value, collection) => Err(Cause::Sorts(Doing::In, value.sort(), collection.sort()).at(at)),
    }
}

/// What a loop goes through: the elements of a list, the keys of a map.
fn range<'a>(
    node: &'a Node,
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
    doing: Doing,
    at: u32,
) -> Result<List<'a>, Missing> {
    match node.evaluate(run, frames)? {
        CelValue::List(list) => Ok(list),
        CelValue::Map(map) => {
            run.spend(map.len(), at)?;
            Ok(List::Made(map.members().into_iter().map(|(key, _)| CelValue::Text(key)).collect()))
        }
        other => Err(Cause::Sort(doing, other.sort()).at(at)),
    }
}

fn quantify<'a>(
    quantifier: Quantifier,
    parts: &'a [Node; 2],
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
    at: u32,
) -> Result<bool, Missing> {
    let [list, condition] = parts;
    let list = range(list, run, frames, Doing::Loop(quantifier), at)?;
    let mut open = Open::default();
    let mut found = 0_usize;
    for place in 0..list.len() {
        run.spend(1, at)?;
        let Some(value) = list.get(place) else { continue };
        let frame = Frame { value, outer: frames };
        let truth = condition.test(run, Some(&frame), at);
        match (quantifier, truth) {
            (Quantifier::All, Ok(false)) => return Ok(false),
            (Quantifier::Exists, Ok(true)) => return Ok(true),
            (_, Ok(truth)) => found += usize::from(truth),
            // Counting needs to know every element; one that lacks what is asked for is not it.
            (Quantifier::One, Err(Missing::Absent)) => {}
            (Quantifier::One, Err(unknown)) => return Err(unknown),
            (_, Err(missing)) => open.add(missing),
        }
    }
    match quantifier {
        Quantifier::All => open.or(true),
        Quantifier::Exists => open.or(false),
        Quantifier::One => Ok(found == 1),
    }
}

fn collect<'a>(
    (list, condition, element): &'a (Node, Option<Node>, Node),
    run: &Run<'a>,
    frames: Frames<'_, 'a>,
    at: u32,
) -> Result<CelValue<'a>, Missing> {
    let list = range(list, run, frames, Doing::Collect, at)?;
    let mut values = Vec::new();
    for place in 0..list.len() {
        run.spend(1, at)?;
        let Some(value) = list.get(place) else { continue };
        let frame = Frame { value, outer: frames };
        match condition.as_ref().map(|condition| condition.test(run, Some(&frame), at)) {
            None | Some(Ok(true)) => {}
            // As everywhere, a condition on what is not there does not hold.
            Some(Ok(false) | Err(Missing::Absent)) => continue,
            Some(Err(unknown)) => return Err(unknown),
        }
        match element.evaluate(run, Some(&frame)) {
            Ok(value) => values.push(value),
            // One element without it must not hide all the others.
            Err(Missing::Absent) => return Err(Cause::Hole.at(at)),
            Err(unknown) => return Err(unknown),
        }
    }
    let values: Arc<[CelValue<'a>]> = values.into();
    Ok(CelValue::List(List::Made(values)))
}

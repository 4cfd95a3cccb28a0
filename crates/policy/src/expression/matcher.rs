//! Tests on single fields of events.

use super::compare::{are_equal, is_ordered};
use super::error::{ExpressionError, ExpressionErrors};
use super::function::Function;
use super::operator::Order;
use super::pattern::LiteralPattern;
use super::pattern_set::PatternSet;
use super::reason::{NoValue, Operation, UnknownCause};
use super::root::{FieldPath, PathStep, Root};
use super::run::Run;
use super::scope::EvaluationScope;
use super::value::{CelValue, ValueType};
use super::{Truth, to_truth};
use crate::glob::Glob;
use crate::{FactPattern, Test};
use lictor_event::parse_time;
use lictor_json::{Json, Text};

/// A compiled [`Test`]: a path, and what the value there must be like.
#[derive(Debug)]
pub struct Matcher {
    path: FieldPath,
    any: Vec<Alternative>,
    patterns: PatternSet,
}

#[derive(Debug)]
enum Alternative {
    Equal(Operand),
    Differ(Operand),
    Order(Order, Operand),
    Glob(Glob),
}

/// The value to compare with.
#[derive(Debug)]
enum Operand {
    Json(Json),
    Time(lictor_logic::Time),
}

impl Matcher {
    /// Compiles a test. Offsets of errors count bytes of its path.
    pub fn compile(test: &Test) -> Result<Matcher, ExpressionErrors> {
        let path = parse_path(&test.path)?;
        let mut any = Vec::with_capacity(test.any.len());
        let mut patterns = Vec::new();
        let mut errors = Vec::new();
        for pattern in &test.any {
            match compile_alternative(pattern, &path, &test.path) {
                Ok(PatternAlternative::Value(alternative)) => any.push(alternative),
                Ok(PatternAlternative::Regex(fixed)) => patterns.push(fixed),
                Err(error) => errors.push(error),
            }
        }
        let patterns = PatternSet::new(patterns);
        if errors.is_empty() { Ok(Matcher { path, any, patterns }) } else { Err(ExpressionErrors { errors }) }
    }

    /// Whether the value at the path is like one of the alternatives. A missing value is like none of them; whether it
    /// differs from something, as `!=` asks, is unknown.
    pub fn holds(&self, scope: &EvaluationScope<'_>) -> Truth {
        let run = Run::new(scope);
        let value = match self.path.read(scope) {
            Ok(value) => value,
            Err(missing) if self.any.iter().any(|one| matches!(one, Alternative::Differ(_))) => {
                return to_truth(Err(missing.negate(self.path.at)));
            }
            Err(missing) => return to_truth(Err(missing)),
        };
        let mut unknown = Ok(false);
        for alternative in &self.any {
            match alternative.holds(&run, &value, self.path.at) {
                Ok(true) => return Truth::True,
                Ok(false) => {}
                Err(missing) => unknown = Err(missing),
            }
        }
        match &value {
            _ if self.patterns.is_empty() => {}
            CelValue::Text(text) if self.patterns.is_any_found(text) => return Truth::True,
            CelValue::Text(_) => {}
            other => {
                unknown = Err(UnknownCause::WrongType(Operation::Call(Function::Matches), other.value_type())
                    .to_unknown(self.path.at))
            }
        }
        to_truth(unknown)
    }

    /// Whether it reads the field of this name; see [`Expression::reads`](super::Expression::reads).
    pub fn reads(&self, name: &str) -> bool {
        self.path.root.bit() & Root::name_bits(name) != 0
    }

    /// Returns the regular expressions that it looks for in the `text` of an event; none if it looks at the text in
    /// other ways, too.
    pub fn text_patterns(&self) -> Option<Vec<String>> {
        match self.path.root {
            Root::Text if !self.any.is_empty() || !self.path.steps.is_empty() => None,
            Root::PlainText => None,
            Root::Text => Some(self.patterns.written().map(str::to_owned).collect()),
            _ => Some(Vec::new()),
        }
    }
}

impl Alternative {
    fn holds(&self, run: &Run<'_>, value: &CelValue<'_>, at: u32) -> Result<bool, NoValue> {
        match (self, value) {
            (Alternative::Equal(wanted), value) => are_equal(run, value, &wanted.value(), at),
            (Alternative::Differ(wanted), value) => are_equal(run, value, &wanted.value(), at).map(|equal| !equal),
            (Alternative::Order(order, wanted), value) => is_ordered(run, *order, value, &wanted.value(), at),
            (Alternative::Glob(glob), CelValue::Text(text)) => Ok(glob.matches(text)),
            (Alternative::Glob(_), other) => {
                Err(UnknownCause::WrongType(Operation::Glob, other.value_type()).to_unknown(at))
            }
        }
    }
}

impl Operand {
    fn value(&self) -> CelValue<'_> {
        match self {
            Operand::Json(json) => CelValue::from(json),
            Operand::Time(time) => CelValue::Time(*time),
        }
    }
}

/// Reads `args.amount`, `result.items.0.price`, `call.tool`, `event.text`.
fn parse_path(written: &str) -> Result<FieldPath, ExpressionError> {
    let mut names = written.split('.');
    let first = names.next().unwrap_or_default();
    let (root, known): (Option<Root>, Vec<&str>) = match first {
        "call" => (names.next().and_then(Root::from_call_field), Root::call_field_names().collect()),
        "event" => (names.next().and_then(Root::from_name), Root::names().collect()),
        name => (Root::from_name(name), Root::names().chain(["call", "event"]).collect()),
    };
    let Some(root) = root else {
        let unknown = written.split('.').nth(usize::from(first == "call" || first == "event")).unwrap_or_default();
        let offset = written.len() - written.trim_start_matches("call.").trim_start_matches("event.").len();
        return Err(
            ExpressionError::new(offset, format!("unknown field `{unknown}`")).suggest(unknown, known.into_iter())
        );
    };
    let mut steps = Vec::new();
    for name in names {
        if name.is_empty() {
            return Err(ExpressionError::new(written.len(), "a name is missing between the dots"));
        }
        steps.push(match name.parse() {
            Ok(place) => PathStep::KeyOrPlace(Text::from(name), place),
            Err(_) => PathStep::Key(Text::from(name)),
        });
    }
    Ok(FieldPath { root, steps, at: 0 })
}

/// One alternative that a value may match.
enum PatternAlternative {
    Value(Alternative),
    Regex(LiteralPattern),
}

fn compile_alternative(
    pattern: &FactPattern,
    path: &FieldPath,
    written: &str,
) -> Result<PatternAlternative, ExpressionError> {
    let sort = path.root.value_type().filter(|_| path.steps.is_empty());
    if sort == Some(ValueType::List) && !matches!(pattern, FactPattern::Equal(Json::Array(_))) {
        let error = ExpressionError::new(0, format!("`{written}` is a list"));
        return Err(error.hint(format!("write it as a condition: `\"…\" in {written}`")));
    }
    if matches!(pattern, FactPattern::Glob(_) | FactPattern::Regex(_))
        && sort.is_some_and(|sort| sort != ValueType::Text)
    {
        return Err(ExpressionError::new(0, format!("`{written}` is not a text")));
    }
    let wanted = |json: &Json| match (sort, json) {
        (Some(ValueType::Time), json) => match json.as_str().and_then(parse_time) {
            Some(time) => Ok(Operand::Time(time)),
            None => {
                Err(ExpressionError::new(0, format!("`{json}` is not a time")).hint("write `2026-05-01T10:00:00Z`"))
            }
        },
        (Some(sort), json) if CelValue::from(json).value_type() != sort => {
            Err(ExpressionError::new(0, format!("`{written}` is {sort}, and `{json}` is not")))
        }
        (_, json) => Ok(Operand::Json(json.clone())),
    };
    let order = |order: Order, json: &Json| match CelValue::from(json).value_type() {
        ValueType::Number | ValueType::Text => wanted(json).map(|wanted| Alternative::Order(order, wanted)),
        sort => Err(ExpressionError::new(0, format!("`{}` does not work on {sort}", order.symbol()))),
    };
    let alternative = match pattern {
        FactPattern::Equal(json) => wanted(json).map(Alternative::Equal),
        FactPattern::Glob(glob) => Ok(Alternative::Glob(Glob::new(glob))),
        FactPattern::Regex(regex) => {
            let fixed = LiteralPattern::new(regex).map_err(|message| ExpressionError::new(0, message))?;
            return Ok(PatternAlternative::Regex(fixed));
        }
        FactPattern::Compare(operator, json) => match operator.as_str() {
            "<" => order(Order::Less, json),
            "<=" => order(Order::AtMost, json),
            ">" => order(Order::Greater, json),
            ">=" => order(Order::AtLeast, json),
            "!=" => wanted(json).map(Alternative::Differ),
            other => {
                Err(ExpressionError::new(0, format!("unknown comparison `{other}`")).hint("there are <, <=, >, >=, !="))
            }
        },
    };
    alternative.map(PatternAlternative::Value)
}

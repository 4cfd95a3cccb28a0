//! Tests on single fields of events.

use super::compare::{equal, ordered};
use super::error::{ExpressionError, ExpressionErrors};
use super::evaluate::Run;
use super::function::Function;
use super::node::Order;
use super::pattern::Fixed;
use super::patterns::Patterns;
use super::reason::{Cause, Doing, Missing};
use super::root::{Path, Root, Step};
use super::scope::EvaluationScope;
use super::value::{CelValue, Sort};
use super::{Truth, settle};
use crate::glob::Glob;
use crate::{FactPattern, Test};
use lictor_event::parse_time;
use lictor_json::{Json, Text};

/// A compiled [`Test`]: a path, and what the value there must be like.
#[derive(Debug)]
pub struct Matcher {
    path: Path,
    any: Vec<Alternative>,
    patterns: Patterns,
}

#[derive(Debug)]
enum Alternative {
    Equal(Wanted),
    Differ(Wanted),
    Order(Order, Wanted),
    Glob(Glob),
}

/// The value to compare with.
#[derive(Debug)]
enum Wanted {
    Json(Json),
    Time(lictor_logic::Time),
}

impl Matcher {
    /// Compiles a test. Offsets of errors count bytes of its path.
    pub fn compile(test: &Test) -> Result<Matcher, ExpressionErrors> {
        let path = path(&test.path)?;
        let mut any = Vec::with_capacity(test.any.len());
        let mut patterns = Vec::new();
        let mut errors = Vec::new();
        for pattern in &test.any {
            match alternative(pattern, &path, &test.path) {
                Ok(Either::Alternative(alternative)) => any.push(alternative),
                Ok(Either::Pattern(fixed, written)) => patterns.push((fixed, written)),
                Err(error) => errors.push(error),
            }
        }
        let patterns = Patterns::new(patterns);
        if errors.is_empty() { Ok(Matcher { path, any, patterns }) } else { Err(ExpressionErrors { errors }) }
    }

    /// Whether the value at the path is like one of the alternatives; one that is absent is not.
    pub fn holds(&self, scope: &EvaluationScope<'_>) -> Truth {
        let run = Run::new(scope);
        let value = match self.path.read(scope) {
            Ok(value) => value,
            Err(missing) => return settle(Err(missing)),
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
            CelValue::Text(text) if self.patterns.any_in(text) => return Truth::True,
            CelValue::Text(_) => {}
            other => unknown = Err(Cause::Sort(Doing::Call(Function::Matches), other.sort()).at(self.path.at)),
        }
        settle(unknown)
    }

    /// Whether it reads the field of this name; see [`Expression::reads`](super::Expression::reads).
    pub fn reads(&self, name: &str) -> bool {
        self.path.root.bit() & Root::bits(name) != 0
    }
}

impl Alternative {
    fn holds(&self, run: &Run<'_>, value: &CelValue<'_>, at: u32) -> Result<bool, Missing> {
        match (self, value) {
            (Alternative::Equal(wanted), value) => equal(run, value, &wanted.value(), at),
            (Alternative::Differ(wanted), value) => equal(run, value, &wanted.value(), at).map(|equal| !equal),
            (Alternative::Order(order, wanted), value) => ordered(run, *order, value, &wanted.value(), at),
            (Alternative::Glob(glob), CelValue::Text(text)) => Ok(glob.matches(text)),
            (Alternative::Glob(_), other) => Err(Cause::Sort(Doing::Glob, other.sort()).at(at)),
        }
    }
}

impl Wanted {
    fn value(&self) -> CelValue<'_> {
        match self {
            Wanted::Json(json) => CelValue::from(json),
            Wanted::Time(time) => CelValue::Time(*time),
        }
    }
}

/// Reads `args.amount`, `result.items.0.price`, `call.tool`, `event.text`.
fn path(written: &str) -> Result<Path, ExpressionError> {
    let mut names = written.split('.');
    let first = names.next().unwrap_or_default();
    let (root, known): (Option<Root>, Vec<&str>) = match first {
        "call" => (names.next().and_then(Root::of_call), Root::names_of_call().collect()),
        "event" => (names.next().and_then(Root::named), Root::names().collect()),
        name => (Root::named(name), Root::names().chain(["call", "event"]).collect()),
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
            Ok(place) => Step::Either(Text::from(name), place),
            Err(_) => Step::Key(Text::from(name)),
        });
    }
    Ok(Path { root, steps, at: 0 })
}

/// One way in which a value may be as it is asked for.
enum Either<'a> {
    Alternative(Alternative),
    /// A regular expression, and how it is written.
    Pattern(Fixed, &'a str),
}

fn alternative<'a>(pattern: &'a FactPattern, path: &Path, written: &str) -> Result<Either<'a>, ExpressionError> {
    let sort = path.root.sort().filter(|_| path.steps.is_empty());
    if sort == Some(Sort::List) && !matches!(pattern, FactPattern::Equal(Json::Array(_))) {
        let error = ExpressionError::new(0, format!("`{written}` is a list"));
        return Err(error.hint(format!("write it as a condition: `\"…\" in {written}`")));
    }
    if matches!(pattern, FactPattern::Glob(_) | FactPattern::Regex(_)) && sort.is_some_and(|sort| sort != Sort::Text) {
        return Err(ExpressionError::new(0, format!("`{written}` is no text")));
    }
    let wanted = |json: &Json| match (sort, json) {
        (Some(Sort::Time), json) => match json.as_str().and_then(parse_time) {
            Some(time) => Ok(Wanted::Time(time)),
            None => Err(ExpressionError::new(0, format!("`{json}` is no time")).hint("write `2026-05-01T10:00:00Z`")),
        },
        (Some(sort), json) if CelValue::from(json).sort() != sort => {
            Err(ExpressionError::new(0, format!("`{written}` is {sort}, and `{json}` is not")))
        }
        (_, json) => Ok(Wanted::Json(json.clone())),
    };
    let order = |order: Order, json: &Json| match CelValue::from(json).sort() {
        Sort::Number | Sort::Text => wanted(json).map(|wanted| Alternative::Order(order, wanted)),
        sort => Err(ExpressionError::new(0, format!("`{}` does not work on {sort}", order.symbol()))),
    };
    let alternative = match pattern {
        FactPattern::Equal(json) => wanted(json).map(Alternative::Equal),
        FactPattern::Glob(glob) => Ok(Alternative::Glob(Glob::new(glob))),
        FactPattern::Regex(regex) => {
            let fixed = Fixed::new(regex).map_err(|message| ExpressionError::new(0, message))?;
            return Ok(Either::Pattern(fixed, regex));
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
    alternative.map(Either::Alternative)
}

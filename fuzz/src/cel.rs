//! Expressions of policies: compiling and evaluating never fails, and where the interpreter of `cel` gives a value, so do
//! we, and the same.
//!
//! The first line is the event's arguments, the rest the expression. Compared are expressions of whole numbers, texts
//! and booleans without loops: on floats, maps and loops the two differ by intention (see the module `expression`). If
//! values are tested for equality, only values are compared: of values of two types that may be unknown here.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use cel::{Context, Env, Value};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Number, parse_str};
use lictor_policy::expression::{CelValue, Evaluation, EvaluationScope, Expression, Tables, Truth};

use crate::choices::Choices;

/// Words on which the two differ by intention or by the set of functions.
const DIFFERENT: [&str; 14] = [
    "double",
    "duration",
    "timestamp",
    "filter",
    "exists",
    "all",
    "map",
    "has",
    "anywhere",
    "matches",
    "dyn",
    "uint",
    "bytes",
    "type",
];

pub(crate) fn run(input: &[u8]) {
    let text = Choices(input).text();
    let (args, source) = text.split_once('\n').unwrap_or(("{}", text));
    let args = parse_str(args).unwrap_or_default();
    let tables = Tables::new(&[("t".into(), Json::Array(vec!["a".into(), 7.into()]))]);
    let expression = match Expression::compile(source, &tables) {
        Ok(expression) => expression,
        Err(errors) => {
            for error in &errors.errors {
                assert!(error.offset <= source.len(), "offset {} of {} bytes", error.offset, source.len());
                assert!(source.is_char_boundary(error.offset), "offset {} inside a character", error.offset);
            }
            return assert!(!errors.errors.is_empty(), "no error is named");
        }
    };
    let mut event = Event::new(Kind::ToolCall);
    event.text = Some("a text".into());
    event.args = Some(Arguments::Value(args.clone()));
    let scope = EvaluationScope::new(&event);
    let value = expression.evaluate(&scope);
    check_truth(expression.holds(&scope), &value);
    if is_comparable(source, &args) {
        compare(source, &args, &value);
    }
}

/// A condition holds as its value says.
fn check_truth(truth: Truth, value: &Evaluation<'_>) {
    match value {
        Evaluation::Value(CelValue::Bool(value)) => {
            assert_eq!(truth, if *value { Truth::True } else { Truth::False });
        }
        Evaluation::Value(_) | Evaluation::Unknown(_) => assert!(matches!(truth, Truth::Unknown(_)), "{truth:?}"),
        Evaluation::Absent => assert_eq!(truth, Truth::False),
    }
}

/// Whether an expression and its arguments are of the kinds that are compared.
fn is_comparable(source: &str, args: &Json) -> bool {
    let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_different = |word: &str| {
        // Of a number only decimal digits are sure to be whole and signed.
        DIFFERENT.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<i32>().is_err()
    };
    !words.any(is_different) && !source.contains(['{', '?']) && !has_float_text(source) && is_plain(args, 0)
}

fn has_float_text(source: &str) -> bool {
    let bytes = source.as_bytes();
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|place| bytes[place] == b'.' && (is_digit(place + 1) || place > 0 && is_digit(place - 1)))
}

/// Whether a value holds nothing but whole numbers, texts, booleans and lists of them, in one object.
fn is_plain(value: &Json, depth: usize) -> bool {
    match value {
        Json::Bool(_) | Json::String(_) | Json::Number(Number::Integer(_)) => depth > 0,
        Json::Array(items) => depth > 0 && items.iter().all(|item| is_plain(item, depth + 1)),
        Json::Object(object) => depth == 0 && object.iter().all(|(_, value)| is_plain(value, depth + 1)),
        Json::Null | Json::Number(_) => false,
    }
}

/// Where the interpreter gives a value, so do we, and the same.
fn compare(source: &str, args: &Json, ours: &Evaluation<'_>) {
    static ENV: OnceLock<Arc<Env>> = OnceLock::new();
    let env = ENV.get_or_init(|| {
        let mut env = Env::stdlib();
        let added = env.add_extension(cel::extensions::strings);
        assert!(added.is_ok(), "the functions on texts");
        Arc::new(env)
    });
    let mut context = Context::with_env(Arc::clone(env));
    context.add_variable_from_value("args", theirs(args));
    let Ok(program) = env.compile(source) else { return };
    let Ok(theirs) = program.execute(&context) else { return };
    match ours {
        Evaluation::Value(ours) => assert!(is_same(ours, &theirs), "{source}\nours {ours:?}\ntheirs {theirs:?}"),
        Evaluation::Absent | Evaluation::Unknown(_) if has_equality(source) => {}
        Evaluation::Absent | Evaluation::Unknown(_) => {
            assert!(!is_scalar(&theirs), "{source}\nours {ours:?}\ntheirs {theirs:?}");
        }
    }
}

/// Whether values may be tested for equality.
fn has_equality(source: &str) -> bool {
    source.contains("==")
        || source.contains("!=")
        || source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "in")
}

fn theirs(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(Number::Integer(value)) => Value::Int(*value),
        Json::Number(number) => Value::Float(number.as_f64()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(theirs).collect::<Vec<_>>()),
        Json::Object(object) => {
            let members = object.iter().map(|(key, value)| (key.to_string(), theirs(value)));
            Value::from(members.collect::<HashMap<String, Value>>())
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::String(_))
}

fn is_same(ours: &CelValue<'_>, theirs: &Value) -> bool {
    match (ours, theirs) {
        (CelValue::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (CelValue::Number(Number::Integer(ours)), Value::Int(theirs)) => ours == theirs,
        (CelValue::Text(ours), Value::String(theirs)) => **ours == ***theirs,
        // Lists and maps are compared element by element by the tests of the expressions.
        _ => !is_scalar(theirs),
    }
}

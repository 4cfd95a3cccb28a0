//! Expressions and matchers: their values, their errors, and their agreement with the `cel` crate.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod absent;
mod cases;
mod differential;
mod limits;
mod matcher;
mod messages;

use lictor_event::{Arguments, Event, Kind, parse_time};
use lictor_json::{Json, parse_str};
use lictor_policy::expression::{AnsweredCall, CelValue, Evaluation, EvaluationScope, Expression, Tables};

/// A call with a bit of everything.
fn event() -> Event {
    let args = r#"{
        "amount": 20000, "rate": 0.5, "currency": "EUR", "note": "Für Bob", "urgent": true, "nothing": null,
        "huge": 18446744073709551616, "empty": {}, "none": [],
        "tags": ["a", "b", "c"],
        "items": [{"sku": "x1", "price": 5}, {"sku": "x2", "price": 12.5}, {"sku": "x3"}],
        "deep": {"er": {"still": [10, [20, 30]]}, "content-type": "text/plain"}
    }"#;
    let mut event = Event::new(Kind::ToolCall);
    event.tool = Some("transfer".into());
    event.agent = Some("clerk".into());
    event.session = Some("s1".into());
    event.seq = Some(7);
    event.time = parse_time("2026-05-01T10:30:15.250Z");
    event.args = Some(Arguments::from_json(parse_str(args).unwrap()));
    event.labels = vec!["pii".into(), "external".into()];
    event.purposes = Some(vec!["payment".into()]);
    event.more.insert("region", "eu");
    event
}

fn tables() -> Tables {
    let many: Vec<String> = (0..100).map(|number| format!("\"c{number}\": {number}")).collect();
    let table = |text: &str| parse_str(text).unwrap();
    Tables::new(&[
        ("limits".into(), table(r#"{"EUR": 10000, "USD": 12000}"#)),
        ("blocked".into(), table(r#"["mallory", "eve"]"#)),
        ("codes".into(), table(&format!("{{{}}}", many.join(",")))),
        ("patterns".into(), table(r#"["^Für", "[0-9]+"]"#)),
    ])
}

fn call() -> AnsweredCall {
    let args = Some(Arguments::Value(parse_str(r#"{"customer": "bob"}"#).unwrap()));
    AnsweredCall { tool: "lookup".into(), args, has_free_text: false }
}

/// Returns the value of an expression, in words.
fn outcome(source: &str, scope: &EvaluationScope<'_>) -> String {
    let expression = Expression::compile(source, &tables()).unwrap_or_else(|errors| panic!("{source}: {errors}"));
    match expression.evaluate(scope) {
        Evaluation::Value(value) => to_json(&value).to_string(),
        Evaluation::Absent => "absent".to_owned(),
        Evaluation::Unknown(reason) => format!("unknown: {reason}"),
    }
}

/// A value as JSON; times and lengths of time in words.
fn to_json(value: &CelValue<'_>) -> Json {
    match value {
        CelValue::Null => Json::Null,
        CelValue::Bool(value) => Json::Bool(*value),
        CelValue::Number(number) => Json::Number(number.clone()),
        CelValue::Text(text) => Json::from(&**text),
        CelValue::List(list) => Json::Array((0..list.len()).map(|place| to_json(&list.get(place).unwrap())).collect()),
        CelValue::Map(_) => Json::from("a map"),
        CelValue::Time(time) => Json::from(lictor_event::write_time(*time)),
        CelValue::Duration(nanoseconds) => Json::from(format!("{nanoseconds}ns")),
    }
}

//! Tests on single fields.

use lictor_event::{Arguments, Event, Kind};
use lictor_json::Json;
use lictor_policy::expression::{EvaluationScope, Matcher, Truth};
use lictor_policy::{FactPattern, Test};

use super::{call, event};

const MAY_READ_NUMBER: &str = "unknown: a number is compared with a text, and a tool may read one as the other";

fn test(path: &str, any: Vec<FactPattern>) -> Test {
    Test { path: path.into(), any }
}

fn compare(operator: &str, number: i64) -> FactPattern {
    FactPattern::Compare(operator.into(), Json::from(number))
}

fn text(text: &str) -> FactPattern {
    FactPattern::Equal(Json::from(text))
}

#[test]
fn matcher_holds_if_one_alternative_matches() {
    let (event, call) = (event(), call());
    let mut scope = EvaluationScope::new(&event);
    scope.call = Some(&call);
    let cases = [
        (test("tool", vec![text("transfer")]), "true"),
        (test("tool", vec![text("pay"), FactPattern::Glob("trans*".into())]), "true"),
        (test("tool", vec![FactPattern::Glob("pay*".into()), FactPattern::Regex("^t.*r$".into())]), "true"),
        (test("tool", vec![text("pay")]), "false"),
        (test("tool", vec![FactPattern::Compare("!=".into(), Json::from("pay"))]), "true"),
        (test("event.tool", vec![text("transfer")]), "true"),
        (test("call.tool", vec![text("lookup")]), "true"),
        (test("call.args.customer", vec![text("bob")]), "true"),
        (test("args.amount", vec![compare(">", 10_000)]), "true"),
        (test("args.amount", vec![compare("<", 10_000), compare(">=", 20_000)]), "true"),
        (test("args.amount", vec![compare("<=", 10_000)]), "false"),
        (test("args.amount", vec![compare("!=", 20_000)]), "false"),
        (test("args.amount", vec![text("20001")]), "false"),
        (test("args.amount", vec![text("20000")]), MAY_READ_NUMBER),
        (test("args.amount", vec![FactPattern::Compare("!=".into(), Json::from("20000"))]), MAY_READ_NUMBER),
        (test("args.amount", vec![text("20000"), compare(">", 1)]), "true"),
        (
            test("args.urgent", vec![text("true")]),
            "unknown: a truth value is compared with a text, and a tool may read one as the other",
        ),
        (test("args.urgent", vec![text("EUR")]), "false"),
        (test("args.amount", vec![FactPattern::Glob("2*".into())]), "unknown: `*` does not work on a number"),
        (test("args.amount", vec![FactPattern::Regex("2".into()), compare(">", 1)]), "true"),
        (test("args.currency", vec![compare(">", 1)]), "unknown: `>` does not work on a text and a number"),
        (test("args.items.1.price", vec![compare(">", 12)]), "true"),
        (test("args.items.9.price", vec![compare(">", 12)]), "false"),
        (test("args.deep.er.still.1.0", vec![compare("<", 21)]), "true"),
        (test("args.missing", vec![text("x"), compare(">", 1)]), "false"),
        (
            test("args.missing", vec![text("x"), compare("!=", 1)]),
            "unknown: a negated condition lacks a value; ask for the value with `has`",
        ),
        (test("args.currency.x", vec![text("x")]), "unknown: taking a field does not work on a text"),
        (test("args.nothing", vec![FactPattern::Equal(Json::Null)]), "true"),
        (test("args.tags", vec![FactPattern::Equal(Json::Array(vec!["a".into(), "b".into(), "c".into()]))]), "true"),
        (test("more.region", vec![text("eu")]), "true"),
        (test("failed", vec![FactPattern::Equal(Json::Bool(false))]), "true"),
        (test("time", vec![FactPattern::Compare(">".into(), Json::from("2026-01-01T00:00:00Z"))]), "true"),
        (test("seq", vec![FactPattern::Equal(Json::from(7))]), "true"),
        (test("text", vec![text("x")]), "false"),
        (test("tool", vec![]), "false"),
    ];
    for (test, expected) in cases {
        let found = match Matcher::compile(&test).unwrap().holds(&scope) {
            Truth::True => "true".to_owned(),
            Truth::False => "false".to_owned(),
            Truth::Unknown(reason) => format!("unknown: {reason}"),
        };
        assert_eq!(found, expected, "{test:?}");
    }
}

#[test]
fn matcher_path_digits_mean_key_or_index() {
    let mut event = Event::new(Kind::ToolCall);
    let matcher = Matcher::compile(&test("args.0", vec![text("x")])).unwrap();
    for args in [r#"{"0": "x"}"#, r#"["x"]"#] {
        event.args = Some(Arguments::Value(lictor_json::parse_str(args).unwrap()));
        assert_eq!(matcher.holds(&EvaluationScope::new(&event)), Truth::True, "{args}");
    }
    event.args = Some(Arguments::Unparsed("x".into()));
    assert!(matches!(matcher.holds(&EvaluationScope::new(&event)), Truth::Unknown(_)));
}

#[test]
fn matcher_refuses_impossible_test() {
    let cases = [
        (test("arsg.x", vec![]), 0, "unknown field `arsg`", "did you mean `args`?"),
        (test("call.tol", vec![]), 5, "unknown field `tol`", "did you mean `tool`?"),
        (test("call", vec![]), 0, "unknown field ``", "there are tool, args"),
        (test("args..x", vec![]), 7, "a name is missing between the dots", ""),
        (test("labels", vec![text("pii")]), 0, "`labels` is a list", "write it as a condition: `\"…\" in labels`"),
        (test("tool", vec![compare(">", 3)]), 0, "`tool` is a text, and `3` is not", ""),
        (test("seq", vec![FactPattern::Glob("1*".into())]), 0, "`seq` is not a text", ""),
        (test("tool", vec![FactPattern::Regex("(".into())]), 0, "the pattern is not a regular expression", ""),
        (test("args.x", vec![compare("=<", 3)]), 0, "unknown comparison `=<`", "there are <,"),
        (test("args.x", vec![FactPattern::Compare("<".into(), Json::Null)]), 0, "`<` does not work on null", ""),
        (test("time", vec![FactPattern::Equal(Json::from("noon"))]), 0, "`\"noon\"` is not a time", "write `2026"),
    ];
    for (test, offset, message, hint) in cases {
        let errors = Matcher::compile(&test).unwrap_err().errors;
        let error = &errors[0];
        assert!(error.message.starts_with(message), "{error:?}");
        assert!(error.hint.as_deref().unwrap_or_default().starts_with(hint), "{error:?}");
        assert_eq!(error.offset, offset, "{error:?}");
    }
}

#[test]
fn matcher_reports_the_fields_it_reads() {
    let matcher = Matcher::compile(&test("call.args.x", vec![])).unwrap();
    assert!(matcher.reads("call") && !matcher.reads("args"));
}

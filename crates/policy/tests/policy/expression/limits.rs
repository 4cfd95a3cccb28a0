//! No text and no event can make an expression panic, overflow or run forever.

use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object};
use lictor_policy::expression::{EvaluationScope, Expression, Tables, Truth};
use proptest::prelude::*;

use super::{event, tables};

#[test]
fn nesting_within_limit_fits_small_stack() {
    let run = || {
        let event = event();
        let nested = |open: &str, inner: &str, close: &str, times: usize| {
            format!("{}{inner}{}", open.repeat(times), close.repeat(times))
        };
        let fine = [
            nested("(", "true", ")", 32),
            nested("[", "1", "]", 32),
            nested("!(", "failed", ")", 32),
            nested("args.tags.all(x, ", "x == ''", ")", 30),
            format!("1{} > 0", "+1".repeat(190)),
            format!("args{} == 1", ".x".repeat(190)),
            format!("{}1", "failed ? 1 : ".repeat(90)),
            vec!["args.amount == 1"; 500].join(" || "),
        ];
        for source in fine {
            let expression = Expression::compile(&source, &tables()).unwrap();
            let _ = expression.holds(&EvaluationScope::new(&event));
        }
        let refused = [
            nested("(", "true", ")", 33),
            nested("(", "true", ")", 5000),
            nested("args.x(", "1", ")", 1000),
            format!("1{}", "+1".repeat(5000)),
            format!("args{}", ".x".repeat(5000)),
            format!("args{}", "[0]".repeat(4000)),
            format!("{}1", "failed ? 1 : ".repeat(1000)),
            "(".repeat(10_000),
            format!("'\\q{}", "(".repeat(10_000)),
            format!("`{}`", "(".repeat(10_000)),
        ];
        for source in refused {
            assert!(Expression::compile(&source, &tables()).is_err(), "{source}");
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

/// An event whose list would take a nested loop for ever.
fn long_list(length: i64) -> Event {
    let mut args = Object::new();
    args.insert("list", (0..length).map(Json::from).collect::<Vec<_>>());
    args.insert("text", "a".repeat(length as usize));
    let mut event = Event::new(Kind::ToolCall);
    event.args = Some(Arguments::Value(Json::Object(args)));
    event
}

#[test]
fn evaluation_work_is_bounded() {
    let event = long_list(100_000);
    let scope = EvaluationScope::new(&event);
    let endless = [
        "args.list.all(x, args.list.all(y, args.list.all(z, x + y + z >= 0)))",
        "args.list.exists(x, args.list.exists(y, x + y < 0))",
        "args.list.all(x, x in args.list)",
        "args.list.all(x, args.list == args.list)",
        "args.list.map(x, args.text).join() == ''",
        "args.text.replace('', args.text) == ''",
        "args.text.replace('a', args.text).size() > 0",
        "args.list.all(x, args.text.contains('b') || true)",
        "args.list.all(x, args.text == args.text)",
        "args.list.all(x, args.text <= args.text && args.text.startsWith(args.text))",
        "args.list.all(x, (true ? args.text : '') == (true ? args.text : ''))",
        "args.list.all(x, args.text.trim() == args.text)",
        "[args.text + 'x'].all(y, args.list.all(x, (true ? y : y) != 'z'))",
        "args.list.all(x, args.text.matches('b') || true)",
        "args.list.exists(x, ''.matches(string(x)))",
        "args.list.all(x, args.text.split('').size() > 0)",
        "args.list.all(x, size(args.text + args.text) > 0)",
        "args.list.all(x, size(args.anywhere('y')) == 0)",
    ];
    for source in endless {
        match Expression::compile(source, &Tables::default()).unwrap().holds(&scope) {
            Truth::Unknown(reason) => {
                assert_eq!(reason.to_string(), "the expression is over the work limit on this event", "{source}");
            }
            truth => panic!("{source}: {truth:?}"),
        }
    }
    let plain =
        Expression::compile("args.list.all(x, x >= 0) && args.text.contains('aa')", &Tables::default()).unwrap();
    assert_eq!(plain.holds(&scope), Truth::True);
}

#[test]
fn expressions_compile_and_evaluate_on_many_threads() {
    let event = event();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..20 {
                    let source = "args.items.exists(i, i.price > 10) && patterns.exists(p, args.note.matches(p))";
                    let expression = Expression::compile(source, &tables()).unwrap();
                    assert_eq!(expression.holds(&EvaluationScope::new(&event)), Truth::True);
                }
            });
        }
    });
}

/// Pieces of expressions, whole and broken.
const PIECES: &[&str] = &[
    "args",
    "tool",
    "text",
    ".",
    "a",
    "x",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "<=",
    ">",
    " in ",
    "1",
    "0x",
    "1.5",
    "1e400",
    "9223372036854775808",
    "'s'",
    "\"t\"",
    "r'\\'",
    "b'x'",
    "'",
    "\"",
    "'''",
    "\\",
    "`",
    "`a-b`",
    "true",
    "null",
    "has(",
    ".all(x,",
    ".map(x,",
    ".filter(x,",
    ".exists_one(",
    "// c\n",
    "\n",
    "\r",
    "é",
    "\u{0}",
    "\u{202e}",
    "@",
    "=",
    ";",
    "'\\ud800'",
    "--",
    "!!",
    "for",
    ".?",
    "A{",
    "limits",
    "size(",
    ".matches('",
    ".split(",
    ".anywhere('k')",
    "timestamp(",
    "duration('1h')",
    "call",
    "it",
    "more",
    "1u",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compile_survives_any_text(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..14)) {
        let source = pieces.concat();
        let event = event();
        match Expression::compile(&source, &tables()) {
            Ok(expression) => drop(expression.evaluate(&EvaluationScope::new(&event))),
            Err(errors) => {
                prop_assert!(!errors.errors.is_empty());
                for error in &errors.errors {
                    prop_assert!(source.is_char_boundary(error.offset), "{source:?} {error:?}");
                    prop_assert!(!error.message.contains("Context") && !error.message.contains("ERROR"), "{error:?}");
                }
            }
        }
    }
}

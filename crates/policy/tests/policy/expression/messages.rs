//! Refused expressions, and their messages.

use lictor_policy::expression::Expression;

use super::tables;

/// The expression, then for each mistake the offset, the message and the hint.
type Case = (&'static str, &'static [(usize, &'static str, &'static str)]);

const CASES: &[Case] = &[
    (
        "amout > 3",
        &[(
            0,
            "unknown name `amout`",
            "an argument is written `args.amout`; there are kind, tool, agent, principal, to, id,",
        )],
    ),
    ("arsg.amount > 3", &[(0, "unknown name `arsg`", "did you mean `args`?")]),
    ("limit.EUR > 3", &[(0, "unknown name `limit`", "did you mean `limits`?")]),
    (
        "tol == 'x' || subject == 'y'",
        &[
            (0, "unknown name `tol`", "did you mean `tool`?"),
            (14, "unknown name `subject`", "did you mean `subjects`?"),
        ],
    ),
    ("'é' == nmae", &[(8, "unknown name `nmae`", "an argument is written")]),
    ("args.items.all(item, itm.x)", &[(21, "unknown name `itm`", "did you mean `it`?")]),
    ("call.tol == 'x'", &[(4, "`call` has no field `tol`", "did you mean `tool`?")]),
    ("call == 'x'", &[(0, "`call` is no value by itself", "write `call.args`")]),
    ("event.tol == 'x'", &[(5, "`event` has no field `tol`", "did you mean `tool`?")]),
    ("limits.EUT > 3", &[(6, "the table has no `EUT`", "did you mean `EUR`?")]),
    ("'x'.y == 3", &[(3, "a text has no fields", "")]),
    ("text.contain('x')", &[(12, "unknown function `contain`", "did you mean `contains`?")]),
    ("text.startwith('x')", &[(14, "unknown function `startwith`", "did you mean `startsWith`?")]),
    ("lenght(text) > 1", &[(6, "unknown function `lenght`", "there are has, all, exists,")]),
    ("math.abs(1)", &[(8, "unknown function `math.abs`", "there are has")]),
    ("contains(text, 'x')", &[(8, "`contains` is called on a value", "write `x.contains(…)`")]),
    ("trim(text)", &[(4, "`trim` is called on a value", "write `x.trim()`")]),
    ("text.int() > 1", &[(8, "`int` is not called on a value", "write `int(x)`")]),
    ("text.contains('x', 'y')", &[(13, "`contains` takes 1 arguments, not 2", "")]),
    ("text.substring()", &[(14, "`substring` takes 1 or 2 arguments, not 0", "")]),
    ("exists(text)", &[(6, "`exists` is not called like this", "write `list.exists(x, x > 0)`")]),
    ("has(text)", &[(4, "`has` takes a path with a dot", "write `has(args.amount)`")]),
    ("args.x.all(1, true)", &[(11, "the first argument must be a name", "write `list.all(x, x > 0)`")]),
    ("text.matches('(a')", &[(12, "the pattern is not a regular expression: unclosed group", "patterns are written")]),
    ("text.matches('(?=a)')", &[(12, "the pattern is not a regular expression: look-around", "patterns are written")]),
    ("text.matches('(a{1000}){1000}')", &[(12, "the pattern is too large", "")]),
    ("timestamp('today') < time", &[(9, "`today` is not a time", "write it as in `timestamp(")]),
    ("duration('soon') == duration('1h')", &[(8, "`soon` is not a duration", "write it as in `duration(")]),
    ("tool > 3", &[(5, "a text is never compared with a number", "")]),
    ("tool == null", &[(5, "a text is never compared with null", "a field that is missing is absent")]),
    ("labels < labels", &[(7, "a list is neither less nor greater than another", "")]),
    ("'x' in text", &[(4, "`in` looks into lists and maps, not a text", "write `text.contains(")]),
    ("text.all(x, true)", &[(8, "only lists and maps have elements", "")]),
    ("1u == 1", &[(0, "unsigned numbers are not supported", "leave out the `u`")]),
    ("b'x' == 'x'", &[(0, "bytes are not supported", "leave out the `b`")]),
    ("{1: 2} == {}", &[(0, "the keys of a map are texts", "put them into quotes")]),
    ("{'a': 1, 'a': 2} == {}", &[(0, "duplicate key in the map", "")]),
    ("Person{name: 'x'} == 1", &[(6, "messages are not supported", "write a map")]),
    ("args.?x == 1", &[(4, "optional fields are not supported", "a field that is absent")]),
    ("", &[(0, "the expression is empty", "")]),
    ("args.x ==", &[(9, "the expression ends too early", "")]),
    ("args.x == 1 &&  ", &[(14, "the expression ends too early", "")]),
    ("a b", &[(2, "`b` was not expected here", "")]),
    ("tool == 'x' and failed", &[(12, "`and` was not expected here", "write `&&`")]),
    ("tool = 'x'", &[(5, "`=` was not expected here", "write `==` to compare")]),
    ("failed | failed", &[(7, "`|` was not expected here", "write `||`")]),
    ("not failed", &[(4, "`failed` was not expected here", "")]),
    ("if failed", &[(0, "`if` was not expected here", "write `condition ? value : other`")]),
    ("tool == ü", &[(8, "`ü` was not expected here", "")]),
    ("for == 1", &[(0, "`for` was not expected here", "")]),
    ("(tool == 'x'", &[(0, "`(` is never closed", "")]),
    ("tool == 'x')", &[(11, "unmatched `)`", "")]),
    ("tool == 'x", &[(8, "the text has no closing quote", "")]),
    ("text.matches('\\d')", &[(14, "unknown escape sequence", "write `\\\\` for a backslash")]),
    ("99999999999999999999 > 1", &[(0, "the number does not fit 64 bits", "")]),
    ("\n  tool ==\n  nmae", &[(13, "unknown name `nmae`", "an argument is written")]),
    ("args.x == 1\n  && && 2", &[(17, "`&` was not expected here", "")]),
];

#[test]
fn expression_error_has_offset_and_hint() {
    let mut wrong = String::new();
    for (source, expected) in CASES {
        let errors = match Expression::compile(source, &tables()) {
            Ok(_) => {
                wrong += &format!("\n{source}\n    was accepted");
                continue;
            }
            Err(errors) => errors.errors,
        };
        let fits = errors.len() == expected.len()
            && errors.iter().zip(*expected).all(|(error, (offset, message, hint))| {
                let found = error.hint.as_deref().unwrap_or_default();
                let hint_fits = if hint.is_empty() { true } else { found.starts_with(hint) };
                error.offset == *offset && error.message.starts_with(message) && hint_fits
            });
        if !fits {
            wrong += &format!("\n{source}\n    expected {expected:?}\n    found    {errors:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn table_named_like_event_field_is_refused() {
    let tables = lictor_policy::expression::Tables::new(&[("text".into(), lictor_json::Json::Null)]);
    let errors = Expression::compile("text == 'x'", &tables).unwrap_err();
    assert_eq!(errors.errors[0].message, "`text` is a table of the policy and a field of every event");
    assert!(Expression::compile("tool == 'x'", &tables).is_ok());
}

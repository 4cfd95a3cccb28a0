//! The values of expressions.

use lictor_event::{Arguments, Event, FREE_TEXT, Kind};
use lictor_json::parse_str;
use lictor_policy::expression::{AnsweredCall, CelValue, EvaluationScope, Expression, Truth};

use super::{call, event, outcome, tables};

fn check(cases: &[(&str, &str)]) {
    let (event, call) = (event(), call());
    let mut scope = EvaluationScope::new(&event);
    scope.call = Some(&call);
    scope.it = Some(CelValue::Bool(true));
    let wrong: Vec<String> = cases
        .iter()
        .map(|(source, expected)| (source, expected, outcome(source, &scope)))
        .filter(|(_, expected, found)| {
            !found.starts_with(**expected) || (found.len() > expected.len() && **expected != "unknown")
        })
        .map(|(source, expected, found)| format!("{source}\n    expected {expected}\n    found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn expression_names_read_event_fields() {
    check(&[
        ("kind", r#""tool_call""#),
        ("tool", r#""transfer""#),
        ("event.tool", r#""transfer""#),
        ("agent + '/' + session", r#""clerk/s1""#),
        ("to", "absent"),
        ("text", "absent"),
        ("id", "absent"),
        ("result", "absent"),
        ("failed", "false"),
        ("seq", "7"),
        ("time", r#""2026-05-01T10:30:15.25Z""#),
        ("labels", r#"["pii","external"]"#),
        ("'pii' in labels", "true"),
        ("purposes[0]", r#""payment""#),
        ("categories", "absent"),
        ("more.region", r#""eu""#),
        ("more.other", "absent"),
        ("it", "true"),
        ("call.tool", r#""lookup""#),
        ("call.args.customer", r#""bob""#),
        ("call.args['customer']", r#""bob""#),
        ("limits.EUR", "10000"),
        ("limits[args.currency]", "10000"),
        ("limits[tool]", "absent"),
        ("codes['c42']", "42"),
        ("codes[args.currency]", "absent"),
        ("size(codes)", "100"),
        ("'c99' in codes && !('c100' in codes)", "true"),
        ("agent in blocked", "false"),
        ("blocked[1]", r#""eve""#),
    ]);
}

#[test]
fn path_traverses_maps_and_lists() {
    check(&[
        ("args.deep.er.still[1][0]", "20"),
        ("args['deep']['er'].still[0]", "10"),
        ("args.deep.`content-type`", r#""text/plain""#),
        ("args.deep['content-' + 'type']", r#""text/plain""#),
        ("args.items[1].price", "12.5"),
        ("args.items[size(args.items) - 1].sku", r#""x3""#),
        ("args.items[2].price", "absent"),
        ("args.items[3]", "absent"),
        ("args.items[-1]", "absent"),
        ("args.items[1.0].sku", r#""x2""#),
        ("args.items[0.5]", "unknown"),
        ("args.items['0']", "unknown"),
        ("args.tags.x", "unknown"),
        ("args.currency.x", "unknown"),
        ("args.empty[1]", "unknown"),
        ("args.nothing", "null"),
        ("args.nothing.x", "absent"),
        ("args.nothing[0]", "absent"),
        ("args.missing", "absent"),
        ("args.missing.x.y[0]", "absent"),
        ("[1, 2, 3][1]", "2"),
        ("{'a': {'b': args.amount}}.a.b", "20000"),
    ]);
}

#[test]
fn comparison_is_by_value_and_type() {
    check(&[
        ("args.amount > 10000 && args.currency == 'EUR'", "true"),
        ("args.amount == 20000.0", "true"),
        ("args.amount < 20000.5", "true"),
        ("9007199254740993 == 9007199254740992.0", "false"),
        ("9007199254740993 > 9007199254740992.0", "true"),
        ("args.huge > 9223372036854775807", "true"),
        ("args.huge == 18446744073709551616.0", "true"),
        ("args.huge < 1e300", "true"),
        ("-1e300 < args.huge", "true"),
        ("args.currency == 1", "false"),
        ("args.amount == 'EUR'", "false"),
        ("args.amount != '20001'", "true"),
        ("args.amount > '1'", "unknown"),
        ("args.nothing > 1", "unknown"),
        ("args.nothing == null", "true"),
        ("args.amount == null", "false"),
        ("args.missing == null", "absent"),
        ("args.missing != 'EUR'", "unknown: a negated condition lacks a value; ask for the value with `has`"),
        ("args.missing != args.nothing.x", "unknown"),
        ("has(args.missing) && args.missing != 'EUR'", "false"),
        ("!has(args.missing) || args.missing != 'EUR'", "true"),
        ("'a' < 'b'", "true"),
        ("false < args.urgent", "true"),
        ("args.tags == ['a', 'b', 'c']", "true"),
        ("args.tags == ['a', 'b']", "false"),
        ("args.items[0] == {'price': 5.0, 'sku': 'x1'}", "true"),
        ("args.items[0] == {'price': 5.0, 'sku': 'x2'}", "false"),
        ("args.tags < ['a']", "unknown"),
        ("args.tags in [['a', 'b', 'c']]", "true"),
        ("'b' in args.tags", "true"),
        ("5 in [5.0]", "true"),
        ("'sku' in args.items[0]", "true"),
        ("1 in args.items[0]", "false"),
        ("args.nothing in args.items[0]", "unknown"),
        ("'E' in args.currency", "unknown"),
        ("args.missing in args.tags", "absent"),
        ("'a' in args.missing", "absent"),
    ]);
}

/// A tool may convert its arguments: `"true"` must not evade `args.force == true`.
#[test]
fn comparison_of_convertible_values_is_unknown() {
    let holds = |json: &str, source: &str| {
        let mut event = Event::new(Kind::ToolCall);
        event.args = Some(Arguments::Value(parse_str(&format!("{{\"x\": {json}}}")).unwrap()));
        match Expression::compile(source, &tables()).unwrap().holds(&EvaluationScope::new(&event)) {
            Truth::Unknown(reason) => {
                assert!(reason.to_string().contains("a tool may read one as the other"), "{reason}");
                "unknown"
            }
            Truth::True => "true",
            Truth::False => "false",
        }
    };
    for (source, unknown, different) in [
        (
            "args.x == true",
            &[r#""true""#, r#"" TRUE ""#, r#""yes""#, r#""On""#, r#""t""#, r#""Y""#, r#""1""#, "1", "1.0", "[true]"][..],
            &["false", "null", "0", "2", "[]", "{}", "[true, true]", r#""EUR""#, r#""false""#, r#""""#, r#""10""#][..],
        ),
        (
            "args.x == false",
            &[r#""false""#, r#""No""#, r#""OFF""#, r#""f""#, r#""n""#, r#""0""#, "0", "[false]", "[[0]]"],
            &["true", "null", "1", r#""""#, "[]", r#""true""#],
        ),
        (
            "args.x == 900",
            &[
                r#""900""#,
                r#"" 900.0 ""#,
                r#""+9e2""#,
                r#""9_00""#,
                r#""0x384""#,
                r#""\u0669\u0660\u0660""#,
                "[900]",
                r#"["900"]"#,
            ],
            &["901", "true", "null", r#""blue""#, r#""901""#, r#""-900""#, "[900, 900]", "{}", r#""0x""#],
        ),
        ("args.x == 'DE'", &[r#"["DE"]"#, r#"[["DE"]]"#], &["1", "true", "null", r#""de""#, r#"["DE", "FR"]"#]),
        ("args.x == '1'", &["1", "true"], &["2", "false"]),
        ("args.x == ['a']", &[r#""a""#], &[r#""b""#, r#"["a", "a"]"#]),
        ("args.x == [1, 'a']", &[r#"["1", "a"]"#], &[r#"["1", "b"]"#, "[2, 1]"]),
        ("args.x == {'a': 1}", &[r#"{"a": "1"}"#], &[r#"{"a": "2"}"#, r#"{"b": 1}"#, r#""a""#]),
        ("args.x in [1, 2, 3]", &[r#""3""#, "true", "[2]"], &["4", r#""c""#, "null", "false"]),
        ("args.x in blocked", &[r#"["eve"]"#], &["1", r#"["bob"]"#]),
        ("args.x in {'7': 1, 'a': 2}", &["7"], &["8", "true"]),
    ] {
        for json in unknown {
            assert_eq!(holds(json, source), "unknown", "{source} with {json}");
            assert_eq!(holds(json, &format!("!({source})")), "unknown", "!({source}) with {json}");
        }
        for json in different {
            assert_eq!(holds(json, source), "false", "{source} with {json}");
            assert_eq!(holds(json, &format!("!({source})")), "true", "!({source}) with {json}");
        }
    }
    assert_eq!(holds(r#""1""#, "args.x in [1, '1']"), "true");
    assert_eq!(holds(r#""1""#, "args.x != 1"), "unknown");
    assert_eq!(holds(r#""2""#, "args.x != 1"), "true");
}

#[test]
fn and_or_absorb_absent_and_unknown() {
    check(&[
        ("true || args.missing", "true"),
        ("args.missing || true", "true"),
        ("false && args.missing", "false"),
        ("args.missing && false", "false"),
        ("true && args.missing", "absent"),
        ("false || args.missing", "absent"),
        ("args.missing && 1 / 0 == 0", "absent"),
        ("1 / 0 == 0 && args.missing", "absent"),
        ("args.missing || 1 / 0 == 0", "unknown"),
        ("1 / 0 == 0 || args.missing", "unknown"),
        ("1 / 0 == 0 || true", "true"),
        ("args.amount && false", "false"),
        ("args.amount && true", "unknown"),
        ("!args.missing", "unknown"),
        ("!!args.missing", "absent"),
        ("!(args.missing == 1)", "unknown"),
        ("!(args.missing in args.tags)", "unknown"),
        ("!(args.missing == 1 && args.urgent)", "unknown"),
        ("!(args.missing == 1 && false)", "true"),
        ("!(args.missing == 1 || true)", "false"),
        ("!(args.missing == 1) && false", "false"),
        ("args.missing == 1 && args.missing != 2", "absent"),
        ("(args.missing == 1) == false", "unknown"),
        ("(args.missing == 1) in [false]", "unknown"),
        ("[args.missing == 1].exists(x, !x)", "unknown"),
        ("string(args.missing == 1) == 'false'", "unknown"),
        ("!args.amount", "unknown"),
        ("!args.urgent", "false"),
        ("!!args.urgent", "true"),
        ("args.urgent ? 1 : 1 / 0", "1"),
        ("args.missing ? 1 : 2", "unknown"),
        ("args.missing ? false : true", "unknown"),
        ("args.missing > 0 ? args.missing : -args.missing", "absent"),
        ("args.urgent ? args.missing == 1 : true", "unknown"),
        ("(args.urgent ? args.missing == 1 : true) || false", "absent"),
        ("args.amount ? 1 : 2", "unknown"),
        ("args.missing + 1 / 0", "absent"),
        ("1 / 0 + args.missing", "absent"),
        ("[1 / 0, args.missing]", "absent"),
        ("has(args.amount) && !has(args.missing) && !has(args.missing.x)", "true"),
        ("has(args.nothing)", "true"),
        ("has(args.currency.x)", "unknown"),
        ("has(event.tool) && !has(event.to)", "true"),
        ("has(call.args.customer) && !has(call.args.other)", "true"),
        ("has(limits.EUR) && !has(limits.CHF)", "true"),
        ("has(args.tags[0].x)", "unknown"),
    ]);
}

#[test]
fn arithmetic_is_exact_or_unknown() {
    check(&[
        ("args.amount * 2 + 1", "40001"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("7.0 / 2.0", "3.5"),
        ("args.amount * args.rate", "10000.0"),
        ("1 / 0", "unknown: division by zero"),
        ("1 % 0", "unknown: division by zero"),
        ("1.0 / 0.0", "unknown: division by zero"),
        ("5.5 % 2.0", "unknown: a whole number is needed here"),
        ("9223372036854775807 + 1", "unknown: `+` goes beyond the largest number"),
        ("-9223372036854775808 / -1", "unknown: `/` goes beyond the largest number"),
        ("-9223372036854775808 % -1", "unknown: `%` goes beyond the largest number"),
        ("9223372036854775807 * 2", "unknown: `*` goes beyond the largest number"),
        ("-9223372036854775808 - 1", "unknown: `-` goes beyond the largest number"),
        ("1e308 * 10.0", "unknown: `*` goes beyond the largest number"),
        ("args.huge - args.huge", "0"),
        ("args.huge + 0", "unknown: `+` goes beyond the largest number"),
        ("-args.rate", "-0.5"),
        ("-args.huge", "unknown: `-` goes beyond the largest number"),
        ("-args.currency", "unknown: `-` does not work on a text"),
        ("args.currency + 1", "unknown: `+` does not work on a text and a number"),
        ("args.currency + '!'", r#""EUR!""#),
        ("args.tags + ['d']", r#"["a","b","c","d"]"#),
        ("args.currency - args.currency", "unknown: `-` does not work on a text and a text"),
    ]);
}

#[test]
fn functions_accept_texts_and_collections() {
    check(&[
        ("size(args.note)", "7"),
        ("args.note.size()", "7"),
        ("size(args.tags) + args.deep.size()", "5"),
        ("size(args.amount)", "unknown"),
        ("args.note.contains('Bob')", "true"),
        ("args.note.startsWith('Für')", "true"),
        ("args.note.endsWith('für')", "false"),
        ("args.amount.contains('2')", "unknown: `contains` does not work on a number and a text"),
        ("args.note.contains(args.amount)", "unknown: `contains` does not work on a text and a number"),
        ("args.missing.contains('x')", "absent"),
        ("args.note.matches('^F.r [A-Z]')", "true"),
        ("matches(args.note, r'\\d')", "false"),
        ("patterns.exists(p, args.note.matches(p))", "true"),
        ("args.note.matches('(' + ')')", "true"),
        ("args.note.matches('(' + '')", "unknown: the pattern is not a regular expression, or too large"),
        ("args.amount.matches('2')", "unknown: `matches` does not work on a number"),
        ("args.note.lowerAscii()", r#""für bob""#),
        ("args.note.upperAscii()", r#""FüR BOB""#),
        ("'  x y '.trim()", r#""x y""#),
        ("'a,b,,c'.split(',')", r#"["a","b","","c"]"#),
        ("'añb'.split('')", r#"["a","ñ","b"]"#),
        ("{'to': 1, 'a': [{'TO': [{'t_o': 2}]}, 'to', {'t-o': [3]}]}.anywhere('to').size()", "4"),
        ("{'to': 1, 'a': [{'TO': 2}, 'to', {'t-o': [3]}]}.anywhere('to')", "[1,2,[3]]"),
        ("{'userEmail': 'x'}.anywhere('user_email') + {'b': 1}.anywhere('user_email')", r#"["x"]"#),
        ("args.note.anywhere('x')", "unknown: `anywhere` does not work on a text and a text"),
        ("args.missing.anywhere('x')", "absent"),
        ("'sudo rm -rf /; ls'.commands()", r#"["rm -rf /","ls"]"#),
        ("{'cmd': 'rm', 'args': ['-rf', '/']}.commands()[0]", r#""rm -rf /""#),
        ("{'a': [{'b': 'ls'}], 'reason': 'rm x', 'commands': ['cd /', 'rm *']}.commands()", r#"["ls","cd /","rm *"]"#),
        ("'{\"script\": \"rm a\"}'.commands()", r#"["rm a"]"#),
        ("args.missing.commands()", "absent"),
        ("true.commands()", "unknown: `commands` does not work on a truth value"),
        ("args.tags.join('-')", r#""a-b-c""#),
        ("args.tags.join()", r#""abc""#),
        ("[1].join()", "unknown: `join` does not work on a number"),
        ("args.note.replace('B', 'R')", r#""Für RoR""#.replace("RoR", "Rob").leak()),
        ("args.note.substring(4)", r#""Bob""#),
        ("args.note.substring(0, 3)", r#""Für""#),
        ("args.note.substring(7)", r#""""#),
        ("args.note.substring(8)", "unknown: the text has no such position"),
        ("args.note.substring(3, 2)", "unknown: the text has no such position"),
        ("args.note.substring(-1)", "unknown: the text has no such position"),
        ("int('42') + int(3.9) + int(-3.9)", "42"),
        ("int('4.2')", "unknown: `int` cannot read this value"),
        ("int(1e19)", "unknown: `int` cannot read this value"),
        ("int(args.tags)", "unknown: `int` does not work on a list"),
        ("double('1.5') * double(2)", "3.0"),
        ("double('inf')", "unknown: `double` cannot read this value"),
        ("string(1) + string(1.5) + string(true) + string('x')", r#""11.5truex""#),
        ("bool('true') && !bool('F')", "true"),
        ("bool('yes')", "unknown: `bool` cannot read this value"),
    ]);
}

#[test]
fn loops_iterate_list_elements_and_map_keys() {
    check(&[
        ("args.tags.all(t, t < 'd')", "true"),
        ("args.tags.exists(t, t == 'b')", "true"),
        ("args.tags.exists_one(t, t >= 'b')", "false"),
        ("args.tags.exists_one(t, t == 'b')", "true"),
        ("args.tags.map(t, t + t)", r#"["aa","bb","cc"]"#),
        ("args.tags.filter(t, t != 'b')", r#"["a","c"]"#),
        ("args.tags.map(t, t != 'b', t + '!')", r#"["a!","c!"]"#),
        ("args.items.exists(i, i.price > 10)", "true"),
        ("args.items.exists(i, i.price > 100)", "absent"),
        ("args.items.all(i, i.price > 0)", "absent"),
        ("args.items.all(i, i.price > 10)", "false"),
        ("args.items.all(i, !has(i.price) || i.price > 0)", "true"),
        ("args.items.filter(i, i.price > 1).map(i, i.sku)", r#"["x1","x2"]"#),
        ("args.items.exists_one(i, i.price > 10)", "unknown"),
        ("args.items.exists_one(i, i.price > 1)", "false"),
        ("args.items.exists_one(i, i.price > 100)", "absent"),
        ("!args.items.exists(i, i.price > 100)", "unknown"),
        ("args.items.exists(i, i.price != 5)", "true"),
        ("args.items.all(i, i.price != 1)", "unknown"),
        ("args.items.map(i, i.price)", "unknown: an element of the list lacks what is asked of it"),
        ("args.items.filter(i, i.sku > 1)", "unknown"),
        ("args.items.exists(i, i.sku > 1 || i.price > 10)", "true"),
        ("args.deep.er.all(k, k == 'still')", "true"),
        ("args.deep.er.still.exists(x, 30 in x)", "true"),
        ("args.deep.er.still.exists(x, 40 in x)", "unknown"),
        ("args.none.all(x, x)", "true"),
        ("args.none.exists(x, x)", "false"),
        ("args.missing.all(x, x)", "absent"),
        ("args.amount.all(x, x)", "unknown: `all` does not work on a number"),
        ("args.tags.all(x, args.tags.exists(y, x == y && args.tags.exists_one(z, z == x)))", "true"),
        ("args.tags.map(x, ['p', 'q'].map(x, x + '.').join() + x)", r#"["p.q.a","p.q.b","p.q.c"]"#),
        ("args.tags.map(tool, tool)", r#"["a","b","c"]"#),
        ("[[1, 2], [3]].map(l, l.map(x, x * 2))", "[[2,4],[6]]"),
        ("args.tags.map(t, {'t': t}).filter(m, m.t == 'b').map(m, m.t)", r#"["b"]"#),
    ]);
}

#[test]
fn timestamps_and_durations_are_computed() {
    check(&[
        ("time > timestamp('2026-01-01T00:00:00Z')", "true"),
        ("time - timestamp('2026-05-01T10:00:00Z') > duration('30m')", "true"),
        ("time + duration('1h')", r#""2026-05-01T11:30:15.25Z""#),
        ("duration('1h30m') - duration('30m') == duration('3600s')", "true"),
        ("timestamp('2026-05-01T12:00:00+02:00') == timestamp('2026-05-01T10:00:00Z')", "true"),
        ("int(timestamp('1970-01-01T00:01:00Z'))", "60"),
        ("timestamp(60)", r#""1970-01-01T00:01:00Z""#),
        ("timestamp(args.note)", "unknown: `timestamp` cannot read this value"),
        ("duration(args.currency)", "unknown: `duration` cannot read this value"),
        ("string(duration('90m'))", r#""5400s""#),
        ("time.getHours() >= 8 && time.getHours() < 18", "true"),
        ("[time.getFullYear(), time.getMonth(), time.getDate(), time.getDayOfMonth()]", "[2026,4,1,0]"),
        ("[time.getDayOfWeek(), time.getDayOfYear(), time.getMinutes()]", "[5,120,30]"),
        ("[time.getSeconds(), time.getMilliseconds()]", "[15,250]"),
        ("duration('90m').getHours() + duration('90m').getMinutes()", "91"),
        ("duration('1h').getMonth()", "unknown"),
        ("args.amount.getHours()", "unknown"),
        ("time + time", "unknown"),
        ("time + duration('2562047h') + duration('2562047h')", "unknown: `+` goes beyond the largest number"),
    ]);
}

#[test]
fn unparsed_arguments_are_unknown() {
    let mut event = Event::new(Kind::ToolCall);
    event.args = Some(Arguments::Unparsed("{amount: 3".into()));
    let scope = EvaluationScope::new(&event);
    for source in ["args.amount > 1", "has(args.amount)", "args == 1", "!(args.amount > 1)", "args.x && true"] {
        assert_eq!(outcome(source, &scope), "unknown: the arguments are not JSON", "{source}");
    }
    assert_eq!(outcome("tool == 'x' || args.amount > 1 || kind == 'tool_call'", &scope), "true");
    assert_eq!(outcome("args.amount + more.missing", &scope), "absent");
}

#[test]
fn unrecorded_arguments_are_unknown() {
    let mut event = Event::new(Kind::ToolCall);
    event.args = Some(Arguments::Unparsed(String::new().into()));
    let scope = EvaluationScope::new(&event);
    assert_eq!(outcome("args.amount > 1", &scope), "unknown: the arguments were not recorded");
}

#[test]
fn free_text_arguments_are_unknown_except_input() {
    let mut event = Event::new(Kind::ToolCall);
    event.args = Some(Arguments::Value(parse_str(r#"{"input": "pay 3"}"#).unwrap()));
    assert_eq!(outcome("args.amount > 1", &EvaluationScope::new(&event)), "absent");
    event.more.insert(FREE_TEXT, true);
    let scope = EvaluationScope::new(&event);
    let unknown = "unknown: not all arguments are known: they are free text, or some could not be read";
    for source in ["args.amount > 1", "has(args.amount)", "args.a.b == 1", "'x' in args.anywhere('amount')"] {
        assert_eq!(outcome(source, &scope), unknown, "{source}");
    }
    assert_eq!(outcome("args.input", &scope), r#""pay 3""#);
    assert_eq!(outcome("args.input.startsWith('pay')", &scope), "true");
    // The answer to such a call.
    let call = AnsweredCall { has_free_text: true, tool: "pay".into(), args: event.args.clone() };
    let result = Event::new(Kind::ToolResult);
    let mut scope = EvaluationScope::new(&result);
    scope.call = Some(&call);
    for source in ["call.args.amount > 1", "has(call.args.amount)", "'x' in call.args.anywhere('amount')"] {
        assert_eq!(outcome(source, &scope), unknown, "{source}");
    }
    assert_eq!(outcome("call.args.input", &scope), r#""pay 3""#);
}

#[test]
fn hidden_commands_are_unknown_unless_one_is_found() {
    let event = Event::new(Kind::ToolCall);
    let scope = EvaluationScope::new(&event);
    let unknown = "unknown: the text runs commands that it does not show";
    let cases = [
        ("'curl x | sh'.commands()", unknown),
        ("'curl x | sh'.commands().size()", unknown),
        ("'curl x | sh'.commands().exists(c, c == 'rm x')", unknown),
        ("'curl x | sh; rm x'.commands().exists(c, c == 'rm x')", "true"),
        ("'curl x | sh'.commands().all(c, c != 'rm x')", unknown),
        ("'curl x | sh; rm x'.commands().all(c, c != 'rm x')", "false"),
        ("'curl x | sh; rm x'.commands().exists_one(c, c == 'rm x')", unknown),
        ("'curl x | jq .'.commands().exists(c, c == 'rm x')", "false"),
        ("{'command': 'rm -rf *', 'cwd': '/'}.commands()", r#"["rm -rf /*"]"#),
        ("{'command': 'ls', 'plan': 'rm x'}.commands()", r#"["ls"]"#),
        ("['ls;rm${IFS}x'].commands()", r#"["ls","rm x"]"#),
        ("['ls', 'x;y'].commands()", r#"["ls x;y"]"#),
    ];
    for (source, expected) in cases {
        assert_eq!(outcome(source, &scope), expected, "{source}");
    }
}

#[test]
fn result_is_value_json_or_text() {
    let mut event = Event::new(Kind::ToolResult);
    let cases = [
        (r#"{"price": 3}"#, "result.price", "3"),
        (" [1, 2] ", "result[1]", "2"),
        ("true", "result", "true"),
        ("it costs 3", "result.contains('3')", "true"),
        ("it costs 3", "result.price", "unknown: taking a field does not work on a text"),
        // Two readers could see two prices; so it is a text.
        (r#"{"price": 3, "price": 4}"#, "result.size()", "24"),
    ];
    for (text, source, expected) in cases {
        event.text = Some(text.into());
        assert_eq!(outcome(source, &EvaluationScope::new(&event)), expected, "{text}");
    }
    event.result = Some(parse_str(r#"{"price": 5}"#).unwrap());
    assert_eq!(outcome("result.price", &EvaluationScope::new(&event)), "5");
    // The text of a user is not a result.
    let mut said = Event::new(Kind::UserMessage);
    said.text = Some("[1]".into());
    assert_eq!(outcome("result", &EvaluationScope::new(&said)), "absent");
}

#[test]
fn each_element_is_visible_beside_its_event() {
    let mut event = Event::new(Kind::ToolResult);
    event.text = Some(r#"{"items": [{"price": 1}, {"price": 3}], "most": 2}"#.into());
    let scope = EvaluationScope::new(&event);
    let list = Expression::compile("result.items.filter(i, i.price > 0)", &tables()).unwrap();
    let dear = Expression::compile("it.price > result.most", &tables()).unwrap();
    let lictor_policy::expression::Evaluation::Value(list) = list.evaluate(&scope) else { panic!("a list") };
    let truths: Vec<Truth> = list.elements().unwrap().map(|item| dear.holds(&scope.with_element(item))).collect();
    assert_eq!(truths, [Truth::False, Truth::True]);
}

#[test]
fn computed_annotations_replace_event_annotations() {
    let event = event();
    let mut scope = EvaluationScope::new(&event);
    let computed = ["email".into()];
    scope.categories = Some(&computed);
    assert_eq!(outcome("'email' in categories", &scope), "true");
    assert_eq!(outcome("categories == ['email'] && purposes == ['payment']", &scope), "true");
}

#[test]
fn condition_is_true_false_or_unknown() {
    let event = event();
    let scope = EvaluationScope::new(&event);
    let holds = |source: &str| Expression::compile(source, &tables()).unwrap().holds(&scope);
    assert_eq!(holds("args.amount > 1"), Truth::True);
    assert_eq!(holds("args.amount < 1"), Truth::False);
    assert_eq!(holds("args.missing < 1"), Truth::False);
    assert!(matches!(holds("args.missing != 1"), Truth::Unknown(_)));
    assert!(matches!(holds("size(args.items.filter(i, i.price > 100)) == 0"), Truth::Unknown(_)));
    assert!(matches!(holds("args.note < 1"), Truth::Unknown(reason) if reason.offset == 10));
    assert!(matches!(holds("args.note"), Truth::Unknown(_)));
}

#[test]
fn expression_reports_the_names_it_reads() {
    let reads = |source: &str| {
        let expression = Expression::compile(source, &tables()).unwrap();
        let names = ["kind", "tool", "text", "args", "result", "call", "it", "labels", "categories", "limits", "time"];
        names.into_iter().filter(|name| expression.reads(name)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(reads("args.x > limits.EUR"), "args");
    assert_eq!(reads("call.tool == 'x' && has(call.args.y)"), "call");
    assert_eq!(reads("args.items.all(text, text == it)"), "args it");
    assert_eq!(reads("has(event.text) || 'x' in categories || result.y"), "text result categories");
    assert_eq!(reads("1 < 2"), "");
    let may_hold = |source: &str| Expression::compile(source, &tables()).unwrap().may_hold();
    assert!(may_hold("args.x") && may_hold("args.x > 1") && may_hold("failed"));
    assert!(!may_hold("tool") && !may_hold("size(args.x)") && !may_hold("[1]"));
}

#[test]
fn expression_value_converts_to_fact_value() {
    let event = event();
    let scope = EvaluationScope::new(&event);
    let value = |source: &str| {
        let expression = Expression::compile(source, &tables()).unwrap();
        match expression.evaluate(&scope) {
            lictor_policy::expression::Evaluation::Value(value) => value.to_fact_value().map(|value| value.to_string()),
            _ => None,
        }
    };
    assert_eq!(value("args.currency").unwrap(), r#""EUR""#);
    assert_eq!(value("args.amount").unwrap(), "20000");
    assert_eq!(value("args.amount * args.rate").unwrap(), "10000");
    assert_eq!(value("args.huge").unwrap(), "1.8446744073709552e19");
    assert_eq!(value("args.urgent").unwrap(), "true");
    assert_eq!(value("time").unwrap(), r#""2026-05-01T10:30:15.25Z""#);
    assert_eq!(value("duration('1500ms')").unwrap(), "1.5");
    assert_eq!(value("args.nothing"), None);
    assert_eq!(value("args.tags"), None);
}

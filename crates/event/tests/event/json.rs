//! JSON is read strictly, exactly, and in agreement with another reader.
//!
//! | content of a log | result |
//! |---|---|
//! | a duplicate key, also when one is spelled with an escape | refused |
//! | nesting without end | refused at a depth, in one pass, without recursion |
//! | half a surrogate pair, bytes that are not UTF-8, overlong UTF-8 | refused, never replaced |
//! | an escaped NUL | kept, and written as an escape |
//! | a raw control character | refused |
//! | numbers beyond 64 bits, beyond a float, beyond the precision of a float | exact, or refused |
//! | NaN, comments, trailing commas, single quotes, a byte order mark | refused |
//! | two values in one text | refused |
//! | millions of keys or elements | a budget |
//! | keys chosen to collide | no slower than others |
//! | arguments in a string that is no JSON, or is JSON of JSON, or continues after it | kept apart as unparsed, or parsed once |

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::Arguments;
use lictor_json::{self as json, Json, MAX_DEPTH, MAX_VALUES, Number, Object, Text};
use proptest::prelude::*;

fn code(text: &[u8]) -> &'static str {
    json::parse(text).map_or_else(|error| error.code, |value| panic!("{value} was read"))
}

#[test]
fn json_ambiguous_texts_are_refused() {
    let cases: &[(&str, &[u8])] = &[
        ("json.duplicate_key", br#"{"tool":"safe","tool":"evil"}"#),
        ("json.duplicate_key", br#"{"tool":"safe","t\u006fol":"evil"}"#),
        ("json.duplicate_key", br#"{"a":{"b":1,"c":2,"b":1}}"#),
        ("json.lone_surrogate", br#""\ud800""#),
        ("json.lone_surrogate", br#""\ud800\ud800""#),
        ("json.lone_surrogate", br#""\ud800 \udc00""#),
        ("json.lone_surrogate", br#""\udc00\ud800""#),
        ("json.utf8", b"\"\xff\""),
        ("json.utf8", b"\"\xc0\x80\""),
        ("json.utf8", b"\"\xe0\x80\xaf\""),
        ("json.utf8", b"\"\xed\xa0\x80\""),
        ("json.control_character", b"\"a\nb\""),
        ("json.control_character", b"\"\x00\""),
        ("json.control_character", b"{\"a\tb\":1}"),
        ("json.number_range", b"1e400"),
        ("json.number_range", b"-1e400"),
        ("json.number_range", b"170141183460469231731687303715884105728"),
        ("json.syntax", b"NaN"),
        ("json.syntax", b"[Infinity]"),
        ("json.syntax", b"{\"a\":1 /* no */}"),
        ("json.syntax", b"// no\n1"),
        ("json.syntax", b"[1,]"),
        ("json.syntax", b"{\"a\":1,}"),
        ("json.syntax", b"{'a':1}"),
        ("json.syntax", b"{a:1}"),
        ("json.syntax", b"[1 2]"),
        ("json.syntax", b"{\"a\" 1}"),
        ("json.syntax", b"\xef\xbb\xbf{}"),
        ("json.syntax", b"01"),
        ("json.syntax", b"-x"),
        ("json.syntax", b"+1"),
        ("json.syntax", b".5"),
        ("json.syntax", b"1.e3"),
        ("json.syntax", b"]"),
        ("json.syntax", b"[\x00]"),
        ("json.syntax", b"trap"),
        ("json.syntax", "\u{a0}1".as_bytes()),
        ("json.trailing", b"{}{}"),
        ("json.trailing", b"1 2"),
        ("json.trailing", b"{}\n{}"),
        ("json.trailing", b"{} x"),
        ("json.trailing", b"1\x00"),
        ("json.trailing", b"[1]]"),
        ("json.escape", br#""\x41""#),
        ("json.escape", br#""\u00g0""#),
        ("json.escape", br#""\u+123""#),
        ("json.torn", b""),
        ("json.torn", b"  \n"),
        ("json.torn", b"[1,"),
        ("json.torn", b"{\"a\":1"),
        ("json.torn", b"{\"a\""),
        ("json.torn", b"tru"),
        ("json.torn", b"-"),
        ("json.torn", b"1."),
        ("json.torn", b"1e+"),
        ("json.torn", b"\"\\u00"),
        ("json.torn", b"\"\\ud800"),
        ("json.torn", b"\"\xe2\x82"),
    ];
    for (expected, text) in cases {
        assert_eq!(code(text), *expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn json_error_has_byte_offset() {
    let cases =
        [("{\"a\":1,\"b\":2,\"a\":3}", 13), ("[1,2,x]", 5), ("[\"ok\",\"\\q\"]", 8), ("{} {}", 3), ("[1e999]", 1)];
    for (text, offset) in cases {
        assert_eq!(json::parse_str(text).unwrap_err().offset, offset, "{text}");
    }
}

#[test]
fn json_nesting_over_limit_is_refused() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::parse_str(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(code(nested(MAX_DEPTH + 1).as_bytes()), "json.too_deep");
    assert_eq!(code("[".repeat(1_000_000).as_bytes()), "json.too_deep");
    assert_eq!(code("{\"a\":".repeat(1_000_000).as_bytes()), "json.too_deep");
    assert_eq!(
        code(("{\"known\":1,\"unknown\":".to_owned() + &"[{\"a\":".repeat(100_000)).as_bytes()),
        "json.too_deep"
    );
}

#[test]
fn json_escaped_nul_is_written_as_escape() {
    let value = json::parse_str(r#""a\u0000b""#).unwrap();
    assert_eq!(value.as_str(), Some("a\0b"));
    assert_eq!(value.to_string(), r#""a\u0000b""#);
}

#[test]
fn json_numbers_are_exact() {
    let integer = |value| Json::Number(Number::Integer(value));
    let cases = [
        ("9007199254740993", integer(9_007_199_254_740_993)),
        ("9223372036854775807", integer(i64::MAX)),
        ("-9223372036854775808", integer(i64::MIN)),
        ("18446744073709551617", Json::Number(Number::whole((1 << 64) + 1))),
        ("170141183460469231731687303715884105727", Json::Number(Number::whole(i128::MAX))),
        ("-170141183460469231731687303715884105728", Json::Number(Number::whole(i128::MIN))),
        ("-0", integer(0)),
        ("0.1", Json::Number(Number::Float(0.1))),
        ("-129.95", Json::Number(Number::Float(-129.95))),
        ("1e3", Json::Number(Number::Float(1000.0))),
        ("0.30000000000000004", Json::Number(Number::Float(0.1 + 0.2))),
        ("0.12345678901234566", Json::Number(Number::Float(0.123_456_789_012_345_66))),
        ("0.0", Json::Number(Number::Float(0.0))),
        ("5e-324", Json::Number(Number::Float(f64::from_bits(1)))),
    ];
    for (text, value) in cases {
        assert_eq!(json::parse_str(text), Ok(value.clone()), "{text}");
        assert_eq!(json::parse_str(&value.to_string()), Ok(value), "{text} written and read again");
    }
}

/// A decimal that its nearest float is not written as keeps its text.
#[test]
fn json_long_decimals_keep_their_text() {
    let cases = [
        ("0.10000000000000001", 0.1),
        ("9007199254740993.0", 9_007_199_254_740_992.0),
        ("0.12345678901234567", 0.123_456_789_012_345_66),
        ("123456789012345678.5", 123_456_789_012_345_680.0),
        ("-0.1000000000000000055511151231257827", -0.1),
        ("4e-324", f64::from_bits(1)),
        ("1e-400", 0.0),
    ];
    for (text, nearest) in cases {
        let value = json::parse_str(text).unwrap();
        let Json::Number(number @ Number::Long(_)) = &value else { panic!("{text}: {value:?}") };
        assert_eq!(number.as_f64(), nearest, "{text}");
        assert_eq!((number.to_nearest(), number.to_string()), (Number::Float(nearest), text.to_owned()));
        assert_eq!(json::parse_str(&value.to_string()), Ok(value), "{text} written and read again");
    }
}

#[test]
fn json_numbers_have_one_exact_decimal() {
    let decimal = |text: &str| match json::parse_str(text).unwrap() {
        Json::Number(number) => number.to_decimal(),
        other => panic!("{other:?}"),
    };
    let same = [
        ("1", "1.0"),
        ("100", "1e2"),
        ("0.1", "1e-1"),
        ("0.10000000000000001", "10.000000000000001e-2"),
        ("0", "-0.0"),
    ];
    for (one, other) in same {
        assert_eq!(decimal(one), decimal(other), "{one} {other}");
    }
    let other = [
        ("9007199254740993", "9007199254740992"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("0.1", "0.10000000000000001"),
        ("0.10000000000000001", "0.100000000000000011"),
        ("18446744073709551617", "18446744073709551616"),
        ("1e-400", "0"),
        ("1", "-1"),
    ];
    for (one, other) in other {
        assert_ne!(decimal(one), decimal(other), "{one} {other}");
    }
}

#[test]
fn json_escapes_and_surrogate_pairs_are_read() {
    let value = json::parse_str(r#""\ud83d\ude00 \"\\\/\b\f\n\r\t \u00e9\u20AC""#).unwrap();
    assert_eq!(value.as_str(), Some("\u{1f600} \"\\/\u{8}\u{c}\n\r\t é€"));
}

#[test]
fn json_value_count_over_limit_is_refused() {
    let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
    assert!(json::parse_str(&list(1_000_000)).is_ok());
    assert!(json::parse_str(&list(MAX_VALUES - 1)).is_ok());
    assert_eq!(code(list(MAX_VALUES).as_bytes()), "json.too_many_values");
}

#[test]
fn json_duplicate_keys_are_found_among_many() {
    // All keys agree in length, beginning and end, which is all that the quick look compares.
    let keys = 200_000;
    let members: Vec<_> = (0..keys).map(|key| format!("\"same{key:08}same\":{key}")).collect();
    let value = json::parse_str(&format!("{{{}}}", members.join(","))).unwrap();
    assert_eq!(value.as_object().unwrap().len(), keys);
    let repeated = format!("{{{},{}}}", members.join(","), members[keys / 2]);
    assert_eq!(code(repeated.as_bytes()), "json.duplicate_key");
    // And at every place of a short one.
    for count in 1..60 {
        for again in 0..count {
            let text = format!("{{{},{}}}", members[..count].join(","), members[again]);
            assert_eq!(code(text.as_bytes()), "json.duplicate_key", "{text}");
        }
    }
}

#[test]
fn json_reader_recovers_after_failed_text() {
    let good = r#"{"a":[1,"two",{"b":null,"c":[true,{"d":"a text that is longer than twenty-four bytes"}]}],"e":{}}"#;
    let expected = json::parse_str(good).unwrap();
    for end in 0..good.len() {
        assert_eq!(code(&good.as_bytes()[..end]), "json.torn", "cut at {end}");
        assert_eq!(json::parse_str(good).as_ref(), Ok(&expected));
    }
}

#[test]
fn arguments_in_string_are_parsed_once() {
    let from = |text: &str| Arguments::from_json(Json::from(text));
    assert_eq!(from(r#"{"a":1}"#), Arguments::Value(json::parse_str(r#"{"a":1}"#).unwrap()));
    assert_eq!(from(""), Arguments::Value(json::parse_str("{}").unwrap()));
    assert_eq!(from(r#"{"a":"#), Arguments::Unparsed(r#"{"a":"#.into()));
    assert_eq!(from(r#"{"a":1} and more"#), Arguments::Unparsed(r#"{"a":1} and more"#.into()));
    assert_eq!(from(r#"{"a":1,"a":2}"#), Arguments::Unparsed(r#"{"a":1,"a":2}"#.into()));
    // JSON of JSON is a string, not the object inside it.
    assert_eq!(from(r#""{\"a\":1}""#), Arguments::Value(Json::from(r#"{"a":1}"#)));
}

/// Whether the other reader gives the same value; floats may differ in their last bit.
fn same(ours: &Json, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Json::Null, serde_json::Value::Null) => true,
        (Json::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Json::String(a), serde_json::Value::String(b)) => a == b,
        (Json::Number(Number::Integer(a)), serde_json::Value::Number(b)) if b.is_i64() => Some(*a) == b.as_i64(),
        (Json::Number(a), serde_json::Value::Number(b)) => {
            let (a, b) = (a.as_f64(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs().max(b.abs()) * 1e-15
        }
        (Json::Array(a), serde_json::Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((key, a), (name, b))| key == name && same(a, b))
        }
        _ => false,
    }
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        (-1000..1000i64).prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        (-1e6..1e6).prop_map(serde_json::Value::from),
    ];
    let text = prop_oneof!["[a-z_]{0,12}", "\\PC{0,40}", any::<String>(), "[ -~]{20,70}"];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        number,
        text.clone().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(serde_json::Value::from),
            prop::collection::vec((text.clone(), inner), 0..30)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Small damage: a byte taken out, put in, or doubled.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    let bytes =
        prop::sample::select(&b"\"\\{}[],:0123456789.eE+-truefalsn/u \n\r\t\0\x1f\x7f\xc3\xa9\xed\xa0\x80\xff'"[..]);
    prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, bytes), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_of_serde_is_read(value in any_value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let ours = json::parse_str(&text).unwrap();
            prop_assert!(same(&ours, &value), "{text}");
        }
    }

    #[test]
    fn json_written_reads_back(value in any_value()) {
        let ours = json::parse_str(&value.to_string()).unwrap();
        let text = ours.to_string();
        prop_assert_eq!(json::parse_str(&text), Ok(ours.clone()));
        prop_assert!(same(&ours, &serde_json::from_str(&text).unwrap()), "{text}");
        prop_assert_eq!(json::parse_str(&serde_json::to_string(&ours).unwrap()), Ok(ours));
    }

    #[test]
    fn json_damaged_text_is_judged_like_serde(value in any_value(), damage in damage()) {
        let mut text = value.to_string().into_bytes();
        for (place, action, byte) in damage {
            let place = place.index(text.len() + 1);
            match action {
                0 if place < text.len() => { text.remove(place); }
                1 if place < text.len() => text[place] = byte,
                2 if place < text.len() => text.insert(place, text[place]),
                _ => text.insert(place, byte),
            }
        }
        let shown = String::from_utf8_lossy(&text).into_owned();
        match (json::parse(&text), serde_json::from_slice::<serde_json::Value>(&text)) {
            (Ok(ours), Ok(theirs)) => prop_assert!(same(&ours, &theirs), "{shown}"),
            (Ok(_), Err(error)) => prop_assert!(false, "only we read {shown}: {error}"),
            (Err(error), Ok(_)) => {
                let stricter = ["json.duplicate_key", "json.number_range"];
                prop_assert!(stricter.contains(&error.code), "only we refuse {shown}: {error}");
            }
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn json_number_equals_standard_library_parse(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?") {
        let Json::Number(number) = json::parse_str(&text).unwrap() else { panic!("{text} is no number") };
        prop_assert_eq!(number.as_f64(), text.parse::<f64>().unwrap());
    }

    #[test]
    fn json_truncated_text_is_torn(value in any_value(), cut in any::<prop::sample::Index>()) {
        let text = serde_json::json!({"value": value}).to_string();
        prop_assert_eq!(code(&text.as_bytes()[..cut.index(text.len())]), "json.torn");
    }
}

/// However many members there are, the later value of a key counts, at the place of the first.
#[test]
fn json_object_keeps_last_value_of_key() {
    for count in [1, 15, 16, 17, 200] {
        let member = |number: usize| (Text::from(format!("k{}", number % 40)), Json::from(number as i64));
        let mut one_by_one = Object::new();
        (0..count).map(member).for_each(|(key, value)| one_by_one.insert(key, value));
        assert_eq!((0..count).map(member).collect::<Object>(), one_by_one, "{count}");
    }
}

//! Canonical texts by hand, from the examples and the table of numbers of RFC 8785, and laws over random values.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Cursor, write_float, write_object};

fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_object(value.as_object().unwrap(), &mut out).unwrap();
    out
}

fn check(text: &str) -> Result<(), String> {
    Cursor::new(text).read_object(|_, _| Ok(())).map_err(|error| format!("{}: {}", error.offset, error.message))
}

#[test]
fn canonical_numbers_follow_ecmascript() {
    // The bits and the texts are those of appendix B of RFC 8785.
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let mut out = String::new();
        write_float(f64::from_bits(bits), &mut out);
        assert_eq!(out, text);
    }
}

#[test]
fn canonical_names_sort_by_utf16() {
    let value = json!({"€": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "😀": 5, "\u{80}": 6, "ö": "\u{8}\u{1f}\"/\\é"});
    let text = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":\"\\b\\u001f\\\"/\\\\é\",\"€\":1,\"😀\":5,\"\u{fb33}\":3}";
    assert_eq!(canonical(&value), text);
    assert_eq!(check(text), Ok(()));
}

#[test]
fn canonical_integers_stay_exact() {
    let value = json!({"a": u64::MAX, "b": i64::MIN, "c": 5.0, "d": -0.0});
    let text = r#"{"a":18446744073709551615,"b":-9223372036854775808,"c":5,"d":0}"#;
    assert_eq!(canonical(&value), text);
    assert_eq!(check(text), Ok(()));
}

#[test]
fn non_canonical_spellings_are_rejected() {
    for text in [
        "",
        "{",
        "{}x",
        "{ }",
        "[]",
        r#"{"a": 1}"#,
        r#"{"b":1,"a":2}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":01}"#,
        r#"{"a":-0}"#,
        r#"{"a":1.0}"#,
        r#"{"a":1e2}"#,
        r#"{"a":1E+30}"#,
        r#"{"a":"\u0041"}"#,
        r#"{"a":"\u000a"}"#,
        r#"{"a":"\u001F"}"#,
        r#"{"a":"\/"}"#,
        "{\"a\":\"\u{1}\"}",
        r#"{"a":nul}"#,
        r#"{"a":1,}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":"b}"#,
        r#"{"a":18446744073709551616}"#,
        r#"{"a":--1}"#,
        r#"{"a":}"#,
        r#"{a:1}"#,
    ] {
        assert!(check(text).is_err(), "{text}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| if float.is_finite() { Value::from(float) } else { Value::Null }),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_double_reads_back(float in any::<f64>().prop_filter("finite", |float| float.is_finite())) {
        let mut text = String::new();
        write_float(float, &mut text);
        prop_assert_eq!(text.parse::<f64>().unwrap(), float);
    }

    #[test]
    fn written_values_are_canonical_and_readable(value in values()) {
        let text = canonical(&json!({ "v": value }));
        prop_assert_eq!(check(&text), Ok(()));
        let again: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(check(&canonical(&again)), Ok(()));
    }
}
